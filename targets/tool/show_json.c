/* SPDX-License-Identifier: Apache-2.0
 * show_json.c: what show_text.c prints, and every world of it, for machines.
 */
#include "show.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

static void add_hex(cJSON *object, const char *name, struct pal_view bytes)
{
    char *text = calloc(1, 2 * bytes.len + 1);
    for (size_t i = 0; text != NULL && i < bytes.len; i++) {
        (void)snprintf(text + 2 * i, 3, "%02x", bytes.data[i]);
    }
    (void)cJSON_AddStringToObject(object, name, text != NULL ? text : "");
    free(text);
}

static void add_step_number(cJSON *object, const char *name, size_t step)
{
    if (step == SHOW_NO_STEP) {
        (void)cJSON_AddNullToObject(object, name);
    } else {
        (void)cJSON_AddNumberToObject(object, name, (double)step + 1);
    }
}

static cJSON *world_json(const struct show *show, size_t world, size_t index)
{
    const struct trace *trace = &show->stage->worlds[world].trace;
    const struct trace_step *step = &trace->steps[index];
    cJSON *json = cJSON_CreateObject();
    (void)cJSON_AddStringToObject(json, "world", trace->name);
    (void)cJSON_AddStringToObject(json, "status", pal_status_name(step->status));
    add_hex(json, "output", show_output(show, world, index));
    cJSON *facts = cJSON_AddObjectToObject(json, "facts");
    for (size_t fact = 0; fact < NUM_FACTS; fact++) {
        if (step->facts[fact] != 0) {
            (void)cJSON_AddNumberToObject(facts, trace_fact_name((enum trace_fact)fact), step->facts[fact]);
        }
    }
    return json;
}

static cJSON *step_json(const struct show *show, size_t index)
{
    char words[2048];
    cJSON *json = cJSON_CreateObject();
    show_operation(words, sizeof(words), show, index);
    (void)cJSON_AddNumberToObject(json, "step", (double)index + 1);
    (void)cJSON_AddStringToObject(json, "operation", words);
    (void)cJSON_AddNumberToObject(json, "thread", show->stage->worlds[show->left].trace.steps[index].thread);
    cJSON *worlds = cJSON_AddArrayToObject(json, "worlds");
    for (size_t w = 0; w < show->stage->num_worlds; w++) {
        (void)cJSON_AddItemToArray(worlds, world_json(show, w, index));
    }
    return json;
}

static void add_rule(cJSON *json, const struct show *show)
{
    char id[64];
    if (show->rule == NULL) {
        (void)cJSON_AddNullToObject(json, "rule");
        return;
    }
    cJSON *rule = cJSON_AddObjectToObject(json, "rule");
    (void)snprintf(id, sizeof(id), "%s.%s", show->rule->area, show->rule->name);
    (void)cJSON_AddStringToObject(rule, "id", id);
    (void)cJSON_AddStringToObject(rule, "sentence", show->rule->sentence);
    add_step_number(rule, "step", show->verdict->step);
    (void)cJSON_AddStringToObject(rule, "got", show->verdict->got);
    (void)cJSON_AddStringToObject(rule, "want", show->verdict->want);
}

cJSON *show_json(const struct show *show)
{
    const struct trace *first = &show->stage->worlds[show->left].trace;
    cJSON *json = cJSON_CreateObject();
    (void)cJSON_AddStringToObject(json, "file", show->path);
    (void)cJSON_AddStringToObject(json, "target", show->stage->target->name);
    if (show->mutant != NULL) {
        (void)cJSON_AddStringToObject(json, "mutant", show->mutant);
    } else {
        (void)cJSON_AddNullToObject(json, "mutant");
    }
    add_rule(json, show);
    (void)cJSON_AddStringToObject(json, "world", first->name);
    (void)cJSON_AddStringToObject(json, "compared_with", show->stage->worlds[show->right].trace.name);
    add_step_number(json, "first_difference", show->first_difference);
    cJSON *steps = cJSON_AddArrayToObject(json, "steps");
    for (size_t i = 0; i < first->num_steps; i++) {
        (void)cJSON_AddItemToArray(steps, step_json(show, i));
    }
    return json;
}
