/* SPDX-License-Identifier: Apache-2.0
 * tool_show.c: one input for a reader: the scenario as text, then each step in every world, the first difference
 * marked.
 */
#include "tool.h"

#include <stdlib.h>
#include <string.h>

enum { KEY_MUTANT = 'm', KEY_TARGET = 't' };

#define SHOWN_BYTES 16u

struct options {
    const char *mutant;
    const char *target;
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct options *options = state->input;
    switch (key) {
    case KEY_MUTANT:
        options->mutant = argument;
        return 0;
    case KEY_TARGET:
        options->target = argument;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void print_world(const struct trace *trace, size_t index)
{
    const struct trace_step *step = &trace->steps[index];
    (void)printf("    %-16s %-13s", trace->name, pal_status_name(step->status));
    for (size_t i = 0; i < step->out_len && i < SHOWN_BYTES && i < step->out.len; i++) {
        (void)printf("%02x", step->out.data[i]);
    }
    if (step->out_len > SHOWN_BYTES) {
        (void)printf(".. (%zu bytes)", step->out_len);
    }
    for (size_t fact = FACT_ALLOCATIONS; fact < NUM_FACTS; fact++) {
        if (step->facts[fact] != 0) {
            (void)printf(" %s=%u", trace_fact_name((enum trace_fact)fact), step->facts[fact]);
        }
    }
    (void)putchar('\n');
}

static void print_steps(const struct stage *stage, const struct rule *rule, const struct verdict *verdict)
{
    const struct trace *first = &stage->worlds[0].trace;
    for (size_t i = 0; i < first->num_steps; i++) {
        (void)printf("%s %2zu  thread %u  ", rule != NULL && verdict->step == i ? ">>" : "  ", i + 1,
                     first->steps[i].thread);
        if (i < stage->scenario.num_steps) {
            scenario_print_step(&stage->scenario, i, stdout);
        } else {
            (void)fputs(first->steps[i].role == ROLE_END ? "(end, all dropped)" : "(closing message)", stdout);
        }
        (void)putchar('\n');
        for (size_t w = 0; first->steps[i].role != ROLE_OTHER && w < stage->num_worlds; w++) {
            print_world(&stage->worlds[w].trace, i);
        }
    }
}

int tool_show(int argc, char **argv)
{
    static const struct argp_option rows[] = {
        {"mutant", KEY_MUTANT, "NAME", 0, "plant a bug in the first engine's port", 0},
        {"target", KEY_TARGET, "NAME", 0, "target of an input that is bytes", 0},
        {0}};
    static const struct argp argp = {.options = rows,
                                     .parser = parse,
                                     .args_doc = "FILE",
                                     .doc = "Prints what an input does. Example: paldiff show FILE"};
    struct options options = {0};
    struct verdict verdict;
    const struct pal_port *port = NULL;
    uint8_t *data = NULL;
    size_t len = 0;
    int result = EXIT_USAGE;
    int at = tool_parse(&argp, argc, argv, &options);
    struct stage *stage = calloc(1, sizeof(*stage));
    if (at != argc - 1 || stage == NULL) {
        free(stage);
        return tool_usage("show takes one file");
    }
    if (!harness_read(argv[at], &data, &len)) {
        free(stage);
        return EXIT_USAGE;
    }
    const struct mutant *mutant = options.mutant != NULL ? mutant_find(options.mutant) : NULL;
    const char *wanted = options.target != NULL ? options.target : (mutant != NULL ? mutant->area : "");
    const struct target *target = harness_target_of(argv[at], (struct pal_view){data, len}, wanted);
    if (target == NULL) {
        result = tool_usage("%s belongs to no known target; say --target NAME", argv[at]);
    } else if (harness_mutant(&port, target, options.mutant)) {
        result = stage_init(stage, target, port) ? EXIT_HELD : EXIT_SUITE;
        if (result == EXIT_HELD && harness_load(stage, argv[at], (struct pal_view){data, len})) {
            const struct rule *rule = stage_play(stage, &verdict);
            scenario_print(&stage->scenario, stdout);
            (void)putchar('\n');
            print_steps(stage, rule, &verdict);
            (void)putchar('\n');
            if (rule != NULL) {
                harness_report(stdout, stage, rule, &verdict);
                result = EXIT_BROKEN;
            } else {
                (void)puts("all rules held");
            }
        } else {
            result = EXIT_USAGE;
        }
        stage_deinit(stage);
    }
    free(data);
    free(stage);
    return result;
}
