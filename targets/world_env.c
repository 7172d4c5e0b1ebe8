/* SPDX-License-Identifier: Apache-2.0
 * world_env.c: allocator with a ledger, key search, counted faults, and random bytes made from a counter.
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

static bool worth_watching(struct pal_view key)
{
    bool seen[UINT8_MAX + 1] = {false};
    size_t distinct = 0;
    for (size_t i = 0; i < key.len; i++) {
        distinct += seen[key.data[i]] ? 0 : 1;
        seen[key.data[i]] = true;
    }
    return key.len >= KEY_LEN_MIN && distinct >= KEY_DISTINCT_MIN;
}

PALDIFF_LOOKS_ANYWHERE bool view_find(struct pal_view hay, struct pal_view needle)
{
    if (needle.len < sizeof(uint64_t) || hay.len < needle.len) {
        return false;
    }
    uint64_t first;
    __builtin_memcpy(&first, needle.data, sizeof(first));
    for (size_t at = 0; at <= hay.len - needle.len; at++) {
        uint64_t here;
        __builtin_memcpy(&here, hay.data + at, sizeof(here));
        if (here != first) {
            continue;
        }
        size_t same = sizeof(first);
        while (same < needle.len && hay.data[at + same] == needle.data[same]) {
            same++;
        }
        if (same == needle.len) {
            return true;
        }
    }
    return false;
}

static struct pal_view block_view(const struct world_block *block)
{
    return (struct pal_view){(const uint8_t *)(block + 1), block->len};
}

static void *world_alloc(void *context, size_t len)
{
    struct world_env *world = context;
    world->allocations++;
    if (world->fail_alloc > 0 && --world->fail_alloc == 0) {
        world->faulted = true;
        return NULL;
    }
    struct world_block *block = len <= SIZE_MAX - sizeof(*block) ? malloc(sizeof(*block) + len) : NULL;
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
#if defined(PALDIFF_ASAN)
    (void)world;
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
    if (world->fail_random > 0 && --world->fail_random == 0) {
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

void world_env_init(struct world_env *world)
{
    memset(world, 0, sizeof(*world));
    world->env.context = world;
    world->env.alloc = world_alloc;
    world->env.free = world_free;
    world->env.random = world_random;
    world->env.now_ns = world_now_ns;
    world->env.unix_time = world_unix_time;
}

/* Rentals are blocks of their own; a handle is right as long as its block is there. */
static enum pal_status world_rent(void *context, struct pal_buffer *out, size_t min_cap)
{
    struct world_env *world = context;
    size_t cap = min_cap > 0 ? min_cap : 1;
    uint8_t *data = world_alloc(world, cap);
    world->allocations--;
    world->rents++;
    if (data == NULL) {
        return PAL_NO_MEMORY;
    }
    *out = (struct pal_buffer){data, cap, 1, world->rents};
    return PAL_OK;
}

static enum pal_status world_release(void *context, struct pal_buffer *buffer, bool clear)
{
    (void)clear;
    world_free(context, buffer->data);
    *buffer = (struct pal_buffer){0};
    return PAL_OK;
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
    world->transport = transport;
    world->env.rent = world_rent;
    world->env.release = world_release;
    world->env.sendmsg = world_sendmsg;
    world->env.sendfile = world_sendfile;
    world->env.file_size = world_file_size;
    world->env.wait_writable = world_wait;
}

void world_env_deinit(struct world_env *world)
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
