/* SPDX-License-Identifier: Apache-2.0
 * report_mutants.c: the section of mutants.json: who survived, and for each area a heat map of mutants and rules: how
 * many inputs of the committed corpus each rule broke on.
 */
#include "report.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#define AREAS_MAX 16u
#define COLUMNS_MAX 96u
#define LABEL 290
#define CELL 15

static const cJSON *mutants_of(const cJSON *json)
{
    return cJSON_GetObjectItemCaseSensitive(json, "mutants");
}

static size_t num_survivors(const cJSON *json)
{
    const cJSON *row = NULL;
    size_t num = 0;
    cJSON_ArrayForEach(row, mutants_of(json))
    {
        num += cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(row, "killed")) ? 0 : 1;
    }
    return num;
}

static size_t num_controls_broken(const cJSON *json)
{
    const cJSON *row = NULL;
    size_t num = 0;
    cJSON_ArrayForEach(row, cJSON_GetObjectItemCaseSensitive(json, "controls"))
    {
        num += cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(row, "held")) ? 0 : 1;
    }
    return num;
}

/* by_other: its own rule was not the first on its witness. */
static bool by_other(const cJSON *row)
{
    return strcmp(json_text(row, "by", ""), json_text(row, "killer", "")) != 0;
}

static size_t num_by_other(const cJSON *json)
{
    const cJSON *row = NULL;
    size_t num = 0;
    cJSON_ArrayForEach(row, mutants_of(json))
    {
        num += by_other(row) ? 1 : 0;
    }
    return num;
}

enum report_standing report_mutants_standing(const struct cJSON *json, char *out, size_t cap)
{
    int num = cJSON_GetArraySize(mutants_of(json));
    int num_controls = cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(json, "controls"));
    size_t lost = num_survivors(json);
    size_t controls = num_controls_broken(json);
    bool good = num > 0 && num_controls > 0 && num_by_other(json) == 0 && controls == 0 && lost == 0;
    (void)snprintf(out, cap, "%d planted bugs, %zu survived, %zu not by their own rule; controls %s", num, lost,
                   num_by_other(json),
                   num_controls == 0 ? "missing"
                   : controls == 0   ? "held"
                                     : "BROKEN");
    return good ? STANDING_HELD : STANDING_BROKEN;
}

/* columns: the rules that broke on any mutant of one area, in order of appearance. */
struct columns {
    size_t num;
    const char *names[COLUMNS_MAX];
    double most; /* inputs of one cell */
    size_t head; /* room above the cells for the names, which stand at 60 degrees */
};

static size_t column_of(struct columns *columns, const char *name)
{
    for (size_t i = 0; i < columns->num; i++) {
        if (strcmp(columns->names[i], name) == 0) {
            return i;
        }
    }
    if (name[0] == '\0' || columns->num == COLUMNS_MAX) {
        return COLUMNS_MAX;
    }
    columns->names[columns->num] = name;
    return columns->num++;
}

static bool in_area(const cJSON *row, const char *area)
{
    return strcmp(json_text(row, "area", ""), area) == 0;
}

/* fill_columns: own rules first, so that the diagonal shows. */
static size_t fill_columns(struct columns *out, const cJSON *json, const char *area)
{
    const cJSON *row = NULL;
    const cJSON *cell = NULL;
    size_t num = 0;
    memset(out, 0, sizeof(*out));
    cJSON_ArrayForEach(row, mutants_of(json))
    {
        if (in_area(row, area)) {
            (void)column_of(out, json_text(row, "killer", ""));
            num++;
        }
    }
    cJSON_ArrayForEach(row, mutants_of(json))
    {
        const cJSON *cells = in_area(row, area) ? cJSON_GetObjectItemCaseSensitive(row, "rules") : NULL;
        cJSON_ArrayForEach(cell, cells)
        {
            double inputs = json_number(cell, "inputs", 0);
            (void)column_of(out, cell->string);
            out->most = inputs > out->most ? inputs : out->most;
        }
    }
    for (size_t i = 0; i < out->num; i++) {
        size_t room = 20 + 6 * strlen(out->names[i]);
        out->head = room > out->head ? room : out->head;
    }
    return num;
}

