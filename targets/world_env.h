/* SPDX-License-Identifier: Apache-2.0
 * world_env.h: the environment that a world gives to its port: counts, remembers, and fails on demand.
 * It is the only seam for faults. It has no clock and no real randomness: both come from the scenario.
 */
#ifndef PALDIFF_WORLD_ENV_H
#define PALDIFF_WORLD_ENV_H

#include "transport.h"

#define WATCHED_KEYS_MAX 8u

struct world_block;  /* header of one allocation */
struct world_rental; /* header of one rental */

/* world_env: one world's. Zeroed by world_env_init; clean again after world_env_reset. */
struct world_env {
    struct pal_env env; /* what the port is given; context is this struct */
    uint8_t *region;    /* that memory comes from while there is room; NULL: all is the heap's */
    size_t region_used;
    struct world_block *blocks;
    struct world_block *dead; /* given back; kept until the scenario ends, so that no address comes twice */
    uint32_t live_blocks;
    uint32_t allocations; /* since world_env_step */
    uint32_t freed_keys;  /* since world_env_step */
    uint32_t fail_alloc;  /* the n-th allocation from now fails, once; 0 for none */
    uint32_t fail_random;
    bool faulted;   /* an allocation was refused since world_env_step */
    bool faultless; /* until the reset: nothing fails, whatever is armed */
    uint64_t step;
    uint64_t draws;               /* since world_env_step */
    struct transport *transport;  /* NULL where the area has none: its functions are then NULL as well */
    uint32_t rents;               /* since world_env_step; not among `allocations` */
    struct world_rental *rentals; /* of the scenario, newest first, live or returned */
    uint32_t live_rentals;        /* among live_blocks as well */
    uint32_t bad_returns;         /* refused returns of the scenario */
    size_t num_watched;
    struct pal_view watched[WATCHED_KEYS_MAX]; /* keys that freed memory is searched for */
};

void world_env_init(struct world_env *world);

/* world_env_keep: gives the environment memory of its own for all scenarios to come, several times as fast as the heap:
 * no address comes twice before the next reset, and ASan sees its edges and what was given back, but cannot tell who
 * allocated it. Without it, or without memory for it, the heap serves. */
void world_env_keep(struct world_env *world);

/* world_env_reset: as after init, before the next scenario. */
void world_env_reset(struct world_env *world);

/* world_env_lend: gives the environment a pool whose ledger is watched: buckets are powers of two from 16 bytes, and no
 * memory serves twice in one scenario. A rental is lent full of RENTAL_CANARY; what comes back is filled with
 * RENTAL_RETURNED and kept to the end, where a write to it shows. Only the live rental's own handle, unchanged, is
 * taken back: anything else is PAL_REFUSED, and counted. A rent is one of the allocations that fail_alloc counts. */
void world_env_lend(struct world_env *world);

/* world_env_connect: world_env_lend, and a transport (the caller's) with its clock. */
void world_env_connect(struct world_env *world, struct transport *transport);

/* RENTAL_CANARY, RENTAL_RETURNED: 8 bytes, repeated from the start of a rental. Distinct, and in no order that a test
 * pattern has, so that a run of them is no chance. */
#define RENTAL_PATTERN_LEN 8u
#define RENTAL_CANARY ((const uint8_t[RENTAL_PATTERN_LEN]){0xd1, 0x5e, 0xb7, 0x2c, 0x93, 0x68, 0xfa, 0x47})
#define RENTAL_RETURNED ((const uint8_t[RENTAL_PATTERN_LEN]){0x3b, 0xc4, 0x17, 0xe9, 0x82, 0x5d, 0xa6, 0x70})

/* world_env_rental_at, world_env_block_at: the live rental or allocation that begins at `data`, which is compared and
 * never followed. *out is untouched on false. */
bool world_env_rental_at(const struct world_env *world, struct pal_buffer *out, const uint8_t *data);
bool world_env_block_at(const struct world_env *world, size_t *out_len, const uint8_t *data);

/* world_env_rentals_touched: returned rentals that were written to afterwards. */
uint32_t world_env_rentals_touched(const struct world_env *world);

/* world_env_deinit: frees what the port did not give back, and what was kept. */
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
