/* SPDX-License-Identifier: Apache-2.0
 * findings_sarif.c: findings as SARIF 2.1.0: every rule of the build, and a result for each finding. Paths are relative
 * to the folder that the command ran in, as code scanning services want them. Not for clean runs alone: a file without
 * results is what closes old alerts.
 */
#include "findings_file.h"
#include "hint.h"
#include "rules.h"

#include <cjson/cJSON.h>
#include <string.h>

/* ends: how a process may end without a rule being broken; each is a rule to SARIF. */
static const struct {
    const char *kind;
    const char *sentence;
} ends[] = {
    {"crash", "an input never ends the process: no sanitizer report, signal or failed assertion"},
    {"timeout", "an input is played in its time"},
    {"oom", "an input is played in its memory"},
    {"leak", "no memory is lost"},
    {"killed", "the fuzz program is not killed"},
    {"startup", "the suite starts, and executes inputs"},
    {"inexact", "an input leaves the same traces every time"},
    {"unseen", "a kept scenario breaks its rule with the mutant that it was found with"},
    {"vacuous", "every rule gets something to compare"},
};

#define NUM_ENDS (sizeof(ends) / sizeof(ends[0]))

static void add_words(cJSON *object, const char *name, const char *text)
{
    (void)cJSON_AddStringToObject(cJSON_AddObjectToObject(object, name), "text", text);
}

static void add_rule(cJSON *list, const char *id, const char *sentence)
{
    cJSON *rule = cJSON_CreateObject();
    (void)cJSON_AddStringToObject(rule, "id", id);
    add_words(rule, "shortDescription", sentence);
    (void)cJSON_AddStringToObject(cJSON_AddObjectToObject(rule, "defaultConfiguration"), "level", "error");
    (void)cJSON_AddItemToArray(list, rule);
}

/* rule_index: the place in the list that add_rules makes; -1 for a rule of another build. */
static int rule_index(const char *id)
{
    const struct rule *rule = rule_find(id);
    for (size_t i = 0; rule == NULL && i < NUM_ENDS; i++) {
        if (strncmp(id, "suite.", 6) == 0 && strcmp(id + 6, ends[i].kind) == 0) {
            return (int)(NUM_RULES + i);
        }
    }
    return rule != NULL ? (int)(rule - rules) : -1;
}

static void add_rules(cJSON *driver)
{
    cJSON *list = cJSON_AddArrayToObject(driver, "rules");
    char id[64];
    for (size_t i = 0; i < NUM_RULES; i++) {
        (void)snprintf(id, sizeof(id), "%s.%s", rules[i].area, rules[i].name);
        add_rule(list, id, rules[i].sentence);
    }
    for (size_t i = 0; i < NUM_ENDS; i++) {
        (void)snprintf(id, sizeof(id), "suite.%s", ends[i].kind);
        add_rule(list, id, ends[i].sentence);
    }
}

/* add_uri: of a file below the current folder, or of one elsewhere. */
static void add_uri(cJSON *location, const char *path)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./+,@=~";
    char uri[3 * 4096 + 16];
    const char *shown = hint_path(path);
    size_t used = (size_t)snprintf(uri, sizeof(uri), "%s", shown[0] == '/' ? "file://" : "");
    for (const char *at = shown; *at != '\0' && used + 4 < sizeof(uri); at++) {
        bool bare = strchr(plain, *at) != NULL;
        used += (size_t)snprintf(uri + used, sizeof(uri) - used, bare ? "%c" : "%%%02X", (unsigned char)*at);
    }
    cJSON *artifact = cJSON_AddObjectToObject(location, "artifactLocation");
    (void)cJSON_AddStringToObject(artifact, "uri", uri);
    if (shown[0] != '/') {
        (void)cJSON_AddStringToObject(artifact, "uriBaseId", "%SRCROOT%");
    }
}

static void add_location(cJSON *result, const struct findings_case *one)
{
    cJSON *location = cJSON_CreateObject();
    (void)cJSON_AddItemToArray(cJSON_AddArrayToObject(result, "locations"), location);
    if (one->finding.file != NULL && one->finding.file[0] != '\0') {
        cJSON *physical = cJSON_AddObjectToObject(location, "physicalLocation");
        add_uri(physical, one->finding.file);
        (void)cJSON_AddNumberToObject(cJSON_AddObjectToObject(physical, "region"), "startLine", 1);
    }
    cJSON *logical = cJSON_CreateObject();
    (void)cJSON_AddStringToObject(logical, "name", one->target);
    (void)cJSON_AddStringToObject(logical, "fullyQualifiedName", one->target);
    (void)cJSON_AddStringToObject(logical, "kind", "module");
    (void)cJSON_AddItemToArray(cJSON_AddArrayToObject(location, "logicalLocations"), logical);
}

static void add_property(cJSON *object, const char *name, const char *text)
{
    if (text != NULL && text[0] != '\0') {
        (void)cJSON_AddStringToObject(object, name, text);
    }
}

static cJSON *result_json(const struct findings_case *one)
{
    char id[64];
    char text[1024];
    char fingerprint[17];
    cJSON *result = cJSON_CreateObject();
    (void)cJSON_AddStringToObject(result, "ruleId", finding_rule_id(id, &one->finding));
    if (rule_index(id) >= 0) {
        (void)cJSON_AddNumberToObject(result, "ruleIndex", rule_index(id));
    }
    (void)cJSON_AddStringToObject(result, "level", "error");
    finding_sentence(text, sizeof(text), one);
    add_words(result, "message", text);
    add_location(result, one);
    finding_fingerprint(fingerprint, one);
    (void)cJSON_AddStringToObject(cJSON_AddObjectToObject(result, "partialFingerprints"), "paldiff/v1", fingerprint);
    cJSON *properties = cJSON_AddObjectToObject(result, "properties");
    add_property(properties, "kind", one->finding.kind);
    add_property(properties, "target", one->target);
    add_property(properties, "sanitizer", one->sanitizer);
    add_property(properties, "mutant", one->mutant);
    add_property(properties, "replay", one->finding.command);
    return result;
}

bool findings_write_sarif(const struct findings *findings, const char *path)
{
    struct findings_file file;
    FILE *out = findings_open(&file, path);
    if (out == NULL) {
        return false;
    }
    cJSON *log = cJSON_CreateObject();
    (void)cJSON_AddStringToObject(log, "$schema", "https://json.schemastore.org/sarif-2.1.0.json");
    (void)cJSON_AddStringToObject(log, "version", "2.1.0");
    cJSON *run = cJSON_CreateObject();
    (void)cJSON_AddItemToArray(cJSON_AddArrayToObject(log, "runs"), run);
    cJSON *driver = cJSON_AddObjectToObject(cJSON_AddObjectToObject(run, "tool"), "driver");
    (void)cJSON_AddStringToObject(driver, "name", "paldiff");
    add_rules(driver);
    add_words(cJSON_AddObjectToObject(cJSON_AddObjectToObject(run, "originalUriBaseIds"), "%SRCROOT%"), "description",
              "the folder that the command ran in");
    cJSON *results = cJSON_AddArrayToObject(run, "results");
    for (size_t i = 0; i < findings->num; i++) {
        if (findings->cases[i].finding.kind != NULL) {
            (void)cJSON_AddItemToArray(results, result_json(&findings->cases[i]));
        }
    }
    char *text = cJSON_Print(log);
    bool good = text != NULL && fprintf(out, "%s\n", text) > 0;
    cJSON_free(text);
    cJSON_Delete(log);
    return findings_close(&file) && good;
}
