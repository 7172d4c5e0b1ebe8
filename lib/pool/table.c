/* SPDX-License-Identifier: Apache-2.0
 * table.c: slots: which memory was lent, in which generation, and to which caller.
 * It knows nothing of levels. Chunks never move, so a slot is found without a lock, also by a handle that is garbage.
 * It breaks when a chunk is freed before the pool is closed.
 */
#include "poison.h"
#include "state.h"

#include <assert.h>
#include <string.h>

static size_t chunk_len(uint32_t chunk)
{
    return (size_t)1 << (POOL_CHUNK_LOG2 + chunk);
}

static struct pool_slot *slot_at(struct pal_pool *pool, uint32_t index)
{
    uint32_t shifted = index + (1u << POOL_CHUNK_LOG2); /* chunk k begins at 16 << k */
    uint32_t chunk = 31u - (uint32_t)__builtin_clz(shifted) - POOL_CHUNK_LOG2;
    struct pool_slot *slots;

    if (chunk >= POOL_NUM_CHUNKS) {
        return NULL;
    }
    slots = atomic_load_explicit(&pool->chunks[chunk], memory_order_acquire);
    return slots == NULL ? NULL : slots + (shifted - chunk_len(chunk));
}

struct pool_slot *pool_slot_find(struct pal_pool *pool, uint32_t number)
{
    if (number >> POOL_INDEX_BITS != pool->id) {
        return NULL;
    }
    return slot_at(pool, number & ((1u << POOL_INDEX_BITS) - 1));
}

/* Adds chunk number `chunk`, unless another thread did so meanwhile. */
static bool table_grow(struct pal_pool *pool, uint32_t chunk)
{
    size_t len = chunk_len(chunk) * sizeof(struct pool_slot);
    struct pool_slot *slots;

    if (chunk >= POOL_NUM_CHUNKS) {
        return false;
    }
    slots = pool->env->alloc(pool->env->context, len);
    if (slots == NULL) {
        return false;
    }
    memset(slots, 0, len);
    for (size_t i = 0; i < chunk_len(chunk); i++) {
        size_t index = chunk_len(chunk) - chunk_len(0) + i;

        slots[i].number = pool->id << POOL_INDEX_BITS | (uint32_t)index;
    }
    pthread_mutex_lock(&pool->lock);
    if (pool->num_chunks == chunk) {
        atomic_store_explicit(&pool->chunks[chunk], slots, memory_order_release);
        pool->num_chunks++;
        slots = NULL;
    }
    pthread_mutex_unlock(&pool->lock);
    if (slots != NULL) {
        pool->env->free(pool->env->context, slots);
    }
    return true;
}

static struct pool_slot *spare_slot(struct pal_pool *pool)
{
    for (;;) {
        struct pool_slot *slot;
        uint32_t num_chunks;

        pthread_mutex_lock(&pool->lock);
        num_chunks = pool->num_chunks;
        slot = pool->spare_slots;
        if (slot != NULL) {
            pool->spare_slots = slot->next;
        } else if (pool->num_slots < chunk_len(num_chunks) - chunk_len(0)) {
            slot = slot_at(pool, pool->num_slots++);
        }
        pthread_mutex_unlock(&pool->lock);
        if (slot != NULL || !table_grow(pool, num_chunks)) {
            return slot;
        }
    }
}

static void keep_spare(struct pal_pool *pool, struct pool_slot *slot)
{
    pthread_mutex_lock(&pool->lock);
    slot->next = pool->spare_slots;
    pool->spare_slots = slot;
    pthread_mutex_unlock(&pool->lock);
}

/* In a hostile pool also other memory than was returned last: the allocator may give the very same again. */
static uint8_t *buffer_new(struct pal_pool *pool, size_t cap)
{
    const struct pal_env *env = pool->env;
    uint8_t *data = env->alloc(env->context, cap);
    bool same;

    if (!pool->hostile || data == NULL) {
        return data;
    }
    pthread_mutex_lock(&pool->lock);
    same = data == pool->returned_last;
    pthread_mutex_unlock(&pool->lock);
    if (same) {
        uint8_t *other = env->alloc(env->context, cap);

        if (other != NULL) {
            env->free(env->context, data);
            data = other;
        }
    }
    return data;
}

