/* SPDX-License-Identifier: Apache-2.0
 * pool.c: the calls of the reference pool, what it counts, and what it says of a refusal.
 * It holds no buffer and no list: those are table.c's and idle.c's.
 * It breaks when a rental is counted after its handle is out: a return could be counted before it.
 */
#include "poison.h"
#include "state.h"

#include <assert.h>
#include <string.h>

/* ---- counts -------------------------------------------------------------------------------------------------------
 */

/* A level's counts have one writer, the pool's have many. */
static void count(_Atomic uint64_t *sum, uint64_t more, bool own)
{
    if (own) {
        atomic_store_explicit(sum, atomic_load_explicit(sum, memory_order_relaxed) + more, memory_order_release);
    } else {
        atomic_fetch_add_explicit(sum, more, memory_order_release);
    }
}

static void count_rent(struct pal_pool *pool, struct pool_level *level, size_t cap, bool allocated)
{
    struct pool_counts *counts = level != NULL ? &level->counts : &pool->counts;

    count(&counts->rents, 1, level != NULL);
    count(&counts->rented_bytes, cap, level != NULL);
    if (allocated) {
        count(&counts->allocations, 1, level != NULL);
    }
}

static void count_release(struct pal_pool *pool, struct pool_level *level, size_t cap)
{
    struct pool_counts *counts = level != NULL ? &level->counts : &pool->counts;

    count(&counts->releases, 1, level != NULL);
    count(&counts->released_bytes, cap, level != NULL);
}

/* Rents are read last: what was returned or allocated was counted as rented before, so no difference is negative. */
static void pool_stats(struct pal_pool *pool, struct pal_pool_stats *out)
{
    struct pal_pool_stats stats = {.idle_bytes_max = pool->idle_bytes_max};
    uint64_t released_bytes;

    pthread_mutex_lock(&pool->lock);
    stats.releases = atomic_load(&pool->counts.releases);
    released_bytes = atomic_load(&pool->counts.released_bytes);
    stats.allocations = atomic_load(&pool->counts.allocations);
    for (struct pool_level *level = pool->levels; level != NULL; level = level->next) {
        stats.releases += atomic_load(&level->counts.releases);
        released_bytes += atomic_load(&level->counts.released_bytes);
        stats.allocations += atomic_load(&level->counts.allocations);
    }
    stats.rents = atomic_load(&pool->counts.rents);
    stats.rented_bytes = atomic_load(&pool->counts.rented_bytes);
    for (struct pool_level *level = pool->levels; level != NULL; level = level->next) {
        stats.rents += atomic_load(&level->counts.rents);
        stats.rented_bytes += atomic_load(&level->counts.rented_bytes);
    }
    stats.rented_bytes -= released_bytes;
    stats.refusals = pool->num_refusals;
    stats.idle_bytes = atomic_load(&pool->idle_bytes);
    pthread_mutex_unlock(&pool->lock);
    *out = stats;
}

/* ---- refusals -----------------------------------------------------------------------------------------------------
 */

void pool_refused(struct pal_pool *pool, enum pal_pool_refusal_kind kind, const struct pool_slot *slot,
                  const struct pal_buffer *buffer, const void *from)
{
    struct pal_pool_refusal refusal = {
        .kind = kind, .slot = buffer->slot, .generation = buffer->generation, .refused_from = from};

    if (slot != NULL) {
        uint64_t newest = atomic_load(&slot->word) >> 1;
        const struct pool_visit *visit = &slot->visits[buffer->generation % POOL_NUM_VISITS];

        refusal.slot = slot->number;
        if (buffer->generation <= newest && newest - buffer->generation < POOL_NUM_VISITS) {
            refusal.rented_from = atomic_load(&visit->rented_from);
            refusal.released_from = atomic_load(&visit->released_from);
        }
    }
    pthread_mutex_lock(&pool->lock);
    pool->num_refusals++;
    pool->refusal = refusal;
    pthread_mutex_unlock(&pool->lock);
}

void pal_pool_last_refusal(struct pal_pool *pool, struct pal_pool_refusal *out)
{
    pthread_mutex_lock(&pool->lock);
    *out = pool->refusal;
    pthread_mutex_unlock(&pool->lock);
}

/* Why a handle could not be claimed. Another thread may have returned it since: that is a return before this one. */
static enum pal_pool_refusal_kind judge(struct pal_pool *pool, const struct pool_slot *slot,
                                        const struct pal_buffer *buffer)
{
    uint32_t id = buffer->slot >> POOL_INDEX_BITS;
    uint64_t word;
    uintptr_t start, address = (uintptr_t)buffer->data;

    if (slot == NULL) {
        return id != pool->id && pool_registry_has(id) ? PAL_POOL_WRONG_POOL : PAL_POOL_FOREIGN;
    }
    word = atomic_load(&slot->word);
    if (buffer->generation == 0 || buffer->generation > word >> 1) {
        return PAL_POOL_FOREIGN;
    }
    if (word != ((uint64_t)buffer->generation << 1 | 1)) {
        return PAL_POOL_RETURNED_TWICE;
    }
    start = (uintptr_t)atomic_load(&slot->data);
    if (address == start) {
        return PAL_POOL_ALTERED;
    }
    return address > start && address - start < atomic_load(&slot->cap) ? PAL_POOL_INTERIOR : PAL_POOL_FOREIGN;
}

/* ---- calls --------------------------------------------------------------------------------------------------------
 */

static uint32_t bucket_of(const struct pal_pool *pool, size_t min_cap)
{
    if (min_cap > pool->pooled_cap_max) {
        return POOL_NO_BUCKET;
    }
    if (min_cap <= (size_t)1 << POOL_CAP_MIN_LOG2) {
        return 0;
    }
    return 64u - (uint32_t)__builtin_clzll((unsigned long long)min_cap - 1) - POOL_CAP_MIN_LOG2;
}

