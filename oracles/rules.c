/* SPDX-License-Identifier: Apache-2.0
 * rules.c: the table of rules made from rules.def, evidence, and the choice of the first rule that broke.
 */
#include "rules.h"

#include "judges.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One small function per rule: the frame's name and the message are constant, values are printed before it is called.
 */
#define RULE(symbol, area, name, function, argument, sentence)                                                         \
    __attribute__((noinline, noreturn)) static void broken_##symbol(void)                                              \
    {                                                                                                                  \
        (void)fputs("rule broken: " area "." name "\n", stderr);                                                       \
        abort();                                                                                                       \
    }
#include "rules.def"
#undef RULE

const struct rule rules[NUM_RULES] = {
#define RULE(symbol, area, name, function, argument, sentence)                                                         \
    {area, name, sentence, function, argument, broken_##symbol},
#include "rules.def"
#undef RULE
};

void evidence_init(struct evidence *evidence, size_t num_traces, const struct trace *const traces[])
{
    const struct trace *fresh[PAIRS_MAX] = {0};
    memset(evidence, 0, sizeof(*evidence));
    evidence->num_traces = num_traces;
    for (size_t i = 0; i < num_traces; i++) {
        evidence->traces[i] = traces[i];
        for (size_t j = 0; j < num_traces; j++) {
            bool paired = traces[i]->engine == traces[j]->engine && traces[i]->mode == PAL_FRESH &&
                          traces[j]->mode == PAL_REUSED && traces[i]->num_steps == traces[j]->num_steps;
            if (paired && evidence->num_pairs < PAIRS_MAX) {
                struct pair *pair = &evidence->pairs[evidence->num_pairs];
                fresh[evidence->num_pairs++] = traces[i];
                pair->fresh = traces[i];
                pair->reused = traces[j];
                history_classify(pair->classes, pair->fresh, pair->reused);
            }
        }
    }
    if (evidence->num_pairs == PAIRS_MAX) {
        history_classify(evidence->cross_classes, fresh[0], fresh[1]);
    }
}

size_t evidence_compared(const struct evidence *evidence)
{
    size_t compared = 0;
    const struct trace *first = evidence->traces[0];
    for (size_t i = 0; i < first->num_steps; i++) {
        size_t agreeing = 0;
        for (size_t j = 0; j < evidence->num_traces; j++) {
            const struct trace_step *step = &evidence->traces[j]->steps[i];
            agreeing += trace_step_has_output(step) && step->status == PAL_OK ? 1 : 0;
        }
        compared += agreeing == evidence->num_traces ? 1 : 0;
    }
    return compared;
}

bool rule_binds(const struct rule *rule, const char *area)
{
    static const struct {
        const char *area;
        const char *rules;
    } shared[] = {{"hmac", "crypt"}, {"aead", "crypt"}, {"packets", "send"}, {"tls", "token"}, {"token", "script"}};
    bool binds = strcmp(rule->area, area) == 0;
    for (size_t i = 0; i < sizeof(shared) / sizeof(shared[0]); i++) {
        binds |= strcmp(shared[i].area, area) == 0 && strcmp(shared[i].rules, rule->area) == 0;
    }
    return binds;
}

const struct rule *rule_find(const char *id)
{
    for (size_t i = 0; i < NUM_RULES; i++) {
        size_t len = strlen(rules[i].area);
        if (strncmp(id, rules[i].area, len) == 0 && id[len] == '.' && strcmp(id + len + 1, rules[i].name) == 0) {
            return &rules[i];
        }
    }
    return NULL;
}

void rules_binding(bool out_binds[NUM_RULES], const char *area)
{
    for (size_t i = 0; i < NUM_RULES; i++) {
        out_binds[i] = rule_binds(&rules[i], area);
    }
}

void rules_broken(bool out_broken[NUM_RULES], const struct evidence *evidence, const bool binds[NUM_RULES])
{
    for (size_t i = 0; i < NUM_RULES; i++) {
        struct verdict verdict = {.outcome = VACUOUS};
        if (binds[i]) {
            rules[i].judge(&verdict, evidence, rules[i].argument);
        }
        out_broken[i] = verdict.outcome == BROKEN;
    }
}

const struct rule *rules_judge(struct verdict *out, const struct evidence *evidence, const bool binds[NUM_RULES],
                               uint64_t *counts)
{
    const struct rule *first = NULL;
    struct verdict verdict; /* texts are written when it is broken */
    for (size_t i = 0; i < NUM_RULES; i++) {
        if (!binds[i]) {
            continue;
        }
        verdict.outcome = VACUOUS;
        verdict.compared = 0;
        rules[i].judge(&verdict, evidence, rules[i].argument);
        if (counts != NULL) {
            counts[i] += verdict.compared;
        }
        if (verdict.outcome == BROKEN && (first == NULL || verdict.step < out->step)) {
            first = &rules[i];
            *out = verdict;
        }
    }
    return first;
}
