/* SPDX-License-Identifier: Apache-2.0
 * conform_json.c: a conformance run for machines: all of it as JSON, one JUnit test case a rule and target. A report of
 * another build is read back as evidence for a certificate.
 */
#include "conform.h"

#include "findings.h"
#include "poison.h"
#include "program.h"
#include "run.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void add_number(cJSON *object, const char *name, uint64_t value)
{
    (void)cJSON_AddNumberToObject(object, name, (double)value);
}

static void add_text(cJSON *object, const char *name, const char *text)
{
    (void)cJSON_AddStringToObject(object, name, text);
}

static void add_port(cJSON *json, const struct conform *conform)
{
    const struct conform_declared *declared = &conform->declared;
    cJSON *port = cJSON_AddObjectToObject(json, "port");
    add_text(port, "door", conform->source.process ? "process" : "shared object");
    if (!conform->source.process) { /* a report is the same through either door */
        add_text(port, "file", conform->source.file);
    }
    add_text(port, "name", declared->name);
    add_text(port, "version", declared->version);
    add_number(port, "abi", declared->abi);
    (void)cJSON_AddBoolToObject(port, "env_random", declared->env_random);
    (void)cJSON_AddBoolToObject(port, "env_clock", declared->env_clock);
    cJSON *areas = cJSON_AddArrayToObject(port, "areas");
    for (size_t i = 0; i < 6; i++) {
        if (declared->areas[i]) {
            (void)cJSON_AddItemToArray(areas, cJSON_CreateString(conform_area_names[i]));
        }
    }
}

static void add_suite(cJSON *json, const struct conform *conform)
{
    char hash[17];
    (void)snprintf(hash, sizeof(hash), "%016" PRIx64, conform->corpus_hash);
    cJSON *suite = cJSON_AddObjectToObject(json, "suite");
    add_text(suite, "version", conform_suite);
    add_number(suite, "abi", PAL_ABI_VERSION);
    add_text(suite, "build", conform_build);
    add_text(suite, "sanitizer", PALDIFF_SANITIZER);
    add_text(suite, "corpus_hash", hash);
    add_number(suite, "corpus_scenarios", conform->corpus_files);
    add_number(suite, "seed", conform->seed);
    add_number(suite, "planted", conform->num_planted);
    add_number(suite, "caught", conform->num_caught);
}

static void add_targets(cJSON *json, const struct conform *conform)
{
    cJSON *list = cJSON_AddArrayToObject(json, "targets");
    for (size_t i = 0; i < conform->num_tallies; i++) {
        const struct conform_tally *tally = &conform->tallies[i];
        cJSON *row = cJSON_CreateObject();
        add_text(row, "target", tally->target->name);
        (void)cJSON_AddBoolToObject(row, "declared", tally->declared);
        add_number(row, "corpus", tally->corpus);
        add_number(row, "generated", tally->generated);
        add_number(row, "operations", tally->operations);
        add_number(row, "skipped", tally->skipped);
        add_number(row, "undone", tally->undone);
        cJSON *lacking = cJSON_AddArrayToObject(row, "lacking");
        for (size_t l = 0; l < tally->num_lacking; l++) {
            (void)cJSON_AddItemToArray(lacking, cJSON_CreateString(tally->lacking[l]));
        }
        (void)cJSON_AddItemToArray(list, row);
    }
}

static void add_rules(cJSON *json, const struct conform *conform)
{
    cJSON *list = cJSON_AddArrayToObject(json, "rules");
    for (size_t i = 0; i < conform->num_rows; i++) {
        const struct conform_row *row = &conform->rows[i];
        cJSON *one = cJSON_CreateObject();
        add_text(one, "rule", row->id);
        add_text(one, "target", row->target != NULL ? row->target->name : "port");
        add_text(one, "sentence", row->sentence);
        add_text(one, "outcome", conform_outcome_names[row->outcome]);
        add_text(one, "why", row->why);
        add_number(one, "compared", row->compared);
        add_number(one, "broken", row->num_broken);
        if (row->num_broken > 0) {
            add_number(one, "step", row->first.step);
            add_text(one, "got", row->first.got);
            add_text(one, "want", row->first.want);
            add_text(one, "input", row->input);
            add_text(one, "replay", row->command);
        }
        (void)cJSON_AddItemToArray(list, one);
    }
}

struct cJSON *conform_json(const struct conform *conform)
{
    cJSON *json = cJSON_CreateObject();
    add_text(json, "verdict", conform_verdict(conform));
    add_text(json, "level", conform_level_names[conform->level]);
    add_text(json, "day", conform->today);
    add_port(json, conform);
    add_suite(json, conform);
    add_number(json, "executions", conform_plays(conform));
    cJSON *outcomes = cJSON_AddObjectToObject(json, "outcomes");
    for (size_t i = 0; i < CONFORM_NUM_OUTCOMES; i++) {
        add_number(outcomes, conform_outcome_names[i], conform_count(conform, (enum conform_outcome)i));
    }
    add_text(json, "shortfall", conform->shortfall);
    add_text(json, "refused", conform->refused);
    add_targets(json, conform);
    add_rules(json, conform);
    return json;
}

