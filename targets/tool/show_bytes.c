/* SPDX-License-Identifier: Apache-2.0
 * show_bytes.c: two outputs as hex, side by side. Eight bytes a row, so that both fit into 80 columns.
 */
#include "show.h"

#define ROW 8u
#define ROWS_BEFORE 1u
#define ROWS_AFTER 6u

static bool byte_differs(struct pal_view a, struct pal_view b, size_t at)
{
    bool in_a = at < a.len;
    bool in_b = at < b.len;
    return in_a != in_b || (in_a && a.data[at] != b.data[at]);
}

static bool row_differs(struct pal_view a, struct pal_view b, size_t row)
{
    bool differs = false;
    for (size_t at = row * ROW; at < (row + 1) * ROW; at++) {
        differs = differs || byte_differs(a, b, at);
    }
    return differs;
}

/* print_half: "c9 f5 13 b3 77 dc 34 10 ....w.4.", always as wide. */
static void print_half(const struct show *show, FILE *out, struct pal_view mine, struct pal_view other, size_t row)
{
    for (size_t at = row * ROW; at < (row + 1) * ROW; at++) {
        bool differs = byte_differs(mine, other, at);
        if (at < mine.len) {
            (void)fprintf(out, "%s%02x%s ", differs ? show_red(show) : "", mine.data[at],
                          differs ? show_plain(show) : "");
        } else {
            (void)fputs("   ", out);
        }
    }
    for (size_t at = row * ROW; at < (row + 1) * ROW; at++) {
        int c = at < mine.len ? mine.data[at] : ' ';
        (void)fputc(c >= ' ' && c <= '~' ? c : '.', out);
    }
}

void show_bytes(const struct show *show, FILE *out)
{
    if (show->bytes_step == SHOW_NO_STEP) {
        return;
    }
    struct pal_view left = show_output(show, show->left, show->bytes_step);
    struct pal_view right = show_output(show, show->right, show->bytes_step);
    size_t longest = left.len > right.len ? left.len : right.len;
    size_t num_rows = (longest + ROW - 1) / ROW;
    size_t first = 0;
    size_t num_hidden = 0;
    while (!byte_differs(left, right, first)) {
        first++;
    }
    size_t from = first / ROW > ROWS_BEFORE ? first / ROW - ROWS_BEFORE : 0;
    size_t to = first / ROW + ROWS_AFTER < num_rows ? first / ROW + ROWS_AFTER : num_rows;
    (void)fprintf(out, "\noutput of step %zu, first difference at byte %zu\n", show->bytes_step + 1, first);
    (void)fprintf(out, "      %-20.20s %4zu bytes   |  %-20.20s %4zu bytes\n",
                  show->stage->worlds[show->left].trace.name, left.len, show->stage->worlds[show->right].trace.name,
                  right.len);
    for (size_t row = from; row < to; row++) {
        (void)fprintf(out, "%04zx  ", row * ROW);
        print_half(show, out, left, right, row);
        (void)fprintf(out, " %c  ", row_differs(left, right, row) ? '*' : '|');
        print_half(show, out, right, left, row);
        (void)fputc('\n', out);
    }
    for (size_t row = to; row < num_rows; row++) {
        num_hidden += row_differs(left, right, row) ? 1 : 0;
    }
    if (to < num_rows) {
        (void)fprintf(out, "      %zu rows more, %zu of them differ\n", num_rows - to, num_hidden);
    }
}