enum pal_status pool_rent(struct pal_pool *pool, struct pal_buffer *out, size_t min_cap, const void *from)
{
    struct pool_level *level;
    struct pool_slot *slot = NULL;
    uint32_t bucket;
    size_t cap;
    bool allocated;

    if (out == NULL) {
        return PAL_BAD_ARGUMENT;
    }
    if (min_cap > PTRDIFF_MAX) {
        return PAL_TOO_LONG;
    }
    bucket = bucket_of(pool, min_cap);
    if (pool->hostile) {
        cap = min_cap > 0 ? min_cap : 1;
    } else {
        cap = bucket == POOL_NO_BUCKET ? min_cap : (size_t)1 << (bucket + POOL_CAP_MIN_LOG2);
    }
    level = pool_level_own(pool);
    if (bucket != POOL_NO_BUCKET) {
        slot = pool_idle_take(pool, level, bucket, cap, false, from);
    }
    allocated = slot == NULL;
    if (slot == NULL) {
        slot = pool_slot_new(pool, bucket, cap);
    }
    if (slot == NULL && pool->hostile && bucket != POOL_NO_BUCKET) {
        slot = pool_idle_take(pool, level, bucket, cap, true, from);
        allocated = false;
    }
    if (slot == NULL) {
        return PAL_NO_MEMORY;
    }
    count_rent(pool, level, cap, allocated);
    pool_slot_lend(slot, out, from);
    assert(out->data != NULL && out->cap >= min_cap);
    return PAL_OK;
}

/* The compiler may not drop this as a write to memory that is about to be freed. */
static void wipe(uint8_t *data, size_t len)
{
    memset(data, 0, len);
    __asm__ volatile("" : : "r"(data) : "memory");
}

enum pal_status pool_release(struct pal_pool *pool, struct pal_buffer *buffer, bool clear, const void *from)
{
    struct pool_level *level;
    struct pool_slot *slot;

    if (buffer == NULL) {
        return PAL_BAD_ARGUMENT;
    }
    if (buffer->data == NULL && buffer->cap == 0 && buffer->slot == 0 && buffer->generation == 0) {
        return PAL_OK;
    }
    slot = pool_slot_find(pool, buffer->slot);
    if (slot == NULL || !pool_slot_claim(slot, buffer, from)) {
        pool_refused(pool, judge(pool, slot, buffer), slot, buffer, from);
        return PAL_REFUSED;
    }
    assert(buffer->data != NULL);
    if (clear) {
        wipe(buffer->data, buffer->cap);
    }
    level = pool_level_own(pool);
    count_release(pool, level, buffer->cap);
    if (pool->hostile) {
        pthread_mutex_lock(&pool->lock);
        pool->returned_last = buffer->data;
        pthread_mutex_unlock(&pool->lock);
    }
    if (!pool_idle_put(pool, level, slot)) {
        pool_slot_drop(pool, slot);
    }
    memset(buffer, 0, sizeof(*buffer));
    return PAL_OK;
}

/* ---- table --------------------------------------------------------------------------------------------------------
 */

static enum pal_status reference_open(const struct pal_env *env, struct pal_pool **out,
                                      const struct pal_pool_config *config)
{
    struct pal_pool *pool;

    if (env == NULL || out == NULL) {
        return PAL_BAD_ARGUMENT;
    }
    pool = env->alloc(env->context, sizeof(*pool));
    if (pool == NULL) {
        return PAL_NO_MEMORY;
    }
    memset(pool, 0, sizeof(*pool));
    if (pthread_mutex_init(&pool->lock, NULL) != 0) {
        env->free(env->context, pool);
        return PAL_NO_MEMORY;
    }
    pool->env = env;
    pool->pooled_cap_max = PAL_POOL_CAP_MAX_DEFAULT;
    pool->idle_bytes_max = PAL_POOL_IDLE_MAX_DEFAULT;
    if (config != NULL) {
        if (config->pooled_cap_max != 0) {
            pool->pooled_cap_max = config->pooled_cap_max;
        }
        if (config->idle_bytes_max != 0) {
            pool->idle_bytes_max = config->idle_bytes_max;
        }
        pool->hostile = config->hostile;
    }
    if (pool->pooled_cap_max > PAL_POOL_CAP_MAX) {
        pool->pooled_cap_max = PAL_POOL_CAP_MAX;
    }
    pool_registry_add(pool);
    *out = pool;
    return PAL_OK;
}

static void reference_close(struct pal_pool *pool)
{
    const struct pal_env *env;

    if (pool == NULL) {
        return;
    }
    env = pool->env;
    pool_registry_remove(pool);
    pool_levels_free(pool);
    pool_table_free(pool);
    pthread_mutex_destroy(&pool->lock);
    env->free(env->context, pool);
}

static enum pal_status reference_rent(struct pal_pool *pool, struct pal_buffer *out, size_t min_cap)
{
    return pool_rent(pool, out, min_cap, __builtin_return_address(0));
}

static enum pal_status reference_release(struct pal_pool *pool, struct pal_buffer *buffer, bool clear)
{
    return pool_release(pool, buffer, clear, __builtin_return_address(0));
}

static void reference_trim(struct pal_pool *pool)
{
    struct pool_level *level = pool->has_key ? pthread_getspecific(pool->key) : NULL;

    pool_idle_trim(pool, level, __builtin_return_address(0));
}

const struct pal_pool_ops pal_pool_reference = {
    .open = reference_open,
    .close = reference_close,
    .rent = reference_rent,
    .release = reference_release,
    .trim = reference_trim,
    .stats = pool_stats,
};
