/* SPDX-License-Identifier: Apache-2.0
 * bench_table.h: a table of short texts, printed as Markdown that is also readable as it stands.
 * It breaks when a cell has a bar in it.
 */
#ifndef PALDIFF_BENCH_TABLE_H
#define PALDIFF_BENCH_TABLE_H

#include <stddef.h>

enum { BENCH_TABLE_COLUMNS = 18, BENCH_TABLE_CELLS = 2048, BENCH_TABLE_TEXT = 40 };

/* bench_table: {0} is empty. Row 0 is the head. */
struct bench_table {
    size_t num_columns;
    size_t num_cells;
    char cells[BENCH_TABLE_CELLS][BENCH_TABLE_TEXT];
};

/* bench_table_start: an empty table whose head is `head`, columns apart by bars. */
void bench_table_start(struct bench_table *table, const char *head);

/* bench_table_cell: the next cell, row by row; cut when it is too long. bench_table_number: the same for a figure that
 * may be missing: NAN is a dash. */
__attribute__((format(printf, 2, 3))) void bench_table_cell(struct bench_table *table, const char *format, ...);
void bench_table_number(struct bench_table *table, int decimals, double value, const char *unit);

/* bench_table_print: on standard output, with an empty line behind. Rows are whole. */
void bench_table_print(const struct bench_table *table);

#endif
