/* SPDX-License-Identifier: Apache-2.0
 * rules_test.c: claims about the rules on hand-made traces: each class of history is recognised, a difference breaks
 * the rule of its class and no other, equal worlds hold, and a rule with nothing to compare says so.
 */
#include "rules.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const uint8_t key_a[] = "key of world a, 32 bytes long...";
static const uint8_t key_b[] = "key of world b, 32 bytes long...";
static const uint8_t good_out[] = "a digest of twenty b";
static const uint8_t bad_out[] = "a digest of twenty c";

/* worlds: one engine's pair, and the second engine's. */
#define WORLDS 4u

static struct trace traces[WORLDS];
static struct evidence evidence;

static void reset(void)
{
    static const char *const engines[] = {"one", "two"};
    memset(traces, 0, sizeof(traces));
    for (size_t i = 0; i < WORLDS; i++) {
        traces[i].engine = engines[i / PAL_NUM_MODES];
        traces[i].mode = (enum pal_mode)(i % PAL_NUM_MODES);
    }
}

/* add: the same step in every world; returns its index. */
static size_t add(enum trace_role role, const uint8_t *key)
{
    for (size_t i = 0; i < WORLDS; i++) {
        struct trace_step *step = &traces[i].steps[traces[i].num_steps++];
        step->role = role;
        step->key = (struct pal_view){key, key != NULL ? 32 : 0};
        if (role == ROLE_MESSAGE || role == ROLE_FINISH) {
            step->out = (struct pal_view){good_out, 20};
            step->out_len = 20;
        }
    }
    return traces[0].num_steps - 1;
}

static void set_all(size_t step, enum trace_fact fact, uint32_t value)
{
    for (size_t i = 0; i < WORLDS; i++) {
        traces[i].steps[step].facts[fact] = value;
    }
}

static void set_thread(size_t step, uint32_t thread)
{
    for (size_t i = 0; i < WORLDS; i++) {
        traces[i].steps[step].thread = thread;
    }
}

static void set_status(size_t step, enum pal_status status)
{
    for (size_t i = 0; i < WORLDS; i++) {
        traces[i].steps[step].status = status;
        traces[i].steps[step].out_len = 0;
    }
}

static const struct rule *judge(const char *area, struct verdict *verdict, uint64_t *counts)
{
    const struct trace *const all[] = {&traces[0], &traces[1], &traces[2], &traces[3]};
    (void)add(ROLE_END, NULL);
    bool binds[NUM_RULES];
    evidence_init(&evidence, WORLDS, all);
    rules_binding(binds, area);
    return rules_judge(verdict, &evidence, binds, counts);
}

/* story: makes a past and returns the step that is compared. */
typedef size_t story_fn(void);

static size_t story_same(void)
{
    return add(ROLE_MESSAGE, key_a);
}

static size_t story_thread(void)
{
    set_thread(add(ROLE_MESSAGE, key_b), 1);
    return add(ROLE_MESSAGE, key_a);
}

static size_t story_after_failure(void)
{
    set_status(add(ROLE_MESSAGE, key_a), PAL_NO_SPACE);
    return add(ROLE_MESSAGE, key_a);
}

static size_t story_abandoned(void)
{
    (void)add(ROLE_START, key_a);
    return add(ROLE_MESSAGE, key_a);
}

static size_t story_edge_key(void)
{
    return add(ROLE_MESSAGE, NULL);
}

static size_t story_key_changed(void)
{
    size_t step = add(ROLE_MESSAGE, key_a);
    set_all(step, FACT_KEY_POKED, 1);
    return step;
}

static size_t story_alternate(void)
{
    (void)add(ROLE_MESSAGE, key_a);
    (void)add(ROLE_MESSAGE, key_b);
    return add(ROLE_MESSAGE, key_a);
}

static size_t story_key_content(void)
{
    (void)add(ROLE_MESSAGE, key_a);
    return add(ROLE_MESSAGE, key_b);
}

