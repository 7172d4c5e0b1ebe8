/* SPDX-License-Identifier: Apache-2.0
 * tls_world.c: up to two connections at a time, on one thread. What plaintext is due is worked out here from what was
 * said; what must be agreed on, from the configurations. When bytes were changed or lost on the way nothing is due any
 * more but that no wrong plaintext comes. A connection in which an allocation failed is closed with that step, in every
 * world, as worlds need not fail alike.
 */
#include "tls_world.h"

#include "tls_config.h"

#include <assert.h>
#include <string.h>

#define OPENS_MAX 6u
#define WIRE_MAX (384u * 1024u)
#define ROOM_ALL 17000u
#define OTHERS_MAX 4u
#define PEER_STREAM 4096u /* the peer's random bytes are not ours */

const char *const tls_len_names[TLS_LENS] = {"100",  "0",    "1",     "15",    "16",    "229",   "994",   "1024",
                                             "4075", "4096", "16355", "16383", "16384", "16385", "32768", "40000"};
const size_t tls_lens[TLS_LENS] = {100,  0,    1,     15,    16,    229,   994,   1024,
                                   4075, 4096, 16355, 16383, 16384, 16385, 32768, 40000};

/* other_renter: somebody else's rental, with its own bytes in it. */
struct other_renter {
    struct pal_buffer buffer;
    uint8_t fill;
};

struct tls_world {
    struct player player;
    struct world_env peer_env;
    struct tls_wire wire;
    struct tls_link links[TLS_LINKS];
    struct tls_terms terms[TLS_LINKS];
    uint32_t current;
    uint32_t opens;
    bool died; /* a connection of this world ended by a failure */
    uint32_t fail_alloc;
    uint32_t fail_random;
    size_t piece; /* as in tls_link: also of connections to come */
    bool pieces;
    uint32_t hold;
    struct tls_ticket ticket;
    size_t num_others;
    struct other_renter others[OTHERS_MAX];
};

static struct tls_world *tls_of_player(struct player *player)
{
    return (struct tls_world *)player;
}

static struct tls_link *current(struct tls_world *world)
{
    return &world->links[world->current];
}

/* alive: nothing has ended it on either side, and nothing is left of a handshake. */
static bool alive(const struct tls_link *link)
{
    const struct tls_end *we = &link->ends[TLS_WE];
    const struct tls_end *peer = &link->ends[TLS_PEER];
    return link->open && we->finished && peer->finished && we->final == PAL_OK && peer->final == PAL_OK &&
           !link->shaking && !we->shut && !peer->shut;
}

static bool clean(const struct tls_link *link)
{
    return !link->ends[TLS_WE].touched && !link->ends[TLS_PEER].touched;
}

/* ---- reading --------------------------------------------------------------------------------------------------- */

/* note_read: after all of the inbox was read. */
static void note_read(struct tls_end *end, enum pal_status status, bool was_alive)
{
    uint32_t *facts = end->link->trace->facts;
    const struct tls_end *from = tls_other(end);
    if (end->tampered && end->inbox_len == 0) {
        facts[FACT_TAMPER_DUE]++;
        facts[FACT_TAMPER_PASSED] += tls_is_fatal(status) ? 0 : 1;
        end->tampered = false;
    }
    facts[FACT_CLOSE_OFF] += end->heard_shut && !from->shut ? 1 : 0;
    if (end->touched || !was_alive || end->link->ends[TLS_WE].num_held > 0) {
        return;
    }
    if (status == PAL_NEED_INPUT || status == PAL_CLOSED) {
        facts[FACT_PLAIN_MISSING] += (uint32_t)(from->said - end->heard);
    }
    facts[FACT_PLAIN_DUE]++;
    if (from->shut) {
        facts[FACT_CLOSE_DUE]++;
        facts[FACT_CLOSE_OFF] += status != PAL_CLOSED ? 1 : 0;
    }
}

static enum pal_status read_all(struct tls_end *end, size_t room)
{
    bool was_alive =
        end->finished && end->final == PAL_OK && tls_other(end)->finished && !end->heard_shut && !end->link->shaking;
    enum pal_status status = tls_end_read(end, room);
    note_read(end, status, was_alive);
    return status;
}

