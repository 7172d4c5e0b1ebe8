/* SPDX-License-Identifier: Apache-2.0
 * tool_mutants.c: replays each mutant's witness in a child process, so that a crash or a hang is an answer too, and
 * checks that the good ports are green on the same scenarios.
 */
#include "tool.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { KEY_JSON = 'j', KEY_LIST = 'l' };

#define SECONDS_PER_MUTANT 60u
#define NO_RULE UINT32_MAX

struct options {
    bool json;
    bool list;
};

/* answer: what a child found. `ended` is true when it ended by itself. */
struct answer {
    bool ended;
    uint32_t rule;
    uint64_t fired;
    uint64_t plays;
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct options *options = state->input;
    (void)argument;
    switch (key) {
    case KEY_JSON:
        options->json = true;
        return 0;
    case KEY_LIST:
        options->list = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void rule_id(char out[64], uint32_t rule)
{
    if (rule == NO_RULE) {
        out[0] = '\0';
    } else {
        (void)snprintf(out, 64, "%s.%s", rules[rule].area, rules[rule].name);
    }
}

/* play_file: in the child. The first rule that broke is kept. */
static bool play_file(struct stage *stage, const char *path, struct answer *answer)
{
    struct verdict verdict;
    uint8_t *data = NULL;
    size_t len = 0;
    if (!harness_read(path, &data, &len) || !harness_load(stage, path, (struct pal_view){data, len})) {
        free(data);
        return false;
    }
    const struct rule *rule = stage_play(stage, &verdict);
    if (rule != NULL && answer->rule == NO_RULE) {
        answer->rule = (uint32_t)(rule - rules);
    }
    answer->plays++;
    free(data);
    return true;
}

/* play_child: `mutant` NULL plays the good ports; `path` is a file or a folder. */
static void play_child(int end, const struct target *target, const struct mutant *mutant, const char *path)
{
    struct answer answer = {.rule = NO_RULE};
    const struct pal_port *port = NULL;
    struct stage *stage = calloc(1, sizeof(*stage));
    char **files = NULL;
    size_t num = 0;
    (void)alarm(SECONDS_PER_MUTANT);
    bool good = stage != NULL && harness_mutant(&port, target, mutant != NULL ? mutant->name : NULL) &&
                stage_init(stage, target, port) && tool_files(path, &files, &num);
    for (size_t i = 0; good && i < num; i++) {
        good = play_file(stage, files[i], &answer);
    }
    answer.fired = mutant_fired();
    answer.ended = good;
    good = write(end, &answer, sizeof(answer)) == (ssize_t)sizeof(answer) && good;
    _exit(good ? EXIT_HELD : EXIT_SUITE);
}

static struct answer ask(const struct target *target, const struct mutant *mutant, const char *path)
{
    struct answer answer = {.rule = NO_RULE};
    int ends[2];
    int status = 0;
    if (pipe(ends) != 0) {
        return answer;
    }
    (void)fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        play_child(ends[1], target, mutant, path);
    }
    (void)close(ends[1]);
    if (read(ends[0], &answer, sizeof(answer)) != (ssize_t)sizeof(answer)) {
        answer = (struct answer){.rule = NO_RULE};
    }
    (void)close(ends[0]);
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
        answer.ended = false;
    }
    return answer;
}

/* judge: a mutant must be caught by its own rule, the good ports must be green on its witness. */
static bool judge_mutant(const struct mutant *mutant, cJSON *json)
{
    char path[4096];
    char by[64];
    (void)snprintf(path, sizeof(path), "%s/seeds/%s/%s.txt", tool_corpus(), mutant->area, mutant->witness);
    const struct target *target = target_find(mutant->area);
    struct answer answer = target != NULL ? ask(target, mutant, path) : (struct answer){.rule = NO_RULE};
    struct answer control = target != NULL ? ask(target, NULL, path) : answer;
    rule_id(by, answer.rule);
    bool killed = answer.ended && answer.rule != NO_RULE;
    bool good = killed && answer.fired > 0 && strcmp(by, mutant->rule) == 0 && control.ended && control.rule == NO_RULE;
    (void)cJSON_AddStringToObject(json, "name", mutant->name);
    (void)cJSON_AddStringToObject(json, "area", mutant->area);
    (void)cJSON_AddStringToObject(json, "killer", mutant->rule);
    (void)cJSON_AddStringToObject(json, "witness", mutant->witness);
    (void)cJSON_AddStringToObject(json, "source", mutant->source);
    (void)cJSON_AddBoolToObject(json, "reached", answer.fired > 0);
    (void)cJSON_AddBoolToObject(json, "killed", killed);
    (void)cJSON_AddStringToObject(json, "by", by);
    if (!good) {
        (void)fprintf(stderr, "%-40s killed by %s, not by %s%s%s%s\n", mutant->name, killed ? by : "nothing",
                      mutant->rule, answer.fired > 0 ? "" : "; the bug was not reached",
                      answer.ended ? "" : "; the child did not end well",
                      control.ended && control.rule == NO_RULE ? "" : "; THE GOOD PORT IS NOT GREEN on its witness");
    }
    return good;
}

