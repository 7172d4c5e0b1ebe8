/* SPDX-License-Identifier: Apache-2.0
 * idle.c: memory that waits for its next renter: hidden, patterned, in a thread's level or in the shared one.
 * It does not know handles. A thread that ends is looked up among the open pools, for its pool may be closed meanwhile.
 * It breaks when a level is used by another thread than its owner.
 */
#include "poison.h"
#include "state.h"

#include <assert.h>
#include <string.h>

static pthread_mutex_t registry_lock = PTHREAD_MUTEX_INITIALIZER;
static struct pal_pool *open_pools;
static _Thread_local char thread_mark; /* its address names the thread */

/* ---- pattern ------------------------------------------------------------------------------------------------------
 */

static size_t pattern_len(const struct pal_pool *pool, size_t cap)
{
    return pool->hostile || cap < PAL_POOL_PATTERN_LEN ? cap : PAL_POOL_PATTERN_LEN;
}

void pool_pattern_fill(const struct pal_pool *pool, uint8_t *data, size_t cap)
{
    memset(data, PAL_POOL_PATTERN, pattern_len(pool, cap));
    poison_undefine(data, cap);
}

static bool pattern_intact(const uint8_t *data, size_t len)
{
    const uint64_t want = UINT64_MAX / 255 * PAL_POOL_PATTERN;
    uint64_t damage = 0;
    size_t i = 0;

    for (; i + sizeof(want) <= len; i += sizeof(want)) {
        uint64_t word;

        memcpy(&word, data + i, sizeof(word));
        damage |= word ^ want;
    }
    for (; i < len; i++) {
        damage |= data[i] ^ PAL_POOL_PATTERN;
    }
    return damage == 0;
}

static void idle_hide(const struct pal_pool *pool, struct pool_slot *slot)
{
    uint8_t *data = atomic_load_explicit(&slot->data, memory_order_relaxed);
    size_t cap = atomic_load_explicit(&slot->cap, memory_order_relaxed);

    pool_pattern_fill(pool, data, cap);
    poison_hide(data, cap);
}

/* The slot has left the idle memory: visible again, or, with damage, hidden for good and reported. */
static bool idle_show(struct pal_pool *pool, struct pool_slot *slot, const void *from)
{
    uint8_t *data = atomic_load_explicit(&slot->data, memory_order_relaxed);
    size_t cap = atomic_load_explicit(&slot->cap, memory_order_relaxed);
    size_t len = pattern_len(pool, cap);
    bool intact;

    poison_show(data, cap);
    poison_define(data, len);
    intact = pattern_intact(data, len);
    poison_undefine(data, cap);
    if (!intact) {
        struct pal_buffer last = {.generation = (uint32_t)(atomic_load(&slot->word) >> 1)};

        poison_hide(data, cap);
        pool_refused(pool, PAL_POOL_WRITTEN_AFTER_RELEASE, slot, &last, from);
    }
    return intact;
}

/* ---- bound --------------------------------------------------------------------------------------------------------
 */

/* Not an addition that is taken back: stats() would see it. */
static bool bound_reserve(struct pal_pool *pool, size_t cap)
{
    uint64_t idle = atomic_load_explicit(&pool->idle_bytes, memory_order_relaxed);

    do {
        if (cap > pool->idle_bytes_max || idle > pool->idle_bytes_max - cap) {
            return false;
        }
    } while (!atomic_compare_exchange_weak_explicit(&pool->idle_bytes, &idle, idle + cap, memory_order_relaxed,
                                                    memory_order_relaxed));
    return true;
}

static void bound_return(struct pal_pool *pool, size_t cap)
{
    uint64_t before = atomic_fetch_sub_explicit(&pool->idle_bytes, cap, memory_order_relaxed);

    assert(before >= cap);
}

/* ---- shared level, under the pool's lock --------------------------------------------------------------------------
 */

static void shared_put(struct pal_pool *pool, struct pool_slot *slot)
{
    struct pool_queue *queue = &pool->shared[slot->bucket];

    if (pool->hostile && queue->first != NULL) {
        slot->next = NULL;
        queue->last->next = slot;
        queue->last = slot;
        return;
    }
    slot->next = queue->first;
    queue->first = slot;
    if (slot->next == NULL) {
        queue->last = slot;
    }
}

