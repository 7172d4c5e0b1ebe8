/* SPDX-License-Identifier: Apache-2.0
 * model_pool.c: rentals in a list, found by number. Nothing is ever used again, so nothing can be confused.
 */
#include "model_pool.h"

#include <string.h>

/* entry: one rental, live or returned. A handle is right when its slot is the entry's number and all else is equal. */
struct entry {
    struct entry *next;
    struct pal_buffer buffer;
    bool live;
};

struct pal_pool {
    const struct pal_env *env;
    struct entry *entries;
    struct pal_pool_stats stats;
};

static enum pal_status model_open(const struct pal_env *env, struct pal_pool **out,
                                  const struct pal_pool_config *config)
{
    struct pal_pool *pool = env->alloc(env->context, sizeof(*pool));
    if (pool == NULL) {
        return PAL_NO_MEMORY;
    }
    memset(pool, 0, sizeof(*pool));
    pool->env = env;
    pool->stats.idle_bytes_max = config->idle_bytes_max;
    *out = pool;
    return PAL_OK;
}

static void model_close(struct pal_pool *pool)
{
    const struct pal_env *env = pool->env;
    while (pool->entries != NULL) {
        struct entry *entry = pool->entries;
        pool->entries = entry->next;
        if (entry->live) {
            env->free(env->context, entry->buffer.data);
        }
        env->free(env->context, entry);
    }
    env->free(env->context, pool);
}

static enum pal_status model_rent(struct pal_pool *pool, struct pal_buffer *out, size_t min_cap)
{
    const struct pal_env *env = pool->env;
    size_t cap = min_cap > 0 ? min_cap : 1;
    if (cap > PTRDIFF_MAX) {
        return PAL_TOO_LONG;
    }
    struct entry *entry = env->alloc(env->context, sizeof(*entry));
    uint8_t *data = entry != NULL ? env->alloc(env->context, cap) : NULL;
    if (data == NULL) {
        env->free(env->context, entry);
        return PAL_NO_MEMORY;
    }
    *entry = (struct entry){.next = pool->entries, .buffer = {data, cap, (uint32_t)pool->stats.rents, 1}, .live = true};
    pool->entries = entry;
    pool->stats.rents++;
    pool->stats.allocations++;
    pool->stats.rented_bytes += cap;
    *out = entry->buffer;
    return PAL_OK;
}

static enum pal_status model_release(struct pal_pool *pool, struct pal_buffer *buffer, bool clear)
{
    if (buffer->data == NULL && buffer->cap == 0 && buffer->slot == 0 && buffer->generation == 0) {
        return PAL_OK;
    }
    for (struct entry *entry = pool->entries; entry != NULL; entry = entry->next) {
        if (entry->live && entry->buffer.slot == buffer->slot && entry->buffer.data == buffer->data &&
            entry->buffer.cap == buffer->cap && entry->buffer.generation == buffer->generation) {
            if (clear && buffer->data != NULL) {
                memset(buffer->data, 0, buffer->cap);
            }
            pool->env->free(pool->env->context, buffer->data);
            entry->live = false;
            pool->stats.releases++;
            pool->stats.rented_bytes -= buffer->cap;
            *buffer = (struct pal_buffer){0};
            return PAL_OK;
        }
    }
    pool->stats.refusals++;
    return PAL_REFUSED;
}

static void model_trim(struct pal_pool *pool)
{
    (void)pool;
}

static void model_stats(struct pal_pool *pool, struct pal_pool_stats *out)
{
    *out = pool->stats;
}

const struct pal_pool_ops model_pool = {
    .open = model_open,
    .close = model_close,
    .rent = model_rent,
    .release = model_release,
    .trim = model_trim,
    .stats = model_stats,
};

const struct pal_port *model_port(void)
{
    static const struct pal_port port = {.abi = PAL_ABI_VERSION,
                                         .name = "model",
                                         .version = "1",
                                         .env_random = true,
                                         .env_clock = true,
                                         .pool = &model_pool};
    return &port;
}
