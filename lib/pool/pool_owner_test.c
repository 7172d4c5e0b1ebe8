/* SPDX-License-Identifier: Apache-2.0
 * pool_owner_test.c: claims about who may return what, what is said of a wrong return, and what a hostile pool hands
 * out. It breaks when two calls on different lines share one return address.
 */
#include "pool_test.h"
#include "state.h"

struct world {
    struct ledger ledger;
    struct pal_pool *pool;
    bool hostile;
};

static int setup(void **state)
{
    struct world *world = *state;

    ledger_init(&world->ledger);
    world->pool = open_pool(&world->ledger.env, 0, 0, world->hostile);
    return 0;
}

static int teardown(void **state)
{
    struct world *world = *state;

    ops->close(world->pool);
    ledger_settled(&world->ledger);
    return 0;
}

/* Two places that rent and two that return: their addresses are told apart by what a refusal reports. The stores keep
 * the calls from becoming jumps. */
static volatile unsigned num_calls;

__attribute__((noinline)) static struct pal_buffer rent_here(struct pal_pool *pool, size_t min_cap)
{
    struct pal_buffer buffer = {0};
    enum pal_status status = ops->rent(pool, &buffer, min_cap);

    num_calls = num_calls + 1;
    assert_int_equal(status, PAL_OK);
    return buffer;
}

__attribute__((noinline)) static enum pal_status return_here(struct pal_pool *pool, struct pal_buffer buffer)
{
    enum pal_status status = ops->release(pool, &buffer, false);

    num_calls = num_calls + 1;
    return status;
}

__attribute__((noinline)) static enum pal_status return_there(struct pal_pool *pool, struct pal_buffer buffer)
{
    enum pal_status status = ops->release(pool, &buffer, false);

    num_calls = num_calls + 2;
    return status;
}

/* ---- returns ------------------------------------------------------------------------------------------------------
 */

static void nothing_may_be_returned(void **state)
{
    struct world *world = *state;
    struct pal_buffer nothing = {0};

    assert_int_equal(ops->release(world->pool, &nothing, true), PAL_OK);
    assert_int_equal(ops->release(world->pool, &nothing, false), PAL_OK);
    assert_int_equal(stats_of(world->pool).releases, 0);
    assert_int_equal(stats_of(world->pool).refusals, 0);
    assert_int_equal(refusal_of(world->pool).kind, PAL_POOL_NO_REFUSAL);
}

static void a_second_return_is_refused_and_both_are_named(void **state)
{
    struct world *world = *state;
    const size_t caps[] = {1, 100, 5000, PAL_POOL_CAP_MAX_DEFAULT + 1};
    struct pal_pool_refusal here, there, refusal;
    struct pal_buffer probe = rent_here(world->pool, 10);

    /* The addresses of return_here and return_there, and of nothing that was lent. */
    assert_int_equal(return_here(world->pool, probe), PAL_OK);
    assert_int_equal(return_here(world->pool, probe), PAL_REFUSED);
    here = refusal_of(world->pool);
    assert_int_equal(return_there(world->pool, probe), PAL_REFUSED);
    there = refusal_of(world->pool);
    assert_ptr_not_equal(here.refused_from, there.refused_from);
    assert_ptr_equal(here.released_from, here.refused_from);

    for (size_t i = 0; i < sizeof(caps) / sizeof(caps[0]); i++) {
        struct pal_buffer buffer = rent_here(world->pool, caps[i]);

        assert_int_equal(return_there(world->pool, buffer), PAL_OK);
        assert_int_equal(return_here(world->pool, buffer), PAL_REFUSED);
        refusal = refusal_of(world->pool);
        expect_size(refusal.kind, PAL_POOL_RETURNED_TWICE, "kind", i);
        expect_size(refusal.slot, buffer.slot, "slot", i);
        expect_size(refusal.generation, buffer.generation, "generation", i);
        assert_ptr_equal(refusal.released_from, there.refused_from);
        assert_ptr_equal(refusal.refused_from, here.refused_from);
        assert_ptr_equal(refusal.rented_from, here.rented_from);
        expect_refused(world->pool, buffer, PAL_POOL_RETURNED_TWICE, "a third return");
        ops->trim(world->pool);
        expect_refused(world->pool, buffer, PAL_POOL_RETURNED_TWICE, "a return after trim");
    }
}

