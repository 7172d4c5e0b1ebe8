/* SPDX-License-Identifier: Apache-2.0
 * run_report.c: what `paldiff run` says at the end: a table, the findings, a verdict, and the same as JSON.
 * It breaks nothing off: whatever was known when the run ended is told.
 */
#include "poison.h"
#include "run.h"
#include "tool.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static double per_second(uint64_t count, double seconds)
{
    return seconds > 0 ? (double)count / seconds : 0;
}

static double reached_share(const struct run_job *job)
{
    return job->plays > 0 ? (double)job->reached / (double)job->plays : 0;
}

void run_report_table(FILE *out, const struct run *run)
{
    (void)fprintf(out, "%-8s %-10s %12s %9s %12s %8s %7s %7s %9s\n", "target", "sanitizer", "executions", "exec/s",
                  "compared/s", "reached", "edges", "corpus", "findings");
    for (size_t i = 0; i < run->num_jobs; i++) {
        const struct run_job *job = &run->jobs[i];
        char compared[32] = "-";
        char reached[32] = "-";
        if (job->has_stats) {
            (void)snprintf(compared, sizeof(compared), "%.0f", per_second(job->compared, job->seconds));
            (void)snprintf(reached, sizeof(reached), "%.1f%%", 100 * reached_share(job));
        }
        (void)fprintf(out, "%-8s %-10s %12" PRIu64 " %9.0f %12s %8s %7" PRIu64 " %7" PRIu64 " %9d\n", job->target->name,
                      job->build->label, job->executions, per_second(job->executions, job->seconds), compared, reached,
                      job->edges, job->corpus, job->finding.kind != NULL ? 1 : 0);
    }
}

/* shown: the path as it is shortest from here. */
static const char *shown(const char *path)
{
    static char here[RUN_PATH_MAX];
    size_t len = getcwd(here, sizeof(here)) != NULL ? strlen(here) : 0;
    return len > 1 && strncmp(path, here, len) == 0 && path[len] == '/' ? path + len + 1 : path;
}

/* quoted: the path as a shell takes it. */
static void quoted(char *out, size_t cap, const char *path)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./+,:@=";
    bool bare = path[strspn(path, plain)] == '\0';
    (void)snprintf(out, cap, bare ? "%s" : "'%s'", path);
}

/* replay_command: what a person copies; empty when there is no input. */
static void replay_command(char *out, size_t cap, const struct run *run, const struct run_job *job)
{
    char file[RUN_PATH_MAX + 2];
    const char *tool = getenv("PALDIFF_COMMAND");
    const char *mutant = run->options.mutant;
    out[0] = '\0';
    if (job->finding.file[0] != '\0') {
        quoted(file, sizeof(file), shown(job->finding.file));
        (void)snprintf(out, cap, "%s replay %s%s%s%s", tool != NULL ? tool : "ci/run paldiff",
                       mutant != NULL ? "--mutant " : "", mutant != NULL ? mutant : "", mutant != NULL ? " " : "",
                       file);
    }
}

/* under_sanitizer: the input in the very program that failed, for what only its sanitizer sees. */
static void under_sanitizer(FILE *out, const struct run *run, const struct run_job *job)
{
    char program[RUN_PATH_MAX];
    char quoted_program[RUN_PATH_MAX + 2];
    char file[RUN_PATH_MAX + 2];
    if (job->finding.file[0] != '\0' && run_path(program, "%s/fuzz_%s", job->build->dir, job->target->name)) {
        quoted(quoted_program, sizeof(quoted_program), shown(program));
        quoted(file, sizeof(file), shown(job->finding.file));
        (void)fprintf(out, "  under %s: %s %s%s%s%s\n", job->build->sanitizer, quoted_program,
                      run->options.mutant != NULL ? "--mutant=" : "",
                      run->options.mutant != NULL ? run->options.mutant : "", run->options.mutant != NULL ? " " : "",
                      file);
    }
}

void run_report_findings(FILE *out, const struct run *run)
{
    char command[2 * RUN_PATH_MAX];
    char log[RUN_PATH_MAX];
    for (size_t i = 0; i < run->num_jobs; i++) {
        const struct run_job *job = &run->jobs[i];
        const struct run_finding *finding = &job->finding;
        if (finding->kind == NULL) {
            continue;
        }
        if (finding->rule[0] != '\0') {
            (void)fprintf(out, "\n%s\n", finding->line);
        } else {
            (void)fprintf(out, "\n%s target %s: %s\n", finding->kind, job->target->name, finding->summary);
        }
        for (size_t d = 0; d < finding->num_details; d++) {
            (void)fprintf(out, "  %s\n", finding->details[d]);
        }
        if (finding->rule[0] != '\0' && strcmp(finding->kind, "rule") != 0) {
            (void)fprintf(out, "  then: %s, %s\n", finding->kind, finding->summary);
        }
        (void)fprintf(out, "  found by: %s-%s, seed %" PRIu64 " (the engine's: %" PRIu32 "), %" PRIu64 " executions\n",
                      job->target->name, job->build->label, run->options.seed, job->seed, job->executions);
        if (run_path(log, "%s/log", job->dir)) {
            (void)fprintf(out, "  log: %s\n", shown(log));
        }
        replay_command(command, sizeof(command), run, job);
        if (command[0] != '\0') {
            under_sanitizer(out, run, job);
            (void)fprintf(out, "  replay: %s\n", command);
        }
    }
}

static size_t num_findings(const struct run *run)
{
    size_t num = 0;
    for (size_t i = 0; i < run->num_jobs; i++) {
        num += run->jobs[i].finding.kind != NULL ? 1 : 0;
    }
    return num;
}

