/* SPDX-License-Identifier: Apache-2.0
 * scenario_test.c: claims that any bytes are a legal scenario, that bytes and text say the same, and that mistakes in a
 * text are named by line and column. Over every target's language.
 */
#include "target.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ROUNDS 3000u

/* pool: large structures of the tests. */
static struct scenario first;
static struct scenario second;
static uint8_t encoded[SCENARIO_INPUT_MAX];

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static size_t random_input(uint8_t *out, size_t cap, uint32_t *state)
{
    size_t len = next_random(state) % (cap + 1);
    for (size_t i = 0; i < len; i++) {
        out[i] = (uint8_t)next_random(state);
    }
    return len;
}

static void assert_legal(const struct scenario *scenario)
{
    const struct language *language = scenario->language;
    assert_in_range(scenario->num_steps, 1, SCENARIO_STEPS_MAX);
    assert_in_range(scenario->store_len, 0, SCENARIO_STORE_MAX);
    for (size_t s = 0; s < scenario->num_steps; s++) {
        const struct step *step = &scenario->steps[s];
        assert_in_range(step->op, 0, language->num_operations - 1);
        const struct operation *operation = &language->operations[step->op];
        for (size_t i = 0; i < operation->num_fields; i++) {
            const struct field *field = &operation->fields[i];
            if (field->kind == FIELD_BYTES) {
                assert_in_range(step->len[i], 0, field->max);
                assert_true(step->number[i] + step->len[i] <= scenario->store_len);
            } else {
                assert_in_range(step->number[i], 0, field->max);
            }
        }
    }
}

static void assert_same(const struct scenario *a, const struct scenario *b)
{
    assert_int_equal(a->num_steps, b->num_steps);
    for (size_t s = 0; s < a->num_steps; s++) {
        const struct operation *operation = &a->language->operations[a->steps[s].op];
        assert_int_equal(a->steps[s].op, b->steps[s].op);
        for (size_t i = 0; i < operation->num_fields; i++) {
            if (operation->fields[i].kind == FIELD_BYTES) {
                assert_true(
                    views_equal(scenario_field_bytes(a, &a->steps[s], i), scenario_field_bytes(b, &b->steps[s], i)));
            } else {
                assert_int_equal(a->steps[s].number[i], b->steps[s].number[i]);
            }
        }
    }
}

static void any_bytes_are_a_legal_scenario(void **state)
{
    uint8_t input[600];
    uint32_t seed = 1;
    (void)state;
    for (size_t t = 0; t < num_targets; t++) {
        for (size_t round = 0; round < ROUNDS; round++) {
            size_t len = random_input(input, sizeof(input), &seed);
            scenario_decode(&first, targets[t]->language, (struct pal_view){input, len});
            assert_legal(&first);
        }
    }
}

static void no_bytes_are_one_step_of_fallbacks(void **state)
{
    (void)state;
    for (size_t t = 0; t < num_targets; t++) {
        scenario_decode(&first, targets[t]->language, (struct pal_view){NULL, 0});
        assert_int_equal(first.num_steps, 1);
        assert_int_equal(first.steps[0].op, 0);
        assert_legal(&first);
    }
}

static void bytes_and_text_say_the_same(void **state)
{
    uint8_t input[300];
    uint32_t seed = 2;
    (void)state;
    for (size_t round = 0; round < ROUNDS; round++) {
        const struct language *language = targets[round % num_targets]->language;
        char error[SCENARIO_ERROR_MAX] = "";
        char *text = NULL;
        size_t text_len = 0;
        size_t len = random_input(input, sizeof(input), &seed);
        scenario_decode(&first, language, (struct pal_view){input, len});
        FILE *stream = open_memstream(&text, &text_len);
        assert_non_null(stream);
        scenario_print(&first, stream);
        assert_int_equal(fclose(stream), 0);
        bool parsed = scenario_parse(&second, language, (struct pal_view){(const uint8_t *)text, text_len}, error);
        assert_string_equal(error, "");
        assert_true(parsed);
        assert_same(&first, &second);
        size_t num = scenario_encode(&second, encoded, sizeof(encoded));
        assert_true(num > 0);
        scenario_decode(&first, language, (struct pal_view){encoded, num});
        assert_same(&first, &second);
        free(text);
    }
}

static void assert_survives(const struct language *language)
{
    size_t num = scenario_encode(&first, encoded, sizeof(encoded));
    assert_true(num > 0);
    scenario_decode(&second, language, (struct pal_view){encoded, num});
    assert_same(&first, &second);
}