/* exchange: `len` bytes from one end to the other, and what that one owes back. */
static enum pal_status exchange(struct tls_end *from, size_t len)
{
    struct tls_end *to = tls_other(from);
    tls_link_flush(from->link, false);
    enum pal_status status = tls_end_write(from, len);
    if (status != PAL_OK) {
        return status;
    }
    status = read_all(to, ROOM_ALL);
    if (status != PAL_NEED_INPUT) {
        return status;
    }
    status = tls_end_control(to, TLS_PENDING, 0);
    if (status == PAL_OK && from->inbox_len > 0) {
        status = read_all(from, ROOM_ALL);
        status = status == PAL_NEED_INPUT ? PAL_OK : status;
    }
    return status;
}

/* ---- opening --------------------------------------------------------------------------------------------------- */

/* alert_is_readable: OpenSSL's client has no keys installed when it finds fault with a TLS 1.3 server, and tells in the
 * clear; BoringSSL's server does not read that. */
static bool alert_is_readable(const struct tls_terms *terms)
{
    uint32_t we = terms->number[OPEN_ENGINE];
    uint32_t peer = terms->number[OPEN_PEER];
    uint32_t client = terms->client == TLS_WE ? we : peer;
    uint32_t server = terms->client == TLS_WE ? peer : we;
    return terms->version != PAL_TLS_1_3 || terms->finder != terms->client || client != 0 || server == 0;
}

static void note_handshake(struct tls_world *world, struct tls_link *link)
{
    const struct tls_terms *terms = &world->terms[world->current];
    struct tls_end *we = &link->ends[TLS_WE];
    struct tls_end *peer = &link->ends[TLS_PEER];
    uint32_t *facts = link->trace->facts;
    if (world->fail_alloc > 0 || world->fail_random > 0 || !clean(link)) {
        tls_link_failed(link, false);
        return;
    }
    bool spoilt = terms->number[OPEN_SPOIL] != SPOIL_NONE;
    tls_link_flush(link, false);
    tls_link_failed(link, spoilt && alert_is_readable(terms));
    facts[FACT_AGREED_DUE] = 1;
    if (spoilt) {
        const struct tls_end *finder = &link->ends[terms->finder];
        facts[FACT_DISAGREED] = finder->final == PAL_PROTOCOL ? 0 : 1;
    } else if (we->finished && peer->finished && we->final == PAL_OK && peer->final == PAL_OK) {
        facts[FACT_DISAGREED] = tls_disagreements(link, terms);
    } else {
        facts[FACT_DISAGREED] = 1;
    }
}

static enum pal_status open_link(struct tls_world *world, const uint32_t fields[OPEN_FIELDS], struct trace_step *trace)
{
    struct tls_link *link = current(world);
    if (world->opens == OPENS_MAX) {
        return PAL_OK;
    }
    tls_link_close(link);
    memset(link, 0, sizeof(*link));
    link->world = world->player.world;
    link->wire = &world->wire;
    link->trace = trace;
    link->number = world->opens++;
    for (size_t i = 0; i < TLS_SIDES; i++) {
        link->ends[i].link = link;
        link->ends[i].side = (enum tls_side)i;
        link->ends[i].env = i == TLS_WE ? &world->player.world->env : &world->peer_env;
    }
    tls_configure(&world->terms[world->current], link, fields, &world->ticket);
    enum pal_status status = tls_link_open(link);
    if (status != PAL_OK) {
        return status;
    }
    link->hold = world->hold;
    link->piece = world->piece;
    link->pieces = world->pieces;
    tls_link_shake(link);
    note_handshake(world, link);
    return link->ends[TLS_WE].status == PAL_NEED_INPUT ? PAL_OK : link->ends[TLS_WE].status;
}

static const uint32_t plain_open[OPEN_FIELDS] = {[OPEN_PEER] = 1};

/* ---- steps ----------------------------------------------------------------------------------------------------- */

static struct tls_end *side(struct tls_link *link, uint32_t number)
{
    return &link->ends[number == 0 ? TLS_WE : TLS_PEER];
}

static bool fits(const struct tls_end *from, size_t len)
{
    return tls_other((struct tls_end *)(uintptr_t)from)->inbox_len + len + 8192 < TLS_INBOX_MAX &&
           from->link->wire->len + len + 8192 < WIRE_MAX;
}

