/* SPDX-License-Identifier: Apache-2.0
 * mutants_pool.c: planted bugs in pools. Each is one wrapped operation; what it remembers belongs to the process and is
 * forgotten when a pool is opened, so that a scenario starts clean. Scenarios run in lockstep: no locks.
 */
#include "mutants.h"

#include <string.h>

#define LENT_MAX 128u

/* memory: handles that were lent, newest last, and by which thread. */
static struct {
    size_t num;
    struct pal_buffer lent[LENT_MAX];
    const void *threads[LENT_MAX];
} memory;

static _Thread_local char this_thread;

static enum pal_status open_and_forget(const struct pal_env *env, struct pal_pool **out,
                                       const struct pal_pool_config *config)
{
    memset(&memory, 0, sizeof(memory));
    return mutant_good_pool->open(env, out, config);
}

static enum pal_status rent_and_remember(struct pal_pool *pool, struct pal_buffer *out, size_t min_cap)
{
    enum pal_status status = mutant_good_pool->rent(pool, out, min_cap);
    if (status == PAL_OK && memory.num < LENT_MAX) {
        memory.threads[memory.num] = &this_thread;
        memory.lent[memory.num++] = *out;
    }
    return status;
}

/* lent_index: of the newest rental whose memory holds `data`; LENT_MAX for none. */
static size_t lent_index(const uint8_t *data)
{
    for (size_t i = memory.num; i-- > 0;) {
        uintptr_t start = (uintptr_t)memory.lent[i].data;
        if ((uintptr_t)data >= start && (uintptr_t)data < start + memory.lent[i].cap) {
            return i;
        }
    }
    return LENT_MAX;
}

static void remembers(struct mutant_tables *tables)
{
    tables->pool.open = open_and_forget;
    tables->pool.rent = rent_and_remember;
}

static enum pal_status accept(struct pal_buffer *buffer)
{
    mutant_fire();
    memset(buffer, 0, sizeof(*buffer));
    return PAL_OK;
}

static enum pal_status null_release(struct pal_pool *pool, struct pal_buffer *buffer, bool clear)
{
    return mutant_good_pool->release(pool, buffer, clear);
}

void mutant_pool_null(struct mutant_tables *tables)
{
    tables->pool.release = null_release;
}

static enum pal_status second_return_accepted(struct pal_pool *pool, struct pal_buffer *buffer, bool clear)
{
    enum pal_status status = mutant_good_pool->release(pool, buffer, clear);
    return status == PAL_REFUSED ? accept(buffer) : status;
}

void mutant_pool_second_return_accepted(struct mutant_tables *tables)
{
    tables->pool.release = second_return_accepted;
}

/* A handle without a generation returns whatever is rented there now. */
static enum pal_status stale_return_hits_new_holder(struct pal_pool *pool, struct pal_buffer *buffer, bool clear)
{
    enum pal_status status = mutant_good_pool->release(pool, buffer, clear);
    size_t at = lent_index(buffer->data);
    if (status != PAL_REFUSED || at == LENT_MAX || memory.lent[at].data != buffer->data) {
        return status;
    }
    struct pal_buffer newest = memory.lent[at];
    status = mutant_good_pool->release(pool, &newest, clear);
    return status == PAL_OK ? accept(buffer) : status;
}

void mutant_pool_stale_return_hits_new_holder(struct mutant_tables *tables)
{
    remembers(tables);
    tables->pool.release = stale_return_hits_new_holder;
}

static enum pal_status foreign_accepted(struct pal_pool *pool, struct pal_buffer *buffer, bool clear)
{
    enum pal_status status = mutant_good_pool->release(pool, buffer, clear);
    return status == PAL_REFUSED && lent_index(buffer->data) == LENT_MAX ? accept(buffer) : status;
}

void mutant_pool_foreign_accepted(struct mutant_tables *tables)
{
    remembers(tables);
    tables->pool.release = foreign_accepted;
}

static enum pal_status interior_accepted(struct pal_pool *pool, struct pal_buffer *buffer, bool clear)
{
    enum pal_status status = mutant_good_pool->release(pool, buffer, clear);
    size_t at = lent_index(buffer->data);
    bool interior = at < LENT_MAX && memory.lent[at].data != buffer->data;
    return status == PAL_REFUSED && interior ? accept(buffer) : status;
}

void mutant_pool_interior_accepted(struct mutant_tables *tables)
{
    remembers(tables);
    tables->pool.release = interior_accepted;
}

static enum pal_status other_thread_refused(struct pal_pool *pool, struct pal_buffer *buffer, bool clear)
{
    size_t at = buffer->data != NULL ? lent_index(buffer->data) : LENT_MAX;
    if (at < LENT_MAX && memory.threads[at] != &this_thread) {
        mutant_fire();
        return PAL_REFUSED;
    }
    return mutant_good_pool->release(pool, buffer, clear);
}

void mutant_pool_other_thread_refused(struct mutant_tables *tables)
{
    remembers(tables);
    tables->pool.release = other_thread_refused;
}

