/* SPDX-License-Identifier: Apache-2.0
 * findings.c: findings as JSON and as JUnit, and writing a file whole or not at all. SARIF is findings_sarif.c's.
 * It would break if something that differs from machine to machine got into a fingerprint.
 */
#include "findings.h"

#include "findings_file.h"
#include "hint.h"

#include <cjson/cJSON.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool is_said(const char *text)
{
    return text != NULL && text[0] != '\0';
}

static void hash_text(uint64_t *hash, const char *text)
{
    for (const char *at = text; *at != '\0'; at++) {
        *hash = (*hash ^ (uint8_t)*at) * 0x100000001b3u;
    }
    *hash = (*hash ^ 0xffu) * 0x100000001b3u;
}

/* hash_summary: words only: numbers are addresses, lines and sizes, and words with a slash are somebody's folders. */
static void hash_summary(uint64_t *hash, const char *summary)
{
    char word[128];
    while (*summary != '\0') {
        size_t len = strcspn(summary, " ");
        bool plain = len > 0 && len < sizeof(word);
        for (size_t i = 0; i < len; i++) {
            plain = plain && summary[i] != '/' && isdigit((unsigned char)summary[i]) == 0;
        }
        if (plain) {
            (void)snprintf(word, sizeof(word), "%.*s", (int)len, summary);
            hash_text(hash, word);
        }
        summary += len;
        summary += *summary == ' ' ? 1 : 0;
    }
}

void finding_fingerprint(char out[17], const struct findings_case *one)
{
    const struct finding *finding = &one->finding;
    uint64_t hash = 0xcbf29ce484222325u;
    hash_text(&hash, one->target != NULL ? one->target : "");
    hash_text(&hash, one->mutant != NULL ? one->mutant : "");
    if (is_said(finding->rule)) {
        hash_text(&hash, finding->rule);
    } else {
        hash_text(&hash, finding->kind);
        hash_summary(&hash, finding->summary != NULL ? finding->summary : "");
    }
    (void)snprintf(out, 17, "%016" PRIx64, hash);
}

const char *finding_rule_id(char out[64], const struct finding *finding)
{
    (void)snprintf(out, 64, "%s%s", is_said(finding->rule) ? "" : "suite.",
                   is_said(finding->rule) ? finding->rule : finding->kind);
    return out;
}

void finding_sentence(char *out, size_t cap, const struct findings_case *one)
{
    const struct finding *finding = &one->finding;
    if (is_said(finding->rule)) {
        (void)snprintf(out, cap, "rule %s target %s step %" PRIu64 " got %s want %s", finding->rule, one->target,
                       finding->step, finding->got, finding->want);
    } else {
        (void)snprintf(out, cap, "%s target %s: %s", finding->kind, one->target,
                       is_said(finding->summary) ? finding->summary : "no words");
    }
}

/* ---- JSON ----------------------------------------------------------------------------------------------------------
 */

static void add_text(cJSON *object, const char *name, const char *text)
{
    if (is_said(text)) {
        (void)cJSON_AddStringToObject(object, name, text);
    } else {
        (void)cJSON_AddNullToObject(object, name);
    }
}

cJSON *finding_json(const struct findings_case *one)
{
    const struct finding *finding = &one->finding;
    char fingerprint[17];
    if (finding->kind == NULL) {
        return NULL;
    }
    cJSON *row = cJSON_CreateObject();
    add_text(row, "rule", finding->rule);
    if (is_said(finding->rule)) {
        (void)cJSON_AddNumberToObject(row, "step", (double)finding->step);
    } else {
        (void)cJSON_AddNullToObject(row, "step");
    }
    add_text(row, "got", finding->got);
    add_text(row, "want", finding->want);
    add_text(row, "kind", finding->kind);
    add_text(row, "file", is_said(finding->file) ? hint_path(finding->file) : NULL);
    add_text(row, "replay", finding->command);
    add_text(row, "summary", finding->summary);
    cJSON *details = cJSON_AddArrayToObject(row, "details");
    for (size_t i = 0; i < FINDING_DETAILS_MAX && finding->details[i] != NULL; i++) {
        (void)cJSON_AddItemToArray(details, cJSON_CreateString(finding->details[i]));
    }
    add_text(row, "target", one->target);
    add_text(row, "sanitizer", one->sanitizer);
    add_text(row, "mutant", one->mutant);
    finding_fingerprint(fingerprint, one);
    add_text(row, "fingerprint", fingerprint);
    return row;
}

cJSON *findings_json(const struct findings *findings)
{
    cJSON *json = cJSON_CreateObject();
    size_t num_skipped = 0;
    (void)cJSON_AddStringToObject(json, "command", findings->command);
    (void)cJSON_AddNumberToObject(json, "cases", (double)findings->num);
    cJSON *rows = cJSON_CreateArray();
    for (size_t i = 0; i < findings->num; i++) {
        num_skipped += findings->cases[i].skipped != NULL ? 1 : 0;
        if (findings->cases[i].finding.kind != NULL) {
            (void)cJSON_AddItemToArray(rows, finding_json(&findings->cases[i]));
        }
    }
    (void)cJSON_AddNumberToObject(json, "skipped", (double)num_skipped);
    (void)cJSON_AddItemToObject(json, "findings", rows);
    return json;
}