static enum pal_status step_exchange(struct tls_world *world, const struct step *step, struct trace_step *trace)
{
    size_t len = tls_lens[step->number[1]];
    if (!current(world)->open) {
        enum pal_status status = open_link(world, plain_open, trace);
        if (status != PAL_OK) {
            return status;
        }
    }
    struct tls_link *link = current(world);
    struct tls_end *from = side(link, step->number[0]);
    if (!link->open || link->shaking || !fits(from, len)) {
        return PAL_OK;
    }
    trace->role = ROLE_MESSAGE;
    return exchange(from, len);
}

static enum pal_status renegotiate(struct tls_link *link, uint32_t who)
{
    struct tls_end *asks = side(link, who);
    struct tls_end *other = tls_other(asks);
    tls_link_flush(link, false);
    enum pal_status asked = tls_end_control(asks, TLS_RENEGOTIATE, 0);
    if (asked != PAL_OK) {
        return asked;
    }
    tls_link_flush(link, false);
    link->renegotiated = true;
    enum pal_status status = tls_end_read(other, ROOM_ALL);
    if (status == PAL_RENEGOTIATE) {
        (void)tls_end_control(other, TLS_PENDING, 0);
        tls_link_flush(link, false);
        if (other->config.role == PAL_TLS_CLIENT) {
            (void)tls_end_read(asks, ROOM_ALL);
        }
        tls_link_shake(link);
        tls_link_flush(link, false);
    }
    link->shaking = link->ends[TLS_WE].status != PAL_OK || link->ends[TLS_PEER].status != PAL_OK;
    if (link->shaking) { /* one that does not follow: nothing is due */
        link->ends[TLS_WE].touched = link->ends[TLS_PEER].touched = true;
    }
    return link->ends[TLS_WE].status == PAL_NEED_INPUT ? PAL_OK : link->ends[TLS_WE].status;
}

static void take_ticket(struct tls_world *world, struct tls_link *link)
{
    const struct tls_terms *terms = &world->terms[world->current];
    bool ours = terms->client == TLS_WE;
    struct pal_view bytes = tls_end_export(&link->ends[terms->client]);
    if (bytes.len > 0) {
        world->ticket = (struct tls_ticket){.bytes = bytes,
                                            .client = terms->number[ours ? OPEN_ENGINE : OPEN_PEER],
                                            .server = terms->number[ours ? OPEN_PEER : OPEN_ENGINE],
                                            .version = terms->version,
                                            .auth = terms->number[OPEN_AUTH],
                                            .alpn = terms->number[OPEN_ALPN]};
    }
}

static enum pal_status shut_down(struct tls_link *link, uint32_t who)
{
    struct tls_end *end = side(link, who);
    tls_link_flush(link, false);
    enum pal_status status = tls_end_control(end, TLS_SHUTDOWN, 0);
    tls_link_flush(link, false);
    if (status == PAL_OK && !link->shaking && tls_other(end)->finished) {
        (void)read_all(tls_other(end), ROOM_ALL);
    }
    return status;
}

static enum pal_status alert(struct tls_link *link, const struct step *step)
{
    struct tls_end *end = side(link, step->number[0]);
    struct tls_end *other = tls_other(end);
    bool due = alive(link) && !other->touched;
    tls_link_flush(link, false);
    enum pal_status status = tls_end_control(end, TLS_ALERT, (uint8_t)step->number[1]);
    tls_link_flush(link, false);
    if (status == PAL_OK && other->finished && !link->shaking) {
        (void)tls_end_read(other, ROOM_ALL);
        if (due) {
            link->trace->facts[FACT_ALERT_DUE]++;
            link->trace->facts[FACT_ALERT_LOST] += tls_end_info(other).alert_received != step->number[1] ? 1 : 0;
        }
    }
    return status;
}

