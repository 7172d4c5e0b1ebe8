/* SPDX-License-Identifier: Apache-2.0
 * kill_stryker.c: the same for viewers of mutation reports: the schema of mutation-testing-elements, version 2. Its
 * "file" is the table of mutants, its "tests" are the rules.
 */
#include "kill.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char file_name[] = "oracles/mutants.def";
static const char tests_name[] = "oracles/rules.def";

static const char *status_of(const struct kill *kill)
{
    if (kill->failed) {
        return "RuntimeError";
    }
    if (kill_replayed(kill)) {
        return "Killed";
    }
    return kill->infected > 0 || kill->fired > 0 ? "Survived" : "NoCoverage";
}

static cJSON *place_json(size_t line, size_t column)
{
    cJSON *json = cJSON_CreateObject();
    (void)cJSON_AddNumberToObject(json, "line", (double)line);
    (void)cJSON_AddNumberToObject(json, "column", (double)column);
    return json;
}

/* print_row: as it stands in the table, but for blanks. */
static int print_row(char *out, size_t cap, const struct mutant *mutant)
{
    return snprintf(out, cap, "MUTANT(%s, %s, \"%s\", \"%s\", \"%s\")", mutant->area,
                    mutant->name + strlen(mutant->area) + 1, mutant->rule, mutant->witness, mutant->source);
}

static cJSON *mutant_json(const struct kill *kill, size_t line)
{
    char row[1024];
    int len = print_row(row, sizeof(row), kill->mutant);
    cJSON *json = cJSON_CreateObject();
    (void)cJSON_AddStringToObject(json, "id", kill->mutant->name);
    (void)cJSON_AddStringToObject(json, "mutatorName", kill->mutant->area);
    (void)cJSON_AddStringToObject(json, "description", kill->mutant->source);
    (void)cJSON_AddStringToObject(json, "status", status_of(kill));
    (void)cJSON_AddStringToObject(json, "statusReason", kill->failed ? kill->why : kill_by(kill));
    cJSON *location = cJSON_AddObjectToObject(json, "location");
    (void)cJSON_AddItemToObject(location, "start", place_json(line, 1));
    (void)cJSON_AddItemToObject(location, "end", place_json(line, (size_t)len + 1));
    cJSON *killers = cJSON_AddArrayToObject(json, "killedBy");
    for (size_t rule = 0; rule < NUM_RULES; rule++) {
        if (kill->inputs[rule] > 0) {
            (void)cJSON_AddItemToArray(killers, cJSON_CreateString(kill_rule_id(rule)));
        }
    }
    return json;
}

/* source_text: the rows of the mutants that were played, one a line; the caller's to free. */
static char *source_text(const struct kill_board *board)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    for (size_t i = 0; out != NULL && i < board->num; i++) {
        char row[1024];
        (void)print_row(row, sizeof(row), board->kills[i].mutant);
        (void)fprintf(out, "%s\n", row);
    }
    if (out != NULL) {
        (void)fclose(out);
    }
    return text;
}

static cJSON *tests_json(void)
{
    cJSON *json = cJSON_CreateObject();
    cJSON *file = cJSON_AddObjectToObject(json, tests_name);
    cJSON *tests = cJSON_AddArrayToObject(file, "tests");
    for (size_t rule = 0; rule < NUM_RULES; rule++) {
        cJSON *test = cJSON_CreateObject();
        (void)cJSON_AddStringToObject(test, "id", kill_rule_id(rule));
        (void)cJSON_AddStringToObject(test, "name", rules[rule].sentence);
        (void)cJSON_AddItemToArray(tests, test);
    }
    return json;
}

static cJSON *report_json(const struct kill_board *board)
{
    char *source = source_text(board);
    cJSON *json = cJSON_CreateObject();
    (void)cJSON_AddStringToObject(json, "schemaVersion", "2");
    cJSON *thresholds = cJSON_AddObjectToObject(json, "thresholds");
    (void)cJSON_AddNumberToObject(thresholds, "high", 100);
    (void)cJSON_AddNumberToObject(thresholds, "low", 99);
    cJSON *file = cJSON_AddObjectToObject(cJSON_AddObjectToObject(json, "files"), file_name);
    (void)cJSON_AddStringToObject(file, "language", "c");
    (void)cJSON_AddStringToObject(file, "source", source != NULL ? source : "");
    cJSON *all = cJSON_AddArrayToObject(file, "mutants");
    for (size_t i = 0; i < board->num; i++) {
        (void)cJSON_AddItemToArray(all, mutant_json(&board->kills[i], i + 1));
    }
    (void)cJSON_AddItemToObject(json, "testFiles", tests_json());
    free(source);
    return json;
}

bool kill_stryker_write(const char *path, const struct kill_board *board)
{
    cJSON *json = report_json(board);
    char *text = cJSON_Print(json);
    FILE *file = fopen(path, "we");
    bool good = file != NULL && text != NULL && fputs(text, file) >= 0 && fputc('\n', file) != EOF;
    if (file != NULL) {
        good = fclose(file) == 0 && good;
    }
    if (!good) {
        (void)fprintf(stderr, "paldiff: %s cannot be written: %s\n", path, strerror(errno));
    }
    cJSON_free(text);
    cJSON_Delete(json);
    return good;
}
