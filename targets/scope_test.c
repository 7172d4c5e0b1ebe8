/* SPDX-License-Identifier: Apache-2.0
 * scope_test.c: claims about which rules say something about a port: what it does not have excuses it from the rules
 * about that, and from no others.
 */
#include "scope.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static const struct scope all = {true, true, true, true, false};

/* num_excused: of the rules that bind the target. */
static size_t num_excused(const struct scope *scope, const struct target *target)
{
    size_t num = 0;
    for (size_t r = 0; r < NUM_RULES; r++) {
        num += rule_binds(&rules[r], target->name) && scope_excuse(scope, target, r) != NULL ? 1 : 0;
    }
    return num;
}

static void a_port_that_has_all_is_excused_from_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < num_targets; i++) {
        if (targets[i] != &target_token) {
            assert_int_equal(num_excused(&all, targets[i]), 0);
        }
    }
    assert_non_null(scope_excuse(&all, &target_token, RULE_script_tap));
}

static void what_is_missing_excuses_from_its_rules_alone(void **state)
{
    static const struct {
        struct scope scope;
        const struct target *target;
        size_t rule;
        bool excused;
    } cases[] = {
        {{false, true, true, true, false}, &target_tls, RULE_token_same_bytes, true},
        {{false, true, true, true, false}, &target_tls, RULE_tls_same_wire, true},
        {{false, true, true, true, false}, &target_tls, RULE_tls_no_random, true},
        {{false, true, true, true, false}, &target_tls, RULE_token_no_bleed, false},
        {{false, true, true, true, false}, &target_tls, RULE_tls_authentic, false},
        {{false, true, true, true, false}, &target_token, RULE_token_same_bytes, false},
        {{true, false, true, true, false}, &target_tls, RULE_tls_same_wire, true},
        {{true, false, true, true, false}, &target_tls, RULE_tls_no_random, false},
        {{true, true, false, true, false}, &target_hmac, RULE_crypt_one_setup, true},
        {{true, true, false, true, false}, &target_hmac, RULE_crypt_balance, false},
        {{true, true, false, true, false}, &target_aead, RULE_crypt_one_setup, false},
        {{true, true, true, false, false}, &target_aead, RULE_crypt_one_setup, true},
        {{true, true, true, true, true}, &target_send, RULE_send_no_heap, true},
        {{true, true, true, true, true}, &target_send, RULE_send_same_stream, false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *excuse = scope_excuse(&cases[i].scope, cases[i].target, cases[i].rule);
        if ((excuse != NULL) != cases[i].excused) {
            fail_msg("case %zu, rule %s in %s: got %s, want %s", i, rules[cases[i].rule].name, cases[i].target->name,
                     excuse != NULL ? excuse : "no excuse", cases[i].excused ? "an excuse" : "none");
        }
    }
}

static void a_port_is_asked_for_what_it_declares(void **state)
{
    static const struct pal_hmac_ops hmac;
    const struct pal_port port = {.env_random = true, .hmac = {[PAL_REUSED] = &hmac}};
    const struct scope scope = scope_of(&port, false);
    (void)state;
    assert_true(scope.env_random && scope.caches_hmac);
    assert_false(scope.env_clock || scope.caches_aead || scope.process);
    assert_true(scope_of(&port, true).process);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_port_that_has_all_is_excused_from_nothing),
        cmocka_unit_test(what_is_missing_excuses_from_its_rules_alone),
        cmocka_unit_test(a_port_is_asked_for_what_it_declares),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
