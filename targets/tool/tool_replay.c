/* SPDX-License-Identifier: Apache-2.0
 * tool_replay.c: plays inputs again, text or bytes. Every input is played several times, once more after the others in
 * another order, and with --fresh in a process of its own; all must leave the same traces. Inputs are played in a child
 * (guard.h): one that crashes is a finding, and the others are still played.
 */
#include "replay.h"

#include "hint.h"
#include "kept.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    KEY_RUNS = 'r',
    KEY_FRESH = 'f',
    KEY_HASHES = 'h',
    KEY_ALL_RULES = 'a',
    KEY_KEPT = 'k',
    KEY_HERE = 'H',
    KEY_JSON = 'J',
    KEY_JUNIT = 'U',
    KEY_SARIF = 'S'
};

#define SECONDS_PER_PLAY 25u

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct replay_options *options = state->input;
    char *end = NULL;
    switch (key) {
    case KEY_RUNS:
        options->runs = strtoul(argument, &end, 10);
        if (argument[0] < '0' || argument[0] > '9' || *end != '\0' || options->runs == 0) {
            argp_error(state, "--runs takes a number from 1");
        }
        return 0;
    case KEY_FRESH:
        options->fresh = true;
        return 0;
    case KEY_HASHES:
        options->hashes = true;
        return 0;
    case KEY_ALL_RULES:
        options->all_rules = true;
        return 0;
    case KEY_KEPT:
        options->kept = true;
        return 0;
    case KEY_HERE:
        options->here = true;
        return 0;
    case KEY_JSON:
        options->json = true;
        return 0;
    case KEY_JUNIT:
        options->junit = argument;
        return 0;
    case KEY_SARIF:
        options->sarif = argument;
        return 0;
    default:
        return inputs_parse(key, argument, &options->inputs);
    }
}

/* ---- playing -------------------------------------------------------------------------------------------------------
 */

/* play: with what the rules compared added up. */
static void play(struct replay *replay, const struct replay_case *one, struct guard_answer *out)
{
    size_t index = tool_target_row(one->input.target);
    guard_play(&replay->guards[index], &one->input.scenario, out);
    for (size_t r = 0; r < NUM_RULES; r++) {
        replay->counts[index][r] += out->counts[r];
    }
    replay->played[index] = true;
}

static void unstable(struct replay_case *one, const char *when)
{
    (void)fprintf(stderr, "paldiff: %s does not replay exactly %s\n", one->input.path, when);
    one->inexact = when;
}

/* first_plays: `runs` plays in a row, judged once. */
static bool first_plays(struct replay *replay, struct replay_case *one)
{
    for (unsigned long run = 0; run < replay->options->runs && one->inexact == NULL; run++) {
        play(replay, one, &replay->answer);
        if (replay->answer.end == GUARD_FAILED) {
            (void)fprintf(stderr, "paldiff: %s\n", replay->answer.text);
            return false;
        }
        if (run > 0 && replay->answer.hash != one->hash) {
            unstable(one, "in one process");
        }
        one->hash = replay->answer.hash;
        if (replay->answer.end > GUARD_RULE) {
            break;
        }
    }
    if (replay->answer.end != GUARD_HELD) {
        one->answer = malloc(sizeof(*one->answer));
        if (one->answer == NULL) {
            return false;
        }
        *one->answer = replay->answer;
    }
    return true;
}

/* has_trace: an input that ended the process has no trace to compare. */
static bool has_trace(const struct replay_case *one)
{
    return one->answer == NULL || one->answer->end == GUARD_RULE;
}

/* other_order: once more, in an order that has nothing to do with the first (a step coprime to the number). */
static void other_order(struct replay *replay)
{
    size_t num = replay->num_cases;
    size_t stride = 7;
    while (num % stride == 0) {
        stride += 2;
    }
    for (size_t i = 0; i < num; i++) {
        struct replay_case *one = &replay->cases[(num - 1 - i) * stride % num];
        if (has_trace(one)) {
            play(replay, one, &replay->answer);
            if (replay->answer.hash != one->hash) {
                unstable(one, "after other inputs");
            }
        }
    }
}

