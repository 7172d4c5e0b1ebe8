/* SPDX-License-Identifier: Apache-2.0
 * pool_test.h: what the tests of pool and token share: an environment that counts, fails on demand and knows every
 * block. Only tests include this. It breaks when memory is taken elsewhere: then nothing is counted.
 */
#ifndef PAL_POOL_TEST_H
#define PAL_POOL_TEST_H

#include "pool.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TEST_ASAN 1
#endif
#if __has_feature(memory_sanitizer)
#define TEST_MSAN 1
#endif
#if __has_feature(thread_sanitizer)
#define TEST_TSAN 1
#endif
#endif
#if defined(TEST_ASAN)
#include <sanitizer/asan_interface.h>
#elif defined(TEST_MSAN)
#include <sanitizer/msan_interface.h>
#endif

/* For looking at, and writing to, memory that is idle. */
#if defined(__clang__)
#define TEST_TRESPASS __attribute__((no_sanitize("address", "memory", "thread")))
#else
#define TEST_TRESPASS __attribute__((no_sanitize_address))
#endif

/* Threads of most claims take turns; a free-running one needs this many rounds to meet others. */
#if defined(TEST_TSAN) || defined(TEST_ASAN) || defined(TEST_MSAN)
#define TEST_ROUNDS 4000u
#else
#define TEST_ROUNDS 40000u
#endif

struct ledger_block {
    struct ledger_block *next;
    struct ledger_block *before;
    size_t len;
    _Alignas(max_align_t) uint8_t memory[];
};

/* ledger: blocks are exact in size. A block that is freed is looked into first. */
struct ledger {
    struct pal_env env;
    pthread_mutex_t lock;
    struct ledger_block *live;
    size_t num_live;
    size_t num_allocs;
    size_t fail_at; /* 1 is the next one; 0 is none */
    bool fails_after;
    uint8_t watched;    /* with watch: a byte that no freed block may hold */
    size_t watch_above; /* of blocks of exactly this length */
    size_t num_watched;
};

TEST_TRESPASS static inline bool test_has_byte(const uint8_t *data, size_t len, uint8_t byte)
{
    for (size_t i = 0; i < len; i++) {
        if (data[i] == byte) {
            return true;
        }
    }
    return false;
}

TEST_TRESPASS static inline void test_scribble(uint8_t *data, size_t at, uint8_t byte)
{
    ((volatile uint8_t *)data)[at] = byte;
}

static inline void *ledger_alloc(void *context, size_t len)
{
    struct ledger *ledger = context;
    struct ledger_block *block = NULL;
    bool fails = false;

    pthread_mutex_lock(&ledger->lock);
    ledger->num_allocs++;
    if (ledger->fail_at > 0 && --ledger->fail_at == 0) {
        fails = true;
        ledger->fail_at = ledger->fails_after ? 1 : 0;
    }
    if (!fails && len < (size_t)1 << 32) {
        block = malloc(sizeof(*block) + len);
    }
    if (block != NULL) {
        block->len = len;
        block->before = NULL;
        block->next = ledger->live;
        if (ledger->live != NULL) {
            ledger->live->before = block;
        }
        ledger->live = block;
        ledger->num_live++;
    }
    pthread_mutex_unlock(&ledger->lock);
    return block == NULL ? NULL : block->memory;
}

static inline void ledger_free(void *context, void *memory)
{
    struct ledger *ledger = context;
    struct ledger_block *block;

    if (memory == NULL) {
        return;
    }
    block = (struct ledger_block *)((uint8_t *)memory - offsetof(struct ledger_block, memory));
#if defined(TEST_ASAN)
    assert_null(__asan_region_is_poisoned(memory, block->len));
#endif
    pthread_mutex_lock(&ledger->lock);
    if (block->len == ledger->watch_above && test_has_byte(memory, block->len, ledger->watched)) {
        ledger->num_watched++;
    }
    if (block->next != NULL) {
        block->next->before = block->before;
    }
    if (block->before != NULL) {
        block->before->next = block->next;
    } else {
        ledger->live = block->next;
    }
    ledger->num_live--;
    pthread_mutex_unlock(&ledger->lock);
    free(block);
}

