/* SPDX-License-Identifier: Apache-2.0
 * run_report.c: what `paldiff run` says at the end: a table, the findings, a verdict, and the same as JSON.
 * It breaks nothing off: whatever was known when the run ended is told.
 */
#include "findings.h"
#include "hint.h"
#include "program.h"
#include "run.h"
#include "tool.h"

#include <cjson/cJSON.h>
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
        char label[RUN_TEXT_MAX];
        run_job_label(label, job);
        if (job->has_stats) {
            (void)snprintf(compared, sizeof(compared), "%.0f", per_second(job->compared, job->seconds));
            (void)snprintf(reached, sizeof(reached), "%.1f%%", 100 * reached_share(job));
        }
        (void)fprintf(out, "%-8s %-10s %12" PRIu64 " %9.0f %12s %8s %7" PRIu64 " %7" PRIu64 " %9d\n", job->target->name,
                      label, job->executions, per_second(job->executions, job->seconds), compared, reached, job->edges,
                      job->corpus, job->finding.kind != NULL ? 1 : 0);
    }
}

/* replay_command: what a person copies; empty when there is no input. */
static void replay_command(char out[HINT_MAX], const struct run *run, const struct run_job *job)
{
    out[0] = '\0';
    char verb[HINT_MAX];
    if (job->finding.file[0] != '\0' && run->options.shim != NULL) {
        (void)hint_command(out, hint_shim(verb, run->options.shim), NULL, NULL, job->finding.file, NULL);
    } else if (job->finding.file[0] != '\0') {
        (void)hint_command(out, "replay", run->options.mutant, NULL, job->finding.file, NULL);
    }
}

/* under_sanitizer: the input in the very program that failed, for what only its sanitizer sees. */
static void under_sanitizer(FILE *out, const struct run *run, const struct run_job *job)
{
    char program[RUN_PATH_MAX];
    char command[HINT_MAX] = "";
    if (job->finding.file[0] != '\0' && run_path(program, "%s/fuzz_%s", job->build->dir, job->target->name)) {
        hint_add(command, "", hint_path(program));
        if (run->options.mutant != NULL) {
            hint_add(command, " --mutant=", run->options.mutant);
        }
        if (run->options.shim != NULL) {
            hint_add(command, " --shim=", run->options.shim);
        }
        for (size_t w = 0; w < run->num_waived; w++) {
            hint_add(command, " --waive=", run->waived[w]);
        }
        hint_add(command, " ", hint_path(job->finding.file));
        (void)fprintf(out, "  under %s: %s\n", job->build->sanitizer, command);
    }
}

void run_report_findings(FILE *out, const struct run *run)
{
    char command[HINT_MAX];
    char name[RUN_TEXT_MAX];
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
        run_job_name(name, job);
        (void)fprintf(out, "  found by: %s, seed %" PRIu64 " (the engine's: %" PRIu32 "), %" PRIu64 " executions\n",
                      name, run->options.seed, job->seed, job->executions);
        if (run_path(log, "%s/log", job->dir)) {
            (void)fprintf(out, "  log: %s\n", hint_path(log));
        }
        replay_command(command, run, job);
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
    default:
        return run->signal != 0 ? "interrupted" : "suite-failed";
    }
}

/* problem_of: why a job without a finding proves nothing; NULL if it does. */
static const char *problem_of(const struct run_job *job)
{
    if (job->state == JOB_WAITING) {
        return "not run";
    }
    if (job->finding.kind != NULL) {
        return NULL;
    }
    if (job->executions == 0) {
        return "nothing ran: it executed no input";
    }
    return job->compared == 0 && !job->stopped ? "nothing compared: it executed inputs, but no output was compared"
                                               : NULL;
}