static void write_cell(FILE *page, size_t column, size_t line, const struct columns *columns, const cJSON *row,
                       double inputs)
{
    double heat = columns->most > 0 ? 0.2 + 0.8 * log1p(inputs) / log1p(columns->most) : 1;
    (void)fprintf(page,
                  "<rect class=\"hit\" x=\"%zu\" y=\"%zu\" width=\"%d\" height=\"%d\" fill-opacity=\"%.2f\"><title>",
                  LABEL + column * CELL, columns->head + line * CELL, CELL - 1, CELL - 1, heat);
    html_format(page, "%s: %s broke on %.0f inputs", json_text(row, "name", "?"), columns->names[column], inputs);
    (void)fputs("</title></rect>\n", page);
}

static void write_line(FILE *page, size_t line, struct columns *columns, const cJSON *row)
{
    const cJSON *cells = cJSON_GetObjectItemCaseSensitive(row, "rules");
    const cJSON *cell = NULL;
    bool killed = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(row, "killed"));
    size_t own = column_of(columns, json_text(row, "killer", ""));
    size_t by = column_of(columns, json_text(row, "by", ""));
    (void)fprintf(page, "<text class=\"%s\" x=\"%d\" y=\"%zu\" text-anchor=\"end\">", killed ? "" : "lost", LABEL - 6,
                  columns->head + line * CELL + 11);
    html_text(page, json_text(row, "name", "?"));
    (void)fputs("</text>\n", page);
    cJSON_ArrayForEach(cell, cells)
    {
        size_t column = column_of(columns, cell->string);
        if (column < COLUMNS_MAX) {
            write_cell(page, column, line, columns, row, json_number(cell, "inputs", 0));
        }
    }
    if (cells == NULL && by < COLUMNS_MAX) { /* a file without the matrix knows the first rule only */
        write_cell(page, by, line, columns, row, 1);
    }
    if (own < COLUMNS_MAX) {
        (void)fprintf(page, "<rect class=\"mark\" x=\"%zu.5\" y=\"%zu.5\" width=\"%d\" height=\"%d\"/>\n",
                      LABEL + own * CELL, columns->head + line * CELL, CELL - 2, CELL - 2);
    }
}

static void write_area(FILE *page, const cJSON *json, const char *area)
{
    struct columns columns;
    const cJSON *row = NULL;
    size_t num = fill_columns(&columns, json, area);
    size_t width = LABEL + columns.num * CELL + 110;
    size_t height = columns.head + num * CELL + 6;
    size_t line = 0;
    (void)fputs("<h3>", page);
    html_format(page, "%s: %zu planted bugs", area, num);
    (void)fprintf(
        page,
        "</h3>\n<div class=\"wide matrix\"><svg width=\"%zu\" height=\"%zu\" viewBox=\"0 0 %zu %zu\" role=\"img\">"
        "<title>",
        width, height, width, height);
    html_format(page, "planted bugs of %s by the rules that broke", area);
    (void)fputs("</title>\n", page);
    for (size_t i = 0; i < columns.num; i++) {
        size_t x = LABEL + i * CELL + 11;
        (void)fprintf(page, "<text transform=\"translate(%zu %zu) rotate(-60)\">", x, columns.head - 4);
        html_text(page, columns.names[i]);
        (void)fputs("</text>\n", page);
    }
    for (int lost = 1; lost >= 0; lost--) { /* survivors first */
        cJSON_ArrayForEach(row, mutants_of(json))
        {
            bool killed = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(row, "killed"));
            if (in_area(row, area) && killed == (lost == 0)) {
                write_line(page, line++, &columns, row);
            }
        }
    }
    (void)fputs("</svg></div>\n", page);
}

/* write_worries: the mutants that are not as they should be, first and in words. */
static void write_worries(FILE *page, const cJSON *json)
{
    const cJSON *row = NULL;
    cJSON_ArrayForEach(row, mutants_of(json))
    {
        bool killed = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(row, "killed"));
        if (!killed || by_other(row)) {
            (void)fputs("<p class=\"bad\">", page);
            html_format(page, "%s %s; its rule is %s%s%s", json_text(row, "name", "?"),
                        killed ? "was killed by another rule first" : "survived", json_text(row, "killer", "?"),
                        killed ? ", the first was " : "", killed ? json_text(row, "by", "?") : "");
            (void)fputs("</p>\n", page);
        }
    }
    cJSON_ArrayForEach(row, cJSON_GetObjectItemCaseSensitive(json, "controls"))
    {
        if (!cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(row, "held"))) {
            (void)fputs("<p class=\"bad\">", page);
            html_format(page, "control %s of %s is not green: %s", json_text(row, "name", "?"),
                        json_text(row, "area", "?"), json_text(row, "by", "?"));
            (void)fputs("</p>\n", page);
        }
    }
}

