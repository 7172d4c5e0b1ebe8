/* SPDX-License-Identifier: Apache-2.0
 * kill_test.c: claims about what counts as a kill, and about counting: a report about the port does, one about the
 * suite does not; a rule that is switched off takes its own kills along and no others.
 */
#include "kill.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct {
    const char *report;
    enum kill_blame blame;
} reports[] = {
    {"", BLAME_NOBODY},
    {"==1==ERROR: AddressSanitizer: heap-use-after-free on address 0x60\n"
     "    #0 0x55 in memcpy /llvm/compiler-rt/lib/asan/asan_interceptors.cpp:10:5\n"
     "    #1 0x56 in lend /x/oracles/mutants_pool.c:20:5\n    #2 0x57 in play /x/targets/fuzz_pool.c:9:1\n"
     "SUMMARY: AddressSanitizer: heap-use-after-free mutants_pool.c:20:5 in lend\n",
     BLAME_PORT},
    {"==1==ERROR: AddressSanitizer: SEGV on unknown address\n    #0 0x57 in play /x/targets/fuzz_pool.c:9:1\n"
     "    #1 0x58 in lend /x/lib/pool/pool.c:9:1\n",
     BLAME_SUITE},
    {"==1==WARNING: MemorySanitizer: use-of-uninitialized-value\n    #0 0x57 in judge /x/oracles/judges_send.c:9:1\n",
     BLAME_PORT},
    {"==1==ERROR: AddressSanitizer: use-after-poison on address 0x60\n    #0 0x57 in play /x/targets/fuzz_pool.c:9:1\n",
     BLAME_PORT},
    {"==1==ERROR: AddressSanitizer: heap-buffer-overflow\n    #0 0x57 in judge /x/oracles/judges_send.c:9:1\n"
     "SUMMARY: AddressSanitizer: heap-buffer-overflow\n",
     BLAME_SUITE},
    {"==1==ERROR: AddressSanitizer: stack-overflow\n    #0 0x57 in EVP_MAC_init /e/openssl/crypto/evp/mac.c:1\n"
     "    #1 0x58 in digest /x/lib/crypt/hmac_cached.c:9:1\n",
     BLAME_PORT},
    {"/x/lib/send/queue.c:12:3: runtime error: signed integer overflow\n", BLAME_PORT},
    {"/x/targets/arena.c:12:3: runtime error: index 9 out of bounds\n", BLAME_SUITE},
    {"==1== ERROR: libFuzzer: deadly signal\n    #0 0x55 in send /x/lib/send/send.c:3:1\n", BLAME_NOBODY},
    {"==1== ERROR: libFuzzer: out-of-memory\n    #0 0x55 in send /x/lib/send/send.c:3:1\n", BLAME_NOBODY},
    {"play: /x/lib/pool/pool.c:3: lend: Assertion `num > 0' failed.\n", BLAME_END},
    {"==1==ERROR: AddressSanitizer: heap-use-after-free on address 0x60\n    #0 0x55  (/x/fuzz_pool+0x55)\n",
     BLAME_NOBODY},
    {"paldiff: a port waits for ever\n==1== ERROR: libFuzzer: deadly signal\n", BLAME_END},
    {"play: /x/targets/arena.c:3: take: Assertion `num > 0' failed.\n", BLAME_NOBODY},
};

static void a_report_is_about_the_innermost_source_of_ours(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(reports) / sizeof(reports[0]); i++) {
        char summary[KILL_TEXT_MAX];
        enum kill_blame blame = kill_blame_of(reports[i].report, summary);
        if (blame != reports[i].blame) {
            (void)fprintf(stderr, "got %d, want %d: %s\n", (int)blame, (int)reports[i].blame, reports[i].report);
            fail();
        }
    }
}

static void a_summary_is_taken(void **state)
{
    char summary[KILL_TEXT_MAX];
    (void)state;
    (void)kill_blame_of(reports[1].report, summary);
    assert_string_equal(summary, "AddressSanitizer: heap-use-after-free mutants_pool.c:20:5 in lend");
}

enum { FIRST, SECOND, THIRD };

/* board: three mutants: one that two rules see, one that one sees, one that only a sanitizer sees. */
static void fill(struct kill_board *board, struct kill kills[3], const struct mutant *mutant)
{
    memset(kills, 0, 3 * sizeof(*kills));
    for (size_t i = 0; i < 3; i++) {
        kills[i].mutant = mutant;
        kills[i].fired = 1;
        kills[i].witness_rule = NUM_RULES;
    }
    kills[FIRST].inputs[0] = 2;
    kills[FIRST].inputs[1] = 1;
    kills[FIRST].witness_rule = 1;
    kills[SECOND].inputs[1] = 1;
    kills[SECOND].witness_rule = 1;
    kills[THIRD].crashes = 1;
    *board = (struct kill_board){.num = 3, .kills = kills};
}

