/* SPDX-License-Identifier: Apache-2.0
 * guard_test.c: claims that a guarded play that crashes, hangs or exits is an answer, that the plays after it are
 * answered by a new child, and that answers are those of a play without a guard. The target here ends its process on
 * purpose.
 */
#include "guard.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* The target's first field says how the play ends. */
enum { PLAY_WELL, PLAY_ABORT, PLAY_HANG, PLAY_EXIT, PLAY_SEGV };

static const char *const end_names[] = {"well", "abort", "hang", "exit", "segv"};
static const struct operation operations[] = {
    {"play", "ends", 1, 1, {{"how", FIELD_CHOICE, PLAY_SEGV, 0, end_names, false}}}};
static const struct language language = {"hmac", 1, 1, operations};

static void play(struct world worlds[], size_t num_worlds, struct actors *actors, const struct scenario *scenario)
{
    (void)actors;
    switch (scenario->steps[0].number[0]) {
    case PLAY_ABORT:
        (void)fputs("some words\n/a/b/file.c:1: (/c/d) the last words\n\n", stderr);
        abort();
    case PLAY_HANG:
        (void)sleep(60);
        break;
    case PLAY_EXIT:
        _exit(7);
    case PLAY_SEGV:
        (void)signal(SIGSEGV, SIG_DFL); /* a sanitizer would have words of its own */
        (void)raise(SIGSEGV);
        break;
    default:
        break;
    }
    for (size_t w = 0; w < num_worlds; w++) {
        worlds[w].trace.num_steps = 1;
        memset(&worlds[w].trace.steps[0], 0, sizeof(worlds[w].trace.steps[0]));
        worlds[w].trace.steps[0].role = ROLE_END;
    }
}

static struct target target;
static struct scenario scenario;
static struct guard_answer answer;

static void play_so(struct guard *guard, uint32_t how)
{
    memset(&scenario, 0, sizeof(scenario));
    scenario.language = &language;
    scenario.num_steps = 1;
    scenario.steps[0].number[0] = how;
    guard_play(guard, &scenario, &answer);
}

static int set_up(void **state)
{
    (void)state;
    target = *target_find("hmac");
    target.language = &language;
    target.play = play;
    return 0;
}

static void a_crash_is_an_answer_and_the_next_play_is_answered(void **state)
{
    struct guard guard;
    (void)state;
    guard_init(&guard, &target, NULL, 20);
    guard.quiet = true;
    for (size_t round = 0; round < 3; round++) {
        play_so(&guard, PLAY_ABORT);
        assert_int_equal(answer.end, GUARD_CRASHED);
        assert_non_null(strstr(answer.text, "signal 6"));
        assert_non_null(strstr(answer.text, ": file.c:1: (d) the last words"));
        play_so(&guard, PLAY_SEGV);
        assert_int_equal(answer.end, GUARD_CRASHED);
        assert_non_null(strstr(answer.text, "signal 11"));
        play_so(&guard, PLAY_EXIT);
        assert_int_equal(answer.end, GUARD_CRASHED);
        assert_non_null(strstr(answer.text, "exit code 7"));
        play_so(&guard, PLAY_WELL);
        assert_int_equal(answer.end, GUARD_HELD);
    }
    assert_true(guard_deinit(&guard));
}

static void a_hang_is_an_answer_and_the_next_play_is_answered(void **state)
{
    struct guard guard;
    (void)state;
    guard_init(&guard, &target, NULL, 1);
    guard.quiet = true;
    play_so(&guard, PLAY_HANG);
    assert_int_equal(answer.end, GUARD_LATE);
    play_so(&guard, PLAY_WELL);
    assert_int_equal(answer.end, GUARD_HELD);
    assert_true(guard_deinit(&guard));
}

static void two_guards_end_in_either_order(void **state)
{
    struct guard guards[2];
    (void)state;
    for (size_t first = 0; first < 2; first++) {
        for (size_t i = 0; i < 2; i++) {
            guard_init(&guards[i], &target, NULL, 20);
            play_so(&guards[i], PLAY_WELL);
            assert_int_equal(answer.end, GUARD_HELD);
        }
        assert_true(guard_deinit(&guards[first]));
        assert_true(guard_deinit(&guards[1 - first]));
    }
}

static void a_mutant_that_is_not_the_targets_is_no_crash(void **state)
{
    struct guard guard;
    (void)state;
    guard_init(&guard, &target, "no_such_mutant", 20);
    guard.quiet = true;
    play_so(&guard, PLAY_WELL);
    assert_int_equal(answer.end, GUARD_FAILED);
    assert_true(guard_deinit(&guard));
}

static void ends_are_told_apart(void **state)
{
    static struct guard_answer first;
    struct guard guard;
    (void)state;
    guard_init(&guard, &target, NULL, 20);
    guard.quiet = true;
    play_so(&guard, PLAY_ABORT);
    first = answer;
    play_so(&guard, PLAY_ABORT);
    assert_true(guard_same(&first, &answer));
    play_so(&guard, PLAY_SEGV);
    assert_false(guard_same(&first, &answer));
    play_so(&guard, PLAY_WELL);
    assert_false(guard_same(&first, &answer));
    first = answer;
    assert_true(guard_same(&first, &answer));
    first.end = answer.end = GUARD_RULE;
    assert_true(guard_same(&first, &answer));
    first.rule = answer.rule + 1;
    assert_false(guard_same(&first, &answer));
    assert_true(guard_deinit(&guard));
}

/* unguarded: the same scenario in this process. Comes last: from then on there are threads here. */
static void answers_are_those_of_a_play_without_a_guard(void **state)
{
    static const char text[] = "paldiff hmac 1\ndigest\npoke\ndigest\n";
    static struct guard_answer here;
    static struct scenario parsed;
    const struct target *hmac = target_find("hmac");
    char error[SCENARIO_ERROR_MAX];
    (void)state;
    assert_true(
        scenario_parse(&parsed, hmac->language, (struct pal_view){(const uint8_t *)text, sizeof(text) - 1}, error));
    for (size_t i = 0; i < 2; i++) {
        struct guard guard;
        guard_init(&guard, hmac, "hmac_pointer_compare", 20);
        guard.here = i == 1;
        guard_play(&guard, &parsed, i == 1 ? &here : &answer);
        assert_true(guard_deinit(&guard));
    }
    assert_int_equal(answer.end, GUARD_RULE);
    assert_string_equal(rules[answer.rule].name, "key-changed-in-place");
    assert_int_equal(answer.step, 3);
    assert_memory_equal(&answer, &here, sizeof(answer));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_crash_is_an_answer_and_the_next_play_is_answered),
        cmocka_unit_test(a_hang_is_an_answer_and_the_next_play_is_answered),
        cmocka_unit_test(two_guards_end_in_either_order),
        cmocka_unit_test(a_mutant_that_is_not_the_targets_is_no_crash),
        cmocka_unit_test(ends_are_told_apart),
        cmocka_unit_test(answers_are_those_of_a_play_without_a_guard),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
