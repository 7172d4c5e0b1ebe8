/* SPDX-License-Identifier: Apache-2.0
 * tool_gate.c: numbers against a recorded baseline, so that less being checked than before is as red as a broken rule.
 * It measures nothing itself: it reads what `run`, ctest and the build's own tables say.
 */
#include "program.h"
#include "tool.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_BASELINE = 'b', KEY_FUZZ = 'f', KEY_TESTS = 't', KEY_WRITE = 'w' };

#define TESTS_MAX 8u

struct options {
    const char *baseline;
    const char *fuzz;
    size_t num_tests;
    const char *tests[TESTS_MAX]; /* PRESET=FILE */
    bool write;
};

/* gate: what is recorded, what is now, and how often it was compared. */
struct gate {
    cJSON *recorded; /* NULL while it is being written */
    cJSON *now;
    size_t num_compared;
    size_t num_less;
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct options *options = state->input;
    switch (key) {
    case KEY_BASELINE:
        options->baseline = argument;
        return 0;
    case KEY_FUZZ:
        options->fuzz = argument;
        return 0;
    case KEY_TESTS:
        if (options->num_tests == TESTS_MAX || strchr(argument, '=') == NULL) {
            argp_error(state, "--tests takes PRESET=FILE, at most %u times", TESTS_MAX);
        }
        options->tests[options->num_tests++] = argument;
        return 0;
    case KEY_WRITE:
        options->write = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* compare: one number against `least` of what is recorded under the same name; prints it when it is less. */
static void compare(struct gate *gate, const cJSON *recorded, const char *of, const char *name, double now,
                    double least)
{
    double before = json_number(recorded, name, -1);
    if (before < 0) {
        (void)printf("%-32s %12.0f   not in the baseline\n", of, now);
        return;
    }
    gate->num_compared++;
    bool less = now < before * least;
    gate->num_less += less ? 1 : 0;
    (void)printf("%-32s %12.0f   recorded %.0f%s%s\n", of, now, before, less ? ": LESS" : "",
                 less && least < 1 ? " than its share" : "");
}

/* ---- what the build holds --------------------------------------------------------------------------------------- */

static size_t num_scenarios(const struct target *target)
{
    char **files = NULL;
    size_t num = 0;
    bool good = tool_corpus_files(target, &files, &num);
    tool_files_free(files, num);
    return good ? num : 0;
}

static void count_tables(struct gate *gate)
{
    cJSON *tables = cJSON_AddObjectToObject(gate->now, "tables");
    const cJSON *recorded = cJSON_GetObjectItemCaseSensitive(gate->recorded, "tables");
    const struct {
        const char *name;
        size_t num;
    } counts[] = {{"targets", num_targets}, {"rules", NUM_RULES}, {"mutants", num_mutants}};
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        (void)cJSON_AddNumberToObject(tables, counts[i].name, (double)counts[i].num);
        compare(gate, recorded, counts[i].name, counts[i].name, (double)counts[i].num, 1);
    }
    tables = cJSON_AddObjectToObject(gate->now, "scenarios");
    recorded = cJSON_GetObjectItemCaseSensitive(gate->recorded, "scenarios");
    for (size_t t = 0; t < num_targets; t++) {
        char of[64];
        double num = (double)num_scenarios(targets[t]);
        (void)snprintf(of, sizeof(of), "scenarios of %s", targets[t]->name);
        (void)cJSON_AddNumberToObject(tables, targets[t]->name, num);
        compare(gate, recorded, of, targets[t]->name, num, 1);
    }
}

/* ---- tests ----------------------------------------------------------------------------------------------------------
 */

/* attribute: a number in the first <testsuite ...> of ctest's JUnit; -1 if it is not there. */
static double attribute(const char *line, const char *name)
{
    char wanted[64];
    (void)snprintf(wanted, sizeof(wanted), "%s=\"", name);
    const char *at = strstr(line, wanted);
    return at != NULL ? strtod(at + strlen(wanted), NULL) : -1;
}

static bool count_tests(struct gate *gate, const char *asked)
{
    char preset[64];
    char of[96];
    char text[4096];
    const char *path = strchr(asked, '=') + 1;
    (void)snprintf(preset, sizeof(preset), "%.*s", (int)(path - 1 - asked), asked);
    FILE *file = fopen(path, "re");
    size_t len = file != NULL ? fread(text, 1, sizeof(text) - 1, file) : 0;
    if (file != NULL) {
        (void)fclose(file);
    }
    text[len] = '\0';
    const char *suite = strstr(text, "<testsuite");
    double num = suite != NULL ? attribute(suite, "tests") : -1;
    double idle = suite != NULL ? attribute(suite, "skipped") + attribute(suite, "disabled") : 0;
    if (num < 0) {
        (void)fprintf(stderr, "paldiff: %s is no JUnit file of ctest's\n", path);
        return false;
    }
    cJSON *tests = cJSON_GetObjectItemCaseSensitive(gate->now, "tests");
    (void)cJSON_AddNumberToObject(tests, preset, num - idle);
    (void)snprintf(of, sizeof(of), "tests run in %s", preset);
    compare(gate, cJSON_GetObjectItemCaseSensitive(gate->recorded, "tests"), of, preset, num - idle, 1);
    return true;
}

/* ---- fuzzing --------------------------------------------------------------------------------------------------------
 */

/* least_of: the share of a recorded number that has to be reached; machines differ in speed, not in what there is. */
static double least_of(const struct gate *gate, const char *name)
{
    const cJSON *shares = cJSON_GetObjectItemCaseSensitive(gate->recorded, "least_share");
    return json_number(shares, name, 1);
}

static void count_job(struct gate *gate, cJSON *fuzz, const cJSON *job, double *executions)
{
    static const char *const names[] = {"executions_per_second", "edges"};
    char id[64];
    (void)snprintf(id, sizeof(id), "%s-%s", json_text(job, "name", "?"), json_text(job, "build", "?"));
    cJSON *row = cJSON_AddObjectToObject(fuzz, id);
    const cJSON *recorded =
        cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(gate->recorded, "fuzz"), id);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char of[96];
        double now = json_number(job, names[i], 0);
        (void)snprintf(of, sizeof(of), "%s %s", id, i == 0 ? "executions/s" : names[i]);
        (void)cJSON_AddNumberToObject(row, names[i], now);
        compare(gate, recorded, of, names[i], now, least_of(gate, names[i]));
    }
    *executions += json_number(job, "executions", 0);
}

