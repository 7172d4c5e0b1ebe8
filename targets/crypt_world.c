/* SPDX-License-Identifier: Apache-2.0
 * crypt_world.c: plays a scenario of cached crypto contexts in every world, a run of steps of one thread at a time, and
 * notes what the environment saw of the port's memory.
 */
#include "crypt_world.h"

#include "ports.h"

#include <assert.h>
#include <string.h>

const struct world_spec crypt_worlds[CRYPT_WORLDS] = {
    {"openssl/fresh", pal_port_openssl, PAL_FRESH, 0},
    {"openssl/reused", pal_port_openssl, PAL_REUSED, 0},
    {"boringssl/fresh", pal_port_boringssl, PAL_FRESH, 0},
    {"boringssl/reused", pal_port_boringssl, PAL_REUSED, 0},
};

static bool held_in_step(const struct crypt_world *world, const struct trace_step *step)
{
    return step->role == ROLE_START || (step->role == ROLE_MESSAGE && world->player.world->mode == PAL_REUSED);
}

static bool settles(const struct crypt_world *world, const struct trace_step *step)
{
    bool fresh = world->player.world->mode == PAL_FRESH;
    bool keyed = step->role == ROLE_START || step->role == ROLE_MESSAGE;
    bool closed = step->role == ROLE_FINISH && step->status != PAL_BAD_ARGUMENT && step->status != PAL_NO_SPACE;
    return fresh ? keyed || closed : keyed && step->status == PAL_OK;
}

/* held_list: of one thread, or of all (TRACE_THREADS_MAX). */
static void held_list(struct crypt_held *out, const struct crypt_world *world, uint32_t thread)
{
    const struct trace *trace = &world->player.world->trace;
    bool settled[TRACE_THREADS_MAX][TRACE_SLOTS_MAX] = {{false}};
    out->num = 0;
    for (size_t i = trace->num_steps; i-- > 0;) {
        const struct trace_step *step = &trace->steps[i];
        bool *slots = settled[step->thread];
        if (step->role == ROLE_DROP) {
            slots[0] = true;
            slots[1] = true;
        }
        if (slots[step->facts[FACT_SLOT]] || (thread != TRACE_THREADS_MAX && thread != step->thread)) {
            continue;
        }
        if (held_in_step(world, step)) {
            out->keys[out->num++] = step->key;
        }
        slots[step->facts[FACT_SLOT]] = settles(world, step);
    }
}

/* watch_held: what the thread's slots may hold must not stand in memory that is given back. */
static void watch_held(struct crypt_world *world, const struct crypt_held *held)
{
    for (size_t i = 0; i < held->num; i++) {
        world_env_watch(&world->player.world->env, held->keys[i]);
    }
}

/* core: a key without the zeros at its ends: those stand everywhere, also beside the key that replaced it. */
static struct pal_view core_of(struct pal_view key)
{
    while (key.len > 0 && key.data[0] == 0) {
        key.data++;
        key.len--;
    }
    while (key.len > 0 && key.data[key.len - 1] == 0) {
        key.len--;
    }
    return key;
}

/* stale: live blocks with a key that nobody may hold any more (nor a longer one that it is part of), and that was not
 * part of a text. */
static uint32_t stale(const struct crypt_world *world, const struct crypt_held *now, struct pal_view key)
{
    struct pal_view core = core_of(key);
    for (size_t i = 0; i < now->num; i++) {
        if (views_equal(now->keys[i], key) || view_find(now->keys[i], core)) {
            return 0;
        }
    }
    uint32_t found = world_env_blocks_with(&world->player.world->env, core);
    return found > 0 && !view_find((struct pal_view){world->said, world->said_len}, core) ? found : 0;
}

/* note_stale: of the keys that the thread's slots held before the step, and the step's own. */
static void note_stale(struct crypt_world *world, struct trace_step *trace, const struct crypt_held *before)
{
    struct crypt_held now;
    held_list(&now, world, TRACE_THREADS_MAX);
    for (size_t i = 0; i < before->num; i++) {
        trace->facts[FACT_STALE_KEYS] += stale(world, &now, before->keys[i]);
    }
    trace->facts[FACT_STALE_KEYS] += stale(world, &now, trace->key);
}

