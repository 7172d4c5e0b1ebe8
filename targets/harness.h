/* SPDX-License-Identifier: Apache-2.0
 * harness.h: what every way of running a target needs: opening a stage, proving that the alarm rings, loading an input,
 * and saying what broke. Used by the fuzz entry and by the paldiff tool alike.
 */
#ifndef PALDIFF_HARNESS_H
#define PALDIFF_HARNESS_H

#include "mutants.h"
#include "target.h"

/* Exit codes, the same everywhere. */
enum {
    EXIT_HELD = 0,        /* all held */
    EXIT_BROKEN = 1,      /* a rule is broken */
    EXIT_USAGE = 2,       /* a wrong option, target or mutant */
    EXIT_SUITE = 3,       /* the suite itself, or the build, failed */
    EXIT_NOTHING_RAN = 4, /* no input was executed */
    EXIT_SKIPPED = 89     /* one case does not apply here */
};

/* harness_mutant: the port that --mutant NAME asks for; NULL name gives NULL. False, with a line on stderr, when there
 * is no such mutant for this target. */
bool harness_mutant(const struct pal_port **out, const struct target *target, const char *name);

/* harness_self_test: plays a pair known to be equal (the control mutant) and one known to differ, each twice; false,
 * with a line on stderr, unless exactly the second is flagged and both replay exactly. */
bool harness_self_test(const struct target *target);

/* harness_target_of: the target of an input: the one that a text names, else `wanted` unless that is "", else the one
 * that the path names (a folder <target> or <target>-<sanitizer>). NULL when none is known. */
const struct target *harness_target_of(const char *path, struct pal_view input, const char *wanted);

/* harness_load: an input, text or bytes, into stage->scenario. `name` is for the line on stderr when it is refused. */
bool harness_load(struct stage *stage, const char *name, struct pal_view input);

/* harness_read: a whole file; *out_data is the caller's to free. False, with a line on stderr naming it. */
bool harness_read(const char *path, uint8_t **out_data, size_t *out_len);

/* HARNESS_FILE_MAX: a larger input file is refused. */
#define HARNESS_FILE_MAX (1024u * 1024u)

/* harness_report: one line "rule ... target ... step ... got ... want ...", then the rule's sentence, the step,
 * engines, compiler and sanitizer. */
void harness_report(FILE *out, const struct stage *stage, const struct rule *rule, const struct verdict *verdict);

/* harness_print_stats: the line that `paldiff run` reads: "paldiff-stats plays=N steps=N compared=N reached=N". */
void harness_print_stats(FILE *out, const struct stage *stage);

#endif