/* missing_jobs: what was fuzzed when the baseline was recorded and is not any more. */
static void missing_jobs(struct gate *gate, const cJSON *fuzz)
{
    const cJSON *job = NULL;
    cJSON_ArrayForEach(job, cJSON_GetObjectItemCaseSensitive(gate->recorded, "fuzz"))
    {
        if (cJSON_GetObjectItemCaseSensitive(fuzz, job->string) == NULL) {
            (void)printf("%-32s %12s   recorded: LESS\n", job->string, "not fuzzed");
            gate->num_less++;
        }
    }
}

static bool count_fuzz(struct gate *gate, const char *path)
{
    bool missing = false;
    double executions = 0;
    cJSON *report = json_read(path, &missing);
    if (report == NULL) {
        (void)(missing && fprintf(stderr, "paldiff: there is no %s: ci/run fuzz writes it\n", path));
        return false;
    }
    cJSON *fuzz = cJSON_AddObjectToObject(gate->now, "fuzz");
    const cJSON *job = NULL;
    cJSON_ArrayForEach(job, cJSON_GetObjectItemCaseSensitive(report, "targets"))
    {
        if (json_number(job, "worker", 1) <= 1) {
            count_job(gate, fuzz, job, &executions);
        }
    }
    missing_jobs(gate, fuzz);
    (void)cJSON_AddNumberToObject(gate->now, "executions", executions);
    compare(gate, gate->recorded, "executions", "executions", executions, least_of(gate, "executions"));
    cJSON_Delete(report);
    return true;
}