/* Somebody else has the memory by now, and keeps it. The slot remembers four rentals. */
static void a_stale_copy_does_not_return_the_next_renters_memory(void **state)
{
    struct world *world = *state;
    struct pal_buffer first = rent_here(world->pool, 40), next = {0};
    size_t num_rented = 0;

    assert_int_equal(return_here(world->pool, first), PAL_OK);
    while (num_rented < 6) {
        next = rent(world->pool, 40);
        if (next.slot == first.slot) {
            struct pal_pool_refusal refusal;

            num_rented++;
            memset(next.data, 0x44, next.cap);
            expect_refused(world->pool, first, PAL_POOL_RETURNED_TWICE, "a stale copy");
            refusal = refusal_of(world->pool);
            assert_int_equal(refusal.generation, first.generation);
            assert_int_equal(refusal.rented_from != NULL, num_rented < POOL_NUM_VISITS);
            assert_int_equal(refusal.released_from != NULL, num_rented < POOL_NUM_VISITS);
            for (size_t i = 0; i < next.cap; i++)
                assert_int_equal(next.data[i], 0x44);
        }
        release(world->pool, &next);
    }
}

static void memory_that_was_not_lent_is_refused(void **state)
{
    struct world *world = *state;
    struct pal_buffer good = rent(world->pool, 64), idle = rent(world->pool, 64), bad;
    uint8_t foreign[64] = {0};

    release(world->pool, &idle);
    for (size_t i = 1; i < good.cap; i++) {
        bad = good;
        bad.data += i;
        expect_refused(world->pool, bad, PAL_POOL_INTERIOR, "interior");
        bad.cap -= i;
        expect_refused(world->pool, bad, PAL_POOL_INTERIOR, "interior, rest");
    }
    bad = good;
    bad.data = foreign;
    expect_refused(world->pool, bad, PAL_POOL_FOREIGN, "foreign memory, good slot");
    bad.data = NULL;
    expect_refused(world->pool, bad, PAL_POOL_FOREIGN, "no memory, good slot");
    bad.data = good.data + good.cap;
    expect_refused(world->pool, bad, PAL_POOL_FOREIGN, "the end");
    bad.data = good.data - 1;
    expect_refused(world->pool, bad, PAL_POOL_FOREIGN, "before the start");
    expect_refused(world->pool, (struct pal_buffer){foreign, 64, 0, 0}, PAL_POOL_FOREIGN, "foreign memory");
    expect_refused(world->pool, (struct pal_buffer){good.data, good.cap, 0, 0}, PAL_POOL_FOREIGN, "no handle");
    for (size_t cap = 0; cap < 200; cap++) {
        bad = good;
        bad.cap = cap;
        if (cap != good.cap)
            expect_refused(world->pool, bad, PAL_POOL_ALTERED, "another cap");
    }
    release(world->pool, &good);
}

static void no_handle_is_too_broken_to_be_refused(void **state)
{
    struct world *world = *state;
    struct pal_buffer good[20];
    uint32_t seed = 77;

    for (size_t i = 0; i < 20; i++)
        good[i] = rent(world->pool, i * 10);
    for (size_t i = 0; i < 20; i++) {
        for (uint32_t bit = 0; bit < 32; bit++) {
            struct pal_buffer bad = good[i];

            bad.slot ^= 1u << bit;
            assert_int_equal(ops->release(world->pool, &bad, true), PAL_REFUSED);
            bad = good[i];
            bad.generation ^= 1u << bit;
            assert_int_equal(ops->release(world->pool, &bad, true), PAL_REFUSED);
        }
    }
    for (size_t i = 0; i < 100000; i++) {
        struct pal_buffer bad;

        seed = seed * 1664525u + 1013904223u;
        bad.data = (uint8_t *)(uintptr_t)(seed * (uint64_t)0x9e3779b97f4a7c15u);
        bad.cap = seed;
        bad.slot = i % 3 == 0 ? seed >> 27 : seed * 2654435761u;
        bad.generation = i % 2 == 0 ? seed >> 30 : seed;
        assert_int_equal(ops->release(world->pool, &bad, true), PAL_REFUSED);
    }
    for (size_t i = 0; i < 20; i++)
        release(world->pool, &good[i]);
}