const char *run_verdict(const struct run *run)
{
    switch (run->exit_code) {
    case EXIT_HELD:
        return "held";
    case EXIT_BROKEN:
        return "broken";
    case EXIT_NOTHING_RAN:
        return "nothing-ran";
    case EXIT_SUITE:
        return "suite-failed";
    default:
        return "interrupted";
    }
}

void run_report_verdict(FILE *out, const struct run *run)
{
    uint64_t executions = 0;
    uint64_t compared = 0;
    for (size_t i = 0; i < run->num_jobs; i++) {
        const struct run_job *job = &run->jobs[i];
        executions += job->executions;
        compared += job->compared;
        if (job->state == JOB_WAITING) {
            (void)fprintf(out, "not run: %s-%s\n", job->target->name, job->build->label);
        } else if (job->executions == 0 && job->finding.kind == NULL) {
            (void)fprintf(out, "nothing ran: %s-%s executed no input\n", job->target->name, job->build->label);
        } else if (job->compared == 0 && job->finding.kind == NULL && !job->stopped) {
            (void)fprintf(out, "nothing compared: %s-%s executed inputs, but no output was compared\n",
                          job->target->name, job->build->label);
        }
    }
    (void)fprintf(out,
                  "\n%s: %zu runs, %" PRIu64 " executions, %" PRIu64 " operations compared, %zu findings, seed %" PRIu64
                  "\n",
                  run_verdict(run), run->num_jobs, executions, compared, num_findings(run), run->options.seed);
}

static void add_text(struct cJSON *object, const char *name, const char *text)
{
    if (text != NULL && text[0] != '\0') {
        (void)cJSON_AddStringToObject(object, name, text);
    } else {
        (void)cJSON_AddNullToObject(object, name);
    }
}

static void add_number(struct cJSON *object, const char *name, double number)
{
    (void)cJSON_AddNumberToObject(object, name, number);
}

static void add_finding(struct cJSON *findings, const struct run *run, const struct run_job *job)
{
    char command[2 * RUN_PATH_MAX];
    const struct run_finding *finding = &job->finding;
    struct cJSON *row = cJSON_CreateObject();
    bool rule = finding->rule[0] != '\0';
    replay_command(command, sizeof(command), run, job);
    add_text(row, "rule", finding->rule);
    if (rule) {
        add_number(row, "step", (double)finding->step);
    } else {
        add_text(row, "step", NULL);
    }
    add_text(row, "got", finding->got);
    add_text(row, "want", finding->want);
    add_text(row, "kind", finding->kind);
    add_text(row, "file", finding->file[0] != '\0' ? shown(finding->file) : NULL);
    add_text(row, "replay", command);
    add_number(row, "seed", job->seed);
    add_text(row, "summary", finding->summary);
    struct cJSON *details = cJSON_AddArrayToObject(row, "details");
    for (size_t i = 0; i < finding->num_details; i++) {
        (void)cJSON_AddItemToArray(details, cJSON_CreateString(finding->details[i]));
    }
    (void)cJSON_AddItemToArray(findings, row);
}

static struct cJSON *job_json(const struct run *run, const struct run_job *job)
{
    struct cJSON *row = cJSON_CreateObject();
    add_text(row, "name", job->target->name);
    add_text(row, "sanitizer", job->build->sanitizer);
    add_number(row, "executions", (double)job->executions);
    add_number(row, "comparisons", (double)job->compared);
    add_number(row, "seconds", job->seconds);
    add_number(row, "edges", (double)job->edges);
    add_number(row, "corpus", (double)job->corpus);
    struct cJSON *findings = cJSON_AddArrayToObject(row, "findings");
    if (job->finding.kind != NULL) {
        add_finding(findings, run, job);
    }
    add_number(row, "executions_per_second", per_second(job->executions, job->seconds));
    add_number(row, "compared_per_second", per_second(job->compared, job->seconds));
    add_number(row, "reached_share", reached_share(job));
    add_number(row, "operations", (double)job->operations);
    add_text(row, "build", job->build->label);
    add_number(row, "seed", job->seed);
    (void)cJSON_AddBoolToObject(row, "ran", job->state == JOB_ENDED);
    return row;
}

struct cJSON *run_report_json(const struct run *run)
{
    struct cJSON *report = cJSON_CreateObject();
    add_text(report, "verdict", run_verdict(run));
    add_number(report, "exit_code", run->exit_code);
    add_number(report, "seed", (double)run->options.seed);
    add_text(report, "mutant", run->options.mutant);
    struct cJSON *rows = cJSON_AddArrayToObject(report, "targets");
    for (size_t i = 0; i < run->num_jobs; i++) {
        (void)cJSON_AddItemToArray(rows, job_json(run, &run->jobs[i]));
    }
    return report;
}

bool run_report_write(const struct run *run)
{
    char path[RUN_PATH_MAX];
    char part[RUN_PATH_MAX];
    struct cJSON *report = run_report_json(run);
    char *text = cJSON_Print(report);
    bool good = false;
    cJSON_Delete(report);
    if (text != NULL && run_path(path, "%s/fuzz.json", run->report) && run_path(part, "%s/.fuzz.json", run->report)) {
        const char *end = text;
        poison_foreign(&end, sizeof(end));
        do { /* cJSON is not instrumented: to MSan its text was never written */
            poison_foreign(end, 1);
        } while (*end++ != '\0');
        FILE *file = fopen(part, "we");
        good = file != NULL && fprintf(file, "%s\n", text) > 0;
        good = file != NULL && fclose(file) == 0 && good;
        /* Whole or not at all: a reader never sees half a report. */
        good = good && rename(part, path) == 0;
    }
    cJSON_free(text);
    if (!good) {
        (void)fprintf(stderr, "paldiff: the report cannot be written to %s: %s; make room, or use --report\n",
                      run->report, strerror(errno));
    }
    return good;
}