/* ---- the command ----------------------------------------------------------------------------------------------------
 */

static bool count_all(struct gate *gate, const struct options *options)
{
    bool good = true;
    count_tables(gate);
    if (options->num_tests > 0) {
        (void)cJSON_AddObjectToObject(gate->now, "tests");
    }
    for (size_t i = 0; i < options->num_tests; i++) {
        good = count_tests(gate, options->tests[i]) && good;
    }
    return (options->fuzz == NULL || count_fuzz(gate, options->fuzz)) && good;
}

/* record: what was measured now; shares that somebody set, and what was not measured, stay. */
static bool record(const struct gate *gate, const char *path)
{
    cJSON *baseline = gate->recorded != NULL ? cJSON_Duplicate(gate->recorded, true) : cJSON_CreateObject();
    if (cJSON_GetObjectItemCaseSensitive(baseline, "least_share") == NULL) {
        cJSON *shares = cJSON_AddObjectToObject(baseline, "least_share");
        (void)cJSON_AddNumberToObject(shares, "executions_per_second", 0.2);
        (void)cJSON_AddNumberToObject(shares, "edges", 0.9);
        (void)cJSON_AddNumberToObject(shares, "executions", 1);
    }
    for (cJSON *item = gate->now->child; item != NULL; item = item->next) {
        cJSON_DeleteItemFromObjectCaseSensitive(baseline, item->string);
        (void)cJSON_AddItemToObject(baseline, item->string, cJSON_Duplicate(item, true));
    }
    bool good = json_write(path, baseline);
    cJSON_Delete(baseline);
    return good;
}

int tool_gate(int argc, char **argv)
{
    static const struct argp_option rows[] = {
        {"baseline", KEY_BASELINE, "FILE", 0, "what was recorded", 0},
        {"fuzz", KEY_FUZZ, "FILE", 0, "a fuzz.json: executions, and each target's edges and executions/s", 0},
        {"tests", KEY_TESTS, "PRESET=FILE", 0, "ctest's JUnit of a build; may be repeated", 0},
        {"write", KEY_WRITE, NULL, 0, "records what is now instead of comparing", 0},
        {0}};
    static const struct argp argp = {
        .options = rows,
        .parser = parse,
        .doc =
            "Compares what is checked with what a baseline recorded, and fails when it is less: targets, rules, "
            "mutants, scenarios and tests at all, fuzzing below the baseline's share. Example: paldiff gate --baseline "
            "ci/baseline.json --fuzz build/report/fuzz.json"};
    struct options options = {0};
    struct gate gate = {.now = cJSON_CreateObject()};
    bool missing = false;
    if (tool_parse(&argp, argc, argv, &options) < argc || options.baseline == NULL) {
        cJSON_Delete(gate.now);
        return tool_usage("gate takes --baseline and what to compare with it");
    }
    gate.recorded = json_read(options.baseline, &missing);
    int code = EXIT_SUITE;
    if (gate.recorded == NULL && !(missing && options.write)) {
        (void)(missing && fprintf(stderr, "paldiff: there is no %s: --write records one\n", options.baseline));
    } else if (count_all(&gate, &options)) {
        if (options.write) {
            code = record(&gate, options.baseline) ? EXIT_HELD : EXIT_SUITE;
        } else {
            (void)printf("%zu numbers compared, %zu less than recorded\n", gate.num_compared, gate.num_less);
            code = gate.num_less > 0 ? EXIT_BROKEN : (gate.num_compared > 0 ? EXIT_HELD : EXIT_NOTHING_RAN);
        }
    }
    cJSON_Delete(gate.recorded);
    cJSON_Delete(gate.now);
    return code;
}