static void a_rule_that_is_off_takes_its_own_kills_along(void **state)
{
    struct kill *kills = calloc(3, sizeof(*kills));
    struct kill_board board;
    struct mutant mutant = {.name = "x_y", .area = "x", .rule = kill_rule_id(1)};
    (void)state;
    assert_non_null(kills);
    fill(&board, kills, &mutant);
    assert_int_equal(kill_rate_replay(&board).num, 3);
    assert_int_equal(kill_rate_without(&board, 0).num, 3);
    assert_int_equal(kill_rate_without(&board, 1).num, 2);
    assert_int_equal(kill_rate_sanitizers(&board).num, 1);
    assert_false(kill_only(&kills[FIRST], 1));
    assert_true(kill_only(&kills[SECOND], 1));
    free(kills);
}

static void own_is_the_rule_of_the_row_on_the_witness(void **state)
{
    struct kill *kills = calloc(3, sizeof(*kills));
    struct kill_board board;
    char id[64];
    (void)state;
    (void)snprintf(id, sizeof(id), "%s", kill_rule_id(1));
    struct mutant mutant = {.name = "x_y", .area = "x", .rule = id};
    assert_non_null(kills);
    fill(&board, kills, &mutant);
    assert_true(kill_own(&kills[FIRST]));
    assert_false(kill_own(&kills[THIRD]));
    kills[FIRST].witness_rule = 0;
    assert_false(kill_own(&kills[FIRST]));
    kills[SECOND].fired = 0;
    assert_false(kill_own(&kills[SECOND]));
    free(kills);
}

static void a_failure_is_never_a_kill(void **state)
{
    struct kill *kills = calloc(3, sizeof(*kills));
    struct kill_board board;
    char id[64];
    (void)state;
    (void)snprintf(id, sizeof(id), "%s", kill_rule_id(1));
    struct mutant mutant = {.name = "x_y", .area = "x", .rule = id};
    assert_non_null(kills);
    fill(&board, kills, &mutant);
    kills[FIRST].failed = true;
    assert_false(kill_own(&kills[FIRST]));
    assert_false(kill_replayed(&kills[FIRST]));
    assert_string_equal(kill_by(&kills[FIRST]), "");
    assert_int_equal(kill_rate_replay(&board).num, 2);
    free(kills);
}

static void a_control_holds_only_when_it_was_played_and_nothing_was_seen(void **state)
{
    struct kill *control = calloc(1, sizeof(*control));
    (void)state;
    assert_non_null(control);
    control->witness_rule = NUM_RULES;
    assert_false(kill_held(control));
    control->plays = 5;
    assert_true(kill_held(control));
    control->inputs[3] = 1;
    assert_false(kill_held(control));
    control->inputs[3] = 0;
    control->crashes = 1;
    assert_false(kill_held(control));
    free(control);
}

static void trials_that_found_nothing_are_censored(void **state)
{
    struct kill *kills = calloc(3, sizeof(*kills));
    struct kill_board board;
    struct mutant mutant = {.name = "x_y", .area = "x", .rule = ""};
    double median = 0;
    double max = 0;
    (void)state;
    assert_non_null(kills);
    fill(&board, kills, &mutant);
    for (size_t i = 0; i < 3; i++) {
        kills[i].num_trials = 1;
        kills[i].trials[0] = (struct kill_trial){.killed = i < 2, .executions = 10 * (i + 1)};
    }
    assert_true(kill_median(&median, &board, NULL, false, &max));
    assert_true(median > 19.9 && median < 20.1 && max > 19.9 && max < 20.1);
    kills[SECOND].trials[0].killed = false;
    assert_false(kill_median(&median, &board, NULL, false, NULL));
    /* What failed says nothing, neither that it was found nor that it was not. */
    kills[SECOND].trials[0].failed = true;
    kills[THIRD].trials[0].failed = true;
    assert_true(kill_median(&median, &board, NULL, false, NULL));
    free(kills);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_report_is_about_the_innermost_source_of_ours),
        cmocka_unit_test(a_summary_is_taken),
        cmocka_unit_test(a_rule_that_is_off_takes_its_own_kills_along),
        cmocka_unit_test(own_is_the_rule_of_the_row_on_the_witness),
        cmocka_unit_test(a_failure_is_never_a_kill),
        cmocka_unit_test(a_control_holds_only_when_it_was_played_and_nothing_was_seen),
        cmocka_unit_test(trials_that_found_nothing_are_censored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
