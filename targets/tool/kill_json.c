/* SPDX-License-Identifier: Apache-2.0
 * kill_json.c: all that is known, for machines: `paldiff mutants --json`.
 */
#include "kill.h"

#include "poison.h"
#include "statistics.h"

#include <cjson/cJSON.h>
#include <string.h>

static void add_count(cJSON *json, const char *name, struct kill_count count)
{
    struct interval interval = statistics_wilson(count.num, count.of);
    cJSON *object = cJSON_AddObjectToObject(json, name);
    (void)cJSON_AddNumberToObject(object, "num", (double)count.num);
    (void)cJSON_AddNumberToObject(object, "of", (double)count.of);
    (void)cJSON_AddNumberToObject(object, "low", interval.low);
    (void)cJSON_AddNumberToObject(object, "high", interval.high);
}

static void add_median(cJSON *json, const char *name, const struct kill_board *board, const struct kill *kill,
                       bool seconds, const char *name_max)
{
    double median = 0;
    double max = 0;
    if (kill_median(&median, board, kill, seconds, &max)) {
        (void)cJSON_AddNumberToObject(json, name, median);
    } else {
        (void)cJSON_AddNullToObject(json, name);
    }
    if (name_max != NULL) {
        (void)cJSON_AddNumberToObject(json, name_max, max);
    }
}

static cJSON *trial_json(const struct kill_trial *trial)
{
    cJSON *json = cJSON_CreateObject();
    (void)cJSON_AddBoolToObject(json, "killed", trial->killed);
    (void)cJSON_AddBoolToObject(json, "failed", trial->failed);
    (void)cJSON_AddStringToObject(json, "by", trial->by);
    (void)cJSON_AddNumberToObject(json, "executions", (double)trial->executions);
    (void)cJSON_AddNumberToObject(json, "seconds", trial->seconds);
    return json;
}

static cJSON *mutant_json(const struct kill_board *board, const struct kill *kill)
{
    const struct mutant *mutant = kill->mutant;
    const char *name = strchr(mutant->rule, '.');
    cJSON *json = cJSON_CreateObject();
    (void)cJSON_AddStringToObject(json, "name", mutant->name);
    (void)cJSON_AddStringToObject(json, "area", mutant->area);
    (void)cJSON_AddStringToObject(json, "class", name != NULL ? name + 1 : "");
    (void)cJSON_AddStringToObject(json, "killer", mutant->rule);
    (void)cJSON_AddStringToObject(json, "witness", mutant->witness);
    (void)cJSON_AddStringToObject(json, "source", mutant->source);
    (void)cJSON_AddBoolToObject(json, "reached", kill->fired > 0);
    (void)cJSON_AddBoolToObject(json, "infected", kill->infected > 0);
    (void)cJSON_AddBoolToObject(json, "killed", kill_replayed(kill));
    (void)cJSON_AddStringToObject(json, "by", kill_by(kill));
    (void)cJSON_AddStringToObject(json, "failed", kill->failed ? kill->why : "");
    (void)cJSON_AddStringToObject(json, "sanitizer", kill->sanitizer);
    cJSON *row = cJSON_AddObjectToObject(json, "rules");
    for (size_t rule = 0; rule < NUM_RULES; rule++) {
        if (kill->inputs[rule] > 0) {
            cJSON *cell = cJSON_AddObjectToObject(row, kill_rule_id(rule));
            (void)cJSON_AddNumberToObject(cell, "inputs", (double)kill->inputs[rule]);
            (void)cJSON_AddNumberToObject(cell, "first", (double)kill->first[rule]);
        }
    }
    add_median(json, "executions", board, kill, false, NULL);
    add_median(json, "seconds", board, kill, true, NULL);
    cJSON *trials = cJSON_AddArrayToObject(json, "trials");
    for (size_t i = 0; i < kill->num_trials; i++) {
        (void)cJSON_AddItemToArray(trials, trial_json(&kill->trials[i]));
    }
    return json;
}