static bool judge_control(const char *name, const struct target *target, const struct mutant *mutant, cJSON *controls)
{
    char path[4096];
    char by[64];
    cJSON *json = cJSON_CreateObject();
    (void)snprintf(path, sizeof(path), "%s/seeds/%s", tool_corpus(), target->name);
    struct answer answer = ask(target, mutant, path);
    bool held = answer.ended && answer.plays > 0 && answer.rule == NO_RULE;
    rule_id(by, answer.rule);
    (void)cJSON_AddStringToObject(json, "name", name);
    (void)cJSON_AddStringToObject(json, "area", target->name);
    (void)cJSON_AddNumberToObject(json, "plays", (double)answer.plays);
    (void)cJSON_AddBoolToObject(json, "held", held);
    (void)cJSON_AddStringToObject(json, "by", by);
    (void)cJSON_AddItemToArray(controls, json);
    if (!held) {
        (void)fprintf(stderr, "control %s of %s is not green: %s\n", name, target->name,
                      by[0] != '\0' ? by : "did not end well");
    }
    return held;
}

static int list_mutants(void)
{
    for (size_t i = 0; i < num_mutants; i++) {
        (void)printf("%-40s %-28s %s\n", mutants[i].name, mutants[i].rule[0] != '\0' ? mutants[i].rule : "(control)",
                     mutants[i].source);
    }
    return EXIT_HELD;
}

/* judge_all: fills the report; false when a mutant survived its rule or a control is not green. */
static bool judge_all(cJSON *report)
{
    cJSON *all = cJSON_AddArrayToObject(report, "mutants");
    cJSON *controls = cJSON_AddArrayToObject(report, "controls");
    size_t num = 0;
    size_t caught = 0;
    bool held = true;
    for (size_t i = 0; i < num_targets; i++) {
        held = judge_control("good-ports", targets[i], NULL, controls) && held;
    }
    for (size_t i = 0; i < num_mutants; i++) {
        if (mutants[i].rule[0] == '\0') {
            held = judge_control(mutants[i].name, target_find(mutants[i].area), &mutants[i], controls) && held;
            continue;
        }
        cJSON *json = cJSON_CreateObject();
        caught += judge_mutant(&mutants[i], json) ? 1 : 0;
        num++;
        (void)cJSON_AddItemToArray(all, json);
    }
    (void)fprintf(stderr, "%zu of %zu mutants killed by their own rule, controls %s\n", caught, num,
                  held ? "held" : "BROKEN");
    return held && caught == num && num > 0;
}

/* rules_without_mutant: a rule that nothing shows to be able to fail is red. */
static size_t rules_without_mutant(void)
{
    size_t missing = 0;
    for (size_t r = 0; r < NUM_RULES; r++) {
        char id[64];
        bool found = false;
        rule_id(id, (uint32_t)r);
        for (size_t i = 0; i < num_mutants; i++) {
            found = found || strcmp(mutants[i].rule, id) == 0;
        }
        if (!found) {
            (void)fprintf(stderr, "rule %s has no mutant\n", id);
            missing++;
        }
    }
    return missing;
}

/* corpus_is_good: every scenario of the target can be read; else nothing that follows would mean anything. */
static bool corpus_is_good(const struct target *target)
{
    char **files = NULL;
    size_t num = 0;
    struct stage *stage = calloc(1, sizeof(*stage));
    bool good = stage != NULL && tool_corpus_files(target, &files, &num);
    if (good && num == 0) {
        (void)fprintf(stderr, "paldiff: target %s has an empty corpus below %s\n", target->name, tool_corpus());
        good = false;
    }
    for (size_t i = 0; good && i < num; i++) {
        uint8_t *data = NULL;
        size_t len = 0;
        stage->target = target;
        good = harness_read(files[i], &data, &len) && harness_load(stage, files[i], (struct pal_view){data, len});
        free(data);
    }
    tool_files_free(files, num);
    free(stage);
    return good;
}

int tool_mutants(int argc, char **argv)
{
    static const struct argp_option rows[] = {{"json", KEY_JSON, NULL, 0, "JSON on standard output", 0},
                                              {"list", KEY_LIST, NULL, 0, "name them and the rules that catch them", 0},
                                              {0}};
    static const struct argp argp = {
        .options = rows, .parser = parse, .doc = "Plays every planted bug's witness. Example: paldiff mutants --json"};
    struct options options = {0};
    if (tool_parse(&argp, argc, argv, &options) < argc) {
        return tool_usage("mutants takes options only");
    }
    if (options.list) {
        return list_mutants();
    }
    for (size_t i = 0; i < num_targets; i++) {
        if (!corpus_is_good(targets[i])) {
            return EXIT_SUITE;
        }
    }
    cJSON *report = cJSON_CreateObject();
    bool good = judge_all(report) && rules_without_mutant() == 0;
    if (!options.json) {
        cJSON_Delete(report);
    } else if (!tool_print_json(report)) {
        return EXIT_SUITE;
    }
    return good ? EXIT_HELD : EXIT_BROKEN;
}
