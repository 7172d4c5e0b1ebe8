/* SPDX-License-Identifier: Apache-2.0
 * judges_test.c: each clause of a judge by itself: one fact, in one world, in one step, the first as well as the last,
 * breaks its rule there; where nothing is wrong the rule has compared something. Most were asked for by ci/mutate.
 */
#include "rules.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define WORLDS 3u
#define STEPS 3u
#define NO_FACT NUM_FACTS

static struct trace traces[WORLDS];
static struct evidence evidence;

struct setting {
    enum trace_fact fact;
    uint32_t value;
};

/* clause: steps with `good` hold; `bad` in one of them, or with NO_FACT the status, breaks the rule. */
struct clause {
    const char *rule;
    enum trace_role role;
    enum pal_status status;
    struct setting good[4];
    struct setting bad;
    bool not_in_first_world; /* it is what the others are compared with */
    bool holds_nothing;      /* only hits are counted */
};

#define KIND(kind)                                                                                                     \
    {                                                                                                                  \
        FACT_SEND_KIND, SEND_##kind                                                                                    \
    }
#define UNUSED                                                                                                         \
    {                                                                                                                  \
        NO_FACT, 0                                                                                                     \
    }

static const struct clause clauses[] = {
    {"send.error-parity",
     ROLE_OTHER,
     PAL_OK,
     {KIND(BEGIN), UNUSED, UNUSED, UNUSED},
     {NO_FACT, PAL_TOO_LONG},
     false,
     false},
    {"send.error-parity",
     ROLE_OTHER,
     PAL_OK,
     {KIND(BEGIN), UNUSED, UNUSED, UNUSED},
     {FACT_BAD_SEGMENT, 1},
     false,
     false},
    {"send.error-parity", ROLE_OTHER, PAL_OK, {KIND(BEGIN), UNUSED, UNUSED, UNUSED}, {FACT_TAKEN, 1}, true, false},
    {"send.order", ROLE_OTHER, PAL_WOULD_BLOCK, {KIND(QUEUED), UNUSED, UNUSED, UNUSED}, {FACT_TAKEN, 1}, false, false},
    {"send.order",
     ROLE_OTHER,
     PAL_WOULD_BLOCK,
     {KIND(QUEUED), UNUSED, UNUSED, UNUSED},
     {NO_FACT, PAL_OK},
     false,
     false},
    {"send.progress",
     ROLE_OTHER,
     PAL_OK,
     {KIND(RESUME), {FACT_TAKEN, 1}, {FACT_PROGRESS, 1}, UNUSED},
     {FACT_PROGRESS, 2},
     false,
     false},
    {"send.progress",
     ROLE_OTHER,
     PAL_OK,
     {KIND(QUEUED), {FACT_TAKEN, 1}, {FACT_PROGRESS, 1}, UNUSED},
     {FACT_PROGRESS, 0},
     false,
     false},
    {"send.same-stream",
     ROLE_OTHER,
     PAL_OK,
     {KIND(RESUME), {FACT_SEND_CLASS, SEND_CLASS_PLAIN}, {FACT_TAKEN, 4}, UNUSED},
     {FACT_WRONG_BYTES, 1},
     false,
     false},
    {"send.same-stream",
     ROLE_OTHER,
     PAL_OK,
     {KIND(RESUME), {FACT_SEND_CLASS, SEND_CLASS_PLAIN}, {FACT_TAKEN, 4}, UNUSED},
     {FACT_TAKEN, 5},
     false,
     false},
    {"send.same-stream",
     ROLE_OTHER,
     PAL_OK,
     {KIND(RESUME), {FACT_SEND_CLASS, SEND_CLASS_PLAIN}, {FACT_TAKEN, 4}, UNUSED},
     {NO_FACT, PAL_BROKEN_PIPE},
     false,
     false},
    {"send.retry",
     ROLE_OTHER,
     PAL_OK,
     {KIND(RESUME), {FACT_SEND_CLASS, SEND_CLASS_RETRY}, {FACT_TAKEN, 4}, UNUSED},
     {FACT_TAKEN, 3},
     false,
     false},
    {"send.error-after-progress",
     ROLE_OTHER,
     PAL_SYSTEM,
     {KIND(RESUME), {FACT_SEND_CLASS, SEND_CLASS_FAILURE}, {FACT_LIED, 1}, UNUSED},
     {NO_FACT, PAL_OK},
     false,
     false},
    {"send.bounded",
     ROLE_OTHER,
     PAL_OK,
     {KIND(RESUME), {FACT_CALLS, 1}, {FACT_CALLS_DUE, 1}, UNUSED},
     {FACT_CALLS, 2},
     false,
     false},
    {"send.bounded",
     ROLE_OTHER,
     PAL_OK,
     {KIND(RESUME), {FACT_CALLS, 1}, {FACT_CALLS_DUE, 1}, UNUSED},
     {FACT_IDLE_CALLS, 1},
     false,
     false},
    {"send.bounded",
     ROLE_OTHER,
     PAL_OK,
     {KIND(RESUME), {FACT_CALLS, 1}, {FACT_CALLS_DUE, 1}, UNUSED},
     {FACT_IDLE_WAITS, 1},
     false,
     false},
    {"send.no-heap",
     ROLE_OTHER,
     PAL_OK,
     {KIND(BEGIN), {FACT_ALLOCATIONS, 1}, UNUSED, UNUSED},
     {FACT_ALLOCATIONS, 2},
     false,
     false},
    {"send.no-heap", ROLE_OTHER, PAL_OK, {KIND(RESUME), UNUSED, UNUSED, UNUSED}, {FACT_ALLOCATIONS, 1}, false, false},
    {"pool.clear", ROLE_OTHER, PAL_OK, {{FACT_CLEARED, 1}, UNUSED, UNUSED, UNUSED}, {FACT_FREED_KEYS, 1}, false, false},
    {"pool.clear", ROLE_OTHER, PAL_OK, {{FACT_CLEARED, 1}, UNUSED, UNUSED, UNUSED}, {FACT_STALE_KEYS, 1}, false, false},
    {"pool.balance", ROLE_OTHER, PAL_OK, {UNUSED, UNUSED, UNUSED, UNUSED}, {FACT_MISCOUNTED, 1}, false, false},
    {"pool.reuse", ROLE_OTHER, PAL_OK, {{FACT_WARM, 1}, UNUSED, UNUSED, UNUSED}, {FACT_ALLOCATIONS, 1}, false, false},
    {"crypt.one-setup",
     ROLE_MESSAGE,
     PAL_OK,
     {{FACT_SETUPS, 1}, UNUSED, UNUSED, UNUSED},
     {FACT_SETUPS, 2},
     false,
     true},
    {"send.order",
     ROLE_OTHER,
     PAL_TIMED_OUT,
     {KIND(QUEUED), {FACT_EXPECTED, PAL_TIMED_OUT}, UNUSED, UNUSED},
     {FACT_EXPECTED, PAL_WOULD_BLOCK},
     false,
     false},
};

