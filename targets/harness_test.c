/* SPDX-License-Identifier: Apache-2.0
 * harness_test.c: claims that a target whose alarm does not ring, or that flags equal worlds, refuses to run.
 */
#include "harness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void every_target_proves_its_alarm(void **state)
{
    (void)state;
    for (size_t i = 0; i < num_targets; i++) {
        assert_true(harness_self_test(targets[i]));
    }
}

static void an_alarm_that_does_not_ring_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < num_targets; i++) {
        struct target silent = *targets[i];
        char control[64];
        (void)snprintf(control, sizeof(control), "%s_null", silent.name);
        silent.alarm_mutant = control;
        assert_false(harness_self_test(&silent));
    }
}

static void an_alarm_scenario_that_cannot_be_read_is_refused(void **state)
{
    (void)state;
    struct target broken = *targets[0];
    broken.alarm_scenario = "paldiff nothing 1\n";
    assert_false(harness_self_test(&broken));
}

/* play_wrongly: a target whose second world always differs. */
static void play_wrongly(struct world worlds[], size_t num_worlds, struct actors *actors,
                         const struct scenario *scenario)
{
    static const uint8_t wrong[] = {0};
    targets[0]->play(worlds, num_worlds, actors, scenario);
    worlds[1].trace.steps[0].out.data = wrong;
    worlds[1].trace.steps[0].out.len = 1;
}

static void a_target_that_flags_equal_worlds_is_refused(void **state)
{
    (void)state;
    struct target nervous = *targets[0];
    nervous.play = play_wrongly;
    assert_false(harness_self_test(&nervous));
}

/* play_differently: a target that keeps something from one play to the next. */
static void play_differently(struct world worlds[], size_t num_worlds, struct actors *actors,
                             const struct scenario *scenario)
{
    static uint32_t plays;
    targets[0]->play(worlds, num_worlds, actors, scenario);
    worlds[0].trace.steps[0].facts[FACT_LIVE_BLOCKS] += ++plays;
}

static void a_target_that_does_not_replay_exactly_is_refused(void **state)
{
    (void)state;
    struct target unsteady = *targets[0];
    unsteady.play = play_differently;
    assert_false(harness_self_test(&unsteady));
}

static void inputs_belong_to_the_target_that_they_or_their_path_name(void **state)
{
    static const char text[] = "paldiff aead 1\nseal\n";
    struct pal_view named = {(const uint8_t *)text, sizeof(text) - 1};
    struct pal_view bytes = {(const uint8_t *)"\1\2", 2};
    (void)state;
    assert_ptr_equal(harness_target_of("x/hmac/y", named, ""), target_find("aead"));
    assert_ptr_equal(harness_target_of("x/hmac/y", bytes, ""), target_find("hmac"));
    assert_ptr_equal(harness_target_of("crashes/aead-memory/crash-1", bytes, ""), target_find("aead"));
    assert_ptr_equal(harness_target_of("x/hmac/y", bytes, "aead"), target_find("aead"));
    assert_null(harness_target_of("x/myhmac/y", bytes, ""));
    assert_null(harness_target_of("x", bytes, "nothing"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_target_proves_its_alarm),
        cmocka_unit_test(an_alarm_that_does_not_ring_is_refused),
        cmocka_unit_test(an_alarm_scenario_that_cannot_be_read_is_refused),
        cmocka_unit_test(a_target_that_flags_equal_worlds_is_refused),
        cmocka_unit_test(a_target_that_does_not_replay_exactly_is_refused),
        cmocka_unit_test(inputs_belong_to_the_target_that_they_or_their_path_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
