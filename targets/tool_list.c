/* SPDX-License-Identifier: Apache-2.0
 * tool_list.c: what there is, from the build's own tables.
 */
#include "tool.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_JSON = 'j', KEY_FIELDS = 'f' };

struct options {
    bool json;
    bool fields;
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct options *options = state->input;
    (void)argument;
    switch (key) {
    case KEY_JSON:
        options->json = true;
        return 0;
    case KEY_FIELDS:
        options->fields = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static size_t corpus_size(const struct target *target)
{
    char **files = NULL;
    size_t num = 0;
    bool good = tool_corpus_files(target, &files, &num);
    tool_files_free(files, num);
    return good ? num : 0;
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
    (void)printf("%s: %s\n  corpus: %zu scenarios\n  rules:\n", target->name, target->sentence, corpus_size(target));
    for (size_t i = 0; i < NUM_RULES; i++) {
        if (rule_binds(&rules[i], target->name)) {
            (void)printf("    %s.%s: %s\n", rules[i].area, rules[i].name, rules[i].sentence);
        }
    }
    for (size_t i = 0; fields && i < target->language->num_operations; i++) {
        print_fields(&target->language->operations[i]);
    }
}

static cJSON *target_json(const struct target *target)
{
    cJSON *json = cJSON_CreateObject();
    (void)cJSON_AddStringToObject(json, "name", target->name);
    (void)cJSON_AddStringToObject(json, "compares", target->sentence);
    (void)cJSON_AddNumberToObject(json, "corpus", (double)corpus_size(target));
    cJSON *worlds = cJSON_AddArrayToObject(json, "worlds");
    cJSON *bound = cJSON_AddArrayToObject(json, "rules");
    for (size_t i = 0; i < target->num_worlds; i++) {
        (void)cJSON_AddItemToArray(worlds, cJSON_CreateString(target->worlds[i].name));
    }
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
    return json;
}

int tool_list(int argc, char **argv)
{
    static const struct argp_option rows[] = {{"json", KEY_JSON, NULL, 0, "JSON on standard output", 0},
                                              {"fields", KEY_FIELDS, NULL, 0, "with every operation and its fields", 0},
                                              {0}};
    static const struct argp argp = {
        .options = rows, .parser = parse, .doc = "Names every target. Example: paldiff list --fields"};
    struct options options = {0};
    if (tool_parse(&argp, argc, argv, &options) < argc) {
        return tool_usage("list takes options only");
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
