/* SPDX-License-Identifier: Apache-2.0
 * token_world.c: one endpoint at a time, its calls, and what comes from its peer. A call for which a fault was armed
 * may end the connection in one world and not in another: it is compared where it went well, and its endpoint is closed
 * in every world. Reads are not scripted: how often a shape asks its engine for plaintext is its own affair.
 */
#include "token_world.h"

#include <assert.h>
#include <string.h>

#define ROOM 64u        /* that decrypt has beyond what came in */
#define CALLS_MAX 1024u /* in a row */
#define ARENA_KEPT (1u << 20)

const char *const token_len_names[TOKEN_LENS] = {"100", "0",  "1",  "2",  "5",  "9",   "10",  "11",   "15",   "16",
                                                 "17",  "32", "42", "63", "64", "106", "107", "1000", "1024", "4096"};
const size_t token_lens[TOKEN_LENS] = {100, 0,  1,  2,  5,  9,   10,  11,   15,   16,
                                       17,  32, 42, 63, 64, 106, 107, 1000, 1024, 4096};
static struct token_world *token_of(struct player *player)
{
    return (struct token_world *)player;
}

static struct world_env *env_of(struct token_world *world)
{
    return &world->player.world->env;
}

static struct arena *arena_of(struct token_world *world)
{
    return &world->player.world->arena;
}

