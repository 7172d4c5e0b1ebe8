/* SPDX-License-Identifier: Apache-2.0
 * tool_bench.c: the command: which groups of arms are timed, for how long, and in what form the figures come out.
 * It never judges. It breaks, in the figures alone, in a build with a sanitizer.
 */
#include "bench.h"
#include "tool.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_GROUP = 'g', KEY_JSON = 'j', KEY_ROUNDS = 'r', KEY_THREADS = 't' };

static const struct bench_group *const groups[] = {&bench_crypto, &bench_send};

#define NUM_GROUPS (sizeof(groups) / sizeof(groups[0]))

/* options: `group` NULL is all of them. */
struct options {
    const char *group;
    bool json;
    unsigned long rounds;
    unsigned long threads;
};

static const char *known_group(const char *name, struct argp_state *state)
{
    for (size_t i = 0; i < NUM_GROUPS; i++) {
        if (strcmp(name, groups[i]->name) == 0) {
            return groups[i]->name;
        }
    }
    if (strcmp(name, "all") != 0) {
        argp_error(state, "--group takes crypto, send or all");
    }
    return NULL;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct options *options = state->input;
    char *end = NULL;
    switch (key) {
    case KEY_GROUP:
        options->group = known_group(argument, state);
        return 0;
    case KEY_JSON:
        options->json = true;
        return 0;
    case KEY_ROUNDS:
        options->rounds = strtoul(argument, &end, 10);
        if (*end != '\0' || options->rounds < 5 || options->rounds > 100000) {
            argp_error(state, "--rounds takes a number from 5 to 100000");
        }
        return 0;
    case KEY_THREADS:
        options->threads = strtoul(argument, &end, 10);
        if (*end != '\0' || options->threads < 1 || options->threads > BENCH_THREADS_MAX) {
            argp_error(state, "--threads takes a number from 1 to %d", BENCH_THREADS_MAX);
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int tool_bench(int argc, char **argv)
{
    static const struct argp_option rows_of_help[] = {
        {"group", KEY_GROUP, "NAME", 0, "crypto, send or all (all)", 0},
        {"json", KEY_JSON, NULL, 0, "JSON on standard output", 0},
        {"rounds", KEY_ROUNDS, "N", 0, "batches an arm (200); of 200 messages in crypto, of about 0.3 ms in send", 0},
        {"threads", KEY_THREADS, "N", 0, "threads that run the same arm at the same time (1)", 0},
        {0}};
    static const struct argp argp = {.options = rows_of_help,
                                     .parser = parse,
                                     .doc = "Times one-shot against cached contexts, and the ways to send a list of "
                                            "buffers. Example: paldiff bench --group send --threads 2"};
    struct options options = {.rounds = 200, .threads = 1};
    if (tool_parse(&argp, argc, argv, &options) < argc) {
        return tool_usage("bench takes options only");
    }
    cJSON *json = cJSON_CreateObject();
    cJSON *rows = cJSON_AddArrayToObject(json, "rows");
    size_t num_measured = 0;
    for (size_t i = 0; i < NUM_GROUPS; i++) {
        struct bench bench;
        if ((options.group != NULL && strcmp(options.group, groups[i]->name) != 0) ||
            !bench_measure(&bench, groups[i], options.rounds, options.threads)) {
            continue;
        }
        bench_add_rows(rows, &bench);
        if (!options.json) {
            (void)fputs(num_measured > 0 ? "\n" : "", stdout);
            groups[i]->print(&bench);
        }
        num_measured++;
    }
    if (num_measured == 0) {
        (void)fputs("paldiff: nothing could be measured\n", stderr);
        cJSON_Delete(json);
        return EXIT_SUITE;
    }
    if (options.json) {
        return tool_print_json(json) ? EXIT_HELD : EXIT_SUITE;
    }
    cJSON_Delete(json);
    return EXIT_HELD;
}
