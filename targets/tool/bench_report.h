/* SPDX-License-Identifier: Apache-2.0
 * bench_report.h: what becomes of a run's figures but for the text: JSON, a comparison with an earlier run, plots.
 * It measures nothing.
 */
#ifndef PALDIFF_BENCH_REPORT_H
#define PALDIFF_BENCH_REPORT_H

#include "bench.h"

struct cJSON;

/* bench_rows: an array with an object {group, case, threads, arm, median_ns, low_ns, high_ns, allocations, bytes,
 * calls} for each arm that was measured; what nobody counted is null. The caller's to free. */
struct cJSON *bench_rows(const struct bench *const benches[], size_t num);

/* BENCH_MARGIN: two runs of the same program differ by this much, whatever the quartiles of one of them say. */
#define BENCH_MARGIN 1.05

/* bench_compare: an exit code. Each of `rows` is looked up in the file at `path`, which `bench --json` wrote; one whose
 * lower quartile is above the old upper one by more than BENCH_MARGIN is slower: named on stderr, with EXIT_BROKEN.
 * EXIT_USAGE: a file that cannot be read or is none of ours. EXIT_NOTHING_RAN: no row in common. */
int bench_compare(const struct cJSON *rows, const char *path);

/* bench_plot: an SVG for each arm group in `dir`, which is made if need be: cases by arm, with quartiles. False, with a
 * line on stderr, when gnuplot is missing or fails. */
bool bench_plot(const struct bench *const benches[], size_t num, const char *dir);

#endif
