/* SPDX-License-Identifier: Apache-2.0
 * kill_table.c: what a person wants to know, in this order: what survived, what the suite could not tell, rates by
 * area, what each rule adds, times.
 */
#include "kill.h"

#include "poison.h"
#include "statistics.h"

#include <inttypes.h>
#include <string.h>

static void print_count(FILE *out, const char *label, struct kill_count count)
{
    struct interval interval = statistics_wilson(count.num, count.of);
    (void)fprintf(out, "  %-36s %4zu of %4zu  %5.1f %%  [%.1f, %.1f]\n", label, count.num, count.of,
                  count.of > 0 ? 100 * (double)count.num / (double)count.of : 0.0, 100 * interval.low,
                  100 * interval.high);
}

/* print_bad: survivors and failures, one a line. */
static void print_bad(FILE *out, const struct kill_board *board)
{
    for (size_t i = 0; i < board->num; i++) {
        const struct kill *kill = &board->kills[i];
        if (kill->failed) {
            (void)fprintf(out, "FAILED    %-34s %s\n", kill->mutant->name, kill->why);
        } else if (!kill_replayed(kill)) {
            (void)fprintf(out, "SURVIVED  %-34s should be killed by %s%s\n", kill->mutant->name, kill->mutant->rule,
                          kill->infected > 0 ? "; its traces differ" : "");
        } else if (!kill_own(kill)) {
            (void)fprintf(out, "NOT OWN   %-34s on its witness by %s, not by %s\n", kill->mutant->name,
                          kill->witness_rule < NUM_RULES ? kill_rule_id(kill->witness_rule) : "nothing",
                          kill->mutant->rule);
        }
    }
    for (size_t i = 0; i < board->num_controls; i++) {
        const struct kill *control = &board->controls[i];
        if (!kill_held(control)) {
            (void)fprintf(out, "CONTROL   %s of %s is not green: %s\n",
                          control->mutant != NULL ? control->mutant->name : "good-ports", control->target->name,
                          control->failed ? control->why : kill_by(control));
        }
    }
}

static void print_rules(FILE *out, const struct kill_board *board)
{
    (void)fprintf(out, "rule                         breaks on  first on  only it kills\n");
    for (size_t rule = 0; rule < NUM_RULES; rule++) {
        size_t breaks = 0;
        size_t first = 0;
        size_t only = 0;
        for (size_t i = 0; i < board->num; i++) {
            breaks += board->kills[i].inputs[rule] > 0 ? 1 : 0;
            first += board->kills[i].witness_rule == rule ? 1 : 0;
            only += kill_only(&board->kills[i], rule) ? 1 : 0;
        }
        if (breaks > 0) {
            (void)fprintf(out, "  %-28s %7zu  %8zu  %13zu\n", kill_rule_id(rule), breaks, first, only);
        }
    }
}

static void print_areas(FILE *out, const struct kill_board *board)
{
    for (size_t t = 0; t < num_targets; t++) {
        struct kill_count count = {0};
        for (size_t i = 0; i < board->num; i++) {
            bool here = board->kills[i].target == targets[t];
            count.of += here ? 1 : 0;
            count.num += here && kill_own(&board->kills[i]) ? 1 : 0;
        }
        if (count.of > 0) {
            print_count(out, targets[t]->name, count);
        }
    }
}

static void print_trials(FILE *out, const struct kill_board *board)
{
    for (size_t i = 0; i < board->num; i++) {
        const struct kill *kill = &board->kills[i];
        for (size_t j = 0; j < kill->num_trials; j++) {
            const struct kill_trial *trial = &kill->trials[j];
            if (!trial->killed) {
                (void)fprintf(out, "NOT FOUND %-34s trial %zu: %s after %" PRIu64 " executions, %.1f s\n",
                              kill->mutant->name, j + 1, trial->failed ? trial->by : "nothing", trial->executions,
                              trial->seconds);
            }
        }
    }
}

static void print_times(FILE *out, const struct kill_board *board)
{
    static const char *const names[] = {"executions", "seconds"};
    for (size_t seconds = 0; seconds < 2; seconds++) {
        double median = 0;
        double max = 0;
        bool found = kill_median(&median, board, NULL, seconds == 1, &max);
        if (found) {
            (void)fprintf(out, "  %-36s median %.*f, most %.*f\n", names[seconds], seconds == 1 ? 1 : 0, median,
                          seconds == 1 ? 1 : 0, max);
        } else {
            (void)fprintf(out, "  %-36s median not reached\n", names[seconds]);
        }
    }
}

void kill_table(FILE *out, const struct kill_board *board)
{
    print_bad(out, board);
    if (board->fuzz != NULL) {
        print_trials(out, board);
    }
    print_rules(out, board);
    (void)fprintf(out, "mutants killed first by the rule of their row, on their witness:\n");
    print_areas(out, board);
    print_count(out, "all", kill_rate_own(board));
    (void)fprintf(out, "replay of %zu committed inputs, build %s, 95 %% intervals:\n", board->num_inputs,
                  PALDIFF_SANITIZER);
    print_count(out, "all rules and sanitizers", kill_rate_replay(board));
    print_count(out, "sanitizers alone, all rules off", kill_rate_sanitizers(board));
    for (size_t rule = 0; rule < NUM_RULES; rule++) {
        struct kill_count count = kill_rate_without(board, rule);
        char label[64];
        (void)snprintf(label, sizeof(label), "without %s", kill_rule_id(rule));
        if (count.num < kill_rate_replay(board).num) {
            print_count(out, label, count);
        }
    }
    if (board->fuzz != NULL) {
        (void)fprintf(out, "fuzzing %s, %" PRIu64 " s, %" PRIu64 " trials, seed %" PRIu64 ":\n",
                      board->fuzz->from_empty ? "from empty" : "from the corpus", board->fuzz->seconds,
                      board->fuzz->trials, board->fuzz->seed);
        print_count(out, "found", kill_rate_fuzz(board));
        print_times(out, board);
    }
}
