/* SPDX-License-Identifier: Apache-2.0
 * pool_threads_test.c: claims about several threads: returns from elsewhere, threads that end, pools that close.
 * Most take turns; those that run free are for TSan and ASan to watch. No claim depends on who comes first.
 */
#include "pool_test.h"
#include "state.h"

#include <sched.h>
#include <stdatomic.h>

enum { NUM_THREADS = 4 };

struct world {
    struct ledger ledger;
    struct pal_pool *pool;
    bool hostile;
    struct pal_buffer buffer; /* what a thread hands over */
    pthread_barrier_t barrier;
    _Atomic bool stop;
};

static int setup(void **state)
{
    struct world *world = *state;

    ledger_init(&world->ledger);
    world->pool = open_pool(&world->ledger.env, 0, 0, world->hostile);
    atomic_store(&world->stop, false);
    return 0;
}

static int teardown(void **state)
{
    struct world *world = *state;

    ops->close(world->pool);
    ledger_settled(&world->ledger);
    return 0;
}

/* ---- in turns -----------------------------------------------------------------------------------------------------
 */

static void *rent_one(void *argument)
{
    struct world *world = argument;

    world->buffer = rent(world->pool, 100);
    return NULL;
}

static void *release_one(void *argument)
{
    struct world *world = argument;

    release(world->pool, &world->buffer);
    return NULL;
}

static void *refuse_one(void *argument)
{
    struct world *world = argument;

    expect_refused(world->pool, world->buffer, PAL_POOL_RETURNED_TWICE, "on another thread");
    return NULL;
}

static void a_rental_may_be_returned_by_any_thread(void **state)
{
    struct world *world = *state;
    struct pal_buffer stale;

    on_thread(rent_one, world);
    stale = world->buffer;
    on_thread(release_one, world);
    world->buffer = stale;
    on_thread(refuse_one, world);
    (void)refuse_one(world);
    world->buffer = rent(world->pool, 100);
    on_thread(release_one, world);
    assert_int_equal(stats_of(world->pool).rents, 2);
    assert_int_equal(stats_of(world->pool).releases, 2);
    assert_int_equal(stats_of(world->pool).rented_bytes, 0);
}

static void *rent_and_release(void *argument)
{
    struct world *world = argument;
    struct pal_buffer buffers[3];

    for (size_t i = 0; i < 3; i++) {
        buffers[i] = rent(world->pool, 100);
    }
    for (size_t i = 0; i < 3; i++) {
        release(world->pool, &buffers[i]);
    }
    return NULL;
}

/* Its buffers serve others, its counts stay, its level goes to the next thread. */
static void a_thread_that_ends_leaves_its_memory_to_the_others(void **state)
{
    struct world *world = *state;
    size_t num_allocs = 0;

    for (size_t i = 0; i < 200; i++) {
        on_thread(rent_and_release, world);
        if (i == 1) {
            num_allocs = ledger_allocs(&world->ledger);
        }
        /* A hostile pool keeps from the next thread what this one returned last. */
        expect_size(stats_of(world->pool).idle_bytes, world->hostile ? (i == 0 ? 300 : 400) : 384, "idle after", i);
    }
    assert_int_equal(ledger_allocs(&world->ledger), num_allocs);
    assert_int_equal(stats_of(world->pool).rents, 600);
    assert_int_equal(stats_of(world->pool).releases, 600);
    assert_int_equal(stats_of(world->pool).allocations, world->hostile ? 4 : 3);
    ops->trim(world->pool);
    assert_int_equal(stats_of(world->pool).idle_bytes, 0);
}

/* The other thread does its part between two of these. */
static void meet(struct world *world)
{
    (void)pthread_barrier_wait(&world->barrier);
}

static void *outlive_pool(void *argument)
{
    struct world *world = argument;

    (void)rent_and_release(world);
    meet(world); /* the pool is closed and another one opened, perhaps at the same address */
    meet(world);
    (void)rent_and_release(world);
    meet(world); /* that one is closed, too */
    meet(world);
    return NULL;
}