/* fresh_process: in a child that has played nothing before. */
static void fresh_process(struct replay *replay, struct replay_case *one)
{
    const struct target *target = one->input.target;
    guard_play_once(&replay->answer, target, inputs_mutant(&replay->options->inputs, target), SECONDS_PER_PLAY,
                    &one->input.scenario);
    if (has_trace(one) && replay->answer.hash != one->hash) {
        unstable(one, "in a fresh process");
    }
}

/* kept_play: a scenario that was kept with a mutant still breaks its rule with it. */
static void kept_play(struct replay *replay, struct replay_case *one)
{
    struct kept kept;
    char text[GUARD_TEXT_MAX];
    char rule[KEPT_TEXT_MAX] = "";
    kept_read(&kept, (struct pal_view){one->input.data, one->input.len});
    if (kept.mutant[0] == '\0') {
        return;
    }
    guard_play_once(&replay->answer, one->input.target, kept.mutant, SECONDS_PER_PLAY, &one->input.scenario);
    if (replay->answer.end == GUARD_RULE) {
        const struct rule *broken = &rules[replay->answer.rule];
        (void)snprintf(rule, sizeof(rule), "%s.%s", broken->area, broken->name);
    }
    /* A finding without a rule ended the process; how, differs between builds. */
    bool ended = kept.rule[0] == '(' && replay->answer.end != GUARD_HELD && replay->answer.end != GUARD_FAILED;
    if (strcmp(rule, kept.rule) != 0 && !ended) {
        (void)snprintf(one->unseen, sizeof(one->unseen), "with mutant %.100s it breaks %.100s, and not %.200s",
                       kept.mutant, rule[0] != '\0' ? rule : guard_describe(text, &replay->answer),
                       kept.rule[0] != '\0' ? kept.rule : "any rule, by its own comments");
    }
    replay->num_kept++;
}

static struct replay_extra *add_extra(struct replay *replay, const struct target *target, const char *kind)
{
    struct replay_extra *extra = &replay->extras[replay->num_extras++];
    extra->target = target;
    extra->kind = kind;
    return extra;
}

/* find_vacuous: rules of the played targets that compared nothing. */
static void find_vacuous(struct replay *replay)
{
    for (size_t i = 0; i < num_targets; i++) {
        for (size_t r = 0; replay->played[i] && r < NUM_RULES; r++) {
            if (rule_binds(&rules[r], targets[i]->name) && replay->counts[i][r] == 0) {
                struct replay_extra *extra = add_extra(replay, targets[i], "vacuous");
                (void)snprintf(extra->summary, sizeof(extra->summary),
                               "%s.%s: no input of target %s gives it anything to compare", rules[r].area,
                               rules[r].name, targets[i]->name);
            }
        }
    }
}

static bool play_all(struct replay *replay)
{
    const struct replay_options *options = replay->options;
    for (size_t i = 0; i < num_targets; i++) {
        guard_init(&replay->guards[i], targets[i], inputs_mutant(&options->inputs, targets[i]), SECONDS_PER_PLAY);
        replay->guards[i].here = options->here;
    }
    for (size_t i = 0; i < replay->num_cases; i++) {
        double started = tool_now();
        if (!first_plays(replay, &replay->cases[i])) {
            return false;
        }
        if (options->fresh) {
            fresh_process(replay, &replay->cases[i]);
        }
        if (options->kept && options->inputs.mutant == NULL) {
            kept_play(replay, &replay->cases[i]);
        }
        replay->cases[i].seconds = tool_now() - started;
    }
    other_order(replay);
    if (options->all_rules) {
        find_vacuous(replay);
    }
    for (size_t i = 0; i < num_targets; i++) {
        if (!guard_deinit(&replay->guards[i])) {
            struct replay_extra *extra = add_extra(replay, targets[i], "leak");
            (void)snprintf(extra->summary, sizeof(extra->summary),
                           "the process that played target %s did not end well: see above", targets[i]->name);
        }
    }
    return true;
}

