/* SPDX-License-Identifier: Apache-2.0
 * bench_plot.c: one SVG for each arm group, through gnuplot.
 * It breaks when a case's or an arm's name has a double quote in it.
 */
#include "bench_report.h"

#include "program.h"
#include "run.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* plot: the arms of one group, from all benches. */
struct plot {
    const struct bench *const *benches;
    size_t num_benches;
    const char *group;
};

static const struct bench_arm *arm_at(const struct plot *plot, size_t bench, size_t index)
{
    const struct bench_arm *arm = &plot->benches[bench]->arms[index];
    return !arm->failed && strcmp(arm->group, plot->group) == 0 ? arm : NULL;
}

/* Whether no arm before this one has its `case_name` (or its name) in the same bench. */
static bool is_first(const struct plot *plot, size_t bench, size_t index, bool by_case)
{
    const struct bench_arm *arm = arm_at(plot, bench, index);
    for (size_t i = 0; arm != NULL && i < index; i++) {
        const struct bench_arm *other = arm_at(plot, bench, i);
        if (other != NULL &&
            strcmp(by_case ? other->case_name : other->name, by_case ? arm->case_name : arm->name) == 0) {
            return false;
        }
    }
    return arm != NULL;
}

/* The first bench that has arms of the group names the series. */
static size_t first_bench(const struct plot *plot)
{
    for (size_t i = 0; i < plot->num_benches; i++) {
        for (size_t j = 0; j < plot->benches[i]->num_arms; j++) {
            if (arm_at(plot, i, j) != NULL) {
                return i;
            }
        }
    }
    return 0;
}

static void write_data(FILE *out, const struct plot *plot)
{
    size_t series = first_bench(plot);
    (void)fputs("$data << END\n", out);
    for (size_t i = 0; i < plot->num_benches; i++) {
        const struct bench *bench = plot->benches[i];
        for (size_t j = 0; j < bench->num_arms; j++) {
            if (!is_first(plot, i, j, true)) {
                continue;
            }
            (void)fprintf(out, "\"%s, %lu thr.\"", bench->arms[j].case_name, bench->threads);
            for (size_t k = 0; k < plot->benches[series]->num_arms; k++) {
                const struct bench_arm *arm =
                    bench_find(bench, plot->group, bench->arms[j].case_name, plot->benches[series]->arms[k].name);
                if (is_first(plot, series, k, false)) {
                    (void)fprintf(out, " %g %g %g", arm != NULL ? arm->median_ns : 0.0 / 0.0,
                                  arm != NULL ? arm->low_ns : 0.0 / 0.0, arm != NULL ? arm->high_ns : 0.0 / 0.0);
                }
            }
            (void)fputc('\n', out);
        }
        (void)fputc('\n', out); /* lines end with a number of threads */
    }
    (void)fputs("END\n", out);
}

static void write_plot(FILE *out, const struct plot *plot, const char *dir)
{
    size_t series = first_bench(plot);
    size_t column = 2;
    (void)fputs("set output '", out);
    for (const char *at = dir; *at != '\0'; at++) {
        (void)fputs(*at == '\'' ? "''" : (char[]){*at, '\0'}, out);
    }
    (void)fputc('/', out);
    for (const char *at = plot->group; *at != '\0'; at++) {
        (void)fputc(*at == ' ' ? '-' : *at, out);
    }
    (void)fprintf(out, ".svg'\nset title \"%s\"\n", plot->group);
    write_data(out, plot);
    for (size_t i = 0; i < plot->benches[series]->num_arms; i++) {
        if (is_first(plot, series, i, false)) {
            (void)fprintf(out, "%s $data using 0:%zu:%zu:%zu:xtic(1) with yerrorlines title \"%s\"",
                          column == 2 ? "plot" : ",", column, column + 1, column + 2,
                          plot->benches[series]->arms[i].name);
            column += 3;
        }
    }
    (void)fputs("\nset output\nundefine $data\n", out);
}

static void write_script(FILE *out, const struct bench *const benches[], size_t num, const char *dir)
{
    (void)fputs("set terminal svg size 1000,560 dynamic background 'white' noenhanced\nset logscale y\n"
                "set ylabel 'ns an operation; bars: quartiles'\nset xtics rotate by -35\nset key outside\nset grid y\n",
                out);
    for (size_t i = 0; i < num; i++) {
        for (size_t j = 0; j < benches[i]->num_arms; j++) {
            const struct plot plot = {benches, num, benches[i]->arms[j].group};
            bool seen = arm_at(&plot, i, j) == NULL || first_bench(&plot) != i;
            for (size_t k = 0; !seen && k < j; k++) {
                seen = arm_at(&plot, i, k) != NULL;
            }
            if (!seen) {
                write_plot(out, &plot, dir);
            }
        }
    }
}

bool bench_plot(const struct bench *const benches[], size_t num, const char *dir)
{
    char gnuplot[PROGRAM_PATH_MAX];
    char path[RUN_PATH_MAX];
    const char *argv[] = {gnuplot, path, NULL};
    if (!program_find(gnuplot, "gnuplot")) {
        (void)fputs("paldiff: no plots: install gnuplot-nox\n", stderr);
        return false;
    }
    if (!run_make_dir(dir) || !run_path(path, "%s/.script", dir)) {
        return false;
    }
    FILE *script = fopen(path, "we");
    if (script == NULL) {
        (void)fprintf(stderr, "paldiff: %s cannot be written: %s\n", path, strerror(errno));
        return false;
    }
    write_script(script, benches, num, dir);
    bool good = fclose(script) == 0 && program_run(argv, NULL, NULL) == 0;
    (void)remove(path);
    if (!good) {
        (void)fputs("paldiff: no plots: gnuplot failed\n", stderr);
    }
    return good;
}