static void inbox_drop(struct token_world *world, size_t len)
{
    world->inbox.len -= len;
    world->inbox.data = world->inbox.len > 0 ? world->inbox.data + len : NULL;
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

/* call: one call that gives a token; `hold` 0 releases it at once, else the register is hold - 1. A failed call's token
 * is not held: what it has is the shape's affair. */
struct call {
    enum pal_status status;
    struct pal_token token;
    uint32_t hold;
};

static void finish(struct token_world *world, struct call *call, struct trace_step *trace)
{
    struct world *subject = world->player.world;
    struct pal_view bytes = token_take(subject, &call->token, call->status, trace);
    trace->status = call->status;
    trace->out = token_join(subject, trace->out, bytes);
    if (call->hold > 0 && !world->armed && trace->facts[FACT_CONTRACT] == TOKEN_SOUND) {
        token_hold(world, call->hold - 1, &call->token, bytes, trace);
    } else {
        (void)token_release(subject, &call->token, trace);
    }
    call->token = (struct pal_token){0};
    call->hold = 0;
}

/* settle: after a call that did not go well its bytes are where the shape leaves them: in the token, or owed. */
static void settle(struct token_world *world, struct call *call, struct trace_step *trace)
{
    call->hold = call->status == PAL_OK ? call->hold : 0;
    finish(world, call, trace);
    if (call->status != PAL_OK) {
        enum pal_status first = call->status;
        call->status = world->ops->take_pending(world->tls, &call->token);
        finish(world, call, trace);
        /* Nothing leaves without randomness: what was owed before is lost where the shape had not sent it yet. */
        trace->facts[FACT_TAINTED] |= call->status == PAL_NO_RANDOM ? 1 : 0;
        trace->status = call->status = first;
    }
}

static void handshake(struct token_world *world, struct call *call, size_t len, struct trace_step *trace)
{
    struct pal_view given = {world->inbox.data, len};
    size_t consumed = SIZE_MAX;
    call->status = world->ops->handshake(world->tls, &call->token, &consumed, given);
    if (consumed > len) {
        token_broken(trace, TOKEN_COUNTS);
        consumed = len;
    }
    inbox_drop(world, consumed);
    if (call->status == PAL_NEED_INPUT) {
        finish(world, call, trace);
    } else {
        settle(world, call, trace);
    }
    world->shaken |= call->status == PAL_OK;
    world->failed = call->status != PAL_OK && call->status != PAL_NEED_INPUT;
}

static void shut(struct token_world *world)
{
    if (world->tls != NULL) {
        world->ops->close(world->tls);
    }
    world->tls = NULL;
    world->inbox = (struct pal_view){NULL, 0};
    world->peer_sent = 0;
    world->whole = world->shaken = world->failed = world->owes = world->raw = world->write_fails = false;
    memset(world->scripted, 0, sizeof(world->scripted));
}

/* open: the script so far is the endpoint's. When a fault fires, once more without. */
static void open_endpoint(struct token_world *world, bool server, struct trace_step *trace)
{
    struct world *subject = world->player.world;
    const struct pal_tls_config config = {
        .role = server ? PAL_TLS_SERVER : PAL_TLS_CLIENT,
        .shape = (enum pal_tls_shape)subject->spec->way,
        .mode = subject->mode,
        .version_min = PAL_TLS_1_3,
        .version_max = PAL_TLS_1_3,
        .trusted = {(const uint8_t *)world->steps, world->num_steps * sizeof(world->steps[0])},
    };
    shut(world);
    for (int attempt = 0; attempt < 2 && world->tls == NULL; attempt++) {
        trace->status = world->ops->open(&subject->env.env, &world->tls, &config);
        if (trace->status != PAL_OK) {
            world->tls = NULL;
        }
    }
    world->server = server;
    for (size_t i = 0; i < world->num_steps; i++) {
        const struct scripted_step *step = &world->steps[i];
        world->scripted[step->call] = true;
        world->raw |= (step->flags & SCRIPTED_RAW) != 0;
        world->write_fails |= step->call == SCRIPTED_WRITE && step->event != TLS_DONE;
    }
    world->num_steps = 0;
}

static void shake(struct token_world *world, struct trace_step *trace)
{
    struct call call = {.status = PAL_NEED_INPUT};
    for (int i = 0; i < 4 && call.status == PAL_NEED_INPUT && !world->failed; i++) {
        if (world->server || i == 1) {
            token_peer_send(world, TOKEN_PEER_FLIGHT, 0);
        }
        handshake(world, &call, world->inbox.len, trace);
    }
}

/* ready: there is an endpoint; one that had to be made is shaken, and if that fails it was all of the step. Its
 * handshake is over at once, unless it was scripted: flights are what `open` is for. */
static bool ready(struct token_world *world, bool shaken, struct trace_step *trace)
{
    if (world->tls == NULL) {
        static const struct scripted_step at_once = {SCRIPTED_HANDSHAKE, TLS_DONE, SCRIPTED_INSTEAD, 1, 0, 0, 0, 0};
        bool scripted = false;
        for (size_t i = 0; i < world->num_steps; i++) {
            scripted |= world->steps[i].call == SCRIPTED_HANDSHAKE;
        }
        if (shaken && !scripted && world->num_steps < TOKEN_SCRIPT_MAX) {
            world->steps[world->num_steps++] = at_once;
        }
        open_endpoint(world, false, trace);
        if (shaken && world->tls != NULL) {
            shake(world, trace);
        }
        return world->tls != NULL && !world->failed;
    }
    return true;
}

/* due: what leaves is whole records, and `records` of them when that is all that was asked for. */
static void note_size(struct token_world *world, struct trace_step *trace, enum scripted_call call, size_t records)
{
    bool whole = true;
    bool alone = trace->facts[FACT_TOKENS] == 1 && trace->status == PAL_OK;
    if (world->raw || world->armed || trace->facts[FACT_CONTRACT] != TOKEN_SOUND) {
        return;
    }
    trace->facts[FACT_RECORDS] = token_records(&whole, trace->out);
    trace->facts[FACT_TORN] = whole ? 0 : 1;
    trace->facts[FACT_RECORDS_DUE] = alone && !world->scripted[call] && !world->owes ? (uint32_t)records + 1 : 0;
}

static void encrypt(struct token_world *world, size_t len, uint32_t hold, struct trace_step *trace)
{
    struct call call = {.hold = hold};
    const uint8_t *plain = token_bytes(world, 'a', len);
    call.status = world->ops->encrypt(world->tls, &call.token, (struct pal_view){plain, len});
    world->failed = call.status != PAL_OK;
    settle(world, &call, trace);
    note_size(world, trace, SCRIPTED_WRITE, (len + SCRIPTED_PLAIN_MAX - 1) / SCRIPTED_PLAIN_MAX);
    /* Records that were made before the one that failed: sized forgets them with its token, the others do not. */
    trace->facts[FACT_TAINTED] |= world->write_fails && len > SCRIPTED_PLAIN_MAX ? 1 : 0;
}

/* decrypt: all that waits; in place, at the start of a buffer with a little room. */
static void decrypt(struct token_world *world, size_t len, struct trace_step *trace)
{
    size_t cap = len + ROOM;
    uint8_t *data = arena_take(arena_of(world), cap, 0);
    struct pal_view plain = {NULL, 0};
    enum pal_status status = PAL_OK;
    if (len > 0) {
        memcpy(data, world->inbox.data, len);
    }
    inbox_drop(world, len);
    for (size_t i = 0; i < CALLS_MAX && status == PAL_OK && trace->facts[FACT_CONTRACT] == TOKEN_SOUND; i++) {
        const size_t never = SIZE_MAX - 1;
        size_t offset = never;
        size_t count = never;
        status = world->ops->decrypt(world->tls, &offset, &count, data, i == 0 ? len : 0, cap);
        bool fits = status == PAL_OK ? offset <= cap && count <= cap - offset : offset == never && count == never;
        if (!fits || arena_fence_damage(data, cap) != 0) {
            token_broken(trace, TOKEN_COUNTS);
        } else if (status == PAL_OK && count > 0) {
            const struct pal_view part = {data + offset, count};
            plain = token_join(world->player.world, plain, arena_copy(arena_of(world), part));
        }
    }
    struct call call = {.status = status};
    trace->out = token_join(world->player.world, trace->out, plain);
    world->failed = status != PAL_OK && status != PAL_NEED_INPUT;
    if (world->failed) {
        call.status = world->ops->take_pending(world->tls, &call.token);
        finish(world, &call, trace);
    }
    trace->status = status;
}

/* control: the calls that take nothing. */
static void control(struct token_world *world, const struct step *step, struct trace_step *trace)
{
    struct call call = {.hold = step->number[0]};
    uint32_t argument = step->number[1];
    switch (step->op) {
    case TOKEN_OP_UPDATE_KEYS:
        call.status = world->ops->update_keys(world->tls, &call.token, argument != 0);
        break;
    case TOKEN_OP_ALERT:
        call.status = world->ops->alert(world->tls, &call.token, (uint8_t)(argument > 0 ? argument : 80));
        break;
    case TOKEN_OP_SHUTDOWN:
        call.status = world->ops->shutdown(world->tls, &call.token);
        break;
    default:
        call.status = world->ops->take_pending(world->tls, &call.token);
        break;
    }
    world->failed = call.status != PAL_OK;
    settle(world, &call, trace);
    bool one = step->op == TOKEN_OP_UPDATE_KEYS || step->op == TOKEN_OP_ALERT;
    note_size(world, trace, SCRIPTED_CONTROL, 1);
    trace->facts[FACT_RECORDS_DUE] = one ? trace->facts[FACT_RECORDS_DUE] : 0;
}

static void add_to_script(struct token_world *world, const struct step *step)
{
    const uint32_t *number = step->number;
    if (world->num_steps == TOKEN_SCRIPT_MAX) {
        return;
    }
    world->steps[world->num_steps++] = (struct scripted_step){
        .call = (uint8_t)(number[0] == 2   ? SCRIPTED_CONTROL
                          : number[0] == 1 ? SCRIPTED_HANDSHAKE
                                           : SCRIPTED_WRITE),
        .event = (uint8_t)number[1],
        .flags = (uint8_t)((number[2] != 0 ? SCRIPTED_INSTEAD : 0) | (number[3] != 0 ? SCRIPTED_RAW : 0)),
        .num_chunks = (uint8_t)number[4],
        .type = (uint8_t)(23 - number[5]),
        .fill = (uint8_t)number[6],
        .emit_len = (uint32_t)token_lens[number[7]],
    };
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

/* given: bytes of the inbox that the endpoint is given, when the last `held_back` stay for later. A frame of no known
 * type is given whole: sized waits for all of a frame before it asks the engine, the others do not. */
static size_t given(const struct token_world *world, uint32_t held_back)
{
    held_back = world->whole ? 0 : held_back;
    return world->inbox.len > held_back ? world->inbox.len - held_back : 0;
}

static void call_endpoint(struct token_world *world, const struct step *step, struct trace_step *trace)
{
    const uint32_t *number = step->number;
    struct call call = {.hold = 0};
    switch (step->op) {
    case TOKEN_OP_ENCRYPT:
        encrypt(world, token_lens[number[0]], number[1], trace);
        break;
    case TOKEN_OP_ENCRYPT_LONG:
        encrypt(world, token_lens[number[0]] + (number[2] + 1) * SCRIPTED_PLAIN_MAX - 1, number[1], trace);
        break;
    case TOKEN_OP_HANDSHAKE:
        token_peer_send(world, (enum token_peer)number[0], 9);
        call.hold = number[1];
        handshake(world, &call, given(world, number[2]), trace);
        break;
    case TOKEN_OP_DECRYPT:
        token_peer_send(world, (enum token_peer)number[0], token_lens[number[1]]);
        decrypt(world, given(world, number[2]), trace);
        break;
    default:
        control(world, step, trace);
        break;
    }
}

/* play_call: a step that calls an endpoint, with the fault that was armed. */
static void play_call(struct token_world *world, const struct step *step, struct trace_step *trace)
{
    struct world_env *env = env_of(world);
    world->armed = world->fail_alloc > 0;
    env->fail_alloc = world->fail_alloc;
    world->fail_alloc = 0;
    trace->role = ROLE_MESSAGE;
    if (step->op == TOKEN_OP_OPEN) {
        open_endpoint(world, step->number[0] != 0, trace);
        if (world->tls != NULL && step->number[1] == 0) {
            shake(world, trace);
        }
    } else if (ready(world, step->op != TOKEN_OP_HANDSHAKE, trace)) {
        call_endpoint(world, step, trace);
    }
    trace->out_len = trace->out.len;
    env->fail_alloc = 0;
    if (world->armed) {
        trace->facts[FACT_TAINTED] = 1;
        trace->facts[FACT_FAULTED] = env->faulted ? 1 : 0;
        shut(world);
        world->armed = false;
    }
}

static bool play_step(struct player *player, const struct step *step, struct trace_step *trace)
{
    static const struct step spent = {.op = TOKEN_OP_TAKE_PENDING};
    struct token_world *world = token_of(player);
    struct token_ledger before = token_ledger_now(player->world, token_held(world));
    bool full = arena_of(world)->used > ARENA_CAP - ARENA_KEPT;
    bool over = step->op == TOKEN_OP_HANDSHAKE && world->shaken;
    if (step->op == TOKEN_OP_SCRIPT) {
        add_to_script(world, step);
    } else if (step->op < TOKEN_OP_RESERVE) {
        play_call(world, full || over ? &spent : step, trace);
    } else {
        token_direct(world, step, trace);
    }
    trace->out_len = trace->out.len;
    token_ledger_note(player->world, trace, before, token_held(world));
    return true;
}

/* close: one more record, of an endpoint that still speaks, and one more token made by hand. */
static void close(struct player *player)
{
    static const struct step closing[] = {{.op = TOKEN_OP_ENCRYPT}, {.op = TOKEN_OP_APPEND}};
    struct token_world *world = token_of(player);
    world->fail_alloc = 0;
    if (world->failed) {
        shut(world);
    }
    for (size_t i = 0; i < sizeof(closing) / sizeof(closing[0]); i++) {
        (void)play_step(player, &closing[i], player_step(player, closing[i].op));
    }
}

static void end(struct player *player, struct trace_step *trace)
{
    struct token_world *world = token_of(player);
    struct token_ledger before = token_ledger_now(player->world, token_held(world));
    for (size_t i = 0; i < TOKEN_REGISTERS; i++) {
        if (world->registers[i].live) {
            (void)token_let_go(world, NULL, i, trace);
        }
    }
    for (size_t i = 0; i < TOKEN_RENTERS; i++) {
        token_give_back(world, i, trace);
    }
    shut(world);
    trace->status = PAL_OK;
    token_ledger_note(player->world, trace, before, 0);
    trace->facts[FACT_LATE_WRITES] += world_env_rentals_touched(&player->world->env);
    trace->facts[FACT_LIVE_BLOCKS] = player->world->env.live_blocks;
}

void token_play(struct world worlds[], size_t num_worlds, struct actors *actors, const struct scenario *scenario)
{
    static const struct troupe_ops ops = {play_step, NULL, NULL, close, end};
    struct token_world plays[WORLDS_MAX];
    struct player *players[WORLDS_MAX];
    assert(num_worlds <= WORLDS_MAX);
    for (size_t i = 0; i < num_worlds; i++) {
        memset(&plays[i], 0, sizeof(plays[i]));
        plays[i].player.world = &worlds[i];
        plays[i].player.scenario = scenario;
        plays[i].ops = worlds[i].port->tls;
        world_env_lend(&worlds[i].env);
        players[i] = &plays[i].player;
    }
    troupe_play(players, num_worlds, actors, &ops);
}
