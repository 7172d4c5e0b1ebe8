/* SPDX-License-Identifier: Apache-2.0
 * world_env.c: allocator and pool with a ledger, key search, counted faults, and random bytes made from a counter.
 */
#include "world_env.h"

#include "poison.h"

#include <stdlib.h>
#include <string.h>

#define KEY_LEN_MIN 12u
#define KEY_DISTINCT_MIN 6u

/* Block headers are 32 bytes so that what follows keeps malloc's alignment. */
struct world_block {
    struct world_block *next;
    struct world_block *previous;
    size_t len;
    size_t pad;
};

_Static_assert(sizeof(struct world_block) % _Alignof(max_align_t) == 0, "blocks keep malloc's alignment");

#define REGION_CAP ((size_t)1 << 20)
#define REGION_ALIGN 16u
#define REGION_FENCE 16u

static bool is_of_region(const struct world_env *world, const void *memory)
{
    uintptr_t start = (uintptr_t)world->region;
    return start != 0 && (uintptr_t)memory - start < REGION_CAP;
}

/* take: memory for a header and what follows, NULL for none. */
static void *take(struct world_env *world, size_t len)
{
    size_t whole = (len + REGION_ALIGN - 1) / REGION_ALIGN * REGION_ALIGN + REGION_FENCE;
    if (world->region == NULL || len > REGION_CAP / 2 || whole > REGION_CAP - world->region_used) {
        return malloc(len);
    }
    uint8_t *memory = world->region + world->region_used;
    world->region_used += whole;
    poison_clear(memory, len);
    poison_uninitialised(memory, len);
    return memory;
}

static bool worth_watching(struct pal_view key)
{
    uint64_t seen[4] = {0};
    size_t distinct = 0;
    for (size_t i = 0; key.len >= KEY_LEN_MIN && i < key.len && distinct < KEY_DISTINCT_MIN; i++) {
        uint64_t *word = &seen[key.data[i] / 64];
        uint64_t bit = (uint64_t)1 << key.data[i] % 64;
        distinct += (*word & bit) == 0 ? 1 : 0;
        *word |= bit;
    }
    return distinct >= KEY_DISTINCT_MIN;
}

static struct pal_view block_view(const struct world_block *block)
{
    return (struct pal_view){(const uint8_t *)(block + 1), block->len};
}

/* must_fail: whether this allocation or rent is the one that was to fail. */
static bool must_fail(struct world_env *world)
{
    bool now = world->fail_alloc > 0 && --world->fail_alloc == 0 && !world->faultless;
    world->faulted |= now;
    return now;
}

static void *world_alloc(void *context, size_t len)
{
    struct world_env *world = context;
    world->allocations++;
    if (must_fail(world)) {
        return NULL;
    }
    struct world_block *block = len <= SIZE_MAX - sizeof(*block) ? take(world, sizeof(*block) + len) : NULL;
    if (block == NULL) {
        return NULL;
    }
    *block = (struct world_block){.next = world->blocks, .len = len};
    if (world->blocks != NULL) {
        world->blocks->previous = block;
    }
    world->blocks = block;
    world->live_blocks++;
    return block + 1;
}

static void unlink_block(struct world_env *world, struct world_block *block)
{
    if (block->previous != NULL) {
        block->previous->next = block->next;
    } else {
        world->blocks = block->next;
    }
    if (block->next != NULL) {
        block->next->previous = block->previous;
    }
    world->live_blocks--;
}

/* bury: a port may look at where memory lies (a pool that must not lend the same buffer twice in a row does), and
 * whether malloc gives an address again is not the scenario's to say. ASan keeps freed memory by itself, and watches
 * it. */
static void bury(struct world_env *world, struct world_block *block)
{
    if (is_of_region(world, block)) {
        poison_uninitialised(block + 1, block->len);
        poison_region(block, sizeof(*block) + block->len);
        return;
    }
#if defined(PALDIFF_ASAN)
    free(block);
#else
    poison_uninitialised(block + 1, block->len);
    block->next = world->dead;
    world->dead = block;
#endif
}

static void world_free(void *context, void *memory)
{
    struct world_env *world = context;
    if (memory == NULL) {
        return;
    }
    struct world_block *block = (struct world_block *)memory - 1;
    for (size_t i = 0; i < world->num_watched; i++) {
        if (view_find(block_view(block), world->watched[i])) {
            world->freed_keys++;
            break;
        }
    }
    unlink_block(world, block);
    bury(world, block);
}

/* mix: SplitMix64's output function: spreads a counter over all bits. */
static uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static enum pal_status world_random(void *context, uint8_t *out, size_t len)
{
    struct world_env *world = context;
    if (world->fail_random > 0 && --world->fail_random == 0 && !world->faultless) {
        return PAL_NO_RANDOM;
    }
    uint64_t seed = mix(world->step * 0x9e3779b97f4a7c15u + 1) + mix(++world->draws);
    for (size_t i = 0; i < len; i++) {
        out[i] = (uint8_t)(mix(seed + i / 8) >> (8 * (i % 8)));
    }
    return PAL_OK;
}

