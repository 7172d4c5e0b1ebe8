/* SPDX-License-Identifier: Apache-2.0
 * state.h: what the pool's sources share: slots (table.c), idle memory in its two levels (idle.c), calls (pool.c).
 * Not for users. Locks: the registry's before a pool's; no function of the environment is called under either.
 * It breaks when a slot is reached by two lists, or when a field that a refused release reads is not atomic.
 */
#ifndef PAL_POOL_STATE_H
#define PAL_POOL_STATE_H

#include "pool.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
    POOL_CAP_MIN_LOG2 = 4,
    POOL_NUM_BUCKETS = 27,             /* 16 << 0 to 16 << 26 */
    POOL_NO_BUCKET = POOL_NUM_BUCKETS, /* exact, never kept */
    POOL_LEVEL_DEPTH = 2,              /* one call's input and output at a time */
    POOL_NUM_VISITS = 4,
    POOL_LINE_LEN = 64,
    POOL_CHUNK_LOG2 = 4, /* the first chunk of the table has 16 slots, each further one twice as many */
    POOL_NUM_CHUNKS = 20,
    POOL_INDEX_BITS = 24, /* of a slot's number; above them stands its pool's id */
    POOL_NUM_IDS = 255    /* pools beyond share the last id */
};

/* pool_visit: where one rental began and ended. */
struct pool_visit {
    _Atomic(const void *) rented_from;
    _Atomic(const void *) released_from;
};

/* pool_slot: one buffer, or none (data NULL). `word` is the generation << 1, and 1 while it is rented: the release that
 * clears that bit owns the slot. Idle, it is in one list; a buffer that was written to is in none. */
struct pool_slot {
    _Atomic uint64_t word;
    _Atomic(uint8_t *) data;
    _Atomic size_t cap;
    struct pool_slot *next;
    uint32_t number;
    uint32_t bucket;
    struct pool_visit visits[POOL_NUM_VISITS]; /* by generation */
};

/* pool_counts: sums only grow, so that rented = rents - releases can be read without stopping anybody. */
struct pool_counts {
    _Atomic uint64_t rents;
    _Atomic uint64_t rented_bytes;
    _Atomic uint64_t allocations;
    _Atomic uint64_t releases;
    _Atomic uint64_t released_bytes;
};

struct pool_queue {
    struct pool_slot *first;
    struct pool_slot *last;
};

/* pool_level: one thread's idle buffers in one pool, newest last, and its counts. Touched by its owner only; counts are
 * read by others. */
struct pool_level {
    struct pool_level *next; /* under the pool's lock */
    const void *owner;       /* likewise */
    struct pool_counts counts;
    uint8_t num_idle[POOL_NUM_BUCKETS];
    struct pool_slot *idle[POOL_NUM_BUCKETS][POOL_LEVEL_DEPTH];
};

struct pal_pool {
    const struct pal_env *env;
    size_t pooled_cap_max;
    uint64_t idle_bytes_max;
    bool hostile;
    bool has_key;
    pthread_key_t key; /* the calling thread's pool_level */
    uint32_t id;
    _Atomic(struct pool_slot *) chunks[POOL_NUM_CHUNKS];
    struct pal_pool *next; /* under the registry's lock */

    uint8_t apart[2][POOL_LINE_LEN]; /* what follows is written by all, what precedes is read */
    _Atomic uint64_t idle_bytes;

    pthread_mutex_t lock; /* for all below */
    uint32_t num_chunks;
    uint32_t num_slots; /* that were ever used */
    struct pool_slot *spare_slots;
    struct pool_queue shared[POOL_NUM_BUCKETS];
    struct pool_level *levels;
    struct pool_level *spare_levels;
    struct pool_counts counts; /* of threads that ended, and of calls without a level: those add under no lock */
    const uint8_t *returned_last;
    uint64_t num_refusals;
    struct pal_pool_refusal refusal;
};

/* ---- table.c ------------------------------------------------------------------------------------------------------
 */

/* pool_slot_find: by a handle's number, whatever that holds; NULL when this pool has no such slot. */
struct pool_slot *pool_slot_find(struct pal_pool *pool, uint32_t number);

/* pool_slot_new: with memory of `cap` bytes, not yet lent. NULL without memory. */
struct pool_slot *pool_slot_new(struct pal_pool *pool, uint32_t bucket, size_t cap);

/* pool_slot_drop: its memory back to the environment; the slot is spare, or retired. */
void pool_slot_drop(struct pal_pool *pool, struct pool_slot *slot);

/* pool_slot_lend: the next generation. pool_slot_claim: ends it, for one caller only; false when `buffer` is not it. */
void pool_slot_lend(struct pool_slot *slot, struct pal_buffer *out, const void *from);
bool pool_slot_claim(struct pool_slot *slot, const struct pal_buffer *buffer, const void *from);
bool pool_slot_retired(const struct pool_slot *slot);

/* pool_table_free: all memory, lent or not, and the table. */
void pool_table_free(struct pal_pool *pool);

/* ---- idle.c -------------------------------------------------------------------------------------------------------
 */

/* pool_registry_add: gives the pool its id and thread key. pool_registry_remove: after it no thread that ends reaches
 * the pool any more. pool_registry_has: whether an open pool has this id. */
void pool_registry_add(struct pal_pool *pool);
void pool_registry_remove(struct pal_pool *pool);
bool pool_registry_has(uint32_t id);

/* pool_level_own: the calling thread's, made when it is missing; NULL when there is none to be had. */
struct pool_level *pool_level_own(struct pal_pool *pool);
void pool_levels_free(struct pal_pool *pool);

/* pool_pattern_fill: a new buffer as an idle one looks, contents undefined. */
void pool_pattern_fill(const struct pal_pool *pool, uint8_t *data, size_t cap);

/* pool_idle_put: keeps the slot's buffer; false when the bound forbids it. pool_idle_take: a buffer of exactly `cap`
 * bytes, or NULL; `any` allows the one that was returned last in a hostile pool. A damaged one is reported and skipped.
 */
bool pool_idle_put(struct pal_pool *pool, struct pool_level *level, struct pool_slot *slot);
struct pool_slot *pool_idle_take(struct pal_pool *pool, struct pool_level *level, uint32_t bucket, size_t cap, bool any,
                                 const void *from);
void pool_idle_trim(struct pal_pool *pool, struct pool_level *level, const void *from);

/* ---- pool.c -------------------------------------------------------------------------------------------------------
 */

/* pool_rent, pool_release: the table's, for a caller at `from`. */
enum pal_status pool_rent(struct pal_pool *pool, struct pal_buffer *out, size_t min_cap, const void *from);
enum pal_status pool_release(struct pal_pool *pool, struct pal_buffer *buffer, bool clear, const void *from);

/* pool_refused: counts and keeps; addresses come from the slot, when it remembers that generation. */
void pool_refused(struct pal_pool *pool, enum pal_pool_refusal_kind kind, const struct pool_slot *slot,
                  const struct pal_buffer *buffer, const void *from);

#endif
