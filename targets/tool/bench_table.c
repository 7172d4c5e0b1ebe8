/* SPDX-License-Identifier: Apache-2.0
 * bench_table.c: a table of texts in Markdown.
 */
#include "bench_table.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void bench_table_start(struct bench_table *table, const char *head)
{
    table->num_columns = 0;
    table->num_cells = 0;
    while (head != NULL) {
        const char *bar = strchr(head, '|');
        int len = bar != NULL ? (int)(bar - head) : (int)strlen(head);
        assert(table->num_columns < BENCH_TABLE_COLUMNS);
        bench_table_cell(table, "%.*s", len, head);
        table->num_columns++;
        head = bar != NULL ? bar + 1 : NULL;
    }
}

void bench_table_cell(struct bench_table *table, const char *format, ...)
{
    va_list arguments;
    assert(table->num_cells < BENCH_TABLE_CELLS);
    va_start(arguments, format);
    (void)vsnprintf(table->cells[table->num_cells++], BENCH_TABLE_TEXT, format, arguments);
    va_end(arguments);
}

void bench_table_number(struct bench_table *table, int decimals, double value, const char *unit)
{
    if (isnan(value)) {
        bench_table_cell(table, "-");
    } else {
        bench_table_cell(table, "%.*f%s", decimals, value, unit);
    }
}

static int width(const struct bench_table *table, size_t column)
{
    size_t widest = 3;
    for (size_t i = column; i < table->num_cells; i += table->num_columns) {
        size_t len = strlen(table->cells[i]);
        widest = len > widest ? len : widest;
    }
    return (int)widest;
}

/* The line between head and rows: columns but the first are flush right. */
static void print_rule(const struct bench_table *table)
{
    static const char dashes[BENCH_TABLE_TEXT + 1] = "----------------------------------------";
    for (size_t i = 0; i < table->num_columns; i++) {
        (void)printf("|-%.*s%s", width(table, i), dashes, i == 0 ? "-" : ":");
    }
    (void)puts("|");
}

void bench_table_print(const struct bench_table *table)
{
    assert(table->num_columns > 0 && table->num_cells % table->num_columns == 0);
    for (size_t i = 0; i < table->num_cells; i++) {
        size_t column = i % table->num_columns;
        int wide = width(table, column);
        (void)printf("| %*s ", column == 0 ? -wide : wide, table->cells[i]);
        if (column + 1 == table->num_columns) {
            (void)puts("|");
        }
        if (i + 1 == table->num_columns) {
            print_rule(table);
        }
    }
    (void)putchar('\n');
}
