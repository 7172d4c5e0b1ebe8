/* SPDX-License-Identifier: Apache-2.0
 * run.h: `paldiff run`: a job per target and build, or several with -j. run_builds.c finds the builds, run_child.c
 * starts a fuzz program and run_read.c reads what it says, run_progress.c tells while it lasts and run_report.c in the
 * end, tool_run.c decides who runs when and what the exit code is.
 */
#ifndef PALDIFF_RUN_H
#define PALDIFF_RUN_H

#include "harness.h"

#include <sys/types.h>

#define RUN_BUILDS_MAX 8u
#define RUN_PATH_MAX 4096u
#define RUN_WAIVED_MAX 64u
#define RUN_LINE_MAX 4096u
#define RUN_TEXT_MAX 512u
#define RUN_DETAILS_MAX 8u
#define RUN_JOBS_AT_ONCE_MAX 1024u

struct run_options {
    uint64_t seconds; /* per job; 0: no limit but `runs` */
    uint64_t runs;    /* per job; 0: no limit but `seconds` */
    uint64_t seed;
    uint64_t total_seconds; /* of the whole run, which `seconds` is worked out from; 0: `seconds` was given */
    uint64_t at_once;       /* 0: as many as there are processors, and one worker a job */
    const char *mutant;
    const char *shim;    /* a command: the port under test answers through the process door; NULL: the reference */
    const char *waivers; /* NULL: none; only with `shim` */
    const char *corpus;
    const char *report;
    const char *junit; /* NULL: none; so for sarif */
    const char *sarif;
    bool from_empty; /* neither seeds nor corpus */
    bool json;
    char **engine_args; /* ended by NULL */
};

/* run_build: a build folder. `label` names it in paths: the sanitizer, with a number when there are several alike. */
struct run_build {
    char dir[RUN_PATH_MAX];
    char label[32];
    const char *sanitizer; /* address, memory, undefined, thread, none */
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

/* run_job: one worker. `plays` and what follows it are known (`has_stats`) once the child has played, however it ends;
 * of a program that is not ours, if it prints them. */
struct run_job {
    const struct target *target;
    const struct run_build *build;
    uint64_t worker; /* 0 for the first, or only, one of its target and build */
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
    uint64_t num_new;    /* inputs that reached something new */
    struct stats *stats; /* shared with the child while it runs; else NULL */
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
    size_t num_waived;
    char waived[RUN_WAIVED_MAX][64]; /* ids of rules that are not judged */
    size_t num_builds;
    struct run_build builds[RUN_BUILDS_MAX];
    size_t num_jobs;
    struct run_job *jobs;
    bool failed; /* the suite itself; a line on stderr said why */
    int signal;  /* that ended the run; 0 for none */
    int exit_code;
};

/* run_path: a formatted path; false, with a line on stderr, when it is too long. */
__attribute__((format(printf, 2, 3))) bool run_path(char out[RUN_PATH_MAX], const char *format, ...);

/* run_make_dir: with its parents; false, with a line on stderr. */
bool run_make_dir(const char *path);
/* run_remove_dir: with what is in it. */
void run_remove_dir(const char *path);

/* run_check: the options, and the targets that are named; fills run->waived. EXIT_HELD, or another exit code with a
 * line on stderr. */
int run_check(struct run *run, char **names, size_t num_names);

/* run_find_builds: the builds named, or, if `num` is 0, asan and msan beside the one this program is from; fills
 * run->builds. EXIT_HELD, or EXIT_SUITE with a line on stderr. */
int run_find_builds(struct run *run, size_t num, const char *const dirs[]);

/* run_job_label: "address", for the second worker "address.2"; run_job_name: "hmac-address.2", of its folders. */
void run_job_label(char out[RUN_TEXT_MAX], const struct run_job *job);
void run_job_name(char out[RUN_TEXT_MAX], const struct run_job *job);

/* run_has_room: whether a folder takes a small file, which a fuzz engine does not tell; false, with a line on stderr.
 */
bool run_has_room(const char *dir);

/* run_child_seed: not 0, which libFuzzer takes for "choose one", and another one for each job. */
uint32_t run_child_seed(uint64_t seed, const char *target, const char *label);

/* run_child_start: prepares the job's folders and seeds, and starts its program; false, with a line on stderr. */
bool run_child_start(struct run *run, struct run_job *job);

/* run_child_read: takes what the child has written so far. run_child_read_last: also a line that it did not end. */
void run_child_read(struct run_job *job);
void run_child_read_last(struct run_job *job);

/* run_child_ended: whether it is over; if so, everything is read, judged and cleaned up. */
bool run_child_ended(struct run_job *job);

/* run_child_stop: asks (SIGINT) or makes (SIGKILL) the child and all that it started end. */
void run_child_stop(const struct run_job *job, int signal_number);

/* run_progress: a line per target on a terminal, redrawn in place every second; elsewhere one line every half minute.
 */
struct run_progress {
    bool terminal;
    double started;
    double next;
    size_t num_drawn; /* lines on the terminal */
};
void run_progress_init(struct run_progress *progress);
/* run_progress_show: if it is time to. run_progress_clear: takes the lines away. */
void run_progress_show(struct run_progress *progress, const struct run *run);
void run_progress_clear(struct run_progress *progress);

/* run_report_table, _findings: for people. */
void run_report_table(FILE *out, const struct run *run);
void run_report_findings(FILE *out, const struct run *run);
/* run_report_verdict: one line; run_verdict: the same in one word. */
void run_report_verdict(FILE *out, const struct run *run);
const char *run_verdict(const struct run *run);

/* run_report_json: the report; NULL without memory. run_report_write: into fuzz.json; run_report_findings_write: JUnit
 * and SARIF, where they are asked for. Both false, with a line on stderr, when a file cannot be written. */
struct cJSON *run_report_json(const struct run *run);
bool run_report_write(const struct run *run);
bool run_report_findings_write(const struct run *run);

#endif