static uint64_t world_now_ns(void *context)
{
    const struct world_env *world = context;
    return world->transport != NULL ? world->transport->now_ns : world->step * 1000000u;
}

static int64_t world_unix_time(void *context)
{
    (void)context;
    return 1700000000;
}

static void start(struct world_env *world, uint8_t *region)
{
    memset(world, 0, sizeof(*world));
    world->region = region;
    world->env.context = world;
    world->env.alloc = world_alloc;
    world->env.free = world_free;
    world->env.random = world_random;
    world->env.now_ns = world_now_ns;
    world->env.unix_time = world_unix_time;
}

void world_env_init(struct world_env *world)
{
    start(world, NULL);
}

/* Rental headers keep malloc's alignment, as block headers do. */
struct world_rental {
    struct world_rental *next;
    struct pal_buffer handle;
    bool live;
    uint8_t pad[15];
};

_Static_assert(sizeof(struct world_rental) % _Alignof(max_align_t) == 0, "rentals keep malloc's alignment");

#define RENTAL_CAP_MIN 16u

static uint64_t pattern_word(const uint8_t pattern[RENTAL_PATTERN_LEN])
{
    uint64_t word;
    __builtin_memcpy(&word, pattern, sizeof(word));
    return word;
}

/* fill: `cap` is a multiple of 8. Contents are undefined to MSan. */
PALDIFF_LOOKS_ANYWHERE static void fill(struct world_rental *rental, const uint8_t pattern[RENTAL_PATTERN_LEN])
{
    uint64_t *words = (uint64_t *)(void *)rental->handle.data;
    uint64_t word = pattern_word(pattern);
    for (size_t i = 0; i < rental->handle.cap / sizeof(word); i++) {
        words[i] = word;
    }
    poison_uninitialised(rental->handle.data, rental->handle.cap);
}

/* bucket: the power of two from 16 on that holds `min_cap`; its index too. 0 for none. */
static size_t bucket(size_t min_cap, uint32_t *out_index)
{
    size_t cap = RENTAL_CAP_MIN;
    *out_index = 1;
    while (cap != 0 && cap < min_cap) {
        cap *= 2;
        ++*out_index;
    }
    return cap;
}

static enum pal_status world_rent(void *context, struct pal_buffer *out, size_t min_cap)
{
    struct world_env *world = context;
    struct world_rental *rental = NULL;
    uint32_t index;
    size_t cap = bucket(min_cap, &index);
    world->rents++;
    if (must_fail(world)) {
        return PAL_NO_MEMORY;
    }
    if (cap != 0 && cap <= SIZE_MAX - sizeof(*rental)) {
        rental = take(world, sizeof(*rental) + cap);
    }
    if (rental == NULL) {
        return PAL_NO_MEMORY;
    }
    uint32_t generation = world->rentals != NULL ? world->rentals->handle.generation + 1 : 1;
    *rental = (struct world_rental){
        .next = world->rentals, .handle = {(uint8_t *)(rental + 1), cap, index, generation}, .live = true};
    world->rentals = rental;
    world->live_rentals++;
    world->live_blocks++;
    fill(rental, RENTAL_CANARY);
    *out = rental->handle;
    return PAL_OK;
}

static struct world_rental *live_rental(const struct world_env *world, const uint8_t *data)
{
    struct world_rental *rental = world->rentals;
    while (rental != NULL && (!rental->live || rental->handle.data != data)) {
        rental = rental->next;
    }
    return rental;
}

static enum pal_status world_release(void *context, struct pal_buffer *buffer, bool clear)
{
    struct world_env *world = context;
    (void)clear; /* overwritten either way */
    if (buffer == NULL) {
        return PAL_BAD_ARGUMENT;
    }
    if (buffer->data == NULL && buffer->cap == 0) {
        return PAL_OK;
    }
    struct world_rental *rental = live_rental(world, buffer->data);
    if (rental == NULL || rental->handle.cap != buffer->cap || rental->handle.slot != buffer->slot ||
        rental->handle.generation != buffer->generation) {
        world->bad_returns++;
        return PAL_REFUSED;
    }
    rental->live = false;
    world->live_rentals--;
    world->live_blocks--;
    fill(rental, RENTAL_RETURNED);
    *buffer = (struct pal_buffer){0};
    return PAL_OK;
}

bool world_env_rental_at(const struct world_env *world, struct pal_buffer *out, const uint8_t *data)
{
    const struct world_rental *rental = live_rental(world, data);
    if (rental != NULL) {
        *out = rental->handle;
    }
    return rental != NULL;
}

