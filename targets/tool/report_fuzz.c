/* SPDX-License-Identifier: Apache-2.0
 * report_fuzz.c: the section of fuzz.json: every target in every build, and every finding with what `paldiff show` has
 * to say of its input now.
 */
#include "report.h"

#include <cjson/cJSON.h>
#include <string.h>
#include <unistd.h>

#define SHOWN_LINES_MAX 400u

static size_t num_findings(const cJSON *json)
{
    const cJSON *row = NULL;
    size_t num = 0;
    cJSON_ArrayForEach(row, cJSON_GetObjectItemCaseSensitive(json, "targets"))
    {
        num += (size_t)cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(row, "findings"));
    }
    return num;
}

enum report_standing report_fuzz_standing(const struct cJSON *json, char *out, size_t cap)
{
    const char *verdict = json_text(json, "verdict", "");
    const char *mutant = json_text(json, "mutant", "");
    bool held = strcmp(verdict, "held") == 0;
    (void)snprintf(out, cap, "%s: %d runs, %zu findings%s%s", verdict[0] != '\0' ? verdict : "no verdict",
                   cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(json, "targets")), num_findings(json),
                   mutant[0] != '\0' ? ", with the planted bug " : "", mutant);
    return held ? STANDING_HELD : STANDING_BROKEN;
}

static void write_targets(FILE *page, const cJSON *json)
{
    static const char *const columns[] = {"target",  "sanitizer", "executions", "per second", "compared per second",
                                          "reached", "edges",     "corpus",     "findings",   NULL};
    const cJSON *row = NULL;
    html_table(page, columns);
    cJSON_ArrayForEach(row, cJSON_GetObjectItemCaseSensitive(json, "targets"))
    {
        int found = cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(row, "findings"));
        bool ran = json_number(row, "executions", 0) > 0;
        (void)fputs("<tr>", page);
        html_cell(page, "", "%s", json_text(row, "name", "?"));
        html_cell(page, "", "%s", json_text(row, "sanitizer", "?"));
        html_cell(page, ran ? "number" : "number bad", "%.0f", json_number(row, "executions", 0));
        html_cell(page, "number", "%.0f", json_number(row, "executions_per_second", 0));
        html_cell(page, "number", "%.0f", json_number(row, "compared_per_second", 0));
        html_cell(page, "number", "%.1f%%", 100 * json_number(row, "reached_share", 0));
        html_cell(page, "number", "%.0f", json_number(row, "edges", 0));
        html_cell(page, "number", "%.0f", json_number(row, "corpus", 0));
        html_cell(page, found > 0 ? "number bad" : "number", "%d", found);
        (void)fputs("</tr>\n", page);
    }
    html_table_end(page);
}

/* copy_file: escaped, at most SHOWN_LINES_MAX lines. */
static void copy_file(FILE *page, const char *path)
{
    char line[4096];
    size_t num = 0;
    FILE *file = fopen(path, "re");
    (void)fputs("<pre>", page);
    while (file != NULL && num < SHOWN_LINES_MAX && fgets(line, (int)sizeof(line), file) != NULL) {
        html_text(page, line);
        num++;
    }
    if (file != NULL && num == SHOWN_LINES_MAX) {
        (void)fputs("... (cut)\n", page);
    }
    (void)fputs("</pre>\n", page);
    if (file != NULL) {
        (void)fclose(file);
    }
}

/* write_show: what this build does with the input; the tool's own words, from a process of their own because the input
 * may crash it. */
static void write_show(FILE *page, const char *file, const char *mutant, const char *dir)
{
    char self[PROGRAM_PATH_MAX];
    char out[PROGRAM_PATH_MAX + 16];
    ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (file[0] == '\0' || len <= 0) {
        (void)fputs("<p class=\"quiet\">There is no input.</p>\n", page);
        return;
    }
    if (access(file, R_OK) != 0) {
        (void)fputs("<p class=\"bad\">The input is no longer there: <code>", page);
        html_text(page, file);
        (void)fputs("</code></p>\n", page);
        return;
    }
    self[len] = '\0';
    (void)snprintf(out, sizeof(out), "%s/.show", dir);
    const char *const plain[] = {self, "show", file, NULL};
    const char *const planted[] = {self, "show", "--mutant", mutant, file, NULL};
    int code = program_run(mutant[0] != '\0' ? planted : plain, out, "/dev/null");
    html_format(page, code == 1 ? "What it does in this build:" : "In this build no rule breaks (exit code %d):", code);
    copy_file(page, out);
    (void)unlink(out);
}

static void write_finding(FILE *page, const cJSON *row, const cJSON *target, const char *mutant, const char *dir)
{
    const char *rule = json_text(row, "rule", "");
    const cJSON *detail = NULL;
    (void)fputs("<h3 class=\"bad\">", page);
    html_format(page, "%s, %s (%s)", rule[0] != '\0' ? rule : json_text(row, "kind", "?"),
                json_text(target, "name", "?"), json_text(target, "build", json_text(target, "sanitizer", "?")));
    (void)fputs("</h3>\n<p>", page);
    if (rule[0] != '\0') {
        html_format(page, "step %.0f got %s want %s", json_number(row, "step", 0), json_text(row, "got", "?"),
                    json_text(row, "want", "?"));
        (void)fputs("<br>", page);
    }
    html_text(page, json_text(row, "summary", ""));
    cJSON_ArrayForEach(detail, cJSON_GetObjectItemCaseSensitive(row, "details"))
    {
        (void)fputs("<br>", page);
        html_text(page, cJSON_IsString(detail) ? detail->valuestring : "?");
    }
    (void)fputs("</p>\n", page);
    if (json_text(row, "replay", "")[0] != '\0') {
        (void)fputs("<pre>", page);
        html_text(page, json_text(row, "replay", ""));
        (void)fputs("</pre>\n", page);
    }
    write_show(page, json_text(row, "file", ""), mutant, dir);
}

void report_fuzz(FILE *page, const struct cJSON *json, const char *dir)
{
    const char *mutant = json_text(json, "mutant", "");
    const cJSON *target = NULL;
    const cJSON *row = NULL;
    if (mutant[0] != '\0') {
        (void)fputs("<p class=\"some\">", page);
        html_format(page, "This run had the planted bug %s: it says that the suite sees it, not how the ports are.",
                    mutant);
        (void)fputs("</p>\n", page);
    }
    (void)fputs("<p class=\"quiet\">", page);
    html_format(page, "Seed %.0f.", json_number(json, "seed", 0));
    (void)fputs("</p>\n", page);
    write_targets(page, json);
    cJSON_ArrayForEach(target, cJSON_GetObjectItemCaseSensitive(json, "targets"))
    {
        cJSON_ArrayForEach(row, cJSON_GetObjectItemCaseSensitive(target, "findings"))
        {
            write_finding(page, row, target, mutant, dir);
        }
    }
    if (num_findings(json) == 0) {
        (void)fputs("<p>No findings.</p>\n", page);
    }
}