static void a_pool_may_close_before_its_threads_end(void **state)
{
    struct world *world = *state;
    pthread_t thread;

    pthread_barrier_init(&world->barrier, NULL, 2);
    assert_int_equal(pthread_create(&thread, NULL, outlive_pool, world), 0);
    for (int i = 0; i < 2; i++) {
        meet(world);
        assert_int_equal(stats_of(world->pool).rents, 3);
        ops->close(world->pool);
        assert_int_equal(world->ledger.num_live, 0);
        world->pool = open_pool(&world->ledger.env, 0, 0, world->hostile);
        meet(world);
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    pthread_barrier_destroy(&world->barrier);
    assert_int_equal(stats_of(world->pool).rents, 0);
    assert_int_equal(stats_of(world->pool).idle_bytes, 0);
}

static void *trim_own(void *argument)
{
    struct world *world = argument;
    struct pal_buffer buffer = rent(world->pool, 5000);

    release(world->pool, &buffer);
    meet(world); /* the main thread trims */
    meet(world);
    ops->trim(world->pool);
    assert_int_equal(stats_of(world->pool).idle_bytes, 0);
    meet(world);
    return NULL;
}

static void trim_reaches_this_thread_and_the_shared_level(void **state)
{
    struct world *world = *state;
    pthread_t thread;

    pthread_barrier_init(&world->barrier, NULL, 2);
    assert_int_equal(pthread_create(&thread, NULL, trim_own, world), 0);
    meet(world);
    ops->trim(world->pool);
    assert_int_equal(stats_of(world->pool).idle_bytes, world->hostile ? 0 : 8192);
    meet(world);
    meet(world);
    assert_int_equal(pthread_join(thread, NULL), 0);
    pthread_barrier_destroy(&world->barrier);
}

static void pools_of_one_thread_keep_apart(void **state)
{
    struct world *world = *state;
    struct ledger ledgers[5];
    struct pal_pool *pools[5];

    for (size_t i = 0; i < 5; i++) {
        ledger_init(&ledgers[i]);
        pools[i] = open_pool(&ledgers[i].env, 0, 0, world->hostile);
    }
    for (size_t round = 0; round < 20; round++) {
        for (size_t i = 0; i < 5; i++) {
            struct pal_buffer buffers[4];

            for (size_t j = 0; j <= i && j < 4; j++) {
                buffers[j] = rent(pools[i], 64 + i);
            }
            for (size_t j = 0; j <= i && j < 4; j++) {
                release(pools[i], &buffers[j]);
            }
        }
    }
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(stats_of(pools[i]).rents, 20 * (i < 4 ? i + 1 : 4));
        ops->close(pools[i]);
        ledger_settled(&ledgers[i]);
    }
}

/* ---- running free -------------------------------------------------------------------------------------------------
 */

/* Copies of one handle on two threads at once: one return counts. They spin: a barrier lets one run ahead. */
struct race {
    struct world *world;
    struct pal_buffer buffer;
    _Atomic size_t next_racer;
    _Atomic size_t round;
    _Atomic size_t num_done;
    _Atomic size_t num_ok;
    _Atomic size_t num_refused;
};

static void *race_release(void *argument)
{
    struct race *race = argument;
    size_t racer = atomic_fetch_add(&race->next_racer, 1);

    for (size_t round = 1; round <= TEST_ROUNDS / 4; round++) {
        struct pal_buffer copy;
        enum pal_status status;

        while (racer == 0 && atomic_load(&race->num_done) != 2 * (round - 1)) {
            sched_yield();
        }
        if (racer == 0) {
            race->buffer = rent(race->world->pool, 64);
            atomic_store(&race->round, round);
        }
        for (unsigned spins = 0; atomic_load(&race->round) != round; spins++) {
            if (spins > 10000) {
                sched_yield();
            }
        }
        /* The one that says when is ahead: by how much differs between machines. */
        for (volatile size_t wait = racer == 0 ? round % 256 : 0; wait > 0; wait = wait - 1)
            ;
        copy = race->buffer;
        status = ops->release(race->world->pool, &copy, true);
        if (status == PAL_OK) {
            atomic_fetch_add(&race->num_ok, 1);
        } else if (status == PAL_REFUSED) {
            atomic_fetch_add(&race->num_refused, 1);
        }
        atomic_fetch_add(&race->num_done, 1);
    }
    return NULL;
}