static size_t story_finish(void)
{
    (void)add(ROLE_START, key_a);
    (void)add(ROLE_UPDATE, NULL);
    return add(ROLE_FINISH, NULL);
}

static size_t sealed(void)
{
    size_t step = add(ROLE_MESSAGE, key_a);
    set_all(step, FACT_TAG_LEN, 16);
    set_all(step, FACT_NONCE_LEN, 12);
    set_all(step, FACT_TEXT_LEN, 5);
    set_all(step, FACT_NUM_AAD, 1);
    return step;
}

static size_t story_mismatch(void)
{
    size_t step = sealed();
    set_status(step, PAL_BAD_TAG);
    return sealed();
}

static size_t story_in_place(void)
{
    size_t step = sealed();
    set_all(step, FACT_IN_PLACE, 1);
    return step;
}

static size_t story_tag(void)
{
    size_t step = sealed();
    set_all(step, FACT_TAG_LEN, 12);
    return step;
}

static size_t story_nonce(void)
{
    size_t step = sealed();
    set_all(step, FACT_NONCE_LEN, 13);
    return step;
}

static size_t story_empty(void)
{
    size_t step = sealed();
    set_all(step, FACT_TEXT_LEN, 0);
    return step;
}

static size_t story_aad(void)
{
    size_t step = sealed();
    set_all(step, FACT_AAD_LEN, 3);
    return sealed();
}

static size_t story_direction(void)
{
    size_t step = sealed();
    set_all(step, FACT_SLOT, 1);
    return sealed();
}

static const struct {
    const char *area;
    const char *rule;
    story_fn *story;
} stories[] = {
    {"hmac", "hmac.same-digest", story_same},
    {"hmac", "hmac.same-digest", story_finish},
    {"hmac", "hmac.thread-isolation", story_thread},
    {"hmac", "hmac.after-failure", story_after_failure},
    {"hmac", "hmac.abandoned", story_abandoned},
    {"hmac", "hmac.edge-keys", story_edge_key},
    {"hmac", "hmac.key-changed-in-place", story_key_changed},
    {"hmac", "hmac.alternate", story_alternate},
    {"hmac", "hmac.key-by-content", story_key_content},
    {"aead", "aead.same-bytes", sealed},
    {"aead", "aead.open-after-mismatch", story_mismatch},
    {"aead", "aead.in-place", story_in_place},
    {"aead", "aead.tag-length", story_tag},
    {"aead", "aead.nonce", story_nonce},
    {"aead", "aead.empties", story_empty},
    {"aead", "aead.aad", story_aad},
    {"aead", "aead.direction", story_direction},
};

static void equal_worlds_hold(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(stories) / sizeof(stories[0]); i++) {
        struct verdict verdict;
        reset();
        (void)stories[i].story();
        assert_null(judge(stories[i].area, &verdict, NULL));
    }
}

static void a_difference_breaks_the_rule_of_its_class_only(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(stories) / sizeof(stories[0]); i++) {
        struct verdict verdict;
        char id[64] = "none";
        reset();
        size_t step = stories[i].story();
        traces[1].steps[step].out.data = bad_out;
        const struct rule *rule = judge(stories[i].area, &verdict, NULL);
        if (rule != NULL) {
            (void)snprintf(id, sizeof(id), "%s.%s", rule->area, rule->name);
            assert_int_equal(verdict.step, step);
            assert_ptr_equal(verdict.world, &traces[1]);
        }
        assert_string_equal(id, stories[i].rule);
        for (size_t r = 0; r < NUM_RULES; r++) {
            struct verdict other = {.outcome = VACUOUS};
            rules[r].judge(&other, &evidence, rules[r].argument);
            assert_true(&rules[r] == rule || !rule_binds(&rules[r], stories[i].area) || other.outcome != BROKEN);
        }
    }
}

