/* SPDX-License-Identifier: Apache-2.0
 * tool_keep.c: makes an input a committed text scenario, which is a test from then on: `paldiff replay` plays the
 * corpus, and with --kept each scenario also with the mutant that it names. It refuses whatever would spoil the corpus.
 */
#include "hint.h"
#include "kept.h"
#include "run.h"
#include "seeds.h"

#include <string.h>
#include <unistd.h>

enum { KEY_AS = 'a', KEY_REASON = 'r', KEY_CORPUS = 'c' };

#define NAME_LEN_MAX 60u
#define SECONDS_PER_PLAY 25u

struct options {
    struct inputs_options inputs;
    const char *as;
    const char *reason;
    const char *corpus;
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct options *options = state->input;
    switch (key) {
    case KEY_AS:
        options->as = argument;
        return 0;
    case KEY_REASON:
        options->reason = argument;
        return 0;
    case KEY_CORPUS:
        options->corpus = argument;
        return 0;
    default:
        return inputs_parse(key, argument, &options->inputs);
    }
}

/* is_name: as the corpus names its files: words of lower-case letters and digits with single dashes between. */
static bool is_name(const char *name)
{
    size_t len = strlen(name);
    bool good = len > 0 && len <= NAME_LEN_MAX && name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-")] == '\0';
    return good && name[0] != '-' && name[len - 1] != '-' && strstr(name, "--") == NULL;
}

static bool is_line(const char *text)
{
    for (const char *at = text; *at != '\0'; at++) {
        if (*at < ' ' || *at > '~') {
            return false;
        }
    }
    return strlen(text) < KEPT_TEXT_MAX && text[0] != '\0';
}

/* fits: as bytes it means the same; if it is no longer than what the target is fuzzed with, it is a seed as well. */
static int fits(const struct input *input)
{
    static uint8_t bytes[SCENARIO_INPUT_MAX];
    size_t num = seeds_encode(bytes, &input->scenario, input->path);
    if (num == 0) {
        return EXIT_USAGE;
    }
    if (num > input->target->input_len_max) {
        (void)fprintf(stderr,
                      "paldiff: %s takes %zu bytes, more than the %zu that target %s is fuzzed with: kept for replay "
                      "alone; shrinking it may make it a seed as well\n",
                      input->path, num, input->target->input_len_max, input->target->name);
    }
    return EXIT_HELD;
}

static int keep(const struct options *options, const struct input *input)
{
    static struct guard_answer answer;
    struct kept kept;
    char dir[RUN_PATH_MAX];
    char path[RUN_PATH_MAX];
    char text[GUARD_TEXT_MAX];
    char command[HINT_MAX];
    if (!run_path(dir, "%s/regress/%s", options->corpus, input->target->name) ||
        !run_path(path, "%s/%s.txt", dir, options->as)) {
        return EXIT_USAGE;
    }
    if (access(path, F_OK) == 0) {
        return tool_usage("%s exists already: choose another name", hint_path(path));
    }
    kept_read(&kept, (struct pal_view){input->data, input->len});
    /* Its own word, unless another mutant is asked for. */
    const char *mutant = inputs_mutant(&options->inputs, input->target);
    mutant = mutant == NULL && kept.mutant[0] != '\0' ? kept.mutant : mutant;
    guard_play_once(&answer, input->target, mutant, SECONDS_PER_PLAY, &input->scenario);
    if (answer.end == GUARD_FAILED) {
        (void)fprintf(stderr, "paldiff: %s\n", answer.text);
        return EXIT_SUITE;
    }
    kept_fill(&kept, input, mutant, &answer);
    if (options->reason != NULL) {
        (void)snprintf(kept.reason, sizeof(kept.reason), "%s", options->reason);
    }
    if (!run_make_dir(dir) || !kept_write(path, &kept, &input->scenario, false)) {
        return EXIT_SUITE;
    }
    (void)printf("kept: %s\n  %s%s%s\n", hint_path(path), guard_describe(text, &answer),
                 mutant != NULL ? ", with mutant " : "", mutant != NULL ? mutant : "");
    (void)printf("  from now on played by: %s\n",
                 hint_command(command, "replay", NULL, NULL, options->corpus, "--kept"));
    return EXIT_HELD;
}

int tool_keep(int argc, char **argv)
{
    static const struct argp_option rows[] = {
        INPUTS_ROWS,
        {"as", KEY_AS, "NAME", 0, "what it shows, in small letters: short-write-then-end", 0},
        {"reason", KEY_REASON, "TEXT", 0, "one line for whoever reads it later", 0},
        {"corpus", KEY_CORPUS, "DIR", 0, "instead of the source tree's, or $PALDIFF_CORPUS", 0},
        {0}};
    static const struct argp argp = {.options = rows,
                                     .parser = parse,
                                     .args_doc = "FILE",
                                     .doc =
                                         "Makes an input a test: writes it as text to corpus/regress/TARGET/NAME.txt. "
                                         "Example: paldiff keep FILE --as short-write-then-end --reason 'issue 12'"};
    static struct input input;
    struct options options = {.corpus = tool_corpus()};
    int at = tool_parse(&argp, argc, argv, &options);
    if (at != argc - 1 || options.as == NULL) {
        return tool_usage("keep takes one file, and --as NAME");
    }
    if (!is_name(options.as)) {
        return tool_usage("%s is no name: small letters and digits, with single dashes between, at most %u", options.as,
                          NAME_LEN_MAX);
    }
    if (options.reason != NULL && !is_line(options.reason)) {
        return tool_usage("--reason takes one line of plain text, shorter than %u", KEPT_TEXT_MAX);
    }
    int result = input_read(&input, &options.inputs, argv[at]);
    result = result == EXIT_HELD ? fits(&input) : result;
    result = result == EXIT_HELD ? keep(&options, &input) : result;
    input_deinit(&input);
    return result;
}
