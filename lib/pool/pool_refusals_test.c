/* SPDX-License-Identifier: Apache-2.0
 * pool_refusals_test.c: claims about arguments: a pool needs an environment and somewhere to be put, and can do without
 * a configuration; only a handle that is zero in every field is none. Who may return what is pool_owner_test's.
 */
#include "pool_test.h"

static void open_needs_an_environment_and_an_output(void **state)
{
    const struct pal_pool_config config = {0};
    struct ledger ledger;
    struct pal_pool *pool = NULL;

    (void)state;
    ledger_init(&ledger);
    expect_status(ops->open(NULL, &pool, &config), PAL_BAD_ARGUMENT, "no environment", 0);
    expect_status(ops->open(&ledger.env, NULL, &config), PAL_BAD_ARGUMENT, "no output", 0);
    assert_null(pool);
    assert_int_equal(ledger_allocs(&ledger), 0);
    ledger_settled(&ledger);
}

/* What {0} says, it says as well when it is not there. */
static void without_a_configuration_the_bounds_are_the_pools_own(void **state)
{
    const struct pal_pool_config config = {0};
    struct ledger ledger;

    (void)state;
    ledger_init(&ledger);
    for (int i = 0; i < 2; i++) {
        struct pal_pool *pool = NULL;
        struct pal_buffer buffer;

        expect_status(ops->open(&ledger.env, &pool, i == 0 ? NULL : &config), PAL_OK, "open", 0);
        assert_int_equal(stats_of(pool).idle_bytes_max, PAL_POOL_IDLE_MAX_DEFAULT);
        buffer = rent(pool, PAL_POOL_CAP_MAX_DEFAULT + 1);
        assert_int_equal(buffer.cap, PAL_POOL_CAP_MAX_DEFAULT + 1);
        release(pool, &buffer);
        assert_int_equal(stats_of(pool).idle_bytes, 0);
        buffer = rent(pool, PAL_POOL_CAP_MAX_DEFAULT - 1);
        assert_int_equal(buffer.cap, PAL_POOL_CAP_MAX_DEFAULT);
        release(pool, &buffer);
        assert_int_equal(stats_of(pool).idle_bytes, PAL_POOL_CAP_MAX_DEFAULT);
        ops->close(pool);
    }
    ledger_settled(&ledger);
}

static void a_handle_is_none_when_all_of_it_is_zero(void **state)
{
    static uint8_t memory[16];
    const struct pal_buffer handles[] = {{.data = memory}, {.cap = 16}, {.slot = 1}, {.generation = 1}};
    struct pal_buffer none = {0};
    struct ledger ledger;
    struct pal_pool *pool;

    (void)state;
    ledger_init(&ledger);
    pool = open_pool(&ledger.env, 0, 0, false);
    expect_status(ops->release(pool, &none, false), PAL_OK, "none", 0);
    for (size_t i = 0; i < sizeof(handles) / sizeof(handles[0]); i++) {
        struct pal_buffer handle = handles[i];

        expect_status(ops->release(pool, &handle, false), PAL_REFUSED, "a part of a handle", i);
    }
    assert_int_equal(stats_of(pool).refusals, 4);
    ops->close(pool);
    ledger_settled(&ledger);
}

int main(void)
{
    const struct CMUnitTest claims[] = {
        cmocka_unit_test(open_needs_an_environment_and_an_output),
        cmocka_unit_test(without_a_configuration_the_bounds_are_the_pools_own),
        cmocka_unit_test(a_handle_is_none_when_all_of_it_is_zero),
    };

    return cmocka_run_group_tests_name("pool_refusals", claims, NULL, NULL);
}