static void memory_of_another_pool_is_refused(void **state)
{
    struct world *world = *state;
    struct pal_pool *other = open_pool(&world->ledger.env, 0, 0, world->hostile);
    struct pal_buffer mine = rent(world->pool, 48), theirs = rent(other, 48), forged = theirs;

    expect_refused(world->pool, theirs, PAL_POOL_WRONG_POOL, "theirs");
    expect_refused(other, mine, PAL_POOL_WRONG_POOL, "mine");
    forged.slot = mine.slot;
    expect_refused(world->pool, forged, PAL_POOL_FOREIGN, "theirs with my slot");
    release(world->pool, &mine);
    release(other, &theirs);
    mine = rent(world->pool, 48);
    ops->close(other);
    expect_refused(world->pool, forged, PAL_POOL_RETURNED_TWICE, "an old generation with my slot");
    forged = mine;
    forged.slot += 1u << POOL_INDEX_BITS;
    expect_refused(world->pool, forged, PAL_POOL_FOREIGN, "of a pool that was closed");
    release(world->pool, &mine);
}

/* More pools than ids: they share the last one, and still refuse each other's memory. */
static void many_pools_refuse_each_other(void **state)
{
    struct world *world = *state;
    struct pal_pool *pools[POOL_NUM_IDS + 9];
    struct pal_buffer buffers[POOL_NUM_IDS + 9];
    size_t num_pools = sizeof(pools) / sizeof(pools[0]);

    for (size_t i = 0; i < num_pools; i++) {
        pools[i] = open_pool(&world->ledger.env, 0, 0, world->hostile);
        buffers[i] = rent(pools[i], 16);
    }
    for (size_t i = 0; i < num_pools; i++) {
        struct pal_buffer copy = buffers[i];

        assert_int_equal(ops->release(pools[(i + 1) % num_pools], &copy, true), PAL_REFUSED);
    }
    for (size_t i = 0; i < num_pools; i++) {
        release(pools[i], &buffers[i]);
        ops->close(pools[i]);
    }
}

static void no_generation_comes_twice(void **state)
{
    struct world *world = *state;
    struct pal_buffer buffer = rent(world->pool, 20), other = rent(world->pool, 20), stale;
    struct pool_slot *slot = pool_slot_find(world->pool, buffer.slot);
    size_t num_live;

    release(world->pool, &buffer);
    release(world->pool, &other); /* so that a hostile pool gives the first again */
    atomic_store(&slot->word, (uint64_t)(UINT32_MAX - 1) << 1);
    do
        buffer = rent(world->pool, 20);
    while (buffer.slot != slot->number);
    assert_int_equal(buffer.generation, UINT32_MAX);
    stale = buffer;
    num_live = world->ledger.num_live;
    release(world->pool, &buffer);
    assert_int_equal(world->ledger.num_live, num_live - 1);
    expect_refused(world->pool, stale, PAL_POOL_RETURNED_TWICE, "the last generation");
    for (size_t i = 0; i < 100; i++)
        assert_int_not_equal(rent(world->pool, 20).slot, stale.slot);
}

/* ---- hostile ------------------------------------------------------------------------------------------------------
 */

/* Gives the block that was freed last once more, as a caching allocator does. */
static struct {
    void *memory;
    bool on;
} eager;

static void *again_alloc(void *context, size_t len)
{
    void *memory = eager.memory;

    if (memory == NULL || len != 24)
        return ledger_alloc(context, len);
    eager.memory = NULL;
    return memory;
}

static void again_free(void *context, void *memory)
{
    if (eager.on && eager.memory == NULL)
        eager.memory = memory;
    else
        ledger_free(context, memory);
}