#define NUM_CLAUSES (sizeof(clauses) / sizeof(clauses[0]))

static void fill(const struct clause *clause)
{
    const struct trace *all[WORLDS];
    memset(traces, 0, sizeof(traces));
    for (size_t w = 0; w < WORLDS; w++) {
        traces[w].engine = "one";
        traces[w].mode = PAL_FRESH;
        traces[w].num_steps = STEPS;
        all[w] = &traces[w];
        for (size_t i = 0; i < STEPS; i++) {
            struct trace_step *step = &traces[w].steps[i];
            step->role = clause->role;
            step->status = clause->status;
            for (size_t g = 0; g < 4; g++) {
                if (clause->good[g].fact != NO_FACT) {
                    step->facts[clause->good[g].fact] = clause->good[g].value;
                }
            }
        }
    }
    evidence_init(&evidence, WORLDS, all);
}

static void spoil(const struct setting *bad, size_t world, size_t at)
{
    struct trace_step *step = &traces[world].steps[at];
    if (bad->fact == NO_FACT) {
        step->status = (enum pal_status)bad->value;
    } else {
        step->facts[bad->fact] = bad->value;
    }
}

static struct verdict judge(const char *id)
{
    struct verdict verdict = {.outcome = VACUOUS};
    const struct rule *rule = rule_find(id);
    assert_non_null(rule);
    rule->judge(&verdict, &evidence, rule->argument);
    return verdict;
}

