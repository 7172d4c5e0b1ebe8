/* SPDX-License-Identifier: Apache-2.0
 * report.h: `paldiff report`: one page from what the other commands left in JSON. report_html.c writes what is safe in
 * a page, report_fuzz.c, report_mutants.c, report_cover.c and report_bench.c a section each, tool_report.c the rest.
 * Whatever comes from a file is escaped; what a file does not say is said to be missing.
 */
#ifndef PALDIFF_REPORT_H
#define PALDIFF_REPORT_H

#include "program.h"

#include <stdio.h>

/* report_standing: of a section, from the worst. */
enum report_standing { STANDING_BROKEN, STANDING_MISSING, STANDING_HELD };

/* report_section: one input. `json` NULL: it is not there. */
struct report_section {
    const char *title;
    const char *file;    /* below the report folder */
    const char *command; /* that makes it */
    /* standing: in a word or two for the summary, too. write: the section below its heading. */
    enum report_standing (*standing)(const struct cJSON *json, char *out, size_t cap);
    void (*write)(FILE *page, const struct cJSON *json, const char *dir);
    struct cJSON *json;
    char date[32]; /* of the file */
};

/* html_text: escaped; what is no UTF-8 and no text becomes U+FFFD. */
void html_text(FILE *page, const char *text);
/* html_format: the same of what was formatted; cut at 4 KB. */
__attribute__((format(printf, 2, 3))) void html_format(FILE *page, const char *format, ...);
/* html_cell: <td> with the text; `kind` is "" or a class: number, good, bad, quiet. */
__attribute__((format(printf, 3, 4))) void html_cell(FILE *page, const char *kind, const char *format, ...);
/* html_table: opens a table in a box that scrolls by itself; `columns` end with NULL. */
void html_table(FILE *page, const char *const columns[]);
void html_table_end(FILE *page);
/* html_head, html_foot: with the style; nothing is loaded from anywhere. */
void html_head(FILE *page, const char *title);
void html_foot(FILE *page);

enum report_standing report_fuzz_standing(const struct cJSON *json, char *out, size_t cap);
enum report_standing report_mutants_standing(const struct cJSON *json, char *out, size_t cap);
enum report_standing report_cover_standing(const struct cJSON *json, char *out, size_t cap);
enum report_standing report_bench_standing(const struct cJSON *json, char *out, size_t cap);
void report_fuzz(FILE *page, const struct cJSON *json, const char *dir);
void report_mutants(FILE *page, const struct cJSON *json, const char *dir);
void report_cover(FILE *page, const struct cJSON *json, const char *dir);
void report_bench(FILE *page, const struct cJSON *json, const char *dir);

#endif