static void hostile_never_lends_what_was_returned_last(void **state)
{
    struct world *world = *state;
    const size_t bounds[] = {1, 24, 48, 240, 0};
    struct pal_env env = world->ledger.env;

    env.alloc = again_alloc;
    env.free = again_free;
    for (size_t i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++) {
        struct pal_pool *pool = open_pool(&env, 0, bounds[i], true);
        struct pal_buffer held[3] = {{0}};
        const uint8_t *last = NULL;

        eager.on = true;
        for (size_t round = 0; round < 60; round++) {
            struct pal_buffer *buffer = &held[round % (1 + i % 3)];

            if (buffer->data != NULL) {
                last = buffer->data;
                release(pool, buffer);
            }
            *buffer = rent(pool, 24);
            assert_ptr_not_equal(buffer->data, last);
        }
        eager.on = false;
        ops->close(pool);
        ledger_free(&world->ledger, eager.memory);
        eager.memory = NULL;
    }
}

static void hostile_lends_it_when_there_is_no_other(void **state)
{
    struct world *world = *state;
    struct pal_buffer buffer = rent(world->pool, 24), none = {0};
    const uint8_t *last = buffer.data;

    release(world->pool, &buffer);
    world->ledger.fails_after = true;
    world->ledger.fail_at = 1;
    buffer = rent(world->pool, 24);
    assert_ptr_equal(buffer.data, last);
    assert_int_equal(ops->rent(world->pool, &none, 24), PAL_NO_MEMORY);
    assert_int_equal(stats_of(world->pool).allocations, 1);
    world->ledger.fail_at = 0;
    release(world->pool, &buffer);
}

/* Oldest first, and the same choice each time. */
static void hostile_choices_are_determined(void **state)
{
    struct world *world = *state;
    struct pal_buffer buffers[6];

    for (size_t i = 0; i < 6; i++)
        buffers[i] = rent(world->pool, 24 + i % 2);
    for (size_t i = 0; i < 6; i++) {
        struct pal_buffer copy = buffers[i];

        release(world->pool, &copy);
    }
    for (size_t i = 0; i < 5; i++) {
        struct pal_buffer got = rent(world->pool, 24 + i % 2);

        assert_int_equal(got.cap, 24 + i % 2);
        assert_ptr_equal(got.data, buffers[i].data);
    }
    assert_ptr_not_equal(rent(world->pool, 25).data, buffers[5].data);
    assert_int_equal(stats_of(world->pool).idle_bytes, 25);
}

/* ---- an environment over a pool -----------------------------------------------------------------------------------
 */

static enum pal_status any_random(void *context, uint8_t *out, size_t len)
{
    (void)context;
    memset(out, 0x4d, len);
    return PAL_OK;
}

static uint64_t any_now_ns(void *context)
{
    return context != NULL ? 12 : 0;
}

static int64_t any_unix_time(void *context)
{
    return context != NULL ? 34 : 0;
}

static enum pal_status any_sendmsg(void *context, size_t *out_sent, int socket, const struct iovec *segments,
                                   size_t num_segments, int flags)
{
    *out_sent = num_segments + segments->iov_len;
    return context != NULL && socket == 5 && flags == 6 ? PAL_WOULD_BLOCK : PAL_SYSTEM;
}

static enum pal_status any_sendfile(void *context, size_t *out_sent, int socket, int file, uint64_t offset, size_t len)
{
    *out_sent = (size_t)offset + len;
    return context != NULL && socket == 5 && file == 7 ? PAL_RESET : PAL_SYSTEM;
}

static enum pal_status any_file_size(void *context, uint64_t *out_size, int file)
{
    *out_size = (uint64_t)file;
    return context != NULL ? PAL_OK : PAL_SYSTEM;
}

static enum pal_status any_wait_writable(void *context, int socket, uint64_t deadline_ns)
{
    return context != NULL && socket == 5 && deadline_ns == 9 ? PAL_TIMED_OUT : PAL_SYSTEM;
}

