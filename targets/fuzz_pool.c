/* SPDX-License-Identifier: Apache-2.0
 * fuzz_pool.c: sequences of rents and returns by up to four threads, right ones and wrong ones, in the worlds
 * {reference pool, the same in hostile mode, a model that never uses memory twice}. Judged by the rules pool.*. It does
 * not check speed, nor threads that really run at the same time: pool_test does, under TSan.
 */
#include "model_pool.h"
#include "poison.h"
#include "ports.h"
#include "troupe.h"

#include <assert.h>
#include <string.h>

#define REGISTERS 8u
#define SIZES 14u
#define POOLED_CAP_MAX 4096u
#define IDLE_BYTES_MAX 12288u
#define WINDOW 64u /* bytes at each end of a rental that are looked at after every step */
#define SECRET_LEN 16u
#define POOL_WORLDS 3u

enum { WAY_PLAIN, WAY_HOSTILE };
enum {
    OP_RENT,
    OP_RELEASE,
    OP_KEEP,
    OP_RELEASE_COPY,
    OP_RELEASE_FOREIGN,
    OP_WRITE,
    OP_TRIM,
    OP_THREAD,
    OP_EXIT,
    OP_FAIL_ALLOC
};
enum { FOREIGN_MEMORY, FOREIGN_INTERIOR, FOREIGN_POOL, FOREIGN_ALTERED, FOREIGN_GARBAGE, NUM_FOREIGN };

static const char *const size_names[SIZES] = {"100",  "0",    "1",    "15",   "16",   "17",    "32",
                                              "1000", "1024", "4095", "4096", "4097", "16413", "above-all"};
static const size_t sizes[SIZES] = {100, 0, 1, 15, 16, 17, 32, 1000, 1024, 4095, 4096, 4097, 16413, SIZE_MAX};
static const char *const foreign_names[NUM_FOREIGN] = {"memory", "interior", "other-pool", "altered", "garbage"};
static const char *const no_yes[] = {"no", "yes"};

/* clang-format off */
#define REG {"reg", FIELD_NUMBER, REGISTERS - 1, 0, NULL, false}
#define SIZE {"size", FIELD_CHOICE, SIZES - 1, 0, size_names, false}
#define CLEAR {"clear", FIELD_CHOICE, 1, 0, no_yes, false}

static const struct operation operations[] = {
    {"rent", "rents into the first free register from reg on", 32, 2, {REG, SIZE}},
    {"release", "returns what the register holds; again when it was returned through a copy", 24, 2, {REG, CLEAR}},
    {"keep", "copies the register's handle", 6, 1, {REG}},
    {"release-copy", "returns through the copy, live or stale", 8, 2, {REG, CLEAR}},
    {"release-foreign", "returns what is not the pool's (interior and altered: of the register)", 4, 2,
     {REG, {"what", FIELD_CHOICE, NUM_FOREIGN - 1, 0, foreign_names, false}}},
    {"write", "fills the rental with other bytes", 3, 1, {REG}},
    {"trim", "trims the pool", 2, 0, {{0}}},
    {"thread", "goes on on another thread", 4, 1, {{"n", FIELD_NUMBER, TRACE_THREADS_MAX - 1, 1, NULL, false}}},
    {"exit", "ends the thread (thread 0: nothing)", 1, 0, {{0}}},
    {"fail-alloc", "the n-th allocation of the next rent fails", 3, 1, {{"n", FIELD_NUMBER, 7, 1, NULL, false}}},
};
/* clang-format on */

static const struct language language = {"pool", 1, sizeof(operations) / sizeof(operations[0]), operations};

/* rental: one register. `handle` is {0} when empty, and stale when the rental went back through `copy`. */
struct rental {
    struct pal_buffer handle;
    struct pal_buffer copy;
    uint32_t thread;
    bool live;
    bool copy_live; /* the copy is of the live rental */
    uint8_t secret[SECRET_LEN];
};

struct pool_world {
    struct player player;
    const struct pal_pool_ops *ops;
    struct pal_pool *pool;
    struct pal_pool *other;
    struct rental rentals[REGISTERS];
    uint32_t fail_alloc;
    uint64_t secrets;
    uint64_t live_bytes;
    /* What the thread returned last, with nothing in between: 0 for nothing. */
    size_t warm_bucket;
    uint32_t warm_thread;
};

static struct pool_world *pool_of(struct player *player)
{
    return (struct pool_world *)player;
}

static struct world_env *env_of(struct pool_world *world)
{
    return &world->player.world->env;
}

static size_t bucket_of(size_t size)
{
    size_t bucket = 16;
    while (bucket < size) {
        bucket *= 2;
    }
    return bucket;
}