static void every_value_of_every_field_survives_being_written(void **state)
{
    (void)state;
    for (size_t t = 0; t < num_targets; t++) {
        const struct language *language = targets[t]->language;
        for (uint32_t op = 0; op < language->num_operations; op++) {
            const struct operation *operation = &language->operations[op];
            for (size_t i = 0; i < operation->num_fields; i++) {
                const struct field *field = &operation->fields[i];
                assert_true(!field->shy || field->max <= 64);
                for (uint32_t value = 0; field->kind != FIELD_BYTES && value <= field->max; value++) {
                    memset(&first, 0, sizeof(first));
                    first.language = language;
                    first.num_steps = 1;
                    first.steps[0].op = op;
                    first.steps[0].number[i] = value;
                    assert_survives(language);
                }
            }
        }
    }
}

static void encoding_refuses_a_buffer_that_is_too_small(void **state)
{
    static const char text[] = "paldiff hmac 1\ndigest text=\"abc\"\n";
    char error[SCENARIO_ERROR_MAX];
    (void)state;
    assert_true(scenario_parse(&first, target_find("hmac")->language,
                               (struct pal_view){(const uint8_t *)text, sizeof(text) - 1}, error));
    size_t num = scenario_encode(&first, encoded, sizeof(encoded));
    for (size_t cap = 0; cap < num; cap++) {
        assert_int_equal(scenario_encode(&first, encoded, cap), 0);
    }
    assert_int_equal(scenario_encode(&first, encoded, num), num);
}

static void mistakes_are_named_by_line_and_column(void **state)
{
    static const struct {
        const char *text;
        const char *error;
    } cases[] = {
        {"", "line 0, column 1: expected \"paldiff hmac 1\""},
        {"hello\n", "line 1, column 6: expected \"paldiff hmac 1\""},
        {"paldiff aead 1\n", "line 1, column 13: expected the target hmac"},
        {"paldiff hmac 2\ndigest\n", "line 1, column 14: expected a number from 0 to 1"},
        {"paldiff hmac 0\ndigest\n", "line 1, column 14: expected a version from 1 to 1"},
        {"paldiff hmac 1 digest\n", "line 1, column 16: expected the end of the line"},
        {"paldiff hmac 1\ndigest key=1 alg=sha1 key=2\n", "line 2, column 23: expected key once only"},
        {"paldiff hmac 1\ndigest tail=2\n",
         "line 2, column 13: expected one of 0, 1, 15, 16, 17, 32, 55, 56, 63, 64, 65, 111, 112, 127, .."},
        {"paldiff hmac 1\n# nothing\n", "line 3, column 1: expected at least one step"},
        {"paldiff hmac 1\ndigset\n", "line 2, column 1: expected an operation of hmac (see paldiff list --fields)"},
        {"paldiff hmac 1\ndigest kee=1\n", "line 2, column 8: expected a field of digest (see paldiff list --fields)"},
        {"paldiff hmac 1\ndigest key 1\n", "line 2, column 11: expected '=' after key"},
        {"paldiff hmac 1\ndigest key=9\n", "line 2, column 12: expected a number from 0 to 3"},
        {"paldiff hmac 1\n\n  digest alg=md5\n", "line 3, column 14: expected one of sha1, sha256, sha384, sha512"},
        {"paldiff hmac 1\ndigest text=\"abc\n", "line 2, column 17: expected '\"' at the end of the bytes"},
        {"paldiff hmac 1\ndigest text=abc\n", "line 2, column 15: expected two hexadecimal digits, or '\"'"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char error[SCENARIO_ERROR_MAX] = "";
        struct pal_view text = {(const uint8_t *)cases[i].text, strlen(cases[i].text)};
        assert_false(scenario_parse(&first, target_find("hmac")->language, text, error));
        assert_string_equal(error, cases[i].error);
    }
}

static void any_text_is_parsed_or_refused(void **state)
{
    static const char text[] = "paldiff hmac 1\nkey reg=1 bytes=0011 # a key\ndigest key=1 text=\"abc\" parts=small\n";
    char broken[sizeof(text)];
    char error[SCENARIO_ERROR_MAX];
    uint32_t seed = 3;
    (void)state;
    for (size_t round = 0; round < ROUNDS; round++) {
        memcpy(broken, text, sizeof(text));
        broken[next_random(&seed) % (sizeof(text) - 1)] = (char)next_random(&seed);
        size_t len = next_random(&seed) % sizeof(text);
        if (scenario_parse(&first, target_find("hmac")->language, (struct pal_view){(const uint8_t *)broken, len},
                           error)) {
            assert_legal(&first);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_bytes_are_a_legal_scenario),
        cmocka_unit_test(no_bytes_are_one_step_of_fallbacks),
        cmocka_unit_test(bytes_and_text_say_the_same),
        cmocka_unit_test(every_value_of_every_field_survives_being_written),
        cmocka_unit_test(encoding_refuses_a_buffer_that_is_too_small),
        cmocka_unit_test(mistakes_are_named_by_line_and_column),
        cmocka_unit_test(any_text_is_parsed_or_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
