/* SPDX-License-Identifier: Apache-2.0
 * statistics.h: what figures about mutants are told with: an interval around a rate, and a median of times some of
 * which are known only to be longer than the budget. Pure functions.
 */
#ifndef PALDIFF_STATISTICS_H
#define PALDIFF_STATISTICS_H

#include <stdbool.h>
#include <stddef.h>

struct interval {
    double low;
    double high;
};

/* statistics_wilson: the 95 % score interval of `num` out of `of` (Wilson 1927); all of 0 to 1 when `of` is 0. */
struct interval statistics_wilson(size_t num, size_t of);

/* survival: `at` is when it ended, or, when `censored`, how long it was watched without ending. */
struct survival {
    double at;
    bool censored;
};

/* statistics_median: the least time at which the Kaplan-Meier estimate of what is left falls to half. Sorts `times`.
 * False when it never does, or when there are none. */
bool statistics_median(double *out, struct survival *times, size_t num);

#endif