static void fill(struct pool_world *world, struct rental *rental)
{
    uint64_t number = ++world->secrets;
    for (size_t i = 0; i < SECRET_LEN; i++) {
        number = number * 6364136223846793005u + 1442695040888963407u;
        rental->secret[i] = (uint8_t)(number >> 56);
    }
    size_t cap = rental->handle.cap;
    size_t done = cap < SECRET_LEN ? cap : SECRET_LEN;
    memcpy(rental->handle.data, rental->secret, done);
    while (done < cap) { /* twice as much each time */
        size_t more = cap - done < done ? cap - done : done;
        memcpy(rental->handle.data + done, rental->handle.data, more);
        done += more;
    }
}

/* window_damage: looks at memory that a wrong pool may have taken back. Bytes [from, to) of the rental that are not as
 * filled, counted by the eight (the last by the one). */
PALDIFF_LOOKS_ANYWHERE static uint32_t window_damage(const struct rental *rental, size_t from, size_t to)
{
    const uint8_t *data = rental->handle.data;
    uint32_t wrong = 0;
    size_t at = from;
    for (; at + sizeof(uint64_t) <= to; at += sizeof(uint64_t)) {
        uint64_t got;
        uint64_t want;
        __builtin_memcpy(&got, data + at, sizeof(got));
        __builtin_memcpy(&want, rental->secret + at % SECRET_LEN, sizeof(want));
        wrong += got != want ? 1 : 0;
    }
    for (; at < to; at++) {
        wrong += data[at] != rental->secret[at % SECRET_LEN] ? 1 : 0;
    }
    return wrong;
}

static uint32_t damage(const struct rental *rental)
{
    size_t cap = rental->handle.cap;
    if (cap <= 2 * (size_t)WINDOW) {
        return window_damage(rental, 0, cap);
    }
    size_t tail = (cap - WINDOW) / SECRET_LEN * SECRET_LEN;
    return window_damage(rental, 0, WINDOW) + window_damage(rental, tail, cap);
}

static void note(struct pool_world *world, struct trace_step *trace)
{
    struct pal_pool_stats stats = {0};
    world->ops->stats(world->pool, &stats);
    for (size_t i = 0; i < REGISTERS; i++) {
        if (world->rentals[i].live) {
            trace->facts[FACT_DAMAGE] += damage(&world->rentals[i]);
        }
    }
    uint64_t ours = world->live_bytes;
    trace->facts[FACT_MISCOUNTED] =
        (uint32_t)(stats.rented_bytes > ours ? stats.rented_bytes - ours : ours - stats.rented_bytes);
    trace->facts[FACT_IDLE_OVER] =
        (uint32_t)(stats.idle_bytes > stats.idle_bytes_max ? stats.idle_bytes - stats.idle_bytes_max : 0);
}

static uint32_t overlaps(const struct pool_world *world, const struct rental *rental)
{
    uint32_t num = 0;
    for (size_t i = 0; i < REGISTERS; i++) {
        const struct pal_buffer *a = &world->rentals[i].handle;
        const struct pal_buffer *b = &rental->handle;
        bool other = &world->rentals[i] != rental && world->rentals[i].live;
        num += other && (uintptr_t)a->data < (uintptr_t)b->data + b->cap &&
                       (uintptr_t)b->data < (uintptr_t)a->data + a->cap
                   ? 1
                   : 0;
    }
    return num;
}

static struct rental *free_register(struct pool_world *world, uint32_t from)
{
    for (uint32_t i = 0; i < REGISTERS; i++) {
        struct rental *rental = &world->rentals[(from + i) % REGISTERS];
        if (!rental->live) {
            return rental;
        }
    }
    return NULL;
}

/* try_rent: once more without the fault when one fired. */
static enum pal_status try_rent(struct pool_world *world, struct rental *rental, size_t size, struct trace_step *trace)
{
    struct world_env *env = env_of(world);
    env->fail_alloc = world->fail_alloc;
    world->fail_alloc = 0;
    enum pal_status status = world->ops->rent(world->pool, &rental->handle, size);
    env->fail_alloc = 0;
    if (env->faulted) {
        trace->facts[FACT_FAULTED] = 1;
        trace->facts[FACT_ATTEMPT_STATUS] = (uint32_t)status;
        if (status == PAL_NO_MEMORY) {
            world_env_step(env, world->player.cursor);
            status = world->ops->rent(world->pool, &rental->handle, size);
        }
    }
    trace->facts[FACT_ALLOCATIONS] = env->allocations;
    return status;
}