static bool shared_fits(const struct pal_pool *pool, const struct pool_slot *slot, size_t cap, bool any)
{
    if (!pool->hostile) {
        return true;
    }
    return atomic_load_explicit(&slot->cap, memory_order_relaxed) == cap &&
           (any || atomic_load_explicit(&slot->data, memory_order_relaxed) != pool->returned_last);
}

static struct pool_slot *shared_take(struct pal_pool *pool, uint32_t bucket, size_t cap, bool any)
{
    struct pool_queue *queue = &pool->shared[bucket];
    struct pool_slot *before = NULL;
    struct pool_slot *slot = queue->first;

    while (slot != NULL && !shared_fits(pool, slot, cap, any)) {
        before = slot;
        slot = slot->next;
    }
    if (slot == NULL) {
        return NULL;
    }
    if (before == NULL) {
        queue->first = slot->next;
    } else {
        before->next = slot->next;
    }
    if (queue->last == slot) {
        queue->last = before;
    }
    return slot;
}

/* ---- threads ------------------------------------------------------------------------------------------------------
 */

static void counts_fold(struct pool_counts *into, const struct pool_counts *from)
{
    atomic_fetch_add(&into->rents, atomic_load(&from->rents));
    atomic_fetch_add(&into->rented_bytes, atomic_load(&from->rented_bytes));
    atomic_fetch_add(&into->allocations, atomic_load(&from->allocations));
    atomic_fetch_add(&into->releases, atomic_load(&from->releases));
    atomic_fetch_add(&into->released_bytes, atomic_load(&from->released_bytes));
}

/* Under both locks: buffers to the shared level, counts to the pool, the level to the next thread. */
static void level_retire(struct pal_pool *pool, struct pool_level **link)
{
    struct pool_level *level = *link;

    *link = level->next;
    for (size_t bucket = 0; bucket < POOL_NUM_BUCKETS; bucket++) {
        for (size_t i = 0; i < level->num_idle[bucket]; i++) {
            shared_put(pool, level->idle[bucket][i]);
        }
    }
    counts_fold(&pool->counts, &level->counts);
    memset(level, 0, sizeof(*level));
    level->next = pool->spare_levels;
    pool->spare_levels = level;
}

/* The destructor of every pool's key. `memory` may be of a pool that another thread closed just now: only compared
 * until it is found. */
static void thread_ends(void *memory)
{
    bool found = false;

    pthread_mutex_lock(&registry_lock);
    for (struct pal_pool *pool = open_pools; pool != NULL && !found; pool = pool->next) {
        struct pool_level **link = &pool->levels;

        pthread_mutex_lock(&pool->lock);
        while (*link != NULL && (*link != memory || (*link)->owner != &thread_mark)) {
            link = &(*link)->next;
        }
        found = *link != NULL;
        if (found) {
            level_retire(pool, link);
        }
        pthread_mutex_unlock(&pool->lock);
    }
    pthread_mutex_unlock(&registry_lock);
}

static struct pool_level *level_new(struct pal_pool *pool)
{
    const struct pal_env *env = pool->env;
    struct pool_level *level;

    pthread_mutex_lock(&pool->lock);
    level = pool->spare_levels;
    if (level != NULL) {
        pool->spare_levels = level->next;
    }
    pthread_mutex_unlock(&pool->lock);
    if (level == NULL) {
        level = env->alloc(env->context, sizeof(*level));
    }
    if (level == NULL) {
        return NULL;
    }
    memset(level, 0, sizeof(*level));
    level->owner = &thread_mark;
    if (pthread_setspecific(pool->key, level) != 0) {
        env->free(env->context, level);
        return NULL;
    }
    pthread_mutex_lock(&pool->lock);
    level->next = pool->levels;
    pool->levels = level;
    pthread_mutex_unlock(&pool->lock);
    return level;
}

struct pool_level *pool_level_own(struct pal_pool *pool)
{
    struct pool_level *level;

    if (!pool->has_key) {
        return NULL;
    }
    level = pthread_getspecific(pool->key);
    return level != NULL ? level : level_new(pool);
}

void pool_levels_free(struct pal_pool *pool)
{
    struct pool_level *lists[2] = {pool->levels, pool->spare_levels};

    for (size_t i = 0; i < 2; i++) {
        while (lists[i] != NULL) {
            struct pool_level *level = lists[i];

            lists[i] = level->next;
            pool->env->free(pool->env->context, level);
        }
    }
}

