/* SPDX-License-Identifier: Apache-2.0
 * conform_waivers.c: what may fail for a while and why, and how much has to run. Both are lines of text that people
 * keep beside their port.
 */
#include "conform.h"
#include "tool.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LINE_MAX_LEN 512

bool conform_is_day(const char *text)
{
    static const char form[] = "0000-00-00";
    for (size_t i = 0; i < sizeof(form) - 1; i++) {
        if (form[i] == '0' ? isdigit((unsigned char)text[i]) == 0 : text[i] != form[i]) {
            return false;
        }
    }
    return text[sizeof(form) - 1] == '\0';
}

const char *conform_today(char out[CONFORM_DAY_MAX])
{
    time_t now = time(NULL);
    struct tm day;
    (void)strftime(out, CONFORM_DAY_MAX, "%Y-%m-%d", gmtime_r(&now, &day));
    return out;
}

/* is_rule: one of rules.def, or of the port as a whole. */
static bool is_rule(const char *id)
{
    bool known = rule_find(id) != NULL;
#define CONFORM_RULE(symbol, name, sentence) known |= strcmp(id, "port." name) == 0;
#include "conform_rules.def"
#undef CONFORM_RULE
    return known;
}

/* cut: up to the comment, without the blanks at the end. */
static void cut(char *line)
{
    line[strcspn(line, "#\n")] = '\0';
    for (size_t len = strlen(line); len > 0 && isspace((unsigned char)line[len - 1]) != 0; len--) {
        line[len - 1] = '\0';
    }
}

/* add_waiver: NULL, or what is wrong with the line. */
static const char *add_waiver(struct conform_waivers *out, const char *line, const char *today)
{
    struct conform_waiver *waiver = &out->rows[out->num];
    int reason = 0;
    if (out->num == CONFORM_WAIVERS_MAX) {
        return "one waiver too many";
    }
    if (sscanf(line, "%63s %15s %n", waiver->rule, waiver->expiry, &reason) != 2 || reason == 0 ||
        !conform_is_day(waiver->expiry)) {
        return "expected RULE YEAR-MONTH-DAY REASON";
    }
    if (line[reason] == '\0') {
        return "the reason is missing";
    }
    if (!is_rule(waiver->rule)) {
        return "there is no such rule; `paldiff list` names them";
    }
    if (strcmp(waiver->expiry, today) < 0) {
        return "the waiver has expired";
    }
    for (size_t i = 0; i < out->num; i++) {
        if (strcmp(out->rows[i].rule, waiver->rule) == 0) {
            return "the rule is waived twice";
        }
    }
    (void)snprintf(waiver->reason, sizeof(waiver->reason), "%s", line + reason);
    waiver->used = false;
    out->num++;
    return NULL;
}

int conform_waivers_read(struct conform_waivers *out, const char *path, const char *today)
{
    char line[LINE_MAX_LEN];
    int result = EXIT_HELD;
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return tool_usage("%s cannot be read: %s", path, strerror(errno));
    }
    for (unsigned number = 1; fgets(line, sizeof(line), file) != NULL; number++) {
        cut(line);
        const char *wrong = line[strspn(line, " \t")] != '\0' ? add_waiver(out, line, today) : NULL;
        if (wrong != NULL) {
            result = tool_usage("%s, line %u: %s: %s", path, number, wrong, line);
        }
    }
    (void)fclose(file);
    return result;
}

struct conform_waiver *conform_waiver_of(struct conform_waivers *waivers, const char *rule)
{
    for (size_t i = 0; i < waivers->num; i++) {
        if (strcmp(waivers->rows[i].rule, rule) == 0) {
            waivers->rows[i].used = true;
            return &waivers->rows[i];
        }
    }
    return NULL;
}

int conform_waivers_unused(const struct conform_waivers *waivers)
{
    int result = EXIT_HELD;
    for (size_t i = 0; i < waivers->num; i++) {
        if (!waivers->rows[i].used) {
            result =
                tool_usage("the waiver of %s is not used: the rule holds, take the line away", waivers->rows[i].rule);
        }
    }
    return result;
}

/* ---- baselines -----------------------------------------------------------------------------------------------------
 */

static const char *name_of(const struct target *target)
{
    return target != NULL ? target->name : "port";
}

bool conform_baseline_write(const struct conform *conform, const char *path)
{
    FILE *file = fopen(path, "we");
    if (file == NULL) {
        (void)fprintf(stderr, "paldiff: %s cannot be written: %s\n", path, strerror(errno));
        return false;
    }
    (void)fprintf(file, "# how much ran; a run with --baseline that runs less is red. TARGET WHAT AT-LEAST\n");
    for (size_t i = 0; i < conform->num_tallies; i++) {
        const struct conform_tally *tally = &conform->tallies[i];
        if (tally->declared) {
            (void)fprintf(file, "%s scenarios %" PRIu64 "\n", tally->target->name, tally->corpus + tally->generated);
        }
    }
    for (size_t i = 0; i < conform->num_rows; i++) {
        const struct conform_row *row = &conform->rows[i];
        if (row->compared > 0) {
            (void)fprintf(file, "%s %s %" PRIu64 "\n", name_of(row->target), row->id, row->compared);
        }
    }
    bool good = ferror(file) == 0;
    good = fclose(file) == 0 && good;
    if (!good) {
        (void)fprintf(stderr, "paldiff: %s cannot be written: %s\n", path, strerror(errno));
    }
    return good;
}

/* ran: how much of `what` this run did. */
static uint64_t ran(const struct conform *conform, const char *target, const char *what)
{
    for (size_t i = 0; strcmp(what, "scenarios") == 0 && i < conform->num_tallies; i++) {
        if (strcmp(conform->tallies[i].target->name, target) == 0) {
            return conform->tallies[i].corpus + conform->tallies[i].generated;
        }
    }
    for (size_t i = 0; i < conform->num_rows; i++) {
        if (strcmp(name_of(conform->rows[i].target), target) == 0 && strcmp(conform->rows[i].id, what) == 0) {
            return conform->rows[i].compared;
        }
    }
    return 0;
}

bool conform_baseline_check(struct conform *conform, const char *path)
{
    char line[LINE_MAX_LEN];
    size_t num = 0;
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        (void)fprintf(stderr, "paldiff: %s cannot be read: %s; --write-baseline makes one\n", path, strerror(errno));
        return false;
    }
    bool good = true;
    while (good && fgets(line, sizeof(line), file) != NULL) {
        char target[64];
        char what[64];
        char number[32];
        char *end = number;
        cut(line);
        if (line[0] == '\0') {
            continue;
        }
        good = sscanf(line, "%63s %63s %31s", target, what, number) == 3;
        uint64_t least = good ? strtoull(number, &end, 10) : 0;
        good = good && *end == '\0';
        uint64_t now = good ? ran(conform, target, what) : 0;
        if (good && now < least && conform->shortfall[0] == '\0') {
            (void)snprintf(conform->shortfall, sizeof(conform->shortfall),
                           "%s %s: %" PRIu64 ", and %" PRIu64 " by the baseline", target, what, now, least);
        }
        num++;
    }
    (void)fclose(file);
    if (!good || num == 0) {
        (void)fprintf(stderr, "paldiff: %s is no baseline: %s\n", path, num == 0 ? "it is empty" : line);
    }
    return good && num > 0;
}
