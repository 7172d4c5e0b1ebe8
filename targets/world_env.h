/* SPDX-License-Identifier: Apache-2.0
 * world_env.h: the environment that a world gives to its port: counts, remembers, and fails on demand.
 * It is the only seam for faults. It has no clock and no real randomness: both come from the scenario.
 */
#ifndef PALDIFF_WORLD_ENV_H
#define PALDIFF_WORLD_ENV_H

#include "transport.h"

#define WATCHED_KEYS_MAX 8u

struct world_block; /* header of one allocation */

/* world_env: one world's. Zeroed by world_env_init, which is called before every scenario. */
struct world_env {
    struct pal_env env; /* what the port is given; context is this struct */
    struct world_block *blocks;
    struct world_block *dead; /* given back; kept until the scenario ends, so that no address comes twice */
    uint32_t live_blocks;
    uint32_t allocations; /* since world_env_step */
    uint32_t freed_keys;  /* since world_env_step */
    uint32_t fail_alloc;  /* the n-th allocation from now fails, once; 0 for none */
    uint32_t fail_random;
    bool faulted; /* an allocation was refused since world_env_step */
    uint64_t step;
    uint64_t draws;              /* since world_env_step */
    struct transport *transport; /* NULL where the area has none: its functions are then NULL as well */
    uint32_t rents;              /* since world_env_step; not among `allocations` */
    size_t num_watched;
    struct pal_view watched[WATCHED_KEYS_MAX]; /* keys that freed memory is searched for */
};

void world_env_init(struct world_env *world);

/* world_env_connect: gives the environment a transport (the caller's), its clock, and a pool that never uses memory
 * twice. */
void world_env_connect(struct world_env *world, struct transport *transport);

/* world_env_deinit: frees what the port did not give back. */
void world_env_deinit(struct world_env *world);

/* world_env_step: zeroes what is counted per step. Random bytes depend on the step and the draw only, so that a call
 * that is played again draws the same. */
void world_env_step(struct world_env *world, uint64_t step);

/* world_env_watch: freed memory is searched for `key` from now on. Keys that could stand in memory by chance (short, or
 * of few distinct bytes) are not watched. At most WATCHED_KEYS_MAX; the oldest goes. The bytes must stay. */
void world_env_watch(struct world_env *world, struct pal_view key);
void world_env_unwatch_all(struct world_env *world);

/* world_env_blocks_with: live blocks that hold `key`; 0 for one that is not worth watching. */
uint32_t world_env_blocks_with(const struct world_env *world, struct pal_view key);

/* view_find: whether `needle` (8 bytes or more) stands in `hay`. Reads memory in any state. */
bool view_find(struct pal_view hay, struct pal_view needle);

#endif
