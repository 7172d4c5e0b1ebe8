/* SPDX-License-Identifier: Apache-2.0
 * rules.h: the rules as data, and the verdict of one rule on one scenario.
 * A rule is a pure function of traces: it does no I/O, never aborts, and does not know which world is trusted.
 */
#ifndef PALDIFF_RULES_H
#define PALDIFF_RULES_H

#include "history.h"
#include "trace.h"

#define WORLDS_MAX 8u
#define PAIRS_MAX 2u

/* pair: the two modes of one engine; `classes` from history_classify. */
struct pair {
    const struct trace *fresh;
    const struct trace *reused;
    uint8_t classes[TRACE_STEPS_MAX];
};

/* evidence: all that a rule may look at: the traces of one scenario, in any order of worlds. */
struct evidence {
    size_t num_traces;
    const struct trace *traces[WORLDS_MAX];
    size_t num_pairs;
    struct pair pairs[PAIRS_MAX];
    uint8_t cross_classes[TRACE_STEPS_MAX]; /* of the first two engines' fresh worlds */
};

/* evidence_init: borrows the traces. They play the same scenario. */
void evidence_init(struct evidence *evidence, size_t num_traces, const struct trace *const traces[]);

/* evidence_compared: steps whose output every world gave and that were compared in all of them. */
size_t evidence_compared(const struct evidence *evidence);

enum outcome { VACUOUS, HELD, BROKEN };

#define VERDICT_TEXT_MAX 96u

/* verdict: `compared` is how many steps the rule looked at; the rest has a meaning only when BROKEN. */
struct verdict {
    enum outcome outcome;
    size_t compared;
    size_t step;
    const struct trace *world; /* where it was seen */
    char got[VERDICT_TEXT_MAX];
    char want[VERDICT_TEXT_MAX];
};

struct rule {
    const char *area;
    const char *name;
    const char *sentence;
    void (*judge)(struct verdict *out, const struct evidence *evidence, uint32_t argument);
    uint32_t argument;
    /* broken: prints the id and aborts. A function of its own for each rule, so that crash grouping keeps them apart.
     */
    void (*broken)(void);
};

/* rules: in the order of rules.def. */
enum {
#define RULE(symbol, area, name, function, argument, sentence) RULE_##symbol,
#include "rules.def"
#undef RULE
    NUM_RULES
};

extern const struct rule rules[NUM_RULES];

/* rule_binds: whether the rule judges traces of this area. */
bool rule_binds(const struct rule *rule, const char *area);

/* rule_find: by id, "hmac.same-digest"; NULL if there is none. */
const struct rule *rule_find(const char *id);

/* rules_judge: the rule that broke at the earliest step, or NULL; *out is its verdict. `counts`, if not NULL, gets each
 * rule's number of compared steps added (NUM_RULES entries). */
const struct rule *rules_judge(struct verdict *out, const struct evidence *evidence, const bool binds[NUM_RULES],
                               uint64_t *counts);

/* rules_broken: every rule that broke, not only the first. */
void rules_broken(bool out_broken[NUM_RULES], const struct evidence *evidence, const bool binds[NUM_RULES]);

/* rules_binding: which rules bind the traces of this area. */
void rules_binding(bool out_binds[NUM_RULES], const char *area);

#endif