static void rent(struct pool_world *world, const struct step *step, struct trace_step *trace)
{
    struct rental *rental = free_register(world, step->number[0]);
    size_t size = sizes[step->number[1]];
    if (rental == NULL) {
        return;
    }
    bool hostile = world->player.world->spec->way == WAY_HOSTILE;
    bool pooled = world->player.world->mode == PAL_REUSED && !hostile;
    trace->role = ROLE_MESSAGE;
    trace->facts[FACT_REQUESTED] = (uint32_t)size;
    trace->facts[FACT_EXPECTED] = size == SIZE_MAX ? PAL_TOO_LONG : PAL_OK;
    trace->facts[FACT_WARM] = pooled && size <= POOLED_CAP_MAX && world->warm_bucket == bucket_of(size) &&
                                      world->warm_thread == world->player.thread
                                  ? 1
                                  : 0;
    memset(rental, 0, sizeof(*rental));
    trace->status = try_rent(world, rental, size, trace);
    world->warm_bucket = 0;
    if (trace->status != PAL_OK) {
        return;
    }
    trace->facts[FACT_MISSING_CAP] = (uint32_t)(rental->handle.cap < size ? size - rental->handle.cap : 0);
    rental->live = true;
    rental->thread = world->player.thread;
    trace->facts[FACT_OVERLAPS] = overlaps(world, rental);
    world->live_bytes += rental->handle.cap;
    fill(world, rental);
}

/* returned: the rental is gone by our own count, whatever the pool answered. It has to be kept where there was room for
 * it below the bound. */
static void returned(struct pool_world *world, struct rental *rental, size_t cap, uint64_t idle_before)
{
    rental->live = false;
    rental->copy_live = false;
    world->live_bytes -= cap;
    world->warm_bucket = cap <= POOLED_CAP_MAX && idle_before + cap <= IDLE_BYTES_MAX ? bucket_of(cap) : 0;
    world->warm_thread = world->player.thread;
}

static void release_through(struct pool_world *world, struct rental *rental, struct pal_buffer *handle, bool live,
                            bool clear, struct trace_step *trace)
{
    bool empty = handle->data == NULL;
    size_t cap = handle->cap;
    struct pal_view secret = {rental->secret, SECRET_LEN};
    trace->facts[FACT_RELEASE_KIND] = empty                                    ? RELEASE_OWN
                                      : !live                                  ? RELEASE_STALE
                                      : rental->thread != world->player.thread ? RELEASE_CROSS
                                                                               : RELEASE_OWN;
    trace->facts[FACT_EXPECTED] = empty || live ? PAL_OK : PAL_REFUSED;
    trace->facts[FACT_CLEARED] = live && clear && cap >= 2 * (size_t)SECRET_LEN ? 1 : 0;
    if (trace->facts[FACT_CLEARED] != 0) {
        world_env_watch(&world->player.world->env, secret);
    }
    struct pal_pool_stats before = {0};
    world->ops->stats(world->pool, &before);
    trace->status = world->ops->release(world->pool, handle, clear);
    trace->facts[FACT_FREED_KEYS] = env_of(world)->freed_keys;
    world->warm_bucket = 0;
    if (live) {
        returned(world, rental, cap, before.idle_bytes);
    }
    if (trace->facts[FACT_CLEARED] != 0) {
        trace->facts[FACT_STALE_KEYS] = world_env_blocks_with(env_of(world), secret);
    }
}

static void release_foreign(struct pool_world *world, const struct step *step, struct trace_step *trace)
{
    const struct rental *rental = &world->rentals[step->number[0]];
    uint32_t what = step->number[1];
    uint8_t *memory = arena_take(&world->player.world->arena, 64, 0);
    struct pal_buffer handle = {memory, 64, 1, 1};
    bool rented = false;
    if (what == FOREIGN_GARBAGE) {
        handle.slot = UINT32_MAX;
        handle.generation = 7;
    } else if (what == FOREIGN_POOL) {
        rented = world->ops->rent(world->other, &handle, 64) == PAL_OK;
    } else if (what != FOREIGN_MEMORY && rental->live) {
        handle = rental->handle;
        handle.data += what == FOREIGN_INTERIOR ? 1 : 0;
        handle.cap += what == FOREIGN_ALTERED ? 1 : 0;
    }
    trace->facts[FACT_RELEASE_KIND] = RELEASE_FOREIGN;
    trace->facts[FACT_EXPECTED] = PAL_REFUSED;
    struct pal_buffer given = handle;
    trace->status = world->ops->release(world->pool, &given, false);
    if (rented && world->ops->release(world->other, &handle, false) != PAL_OK) {
        trace->facts[FACT_DAMAGE]++;
    }
}