static void note_memory(struct crypt_world *world, struct trace_step *trace)
{
    const struct world_env *env = &world->player.world->env;
    struct pal_view said = {world->said, world->said_len};
    bool by_text = false;
    for (size_t i = 0; env->freed_keys > 0 && i < env->num_watched; i++) {
        by_text |= view_find(said, env->watched[i]);
    }
    trace->facts[FACT_ALLOCATIONS] = env->allocations;
    trace->facts[FACT_LIVE_BLOCKS] = env->live_blocks;
    trace->facts[FACT_FREED_KEYS] += by_text ? 0 : env->freed_keys;
}

static void note_stats(struct crypt_world *world, struct trace_step *trace)
{
    struct pal_slot_stats now = {0};
    struct pal_slot_stats *before = &world->stats[world->player.thread];
    world->area->stats(world, &now);
    trace->facts[FACT_MESSAGES] = (uint32_t)(now.messages - before->messages);
    trace->facts[FACT_SETUPS] = (uint32_t)(now.setups - before->setups);
    *before = now;
}

/* forget: after the thread's slots are gone: none of their keys may be left. */
static void forget(struct crypt_world *world, struct trace_step *trace, const struct crypt_held *before)
{
    memset(&world->stats[world->player.thread], 0, sizeof(world->stats[0]));
    trace->role = ROLE_DROP;
    note_stale(world, trace, before);
    note_memory(world, trace);
}

static void drop(struct crypt_world *world, struct trace_step *trace)
{
    struct crypt_held before;
    held_list(&before, world, world->player.thread);
    watch_held(world, &before);
    world->area->drop(world);
    forget(world, trace, &before);
}

static bool is_keyed(const struct trace_step *trace)
{
    return trace->role == ROLE_MESSAGE || trace->role == ROLE_START;
}

/* call: the area's call, once more without faults when one fired and was the reason that it failed. */
static void call(struct crypt_world *world, const struct step *step, struct trace_step *trace)
{
    struct world_env *env = &world->player.world->env;
    struct crypt_held before;
    env->fail_alloc = world->fail_alloc;
    env->fail_random = world->fail_random;
    world->fail_alloc = 0;
    world->fail_random = 0;
    held_list(&before, world, world->player.thread);
    watch_held(world, &before);
    world->area->call(world, step, trace);
    env->fail_alloc = 0;
    note_memory(world, trace);
    if (env->faulted) {
        uint32_t status = (uint32_t)trace->status;
        uint32_t dirt = trace->facts[FACT_DIRT];
        if (is_keyed(trace) && trace->status == PAL_NO_MEMORY) {
            env->fail_random = 0; /* it was for the first attempt */
            world_env_step(env, world->player.cursor);
            world->area->call(world, step, trace);
            note_memory(world, trace);
        }
        trace->facts[FACT_FAULTED] = 1;
        trace->facts[FACT_ATTEMPT_STATUS] = status;
        trace->facts[FACT_ATTEMPT_DIRT] = dirt;
    }
    env->fail_random = 0;
    note_stats(world, trace);
    if (is_keyed(trace)) {
        world->registers[trace->facts[FACT_KEY_REGISTER]].used = true;
        world->registers[trace->facts[FACT_KEY_REGISTER]].changed = false;
    }
    note_stale(world, trace, &before);
}

static void write_key(struct crypt_world *world, const struct step *step)
{
    struct pal_view bytes = crypt_text(world, scenario_field_bytes(world->player.scenario, step, 1), step->number[2]);
    bytes.len = bytes.len < CRYPT_KEY_LEN_MAX ? bytes.len : CRYPT_KEY_LEN_MAX;
    crypt_register_write(world, step->number[0], bytes);
}

static void poke(struct crypt_world *world, const struct step *step)
{
    struct crypt_register *reg = &world->registers[step->number[0]];
    if (reg->len > 0 && step->number[2] != 0) {
        reg->data[step->number[1] % reg->len] ^= (uint8_t)step->number[2];
        reg->changed |= reg->used;
    }
}

