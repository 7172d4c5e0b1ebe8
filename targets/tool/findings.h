/* SPDX-License-Identifier: Apache-2.0
 * findings.h: what broke, for machines: JSON, JUnit and SARIF 2.1.0 from one description. `paldiff run` and `paldiff
 * replay` fill it in; nothing here plays or judges. All strings are borrowed.
 */
#ifndef PALDIFF_FINDINGS_H
#define PALDIFF_FINDINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cJSON;

#define FINDING_DETAILS_MAX 12u

/* finding: `kind` is rule or one of findings_sarif.c's ends (crash, timeout, oom, leak, killed, startup, ...); NULL
 * when all is well. The rest may be NULL or "". */
struct finding {
    const char *kind;
    const char *rule; /* its id, "send.same-stream"; with step, got and want */
    uint64_t step;    /* from 1 */
    const char *got;
    const char *want;
    const char *summary;                      /* one line: the sanitizer's, or what the process said last */
    const char *details[FINDING_DETAILS_MAX]; /* lines; NULL ends them */
    const char *file;                         /* the input */
    const char *command;                      /* that replays it */
};

/* findings_case: one thing that was checked: a target in a build, or an input. */
struct findings_case {
    const char *name;      /* unique in its target: "address", or the input's path */
    const char *target;    /* "send" */
    const char *sanitizer; /* address, memory, thread, none */
    const char *mutant;    /* NULL for none */
    const char *skipped;   /* why it did not run; NULL if it did */
    double seconds;
    struct finding finding;
};

/* findings: `command` is what was run, for example "paldiff run". */
struct findings {
    const char *command;
    size_t num;
    const struct findings_case *cases;
};

/* finding_fingerprint: the same for the same rule (or kind of end) of the same target and mutant, whatever the input,
 * seed, machine or line number. 16 hexadecimal digits. */
void finding_fingerprint(char out[17], const struct findings_case *one);

/* finding_json: rule, step, got, want, kind, file, replay, summary, details, target, sanitizer, mutant, fingerprint;
 * null for what is not known. The caller's to delete; NULL when there is no finding. */
struct cJSON *finding_json(const struct findings_case *one);

/* findings_json: {"command", "cases", "skipped", "findings": [...]}; the caller's to delete. */
struct cJSON *findings_json(const struct findings *findings);

/* findings_write_junit, _sarif: the whole file or none of it; false, with a line on stderr. */
bool findings_write_junit(const struct findings *findings, const char *path);
bool findings_write_sarif(const struct findings *findings, const char *path);

#endif