static void write_rate(FILE *page, const cJSON *rates, const char *name, const char *words)
{
    const cJSON *rate = cJSON_GetObjectItemCaseSensitive(rates, name);
    if (cJSON_IsObject(rate)) {
        (void)fputs("<tr>", page);
        html_cell(page, "text", "%s", words);
        html_cell(page, "number", "%.0f of %.0f", json_number(rate, "num", 0), json_number(rate, "of", 0));
        html_cell(page, "number quiet", "%.1f to %.1f %%", 100 * json_number(rate, "low", 0),
                  100 * json_number(rate, "high", 1));
        (void)fputs("</tr>\n", page);
    }
}

static void write_rates(FILE *page, const cJSON *json)
{
    static const char *const columns[] = {"", "killed", "95 %", NULL};
    const cJSON *rates = cJSON_GetObjectItemCaseSensitive(json, "rates");
    if (!cJSON_IsObject(rates)) {
        (void)fputs("<p class=\"some\">The file has no kill rates and no matrix: it is of an older version.</p>\n",
                    page);
        return;
    }
    html_table(page, columns);
    write_rate(page, rates, "own_rule", "by their own rule first, on their witness");
    write_rate(page, rates, "replay", "by anything, in the committed corpus");
    write_rate(page, rates, "sanitizers_alone", "by sanitizers alone, with every rule switched off");
    write_rate(page, rates, "fuzz", "by the fuzzer, unaided");
    html_table_end(page);
    const cJSON *times = cJSON_GetObjectItemCaseSensitive(json, "fuzz_times");
    if (cJSON_IsObject(times)) {
        (void)fputs("<p>", page);
        html_format(page, "Fuzzed kills: median %.0f executions, %.1f s; at most %.0f executions, %.1f s.",
                    json_number(times, "executions", NAN), json_number(times, "seconds", NAN),
                    json_number(times, "executions_max", NAN), json_number(times, "seconds_max", NAN));
        (void)fputs("</p>\n", page);
    }
}

static void write_rules(FILE *page, const cJSON *json)
{
    static const char *const columns[] = {"rule", "breaks on", "first on", "alone catches", "killed without it", NULL};
    const cJSON *without = cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(json, "rates"), "without");
    const cJSON *rules = cJSON_GetObjectItemCaseSensitive(json, "rules");
    const cJSON *row = NULL;
    if (!cJSON_IsArray(rules)) {
        return;
    }
    (void)fputs("<details><summary>Rule by rule</summary>\n", page);
    html_table(page, columns);
    cJSON_ArrayForEach(row, rules)
    {
        const char *id = json_text(row, "id", "?");
        const cJSON *rate = cJSON_GetObjectItemCaseSensitive(without, id);
        (void)fputs("<tr>", page);
        html_cell(page, "", "%s", id);
        html_cell(page, "number", "%.0f", json_number(row, "mutants", 0));
        html_cell(page, "number", "%.0f", json_number(row, "first", 0));
        html_cell(page, "number", "%d", cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(row, "only")));
        html_cell(page, "number", "%.0f of %.0f", json_number(rate, "num", NAN), json_number(rate, "of", NAN));
        (void)fputs("</tr>\n", page);
    }
    html_table_end(page);
    (void)fputs("</details>\n", page);
}

void report_mutants(FILE *page, const struct cJSON *json, const char *dir)
{
    const char *areas[AREAS_MAX];
    size_t num_areas = 0;
    const cJSON *row = NULL;
    (void)dir;
    write_worries(page, json);
    write_rates(page, json);
    (void)fputs(
        "<p>A planted bug a line, a rule a column. The darker, the more inputs of the committed corpus the rule "
        "broke on; the frame is the rule that must catch it.</p>\n",
        page);
    cJSON_ArrayForEach(row, mutants_of(json))
    {
        const char *area = json_text(row, "area", "?");
        bool known = false;
        for (size_t i = 0; i < num_areas; i++) {
            known = known || strcmp(areas[i], area) == 0;
        }
        if (!known && num_areas < AREAS_MAX) {
            areas[num_areas++] = area;
        }
    }
    for (size_t i = 0; i < num_areas; i++) {
        write_area(page, json, areas[i]);
    }
    write_rules(page, json);
}
