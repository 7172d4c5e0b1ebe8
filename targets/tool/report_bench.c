/* SPDX-License-Identifier: Apache-2.0
 * report_bench.c: the section of bench.json: the plots that `paldiff bench --plots` drew, and the figures.
 */
#include "report.h"
#include "tool.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum report_standing report_bench_standing(const struct cJSON *json, char *out, size_t cap)
{
    const cJSON *rows = cJSON_GetObjectItemCaseSensitive(json, "rows");
    (void)snprintf(out, cap, "%d rows", cJSON_GetArraySize(rows));
    return cJSON_GetArraySize(rows) > 0 ? STANDING_HELD : STANDING_MISSING;
}

static void base64(FILE *page, const uint8_t *data, size_t len)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < len; i += 3) {
        uint32_t word = (uint32_t)data[i] << 16;
        word |= i + 1 < len ? (uint32_t)data[i + 1] << 8 : 0;
        word |= i + 2 < len ? (uint32_t)data[i + 2] : 0;
        (void)fputc(digits[word >> 18], page);
        (void)fputc(digits[word >> 12 & 63], page);
        (void)fputc(i + 1 < len ? digits[word >> 6 & 63] : '=', page);
        (void)fputc(i + 2 < len ? digits[word & 63] : '=', page);
    }
}

/* write_plot: as an image of its own, so that what an SVG defines (names, styles, scripts) stays in it. */
static bool write_plot(FILE *page, const char *path)
{
    uint8_t *data = NULL;
    size_t len = 0;
    const char *name = strrchr(path, '/') + 1;
    size_t name_len = strlen(name);
    if (name_len < 4 || strcmp(name + name_len - 4, ".svg") != 0 || !harness_read(path, &data, &len)) {
        return false;
    }
    (void)fputs("<h3>", page);
    html_format(page, "%.*s", (int)(name_len - 4), name);
    (void)fputs("</h3>\n<div class=\"wide\"><img alt=\"", page);
    html_format(page, "nanoseconds an operation: %.*s", (int)(name_len - 4), name);
    (void)fputs("\" src=\"data:image/svg+xml;base64,", page);
    base64(page, data, len);
    (void)fputs("\"></div>\n", page);
    free(data);
    return true;
}

static void write_plots(FILE *page, const char *dir)
{
    char path[PROGRAM_PATH_MAX + 16];
    char **files = NULL;
    size_t num = 0;
    size_t drawn = 0;
    (void)snprintf(path, sizeof(path), "%s/plots", dir);
    if (access(path, R_OK) == 0 && tool_files(path, &files, &num)) {
        for (size_t i = 0; i < num; i++) {
            drawn += write_plot(page, files[i]) ? 1 : 0;
        }
    }
    tool_files_free(files, num);
    if (drawn == 0) {
        (void)fputs("<p class=\"some\">No plots. <code>ci/run bench --plots build/report/plots</code> draws them "
                    "(gnuplot-nox).</p>\n",
                    page);
    }
}

/* optional: a count that nobody took is a dash. */
static void optional(FILE *page, const cJSON *row, const char *name)
{
    double value = json_number(row, name, -1);
    if (value < 0) {
        html_cell(page, "number quiet", "-");
    } else {
        html_cell(page, "number", "%.6g", value);
    }
}

static double slowest(const cJSON *rows, const cJSON *like)
{
    const cJSON *row = NULL;
    double max = 0;
    cJSON_ArrayForEach(row, rows)
    {
        bool same = strcmp(json_text(row, "group", ""), json_text(like, "group", "")) == 0 &&
                    strcmp(json_text(row, "case", ""), json_text(like, "case", "")) == 0;
        double median = json_number(row, "median_ns", 0);
        max = same && median > max ? median : max;
    }
    return max;
}

void report_bench(FILE *page, const struct cJSON *json, const char *dir)
{
    static const char *const columns[] = {"group",     "case",        "threads", "arm",   "ns", "",
                                          "quartiles", "allocations", "bytes",   "calls", NULL};
    const cJSON *rows = cJSON_GetObjectItemCaseSensitive(json, "rows");
    const cJSON *row = NULL;
    (void)fputs("<p class=\"quiet\">", page);
    html_format(page, "%s; %s; %s", json_text(json, "command", "command not said"),
                json_text(json, "machine", "machine not said"), json_text(json, "date", "date not said"));
    (void)fputs("</p>\n", page);
    write_plots(page, dir);
    (void)fputs("<details><summary>All figures; bars compare the arms of one case</summary>\n", page);
    html_table(page, columns);
    cJSON_ArrayForEach(row, rows)
    {
        double max = slowest(rows, row);
        double median = json_number(row, "median_ns", 0);
        (void)fputs("<tr>", page);
        html_cell(page, "", "%s", json_text(row, "group", "?"));
        html_cell(page, "", "%s", json_text(row, "case", "?"));
        html_cell(page, "number", "%.0f", json_number(row, "threads", 1));
        html_cell(page, "", "%s", json_text(row, "arm", "?"));
        html_cell(page, "number", "%.0f", median);
        (void)fprintf(page, "<td><meter max=\"1\" value=\"%.3f\"></meter></td>", max > 0 ? median / max : 0.0);
        html_cell(page, "number", "%.0f to %.0f", json_number(row, "low_ns", 0), json_number(row, "high_ns", 0));
        optional(page, row, "allocations");
        optional(page, row, "bytes");
        optional(page, row, "calls");
        (void)fputs("</tr>\n", page);
    }
    html_table_end(page);
    (void)fputs("</details>\n", page);
}
