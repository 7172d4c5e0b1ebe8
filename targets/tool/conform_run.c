/* SPDX-License-Identifier: Apache-2.0
 * conform_run.c: the order of a conformance run: what the port declares, the suite's own proof that it would see bugs,
 * then target by target the committed corpus and what is made up.
 */
#include "conform.h"

#include "inputs.h"
#include "run.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the suite's own proof -----------------------------------------------------------------------------------------
 */

/* is_caught: the planted bug is seen by its rule, on its witness; a control by none. */
static bool is_caught(const struct conform *conform, const struct mutant *mutant)
{
    static struct guard_answer answer;
    static struct input input;
    const struct inputs_options options = {0};
    char path[CONFORM_PATH_MAX];
    bool caught = false;
    if (run_path(path, "%s/seeds/%s/%s.txt", tool_corpus(), mutant->area, mutant->witness) &&
        input_read(&input, &options, path) == EXIT_HELD) {
        guard_play_once(&answer, target_find(mutant->area), mutant->name, conform->limits.seconds, &input.scenario);
        const struct rule *rule = answer.end == GUARD_RULE ? &rules[answer.rule] : NULL;
        caught = mutant->rule[0] == '\0' ? answer.end == GUARD_HELD : rule != NULL && rule == rule_find(mutant->rule);
    }
    input_deinit(&input);
    return caught;
}

/* prove: of the targets that the port plays; at the lowest level one bug of each. */
static void prove(struct conform *conform)
{
    for (size_t i = 0; i < num_mutants; i++) {
        size_t row = 0;
        while (row < num_targets && strcmp(targets[row]->name, mutants[i].area) != 0) {
            row++;
        }
        bool wanted = row < num_targets && conform->declared.targets[row] && mutants[i].rule[0] != '\0' &&
                      (conform->level != LEVEL_SMOKE || strcmp(mutants[i].name, targets[row]->alarm_mutant) == 0);
        if (!wanted) {
            continue;
        }
        conform->num_planted++;
        if (is_caught(conform, &mutants[i])) {
            conform->num_caught++;
        } else if (conform->uncaught[0] == '\0') {
            (void)snprintf(conform->uncaught, sizeof(conform->uncaught), "%s", mutants[i].name);
        }
    }
}

/* ---- corpus --------------------------------------------------------------------------------------------------------
 */

static uint64_t hash_add(uint64_t hash, const void *data, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        hash = (hash ^ ((const uint8_t *)data)[i]) * 0x100000001b3u;
    }
    return hash;
}

/* read_corpus: all of the target's; false, with a line on stderr. The inputs' paths are `files`. */
static bool read_corpus(struct conform *conform, const struct target *target, struct input **out, char ***files,
                        size_t *num)
{
    const struct inputs_options options = {0};
    bool good = tool_corpus_files(target, files, num);
    *out = good && *num > 0 ? calloc(*num, sizeof(**out)) : NULL;
    good = good && *out != NULL;
    for (size_t i = 0; good && i < *num; i++) {
        good = input_read(&(*out)[i], &options, (*files)[i]) == EXIT_HELD;
        if (good) {
            const char *name = strrchr((*files)[i], '/') + 1;
            conform->corpus_hash = hash_add(conform->corpus_hash, name, strlen(name));
            conform->corpus_hash = hash_add(conform->corpus_hash, (*out)[i].data, (*out)[i].len);
            conform->corpus_files++;
        }
    }
    if (!good) {
        (void)fprintf(stderr, "paldiff: the corpus of %s, in %s, cannot be read; PALDIFF_CORPUS names another folder\n",
                      target->name, tool_corpus());
    }
    return good;
}

static void free_corpus(struct input *corpus, char **files, size_t num)
{
    for (size_t i = 0; corpus != NULL && i < num; i++) {
        input_deinit(&corpus[i]);
    }
    free(corpus);
    tool_files_free(files, num);
}

static void tell_progress(const struct conform_tally *tally)
{
    if (isatty(STDERR_FILENO) != 0) {
        (void)fprintf(stderr, "paldiff: conform: %s\n", tally->target->name);
    }
}

static bool run_target(struct conform *conform, size_t index)
{
    struct input *corpus = NULL;
    char **files = NULL;
    size_t num = 0;
    conform_add_target(conform, targets[index]);
    struct conform_tally *tally = &conform->tallies[conform->num_tallies - 1];
    bool good = read_corpus(conform, targets[index], &corpus, &files, &num);
    if (good && tally->declared) {
        tell_progress(tally);
        good = conform_play_target(conform, corpus, num);
    }
    free_corpus(corpus, files, num);
    return good;
}

/* ask: what it declares. False when there is nothing to go on with, and what broke is noted. */
static bool ask(struct conform *conform)
{
    struct conform_break broken;
    enum conform_end end = conform_probe(&conform->source, conform->limits, conform->note, &broken);
    conform->declared = conform->note->declared;
    conform->failed |= end == CONFORM_FAILED;
    for (size_t r = CONFORM_LOADS; r <= CONFORM_COMPLETE; r++) {
        bool known = end == CONFORM_HELD || (broken.is_port_rule && r < broken.rule && broken.rule <= CONFORM_COMPLETE);
        conform->rows[r].compared = known ? 1 : 0;
    }
    if (end == CONFORM_BROKEN) {
        struct conform_row *row = &conform->rows[broken.rule];
        row->first = broken;
        row->num_broken = 1;
        row->compared = 1;
        conform_command(row->command, conform, NULL);
    }
    return end == CONFORM_HELD;
}

bool conform_run(struct conform *conform)
{
    conform->corpus_hash = 0xcbf29ce484222325u;
    if (!conform_start(conform)) {
        return false;
    }
    if (ask(conform)) {
        prove(conform);
        for (size_t i = 0; i < num_targets && !conform->failed; i++) {
            conform->failed |= !run_target(conform, i);
        }
    }
    conform_settle(conform);
    return !conform->failed;
}

int conform_play_files(struct conform *conform, size_t num, char *const files[])
{
    const struct inputs_options options = {0};
    struct input *inputs = calloc(num, sizeof(*inputs));
    conform->files_only = true;
    int result = inputs != NULL && conform_start(conform) ? EXIT_HELD : EXIT_SUITE;
    for (size_t i = 0; result == EXIT_HELD && i < num; i++) {
        result = input_read(&inputs[i], &options, files[i]);
    }
    if (result == EXIT_HELD && ask(conform)) {
        for (size_t i = 0; i < num_targets && !conform->failed; i++) {
            bool asked = false;
            for (size_t j = 0; j < num; j++) {
                asked |= inputs[j].target == targets[i];
            }
            if (asked) {
                conform_add_target(conform, targets[i]);
                if (conform->declared.targets[i]) {
                    (void)conform_play_target(conform, inputs, num);
                }
            }
        }
    }
    for (size_t i = 0; inputs != NULL && i < num; i++) {
        input_deinit(&inputs[i]);
    }
    free(inputs);
    conform_settle(conform);
    return result == EXIT_HELD && conform->failed ? EXIT_SUITE : result;
}
