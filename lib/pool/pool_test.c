/* SPDX-License-Identifier: Apache-2.0
 * pool_test.c: claims about the reference pool on one thread, plain and hostile: capacity, ownership, bounds, failure.
 * Threads are pool_threads_test.c's. It breaks when the pool takes memory that its environment does not see.
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

/* reopen: another pool in place of the world's. */
static void reopen(struct world *world, size_t pooled_cap_max, size_t idle_bytes_max)
{
    ops->close(world->pool);
    assert_int_equal(world->ledger.num_live, 0);
    world->pool = open_pool(&world->ledger.env, pooled_cap_max, idle_bytes_max, world->hostile);
}

static uint32_t draw(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

/* ---- capacity -----------------------------------------------------------------------------------------------------
 */

static size_t wanted_cap(const struct world *world, size_t min_cap, size_t pooled_cap_max)
{
    size_t cap = 16;

    if (world->hostile) {
        return min_cap > 0 ? min_cap : 1;
    }
    if (min_cap > pooled_cap_max) {
        return min_cap;
    }
    while (cap < min_cap) {
        cap *= 2;
    }
    return cap;
}

static void every_boundary_has_its_capacity(void **state)
{
    struct world *world = *state;

    for (size_t k = 0; k <= 21; k++) {
        for (size_t min_cap = ((size_t)1 << k) - 1; min_cap <= ((size_t)1 << k) + 1; min_cap++) {
            struct pal_buffer buffer = rent(world->pool, min_cap);
            uint64_t idle_bytes;

            expect_size(buffer.cap, wanted_cap(world, min_cap, PAL_POOL_CAP_MAX_DEFAULT), "capacity of", min_cap);
            assert_int_equal((uintptr_t)buffer.data % _Alignof(max_align_t), 0);
            memset(buffer.data, 0x11, buffer.cap);
            ops->trim(world->pool);
            idle_bytes = min_cap > PAL_POOL_CAP_MAX_DEFAULT ? 0 : buffer.cap;
            release(world->pool, &buffer);
            expect_size(stats_of(world->pool).idle_bytes, idle_bytes, "kept of", min_cap);
        }
    }
}

static void a_configured_maximum_is_taken_literally(void **state)
{
    struct world *world = *state;
    const size_t maxima[] = {1, 8, 16, 17, 100, 128, SIZE_MAX};

    for (size_t i = 0; i < sizeof(maxima) / sizeof(maxima[0]); i++) {
        reopen(world, maxima[i], 0);
        for (size_t min_cap = 0; min_cap < 200; min_cap++) {
            struct pal_buffer buffer = rent(world->pool, min_cap);
            size_t cap = buffer.cap;

            expect_size(cap, wanted_cap(world, min_cap, maxima[i]), "capacity of", min_cap);
            ops->trim(world->pool);
            release(world->pool, &buffer);
            expect_size(stats_of(world->pool).idle_bytes, min_cap <= maxima[i] ? cap : 0, "kept of", min_cap);
        }
    }
}

static void what_cannot_be_lent_changes_nothing(void **state)
{
    struct world *world = *state;
    const struct pal_buffer marks = {(uint8_t *)world, 1, 2, 3};
    const struct {
        size_t min_cap;
        enum pal_status want;
    } rows[] = {{SIZE_MAX, PAL_TOO_LONG},
                {SIZE_MAX - 15, PAL_TOO_LONG},
                {(size_t)PTRDIFF_MAX + 1, PAL_TOO_LONG},
                {PTRDIFF_MAX, PAL_NO_MEMORY},
                {(size_t)1 << 40, PAL_NO_MEMORY}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct pal_buffer buffer = marks;

        expect_status(ops->rent(world->pool, &buffer, rows[i].min_cap), rows[i].want, "rent", i);
        assert_memory_equal(&buffer, &marks, sizeof(buffer));
    }
    /* Nor does it use up slots, whose table would grow. */
    for (size_t i = 0, num_live = world->ledger.num_live; i < 1000; i++) {
        struct pal_buffer buffer = marks;

        expect_status(ops->rent(world->pool, &buffer, (size_t)1 << 40), PAL_NO_MEMORY, "rent", i);
        assert_int_equal(world->ledger.num_live, num_live);
    }
    assert_int_equal(ops->rent(world->pool, NULL, 1), PAL_BAD_ARGUMENT);
    assert_int_equal(ops->release(world->pool, NULL, false), PAL_BAD_ARGUMENT);
    assert_int_equal(stats_of(world->pool).rents, 0);
}

/* ---- a naive model ------------------------------------------------------------------------------------------------
 */

enum { MODEL_RENTALS = 40, MODEL_IDLE_MAX = 3000 };

struct model {
    struct pal_buffer live[MODEL_RENTALS];
    uint8_t tags[MODEL_RENTALS];
    size_t num_live;
    uint64_t rents, releases, refusals, rented_bytes;
};

/* Every live rental still holds its own bytes, all of them: no two overlap. */
static void model_holds(const struct model *model, struct pal_pool *pool)
{
    struct pal_pool_stats stats = stats_of(pool);

    for (size_t i = 0; i < model->num_live; i++) {
        for (size_t j = 0; j < model->live[i].cap; j++) {
            if (model->live[i].data[j] != model->tags[i]) {
                fail_msg("rental %zu of %zu: byte %zu is %u, want %u", i, model->num_live, j, model->live[i].data[j],
                         model->tags[i]);
            }
        }
    }
    expect_size(stats.rents, model->rents, "rents", 0);
    expect_size(stats.releases, model->releases, "releases", 0);
    expect_size(stats.refusals, model->refusals, "refusals", 0);
    expect_size(stats.rented_bytes, model->rented_bytes, "rented_bytes", 0);
    expect_size(stats.idle_bytes_max, MODEL_IDLE_MAX, "idle_bytes_max", 0);
}

static enum pal_status model_rent(struct model *model, struct pal_pool *pool, size_t min_cap, uint8_t tag)
{
    struct pal_buffer *buffer = &model->live[model->num_live];
    enum pal_status status = ops->rent(pool, buffer, min_cap);

    if (status == PAL_OK) {
        memset(buffer->data, tag, buffer->cap);
        model->tags[model->num_live++] = tag;
        model->rents++;
        model->rented_bytes += buffer->cap;
    }
    return status;
}

static void model_release(struct model *model, struct pal_pool *pool, size_t which, bool clear)
{
    struct pal_buffer stale = model->live[which];

    model->rented_bytes -= stale.cap;
    model->releases++;
    model->refusals++;
    assert_int_equal(ops->release(pool, &model->live[which], clear), PAL_OK);
    assert_int_equal(ops->release(pool, &stale, clear), PAL_REFUSED);
    model->num_live--;
    model->live[which] = model->live[model->num_live];
    model->tags[which] = model->tags[model->num_live];
}

/* Returns how many rents got no memory. */
static size_t model_play(struct model *model, struct pal_pool *pool, uint32_t seed, size_t num_steps)
{
    size_t num_failed = 0;

    for (size_t step = 0; step < num_steps; step++) {
        uint32_t what = draw(&seed) % 100;

        if (model->num_live > 0 && (what < 45 || model->num_live == MODEL_RENTALS)) {
            model_release(model, pool, draw(&seed) % model->num_live, what % 4 == 0);
        } else if (what < 97) {
            enum pal_status status = model_rent(model, pool, draw(&seed) % (what % 3 == 0 ? 40 : 700), (uint8_t)step);

            num_failed += status == PAL_OK ? 0 : 1;
            if (status != PAL_OK) {
                expect_status(status, PAL_NO_MEMORY, "rent at step", step);
            }
        } else {
            ops->trim(pool);
            assert_int_equal(stats_of(pool).idle_bytes, 0);
        }
        if (num_steps < 200 || step % 16 == 0) {
            model_holds(model, pool);
        }
    }
    while (model->num_live > 0) {
        model_release(model, pool, 0, false);
    }
    model_holds(model, pool);
    return num_failed;
}

static void random_sequences_agree_with_a_naive_model(void **state)
{
    struct world *world = *state;

    for (uint32_t seed = 1; seed <= 30; seed++) {
        struct model model = {0};

        reopen(world, 512, MODEL_IDLE_MAX);
        assert_int_equal(model_play(&model, world->pool, seed, 1000), 0);
    }
}

/* The n-th allocation, alone or with all later ones, for every n of a long sequence. */
static void every_failed_allocation_leaves_every_rental_home(void **state)
{
    struct world *world = *state;

    for (size_t after = 0; after < 2; after++) {
        size_t num_failed = 1, n = 1;

        for (; num_failed > 0 || n < 8; n++) {
            struct model model = {0};

            reopen(world, 512, MODEL_IDLE_MAX);
            world->ledger.fails_after = after == 1;
            world->ledger.fail_at = n;
            num_failed = model_play(&model, world->pool, 5, 150);
            world->ledger.fail_at = 0;
            assert_int_equal(stats_of(world->pool).rented_bytes, 0);
        }
        assert_true(n > 20);
    }
    world->ledger.fail_at = 1;
    struct pal_pool *none = world->pool;
    assert_int_equal(ops->open(&world->ledger.env, &none, NULL), PAL_NO_MEMORY);
    assert_ptr_equal(none, world->pool);
    world->ledger.fail_at = 0;
}

/* ---- bounds -------------------------------------------------------------------------------------------------------
 */

static void idle_memory_never_passes_its_bound(void **state)
{
    struct world *world = *state;
    struct pal_buffer buffers[12];

    for (size_t bound = 1; bound <= 400; bound += 13) {
        size_t num_live, kept = bound / 32 < 12 ? bound / 32 : 12;

        reopen(world, 0, bound);
        for (size_t i = 0; i < 12; i++) {
            buffers[i] = rent(world->pool, 32);
        }
        num_live = world->ledger.num_live;
        for (size_t i = 0; i < 12; i++) {
            release(world->pool, &buffers[i]);
            expect_size(stats_of(world->pool).idle_bytes, 32 * (i < kept ? i + 1 : kept), "idle bytes at", i);
        }
        expect_size(world->ledger.num_live, num_live - 12 + kept, "blocks with bound", bound);
    }
}

static void trim_frees_what_is_idle_and_nothing_else(void **state)
{
    struct world *world = *state;
    struct pal_buffer buffers[40], kept = rent(world->pool, 100);
    size_t num_live;

    memset(kept.data, 0x22, kept.cap);
    for (size_t i = 0; i < 40; i++) {
        buffers[i] = rent(world->pool, (size_t)1 << i % 8);
    }
    num_live = world->ledger.num_live;
    for (size_t i = 0; i < 40; i++) {
        release(world->pool, &buffers[i]);
    }
    assert_true(stats_of(world->pool).idle_bytes > 0);
    ops->trim(world->pool);
    assert_int_equal(stats_of(world->pool).idle_bytes, 0);
    assert_int_equal(world->ledger.num_live, num_live - 40);
    ops->trim(world->pool);
    for (size_t i = 0; i < kept.cap; i++) {
        assert_int_equal(kept.data[i], 0x22);
    }
    release(world->pool, &kept);
}

static void a_warm_rent_takes_no_memory(void **state)
{
    struct world *world = *state;
    struct pal_buffer buffers[6];
    size_t num_allocs = 0;

    for (size_t round = 0; round < 50; round++) {
        if (round == 4) {
            num_allocs = world->ledger.num_allocs;
        }
        for (size_t min_cap = 16; min_cap <= 65536; min_cap *= 2) {
            for (size_t i = 0; i < 6; i++) {
                buffers[i] = rent(world->pool, min_cap);
            }
            for (size_t i = 0; i < 6; i++) {
                release(world->pool, &buffers[i]);
            }
        }
    }
    assert_int_equal(world->ledger.num_allocs, num_allocs);
    assert_int_equal(stats_of(world->pool).rents, 50 * 13 * 6);
    assert_true(stats_of(world->pool).allocations <= 13 * 7);
}

static void close_takes_rentals_back_too(void **state)
{
    struct world *world = *state;

    for (size_t i = 0; i < 100; i++) {
        struct pal_buffer buffer = rent(world->pool, i * 100);

        if (i % 3 == 0) {
            release(world->pool, &buffer);
        }
    }
    (void)rent(world->pool, PAL_POOL_CAP_MAX_DEFAULT + 1);
    ops->close(NULL);
}

/* ---- contents -----------------------------------------------------------------------------------------------------
 */

enum { SECRET = 0x5c };

/* Kept buffers are looked at where they lie, the others as they come back to the environment. */
static void clear_wipes_all_of_the_capacity(void **state)
{
    struct world *world = *state;
    const size_t caps[] = {1, 16, 17, 64, 65, 100, 4096, PAL_POOL_CAP_MAX_DEFAULT, PAL_POOL_CAP_MAX_DEFAULT + 7};

    for (size_t i = 0; i < sizeof(caps) / sizeof(caps[0]); i++) {
        for (int clear = 0; clear < 2; clear++) {
            struct pal_buffer buffer = rent(world->pool, caps[i]);
            const uint8_t *data = buffer.data;
            size_t cap = buffer.cap;
            bool seen, hidden = (world->hostile || cap <= 64) && caps[i] <= PAL_POOL_CAP_MAX_DEFAULT;

            world->ledger.watch_above = cap;
            world->ledger.watched = SECRET;
            world->ledger.num_watched = 0;
            memset(buffer.data, SECRET, cap);
            assert_int_equal(ops->release(world->pool, &buffer, clear == 1), PAL_OK);
            seen = caps[i] <= PAL_POOL_CAP_MAX_DEFAULT && test_has_byte(data, cap, SECRET);
            ops->trim(world->pool);
            seen = seen || world->ledger.num_watched > 0;
            expect_size(seen, clear == 0 && !hidden, "secret seen", i);
            world->ledger.num_watched = 0;
            world->ledger.watch_above = 0;
        }
    }
}

static void idle_memory_is_hidden_and_holds_the_pattern(void **state)
{
    struct world *world = *state;

    for (size_t min_cap = 1; min_cap < 3000; min_cap += 97) {
        struct pal_buffer buffer = rent(world->pool, min_cap), second;
        const uint8_t *data = buffer.data;
        size_t cap = buffer.cap, len = world->hostile || cap < PAL_POOL_PATTERN_LEN ? cap : PAL_POOL_PATTERN_LEN;

#if defined(TEST_MSAN)
        assert_int_equal(__msan_test_shadow(data, cap), 0);
#endif
        memset(buffer.data, 0x33, cap);
        release(world->pool, &buffer);
        for (uint8_t byte = 0; byte < 0xff; byte++) {
            assert_true(byte == PAL_POOL_PATTERN || !test_has_byte(data, len, byte));
        }
#if defined(TEST_ASAN)
        for (size_t i = 0; i < cap; i++) {
            assert_true(__asan_address_is_poisoned(data + i));
        }
#endif
        second = rent(world->pool, min_cap);
#if defined(TEST_ASAN)
        assert_null(__asan_region_is_poisoned(second.data, second.cap));
#elif defined(TEST_MSAN)
        for (size_t i = 0; i < second.cap; i++) {
            assert_int_equal(__msan_test_shadow(second.data + i, 1), 0);
        }
#endif
        release(world->pool, &second);
        ops->trim(world->pool);
    }
}

/* Found by rent or by trim; the memory is kept away from everybody until close. */
static void a_write_after_release_is_found(void **state)
{
    struct world *world = *state;
    size_t reach = world->hostile ? 333 : PAL_POOL_PATTERN_LEN;

    for (size_t at = 0; at < reach; at++) {
        struct pal_buffer buffer = rent(world->pool, 333), kept = buffer, other;
        uint64_t refusals = stats_of(world->pool).refusals;

        release(world->pool, &buffer);
        test_scribble(kept.data, at, (uint8_t)(PAL_POOL_PATTERN ^ (1u << at % 8)));
        if (at % 2 == 0) {
            ops->trim(world->pool);
        } else {
            /* A hostile pool gives the oldest first, and never this one first. */
            buffer = rent(world->pool, 333);
            release(world->pool, &buffer);
            other = rent(world->pool, 333);
            assert_ptr_not_equal(other.data, kept.data);
            release(world->pool, &other);
            ops->trim(world->pool);
        }
        expect_size(stats_of(world->pool).refusals, refusals + 1, "write found at", at);
        expect_size(refusal_of(world->pool).kind, PAL_POOL_WRITTEN_AFTER_RELEASE, "kind at", at);
        expect_size(refusal_of(world->pool).generation, kept.generation, "generation at", at);
        expect_size(refusal_of(world->pool).slot, kept.slot, "slot at", at);
        assert_non_null(refusal_of(world->pool).rented_from);
        assert_non_null(refusal_of(world->pool).released_from);
        assert_non_null(refusal_of(world->pool).refused_from);
        assert_int_equal(stats_of(world->pool).idle_bytes, 0);
        expect_refused(world->pool, kept, PAL_POOL_RETURNED_TWICE, "stale handle of damaged memory");
    }
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
        BOTH(every_boundary_has_its_capacity),
        BOTH(a_configured_maximum_is_taken_literally),
        BOTH(what_cannot_be_lent_changes_nothing),
        BOTH(random_sequences_agree_with_a_naive_model),
        BOTH(every_failed_allocation_leaves_every_rental_home),
        BOTH(idle_memory_never_passes_its_bound),
        BOTH(trim_frees_what_is_idle_and_nothing_else),
        BOTH(a_warm_rent_takes_no_memory),
        BOTH(close_takes_rentals_back_too),
        BOTH(clear_wipes_all_of_the_capacity),
        BOTH(idle_memory_is_hidden_and_holds_the_pattern),
        BOTH(a_write_after_release_is_found),
    };
#undef BOTH

    return cmocka_run_group_tests(claims, NULL, NULL);
}