/* call: an operation on an open connection. */
static enum pal_status call(struct tls_world *world, const struct step *step, struct trace_step *trace)
{
    static const size_t rooms[3] = {ROOM_ALL, 0, 64};
    struct tls_link *link = current(world);
    struct tls_end *end = side(link, step->number[0]);
    switch (step->op) {
    case TLS_OP_WRITE:
        trace->role = ROLE_MESSAGE;
        return fits(end, tls_lens[step->number[1]]) ? tls_end_write(end, tls_lens[step->number[1]]) : PAL_OK;
    case TLS_OP_READ: {
        enum pal_status status = read_all(end, rooms[step->number[1]]);
        return status == PAL_NEED_INPUT ? PAL_OK : status;
    }
    case TLS_OP_UPDATE:
        trace->role = ROLE_MESSAGE;
        return tls_end_control(end, step->number[1] != 0 ? TLS_UPDATE_BOTH : TLS_UPDATE, 0);
    case TLS_OP_RENEGOTIATE:
        return alive(link) ? renegotiate(link, step->number[0]) : PAL_OK;
    case TLS_OP_ALERT:
        return alert(link, step);
    case TLS_OP_SHUTDOWN:
        return shut_down(link, step->number[0]);
    case TLS_OP_PENDING:
        return tls_end_control(end, TLS_PENDING, 0);
    default:
        take_ticket(world, link);
        return PAL_OK;
    }
}

static void set_change(struct tls_link *link, const struct step *step)
{
    link->change = true;
    link->change_to = step->number[0] == 0 ? TLS_PEER : TLS_WE;
    link->change_at = step->number[1];
    link->change_xor = (uint8_t)(step->number[2] > 0 ? step->number[2] : 1);
}

static void rent_others(struct tls_world *world, uint32_t size)
{
    struct pal_env *env = &world->player.world->env.env;
    if (world->num_others == OTHERS_MAX) {
        return;
    }
    struct other_renter *other = &world->others[world->num_others];
    if (env->rent(env->context, &other->buffer, tls_lens[size]) == PAL_OK) {
        other->fill = (uint8_t)(0x30 + world->num_others++);
        memset(other->buffer.data, other->fill, other->buffer.cap);
    }
}

/* others_damage: bytes of other renters that are not theirs; the rentals go back. */
static uint32_t others_damage(struct tls_world *world)
{
    struct pal_env *env = &world->player.world->env.env;
    uint32_t damage = 0;
    for (size_t i = 0; i < world->num_others; i++) {
        struct other_renter *other = &world->others[i];
        for (size_t at = 0; at < other->buffer.cap; at++) {
            damage += other->buffer.data[at] != other->fill ? 1 : 0;
        }
        (void)env->release(env->context, &other->buffer, false);
    }
    world->num_others = 0;
    return damage;
}

/* prepare: an operation that calls no port. False for any other. */
static bool prepare(struct tls_world *world, const struct step *step)
{
    struct tls_link *link = current(world);
    switch (step->op) {
    case TLS_OP_USE:
        world->current = step->number[0];
        return true;
    case TLS_OP_CUT:
        world->piece = link->piece = step->number[0];
        world->pieces = link->pieces = step->number[1] != 0;
        return true;
    case TLS_OP_CHANGE:
        set_change(link, step);
        return true;
    case TLS_OP_LOSE:
        if (link->open) {
            tls_end_drop(side(link, step->number[0]), step->number[1]);
        }
        return true;
    case TLS_OP_HOLD:
        world->hold = link->hold = step->number[0];
        return true;
    case TLS_OP_OTHERS:
        rent_others(world, step->number[0]);
        return true;
    case TLS_OP_FAIL_ALLOC:
        world->fail_alloc = step->number[0];
        return true;
    case TLS_OP_FAIL_RANDOM:
        world->fail_random = step->number[0];
        return true;
    default:
        return false;
    }
}

/* ---- what is written down -------------------------------------------------------------------------------------- */

static enum tls_class class_of(const struct tls_world *world, const struct tls_link *link)
{
    const struct tls_terms *terms = &world->terms[world->current];
    if (!clean(link)) {
        return TLS_CLASS_CHANGED;
    }
    if (world->died) {
        return TLS_CLASS_ISOLATED;
    }
    if (link->renegotiated) {
        return TLS_CLASS_RENEGOTIATED;
    }
    if (link->updated) {
        return TLS_CLASS_UPDATED;
    }
    if (link->framed) {
        return TLS_CLASS_FRAMED;
    }
    return terms->number[OPEN_ENGINE] != terms->number[OPEN_PEER] ? TLS_CLASS_CROSS : TLS_CLASS_PLAIN;
}

/* before: what is known of a step before it is played. */
struct before {
    size_t wire_len;
    uint32_t bad_returns;
    uint32_t lost_rentals;
    bool sound; /* nothing is wrong with the connection, or there is none */
};

