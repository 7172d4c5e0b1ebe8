/* SPDX-License-Identifier: Apache-2.0
 * tls_world.c: up to two connections at a time, on one thread. What plaintext is due is worked out here from what was
 * said; what must be agreed on, from the configurations. A connection in which an allocation failed is closed with that
 * step, in every world, as worlds need not fail alike.
 */
#include "tls_world.h"

#include "tls_alert.h"
#include "tls_steps.h"

#include <assert.h>
#include <string.h>

#define PEER_STREAM 4096u /* the peer's random bytes are not ours */

static struct tls_world *tls_of_player(struct player *player)
{
    return (struct tls_world *)player;
}

/* ---- what is written down -------------------------------------------------------------------------------------- */

static enum tls_class class_of(const struct tls_world *world, const struct tls_link *link)
{
    const struct tls_terms *terms = &world->terms[world->current];
    if (!tls_clean(link)) {
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
    struct token_ledger ledger;
    bool sound; /* nothing is wrong with the connection, or there is none */
};

/* num_held: live rentals that tokens or other renters hold. */
static uint32_t num_held(const struct tls_world *world)
{
    uint32_t held = (uint32_t)world->num_others;
    for (size_t i = 0; i < TLS_LINKS; i++) {
        held += world->player.world->mode == PAL_REUSED ? (uint32_t)world->links[i].ends[TLS_WE].num_held : 0;
    }
    return held;
}

static struct before look(struct tls_world *world)
{
    const struct tls_link *link = tls_current(world);
    return (struct before){.wire_len = world->wire.len,
                           .ledger = token_ledger_now(world->player.world, num_held(world)),
                           .sound = !link->change && (!link->open || (tls_alive(link) && tls_clean(link)))};
}

/* note_memory: a refused allocation is told as that, or the port does without. */
static void note_memory(const struct tls_world *world, const struct tls_link *link, struct trace_step *trace,
                        bool sound)
{
    bool faulted = world->player.world->env.faulted;
    enum pal_status final = link->open ? link->ends[TLS_WE].final : PAL_OK;
    enum pal_status status = final != PAL_OK ? final : trace->status;
    bool spoilt = world->terms[world->current].number[OPEN_SPOIL] != SPOIL_NONE;
    if (trace->facts[FACT_TAINTED] == 0 || !sound || !tls_clean(link) || spoilt || world->fail_random > 0) {
        return;
    }
    bool by_peer = link->open && link->ends[TLS_PEER].final == PAL_BAD_STATE && status == PAL_PROTOCOL; /* its alert */
    trace->facts[FACT_MEMORY_DUE] = faulted ? 1 : 0;
    trace->facts[FACT_MEMORY_OFF] = tls_is_fatal(status) && !by_peer && (status != PAL_NO_MEMORY || !faulted) ? 1 : 0;
}

/* note: after every step that called the port. */
static void note(struct tls_world *world, struct tls_link *link, struct trace_step *trace, const struct before *before)
{
    uint32_t *facts = trace->facts;
    const struct tls_end *we = &link->ends[TLS_WE];
    if (facts[FACT_TAINTED] == 0) {
        trace->out = (struct pal_view){world->wire.data + before->wire_len, world->wire.len - before->wire_len};
        trace->out_len = trace->status == PAL_OK ? trace->out.len : 0;
    }
    facts[FACT_TLS_CLASS] = (uint32_t)class_of(world, link);
    facts[FACT_OTHER_SHAPE] = world->terms[world->current].number[OPEN_AGAINST] != 0 ? 1 : 0;
    token_ledger_note(world->player.world, trace, before->ledger, num_held(world));
    note_memory(world, link, trace, before->sound);
    if (link->open && (we->final != PAL_OK || link->ends[TLS_PEER].final != PAL_OK)) {
        world->died = true;
    }
}

/* expected: the status, + 1, of an operation on a connection with which nothing is wrong; 0 if it is not known. */
static uint32_t expected(struct tls_world *world, const struct step *step)
{
    const struct tls_link *link = tls_current(world);
    bool sound = world->fail_alloc == 0 && world->fail_random == 0 && !link->change;
    bool known = sound && link->open && tls_alive(link) && tls_clean(link);
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

static bool play_step(struct player *player, const struct step *step, struct trace_step *trace)
{
    struct tls_world *world = tls_of_player(player);
    struct world_env *env = &player->world->env;
    world_env_step(&world->peer_env, player->cursor + PEER_STREAM);
    for (size_t i = 0; i < TLS_LINKS; i++) {
        world->links[i].trace = trace;
        world->links[i].framed = false;
    }
    if (tls_prepare(world, step)) {
        return true;
    }
    const struct before before = look(world);
    bool tainted = world->fail_alloc > 0;
    trace->facts[FACT_TAINTED] = tainted ? 1 : 0;
    trace->facts[FACT_EXPECTED] = expected(world, step);
    for (size_t i = 0; i < TLS_LINKS; i++) {
        world->links[i].armed = tainted || world->fail_random > 0;
    }
    env->fail_alloc = world->fail_alloc;
    env->fail_random = world->fail_random;
    trace->status = tls_play_call(world, step, trace);
    if (step->op == TLS_OP_UPDATE && trace->status == PAL_UNSUPPORTED && tls_apart(player->world)) {
        trace->facts[FACT_EXPECTED] = 0;
    }
    struct tls_link *link = tls_current(world);
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
 * or a new one under a key both know, which costs least, where the port has to have that. */
static void close(struct player *player)
{
    struct tls_world *world = tls_of_player(player);
    const uint32_t cheap[OPEN_FIELDS] = {
        [OPEN_VERSION] = VERSION_1_2, [OPEN_PEER] = 1, [OPEN_AUTH] = tls_apart(player->world) ? AUTH_SERVER : AUTH_PSK};
    struct step exchanges = {.op = TLS_OP_EXCHANGE};
    const struct step opens = {.op = TLS_OP_OPEN};
    struct step open = opens;
    struct tls_link *link = tls_current(world);
    world->fail_alloc = 0;
    world->fail_random = 0;
    world->piece = link->piece = 0;
    world->hold = 0;
    link->change = false;
    if (!tls_alive(link) || !tls_clean(link)) {
        world->opens = world->opens == TLS_OPENS_MAX ? TLS_OPENS_MAX - 1 : world->opens;
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
    trace->facts[FACT_DAMAGE] = tls_others_damage(world);
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
        play->wire = (struct tls_wire){arena_take(&worlds[i].arena, TLS_WIRE_MAX, 0), 0, TLS_WIRE_MAX};
        world_env_init(&play->peer_env);
        world_env_lend(&play->peer_env);
        world_env_lend(&worlds[i].env);
        players[i] = &play->player;
    }
    troupe_play(players, num_worlds, actors, &ops);
}