static void equal_worlds_hold_and_something_was_compared(void **state)
{
    (void)state;
    for (size_t c = 0; c < NUM_CLAUSES; c++) {
        fill(&clauses[c]);
        struct verdict verdict = judge(clauses[c].rule);
        if (verdict.outcome != (clauses[c].holds_nothing ? VACUOUS : HELD)) {
            (void)fprintf(stderr, "clause %zu, %s: outcome %d\n", c, clauses[c].rule, (int)verdict.outcome);
            fail();
        }
    }
}

static void one_fact_in_any_world_and_step_breaks_the_rule_there(void **state)
{
    (void)state;
    for (size_t c = 0; c < NUM_CLAUSES; c++) {
        for (size_t w = clauses[c].not_in_first_world ? 1 : 0; w < WORLDS; w++) {
            for (size_t i = 0; i < STEPS; i++) {
                fill(&clauses[c]);
                spoil(&clauses[c].bad, w, i);
                struct verdict verdict = judge(clauses[c].rule);
                if (verdict.outcome != BROKEN || verdict.step != i) {
                    (void)fprintf(stderr, "clause %zu, %s, world %zu, step %zu: outcome %d, step %zu\n", c,
                                  clauses[c].rule, w, i, (int)verdict.outcome, verdict.step);
                    fail();
                }
            }
        }
    }
}

static void the_text_is_that_of_the_earliest_step(void **state)
{
    struct setting later = {FACT_PROGRESS, 9};
    const struct clause *clause = &clauses[5];
    (void)state;
    assert_string_equal(clause->rule, "send.progress");
    fill(clause);
    spoil(&clause->bad, 0, 0);
    spoil(&later, 0, 2);
    spoil(&later, 2, 1);
    struct verdict verdict = judge(clause->rule);
    assert_int_equal(verdict.step, 0);
    assert_string_equal(verdict.got, "2 bytes of progress");
    assert_string_equal(verdict.want, "1 bytes of progress");
}

static void blocks_left_are_reported_at_the_end(void **state)
{
    static const char *const ids[] = {"pool.balance", "send.balance", "crypt.balance"};
    const struct setting left = {FACT_LIVE_BLOCKS, 1};
    (void)state;
    for (size_t r = 0; r < 3; r++) {
        for (size_t w = 0; w < WORLDS; w++) {
            fill(&(struct clause){.good = {UNUSED, UNUSED, UNUSED, UNUSED}});
            spoil(&left, w, STEPS - 1);
            struct verdict verdict = judge(ids[r]);
            assert_int_equal(verdict.outcome, BROKEN);
            assert_int_equal(verdict.step, STEPS - 1);
        }
    }
}

static void equal_failures_are_compared_too(void **state)
{
    static const uint8_t key[] = "a key";
    const struct trace *all[] = {&traces[0], &traces[1]};
    (void)state;
    fill(&(struct clause){.role = ROLE_MESSAGE, .status = PAL_BAD_TAG, .good = {UNUSED, UNUSED, UNUSED, UNUSED}});
    traces[1].mode = PAL_REUSED;
    traces[0].num_steps = 1;
    traces[1].num_steps = 1;
    traces[0].steps[0].key = (struct pal_view){key, 5};
    traces[1].steps[0].key = (struct pal_view){key, 5};
    evidence_init(&evidence, 2, all);
    size_t compared = 0;
    for (size_t r = 0; r < NUM_RULES; r++) {
        struct verdict verdict = {.outcome = VACUOUS};
        if (strcmp(rules[r].area, "hmac") == 0) {
            rules[r].judge(&verdict, &evidence, rules[r].argument);
            assert_true(verdict.outcome != BROKEN);
            compared += strcmp(rules[r].name, "error-parity") != 0 && verdict.outcome == HELD ? verdict.compared : 0;
        }
    }
    assert_int_equal(compared, 1);
}

static void every_rule_that_broke_is_told(void **state)
{
    bool binds[NUM_RULES];
    bool broken[NUM_RULES];
    struct verdict verdict;
    const struct setting wrong = {FACT_WRONG_BYTES, 1};
    const struct setting idle = {FACT_IDLE_CALLS, 1};
    const struct setting told = {FACT_PROGRESS, 4};
    size_t num = 0;
    (void)state;
    fill(&clauses[7]);
    for (size_t w = 0; w < WORLDS; w++) {
        for (size_t i = 0; i < STEPS; i++) {
            spoil(&told, w, i);
        }
    }
    spoil(&wrong, 1, 1);
    spoil(&idle, 2, 2);
    rules_binding(binds, "send");
    rules_broken(broken, &evidence, binds);
    for (size_t r = 0; r < NUM_RULES; r++) {
        num += broken[r] ? 1 : 0;
    }
    assert_int_equal(num, 2);
    assert_true(broken[rule_find("send.same-stream") - rules]);
    assert_true(broken[rule_find("send.bounded") - rules]);
    assert_ptr_equal(rules_judge(&verdict, &evidence, binds, NULL), rule_find("send.same-stream"));
    rules_binding(binds, "pool");
    rules_broken(broken, &evidence, binds);
    assert_false(broken[rule_find("send.same-stream") - rules]);
}