/* ---- the command ---------------------------------------------------------------------------------------------------
 */

static bool add_files(char ***files, size_t *num, const char *path)
{
    char **more = NULL;
    size_t num_more = 0;
    bool good = tool_files(path, &more, &num_more);
    char **grown = realloc(*files, (*num + num_more + 1) * sizeof(*grown));
    if (grown == NULL) {
        tool_files_free(more, num_more);
        return false;
    }
    *files = grown;
    if (num_more > 0) {
        memcpy(grown + *num, more, num_more * sizeof(*more));
    }
    *num += num_more;
    free(more);
    return good;
}

static int replay_files(struct replay *replay, char **files, size_t num)
{
    int result = EXIT_HELD;
    if (num == 0) {
        (void)fputs("paldiff: nothing ran: name files or folders of inputs\n", stderr);
        return EXIT_NOTHING_RAN;
    }
    replay->cases = calloc(num, sizeof(*replay->cases));
    replay->extras = calloc(num_targets * (NUM_RULES + 1), sizeof(*replay->extras));
    for (size_t i = 0; replay->cases != NULL && replay->extras != NULL && i < num; i++) {
        result = input_read(&replay->cases[replay->num_cases++].input, &replay->options->inputs, files[i]);
        if (result != EXIT_HELD) {
            return result;
        }
    }
    if (replay->num_cases < num || !play_all(replay)) {
        return EXIT_SUITE;
    }
    return replay_tell(replay);
}

static void replay_deinit(struct replay *replay)
{
    for (size_t i = 0; i < replay->num_cases; i++) {
        input_deinit(&replay->cases[i].input);
        free(replay->cases[i].answer);
    }
    free(replay->cases);
    free(replay->extras);
}

int tool_replay(int argc, char **argv)
{
    static const struct argp_option rows[] = {
        INPUTS_ROWS,
        {"runs", KEY_RUNS, "N", 0, "plays in a row (2)", 0},
        {"fresh", KEY_FRESH, NULL, 0, "each input in a process of its own as well", 0},
        {"hashes", KEY_HASHES, NULL, 0, "print each input's trace hash, to compare builds", 0},
        {"all-rules", KEY_ALL_RULES, NULL, 0, "a rule that compared nothing in all inputs is red", 0},
        {"kept", KEY_KEPT, NULL, 0, "an input that names a mutant must also break its rule with it", 0},
        {"here", KEY_HERE, NULL, 0, "play in this process: for a debugger", 0},
        {"json", KEY_JSON, NULL, 0, "the findings on standard output", 0},
        {"junit", KEY_JUNIT, "FILE", 0, "every input as a JUnit test case", 0},
        {"sarif", KEY_SARIF, "FILE", 0, "the findings as SARIF 2.1.0", 0},
        {0}};
    static const struct argp argp = {.options = rows,
                                     .parser = parse,
                                     .args_doc = "FILE|DIR...",
                                     .doc = "Plays inputs again. Example: paldiff replay corpus/seeds"};
    static struct replay replay;
    static struct replay_options options = {.runs = 2};
    int result = EXIT_HELD;
    char **files = NULL;
    size_t num = 0;
    int first = tool_parse(&argp, argc, argv, &options);
    replay.options = &options;
    for (int i = first; result == EXIT_HELD && i < argc; i++) {
        result = add_files(&files, &num, argv[i]) ? EXIT_HELD : EXIT_USAGE;
    }
    result = result == EXIT_HELD ? replay_files(&replay, files, num) : result;
    replay_deinit(&replay);
    tool_files_free(files, num);
    return result;
}
