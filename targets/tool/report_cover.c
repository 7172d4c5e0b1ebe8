/* SPDX-License-Identifier: Apache-2.0
 * report_cover.c: the section of cover.json: the library file by file, the engines in sum, the pairs of operations.
 */
#include "report.h"

#include <cjson/cJSON.h>
#include <string.h>
#include <unistd.h>

enum report_standing report_cover_standing(const struct cJSON *json, char *out, size_t cap)
{
    const char *verdict = json_text(json, "verdict", "no verdict");
    const cJSON *sides = cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(json, "lib"), "branches");
    int problems = cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(json, "problems"));
    (void)snprintf(out, cap, "%s: %.0f of %.0f branch sides of lib/ by the corpus, %d problems", verdict,
                   json_number(sides, "covered", 0), json_number(sides, "count", 0), problems);
    if (strcmp(verdict, "held") == 0) {
        return STANDING_HELD;
    }
    return strcmp(verdict, "not-judged") == 0 ? STANDING_MISSING : STANDING_BROKEN;
}

static void count_cells(FILE *page, const cJSON *row, const char *name)
{
    const cJSON *count = cJSON_GetObjectItemCaseSensitive(row, name);
    double covered = json_number(count, "covered", 0);
    double all = json_number(count, "count", 0);
    html_cell(page, "number", "%.0f / %.0f", covered, all);
    (void)fprintf(page, "<td><meter max=\"1\" value=\"%.3f\"></meter></td>", all > 0 ? covered / all : 1.0);
}

static void write_rows(FILE *page, const cJSON *rows, const char *name)
{
    static const char *const columns[] = {"", "regions", "", "branch sides", "", NULL};
    const cJSON *row = NULL;
    html_table(page, columns);
    cJSON_ArrayForEach(row, rows)
    {
        (void)fputs("<tr>", page);
        html_cell(page, "", "%s", json_text(row, name, "?"));
        count_cells(page, row, "regions");
        count_cells(page, row, "branches");
        (void)fputs("</tr>\n", page);
    }
    html_table_end(page);
}

static void write_problems(FILE *page, const cJSON *json)
{
    const cJSON *problems = cJSON_GetObjectItemCaseSensitive(json, "problems");
    const cJSON *row = NULL;
    if (cJSON_GetArraySize(problems) == 0) {
        return;
    }
    (void)fputs("<pre>", page);
    cJSON_ArrayForEach(row, problems)
    {
        html_format(page, "%s: %s\n", json_text(row, "place", "?"), json_text(row, "text", "?"));
    }
    (void)fputs("</pre>\n", page);
}

static void write_exceptions(FILE *page, const cJSON *json)
{
    static const char *const columns[] = {"kind", "sides", "where", "condition", "reason", NULL};
    const cJSON *rows = cJSON_GetObjectItemCaseSensitive(json, "exceptions");
    const cJSON *row = NULL;
    (void)fprintf(page, "<details><summary>What the corpus need not reach, and why (%d rows)</summary>\n",
                  cJSON_GetArraySize(rows));
    html_table(page, columns);
    cJSON_ArrayForEach(row, rows)
    {
        (void)fputs("<tr>", page);
        html_cell(page, "", "%s", json_text(row, "kind", "?"));
        html_cell(page, "number", "%.0f", json_number(row, "sides", 0));
        html_cell(page, "", "%s", json_text(row, "path", "?"));
        html_cell(page, "text", "%s (%s)", json_text(row, "condition", "?"), json_text(row, "side", "?"));
        html_cell(page, "text", "%s", json_text(row, "reason", "?"));
        (void)fputs("</tr>\n", page);
    }
    html_table_end(page);
    (void)fputs("</details>\n", page);
}

static void write_machines(FILE *page, const cJSON *json)
{
    const cJSON *machine = NULL;
    const cJSON *pair = NULL;
    (void)fputs(
        "<h3>Operations after each other</h3>\n<p>For each (operation before, operation, result) that the corpus "
        "and random inputs reach, whether the corpus has it.</p>\n",
        page);
    cJSON_ArrayForEach(machine, cJSON_GetObjectItemCaseSensitive(json, "machines"))
    {
        const cJSON *count = cJSON_GetObjectItemCaseSensitive(machine, "pairs");
        (void)fputs("<details><summary>", page);
        html_format(page, "%s: %.0f of %.0f", json_text(machine, "target", "?"), json_number(count, "covered", 0),
                    json_number(count, "count", 0));
        (void)fputs("</summary><pre>", page);
        cJSON_ArrayForEach(pair, cJSON_GetObjectItemCaseSensitive(machine, "all"))
        {
            bool in_corpus = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(pair, "in_corpus"));
            html_format(page, "%s %s, then %s: %s\n", in_corpus ? "  " : "NO", json_text(pair, "before", "?"),
                        json_text(pair, "next", "?"), json_text(pair, "result", "?"));
        }
        (void)fputs("</pre></details>\n", page);
    }
}

void report_cover(FILE *page, const struct cJSON *json, const char *dir)
{
    char path[PROGRAM_PATH_MAX + 32];
    const cJSON *lib = cJSON_GetObjectItemCaseSensitive(json, "lib");
    const cJSON *engines = cJSON_GetObjectItemCaseSensitive(json, "engines");
    write_problems(page, json);
    (void)snprintf(path, sizeof(path), "%s/cover/lib/index.html", dir);
    if (access(path, R_OK) == 0) {
        (void)fputs("<p>Line by line: <a href=\"cover/lib/index.html\">cover/lib/index.html</a></p>\n", page);
    }
    (void)fputs("<h3>The library</h3>\n", page);
    write_rows(page, cJSON_GetObjectItemCaseSensitive(lib, "files"), "path");
    (void)fputs("<h3>The engines: files that the corpus touched</h3>\n", page);
    write_rows(page, engines, "name");
    write_machines(page, json);
    write_exceptions(page, json);
}