static void copy(struct crypt_world *world, const struct step *step)
{
    const struct crypt_register *from = &world->registers[step->number[0]];
    uint8_t bytes[CRYPT_KEY_LEN_MAX];
    if (from->len > 0) {
        memcpy(bytes, from->data, from->len);
    }
    crypt_register_write(world, step->number[1], (struct pal_view){bytes, from->len});
}

static struct crypt_world *crypt_of(struct player *player)
{
    return (struct crypt_world *)player;
}

static bool play_step(struct player *player, const struct step *step, struct trace_step *trace)
{
    struct crypt_world *world = crypt_of(player);
    if (step->op < world->area->num_operations) {
        call(world, step, trace);
        return true;
    }
    switch ((enum crypt_operation)(step->op - world->area->num_operations)) {
    case CRYPT_KEY:
        write_key(world, step);
        return true;
    case CRYPT_POKE:
        poke(world, step);
        return true;
    case CRYPT_COPY:
        copy(world, step);
        return true;
    case CRYPT_FAIL_ALLOC:
        world->fail_alloc = step->number[0];
        return true;
    case CRYPT_FAIL_RANDOM:
        world->fail_random = step->number[0];
        return true;
    case CRYPT_DROP:
        drop(world, trace);
        return true;
    case CRYPT_THREAD:
        player->thread = step->number[0];
        return false;
    case CRYPT_EXIT:
        player->leaves = player->thread != 0;
        if (!player->leaves) {
            drop(world, trace);
        }
        return !player->leaves;
    }
    return true;
}

/* close: the closing message, which is a step of the trace, and a drop, which is not. */
static void close(struct player *player)
{
    struct crypt_world *world = crypt_of(player);
    struct step closing = {.op = 0};
    const struct operation *operation = &player->scenario->language->operations[0];
    for (size_t field = 0; field < operation->num_fields; field++) {
        closing.number[field] = operation->fields[field].fallback;
    }
    call(world, &closing, player_step(player, 0));
    struct trace_step *dropping = player_step(player, 0);
    drop(world, dropping);
    memset(dropping, 0, sizeof(*dropping));
    player->world->trace.num_steps--;
    world->end_freed_keys += player->world->env.freed_keys;
}

static void before_leave(struct player *player)
{
    struct crypt_world *world = crypt_of(player);
    held_list(&world->leaving, world, player->thread);
    watch_held(world, &world->leaving);
}

static void after_leave(struct player *player, struct trace_step *trace)
{
    forget(crypt_of(player), trace, &crypt_of(player)->leaving);
}

static void end(struct player *player, struct trace_step *trace)
{
    note_memory(crypt_of(player), trace);
    trace->facts[FACT_FREED_KEYS] = crypt_of(player)->end_freed_keys;
}

static void enter(struct crypt_world *play, struct world *world, const struct scenario *scenario,
                  const struct crypt_area *area)
{
    memset(play, 0, offsetof(struct crypt_world, said));
    play->player.world = world;
    play->player.scenario = scenario;
    play->area = area;
    crypt_registers_init(play);
    for (size_t i = 0; i < CRYPT_BOXES; i++) {
        /* Boxes hold a message that nobody sealed until one is sealed into them. */
        play->boxes[i].cipher = PAL_AES_256_GCM;
        play->boxes[i].tag_len = PAL_TAG_LEN_MAX;
        play->boxes[i].nonce = (struct pal_view){(const uint8_t *)"nonce nobody", PAL_NONCE_LEN};
        play->boxes[i].sealed = (struct pal_view){(const uint8_t *)"nobody has sealed this", 22};
    }
}

void crypt_play(struct world worlds[], size_t num_worlds, struct actors *actors, const struct scenario *scenario,
                const struct crypt_area *area)
{
    static const struct troupe_ops ops = {play_step, before_leave, after_leave, close, end};
    struct crypt_world plays[CRYPT_WORLDS];
    struct player *players[CRYPT_WORLDS];
    assert(num_worlds > 0 && num_worlds <= CRYPT_WORLDS);
    for (size_t i = 0; i < num_worlds; i++) {
        enter(&plays[i], &worlds[i], scenario, area);
        players[i] = &plays[i].player;
    }
    troupe_play(players, num_worlds, actors, &ops);
}
