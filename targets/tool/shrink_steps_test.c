/* SPDX-License-Identifier: Apache-2.0
 * shrink_steps_test.c: claims that shrinking ends at the smallest scenario that still shows what it must, never loses
 * that, and gives a legal scenario. What must show is a condition on the text here; no world plays.
 */
#include "shrink_steps.h"
#include "target.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ROUNDS 300u

/* subject: what the candidates are asked, and how often. */
struct subject {
    bool (*shows)(const struct scenario *scenario);
    uint64_t num_asked;
    uint64_t num_allowed;
};

static struct shrink shrink;
static uint32_t wanted_op;

static bool ask(void *context, const struct scenario *candidate)
{
    struct subject *subject = context;
    subject->num_asked++;
    return subject->shows(candidate);
}

static bool is_over(void *context)
{
    const struct subject *subject = context;
    return subject->num_asked >= subject->num_allowed;
}

static char *text_of(const struct scenario *scenario)
{
    char *text = NULL;
    size_t len = 0;
    FILE *stream = open_memstream(&text, &len);
    assert_non_null(stream);
    scenario_print(scenario, stream);
    assert_int_equal(fclose(stream), 0);
    return text;
}

static void parse(struct scenario *out, const char *target, const char *text)
{
    char error[SCENARIO_ERROR_MAX] = "";
    bool good = scenario_parse(out, target_find(target)->language,
                               (struct pal_view){(const uint8_t *)text, strlen(text)}, error);
    assert_string_equal(error, "");
    assert_true(good);
}

static void shrinks_to(bool (*shows)(const struct scenario *), const char *target, const char *from, const char *to)
{
    struct subject subject = {shows, 0, UINT64_MAX};
    memset(&shrink, 0, sizeof(shrink));
    shrink.shows = ask;
    shrink.is_over = is_over;
    shrink.context = &subject;
    parse(&shrink.best, target, from);
    assert_true(shows(&shrink.best));
    assert_true(shrink_run(&shrink));
    assert_int_equal(shrink.num_tried, subject.num_asked);
    char *text = text_of(&shrink.best);
    assert_string_equal(text, to);
    free(text);
}

/* number: field `name` of the `nth` step of this operation; -1 if there is no such step. For bytes, their number. */
static int64_t number(const struct scenario *scenario, const char *op, size_t nth, const char *name)
{
    for (size_t s = 0; s < scenario->num_steps; s++) {
        const struct operation *operation = &scenario->language->operations[scenario->steps[s].op];
        if (strcmp(operation->name, op) != 0 || nth-- > 0) {
            continue;
        }
        for (size_t f = 0; f < operation->num_fields; f++) {
            if (strcmp(operation->fields[f].name, name) == 0) {
                bool bytes = operation->fields[f].kind == FIELD_BYTES;
                return bytes ? scenario->steps[s].len[f] : scenario->steps[s].number[f];
            }
        }
    }
    return -1;
}

static const char long_text[] = "paldiff hmac 1\n"
                                "key reg=2 bytes=\"secret\"\n"
                                "digest key=2 alg=sha256 text=\"one\"\n"
                                "thread n=3\n"
                                "digest key=1 alg=sha512 text=\"xxxzyyy\" tail=17\n"
                                "poke reg=2 at=200 xor=9\n"
                                "drop\n"
                                "digest key=2 text=\"two\"\n";

static bool pokes_and_then_digests(const struct scenario *scenario)
{
    return number(scenario, "poke", 0, "at") >= 100 && number(scenario, "digest", 0, "key") >= 0;
}

static void operations_that_do_not_matter_go(void **state)
{
    (void)state;
    shrinks_to(pokes_and_then_digests, "hmac", long_text, "paldiff hmac 1\npoke at=100\ndigest\n");
}

static bool digests_a_z(const struct scenario *scenario)
{
    for (size_t s = 0; s < scenario->num_steps; s++) {
        struct pal_view text = scenario_field_bytes(scenario, &scenario->steps[s], 2);
        if (scenario->steps[s].op == 0 && text.len > 0 && memchr(text.data, 'z', text.len) != NULL) {
            return true;
        }
    }
    return false;
}

static void bytes_that_do_not_matter_go(void **state)
{
    (void)state;
    shrinks_to(digests_a_z, "hmac", long_text, "paldiff hmac 1\ndigest text=\"z\"\n");
}

static bool digests_three_bytes(const struct scenario *scenario)
{
    return number(scenario, "digest", 0, "text") >= 3;
}

static void bytes_whose_value_does_not_matter_are_plain(void **state)
{
    (void)state;
    shrinks_to(digests_three_bytes, "hmac", long_text, "paldiff hmac 1\ndigest text=\"aaa\"\n");
}

