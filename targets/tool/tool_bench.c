/* SPDX-License-Identifier: Apache-2.0
 * tool_bench.c: the command: which groups of arms are timed, for how long, and in what form the figures come out.
 * It judges by an earlier run only. It breaks, in the figures alone, in a build with a sanitizer.
 */
#include "bench_report.h"
#include "ports.h"
#include "tool.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { KEY_COMPARE = 'c', KEY_GROUP = 'g', KEY_JSON = 'j', KEY_PLOTS = 'p', KEY_ROUNDS = 'r', KEY_THREADS = 't' };

static const struct bench_group *const groups[] = {&bench_crypto, &bench_requests, &bench_tokens, &bench_send,
                                                   &bench_harness};

#define NUM_GROUPS (sizeof(groups) / sizeof(groups[0]))

enum { THREAD_COUNTS = 3, NUM_BENCHES = NUM_GROUPS * THREAD_COUNTS };

/* options: `group` NULL is all of them; `rounds` 0 and `threads[0]` 0 leave it to the group. */
struct options {
    const struct bench_group *group;
    bool json;
    unsigned long rounds;
    unsigned long threads[THREAD_COUNTS];
    const char *compare;
    const char *plots;
};

/* results: benches of all groups that were measured, in order. */
struct results {
    struct bench *benches[NUM_BENCHES];
    size_t num;
};

/* ---- options -------------------------------------------------------------------------------------------------------
 */

static const struct bench_group *known_group(const char *name, struct argp_state *state)
{
    for (size_t i = 0; i < NUM_GROUPS; i++) {
        if (strcmp(name, groups[i]->name) == 0) {
            return groups[i];
        }
    }
    if (strcmp(name, "all") != 0) {
        argp_error(state, "--group takes crypto, requests, tokens, send, harness or all");
    }
    return NULL;
}