/* ledger_init: must not move afterwards. */
static inline void ledger_init(struct ledger *ledger)
{
    memset(ledger, 0, sizeof(*ledger));
    pthread_mutex_init(&ledger->lock, NULL);
    ledger->env = (struct pal_env){.context = ledger, .alloc = ledger_alloc, .free = ledger_free};
}

static inline size_t ledger_allocs(struct ledger *ledger)
{
    size_t num_allocs;

    pthread_mutex_lock(&ledger->lock);
    num_allocs = ledger->num_allocs;
    pthread_mutex_unlock(&ledger->lock);
    return num_allocs;
}

/* ---- words of the claims ------------------------------------------------------------------------------------------
 */

static const struct pal_pool_ops *const ops = &pal_pool_reference;

/* expect_status: as assert_int_equal, in words, naming the case. */
static inline void expect_status(enum pal_status got, enum pal_status want, const char *what, size_t index)
{
    if (got != want) {
        fail_msg("%s, case %zu: got %s, want %s", what, index, pal_status_name(got), pal_status_name(want));
    }
}

static inline void expect_size(uint64_t got, uint64_t want, const char *what, size_t index)
{
    if (got != want) {
        fail_msg("%s, case %zu: got %llu, want %llu", what, index, (unsigned long long)got, (unsigned long long)want);
    }
}

static inline struct pal_buffer rent(struct pal_pool *pool, size_t min_cap)
{
    struct pal_buffer buffer = {0};

    expect_status(ops->rent(pool, &buffer, min_cap), PAL_OK, "rent", min_cap);
    assert_non_null(buffer.data);
    assert_true(buffer.cap >= min_cap);
    return buffer;
}

static inline void release(struct pal_pool *pool, struct pal_buffer *buffer)
{
    expect_status(ops->release(pool, buffer, false), PAL_OK, "release", buffer->cap);
    assert_null(buffer->data);
    assert_int_equal(buffer->cap, 0);
    assert_int_equal(buffer->slot, 0);
    assert_int_equal(buffer->generation, 0);
}

static inline struct pal_pool_stats stats_of(struct pal_pool *pool)
{
    struct pal_pool_stats stats;

    ops->stats(pool, &stats);
    assert_true(stats.idle_bytes <= stats.idle_bytes_max);
    assert_true(stats.releases <= stats.rents && stats.allocations <= stats.rents);
    return stats;
}

static inline struct pal_pool_refusal refusal_of(struct pal_pool *pool)
{
    struct pal_pool_refusal refusal;

    pal_pool_last_refusal(pool, &refusal);
    return refusal;
}

/* expect_refused: PAL_REFUSED of this kind, and neither the handle nor the books change. */
static inline void expect_refused(struct pal_pool *pool, struct pal_buffer buffer, enum pal_pool_refusal_kind kind,
                                  const char *what)
{
    struct pal_buffer copy = buffer;
    struct pal_pool_stats before = stats_of(pool), after;

    expect_status(ops->release(pool, &copy, true), PAL_REFUSED, what, kind);
    assert_memory_equal(&copy, &buffer, sizeof(copy));
    after = stats_of(pool);
    expect_size(after.refusals, before.refusals + 1, what, kind);
    before.refusals = after.refusals;
    assert_memory_equal(&before, &after, sizeof(before));
    expect_size(refusal_of(pool).kind, kind, what, kind);
    assert_non_null(refusal_of(pool).refused_from);
}

static inline struct pal_pool *open_pool(const struct pal_env *env, size_t pooled_cap_max, size_t idle_bytes_max,
                                         bool hostile)
{
    struct pal_pool_config config = {pooled_cap_max, idle_bytes_max, hostile};
    struct pal_pool *pool = NULL;

    expect_status(ops->open(env, &pool, &config), PAL_OK, "open", 0);
    return pool;
}

/* ledger_settled: everything is home. */
static inline void ledger_settled(struct ledger *ledger)
{
    assert_int_equal(ledger->num_live, 0);
    assert_int_equal(ledger->num_watched, 0);
    pthread_mutex_destroy(&ledger->lock);
}

/* on_thread: runs it on another thread, and waits. */
static inline void on_thread(void *(*run)(void *), void *argument)
{
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, run, argument), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

#endif