static bool sends_six_bytes(const struct scenario *scenario)
{
    int64_t sum = 0;
    for (size_t i = 0; number(scenario, "bytes", i, "text") >= 0; i++) {
        sum += number(scenario, "bytes", i, "text");
    }
    return sum >= 6;
}

static void steps_of_one_operation_merge(void **state)
{
    (void)state;
    shrinks_to(sends_six_bytes, "send",
               "paldiff send 1\nbytes text=\"ab\"\nbegin\nbytes text=\"cd\"\nbytes text=\"ef\"\n",
               "paldiff send 1\nbytes text=\"aaaaaa\"\n");
}

static bool pokes_the_key_it_uses(const struct scenario *scenario)
{
    int64_t key = number(scenario, "digest", 0, "key");
    return key >= 0 && key == number(scenario, "poke", 0, "reg");
}

static void a_register_that_two_steps_name_is_renumbered(void **state)
{
    (void)state;
    shrinks_to(pokes_the_key_it_uses, "hmac", "paldiff hmac 1\ndigest key=3\npoke reg=3\n",
               "paldiff hmac 1\ndigest\npoke\n");
}

static bool is_sha384_or_more(const struct scenario *scenario)
{
    return number(scenario, "digest", 0, "alg") >= 2;
}

static void a_choice_goes_as_near_to_its_fallback_as_it_can(void **state)
{
    (void)state;
    shrinks_to(is_sha384_or_more, "hmac", "paldiff hmac 1\ndigest alg=sha512\n", "paldiff hmac 1\ndigest alg=sha384\n");
}

static bool has_wanted_op(const struct scenario *scenario)
{
    for (size_t s = 0; s < scenario->num_steps; s++) {
        if (scenario->steps[s].op == wanted_op) {
            return true;
        }
    }
    return false;
}

/* one_round: any scenario, any of its operations as what must show. */
static void one_round(const struct target *target, uint32_t *seed)
{
    static struct scenario again;
    static uint8_t bytes[SCENARIO_INPUT_MAX];
    struct subject subject = {has_wanted_op, 0, UINT64_MAX};
    uint8_t input[200];
    for (size_t i = 0; i < sizeof(input); i++) {
        *seed = *seed * 1664525u + 1013904223u;
        input[i] = (uint8_t)(*seed >> 16);
    }
    memset(&shrink, 0, sizeof(shrink));
    shrink.shows = ask;
    shrink.is_over = is_over;
    shrink.context = &subject;
    scenario_decode(&shrink.best, target->language, (struct pal_view){input, sizeof(input)});
    wanted_op = shrink.best.steps[*seed % shrink.best.num_steps].op;
    assert_true(shrink_run(&shrink));
    assert_int_equal(shrink.best.num_steps, 1);
    assert_int_equal(shrink.best.steps[0].op, wanted_op);
    assert_int_equal(shrink_num_bytes(&shrink.best), 0);
    size_t len = scenario_encode(&shrink.best, bytes, sizeof(bytes));
    scenario_decode(&again, target->language, (struct pal_view){bytes, len});
    char *before = text_of(&shrink.best);
    char *after = text_of(&again);
    assert_string_equal(before, after);
    free(before);
    free(after);
}

static void one_operation_is_left_of_any_scenario(void **state)
{
    uint32_t seed = 7;
    (void)state;
    for (size_t t = 0; t < num_targets; t++) {
        for (size_t round = 0; round < ROUNDS; round++) {
            one_round(targets[t], &seed);
        }
    }
}

static void what_is_stopped_still_shows_it(void **state)
{
    (void)state;
    for (uint64_t allowed = 0; allowed < 40; allowed++) {
        struct subject subject = {pokes_and_then_digests, 0, allowed};
        memset(&shrink, 0, sizeof(shrink));
        shrink.shows = ask;
        shrink.is_over = is_over;
        shrink.context = &subject;
        parse(&shrink.best, "hmac", long_text);
        bool whole = shrink_run(&shrink);
        assert_true(pokes_and_then_digests(&shrink.best));
        assert_int_equal(subject.num_asked, whole ? shrink.num_tried : allowed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operations_that_do_not_matter_go),
        cmocka_unit_test(bytes_that_do_not_matter_go),
        cmocka_unit_test(bytes_whose_value_does_not_matter_are_plain),
        cmocka_unit_test(steps_of_one_operation_merge),
        cmocka_unit_test(a_register_that_two_steps_name_is_renumbered),
        cmocka_unit_test(a_choice_goes_as_near_to_its_fallback_as_it_can),
        cmocka_unit_test(one_operation_is_left_of_any_scenario),
        cmocka_unit_test(what_is_stopped_still_shows_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
