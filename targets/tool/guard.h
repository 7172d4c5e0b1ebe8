/* SPDX-License-Identifier: Apache-2.0
 * guard.h: plays scenarios in a child process, so that one that crashes or hangs is an answer and not the end of the
 * tool. One child plays many scenarios; it is started when first needed and again after it was lost. The process that
 * has a guard must have no other threads when a child is started.
 */
#ifndef PALDIFF_GUARD_H
#define PALDIFF_GUARD_H

#include "harness.h"

#include <sys/types.h>

#define GUARD_TEXT_MAX 4096u

enum guard_end {
    GUARD_HELD,
    GUARD_RULE,    /* a rule is broken */
    GUARD_CRASHED, /* the child ended: a sanitizer's report, a signal, a failed assertion */
    GUARD_LATE,    /* it did not answer in its time */
    GUARD_FAILED   /* it could not be started; a line on stderr said why */
};

/* guard_answer: `rule`, `step`, `got`, `want` with GUARD_RULE; `hash` and `counts` with GUARD_HELD and GUARD_RULE. */
struct guard_answer {
    enum guard_end end;
    uint32_t rule; /* row in rules */
    uint64_t step; /* from 1 */
    uint64_t hash;
    int status;                 /* with GUARD_CRASHED: as waitpid gives it */
    uint64_t counts[NUM_RULES]; /* steps that each rule compared in this play */
    char got[VERDICT_TEXT_MAX];
    char want[VERDICT_TEXT_MAX];
    char text[GUARD_TEXT_MAX]; /* the report of a rule; how a child ended, in one line */
};

/* guard_subject: somebody else's port in place of a mutant. All but `excessive` are called in the child. */
struct guard_subject {
    void *context;
    const struct pal_port *(*open)(void *context);            /* NULL, with a line on stderr */
    void (*ready)(void *context, struct stage *stage);        /* before the first play */
    void (*played)(void *context, const struct stage *stage); /* after each; may end the child */
    bool (*excessive)(void *context, pid_t pid);              /* asked while a play lasts: whether to end the child */
};

struct guard {
    const struct target *target;
    const struct guard_subject *subject; /* NULL: the reference ports */
    const char *mutant;                  /* NULL for none */
    unsigned seconds;                    /* for one play */
    bool quiet;                          /* what a lost child said is not repeated on stderr */
    bool here;                           /* no child: for a debugger */
    struct stage *stage;
    pid_t pid; /* 0: none */
    int end;
    int words; /* what the child says on stderr */
};

/* guard_init: starts nothing yet. The strings are borrowed. */
void guard_init(struct guard *guard, const struct target *target, const char *mutant, unsigned seconds);

/* guard_play: plays once. */
void guard_play(struct guard *guard, const struct scenario *scenario, struct guard_answer *out);

/* guard_play_once: in a child of its own, which is quiet. */
void guard_play_once(struct guard_answer *out, const struct target *target, const char *mutant, unsigned seconds,
                     const struct scenario *scenario);

/* guard_deinit: ends the child in the orderly way, so that a leak checker has its say; false if it had something to
 * say, which is then on stderr. A quiet guard's child is just ended. */
bool guard_deinit(struct guard *guard);

/* guard_same: whether both plays came to the same end: the same rule, or the same crash. */
bool guard_same(const struct guard_answer *a, const struct guard_answer *b);

/* guard_describe: in a few words: "rule send.same-stream", "crash: SUMMARY ...". Returns `out`. */
const char *guard_describe(char out[GUARD_TEXT_MAX], const struct guard_answer *answer);

#endif
