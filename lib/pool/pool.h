/* SPDX-License-Identifier: Apache-2.0
 * pool.h: the reference pool, which sees every wrong return, what it has to say about one, and an environment over it.
 * It prints nothing and decides nothing for the caller: a refusal is a status, and a report for whoever asks.
 * It breaks when memory of an environment moves to another one: each pool gives back to where it took from.
 */
#ifndef PAL_POOL_H
#define PAL_POOL_H

#include "../pal.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Bounds that a config of 0 takes, and the largest bucket that one may ask for. */
#define PAL_POOL_CAP_MAX_DEFAULT ((size_t)1 << 20)
#define PAL_POOL_IDLE_MAX_DEFAULT ((size_t)16 << 20)
#define PAL_POOL_CAP_MAX ((size_t)1 << 30)

/* PAL_POOL_PATTERN: what idle memory holds, and a new buffer on its first rent: its first PAL_POOL_PATTERN_LEN bytes,
 * all of it in a hostile pool. */
#define PAL_POOL_PATTERN 0xd7u
#define PAL_POOL_PATTERN_LEN ((size_t)64)

/* pal_pool_reference: the pool over an environment's alloc and free.
 *  - rent: up to pooled_cap_max the capacity is the next power of two, 16 at least; above it is exact, and the memory
 * is freed on release. PAL_TOO_LONG above PTRDIFF_MAX.
 *  - Idle memory is kept by thread (two buffers per bucket), then in a level that all threads share. A thread that ends
 *    leaves its own to the shared one. What would pass idle_bytes_max is freed instead. Buffers that idle with one
 * thread serve no other; trim() by that thread gives them up.
 *  - Neither level takes memory in steady state. Slots live apart from buffers: an overrun cannot reach them.
 *  - release: PAL_REFUSED also for a handle whose cap was changed, PAL_BAD_ARGUMENT for NULL. A refusal does not touch
 * the handle. After 2^32 - 1 rentals a slot is retired: no generation comes twice.
 *  - Idle memory that was written to is found by the next rent or trim that meets it: it counts as a refusal, is never
 *    lent again, and goes back with close().
 *  - hostile: exact capacity (rent(0) has 1 byte), no thread level, oldest idle buffer first, and never the one that
 * was returned last unless there is no memory for another.
 *  - stats: no call is lost or counted twice. While others rent, rents and rented_bytes may be newer than the rest.
 *  - close() may run while threads live that have used the pool, and while they end, but not during their calls. It
 * makes every handle invalid. Each open pool takes one of the system's thread keys; without one it has the shared level
 * only. */
extern const struct pal_pool_ops pal_pool_reference;

enum pal_pool_refusal_kind {
    PAL_POOL_NO_REFUSAL,
    PAL_POOL_RETURNED_TWICE,
    PAL_POOL_FOREIGN,    /* never lent by any open pool, as far as can be seen */
    PAL_POOL_INTERIOR,   /* points into a rental, not to its start */
    PAL_POOL_WRONG_POOL, /* names a slot of another open pool */
    PAL_POOL_ALTERED,    /* right but for its cap */
    PAL_POOL_WRITTEN_AFTER_RELEASE
};

/* pal_pool_refusal: the last one. Addresses are of callers' code, for a symboliser; NULL where not known: a slot
 * remembers its last four rentals. */
struct pal_pool_refusal {
    enum pal_pool_refusal_kind kind;
    uint32_t slot;
    uint32_t generation;
    const void *rented_from;
    const void *released_from; /* the return that was accepted */
    const void *refused_from;  /* the return that was not, or the rent or trim that found the write */
};

/* pal_pool_last_refusal: of any thread; PAL_POOL_NO_REFUSAL when there was none. */
void pal_pool_last_refusal(struct pal_pool *pool, struct pal_pool_refusal *out);

/* pal_pool_bound: an environment whose rent and release go to a pool, and all else to `base`. In the caller's storage:
 * use &bound.env, and do not move it. It owns neither. */
struct pal_pool_bound {
    struct pal_env env;
    const struct pal_env *base;
    struct pal_pool *pool;
};

/* pal_pool_bind: what `base` does not have, the bound environment does not have either. `pool` is one of
 * pal_pool_reference, opened on `base` or any other environment but this. */
void pal_pool_bind(struct pal_pool_bound *out, const struct pal_env *base, struct pal_pool *pool);

#ifdef __cplusplus
}
#endif
#endif
