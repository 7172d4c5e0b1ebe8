/* SPDX-License-Identifier: Apache-2.0
 * run.h: `paldiff run`: one job per target and build. run_child.c starts a fuzz program and reads what it says,
 * run_report.c tells people and machines, tool_run.c decides who runs when and what the exit code is.
 */
#ifndef PALDIFF_RUN_H
#define PALDIFF_RUN_H

#include "harness.h"

#include <sys/types.h>

#define RUN_BUILDS_MAX 8u
#define RUN_PATH_MAX 4096u
#define RUN_LINE_MAX 4096u
#define RUN_TEXT_MAX 512u
#define RUN_DETAILS_MAX 8u

struct run_options {
    uint64_t seconds; /* per job; 0: no limit but `runs` */
    uint64_t runs;    /* per job; 0: no limit but `seconds` */
    uint64_t seed;
    uint64_t at_once;
    const char *mutant;
    const char *corpus;
    const char *report;
    bool from_empty; /* neither seeds nor corpus */
    bool json;
    char **engine_args; /* ended by NULL */
};

/* run_build: a build folder. `label` names it in paths: the sanitizer, with a number when there are several alike. */
struct run_build {
    char dir[RUN_PATH_MAX];
    char label[32];
    const char *sanitizer; /* address, memory, thread, none */
};

/* run_finding: why a child did not end well. `kind`: rule, crash, timeout, oom, leak, killed, startup; NULL for none.
 */
struct run_finding {
    const char *kind;
    char rule[RUN_TEXT_MAX]; /* with step, got, want: empty unless a rule broke */
    uint64_t step;
    char got[RUN_TEXT_MAX];
    char want[RUN_TEXT_MAX];
    char line[RUN_TEXT_MAX];                     /* the rule line as it was printed */
    char details[RUN_DETAILS_MAX][RUN_TEXT_MAX]; /* what stood under it: clause, world, engines, compiler */
    size_t num_details;
    char summary[RUN_TEXT_MAX]; /* the sanitizer's or engine's, or what the child said last */
    char file[RUN_PATH_MAX];    /* the input; empty if none was written */
};

/* run_job: `plays` and what follows it are known only if the child lived to print them (`has_stats`). */
struct run_job {
    const struct target *target;
    const struct run_build *build;
    uint32_t seed;
    enum { JOB_WAITING, JOB_RUNNING, JOB_ENDED } state;
    bool stopped;  /* by us, before its time */
    bool overdue;  /* it did not end by itself long after its time */
    bool log_full; /* its log could not be written */
    pid_t pid;
    int cpu; /* the one that it runs on; -1 for any */
    int pipe;
    FILE *log;
    double started;
    double seconds;
    char dir[RUN_PATH_MAX];     /* its work folder: log, new inputs, seeds */
    char crashes[RUN_PATH_MAX]; /* its artefacts; ends with a slash */
    char said[RUN_LINE_MAX];    /* the line being read */
    size_t said_len;
    bool in_details;
    uint64_t executions;
    uint64_t edges;
    uint64_t corpus;
    bool has_stats;
    uint64_t plays;
    uint64_t operations;
    uint64_t compared;
    uint64_t reached;
    struct run_finding finding;
};

struct run {
    struct run_options options;
    char report[RUN_PATH_MAX]; /* absolute */
    size_t num_builds;
    struct run_build builds[RUN_BUILDS_MAX];
    size_t num_jobs;
    struct run_job *jobs;
    bool failed; /* the suite itself; a line on stderr said why */
    int signal;  /* that ended the run; 0 for none */
    int exit_code;
};

/* run_now: seconds on a clock that only goes forward. */
double run_now(void);

/* run_path: a formatted path; false, with a line on stderr, when it is too long. */
__attribute__((format(printf, 2, 3))) bool run_path(char out[RUN_PATH_MAX], const char *format, ...);

/* run_make_dir: with its parents; false, with a line on stderr. */
bool run_make_dir(const char *path);
/* run_remove_dir: with what is in it. */
void run_remove_dir(const char *path);

/* run_child_start: prepares the job's folders and seeds, and starts its program; false, with a line on stderr. */
bool run_child_start(struct run *run, struct run_job *job);

/* run_child_read: takes what the child has written so far. */
void run_child_read(struct run_job *job);

/* run_child_ended: whether it is over; if so, everything is read, judged and cleaned up. */
bool run_child_ended(struct run_job *job);

/* run_child_stop: asks (SIGINT) or makes (SIGKILL) the child and all that it started end. */
void run_child_stop(const struct run_job *job, int signal_number);

/* run_report_table, _findings: for people. */
void run_report_table(FILE *out, const struct run *run);
void run_report_findings(FILE *out, const struct run *run);
/* run_report_verdict: one line; run_verdict: the same in one word. */
void run_report_verdict(FILE *out, const struct run *run);
const char *run_verdict(const struct run *run);

/* run_report_json: the report; NULL without memory. run_report_write: into fuzz.json; false, with a line on stderr. */
struct cJSON *run_report_json(const struct run *run);
bool run_report_write(const struct run *run);

#endif