static void a_bound_environment_passes_everything_on(void **state)
{
    struct world *world = *state;
    struct pal_env base = world->ledger.env;
    struct pal_pool_bound bound;
    struct pal_env *env = &bound.env;
    struct pal_buffer buffer = {0}, stale;
    struct iovec segment = {NULL, 3};
    uint8_t bytes[2] = {0};
    size_t sent = 0;
    uint64_t size = 0;
    void *memory;

    pal_pool_bind(&bound, &base, world->pool);
    assert_true(env->random == NULL && env->now_ns == NULL && env->unix_time == NULL && env->sendmsg == NULL &&
                env->sendfile == NULL && env->file_size == NULL && env->wait_writable == NULL);
    base.random = any_random;
    base.now_ns = any_now_ns;
    base.unix_time = any_unix_time;
    base.sendmsg = any_sendmsg;
    base.sendfile = any_sendfile;
    base.file_size = any_file_size;
    base.wait_writable = any_wait_writable;
    pal_pool_bind(&bound, &base, world->pool);
    memory = env->alloc(env->context, 33);
    assert_non_null(memory);
    env->free(env->context, memory);
    assert_int_equal(env->random(env->context, bytes, 2), PAL_OK);
    assert_int_equal(bytes[1], 0x4d);
    assert_int_equal(env->now_ns(env->context), 12);
    assert_int_equal(env->unix_time(env->context), 34);
    assert_int_equal(env->sendmsg(env->context, &sent, 5, &segment, 1, 6), PAL_WOULD_BLOCK);
    assert_int_equal(sent, 4);
    assert_int_equal(env->sendfile(env->context, &sent, 5, 7, 100, 11), PAL_RESET);
    assert_int_equal(sent, 111);
    assert_int_equal(env->file_size(env->context, &size, 8), PAL_OK);
    assert_int_equal(size, 8);
    assert_int_equal(env->wait_writable(env->context, 5, 9), PAL_TIMED_OUT);

    assert_int_equal(env->rent(env->context, &buffer, 50), PAL_OK);
    assert_int_equal(stats_of(world->pool).rents, 1);
    stale = buffer;
    assert_int_equal(env->release(env->context, &buffer, true), PAL_OK);
    assert_int_equal(env->release(env->context, &stale, true), PAL_REFUSED);
    assert_int_equal(refusal_of(world->pool).kind, PAL_POOL_RETURNED_TWICE);
}

int main(void)
{
#define PLAIN(claim)                                                                                                   \
    {                                                                                                                  \
        "plain/" #claim, claim, setup, teardown, &plain                                                                \
    }
#define HOSTILE(claim)                                                                                                 \
    {                                                                                                                  \
        "hostile/" #claim, claim, setup, teardown, &hostile                                                            \
    }
    static struct world plain, hostile = {.hostile = true};
    const struct CMUnitTest claims[] = {
        PLAIN(nothing_may_be_returned),
        HOSTILE(nothing_may_be_returned),
        PLAIN(a_second_return_is_refused_and_both_are_named),
        HOSTILE(a_second_return_is_refused_and_both_are_named),
        PLAIN(a_stale_copy_does_not_return_the_next_renters_memory),
        HOSTILE(a_stale_copy_does_not_return_the_next_renters_memory),
        PLAIN(memory_that_was_not_lent_is_refused),
        HOSTILE(memory_that_was_not_lent_is_refused),
        PLAIN(no_handle_is_too_broken_to_be_refused),
        HOSTILE(no_handle_is_too_broken_to_be_refused),
        PLAIN(memory_of_another_pool_is_refused),
        HOSTILE(memory_of_another_pool_is_refused),
        PLAIN(many_pools_refuse_each_other),
        HOSTILE(many_pools_refuse_each_other),
        PLAIN(no_generation_comes_twice),
        HOSTILE(no_generation_comes_twice),
        HOSTILE(hostile_never_lends_what_was_returned_last),
        HOSTILE(hostile_lends_it_when_there_is_no_other),
        HOSTILE(hostile_choices_are_determined),
        PLAIN(a_bound_environment_passes_everything_on),
    };
#undef PLAIN
#undef HOSTILE

    return cmocka_run_group_tests(claims, NULL, NULL);
}