/* ---- files ---------------------------------------------------------------------------------------------------------
 */

FILE *findings_open(struct findings_file *file, const char *path)
{
    file->path = path;
    int len = snprintf(file->part, sizeof(file->part), "%s.part", path);
    errno = ENAMETOOLONG;
    file->stream = len > 0 && (size_t)len < sizeof(file->part) ? fopen(file->part, "we") : NULL;
    if (file->stream == NULL) {
        (void)fprintf(stderr, "paldiff: %s cannot be written: %s\n", path, strerror(errno));
    }
    return file->stream;
}

bool findings_close(struct findings_file *file)
{
    bool good = ferror(file->stream) == 0;
    good = fclose(file->stream) == 0 && good;
    /* Whole or not at all: a reader never sees half a report. */
    good = good && rename(file->part, file->path) == 0;
    if (!good) {
        (void)fprintf(stderr, "paldiff: %s cannot be written: %s\n", file->path, strerror(errno));
        (void)remove(file->part);
    }
    return good;
}

/* ---- JUnit ---------------------------------------------------------------------------------------------------------
 */

/* print_xml: what XML 1.0 cannot hold at all becomes '?'. */
static void print_xml(FILE *out, const char *text)
{
    for (const char *at = text != NULL ? text : ""; *at != '\0'; at++) {
        unsigned char c = (unsigned char)*at;
        switch (c) {
        case '&':
            (void)fputs("&amp;", out);
            break;
        case '<':
            (void)fputs("&lt;", out);
            break;
        case '>':
            (void)fputs("&gt;", out);
            break;
        case '"':
            (void)fputs("&quot;", out);
            break;
        default:
            (void)fputc(c == '\n' || (c >= ' ' && c <= '~') ? c : '?', out);
        }
    }
}

static void print_attribute(FILE *out, const char *name, const char *value)
{
    (void)fprintf(out, " %s=\"", name);
    print_xml(out, value);
    (void)fputc('"', out);
}

/* is_error: the suite's fault, as opposed to that of what it checks. */
static bool is_error(const struct finding *finding)
{
    return finding->kind != NULL && (strcmp(finding->kind, "startup") == 0 || strcmp(finding->kind, "inexact") == 0);
}

static void print_finding(FILE *out, const struct findings_case *one)
{
    const struct finding *finding = &one->finding;
    const char *element = is_error(finding) ? "error" : "failure";
    char text[1024];
    char id[64];
    finding_sentence(text, sizeof(text), one);
    (void)fprintf(out, "      <%s", element);
    print_attribute(out, "type", finding_rule_id(id, finding));
    print_attribute(out, "message", text);
    (void)fputc('>', out);
    print_xml(out, text);
    for (size_t i = 0; i < FINDING_DETAILS_MAX && finding->details[i] != NULL; i++) {
        (void)fputc('\n', out);
        print_xml(out, finding->details[i]);
    }
    if (is_said(finding->command)) {
        (void)fputs("\nreplay: ", out);
        print_xml(out, finding->command);
    }
    (void)fprintf(out, "</%s>\n", element);
}

static void print_case(FILE *out, const struct findings_case *one)
{
    bool whole = one->skipped == NULL && one->finding.kind == NULL;
    (void)fputs("    <testcase", out);
    print_attribute(out, "classname", one->target);
    print_attribute(out, "name", hint_path(one->name));
    (void)fprintf(out, " time=\"%.3f\"%s>\n", one->seconds, whole ? "/" : "");
    if (one->skipped != NULL) {
        (void)fputs("      <skipped", out);
        print_attribute(out, "message", one->skipped);
        (void)fputs("/>\n", out);
    } else if (!whole) {
        print_finding(out, one);
    }
    if (!whole) {
        (void)fputs("    </testcase>\n", out);
    }
}

bool findings_write_junit(const struct findings *findings, const char *path)
{
    struct findings_file file;
    size_t num_failures = 0;
    size_t num_errors = 0;
    size_t num_skipped = 0;
    double seconds = 0;
    for (size_t i = 0; i < findings->num; i++) {
        const struct findings_case *one = &findings->cases[i];
        bool found = one->skipped == NULL && one->finding.kind != NULL;
        num_skipped += one->skipped != NULL ? 1 : 0;
        num_errors += found && is_error(&one->finding) ? 1 : 0;
        num_failures += found && !is_error(&one->finding) ? 1 : 0;
        seconds += one->seconds;
    }
    FILE *out = findings_open(&file, path);
    if (out == NULL) {
        return false;
    }
    (void)fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite", out);
    print_attribute(out, "name", findings->command);
    (void)fprintf(out, " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"%zu\" time=\"%.3f\">\n", findings->num,
                  num_failures, num_errors, num_skipped, seconds);
    for (size_t i = 0; i < findings->num; i++) {
        print_case(out, &findings->cases[i]);
    }
    (void)fputs("  </testsuite>\n</testsuites>\n", out);
    return findings_close(&file);
}