static bool play_step(struct player *player, const struct step *step, struct trace_step *trace)
{
    struct pool_world *world = pool_of(player);
    struct rental *rental = &world->rentals[step->number[0] % REGISTERS];
    bool goes_on = true;
    switch (step->op) {
    case OP_RENT:
        rent(world, step, trace);
        break;
    case OP_RELEASE:
        release_through(world, rental, &rental->handle, rental->live, step->number[1] != 0, trace);
        break;
    case OP_KEEP:
        rental->copy = rental->handle;
        rental->copy_live = rental->live;
        break;
    case OP_RELEASE_COPY:
        release_through(world, rental, &rental->copy, rental->copy_live, step->number[1] != 0, trace);
        break;
    case OP_RELEASE_FOREIGN:
        release_foreign(world, step, trace);
        break;
    case OP_WRITE:
        if (rental->live) {
            fill(world, rental);
        }
        break;
    case OP_TRIM:
        world->ops->trim(world->pool);
        world->warm_bucket = 0;
        break;
    case OP_THREAD:
        player->thread = step->number[0];
        goes_on = false;
        break;
    case OP_EXIT:
        player->leaves = player->thread != 0;
        goes_on = !player->leaves;
        world->warm_bucket = 0;
        break;
    default:
        world->fail_alloc = step->number[0];
        break;
    }
    note(world, trace);
    return goes_on;
}

/* close: one more rent, of the first operation's fallbacks, so that every scenario ends with a comparison. */
static void close(struct player *player)
{
    static const struct step closing = {.op = OP_RENT};
    struct pool_world *world = pool_of(player);
    world->fail_alloc = 0;
    struct trace_step *trace = player_step(player, OP_RENT);
    rent(world, &closing, trace);
    note(world, trace);
}

/* end: everything that is still held goes back, in order of registers; then the pools. */
static void end(struct player *player, struct trace_step *trace)
{
    struct pool_world *world = pool_of(player);
    for (size_t i = 0; i < REGISTERS; i++) {
        struct rental *rental = &world->rentals[i];
        size_t cap = rental->handle.cap;
        if (rental->live && world->ops->release(world->pool, &rental->handle, false) == PAL_OK) {
            returned(world, rental, cap, 0);
        }
    }
    note(world, trace);
    world->ops->close(world->pool);
    world->ops->close(world->other);
    trace->facts[FACT_LIVE_BLOCKS] = env_of(world)->live_blocks;
}

static void enter(struct pool_world *play, struct world *world, const struct scenario *scenario)
{
    const struct pal_pool_config config = {
        .pooled_cap_max = POOLED_CAP_MAX, .idle_bytes_max = IDLE_BYTES_MAX, .hostile = world->spec->way == WAY_HOSTILE};
    memset(play, 0, sizeof(*play));
    play->player.world = world;
    play->player.scenario = scenario;
    play->player.closes_once = true;
    play->ops = world->port->pool;
    enum pal_status opened = play->ops->open(&world->env.env, &play->pool, &config);
    assert(opened == PAL_OK);
    opened = play->ops->open(&world->env.env, &play->other, &config);
    assert(opened == PAL_OK);
}

static void play_pool(struct world worlds[], size_t num_worlds, struct actors *actors, const struct scenario *scenario)
{
    static const struct troupe_ops ops = {play_step, NULL, NULL, close, end};
    struct pool_world plays[POOL_WORLDS];
    struct player *players[POOL_WORLDS];
    assert(num_worlds <= POOL_WORLDS);
    for (size_t i = 0; i < num_worlds; i++) {
        enter(&plays[i], &worlds[i], scenario);
        players[i] = &plays[i].player;
    }
    troupe_play(players, num_worlds, actors, &ops);
}

static const struct world_spec worlds[POOL_WORLDS] = {
    {"reference/pooled", pal_port_reference, PAL_REUSED, WAY_PLAIN},
    {"reference/hostile", pal_port_reference, PAL_REUSED, WAY_HOSTILE},
    {"model/fresh", model_port, PAL_FRESH, WAY_PLAIN},
};

static bool adopt_pool(struct pal_port *out, const struct pal_port *from)
{
    out->pool = from->pool;
    return from->pool != NULL;
}

const struct target target_pool = {
    .name = "pool",
    .sentence = "a pool of buffers, as it is and in hostile mode, against fresh allocations",
    .language = &language,
    .num_worlds = POOL_WORLDS,
    .worlds = worlds,
    .mutated = pal_port_reference,
    .adopt = adopt_pool,
    .input_len_max = 40,
    .alarm_mutant = "pool_second_return_accepted",
    .alarm_scenario = "paldiff pool 1\nrent\nkeep\nrelease\nrelease-copy\n",
    .play = play_pool,
};