bool world_env_block_at(const struct world_env *world, size_t *out_len, const uint8_t *data)
{
    const struct world_block *block = world->blocks;
    while (block != NULL && block_view(block).data != data) {
        block = block->next;
    }
    if (block != NULL) {
        *out_len = block->len;
    }
    return block != NULL;
}

PALDIFF_LOOKS_ANYWHERE static bool is_filled(const struct world_rental *rental,
                                             const uint8_t pattern[RENTAL_PATTERN_LEN])
{
    const uint64_t *words = (const uint64_t *)(const void *)rental->handle.data;
    uint64_t word = pattern_word(pattern);
    uint64_t wrong = 0;
    for (size_t i = 0; i < rental->handle.cap / sizeof(word); i++) {
        wrong |= words[i] ^ word;
    }
    return wrong == 0;
}

uint32_t world_env_rentals_touched(const struct world_env *world)
{
    uint32_t touched = 0;
    for (const struct world_rental *rental = world->rentals; rental != NULL; rental = rental->next) {
        touched += !rental->live && !is_filled(rental, RENTAL_RETURNED) ? 1 : 0;
    }
    return touched;
}

void world_env_lend(struct world_env *world)
{
    world->env.rent = world_rent;
    world->env.release = world_release;
}

static enum pal_status world_sendmsg(void *context, size_t *out_sent, int socket, const struct iovec *segments,
                                     size_t num_segments, int flags)
{
    const struct world_env *world = context;
    return transport_sendmsg(world->transport, out_sent, socket, segments, num_segments, flags);
}

static enum pal_status world_sendfile(void *context, size_t *out_sent, int socket, int file, uint64_t offset,
                                      size_t len)
{
    const struct world_env *world = context;
    return transport_sendfile(world->transport, out_sent, socket, file, offset, len);
}

static enum pal_status world_file_size(void *context, uint64_t *out_size, int file)
{
    const struct world_env *world = context;
    return transport_file_size(world->transport, out_size, file);
}

static enum pal_status world_wait(void *context, int socket, uint64_t deadline_ns)
{
    const struct world_env *world = context;
    return transport_wait(world->transport, socket, deadline_ns);
}

void world_env_connect(struct world_env *world, struct transport *transport)
{
    world_env_lend(world);
    world->transport = transport;
    world->env.sendmsg = world_sendmsg;
    world->env.sendfile = world_sendfile;
    world->env.file_size = world_file_size;
    world->env.wait_writable = world_wait;
}

static void free_all(struct world_env *world)
{
    world->num_watched = 0;
    while (world->blocks != NULL) {
        world_free(world, world->blocks + 1);
    }
    while (world->dead != NULL) {
        struct world_block *block = world->dead;
        world->dead = block->next;
        free(block);
    }
    while (world->rentals != NULL) {
        struct world_rental *rental = world->rentals;
        world->rentals = rental->next;
        world->live_blocks -= rental->live ? 1 : 0;
        world->live_rentals -= rental->live ? 1 : 0;
        if (!is_of_region(world, rental)) {
            free(rental);
        }
    }
    if (world->region != NULL) {
        poison_region(world->region, world->region_used);
        world->region_used = 0;
    }
}

void world_env_keep(struct world_env *world)
{
    world->region = aligned_alloc(REGION_ALIGN, REGION_CAP);
    poison_region(world->region, world->region != NULL ? REGION_CAP : 0);
}

void world_env_reset(struct world_env *world)
{
    free_all(world);
    start(world, world->region);
}

void world_env_deinit(struct world_env *world)
{
    free_all(world);
    poison_clear(world->region, world->region != NULL ? REGION_CAP : 0);
    free(world->region);
    world->region = NULL;
}

void world_env_step(struct world_env *world, uint64_t step)
{
    world->step = step;
    world->draws = 0;
    world->allocations = 0;
    world->rents = 0;
    world->freed_keys = 0;
    world->faulted = false;
}

void world_env_watch(struct world_env *world, struct pal_view key)
{
    if (!worth_watching(key)) {
        return;
    }
    for (size_t i = 0; i < world->num_watched; i++) {
        if (world->watched[i].len == key.len && memcmp(world->watched[i].data, key.data, key.len) == 0) {
            return;
        }
    }
    if (world->num_watched == WATCHED_KEYS_MAX) {
        memmove(world->watched, world->watched + 1, sizeof(world->watched) - sizeof(world->watched[0]));
        world->num_watched--;
    }
    world->watched[world->num_watched++] = key;
}

void world_env_unwatch_all(struct world_env *world)
{
    world->num_watched = 0;
}

uint32_t world_env_blocks_with(const struct world_env *world, struct pal_view key)
{
    uint32_t found = 0;
    for (const struct world_block *block = world->blocks; block != NULL && worth_watching(key); block = block->next) {
        found += view_find(block_view(block), key) ? 1 : 0;
    }
    return found;
}