void pool_registry_add(struct pal_pool *pool)
{
    bool used[POOL_NUM_IDS] = {false};

    pool->has_key = !pool->hostile && pthread_key_create(&pool->key, thread_ends) == 0;
    pthread_mutex_lock(&registry_lock);
    for (const struct pal_pool *other = open_pools; other != NULL; other = other->next) {
        used[other->id] = true;
    }
    while (pool->id < POOL_NUM_IDS - 1 && used[pool->id]) {
        pool->id++;
    }
    pool->next = open_pools;
    open_pools = pool;
    pthread_mutex_unlock(&registry_lock);
}

void pool_registry_remove(struct pal_pool *pool)
{
    struct pal_pool **link = &open_pools;

    pthread_mutex_lock(&registry_lock);
    while (*link != NULL && *link != pool) {
        link = &(*link)->next;
    }
    assert(*link == pool);
    *link = pool->next;
    pthread_mutex_unlock(&registry_lock);
    if (pool->has_key) {
        (void)pthread_key_delete(pool->key);
    }
}

bool pool_registry_has(uint32_t id)
{
    bool found = false;

    pthread_mutex_lock(&registry_lock);
    for (const struct pal_pool *pool = open_pools; pool != NULL; pool = pool->next) {
        found = found || pool->id == id;
    }
    pthread_mutex_unlock(&registry_lock);
    return found;
}

/* ---- idle memory --------------------------------------------------------------------------------------------------
 */

bool pool_idle_put(struct pal_pool *pool, struct pool_level *level, struct pool_slot *slot)
{
    size_t cap = atomic_load_explicit(&slot->cap, memory_order_relaxed);

    if (slot->bucket == POOL_NO_BUCKET || pool_slot_retired(slot) || !bound_reserve(pool, cap)) {
        return false;
    }
    idle_hide(pool, slot);
    if (level != NULL) {
        struct pool_slot **idle = level->idle[slot->bucket];
        uint8_t *num_idle = &level->num_idle[slot->bucket];

        if (*num_idle < POOL_LEVEL_DEPTH) {
            idle[(*num_idle)++] = slot;
            return true;
        }
        /* The newest stay here: their memory is warm. */
        struct pool_slot *oldest = idle[0];
        memmove(idle, idle + 1, (POOL_LEVEL_DEPTH - 1) * sizeof(struct pool_slot *));
        idle[POOL_LEVEL_DEPTH - 1] = slot;
        slot = oldest;
    }
    pthread_mutex_lock(&pool->lock);
    shared_put(pool, slot);
    pthread_mutex_unlock(&pool->lock);
    return true;
}

struct pool_slot *pool_idle_take(struct pal_pool *pool, struct pool_level *level, uint32_t bucket, size_t cap, bool any,
                                 const void *from)
{
    struct pool_slot *slot;

    do {
        if (level != NULL && level->num_idle[bucket] > 0) {
            slot = level->idle[bucket][--level->num_idle[bucket]];
        } else {
            pthread_mutex_lock(&pool->lock);
            slot = shared_take(pool, bucket, cap, any);
            pthread_mutex_unlock(&pool->lock);
        }
        if (slot == NULL) {
            return NULL;
        }
        bound_return(pool, atomic_load_explicit(&slot->cap, memory_order_relaxed));
    } while (!idle_show(pool, slot, from));
    return slot;
}

void pool_idle_trim(struct pal_pool *pool, struct pool_level *level, const void *from)
{
    struct pool_slot *all = NULL;

    pthread_mutex_lock(&pool->lock);
    for (uint32_t bucket = 0; bucket < POOL_NUM_BUCKETS; bucket++) {
        struct pool_queue *queue = &pool->shared[bucket];

        while (level != NULL && level->num_idle[bucket] > 0) {
            shared_put(pool, level->idle[bucket][--level->num_idle[bucket]]);
        }
        if (queue->first != NULL) {
            queue->last->next = all;
            all = queue->first;
        }
        queue->first = queue->last = NULL;
    }
    pthread_mutex_unlock(&pool->lock);
    while (all != NULL) {
        struct pool_slot *slot = all;
        size_t cap = atomic_load_explicit(&slot->cap, memory_order_relaxed);

        all = slot->next;
        if (idle_show(pool, slot, from)) {
            pool_slot_drop(pool, slot);
        }
        bound_return(pool, cap);
    }
}