static enum pal_status rent_one_less(struct pal_pool *pool, struct pal_buffer *out, size_t min_cap)
{
    enum pal_status status =
        mutant_good_pool->rent(pool, out, min_cap > 0 && min_cap < SIZE_MAX ? min_cap - 1 : min_cap);
    if (status == PAL_OK && out->cap < min_cap) {
        mutant_fire();
    }
    return status;
}

void mutant_pool_rent_one_less(struct mutant_tables *tables)
{
    tables->pool.rent = rent_one_less;
}

static enum pal_status lent_twice(struct pal_pool *pool, struct pal_buffer *out, size_t min_cap)
{
    if (memory.num > 0 && min_cap <= memory.lent[memory.num - 1].cap) {
        mutant_fire();
        *out = memory.lent[memory.num - 1];
        return PAL_OK;
    }
    return rent_and_remember(pool, out, min_cap);
}

static enum pal_status release_and_forget(struct pal_pool *pool, struct pal_buffer *buffer, bool clear)
{
    memory.num = 0;
    return mutant_good_pool->release(pool, buffer, clear);
}

void mutant_pool_lent_twice(struct mutant_tables *tables)
{
    tables->pool.open = open_and_forget;
    tables->pool.rent = lent_twice;
    tables->pool.release = release_and_forget;
}

static enum pal_status empty_handle_refused(struct pal_pool *pool, struct pal_buffer *buffer, bool clear)
{
    if (buffer->data == NULL) {
        mutant_fire();
        return PAL_REFUSED;
    }
    return mutant_good_pool->release(pool, buffer, clear);
}

void mutant_pool_empty_handle_refused(struct mutant_tables *tables)
{
    tables->pool.release = empty_handle_refused;
}

static enum pal_status size_wraps(struct pal_pool *pool, struct pal_buffer *out, size_t min_cap)
{
    if (min_cap > SIZE_MAX - 32) {
        mutant_fire();
        min_cap += 32;
    }
    return mutant_good_pool->rent(pool, out, min_cap);
}

void mutant_pool_size_wraps(struct mutant_tables *tables)
{
    tables->pool.rent = size_wraps;
}

static enum pal_status clear_ignored(struct pal_pool *pool, struct pal_buffer *buffer, bool clear)
{
    if (clear) {
        mutant_fire();
    }
    return mutant_good_pool->release(pool, buffer, false);
}

void mutant_pool_clear_ignored(struct mutant_tables *tables)
{
    tables->pool.release = clear_ignored;
}

static enum pal_status clear_first_half(struct pal_pool *pool, struct pal_buffer *buffer, bool clear)
{
    size_t at = buffer->data != NULL ? lent_index(buffer->data) : LENT_MAX;
    if (clear && at < LENT_MAX && memory.lent[at].generation == buffer->generation &&
        memory.lent[at].data == buffer->data) {
        mutant_fire();
        memset(buffer->data, 0, buffer->cap / 2);
    }
    memory.lent[at < LENT_MAX ? at : 0].generation = 0;
    return mutant_good_pool->release(pool, buffer, false);
}

void mutant_pool_clear_first_half(struct mutant_tables *tables)
{
    remembers(tables);
    tables->pool.release = clear_first_half;
}

static enum pal_status return_forgotten(struct pal_pool *pool, struct pal_buffer *buffer, bool clear)
{
    if (!clear) {
        return mutant_good_pool->release(pool, buffer, clear);
    }
    struct pal_buffer probe = *buffer;
    return probe.data == NULL ? PAL_OK : accept(buffer);
}

void mutant_pool_return_forgotten(struct mutant_tables *tables)
{
    tables->pool.release = return_forgotten;
}

static void returns_not_counted(struct pal_pool *pool, struct pal_pool_stats *out)
{
    mutant_good_pool->stats(pool, out);
    if (out->releases > 0) {
        mutant_fire();
        out->rented_bytes += out->releases;
    }
}

void mutant_pool_returns_not_counted(struct mutant_tables *tables)
{
    tables->pool.stats = returns_not_counted;
}

static enum pal_status bound_ignored_open(const struct pal_env *env, struct pal_pool **out,
                                          const struct pal_pool_config *config)
{
    struct pal_pool_config loose = *config;
    loose.idle_bytes_max *= 4;
    return mutant_good_pool->open(env, out, &loose);
}

static void bound_ignored_stats(struct pal_pool *pool, struct pal_pool_stats *out)
{
    mutant_good_pool->stats(pool, out);
    out->idle_bytes_max /= 4;
    if (out->idle_bytes > out->idle_bytes_max) {
        mutant_fire();
    }
}

void mutant_pool_bound_ignored(struct mutant_tables *tables)
{
    tables->pool.open = bound_ignored_open;
    tables->pool.stats = bound_ignored_stats;
}

static enum pal_status rent_never_reuses(struct pal_pool *pool, struct pal_buffer *out, size_t min_cap)
{
    mutant_fire();
    mutant_good_pool->trim(pool);
    return mutant_good_pool->rent(pool, out, min_cap);
}

void mutant_pool_rent_never_reuses(struct mutant_tables *tables)
{
    tables->pool.rent = rent_never_reuses;
}