/* lost_rentals: those that nobody is known to hold. */
static uint32_t lost_rentals(const struct tls_world *world)
{
    uint32_t held = (uint32_t)world->num_others;
    for (size_t i = 0; i < TLS_LINKS; i++) {
        held += world->player.world->mode == PAL_REUSED ? (uint32_t)world->links[i].ends[TLS_WE].num_held : 0;
    }
    return world->player.world->env.live_rentals - held;
}

static struct before look(struct tls_world *world)
{
    const struct tls_link *link = current(world);
    return (struct before){.wire_len = world->wire.len,
                           .bad_returns = world->player.world->env.bad_returns,
                           .lost_rentals = lost_rentals(world),
                           .sound = !link->open || (alive(link) && clean(link))};
}

/* note_memory: a refused allocation is told as that, or the port does without. */
static void note_memory(const struct tls_world *world, const struct tls_end *we, struct trace_step *trace, bool sound)
{
    bool faulted = world->player.world->env.faulted;
    enum pal_status status = we->final != PAL_OK ? we->final : trace->status;
    bool spoilt = world->terms[world->current].number[OPEN_SPOIL] != SPOIL_NONE;
    if (trace->facts[FACT_TAINTED] == 0 || !sound || spoilt || world->fail_random > 0) {
        return;
    }
    trace->facts[FACT_MEMORY_DUE] = faulted ? 1 : 0;
    trace->facts[FACT_MEMORY_OFF] = tls_is_fatal(status) && (status != PAL_NO_MEMORY || !faulted) ? 1 : 0;
}

/* note: after every step that called the port. */
static void note(struct tls_world *world, struct tls_link *link, struct trace_step *trace, const struct before *before)
{
    struct world_env *env = &world->player.world->env;
    uint32_t *facts = trace->facts;
    const struct tls_end *we = &link->ends[TLS_WE];
    if (facts[FACT_TAINTED] == 0) {
        trace->out = (struct pal_view){world->wire.data + before->wire_len, world->wire.len - before->wire_len};
        trace->out_len = trace->status == PAL_OK ? trace->out.len : 0;
    }
    facts[FACT_TLS_CLASS] = (uint32_t)class_of(world, link);
    facts[FACT_OTHER_SHAPE] = world->terms[world->current].number[OPEN_AGAINST] != 0 ? 1 : 0;
    facts[FACT_RENTS] = env->rents;
    facts[FACT_BAD_RETURNS] = env->bad_returns - before->bad_returns;
    facts[FACT_LIVE_RENTALS] = lost_rentals(world) - before->lost_rentals;
    note_memory(world, we, trace, before->sound);
    if (link->open && (we->final != PAL_OK || link->ends[TLS_PEER].final != PAL_OK)) {
        world->died = true;
    }
}

/* expected: the status, + 1, of an operation on a connection with which nothing is wrong; 0 if it is not known. */
static uint32_t expected(struct tls_world *world, const struct step *step)
{
    const struct tls_link *link = current(world);
    bool sound = world->fail_alloc == 0 && world->fail_random == 0 && !link->change;
    bool known = sound && link->open && alive(link) && clean(link);
    if (sound && !link->open && step->op == TLS_OP_EXCHANGE) {
        return PAL_OK + 1;
    }
    if (known && (step->op == TLS_OP_EXCHANGE || step->op == TLS_OP_WRITE)) {
        return PAL_OK + 1;
    }
    if (known && step->op == TLS_OP_UPDATE) {
        return (world->terms[world->current].version == PAL_TLS_1_3 ? PAL_OK : PAL_UNSUPPORTED) + 1;
    }
    return 0;
}

/* play_call: an operation that calls the port. */
static enum pal_status play_call(struct tls_world *world, const struct step *step, struct trace_step *trace)
{
    switch (step->op) {
    case TLS_OP_OPEN:
        trace->role = ROLE_MESSAGE;
        return open_link(world, step->number, trace);
    case TLS_OP_EXCHANGE:
        return step_exchange(world, step, trace);
    case TLS_OP_FLUSH:
        tls_link_flush(current(world), step->number[0] != 0);
        return PAL_OK;
    case TLS_OP_CLOSE:
        tls_link_close(current(world));
        return PAL_OK;
    default:
        return current(world)->open ? call(world, step, trace) : PAL_OK;
    }
}

