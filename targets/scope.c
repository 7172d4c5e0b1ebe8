/* SPDX-License-Identifier: Apache-2.0
 * scope.c: a port that does not have what a rule is about is excused from it, and that is told; it never passes.
 */
#include "scope.h"

#include "judges.h"
#include "shim.h"

#include <string.h>

struct scope scope_of(const struct pal_port *port, bool process)
{
    return (struct scope){.env_random = port->env_random,
                          .env_clock = port->env_clock,
                          .caches_hmac = port->hmac[PAL_REUSED] != NULL,
                          .caches_aead = port->aead[PAL_REUSED] != NULL,
                          .process = process};
}

const char *scope_excuse(const struct scope *scope, const struct target *target, size_t rule)
{
    if (scope->process && shim_hides(rule) != NULL) {
        return shim_hides(rule);
    }
    bool caching =
        rules[rule].judge == judge_class || rules[rule].judge == judge_no_alloc || rules[rule].judge == judge_one_setup;
    bool scripted = rules[rule].judge == judge_tap || rules[rule].judge == judge_size;
    if (strcmp(target->name, "hmac") == 0 && caching && !scope->caches_hmac) {
        return "the port has no cached hmac contexts";
    }
    if (strcmp(target->name, "aead") == 0 && caching && !scope->caches_aead) {
        return "the port has no cached aead contexts";
    }
    if (strcmp(target->name, "token") == 0 && scripted) {
        return "it is about the suite's own scripted engine";
    }
    bool tls = strcmp(target->name, "tls") == 0;
    bool wire = rules[rule].judge == judge_token;
    if (tls && !scope->env_random && (wire || rule == RULE_tls_no_random)) {
        return "the port does not take its randomness from the environment";
    }
    if (tls && !scope->env_clock && wire) {
        return "the port does not take its time from the environment";
    }
    return NULL;
}
