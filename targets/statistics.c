/* SPDX-License-Identifier: Apache-2.0
 * statistics.c: the formulas. Times that end and times that are censored at the same moment count as ended first.
 */
#include "statistics.h"

#include <math.h>
#include <stdlib.h>

#define Z_95 1.959963984540054

struct interval statistics_wilson(size_t num, size_t of)
{
    if (of == 0) {
        return (struct interval){0, 1};
    }
    double n = (double)of;
    double p = (double)num / n;
    double z2 = Z_95 * Z_95;
    double middle = (p + z2 / (2 * n)) / (1 + z2 / n);
    double half = Z_95 / (1 + z2 / n) * sqrt(p * (1 - p) / n + z2 / (4 * n * n));
    /* At the ends the exact value, not what rounding leaves of it. */
    return (struct interval){num == 0 ? 0 : middle - half, num == of ? 1 : middle + half};
}

static int by_time(const void *left, const void *right)
{
    const struct survival *a = left;
    const struct survival *b = right;
    if (a->at < b->at || a->at > b->at) {
        return a->at < b->at ? -1 : 1;
    }
    return (int)a->censored - (int)b->censored;
}

bool statistics_median(double *out, struct survival *times, size_t num)
{
    double left = 1;
    if (num > 0) {
        qsort(times, num, sizeof(*times), by_time);
    }
    for (size_t i = 0; i < num; i++) {
        if (!times[i].censored) {
            left *= 1 - 1 / (double)(num - i);
        }
        /* A hair above one half: thirds and sixths do not multiply exactly. */
        if (!times[i].censored && left <= 0.5 + 1e-9) {
            *out = times[i].at;
            return true;
        }
    }
    return false;
}