static void read_threads(unsigned long out[THREAD_COUNTS], const char *text, struct argp_state *state)
{
    const char *at = text;
    for (size_t i = 0; i < THREAD_COUNTS; i++) {
        char *end = NULL;
        out[i] = strtoul(at, &end, 10);
        if (out[i] < 1 || out[i] > BENCH_THREADS_MAX || (*end != '\0' && *end != ',')) {
            break;
        }
        if (*end == '\0') {
            return;
        }
        at = end + 1;
    }
    argp_error(state, "--threads takes up to %d numbers from 1 to %d, with commas", THREAD_COUNTS, BENCH_THREADS_MAX);
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct options *options = state->input;
    char *end = NULL;
    switch (key) {
    case KEY_COMPARE:
        options->compare = argument;
        return 0;
    case KEY_GROUP:
        options->group = known_group(argument, state);
        return 0;
    case KEY_JSON:
        options->json = true;
        return 0;
    case KEY_PLOTS:
        options->plots = argument;
        return 0;
    case KEY_ROUNDS:
        options->rounds = strtoul(argument, &end, 10);
        if (*end != '\0' || options->rounds < 5 || options->rounds > 100000) {
            argp_error(state, "--rounds takes a number from 5 to 100000");
        }
        return 0;
    case KEY_THREADS:
        read_threads(options->threads, argument, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* ---- the machine ---------------------------------------------------------------------------------------------------
 */

/* setting: what figures are worth nothing without. */
struct setting {
    char command[256];
    char machine[256];
    char date[32];
};

/* The processor's name, as the kernel has it. */
static void read_processor(char out[128])
{
    char line[256];
    FILE *file = fopen("/proc/cpuinfo", "re");
    (void)snprintf(out, 128, "unknown processor");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        const char *value = strstr(line, ": ");
        if (strncmp(line, "model name", 10) == 0 && value != NULL) {
            (void)snprintf(out, 128, "%.*s", (int)strcspn(value + 2, "\n"), value + 2);
            break;
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
}

static void read_setting(struct setting *out, int argc, char **argv)
{
    const struct pal_port *const ports[] = {pal_port_openssl(), pal_port_boringssl()};
    char processor[128];
    double load = -1;
    time_t now = time(NULL);
    struct tm today;
    size_t len = (size_t)snprintf(out->command, sizeof(out->command), "paldiff bench");
    for (int i = 1; i < argc && len < sizeof(out->command); i++) {
        len += (size_t)snprintf(out->command + len, sizeof(out->command) - len, " %s", argv[i]);
    }
    read_processor(processor);
    (void)getloadavg(&load, 1);
    (void)snprintf(out->machine, sizeof(out->machine), "%s, %ld processors, load %.1f, %s, %s", processor,
                   sysconf(_SC_NPROCESSORS_ONLN), load, ports[0] != NULL ? ports[0]->version : "no OpenSSL",
                   ports[1] != NULL ? ports[1]->version : "no BoringSSL");
    (void)strftime(out->date, sizeof(out->date), "%Y-%m-%d", gmtime_r(&now, &today));
}

/* ---- the run -------------------------------------------------------------------------------------------------------
 */

static void measure(struct results *results, const struct bench_group *group, const struct options *options)
{
    const unsigned long *threads = options->threads[0] != 0 ? options->threads : group->threads;
    for (size_t i = 0; i < THREAD_COUNTS && threads[i] != 0; i++) {
        struct bench *bench = malloc(sizeof(*bench));
        if (bench != NULL &&
            bench_measure(bench, group, options->rounds != 0 ? options->rounds : group->rounds, threads[i])) {
            results->benches[results->num++] = bench;
        } else {
            free(bench);
        }
    }
}

static void print(const struct results *results, const struct setting *setting)
{
    (void)printf("`%s`, %s, %s:\n\n", setting->command, setting->machine, setting->date);
    for (size_t i = 0, next; i < results->num; i = next) {
        const struct bench_group *group = results->benches[i]->group;
        for (next = i + 1; next < results->num && results->benches[next]->group == group; next++) {
        }
        (void)printf("**%s**: %s.\n\n", group->name, group->sentence);
        group->print((const struct bench *const *)&results->benches[i], next - i);
    }
}

static int report(const struct results *results, const struct options *options, const struct setting *setting)
{
    const struct bench *const *benches = (const struct bench *const *)results->benches;
    cJSON *json = cJSON_CreateObject();
    cJSON *rows = bench_rows(benches, results->num);
    int code = EXIT_HELD;
    (void)cJSON_AddStringToObject(json, "command", setting->command);
    (void)cJSON_AddStringToObject(json, "machine", setting->machine);
    (void)cJSON_AddStringToObject(json, "date", setting->date);
    (void)cJSON_AddItemToObject(json, "rows", rows);
    if (options->plots != NULL && !bench_plot(benches, results->num, options->plots)) {
        code = EXIT_SUITE;
    }
    if (options->compare != NULL) {
        int compared = bench_compare(rows, options->compare);
        code = compared != EXIT_HELD ? compared : code;
    }
    if (!options->json) {
        print(results, setting);
        cJSON_Delete(json);
        return code;
    }
    return tool_print_json(json) ? code : EXIT_SUITE;
}

int tool_bench(int argc, char **argv)
{
    static const struct argp_option rows_of_help[] = {
        {"compare", KEY_COMPARE, "FILE", 0, "fail when an arm is slower than in FILE, which --json wrote", 0},
        {"group", KEY_GROUP, "NAME", 0, "crypto, requests, tokens, send, harness or all (all)", 0},
        {"json", KEY_JSON, NULL, 0, "JSON on standard output", 0},
        {"plots", KEY_PLOTS, "DIR", 0, "write an SVG for each kind of arms into DIR (needs gnuplot)", 0},
        {"rounds", KEY_ROUNDS, "N", 0, "batches an arm, of about 0.3 ms each (30 to 400, by group)", 0},
        {"threads", KEY_THREADS, "N[,N...]", 0, "threads that run the same arm at the same time (by group)", 0},
        {0}};
    static const struct argp argp = {
        .options = rows_of_help,
        .parser = parse,
        .doc = "Times one-shot against cached contexts, fresh against pooled tokens, the ways "
               "to send a list, and the suite itself; prints Markdown. "
               "Example: paldiff bench --group send --threads 2"};
    struct options options = {0};
    struct setting setting;
    struct results results = {.num = 0};
    int code = EXIT_SUITE;
    read_setting(&setting, argc, argv);
    if (tool_parse(&argp, argc, argv, &options) < argc) {
        return tool_usage("bench takes options only");
    }
    for (size_t i = 0; i < NUM_GROUPS; i++) {
        if (options.group == NULL || options.group == groups[i]) {
            measure(&results, groups[i], &options);
        }
    }
    if (results.num == 0) {
        (void)fputs("paldiff: nothing could be measured\n", stderr);
    } else {
        code = report(&results, &options, &setting);
    }
    while (results.num > 0) {
        free(results.benches[--results.num]);
    }
    return code;
}