/* ---- JUnit ---------------------------------------------------------------------------------------------------------
 */

static void fill_case(struct findings_case *out, const struct conform_row *row)
{
    out->name = row->id;
    out->target = row->target != NULL ? row->target->name : "port";
    out->sanitizer = PALDIFF_SANITIZER;
    switch (row->outcome) {
    case CONFORM_FAIL:
        out->finding = (struct finding){.kind = "rule",
                                        .rule = row->id,
                                        .step = row->first.step,
                                        .got = row->first.got,
                                        .want = row->first.want,
                                        .details = {row->sentence, row->first.text},
                                        .file = row->input,
                                        .command = row->command};
        break;
    case CONFORM_VACUOUS:
        out->finding = (struct finding){.kind = "vacuous", .summary = "nothing was compared"};
        break;
    case CONFORM_UNSUPPORTED:
    case CONFORM_WAIVED:
        out->skipped = row->why;
        break;
    case CONFORM_PASS:
    case CONFORM_NUM_OUTCOMES:
        break;
    }
}

static bool write_junit(const struct conform *conform, const char *path)
{
    struct findings_case *cases = calloc(conform->num_rows + 1, sizeof(*cases));
    size_t num = conform->num_rows;
    if (cases == NULL) {
        return false;
    }
    for (size_t i = 0; i < num; i++) {
        fill_case(&cases[i], &conform->rows[i]);
    }
    const char *why = conform->shortfall[0] != '\0' ? conform->shortfall : conform->refused;
    if (why[0] != '\0') {
        cases[num] = (struct findings_case){.name = "run",
                                            .target = "port",
                                            .sanitizer = PALDIFF_SANITIZER,
                                            .finding = {.kind = "startup", .summary = why}};
        num++;
    }
    const struct findings findings = {"paldiff conform", num, cases};
    bool good = findings_write_junit(&findings, path);
    free(cases);
    return good;
}

bool conform_write(const struct conform *conform)
{
    char path[CONFORM_PATH_MAX];
    if (!run_make_dir(conform->report) || !run_path(path, "%s/conform.json", conform->report)) {
        return false;
    }
    cJSON *json = conform_json(conform);
    bool good = json_write(path, json);
    cJSON_Delete(json);
    good = run_path(path, "%s/conform.junit.xml", conform->report) && write_junit(conform, path) && good;
    FILE *file = run_path(path, "%s/verdict.txt", conform->report) ? fopen(path, "we") : NULL;
    if (file == NULL) {
        (void)fprintf(stderr, "paldiff: %s cannot be written: %s\n", path, strerror(errno));
        return false;
    }
    conform_print(file, conform);
    return fclose(file) == 0 && good;
}

/* ---- evidence ------------------------------------------------------------------------------------------------------
 */

static const char *disagreement(const struct conform *conform, const cJSON *json)
{
    const cJSON *port = cJSON_GetObjectItemCaseSensitive(json, "port");
    const cJSON *suite = cJSON_GetObjectItemCaseSensitive(json, "suite");
    const cJSON *outcomes = cJSON_GetObjectItemCaseSensitive(json, "outcomes");
    const char *level = json_text(json, "level", "");
    char hash[17];
    (void)snprintf(hash, sizeof(hash), "%016" PRIx64, conform->corpus_hash);
    if (strcmp(json_text(port, "name", ""), conform->declared.name) != 0 ||
        strcmp(json_text(port, "version", ""), conform->declared.version) != 0) {
        return "is of another port";
    }
    if (strcmp(json_text(suite, "version", ""), conform_suite) != 0 ||
        strcmp(json_text(suite, "corpus_hash", ""), hash) != 0) {
        return "is of another suite or corpus";
    }
    if (strcmp(level, "full") != 0 && strcmp(level, "certify") != 0) {
        return "is of a lower level than full";
    }
    if (json_number(outcomes, "fail", 1) > 0 || json_number(outcomes, "vacuous", 1) > 0) {
        return "is not green";
    }
    return json_number(outcomes, "waived", 1) > 0 ? "has waivers" : NULL;
}

bool conform_evidence(const struct conform *conform, const char *path, char sanitizer[32], char why[CONFORM_TEXT_MAX])
{
    bool missing = false;
    cJSON *json = json_read(path, &missing);
    const char *wrong = json == NULL ? "cannot be read" : disagreement(conform, json);
    const cJSON *suite = cJSON_GetObjectItemCaseSensitive(json, "suite");
    (void)snprintf(sanitizer, 32, "%s", json_text(suite, "sanitizer", ""));
    if (wrong != NULL) {
        (void)snprintf(why, CONFORM_TEXT_MAX, "%.150s %s", path, wrong);
    }
    cJSON_Delete(json);
    return wrong == NULL;
}