struct pool_slot *pool_slot_new(struct pal_pool *pool, uint32_t bucket, size_t cap)
{
    struct pool_slot *slot = spare_slot(pool);
    uint8_t *data;

    if (slot == NULL) {
        return NULL;
    }
    data = buffer_new(pool, cap);
    if (data == NULL) {
        keep_spare(pool, slot);
        return NULL;
    }
    pool_pattern_fill(pool, data, cap);
    slot->bucket = bucket;
    atomic_store_explicit(&slot->data, data, memory_order_relaxed);
    atomic_store_explicit(&slot->cap, cap, memory_order_relaxed);
    return slot;
}

void pool_slot_drop(struct pal_pool *pool, struct pool_slot *slot)
{
    uint8_t *data = atomic_load_explicit(&slot->data, memory_order_relaxed);

    assert(data != NULL);
    atomic_store_explicit(&slot->data, NULL, memory_order_relaxed);
    atomic_store_explicit(&slot->cap, 0, memory_order_relaxed);
    if (!pool_slot_retired(slot)) {
        keep_spare(pool, slot);
    }
    pool->env->free(pool->env->context, data);
}

void pool_slot_lend(struct pool_slot *slot, struct pal_buffer *out, const void *from)
{
    uint32_t generation = (uint32_t)(atomic_load_explicit(&slot->word, memory_order_relaxed) >> 1) + 1;
    struct pool_visit *visit = &slot->visits[generation % POOL_NUM_VISITS];

    assert(generation != 0);
    atomic_store_explicit(&visit->rented_from, from, memory_order_relaxed);
    atomic_store_explicit(&visit->released_from, NULL, memory_order_relaxed);
    out->data = atomic_load_explicit(&slot->data, memory_order_relaxed);
    out->cap = atomic_load_explicit(&slot->cap, memory_order_relaxed);
    out->slot = slot->number;
    out->generation = generation;
    atomic_store_explicit(&slot->word, (uint64_t)generation << 1 | 1, memory_order_release);
}

bool pool_slot_claim(struct pool_slot *slot, const struct pal_buffer *buffer, const void *from)
{
    uint64_t word = (uint64_t)buffer->generation << 1 | 1;

    if (atomic_load_explicit(&slot->word, memory_order_acquire) != word ||
        atomic_load_explicit(&slot->data, memory_order_relaxed) != buffer->data ||
        atomic_load_explicit(&slot->cap, memory_order_relaxed) != buffer->cap) {
        return false;
    }
    /* Two threads may come this far with copies of one handle. */
    if (!atomic_compare_exchange_strong_explicit(&slot->word, &word, word - 1, memory_order_acq_rel,
                                                 memory_order_relaxed)) {
        return false;
    }
    atomic_store_explicit(&slot->visits[buffer->generation % POOL_NUM_VISITS].released_from, from,
                          memory_order_relaxed);
    return true;
}

bool pool_slot_retired(const struct pool_slot *slot)
{
    return atomic_load_explicit(&slot->word, memory_order_relaxed) >> 1 == UINT32_MAX;
}

void pool_table_free(struct pal_pool *pool)
{
    const struct pal_env *env = pool->env;

    for (uint32_t i = 0; i < pool->num_slots; i++) {
        struct pool_slot *slot = slot_at(pool, i);
        uint8_t *data = atomic_load_explicit(&slot->data, memory_order_relaxed);

        if (data != NULL) {
            poison_show(data, atomic_load_explicit(&slot->cap, memory_order_relaxed));
            env->free(env->context, data);
        }
    }
    for (uint32_t i = 0; i < pool->num_chunks; i++) {
        env->free(env->context, atomic_load_explicit(&pool->chunks[i], memory_order_relaxed));
    }
}