static void one_sided_acceptance_is_a_difference(void **state)
{
    struct verdict verdict;
    (void)state;
    reset();
    size_t step = story_mismatch();
    traces[1].steps[step - 1].status = PAL_OK;
    assert_ptr_equal(judge("aead", &verdict, NULL), rule_find("aead.same-bytes"));
}

static void a_refusal_of_one_world_only_breaks_error_parity(void **state)
{
    struct verdict verdict;
    (void)state;
    reset();
    size_t step = story_same();
    traces[1].steps[step].status = PAL_BAD_ARGUMENT;
    assert_ptr_equal(judge("hmac", &verdict, NULL), rule_find("hmac.error-parity"));
}

static void an_engine_that_differs_in_both_modes_breaks_cross_engine(void **state)
{
    struct verdict verdict;
    (void)state;
    reset();
    size_t step = story_same();
    traces[0].steps[step].out.data = bad_out;
    traces[1].steps[step].out.data = bad_out;
    assert_ptr_equal(judge("hmac", &verdict, NULL), rule_find("hmac.cross-engine"));
}

static void a_faulted_update_taints_its_message_and_no_other(void **state)
{
    struct verdict verdict;
    (void)state;
    reset();
    (void)add(ROLE_START, key_a);
    size_t update = add(ROLE_UPDATE, NULL);
    size_t finish = add(ROLE_FINISH, NULL);
    traces[1].steps[update].facts[FACT_FAULTED] = 1;
    traces[1].steps[update].status = PAL_NO_MEMORY;
    traces[1].steps[update].facts[FACT_ATTEMPT_STATUS] = PAL_NO_MEMORY;
    traces[1].steps[finish].status = PAL_BAD_STATE;
    assert_null(judge("hmac", &verdict, NULL));
    traces[1].num_steps--;
    traces[0].num_steps--;
    traces[2].num_steps--;
    traces[3].num_steps--;
    size_t next = add(ROLE_MESSAGE, key_a);
    traces[1].steps[next].out.data = bad_out;
    assert_ptr_equal(judge("hmac", &verdict, NULL), rule_find("hmac.after-failure"));
}

static void a_hit_is_the_same_key_with_nothing_wrong_since(void **state)
{
    (void)state;
    reset();
    assert_false(history_is_hit(&traces[0], add(ROLE_MESSAGE, key_a)));
    assert_true(history_is_hit(&traces[0], add(ROLE_MESSAGE, key_a)));
    assert_false(history_is_hit(&traces[0], add(ROLE_MESSAGE, key_b)));
    (void)add(ROLE_DROP, NULL);
    assert_false(history_is_hit(&traces[0], add(ROLE_MESSAGE, key_b)));
    set_status(add(ROLE_MESSAGE, key_b), PAL_NO_SPACE);
    assert_false(history_is_hit(&traces[0], add(ROLE_MESSAGE, key_b)));
    assert_true(history_is_hit(&traces[0], add(ROLE_START, key_b)));
}