void run_report_verdict(FILE *out, const struct run *run)
{
    uint64_t executions = 0;
    uint64_t compared = 0;
    for (size_t i = 0; i < run->num_jobs; i++) {
        const struct run_job *job = &run->jobs[i];
        executions += job->executions;
        compared += job->compared;
        if (problem_of(job) != NULL) {
            char name[RUN_TEXT_MAX];
            run_job_name(name, job);
            (void)fprintf(out, "%s: %s\n", name, problem_of(job));
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

/* case_of: the job as a case of what was checked; it borrows from the job, and `command`. One that proves nothing is a
 * failure too. */
static void case_of(struct findings_case *out, const struct run *run, const struct run_job *job, const char *name,
                    const char *command)
{
    const struct run_finding *finding = &job->finding;
    const char *problem = problem_of(job);
    *out = (struct findings_case){.name = name,
                                  .target = job->target->name,
                                  .sanitizer = job->build->sanitizer,
                                  .mutant = run->options.mutant,
                                  .skipped = job->state == JOB_WAITING ? "the run ended before its turn" : NULL,
                                  .seconds = job->seconds,
                                  .finding = {.kind = finding->kind,
                                              .rule = finding->rule,
                                              .step = finding->step,
                                              .got = finding->got,
                                              .want = finding->want,
                                              .summary = finding->summary,
                                              .file = finding->file,
                                              .command = command}};
    if (problem != NULL && job->state != JOB_WAITING) {
        out->finding = (struct finding){.kind = "startup", .summary = problem};
    }
    for (size_t i = 0; i < finding->num_details; i++) {
        out->finding.details[i] = finding->details[i];
    }
}

_Static_assert(RUN_DETAILS_MAX < FINDING_DETAILS_MAX, "the list is ended by NULL");

static void add_finding(struct cJSON *list, const struct run *run, const struct run_job *job)
{
    char command[HINT_MAX];
    char label[RUN_TEXT_MAX];
    struct findings_case one;
    replay_command(command, run, job);
    run_job_label(label, job);
    case_of(&one, run, job, label, command);
    struct cJSON *row = finding_json(&one);
    add_number(row, "seed", job->seed);
    (void)cJSON_AddItemToArray(list, row);
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
    add_text(row, "problem", problem_of(job));
    struct cJSON *findings = cJSON_AddArrayToObject(row, "findings");
    if (job->finding.kind != NULL) {
        add_finding(findings, run, job);
    }
    add_number(row, "executions_per_second", per_second(job->executions, job->seconds));
    add_number(row, "compared_per_second", per_second(job->compared, job->seconds));
    add_number(row, "reached_share", reached_share(job));
    add_number(row, "operations", (double)job->operations);
    add_text(row, "build", job->build->label);
    add_number(row, "worker", (double)job->worker + 1);
    add_number(row, "new_inputs", (double)job->num_new);
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
    struct cJSON *waived = cJSON_AddArrayToObject(report, "waived");
    for (size_t i = 0; i < run->num_waived; i++) {
        (void)cJSON_AddItemToArray(waived, cJSON_CreateString(run->waived[i]));
    }
    struct cJSON *rows = cJSON_AddArrayToObject(report, "targets");
    for (size_t i = 0; i < run->num_jobs; i++) {
        (void)cJSON_AddItemToArray(rows, job_json(run, &run->jobs[i]));
    }
    return report;
}

bool run_report_write(const struct run *run)
{
    char path[RUN_PATH_MAX];
    struct cJSON *report = run_report_json(run);
    bool good = run_path(path, "%s/fuzz.json", run->report) && json_write(path, report);
    cJSON_Delete(report);
    if (!good) {
        (void)fprintf(stderr, "paldiff: the report cannot be written to %s; make room, or use --report\n", run->report);
    }
    return good;
}

bool run_report_findings_write(const struct run *run)
{
    struct findings_case *cases = calloc(run->num_jobs, sizeof(*cases));
    char(*commands)[HINT_MAX] = calloc(run->num_jobs, sizeof(*commands));
    char(*labels)[RUN_TEXT_MAX] = calloc(run->num_jobs, sizeof(*labels));
    bool good = cases != NULL && commands != NULL && labels != NULL;
    if (!good) {
        (void)fputs("paldiff: no memory for the findings\n", stderr);
    }
    for (size_t i = 0; good && i < run->num_jobs; i++) {
        replay_command(commands[i], run, &run->jobs[i]);
        run_job_label(labels[i], &run->jobs[i]);
        case_of(&cases[i], run, &run->jobs[i], labels[i], commands[i]);
    }
    struct findings findings = {"paldiff run", run->num_jobs, cases};
    if (good && run->options.junit != NULL) {
        good = findings_write_junit(&findings, run->options.junit);
    }
    if (cases != NULL && commands != NULL && labels != NULL && run->options.sarif != NULL) {
        good = findings_write_sarif(&findings, run->options.sarif) && good;
    }
    free(cases);
    free(commands);
    free(labels);
    return good;
}
