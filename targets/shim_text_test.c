/* SPDX-License-Identifier: Apache-2.0
 * shim_text_test.c: lines of the process door come apart as they were put together, and nothing else is taken for one.
 */
#include "shim_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct shim_words words;

static bool parse(char copy[256], const char *line)
{
    (void)snprintf(copy, 256, "%s", line);
    return shim_words_parse(&words, copy);
}

static void a_line_comes_apart_as_it_was_put_together(void **state)
{
    uint8_t bytes[256];
    struct shim_text text = {0};
    struct pal_view out;
    (void)state;
    for (size_t i = 0; i < sizeof(bytes); i++) {
        bytes[i] = (uint8_t)i;
    }
    shim_text_add(&text, "call number=%d", 17);
    shim_text_bytes(&text, "all", (struct pal_view){bytes, sizeof(bytes)});
    shim_text_bytes(&text, "none", (struct pal_view){NULL, 0});
    shim_text_bytes(&text, "one", (struct pal_view){bytes + 255, 1});
    assert_int_equal(strlen(text.data), text.len);
    assert_true(shim_words_parse(&words, text.data));
    assert_string_equal(words.name, "call");
    assert_int_equal(words.num, 4);
    assert_int_equal(shim_word_number(&words, "number", 0), 17);
    assert_true(shim_words_bytes(&words, "all", &out));
    assert_int_equal(out.len, sizeof(bytes));
    assert_memory_equal(out.data, bytes, sizeof(bytes));
    assert_true(shim_words_bytes(&words, "none", &out));
    assert_int_equal(out.len, 0);
    assert_true(shim_words_bytes(&words, "one", &out));
    assert_int_equal(out.data[0], 255);
    assert_true(shim_words_bytes(&words, "missing", &out));
    assert_int_equal(out.len, 0);
    shim_text_free(&text);
}

static void text_grows_to_what_is_put_in(void **state)
{
    struct shim_text text = {0};
    (void)state;
    for (int i = 0; i < 5000; i++) {
        shim_text_add(&text, "%c", 'a' + i % 26);
    }
    assert_int_equal(text.len, 5000);
    for (size_t i = 0; i < text.len; i++) {
        assert_int_equal(text.data[i], 'a' + (int)i % 26);
    }
    shim_text_free(&text);
    assert_null(text.data);
}

static void words_of_one_key_are_found_in_order(void **state)
{
    char line[256];
    (void)state;
    assert_true(parse(line, "hmac.digest part=00 key=ff part=01 part="));
    size_t first = shim_word_find(&words, "part", 0);
    size_t second = shim_word_find(&words, "part", first + 1);
    size_t third = shim_word_find(&words, "part", second + 1);
    assert_string_equal(words.words[first].value, "00");
    assert_string_equal(words.words[second].value, "01");
    assert_string_equal(words.words[third].value, "");
    assert_int_equal(shim_word_find(&words, "part", third + 1), words.num);
}

static void what_is_no_line_is_refused(void **state)
{
    static const char *const lines[] = {"", " ok", "ok word", "ok  out=", "ok out=00 ", "ok out"};
    char line[256];
    (void)state;
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        if (parse(line, lines[i])) {
            fail_msg("\"%s\" was taken for a line", lines[i]);
        }
    }
}

static void a_line_of_too_many_words_is_refused(void **state)
{
    struct shim_text text = {0};
    (void)state;
    shim_text_add(&text, "ok");
    for (size_t i = 0; i < SHIM_WORDS_MAX; i++) {
        shim_text_add(&text, " a=");
    }
    char *copy = strdup(text.data);
    assert_non_null(copy);
    assert_true(shim_words_parse(&words, copy));
    assert_int_equal(words.num, SHIM_WORDS_MAX);
    free(copy);
    shim_text_add(&text, " a=");
    assert_false(shim_words_parse(&words, text.data));
    shim_text_free(&text);
}

static void what_is_not_hex_is_refused(void **state)
{
    static const char *const values[] = {"0", "000", "0g", "g0", "FF", "0x", "-1", "..", "a.", "/0", ":0", "0`"};
    char line[256];
    struct pal_view out;
    (void)state;
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        (void)snprintf(line, sizeof(line), "ok out=%s", values[i]);
        assert_true(shim_words_parse(&words, line));
        if (shim_words_bytes(&words, "out", &out)) {
            fail_msg("\"%s\" was taken for hex", values[i]);
        }
    }
}

static void a_number_is_decimal_or_none(void **state)
{
    char line[256];
    (void)state;
    assert_true(parse(line, "ok a=12 b=x c=1x d= e=-1 f=+1"));
    assert_int_equal(shim_word_number(&words, "a", 5), 12);
    assert_int_equal(shim_word_number(&words, "missing", 5), 5);
    for (const char *key = "bcdef"; *key != '\0'; key++) {
        const char name[2] = {*key, '\0'};
        assert_true(shim_word_number(&words, name, 5) == UINT64_MAX);
    }
}

static void every_status_has_its_name_and_nothing_else_has(void **state)
{
    enum pal_status status;
    (void)state;
    for (size_t i = 0; i < PAL_NUM_STATUSES; i++) {
        assert_true(shim_status(&status, pal_status_name((enum pal_status)i)));
        assert_int_equal(status, i);
    }
    assert_false(shim_status(&status, "OK"));
    assert_false(shim_status(&status, ""));
    assert_false(shim_status(&status, "?"));
}

static void rows_are_found_by_name(void **state)
{
    (void)state;
    for (size_t i = 0; i < PAL_SEND_NUM_WAYS; i++) {
        assert_int_equal(shim_row(shim_ways, PAL_SEND_NUM_WAYS, shim_ways[i]), i);
    }
    assert_int_equal(shim_row(shim_ways, PAL_SEND_NUM_WAYS, "sequentia"), PAL_SEND_NUM_WAYS);
    assert_int_equal(shim_row(shim_ways, PAL_SEND_NUM_WAYS, NULL), PAL_SEND_NUM_WAYS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_comes_apart_as_it_was_put_together),
        cmocka_unit_test(text_grows_to_what_is_put_in),
        cmocka_unit_test(words_of_one_key_are_found_in_order),
        cmocka_unit_test(what_is_no_line_is_refused),
        cmocka_unit_test(a_line_of_too_many_words_is_refused),
        cmocka_unit_test(what_is_not_hex_is_refused),
        cmocka_unit_test(a_number_is_decimal_or_none),
        cmocka_unit_test(every_status_has_its_name_and_nothing_else_has),
        cmocka_unit_test(rows_are_found_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