static bool play_step(struct player *player, const struct step *step, struct trace_step *trace)
{
    struct tls_world *world = tls_of_player(player);
    struct world_env *env = &player->world->env;
    world_env_step(&world->peer_env, player->cursor + PEER_STREAM);
    for (size_t i = 0; i < TLS_LINKS; i++) {
        world->links[i].trace = trace;
        world->links[i].framed = false;
    }
    if (prepare(world, step)) {
        return true;
    }
    const struct before before = look(world);
    bool tainted = world->fail_alloc > 0;
    trace->facts[FACT_TAINTED] = tainted ? 1 : 0;
    trace->facts[FACT_EXPECTED] = expected(world, step);
    env->fail_alloc = world->fail_alloc;
    env->fail_random = world->fail_random;
    trace->status = play_call(world, step, trace);
    struct tls_link *link = current(world);
    if (link->open) {
        bool both = link->ends[TLS_WE].finished && link->ends[TLS_PEER].finished && !link->shaking;
        tls_link_failed(link, both && !tainted && world->fail_random == 0);
    }
    env->fail_alloc = 0;
    env->fail_random = 0;
    note(world, link, trace, &before);
    world->fail_alloc = 0;
    world->fail_random = 0;
    if (tainted || trace->facts[FACT_CONTRACT] != TOKEN_SOUND) {
        tls_link_close(link);
        world->died = true;
    }
    return true;
}

/* ---- play ------------------------------------------------------------------------------------------------------ */

/* close: one more exchange each way, so that every scenario ends with a comparison: over the connection that is there,
 * or a new one under a key both know, which costs least. */
static void close(struct player *player)
{
    struct tls_world *world = tls_of_player(player);
    const uint32_t cheap[OPEN_FIELDS] = {[OPEN_VERSION] = VERSION_1_2, [OPEN_PEER] = 1, [OPEN_AUTH] = AUTH_PSK};
    struct step exchanges = {.op = TLS_OP_EXCHANGE};
    const struct step opens = {.op = TLS_OP_OPEN};
    struct step open = opens;
    struct tls_link *link = current(world);
    world->fail_alloc = 0;
    world->fail_random = 0;
    world->piece = link->piece = 0;
    world->hold = 0;
    link->change = false;
    if (!alive(link) || !clean(link)) {
        world->opens = world->opens == OPENS_MAX ? OPENS_MAX - 1 : world->opens;
        memcpy(open.number, cheap, sizeof(cheap));
        (void)play_step(player, &open, player_step(player, TLS_OP_OPEN));
    }
    for (uint32_t i = 0; i < TLS_SIDES; i++) {
        exchanges.number[0] = i;
        (void)play_step(player, &exchanges, player_step(player, TLS_OP_EXCHANGE));
    }
}

static void end(struct player *player, struct trace_step *trace)
{
    struct tls_world *world = tls_of_player(player);
    for (size_t i = 0; i < TLS_LINKS; i++) {
        world->links[i].trace = trace;
        tls_link_close(&world->links[i]);
    }
    trace->facts[FACT_DAMAGE] = others_damage(world);
    trace->facts[FACT_LATE_WRITES] = world_env_rentals_touched(&player->world->env);
    trace->facts[FACT_LIVE_RENTALS] = player->world->env.live_rentals;
    trace->facts[FACT_LIVE_BLOCKS] = player->world->env.live_blocks;
    world_env_deinit(&world->peer_env);
}

void tls_play(struct world worlds[], size_t num_worlds, struct actors *actors, const struct scenario *scenario)
{
    static const struct troupe_ops ops = {play_step, NULL, NULL, close, end};
    struct tls_world plays[TLS_WORLDS];
    struct player *players[TLS_WORLDS];
    assert(num_worlds <= TLS_WORLDS);
    for (size_t i = 0; i < num_worlds; i++) {
        struct tls_world *play = &plays[i];
        memset(play, 0, sizeof(*play));
        play->player.world = &worlds[i];
        play->player.scenario = scenario;
        play->wire = (struct tls_wire){arena_take(&worlds[i].arena, WIRE_MAX, 0), 0, WIRE_MAX};
        world_env_init(&play->peer_env);
        world_env_lend(&play->peer_env);
        world_env_lend(&worlds[i].env);
        players[i] = &play->player;
    }
    troupe_play(players, num_worlds, actors, &ops);
}