static cJSON *control_json(const struct kill *control)
{
    cJSON *json = cJSON_CreateObject();
    (void)cJSON_AddStringToObject(json, "name", control->mutant != NULL ? control->mutant->name : "good-ports");
    (void)cJSON_AddStringToObject(json, "area", control->target->name);
    (void)cJSON_AddNumberToObject(json, "plays", (double)control->plays);
    (void)cJSON_AddBoolToObject(json, "held", kill_held(control));
    (void)cJSON_AddStringToObject(json, "by", control->failed ? control->why : kill_by(control));
    return json;
}

static cJSON *rule_json(const struct kill_board *board, size_t rule)
{
    size_t breaks = 0;
    size_t first = 0;
    cJSON *json = cJSON_CreateObject();
    (void)cJSON_AddStringToObject(json, "id", kill_rule_id(rule));
    cJSON *only = cJSON_AddArrayToObject(json, "only");
    for (size_t i = 0; i < board->num; i++) {
        const struct kill *kill = &board->kills[i];
        breaks += kill->inputs[rule] > 0 ? 1 : 0;
        first += kill->witness_rule == rule ? 1 : 0;
        if (kill_only(kill, rule)) {
            (void)cJSON_AddItemToArray(only, cJSON_CreateString(kill->mutant->name));
        }
    }
    (void)cJSON_AddNumberToObject(json, "mutants", (double)breaks);
    (void)cJSON_AddNumberToObject(json, "first", (double)first);
    return json;
}

static void add_fuzz(cJSON *json, const struct kill_board *board)
{
    if (board->fuzz == NULL) {
        (void)cJSON_AddNullToObject(json, "fuzz");
        (void)cJSON_AddNullToObject(json, "fuzz_times");
        return;
    }
    cJSON *fuzz = cJSON_AddObjectToObject(json, "fuzz");
    (void)cJSON_AddNumberToObject(fuzz, "seconds", (double)board->fuzz->seconds);
    (void)cJSON_AddNumberToObject(fuzz, "trials", (double)board->fuzz->trials);
    (void)cJSON_AddNumberToObject(fuzz, "seed", (double)board->fuzz->seed);
    (void)cJSON_AddBoolToObject(fuzz, "from_empty", board->fuzz->from_empty);
    (void)cJSON_AddBoolToObject(fuzz, "plain_mutator", board->fuzz->plain_mutator);
    (void)cJSON_AddStringToObject(fuzz, "build", board->fuzz->build);
    cJSON *times = cJSON_AddObjectToObject(json, "fuzz_times");
    add_median(times, "executions", board, NULL, false, "executions_max");
    add_median(times, "seconds", board, NULL, true, "seconds_max");
}

cJSON *kill_json(const struct kill_board *board)
{
    cJSON *json = cJSON_CreateObject();
    (void)cJSON_AddNumberToObject(json, "version", 1);
    (void)cJSON_AddStringToObject(json, "sanitizer", PALDIFF_SANITIZER);
    (void)cJSON_AddNumberToObject(json, "num_inputs", (double)board->num_inputs);
    add_fuzz(json, board);
    cJSON *all = cJSON_AddArrayToObject(json, "mutants");
    for (size_t i = 0; i < board->num; i++) {
        (void)cJSON_AddItemToArray(all, mutant_json(board, &board->kills[i]));
    }
    cJSON *controls = cJSON_AddArrayToObject(json, "controls");
    for (size_t i = 0; i < board->num_controls; i++) {
        (void)cJSON_AddItemToArray(controls, control_json(&board->controls[i]));
    }
    cJSON *columns = cJSON_AddArrayToObject(json, "rules");
    cJSON *rates = cJSON_AddObjectToObject(json, "rates");
    add_count(rates, "own_rule", kill_rate_own(board));
    add_count(rates, "replay", kill_rate_replay(board));
    add_count(rates, "sanitizers_alone", kill_rate_sanitizers(board));
    cJSON *without = cJSON_AddObjectToObject(rates, "without");
    for (size_t rule = 0; rule < NUM_RULES; rule++) {
        (void)cJSON_AddItemToArray(columns, rule_json(board, rule));
        add_count(without, kill_rule_id(rule), kill_rate_without(board, rule));
    }
    if (board->fuzz != NULL) {
        add_count(rates, "fuzz", kill_rate_fuzz(board));
    } else {
        (void)cJSON_AddNullToObject(rates, "fuzz");
    }
    return json;
}
