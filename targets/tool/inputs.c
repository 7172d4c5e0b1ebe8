/* SPDX-License-Identifier: Apache-2.0
 * inputs.c: reading inputs for the commands that take them.
 */
#include "inputs.h"

#include <stdlib.h>
#include <string.h>

error_t inputs_parse(int key, char *argument, struct inputs_options *options)
{
    switch (key) {
    case INPUTS_KEY_MUTANT:
        options->mutant = argument;
        return 0;
    case INPUTS_KEY_TARGET:
        options->target = argument;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* load: into the scenario alone; harness_load wants a stage, of which it uses no more. */
static bool load(struct input *input)
{
    struct stage *stage = calloc(1, sizeof(*stage));
    if (stage == NULL) {
        return false;
    }
    stage->target = input->target;
    bool good = harness_load(stage, input->path, (struct pal_view){input->data, input->len});
    input->scenario = stage->scenario;
    free(stage);
    return good;
}

int input_read(struct input *out, const struct inputs_options *options, const char *path)
{
    const struct mutant *mutant = options->mutant != NULL ? mutant_find(options->mutant) : NULL;
    const char *wanted = options->target != NULL ? options->target : (mutant != NULL ? mutant->area : "");
    memset(out, 0, sizeof(*out));
    out->path = path;
    if (options->mutant != NULL && mutant == NULL) {
        return tool_usage("there is no mutant %s; `paldiff mutants --list` names them", options->mutant);
    }
    if (!harness_read(path, &out->data, &out->len)) {
        return EXIT_USAGE;
    }
    out->target = harness_target_of(path, (struct pal_view){out->data, out->len}, wanted);
    if (out->target == NULL) {
        return tool_usage("%s belongs to no known target; say --target NAME", path);
    }
    return load(out) ? EXIT_HELD : EXIT_USAGE;
}

void input_deinit(struct input *input)
{
    free(input->data);
    input->data = NULL;
}

const char *inputs_mutant(const struct inputs_options *options, const struct target *target)
{
    const struct mutant *mutant = options->mutant != NULL ? mutant_find(options->mutant) : NULL;
    return mutant != NULL && strcmp(mutant->area, target->name) == 0 ? mutant->name : NULL;
}

const char *inputs_target_hint(const struct inputs_options *options, const struct input *input)
{
    bool text = scenario_is_text((struct pal_view){input->data, input->len});
    return text ? NULL : options->target;
}

const char *input_found_under(const struct input *input)
{
    static const char *const known[] = {"address", "memory", "thread", "none"};
    char folder[64];
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        (void)snprintf(folder, sizeof(folder), "%s-%s", input->target->name, known[i]);
        const char *at = strstr(input->path, folder);
        /* Another digit follows where there are several builds alike. */
        if (at != NULL && (at == input->path || at[-1] == '/') && strchr(at, '/') != NULL) {
            return known[i];
        }
    }
    return NULL;
}
