/* SPDX-License-Identifier: Apache-2.0
 * statistics_test.c: claims about intervals and medians, against values worked out by hand or taken from textbooks.
 */
#include "statistics.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static void assert_near(double got, double want)
{
    if (fabs(got - want) > 0.0005) {
        (void)fprintf(stderr, "got %f, want %f\n", got, want);
        fail();
    }
}

static void wilson_intervals_are_the_textbook_s(void **state)
{
    static const struct {
        size_t num;
        size_t of;
        double low;
        double high;
    } cases[] = {
        {0, 0, 0, 1},
        {0, 10, 0, 0.2775},
        {10, 10, 0.7225, 1},
        {5, 10, 0.2366, 0.7634},
        {81, 263, 0.2553, 0.3662},
        {186, 186, 0.9798, 1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct interval got = statistics_wilson(cases[i].num, cases[i].of);
        assert_near(got.low, cases[i].low);
        assert_near(got.high, cases[i].high);
    }
}

static void without_censoring_it_is_the_middle_one(void **state)
{
    struct survival times[] = {{9, false}, {1, false}, {5, false}};
    double median = 0;
    (void)state;
    assert_true(statistics_median(&median, times, 3));
    assert_near(median, 5);
    struct survival one[] = {{7, false}};
    assert_true(statistics_median(&median, one, 1));
    assert_near(median, 7);
}

static void an_even_number_gives_the_lower_of_the_middle_ones(void **state)
{
    struct survival times[] = {{4, false}, {2, false}, {3, false}, {1, false}};
    double median = 0;
    (void)state;
    assert_true(statistics_median(&median, times, 4));
    assert_near(median, 2);
}

/* Freireich 1963, 6-MP arm, 21 patients of whom 9 relapsed: the median is 23 weeks. */
static void censored_times_are_neither_dropped_nor_ends(void **state)
{
    struct survival times[] = {
        {6, false},  {6, false},  {6, false},  {6, true},   {7, false}, {9, true},  {10, false},
        {10, true},  {11, true},  {13, false}, {16, false}, {17, true}, {19, true}, {20, true},
        {22, false}, {23, false}, {25, true},  {32, true},  {32, true}, {34, true}, {35, true},
    };
    double median = 0;
    (void)state;
    assert_true(statistics_median(&median, times, sizeof(times) / sizeof(times[0])));
    assert_near(median, 23);
}

static void a_median_that_is_not_reached_is_none(void **state)
{
    struct survival times[] = {{1, false}, {60, true}, {60, true}};
    double median = -1;
    (void)state;
    assert_false(statistics_median(&median, times, 3));
    assert_false(statistics_median(&median, times, 0));
    assert_near(median, -1);
}

static void an_end_counts_before_a_censoring_at_the_same_time(void **state)
{
    struct survival times[] = {{3, true}, {3, false}, {9, true}};
    double median = -1;
    (void)state;
    /* One of three ended: a third is gone. Were the censored one gone first, it would be half. */
    assert_false(statistics_median(&median, times, 3));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wilson_intervals_are_the_textbook_s),
        cmocka_unit_test(without_censoring_it_is_the_middle_one),
        cmocka_unit_test(an_even_number_gives_the_lower_of_the_middle_ones),
        cmocka_unit_test(censored_times_are_neither_dropped_nor_ends),
        cmocka_unit_test(a_median_that_is_not_reached_is_none),
        cmocka_unit_test(an_end_counts_before_a_censoring_at_the_same_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