static void facts_that_must_be_zero_break_their_rule(void **state)
{
    static const struct {
        enum trace_fact fact;
        const char *rule;
    } cases[] = {
        {FACT_DIRT, "crypt.untouched"},       {FACT_ATTEMPT_DIRT, "crypt.untouched"},
        {FACT_FREED_KEYS, "crypt.key-wiped"}, {FACT_STALE_KEYS, "crypt.key-wiped"},
        {FACT_ALLOCATIONS, "crypt.no-alloc"}, {FACT_SETUPS, "crypt.one-setup"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct verdict verdict;
        reset();
        (void)add(ROLE_MESSAGE, key_a);
        size_t step = add(ROLE_MESSAGE, key_a);
        traces[1].steps[step].facts[cases[i].fact] = 2;
        assert_ptr_equal(judge("hmac", &verdict, NULL), rule_find(cases[i].rule));
        assert_int_equal(verdict.step, step);
    }
}

static void blocks_left_at_the_end_break_balance(void **state)
{
    struct verdict verdict;
    const struct trace *const all[] = {&traces[0], &traces[1], &traces[2], &traces[3]};
    (void)state;
    reset();
    (void)add(ROLE_MESSAGE, key_a);
    size_t end = add(ROLE_END, NULL);
    traces[2].steps[end].facts[FACT_LIVE_BLOCKS] = 1;
    evidence_init(&evidence, WORLDS, all);
    bool binds[NUM_RULES];
    rules_binding(binds, "hmac");
    assert_ptr_equal(rules_judge(&verdict, &evidence, binds, NULL), rule_find("crypt.balance"));
}

static void bytes_left_after_a_mismatch_break_mismatch_wipes(void **state)
{
    struct verdict verdict;
    (void)state;
    reset();
    size_t step = sealed();
    set_status(step, PAL_BAD_TAG);
    set_all(step, FACT_WIPE_LEN, 4);
    assert_ptr_equal(judge("aead", &verdict, NULL), rule_find("aead.mismatch-wipes"));
}

static void a_rule_with_nothing_to_compare_counts_nothing(void **state)
{
    struct verdict verdict;
    uint64_t counts[NUM_RULES] = {0};
    (void)state;
    reset();
    (void)story_same();
    assert_null(judge("hmac", &verdict, counts));
    assert_int_equal(counts[rule_find("hmac.same-digest") - rules], 2);
    assert_int_equal(counts[rule_find("hmac.abandoned") - rules], 0);
    assert_int_equal(counts[rule_find("crypt.no-alloc") - rules], 0);
}

static void a_trace_hash_sees_every_field(void **state)
{
    (void)state;
    reset();
    size_t step = add(ROLE_MESSAGE, key_a);
    uint64_t hash = trace_hash(&traces[0]);
    traces[0].steps[step].out.data = bad_out;
    assert_true(trace_hash(&traces[0]) != hash);
    traces[0].steps[step].out.data = good_out;
    assert_true(trace_hash(&traces[0]) == hash);
    for (size_t fact = 0; fact < NUM_FACTS; fact++) {
        traces[0].steps[step].facts[fact]++;
        assert_true(trace_hash(&traces[0]) != hash);
        traces[0].steps[step].facts[fact]--;
    }
    traces[0].steps[step].thread++;
    assert_true(trace_hash(&traces[0]) != hash);
}

static void ids_are_found_and_unique(void **state)
{
    (void)state;
    for (size_t i = 0; i < NUM_RULES; i++) {
        char id[64];
        (void)snprintf(id, sizeof(id), "%s.%s", rules[i].area, rules[i].name);
        assert_ptr_equal(rule_find(id), &rules[i]);
    }
    assert_null(rule_find("hmac.no-such-rule"));
    assert_null(rule_find("hmac"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_worlds_hold),
        cmocka_unit_test(a_difference_breaks_the_rule_of_its_class_only),
        cmocka_unit_test(one_sided_acceptance_is_a_difference),
        cmocka_unit_test(a_refusal_of_one_world_only_breaks_error_parity),
        cmocka_unit_test(an_engine_that_differs_in_both_modes_breaks_cross_engine),
        cmocka_unit_test(a_faulted_update_taints_its_message_and_no_other),
        cmocka_unit_test(a_hit_is_the_same_key_with_nothing_wrong_since),
        cmocka_unit_test(facts_that_must_be_zero_break_their_rule),
        cmocka_unit_test(blocks_left_at_the_end_break_balance),
        cmocka_unit_test(bytes_left_after_a_mismatch_break_mismatch_wipes),
        cmocka_unit_test(a_rule_with_nothing_to_compare_counts_nothing),
        cmocka_unit_test(a_trace_hash_sees_every_field),
        cmocka_unit_test(ids_are_found_and_unique),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
