/* SPDX-License-Identifier: Apache-2.0
 * mutator_test.c: claims about changes on the level of operations: they are determined, fit, and reach what they are
 * for.
 */
#include "mutator.h"
#include "target.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define CAP 512u
#define ROUNDS 4000u

static size_t text_to_bytes(const struct language *language, const char *text, uint8_t out[CAP])
{
    struct scenario scenario;
    char error[SCENARIO_ERROR_MAX];
    struct pal_view view = {(const uint8_t *)text, strlen(text)};
    assert_true(scenario_parse(&scenario, language, view, error));
    return scenario_encode(&scenario, out, CAP);
}

static void the_same_seed_makes_the_same_change(void **state)
{
    const struct language *language = target_hmac.language;
    (void)state;
    for (uint32_t seed = 0; seed < ROUNDS; seed++) {
        uint8_t a[CAP] = {0};
        uint8_t b[CAP] = {0};
        size_t a_len = mutator_change(language, a, 40, CAP, seed);
        size_t b_len = mutator_change(language, b, 40, CAP, seed);
        assert_int_equal(a_len, b_len);
        assert_memory_equal(a, b, a_len);
    }
}

static void what_is_made_says_the_same_when_it_is_read_and_written_again(void **state)
{
    (void)state;
    for (size_t t = 0; t < num_targets; t++) {
        const struct language *language = targets[t]->language;
        uint8_t data[CAP] = {0};
        size_t len = 1;
        for (uint32_t seed = 0; seed < ROUNDS; seed++) {
            struct scenario scenario;
            uint8_t again[CAP];
            size_t changed = mutator_change(language, data, len, CAP, seed);
            assert_true(changed <= CAP);
            len = changed > 0 ? changed : 1;
            scenario_decode(&scenario, language, (struct pal_view){data, len});
            assert_true(scenario.num_steps > 0 && scenario.num_steps <= SCENARIO_STEPS_MAX);
            if (changed > 0) {
                assert_int_equal(scenario_encode(&scenario, again, CAP), len);
                assert_memory_equal(again, data, len);
            }
        }
    }
}

static void an_input_that_would_not_fit_is_left_alone(void **state)
{
    const struct language *language = target_hmac.language;
    uint8_t data[CAP];
    uint8_t before[CAP];
    size_t refused = 0;
    (void)state;
    size_t len = text_to_bytes(language, "paldiff hmac 1\ndigest text=\"abcdefgh\"\ndigest text=\"ijkl\"\n", data);
    memcpy(before, data, len);
    for (uint32_t seed = 0; seed < ROUNDS; seed++) {
        if (mutator_change(language, data, len, len, seed) == 0) {
            assert_memory_equal(data, before, len);
            refused++;
        }
        memcpy(data, before, len);
    }
    assert_true(refused > 0);
}

/* Each kind of change, seen at least once: more steps, fewer, the same in another order, one field. */
static void steps_come_go_move_and_change(void **state)
{
    const struct language *language = target_hmac.language;
    static const char text[] = "paldiff hmac 1\ndigest key=1 text=\"ab\"\nstart key=2\nfinish\n";
    bool more = false;
    bool fewer = false;
    bool moved = false;
    bool field = false;
    (void)state;
    for (uint32_t seed = 0; seed < ROUNDS; seed++) {
        uint8_t data[CAP];
        struct scenario before;
        struct scenario after;
        size_t len = text_to_bytes(language, text, data);
        scenario_decode(&before, language, (struct pal_view){data, len});
        len = mutator_change(language, data, len, CAP, seed);
        scenario_decode(&after, language, (struct pal_view){data, len});
        bool same_ops = after.num_steps == 3 && after.steps[0].op == before.steps[0].op &&
                        after.steps[1].op == before.steps[1].op && after.steps[2].op == before.steps[2].op;
        more = more || after.num_steps > 3;
        fewer = fewer || after.num_steps < 3;
        moved = moved || (after.num_steps == 3 && after.steps[2].op == before.steps[0].op &&
                          after.steps[0].op == before.steps[1].op);
        field = field ||
                (same_ops && memcmp(after.steps[0].number, before.steps[0].number, sizeof(after.steps[0].number)) != 0);
    }
    assert_true(more);
    assert_true(fewer);
    assert_true(moved);
    assert_true(field);
}

static void a_cross_has_the_head_of_one_and_the_tail_of_the_other(void **state)
{
    const struct language *language = target_hmac.language;
    uint8_t head[CAP];
    uint8_t tail[CAP];
    bool whole = false;
    (void)state;
    size_t head_len = text_to_bytes(language, "paldiff hmac 1\nstart key=1\nupdate text=\"ab\"\n", head);
    size_t tail_len = text_to_bytes(language, "paldiff hmac 1\ndigest text=\"xyz\"\nfinish\n", tail);
    for (uint32_t seed = 0; seed < ROUNDS; seed++) {
        uint8_t out[CAP];
        struct scenario made;
        size_t len = mutator_cross(language, (struct pal_view){head, head_len}, (struct pal_view){tail, tail_len}, out,
                                   CAP, seed);
        assert_true(len > 0);
        scenario_decode(&made, language, (struct pal_view){out, len});
        assert_string_equal(language->operations[made.steps[0].op].name, "start");
        assert_string_equal(language->operations[made.steps[made.num_steps - 1].op].name, "finish");
        if (made.num_steps == 4) {
            struct pal_view bytes = scenario_field_bytes(&made, &made.steps[2], 2);
            assert_int_equal(bytes.len, 3);
            assert_memory_equal(bytes.data, "xyz", 3);
            whole = true;
        }
    }
    assert_true(whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_seed_makes_the_same_change),
        cmocka_unit_test(what_is_made_says_the_same_when_it_is_read_and_written_again),
        cmocka_unit_test(an_input_that_would_not_fit_is_left_alone),
        cmocka_unit_test(steps_come_go_move_and_change),
        cmocka_unit_test(a_cross_has_the_head_of_one_and_the_tail_of_the_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
