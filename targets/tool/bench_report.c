/* SPDX-License-Identifier: Apache-2.0
 * bench_report.c: rows as JSON, and this run's beside an earlier one's.
 * It breaks when a row gets a field that an old file lacks: every field is asked for.
 */
#include "bench_report.h"

#include "harness.h"
#include "program.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <string.h>

static void add_count(cJSON *row, const char *name, double value)
{
    if (isnan(value)) {
        (void)cJSON_AddNullToObject(row, name);
    } else {
        (void)cJSON_AddNumberToObject(row, name, value);
    }
}

static cJSON *row_of(const struct bench_arm *arm, unsigned long threads)
{
    cJSON *row = cJSON_CreateObject();
    (void)cJSON_AddStringToObject(row, "group", arm->group);
    (void)cJSON_AddStringToObject(row, "case", arm->case_name);
    (void)cJSON_AddNumberToObject(row, "threads", (double)threads);
    (void)cJSON_AddStringToObject(row, "arm", arm->name);
    (void)cJSON_AddNumberToObject(row, "median_ns", arm->median_ns);
    (void)cJSON_AddNumberToObject(row, "low_ns", arm->low_ns);
    (void)cJSON_AddNumberToObject(row, "high_ns", arm->high_ns);
    add_count(row, "allocations", arm->allocations);
    add_count(row, "bytes", arm->bytes);
    add_count(row, "calls", arm->calls);
    return row;
}

cJSON *bench_rows(const struct bench *const benches[], size_t num)
{
    cJSON *rows = cJSON_CreateArray();
    for (size_t i = 0; i < num; i++) {
        for (size_t j = 0; j < benches[i]->num_arms; j++) {
            if (!benches[i]->arms[j].failed) {
                (void)cJSON_AddItemToArray(rows, row_of(&benches[i]->arms[j], benches[i]->threads));
            }
        }
    }
    return rows;
}

/* ---- an earlier run ------------------------------------------------------------------------------------------------
 */

static const char *const key_texts[] = {"group", "case", "arm"};
static const char *const key_numbers[] = {"threads", "median_ns", "low_ns", "high_ns"};

static bool row_valid(const cJSON *row)
{
    bool good = cJSON_IsObject(row);
    for (size_t i = 0; good && i < 3; i++) {
        good = cJSON_IsString(cJSON_GetObjectItemCaseSensitive(row, key_texts[i]));
    }
    for (size_t i = 0; good && i < 4; i++) {
        good = cJSON_IsNumber(cJSON_GetObjectItemCaseSensitive(row, key_numbers[i]));
    }
    return good;
}

static const char *text_of(const cJSON *row, const char *name)
{
    return cJSON_GetObjectItemCaseSensitive(row, name)->valuestring;
}

static double number_of(const cJSON *row, const char *name)
{
    return cJSON_GetObjectItemCaseSensitive(row, name)->valuedouble;
}

static bool same_arm(const cJSON *a, const cJSON *b)
{
    bool same = fabs(number_of(a, "threads") - number_of(b, "threads")) < 0.5;
    for (size_t i = 0; same && i < 3; i++) {
        same = strcmp(text_of(a, key_texts[i]), text_of(b, key_texts[i])) == 0;
    }
    return same;
}

/* The file's rows, checked, inside of *out_file, which is the caller's to free; or NULL, with a line on stderr. */
static const cJSON *read_rows(cJSON **out_file, const char *path)
{
    const cJSON *rows;
    const cJSON *row;
    bool missing = false;
    *out_file = json_read(path, &missing);
    if (*out_file == NULL) {
        (void)fputs(missing ? "paldiff: the file to compare with is not there\n" : "", stderr);
        return NULL;
    }
    rows = cJSON_GetObjectItemCaseSensitive(*out_file, "rows");
    bool good = cJSON_IsArray(rows);
    cJSON_ArrayForEach(row, rows)
    {
        good = good && row_valid(row);
    }
    if (!good) {
        (void)fprintf(
            stderr, "paldiff: %s is not what bench --json wrote: \"rows\" is missing, or a row lacks a field\n", path);
    }
    return good ? rows : NULL;
}

/* Says so on stderr. */
static bool is_slower(const cJSON *row, const cJSON *old)
{
    double low = number_of(row, "low_ns");
    double high = number_of(old, "high_ns");
    if (low <= high * BENCH_MARGIN) {
        return false;
    }
    (void)fprintf(stderr, "slower: %s, %s, %.0f thread(s), %s: %.0f ns (from %.0f), before %.0f ns (to %.0f): %.2fx\n",
                  text_of(row, "group"), text_of(row, "case"), number_of(row, "threads"), text_of(row, "arm"),
                  number_of(row, "median_ns"), low, number_of(old, "median_ns"), high,
                  number_of(row, "median_ns") / number_of(old, "median_ns"));
    return true;
}

/* The old row of the same arm, or NULL. */
static const cJSON *old_row(const cJSON *old_rows, const cJSON *row)
{
    const cJSON *old;
    cJSON_ArrayForEach(old, old_rows)
    {
        if (same_arm(row, old)) {
            return old;
        }
    }
    return NULL;
}

int bench_compare(const cJSON *rows, const char *path)
{
    cJSON *file = NULL;
    const cJSON *old_rows = read_rows(&file, path);
    size_t num_common = 0;
    size_t num_slower = 0;
    const cJSON *row;
    if (old_rows == NULL) {
        cJSON_Delete(file);
        return EXIT_USAGE;
    }
    cJSON_ArrayForEach(row, rows)
    {
        const cJSON *old = old_row(old_rows, row);
        num_common += old != NULL ? 1 : 0;
        num_slower += old != NULL && is_slower(row, old) ? 1 : 0;
    }
    (void)fprintf(stderr, "compared with %s: %zu rows in common, %zu slower\n", path, num_common, num_slower);
    cJSON_Delete(file);
    return num_common == 0 ? EXIT_NOTHING_RAN : (num_slower > 0 ? EXIT_BROKEN : EXIT_HELD);
}
