/* SPDX-License-Identifier: Apache-2.0
 * tool_replay.c: plays inputs again, text or bytes. Every input is played several times, once more after the others in
 * another order, and with --fresh in a process of its own; all must leave the same traces.
 */
#include "tool.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { KEY_MUTANT = 'm', KEY_TARGET = 't', KEY_RUNS = 'r', KEY_FRESH = 'f', KEY_HASHES = 'h', KEY_ALL_RULES = 'a' };

struct options {
    const char *mutant;
    const char *target;
    unsigned long runs;
    bool fresh;
    bool hashes;
    bool all_rules;
};

/* input: one file; `hash` of its first play. */
struct input {
    const char *path;
    const struct target *target;
    uint8_t *data;
    size_t len;
    uint64_t hash;
};

/* session: one stage per target, opened when first needed. */
struct session {
    const struct options *options;
    struct stage *stages[8];
    size_t num_inputs;
    struct input *inputs;
    size_t num_broken;
    size_t num_unstable;
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct options *options = state->input;
    char *end = NULL;
    switch (key) {
    case KEY_MUTANT:
        options->mutant = argument;
        return 0;
    case KEY_TARGET:
        options->target = argument;
        return 0;
    case KEY_RUNS:
        options->runs = strtoul(argument, &end, 10);
        if (*end != '\0' || options->runs == 0) {
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
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* stage_of: NULL when the stage cannot be opened. A mutant is planted in its own target only. */
static struct stage *stage_of(struct session *session, const struct target *target)
{
    size_t index = 0;
    const struct pal_port *port = NULL;
    const struct mutant *mutant = session->options->mutant != NULL ? mutant_find(session->options->mutant) : NULL;
    while (targets[index] != target) {
        index++;
    }
    if (session->stages[index] == NULL) {
        struct stage *stage = calloc(1, sizeof(*stage));
        const char *name = mutant != NULL && strcmp(mutant->area, target->name) == 0 ? mutant->name : NULL;
        if (stage == NULL || !harness_mutant(&port, target, name) || !stage_init(stage, target, port)) {
            free(stage);
            return NULL;
        }
        session->stages[index] = stage;
    }
    return session->stages[index];
}

/* play: false when the input is refused or the stage cannot be opened. */
static bool play(struct session *session, const struct input *input, uint64_t *out_hash, const struct rule **out_rule,
                 struct verdict *verdict)
{
    struct stage *stage = stage_of(session, input->target);
    if (stage == NULL || !harness_load(stage, input->path, (struct pal_view){input->data, input->len})) {
        return false;
    }
    *out_rule = stage_play(stage, verdict);
    *out_hash = stage_hash(stage);
    return true;
}

static void unstable(struct session *session, const struct input *input, const char *when)
{
    (void)fprintf(stderr, "paldiff: %s does not replay exactly %s\n", input->path, when);
    session->num_unstable++;
}

/* first_plays: `runs` plays in a row, judged once. */
static bool first_plays(struct session *session, struct input *input)
{
    struct verdict verdict;
    const struct rule *rule = NULL;
    for (unsigned long run = 0; run < session->options->runs; run++) {
        uint64_t hash = 0;
        if (!play(session, input, &hash, &rule, &verdict)) {
            return false;
        }
        if (run > 0 && hash != input->hash) {
            unstable(session, input, "in one process");
            break;
        }
        input->hash = hash;
    }
    if (rule != NULL) {
        session->num_broken++;
        (void)printf("BROKEN %s\n", input->path);
        harness_report(stdout, stage_of(session, input->target), rule, &verdict);
    }
    if (session->options->hashes) {
        const char *name = strrchr(input->path, '/');
        (void)printf("%016" PRIx64 " %s/%s\n", input->hash, input->target->name, name != NULL ? name + 1 : input->path);
    }
    return true;
}

/* other_order: once more, in an order that has nothing to do with the first (a step coprime to the number). */
static bool other_order(struct session *session)
{
    size_t num = session->num_inputs;
    size_t stride = 7;
    while (num % stride == 0) {
        stride += 2;
    }
    for (size_t i = 0; i < num; i++) {
        const struct input *input = &session->inputs[(num - 1 - i) * stride % num];
        struct verdict verdict;
        const struct rule *rule = NULL;
        uint64_t hash = 0;
        if (!play(session, input, &hash, &rule, &verdict)) {
            return false;
        }
        if (hash != input->hash) {
            unstable(session, input, "after other inputs");
        }
    }
    return true;
}

/* fresh_process: in a child that has not started an engine yet. */
static bool fresh_process(const struct options *options, const struct input *input, uint64_t *out_hash)
{
    int ends[2];
    if (pipe(ends) != 0) {
        return false;
    }
    pid_t child = fork();
    if (child == 0) {
        struct session session = {.options = options};
        struct verdict verdict;
        const struct rule *rule = NULL;
        uint64_t hash = 0;
        bool good = play(&session, input, &hash, &rule, &verdict);
        good = good && write(ends[1], &hash, sizeof(hash)) == (ssize_t)sizeof(hash);
        _exit(good ? EXIT_HELD : EXIT_SUITE);
    }
    (void)close(ends[1]);
    int status = 0;
    bool good = child > 0 && read(ends[0], out_hash, sizeof(*out_hash)) == (ssize_t)sizeof(*out_hash);
    (void)close(ends[0]);
    return child > 0 && waitpid(child, &status, 0) == child && good && status == 0;
}

static int load_inputs(struct session *session, char **files, size_t num)
{
    const struct options *options = session->options;
    const struct mutant *mutant = options->mutant != NULL ? mutant_find(options->mutant) : NULL;
    const char *wanted = options->target != NULL ? options->target : (mutant != NULL ? mutant->area : "");
    session->inputs = calloc(num > 0 ? num : 1, sizeof(*session->inputs));
    for (size_t i = 0; session->inputs != NULL && i < num; i++) {
        struct input *input = &session->inputs[session->num_inputs++];
        input->path = files[i];
        if (!harness_read(files[i], &input->data, &input->len)) {
            return EXIT_USAGE;
        }
        input->target = harness_target_of(files[i], (struct pal_view){input->data, input->len}, wanted);
        if (input->target == NULL) {
            return tool_usage("%s belongs to no known target; say --target NAME", files[i]);
        }
    }
    return session->inputs != NULL ? EXIT_HELD : EXIT_SUITE;
}

/* vacuous_rules: rules of the played targets that compared nothing. */
static size_t vacuous_rules(const struct session *session)
{
    size_t num = 0;
    for (size_t i = 0; i < num_targets; i++) {
        for (size_t r = 0; session->stages[i] != NULL && r < NUM_RULES; r++) {
            if (rule_binds(&rules[r], targets[i]->name) && session->stages[i]->rule_counts[r] == 0) {
                (void)printf("VACUOUS %s.%s: no input of target %s gives it anything to compare\n", rules[r].area,
                             rules[r].name, targets[i]->name);
                num++;
            }
        }
    }
    return num;
}

static int play_all(struct session *session)
{
    size_t num_vacuous = 0;
    uint64_t *fresh = calloc(session->num_inputs, sizeof(*fresh));
    bool good = fresh != NULL;
    /* Children first: this process has no engine yet. */
    for (size_t i = 0; good && session->options->fresh && i < session->num_inputs; i++) {
        good = fresh_process(session->options, &session->inputs[i], &fresh[i]);
    }
    for (size_t i = 0; good && i < session->num_inputs; i++) {
        good = first_plays(session, &session->inputs[i]);
        if (good && session->options->fresh && fresh[i] != session->inputs[i].hash) {
            unstable(session, &session->inputs[i], "in a fresh process");
        }
    }
    good = good && other_order(session);
    free(fresh);
    if (!good) {
        return EXIT_USAGE;
    }
    num_vacuous = session->options->all_rules ? vacuous_rules(session) : 0;
    (void)fprintf(stderr, "%zu inputs played, %zu broken, %zu not exact, %zu rules vacuous\n", session->num_inputs,
                  session->num_broken, session->num_unstable, num_vacuous);
    if (session->num_unstable > 0) {
        return EXIT_SUITE;
    }
    return session->num_broken > 0 || num_vacuous > 0 ? EXIT_BROKEN : EXIT_HELD;
}

static void session_deinit(struct session *session)
{
    for (size_t i = 0; i < num_targets; i++) {
        if (session->stages[i] != NULL) {
            stage_deinit(session->stages[i]);
            free(session->stages[i]);
        }
    }
    for (size_t i = 0; i < session->num_inputs; i++) {
        free(session->inputs[i].data);
    }
    free(session->inputs);
}

int tool_replay(int argc, char **argv)
{
    static const struct argp_option rows[] = {
        {"mutant", KEY_MUTANT, "NAME", 0, "plant a bug in the first engine's port", 0},
        {"target", KEY_TARGET, "NAME", 0, "target of inputs that are bytes and whose path does not say", 0},
        {"runs", KEY_RUNS, "N", 0, "plays in a row (2)", 0},
        {"fresh", KEY_FRESH, NULL, 0, "each input in a process of its own as well", 0},
        {"hashes", KEY_HASHES, NULL, 0, "print each input's trace hash, to compare builds", 0},
        {"all-rules", KEY_ALL_RULES, NULL, 0, "a rule that compared nothing in all inputs is red", 0},
        {0}};
    static const struct argp argp = {.options = rows,
                                     .parser = parse,
                                     .args_doc = "FILE|DIR...",
                                     .doc = "Plays inputs again. Example: paldiff replay corpus/seeds"};
    struct options options = {.runs = 2};
    struct session session = {.options = &options};
    _Static_assert(sizeof(session.stages) / sizeof(session.stages[0]) >= 8, "a stage per target");
    int first = 0;
    int result = EXIT_HELD;
    char **files = NULL;
    size_t num = 0;
    first = tool_parse(&argp, argc, argv, &options);
    if (options.mutant != NULL && mutant_find(options.mutant) == NULL) {
        return tool_usage("there is no mutant %s; `paldiff mutants --list` names them", options.mutant);
    }
    for (int i = first; result == EXIT_HELD && i < argc; i++) {
        char **more = NULL;
        size_t num_more = 0;
        result = tool_files(argv[i], &more, &num_more) ? EXIT_HELD : EXIT_USAGE;
        char **grown = realloc(files, (num + num_more + 1) * sizeof(*files));
        if (grown == NULL) {
            result = EXIT_SUITE;
            break;
        }
        files = grown;
        if (num_more > 0) {
            memcpy(files + num, more, num_more * sizeof(*more));
        }
        num += num_more;
        free(more);
    }
    if (result == EXIT_HELD && num == 0) {
        (void)fputs("paldiff: nothing ran: name files or folders of inputs\n", stderr);
        result = EXIT_NOTHING_RAN;
    }
    result = result == EXIT_HELD ? load_inputs(&session, files, num) : result;
    result = result == EXIT_HELD ? play_all(&session) : result;
    session_deinit(&session);
    tool_files_free(files, num);
    return result;
}