static void compared_counts_each_step_once(void **state)
{
    static const uint8_t out[] = {1};
    (void)state;
    fill(&(struct clause){.role = ROLE_MESSAGE, .good = {UNUSED, UNUSED, UNUSED, UNUSED}});
    for (size_t w = 0; w < WORLDS; w++) {
        for (size_t i = 0; i < STEPS; i++) {
            traces[w].steps[i].out = (struct pal_view){out, 1};
            traces[w].steps[i].out_len = 1;
        }
    }
    assert_int_equal(evidence_compared(&evidence), STEPS);
    traces[1].steps[1].status = PAL_BAD_TAG;
    assert_int_equal(evidence_compared(&evidence), STEPS - 1);
}

static void a_hash_sees_every_bit_of_a_number(void **state)
{
    (void)state;
    fill(&clauses[0]);
    uint64_t hash = trace_hash(&traces[0]);
    for (uint32_t bit = 0; bit < 32; bit++) {
        traces[0].steps[1].facts[FACT_TAKEN] ^= 1u << bit;
        assert_true(trace_hash(&traces[0]) != hash);
        traces[0].steps[1].facts[FACT_TAKEN] ^= 1u << bit;
    }
    assert_true(trace_hash(&traces[0]) == hash);
}

static void views_differ_by_length_or_by_any_byte(void **state)
{
    static const uint8_t a[] = {1, 2};
    static const uint8_t b[] = {2, 2};
    (void)state;
    assert_true(views_equal((struct pal_view){a, 2}, (struct pal_view){a, 2}));
    assert_true(views_equal((struct pal_view){NULL, 0}, (struct pal_view){a, 0}));
    assert_false(views_equal((struct pal_view){a, 1}, (struct pal_view){a, 2}));
    assert_false(views_equal((struct pal_view){a, 1}, (struct pal_view){b, 1}));
    assert_false(views_equal((struct pal_view){a, 2}, (struct pal_view){b, 2}));
}

static void a_call_after_an_update_that_failed_is_after_a_failure(void **state)
{
    static const uint8_t key[] = "a key";
    static struct trace pair[2];
    uint8_t classes[TRACE_STEPS_MAX];
    (void)state;
    memset(pair, 0, sizeof(pair));
    for (size_t w = 0; w < 2; w++) {
        pair[w].num_steps = 3;
        pair[w].steps[0].role = ROLE_MESSAGE;
        pair[w].steps[1].role = ROLE_UPDATE;
        pair[w].steps[2].role = ROLE_MESSAGE;
        pair[w].steps[0].key = (struct pal_view){key, 5};
        pair[w].steps[2].key = (struct pal_view){key, 5};
    }
    history_classify(classes, &pair[0], &pair[1]);
    assert_int_equal(classes[2], HISTORY_SAME);
    pair[1].steps[1].status = PAL_BAD_STATE;
    history_classify(classes, &pair[0], &pair[1]);
    assert_int_equal(classes[2], HISTORY_AFTER_FAILURE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_worlds_hold_and_something_was_compared),
        cmocka_unit_test(one_fact_in_any_world_and_step_breaks_the_rule_there),
        cmocka_unit_test(the_text_is_that_of_the_earliest_step),
        cmocka_unit_test(blocks_left_are_reported_at_the_end),
        cmocka_unit_test(equal_failures_are_compared_too),
        cmocka_unit_test(every_rule_that_broke_is_told),
        cmocka_unit_test(compared_counts_each_step_once),
        cmocka_unit_test(a_hash_sees_every_bit_of_a_number),
        cmocka_unit_test(views_differ_by_length_or_by_any_byte),
        cmocka_unit_test(a_call_after_an_update_that_failed_is_after_a_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
