/* SPDX-License-Identifier: Apache-2.0
 * kill_fuzz.c: fuzz programs as `paldiff run` starts them, one mutant at a time, until the first kill. What ends a
 * program counts as a kill only when a rule broke or a sanitizer blames the port, and the good ports hold on the input.
 */
#include "kill.h"
#include "run.h"
#include "tool.h"

#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define GRACE_SECONDS 60.0
#define REPORT_MAX (256u * 1024u)

static void say(struct kill_trial *out, const char *text)
{
    out->failed = true;
    (void)snprintf(out->by, sizeof(out->by), "%s", text);
}

/* read_log: all that the program said. */
static char *read_log(const struct run_job *job)
{
    char path[RUN_PATH_MAX];
    char *text = calloc(1, REPORT_MAX);
    FILE *file = text != NULL && run_path(path, "%s/log", job->dir) ? fopen(path, "re") : NULL;
    if (file != NULL) {
        (void)fread(text, 1, REPORT_MAX - 1, file);
        (void)fclose(file);
    }
    return text;
}

/* blamed: whether the log blames the port; by a sanitizer's report or by its own end. */
static bool blamed(const struct run_job *job, char summary[KILL_TEXT_MAX])
{
    char *report = read_log(job);
    enum kill_blame blame = report != NULL ? kill_blame_of(report, summary) : BLAME_NOBODY;
    free(report);
    return blame == BLAME_PORT || blame == BLAME_END;
}

/* judge: what the end of the program means. */
static void judge(struct kill_trial *out, const struct kill *kill, const struct run_job *job)
{
    const struct run_finding *finding = &job->finding;
    char summary[KILL_TEXT_MAX] = "";
    bool rule = finding->kind != NULL && strcmp(finding->kind, "rule") == 0;
    out->executions = job->executions;
    out->operations = job->operations;
    out->seconds = job->seconds;
    if (finding->kind == NULL) {
        if (job->executions == 0) {
            say(out, "nothing was executed");
        }
        return;
    }
    if (!rule && !blamed(job, summary)) {
        char text[KILL_TEXT_MAX];
        (void)snprintf(text, sizeof(text), "no kill: %s: %.100s", finding->kind, finding->summary);
        say(out, text);
        return;
    }
    if (finding->file[0] == '\0' || (kill->mutant != NULL && !kill_holds(kill->target, finding->file))) {
        say(out, "no kill: the good ports do not hold on the input");
        return;
    }
    out->killed = true;
    (void)snprintf(out->by, sizeof(out->by), "%.150s", rule ? finding->rule : summary);
}

/* run_one: a fuzz program from its start to its end. */
static bool run_one(struct run *run, struct run_job *job)
{
    if (!run_child_start(run, job)) {
        return false;
    }
    do {
        struct pollfd end = {.fd = job->pipe, .events = POLLIN};
        (void)poll(&end, job->pipe >= 0 ? 1 : 0, 20);
        run_child_read(job);
        if (run->options.seconds > 0 && tool_now() - job->started > (double)run->options.seconds + GRACE_SECONDS) {
            job->overdue = true;
            run_child_stop(job, SIGKILL);
        }
    } while (!run_child_ended(job));
    return true;
}

/* prepare: a run of one job, whose folder is named for what it is about. */
static bool prepare(struct run *run, struct run_job *job, const struct kill *kill, const struct kill_budget *budget,
                    uint64_t trial)
{
    const char *builds[] = {budget->build};
    const char *name = kill->mutant != NULL ? kill->mutant->name : kill->target->name;
    run->options.seconds = budget->seconds;
    run->options.mutant = kill->mutant != NULL ? kill->mutant->name : NULL;
    run->options.from_empty = budget->from_empty;
    run->options.at_once = 1;
    run->num_jobs = 1;
    run->jobs = job;
    job->target = kill->target;
    job->build = &run->builds[0];
    job->seed = run_child_seed(budget->seed ^ (trial * 0x9e3779b97f4a7c15u), name, "");
    job->pipe = -1;
    /* Read by the fuzz program's mutator, through the environment: libFuzzer hands it nothing else. */
    (void)setenv("PALDIFF_PLAIN_MUTATOR", budget->plain_mutator ? "1" : "0", 1);
    return run_find_builds(run, 1, builds) == EXIT_HELD &&
           run_path(run->report, "%s/%s-%" PRIu64, budget->report, name, trial) && run_make_dir(run->report);
}

void kill_fuzz(struct kill_trial *out, const struct kill *kill, const struct kill_budget *budget, uint64_t trial)
{
    struct run *run = calloc(1, sizeof(*run));
    struct run_job *job = calloc(1, sizeof(*job));
    if (run == NULL || job == NULL || !prepare(run, job, kill, budget, trial) || !run_one(run, job)) {
        say(out, "no kill: the fuzz program did not start");
    } else {
        judge(out, kill, job);
    }
    free(job);
    free(run);
}

void kill_fuzz_control(struct kill_trial *out, const struct kill *kill, const struct kill_budget *budget,
                       uint64_t round)
{
    struct kill_trial one = {0};
    kill_fuzz(&one, kill, budget, round);
    out->executions += one.executions;
    out->operations += one.operations;
    out->seconds += one.seconds;
    out->killed = one.killed;
    out->failed = one.failed || (!one.killed && one.operations == 0);
    (void)memcpy(out->by, one.by, sizeof(out->by));
}
