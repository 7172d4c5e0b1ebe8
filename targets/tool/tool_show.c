/* SPDX-License-Identifier: Apache-2.0
 * tool_show.c: one input for a reader: plays it, and chooses what is held against what. It is played in a child first,
 * so that an input that ends the process is shown as far as it goes.
 */
#include "guard.h"
#include "hint.h"
#include "inputs.h"
#include "show.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KEY_JSON = 'J' };

#define SECONDS_PER_PLAY 25u

struct options {
    struct inputs_options inputs;
    bool json;
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct options *options = state->input;
    switch (key) {
    case KEY_JSON:
        options->json = true;
        return 0;
    default:
        return inputs_parse(key, argument, &options->inputs);
    }
}

/* ---- choosing ------------------------------------------------------------------------------------------------------
 */

/* likeness: how well `world` serves to be compared with the left one: it did otherwise where the rule broke, is the
 * same engine's, is the plain one. */
static unsigned likeness(const struct show *show, size_t world)
{
    const struct trace *left = &show->stage->worlds[show->left].trace;
    const struct trace *trace = &show->stage->worlds[world].trace;
    bool differs = show->rule != NULL && show_differ(show, world, show->left, show->verdict->step);
    bool pair = trace->engine == left->engine && trace->mode != left->mode;
    return (differs ? 4u : 0u) + (pair ? 2u : 0u) + (trace->mode == PAL_FRESH ? 1u : 0u);
}

static void choose(struct show *show)
{
    const struct stage *stage = show->stage;
    unsigned best = 0;
    bool chosen = false;
    for (size_t w = 0; show->rule != NULL && w < stage->num_worlds; w++) {
        show->left = &stage->worlds[w].trace == show->verdict->world ? w : show->left;
    }
    show->right = show->left;
    for (size_t w = 0; w < stage->num_worlds; w++) {
        if (w != show->left && (!chosen || likeness(show, w) > best)) {
            show->right = w;
            best = likeness(show, w);
            chosen = true;
        }
    }
    show->first_difference = SHOW_NO_STEP;
    show->bytes_step = SHOW_NO_STEP;
    for (size_t i = 0; i < stage->worlds[show->left].trace.num_steps; i++) {
        bool outputs = !views_equal(show_output(show, show->left, i), show_output(show, show->right, i));
        bool broken = show->rule != NULL && show->verdict->step == i;
        if (show->first_difference == SHOW_NO_STEP && show_differ(show, show->left, show->right, i)) {
            show->first_difference = i;
        }
        if (outputs && (broken || show->bytes_step == SHOW_NO_STEP)) {
            show->bytes_step = i;
        }
    }
}

static bool wants_colour(void)
{
    const char *no = getenv("NO_COLOR");
    const char *terminal = getenv("TERM");
    return isatty(STDOUT_FILENO) == 1 && (no == NULL || no[0] == '\0') && terminal != NULL &&
           strcmp(terminal, "dumb") != 0;
}

/* ---- the command ---------------------------------------------------------------------------------------------------
 */

/* show_ended: an input whose play has no traces, because its process did not live to write them. */
static int show_ended(const struct options *options, const struct input *input, const struct guard_answer *answer)
{
    char text[GUARD_TEXT_MAX];
    char command[HINT_MAX];
    if (answer->end == GUARD_FAILED) {
        (void)fprintf(stderr, "paldiff: %s\n", answer->text);
        return EXIT_SUITE;
    }
    if (options->json) {
        struct cJSON *json = cJSON_CreateObject();
        (void)cJSON_AddStringToObject(json, "file", input->path);
        (void)cJSON_AddStringToObject(json, "target", input->target->name);
        (void)cJSON_AddStringToObject(json, "ended", guard_describe(text, answer));
        return tool_print_json(json) ? EXIT_BROKEN : EXIT_SUITE;
    }
    scenario_print(&input->scenario, stdout);
    (void)printf("\n%s\n", guard_describe(text, answer));
    /* A debugger wants this very program, not what starts it. */
    ssize_t len = readlink("/proc/self/exe", text, sizeof(text) - 1);
    text[len > 0 ? len : 0] = '\0';
    (void)setenv("PALDIFF_COMMAND", hint_path(text), 1);
    (void)printf("  in a debugger: gdb --args %s\n",
                 hint_command(command, "replay --here", inputs_mutant(&options->inputs, input->target),
                              inputs_target_hint(&options->inputs, input), input->path, NULL));
    return EXIT_BROKEN;
}

static int show_played(const struct options *options, const struct input *input)
{
    struct verdict verdict;
    const struct pal_port *port = NULL;
    struct stage *stage = calloc(1, sizeof(*stage));
    const char *mutant = inputs_mutant(&options->inputs, input->target);
    int result = EXIT_SUITE;
    if (stage == NULL || !harness_mutant(&port, input->target, mutant) || !stage_init(stage, input->target, port)) {
        free(stage);
        return EXIT_SUITE;
    }
    stage->scenario = input->scenario;
    const struct rule *rule = stage_play(stage, &verdict);
    struct show show = {.stage = stage,
                        .path = hint_path(input->path),
                        .mutant = mutant,
                        .rule = rule,
                        .verdict = &verdict,
                        .colour = wants_colour()};
    choose(&show);
    result = rule != NULL ? EXIT_BROKEN : EXIT_HELD;
    if (options->json) {
        result = tool_print_json(show_json(&show)) ? result : EXIT_SUITE;
    } else {
        show_text(&show, stdout);
    }
    stage_deinit(stage);
    free(stage);
    return result;
}

static int show_input(const struct options *options, const struct input *input)
{
    static struct guard_answer answer;
    struct guard guard;
    guard_init(&guard, input->target, inputs_mutant(&options->inputs, input->target), SECONDS_PER_PLAY);
    guard_play(&guard, &input->scenario, &answer);
    (void)guard_deinit(&guard);
    if (answer.end != GUARD_HELD && answer.end != GUARD_RULE) {
        return show_ended(options, input, &answer);
    }
    return show_played(options, input);
}

int tool_show(int argc, char **argv)
{
    static const struct argp_option rows[] = {
        INPUTS_ROWS, {"json", KEY_JSON, NULL, 0, "every world's steps as JSON", 0}, {0}};
    static const struct argp argp = {.options = rows,
                                     .parser = parse,
                                     .args_doc = "FILE",
                                     .doc = "Prints what an input does, two worlds side by side. Example: paldiff show "
                                            "corpus/seeds/send/short-then-rest.txt"};
    static struct input input;
    struct options options = {0};
    int at = tool_parse(&argp, argc, argv, &options);
    if (at != argc - 1) {
        return tool_usage("show takes one file");
    }
    int result = input_read(&input, &options.inputs, argv[at]);
    result = result == EXIT_HELD ? show_input(&options, &input) : result;
    input_deinit(&input);
    return result;
}
