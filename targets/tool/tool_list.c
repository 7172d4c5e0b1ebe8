/* SPDX-License-Identifier: Apache-2.0
 * tool_list.c: what there is, from the build's own tables.
 */
#include "tool.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KEY_JSON = 'j', KEY_FIELDS = 'f', KEY_NAMES = 'n' };

/* options: `names` is what to name, or NULL. */
struct options {
    bool json;
    bool fields;
    const char *names;
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct options *options = state->input;
    switch (key) {
    case KEY_JSON:
        options->json = true;
        return 0;
    case KEY_FIELDS:
        options->fields = true;
        return 0;
    case KEY_NAMES:
        if (strcmp(argument, "targets") != 0 && strcmp(argument, "rules") != 0 && strcmp(argument, "mutants") != 0) {
            argp_error(state, "--names takes targets, rules or mutants, not %s", argument);
        }
        options->names = argument;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* corpus_size: of one kind, seeds or regress. */
static size_t corpus_size(const struct target *target, const char *kind)
{
    char path[4096];
    char **files = NULL;
    size_t num = 0;
    (void)snprintf(path, sizeof(path), "%s/%s/%s", tool_corpus(), kind, target->name);
    bool good = access(path, F_OK) == 0 && tool_files(path, &files, &num);
    tool_files_free(files, num);
    return good ? num : 0;
}

static bool is_planted_in(const struct mutant *mutant, const struct target *target)
{
    return strcmp(mutant->area, target->name) == 0 && mutant->rule[0] != '\0'; /* the others are controls */
}

static void print_fields(const struct operation *operation)
{
    (void)printf("  %-12s %s\n", operation->name, operation->sentence);
    for (size_t i = 0; i < operation->num_fields; i++) {
        const struct field *field = &operation->fields[i];
        (void)printf("    %-16s ", field->name);
        switch (field->kind) {
        case FIELD_NUMBER:
            (void)printf("0..%u, else %u\n", field->max, field->fallback);
            break;
        case FIELD_BYTES:
            (void)printf("up to %u bytes, hex or \"text\"\n", field->max);
            break;
        case FIELD_CHOICE:
            for (uint32_t choice = 0; choice <= field->max; choice++) {
                (void)printf("%s%s", choice == 0 ? "" : "|", field->choices[choice]);
            }
            (void)printf(", else %s\n", field->choices[field->fallback]);
            break;
        }
    }
}

static void print_target(const struct target *target, bool fields)
{
    size_t num_planted = 0;
    for (size_t i = 0; i < num_mutants; i++) {
        num_planted += is_planted_in(&mutants[i], target) ? 1 : 0;
    }
    (void)printf("%s: %s\n  worlds:", target->name, target->sentence);
    for (size_t i = 0; i < target->num_worlds; i++) {
        (void)printf("%s %s", i > 0 ? "," : "", target->worlds[i].name);
    }
    (void)printf("\n  inputs: at most %zu bytes\n  corpus: %zu seeds, %zu regress\n  mutants: %zu\n  rules:\n",
                 target->input_len_max, corpus_size(target, "seeds"), corpus_size(target, "regress"), num_planted);
    for (size_t i = 0; i < NUM_RULES; i++) {
        if (rule_binds(&rules[i], target->name)) {
            (void)printf("    %s.%s: %s\n", rules[i].area, rules[i].name, rules[i].sentence);
        }
    }
    for (size_t i = 0; fields && i < target->language->num_operations; i++) {
        print_fields(&target->language->operations[i]);
    }
}

static cJSON *operation_json(const struct operation *operation)
{
    static const char *const kinds[] = {[FIELD_NUMBER] = "number", [FIELD_BYTES] = "bytes", [FIELD_CHOICE] = "choice"};
    cJSON *json = cJSON_CreateObject();
    (void)cJSON_AddStringToObject(json, "name", operation->name);
    (void)cJSON_AddStringToObject(json, "sentence", operation->sentence);
    cJSON *fields = cJSON_AddArrayToObject(json, "fields");
    for (size_t i = 0; i < operation->num_fields; i++) {
        const struct field *field = &operation->fields[i];
        cJSON *row = cJSON_CreateObject();
        (void)cJSON_AddStringToObject(row, "name", field->name);
        (void)cJSON_AddStringToObject(row, "kind", kinds[field->kind]);
        (void)cJSON_AddNumberToObject(row, "max", field->max);
        (void)cJSON_AddNumberToObject(row, "fallback", field->fallback);
        cJSON *choices = field->kind == FIELD_CHOICE ? cJSON_AddArrayToObject(row, "choices") : NULL;
        for (uint32_t choice = 0; choices != NULL && choice <= field->max; choice++) {
            (void)cJSON_AddItemToArray(choices, cJSON_CreateString(field->choices[choice]));
        }
        (void)cJSON_AddItemToArray(fields, row);
    }
    return json;
}

static cJSON *target_json(const struct target *target)
{
    cJSON *json = cJSON_CreateObject();
    size_t seeds = corpus_size(target, "seeds");
    size_t regress = corpus_size(target, "regress");
    (void)cJSON_AddStringToObject(json, "name", target->name);
    (void)cJSON_AddStringToObject(json, "compares", target->sentence);
    (void)cJSON_AddNumberToObject(json, "input_len_max", (double)target->input_len_max);
    (void)cJSON_AddNumberToObject(json, "corpus", (double)(seeds + regress));
    (void)cJSON_AddNumberToObject(json, "seeds", (double)seeds);
    (void)cJSON_AddNumberToObject(json, "regress", (double)regress);
    cJSON *worlds = cJSON_AddArrayToObject(json, "worlds");
    for (size_t i = 0; i < target->num_worlds; i++) {
        (void)cJSON_AddItemToArray(worlds, cJSON_CreateString(target->worlds[i].name));
    }
    cJSON *bound = cJSON_AddArrayToObject(json, "rules");
    for (size_t i = 0; i < NUM_RULES; i++) {
        char id[64];
        (void)snprintf(id, sizeof(id), "%s.%s", rules[i].area, rules[i].name);
        if (rule_binds(&rules[i], target->name)) {
            cJSON *rule = cJSON_CreateObject();
            (void)cJSON_AddStringToObject(rule, "id", id);
            (void)cJSON_AddStringToObject(rule, "sentence", rules[i].sentence);
            (void)cJSON_AddItemToArray(bound, rule);
        }
    }
    cJSON *planted = cJSON_AddArrayToObject(json, "mutants");
    for (size_t i = 0; i < num_mutants; i++) {
        if (is_planted_in(&mutants[i], target)) {
            (void)cJSON_AddItemToArray(planted, cJSON_CreateString(mutants[i].name));
        }
    }
    cJSON *operations = cJSON_AddArrayToObject(json, "operations");
    for (size_t i = 0; i < target->language->num_operations; i++) {
        (void)cJSON_AddItemToArray(operations, operation_json(&target->language->operations[i]));
    }
    return json;
}

static int print_names(const char *kind)
{
    for (size_t i = 0; i < num_targets && strcmp(kind, "targets") == 0; i++) {
        (void)puts(targets[i]->name);
    }
    for (size_t i = 0; i < NUM_RULES && strcmp(kind, "rules") == 0; i++) {
        (void)printf("%s.%s\n", rules[i].area, rules[i].name);
    }
    for (size_t i = 0; i < num_mutants && strcmp(kind, "mutants") == 0; i++) {
        (void)puts(mutants[i].name);
    }
    return EXIT_HELD;
}

int tool_list(int argc, char **argv)
{
    static const struct argp_option rows[] = {
        {"json", KEY_JSON, NULL, 0, "JSON on standard output", 0},
        {"fields", KEY_FIELDS, NULL, 0, "with every operation and its fields", 0},
        {"names", KEY_NAMES, "KIND", 0, "only the names of all targets, rules or mutants, one a line", 0},
        {0}};
    static const struct argp argp = {.options = rows,
                                     .parser = parse,
                                     .doc = "Names every target, what it compares, its worlds, rules and corpus. "
                                            "Example: paldiff list --fields"};
    struct options options = {0};
    if (tool_parse(&argp, argc, argv, &options) < argc) {
        return tool_usage("list takes options only");
    }
    if (options.names != NULL) {
        return print_names(options.names);
    }
    cJSON *json = cJSON_CreateObject();
    cJSON *list = cJSON_AddArrayToObject(json, "targets");
    for (size_t i = 0; i < num_targets; i++) {
        if (options.json) {
            (void)cJSON_AddItemToArray(list, target_json(targets[i]));
        } else {
            print_target(targets[i], options.fields);
        }
    }
    if (options.json) {
        return tool_print_json(json) ? EXIT_HELD : EXIT_SUITE;
    }
    cJSON_Delete(json);
    return EXIT_HELD;
}