static void of_two_returns_at_once_one_is_accepted(void **state)
{
    struct world *world = *state;
    struct race race = {.world = world};
    pthread_t threads[2];

    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, race_release, &race), 0);
    }
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    assert_int_equal(atomic_load(&race.num_ok), TEST_ROUNDS / 4);
    assert_int_equal(atomic_load(&race.num_refused), TEST_ROUNDS / 4);
    assert_int_equal(stats_of(world->pool).releases, TEST_ROUNDS / 4);
    assert_int_equal(stats_of(world->pool).refusals, TEST_ROUNDS / 4);
    assert_int_equal(stats_of(world->pool).rented_bytes, 0);
}

/* exchange: every thread rents, writes all, gives it to whoever comes next, and returns what it found there. */
struct exchange {
    struct world *world;
    struct {
        pthread_mutex_t lock;
        struct pal_buffer buffer;
        uint8_t tag;
    } places[8];
    _Atomic unsigned num_damaged;
    _Atomic unsigned num_failed;
    _Atomic uint32_t next_seed;
};

static void exchange_one(struct exchange *exchange, size_t place, struct pal_buffer buffer, uint8_t tag, bool clear)
{
    pthread_mutex_lock(&exchange->places[place].lock);
    struct pal_buffer other = exchange->places[place].buffer;
    uint8_t other_tag = exchange->places[place].tag;
    exchange->places[place].buffer = buffer;
    exchange->places[place].tag = tag;
    pthread_mutex_unlock(&exchange->places[place].lock);
    for (size_t i = 0; i < other.cap; i++) {
        if (other.data[i] != other_tag) {
            atomic_fetch_add(&exchange->num_damaged, 1);
        }
    }
    if (ops->release(exchange->world->pool, &other, clear) != PAL_OK) {
        atomic_fetch_add(&exchange->num_failed, 1);
    }
}

static void *exchange_many(void *argument)
{
    struct exchange *exchange = argument;
    struct pal_pool *pool = exchange->world->pool;
    uint32_t seed = atomic_fetch_add(&exchange->next_seed, 1) * 7919;

    for (size_t round = 0; round < TEST_ROUNDS; round++) {
        struct pal_buffer buffer = {0};
        uint8_t tag = (uint8_t)round;

        seed = seed * 1664525u + 1013904223u;
        if (ops->rent(pool, &buffer, (seed >> 8) % 300) != PAL_OK) {
            atomic_fetch_add(&exchange->num_failed, 1);
            continue;
        }
        memset(buffer.data, tag, buffer.cap);
        exchange_one(exchange, (seed >> 20) % 8, buffer, tag, seed >> 31 != 0);
        if (round % 500 == 499) {
            ops->trim(pool);
        }
    }
    return NULL;
}

static void *watch_stats(void *argument)
{
    struct world *world = argument;

    while (!atomic_load(&world->stop)) {
        (void)stats_of(world->pool);
        (void)refusal_of(world->pool);
    }
    return NULL;
}

static void threads_that_run_free_lose_nothing(void **state)
{
    struct world *world = *state;
    struct exchange exchange = {.world = world};
    pthread_t threads[NUM_THREADS], watcher;
    struct pal_pool_stats stats;

    ops->close(world->pool);
    world->pool = open_pool(&world->ledger.env, 256, 4000, world->hostile);
    for (size_t i = 0; i < 8; i++) {
        pthread_mutex_init(&exchange.places[i].lock, NULL);
    }
    assert_int_equal(pthread_create(&watcher, NULL, watch_stats, world), 0);
    for (size_t i = 0; i < NUM_THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, exchange_many, &exchange), 0);
    }
    for (size_t i = 0; i < NUM_THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    atomic_store(&world->stop, true);
    assert_int_equal(pthread_join(watcher, NULL), 0);
    for (size_t i = 0; i < 8; i++) {
        release(world->pool, &exchange.places[i].buffer);
        pthread_mutex_destroy(&exchange.places[i].lock);
    }
    stats = stats_of(world->pool);
    assert_int_equal(atomic_load(&exchange.num_damaged), 0);
    assert_int_equal(atomic_load(&exchange.num_failed), 0);
    assert_int_equal(stats.rents, NUM_THREADS * TEST_ROUNDS);
    assert_int_equal(stats.releases, stats.rents);
    assert_int_equal(stats.rented_bytes, 0);
    assert_int_equal(stats.refusals, 0);
}

