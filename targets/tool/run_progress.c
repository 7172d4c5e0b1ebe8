/* SPDX-License-Identifier: Apache-2.0
 * run_progress.c: what `paldiff run` says while it lasts. It breaks when a line gets wider than COLUMNS: it wraps then,
 * and is not taken back whole.
 */
#include "run.h"
#include "tool.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define COLUMNS 72u

/* sum: of the jobs of a target, or of all. */
struct sum {
    bool same_target;
    size_t num;
    size_t num_waiting;
    size_t num_running;
    size_t num_crashes;
    uint64_t executions;
    uint64_t edges; /* of the build that has most */
    uint64_t num_new;
    double rate;    /* executions a second of those that run; when none does, of those that ran */
    double longest; /* seconds left of the one that has most */
    double work;    /* seconds left of all, one after the other */
};

static double rate_of(const struct run_job *job)
{
    double seconds = job->state == JOB_RUNNING ? tool_now() - job->started : job->seconds;
    return seconds > 0 ? (double)job->executions / seconds : 0;
}

static double seconds_left(const struct run *run, const struct run_job *job)
{
    double all = (double)run->options.seconds;
    double left = job->state == JOB_RUNNING ? all - (tool_now() - job->started) : all;
    return job->state == JOB_ENDED || left < 0 ? 0 : left;
}

static void add_job(struct sum *sum, const struct run *run, const struct run_job *job)
{
    double left = seconds_left(run, job);
    sum->num++;
    sum->num_waiting += job->state == JOB_WAITING ? 1 : 0;
    sum->num_running += job->state == JOB_RUNNING ? 1 : 0;
    sum->num_crashes += job->finding.kind != NULL ? 1 : 0;
    sum->executions += job->executions;
    sum->edges = job->edges > sum->edges ? job->edges : sum->edges;
    sum->num_new += job->num_new;
    sum->longest = left > sum->longest ? left : sum->longest;
    sum->work += left;
}

/* sum_jobs: `target` NULL is all of them. */
static struct sum sum_jobs(const struct run *run, const struct target *target)
{
    struct sum sum = {.same_target = target != NULL};
    for (size_t i = 0; i < run->num_jobs; i++) {
        if (target == NULL || run->jobs[i].target == target) {
            add_job(&sum, run, &run->jobs[i]);
        }
    }
    for (size_t i = 0; i < run->num_jobs; i++) {
        const struct run_job *job = &run->jobs[i];
        bool counts = job->state == (sum.num_running > 0 ? JOB_RUNNING : JOB_ENDED);
        sum.rate += counts && (target == NULL || job->target == target) ? rate_of(job) : 0;
    }
    return sum;
}

/* left: of the whole run, its jobs so many at a time. */
static double left_of_run(const struct run *run, const struct sum *all)
{
    double shared = all->work / (double)run->options.at_once;
    return shared > all->longest ? shared : all->longest;
}

static void print_left(char *out, size_t cap, const struct run *run, const struct sum *sum, double left)
{
    if (sum->num_running + sum->num_waiting == 0) {
        (void)snprintf(out, cap, "ended");
    } else if (sum->num_running == 0 && sum->num_waiting == sum->num) {
        (void)snprintf(out, cap, "waiting");
    } else if (run->options.seconds == 0) {
        (void)snprintf(out, cap, "-"); /* it ends by the number of inputs */
    } else {
        (void)snprintf(out, cap, "%.0f s", left);
    }
}

static void print_sum(FILE *out, const struct run *run, const char *name, const struct sum *sum, double left)
{
    char text[32];
    char edges[32] = "-"; /* those of different targets are no sum */
    print_left(text, sizeof(text), run, sum, left);
    if (sum->same_target) {
        (void)snprintf(edges, sizeof(edges), "%" PRIu64, sum->edges);
    }
    (void)fprintf(out, "%-10.10s %11" PRIu64 " %9.0f %7s %7" PRIu64 " %8zu %9s\n", name, sum->executions, sum->rate,
                  edges, sum->num_new, sum->num_crashes, text);
}

/* num_rows: how many lines can be taken back: the cursor stops at the top of the screen. */
static size_t num_rows(void)
{
    struct winsize size = {0};
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 4 ? size.ws_row - 1u : 24u;
}

/* draw: a head, a line per target, and the sum of them. When there are more targets than rows, those that run. */
static void draw(struct run_progress *progress, const struct run *run)
{
    struct sum all = sum_jobs(run, NULL);
    size_t rows = num_rows();
    run_progress_clear(progress);
    (void)fprintf(stderr, "%-10s %11s %9s %7s %7s %8s %9s\n", "target", "executions", "exec/s", "edges", "new",
                  "crashes", "left");
    progress->num_drawn = 2;
    for (size_t i = 0; i < num_targets && progress->num_drawn < rows; i++) {
        struct sum sum = sum_jobs(run, targets[i]);
        bool shown = sum.num_running > 0 || num_targets + 2 <= rows;
        if (sum.num > 0 && shown) {
            /* What waits has its turn still to come, which the last line counts. */
            print_sum(stderr, run, targets[i]->name, &sum, sum.longest);
            progress->num_drawn++;
        }
    }
    print_sum(stderr, run, "all", &all, left_of_run(run, &all));
}

static void tell(const struct run_progress *progress, const struct run *run)
{
    struct sum all = sum_jobs(run, NULL);
    char left[32];
    print_left(left, sizeof(left), run, &all, left_of_run(run, &all));
    (void)fprintf(stderr,
                  "%.0f s: %" PRIu64 " executions, %.0f/s, %" PRIu64
                  " new, %zu crashes, %zu of %zu runs ended, left: %s; running:",
                  tool_now() - progress->started, all.executions, all.rate, all.num_new, all.num_crashes,
                  all.num - all.num_running - all.num_waiting, all.num, left);
    for (size_t i = 0; i < run->num_jobs; i++) {
        char name[RUN_TEXT_MAX];
        if (run->jobs[i].state == JOB_RUNNING) {
            run_job_name(name, &run->jobs[i]);
            (void)fprintf(stderr, " %s", name);
        }
    }
    (void)fputc('\n', stderr);
}

void run_progress_init(struct run_progress *progress)
{
    const char *kind = getenv("TERM");
    struct winsize size = {0};
    *progress = (struct run_progress){.started = tool_now()};
    progress->terminal = isatty(STDERR_FILENO) == 1 && (kind == NULL || strcmp(kind, "dumb") != 0);
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_col < COLUMNS) {
        progress->terminal = false; /* told as in a log */
    }
    progress->next = progress->started + (progress->terminal ? 1 : 30);
}

void run_progress_show(struct run_progress *progress, const struct run *run)
{
    if (tool_now() < progress->next) {
        return;
    }
    progress->next = tool_now() + (progress->terminal ? 1 : 30);
    if (progress->terminal) {
        draw(progress, run);
    } else {
        tell(progress, run);
    }
}

void run_progress_clear(struct run_progress *progress)
{
    if (progress->num_drawn > 0) {
        /* From the first column: a Ctrl-C shows as two characters. */
        (void)fprintf(stderr, "\r\033[%zuA\033[J", progress->num_drawn);
    }
    progress->num_drawn = 0;
}