static void *use_and_end(void *argument)
{
    struct world *world = argument;

    (void)rent_and_release(world);
    meet(world);
    return NULL;
}

/* The thread's destructors and close() at the same time, and another pool opened at once in the same place. */
static void a_pool_may_close_while_a_thread_ends(void **state)
{
    struct world *world = *state;

    pthread_barrier_init(&world->barrier, NULL, 3);
    for (size_t round = 0; round < TEST_ROUNDS / 20; round++) {
        pthread_t threads[2];

        for (size_t i = 0; i < 2; i++) {
            assert_int_equal(pthread_create(&threads[i], NULL, use_and_end, world), 0);
        }
        meet(world);
        ops->close(world->pool);
        world->pool = open_pool(&world->ledger.env, 0, 0, world->hostile);
        (void)rent_and_release(world);
        expect_size(stats_of(world->pool).rents, 3, "rents of the next pool in round", round);
        for (size_t i = 0; i < 2; i++) {
            assert_int_equal(pthread_join(threads[i], NULL), 0);
        }
    }
    pthread_barrier_destroy(&world->barrier);
}

/* in_between: an environment in which another thread rents before the first chunk of the table is there. */
struct in_between {
    struct ledger ledger;
    struct world *world;
    bool done;
};

static void *alloc_in_between(void *context, size_t len)
{
    struct in_between *between = context;

    if (len == ((size_t)1 << POOL_CHUNK_LOG2) * sizeof(struct pool_slot) && !between->done) {
        between->done = true;
        on_thread(rent_one, between->world);
    }
    return ledger_alloc(&between->ledger, len);
}

static void free_in_between(void *context, void *memory)
{
    ledger_free(&((struct in_between *)context)->ledger, memory);
}

static void two_threads_may_enlarge_the_table_at_once(void **state)
{
    struct world *world = *state;
    struct in_between between = {.world = world};
    const struct pal_env env = {.context = &between, .alloc = alloc_in_between, .free = free_in_between};
    struct pal_pool *before = world->pool;
    struct pal_buffer buffer;

    ledger_init(&between.ledger);
    world->pool = open_pool(&env, 0, 0, world->hostile);
    buffer = rent(world->pool, 100);
    assert_true(between.done && buffer.slot != world->buffer.slot && buffer.data != world->buffer.data);
    release(world->pool, &world->buffer);
    release(world->pool, &buffer);
    ops->close(world->pool);
    ledger_settled(&between.ledger);
    world->pool = before;
}

static void a_thread_ends_in_the_newest_of_several_pools(void **state)
{
    struct world *world = *state;
    struct pal_pool *older = world->pool;

    world->pool = open_pool(&world->ledger.env, 0, 0, world->hostile);
    on_thread(rent_and_release, world);
    assert_int_equal(stats_of(world->pool).rented_bytes + stats_of(older).rents, 0);
    ops->close(world->pool);
    world->pool = older;
}

int main(void)
{
#define BOTH(claim)                                                                                                    \
    {"plain/" #claim, claim, setup, teardown, &plain},                                                                 \
    {                                                                                                                  \
        "hostile/" #claim, claim, setup, teardown, &hostile                                                            \
    }
    static struct world plain, hostile = {.hostile = true};
    const struct CMUnitTest claims[] = {
        BOTH(a_rental_may_be_returned_by_any_thread),
        BOTH(a_thread_that_ends_leaves_its_memory_to_the_others),
        BOTH(a_pool_may_close_before_its_threads_end),
        BOTH(trim_reaches_this_thread_and_the_shared_level),
        BOTH(pools_of_one_thread_keep_apart),
        BOTH(of_two_returns_at_once_one_is_accepted),
        BOTH(threads_that_run_free_lose_nothing),
        BOTH(a_pool_may_close_while_a_thread_ends),
        BOTH(two_threads_may_enlarge_the_table_at_once),
        BOTH(a_thread_ends_in_the_newest_of_several_pools),
    };
#undef BOTH

    return cmocka_run_group_tests(claims, NULL, NULL);
}
