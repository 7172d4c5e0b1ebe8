/* SPDX-License-Identifier: Apache-2.0
 * kill_matrix.c: counts over what was found out. Controls are no mutants and are counted nowhere here.
 */
#include "kill.h"

#include "statistics.h"

#include <stdlib.h>
#include <string.h>

const char *kill_rule_id(size_t rule)
{
    static char id[64];
    id[0] = '\0';
    if (rule < NUM_RULES) {
        (void)snprintf(id, sizeof(id), "%s.%s", rules[rule].area, rules[rule].name);
    }
    return id;
}

bool kill_own(const struct kill *kill)
{
    return !kill->failed && kill->fired > 0 && strcmp(kill_rule_id(kill->witness_rule), kill->mutant->rule) == 0;
}

/* killed_without: `rule` NUM_RULES for none. */
static bool killed_without(const struct kill *kill, size_t rule)
{
    bool killed = kill->crashes > 0 || kill->ends > 0;
    for (size_t i = 0; i < NUM_RULES; i++) {
        killed = killed || (i != rule && kill->inputs[i] > 0);
    }
    return killed && !kill->failed;
}

bool kill_replayed(const struct kill *kill)
{
    return killed_without(kill, NUM_RULES);
}

bool kill_only(const struct kill *kill, size_t rule)
{
    return kill_replayed(kill) && !killed_without(kill, rule);
}

const char *kill_by(const struct kill *kill)
{
    if (!kill_replayed(kill)) {
        return "";
    }
    if (kill->witness_rule < NUM_RULES) {
        return kill_rule_id(kill->witness_rule);
    }
    for (size_t i = 0; i < NUM_RULES; i++) {
        if (kill->first[i] > 0) {
            return kill_rule_id(i);
        }
    }
    return kill->sanitizer[0] != '\0' ? kill->sanitizer : "its own end";
}

bool kill_held(const struct kill *control)
{
    bool held = !control->failed && control->plays > 0 && control->crashes == 0 && control->ends == 0 &&
                control->witness_rule == NUM_RULES;
    for (size_t i = 0; i < NUM_RULES; i++) {
        held = held && control->inputs[i] == 0;
    }
    return held;
}

const struct kill_trial *kill_found(const struct kill *kill)
{
    for (size_t i = 0; i < kill->num_trials; i++) {
        if (kill->trials[i].killed) {
            return &kill->trials[i];
        }
    }
    return NULL;
}

struct kill_count kill_rate_own(const struct kill_board *board)
{
    struct kill_count count = {0, board->num};
    for (size_t i = 0; i < board->num; i++) {
        count.num += kill_own(&board->kills[i]) ? 1 : 0;
    }
    return count;
}

struct kill_count kill_rate_replay(const struct kill_board *board)
{
    return kill_rate_without(board, NUM_RULES);
}

struct kill_count kill_rate_sanitizers(const struct kill_board *board)
{
    struct kill_count count = {0, board->num};
    for (size_t i = 0; i < board->num; i++) {
        count.num += board->kills[i].crashes > 0 ? 1 : 0;
    }
    return count;
}

struct kill_count kill_rate_without(const struct kill_board *board, size_t rule)
{
    struct kill_count count = {0, board->num};
    for (size_t i = 0; i < board->num; i++) {
        count.num += killed_without(&board->kills[i], rule) ? 1 : 0;
    }
    return count;
}

struct kill_count kill_rate_fuzz(const struct kill_board *board)
{
    struct kill_count count = {0, board->num};
    for (size_t i = 0; i < board->num; i++) {
        count.num += kill_found(&board->kills[i]) != NULL ? 1 : 0;
    }
    return count;
}

bool kill_median(double *out, const struct kill_board *board, const struct kill *kill, bool seconds, double *out_max)
{
    const struct kill *from = kill != NULL ? kill : board->kills;
    size_t num_kills = kill != NULL ? 1 : board->num;
    struct survival *times = calloc(num_kills * KILL_TRIALS_MAX + 1, sizeof(*times));
    size_t num = 0;
    double max = 0;
    for (size_t i = 0; times != NULL && i < num_kills; i++) {
        for (size_t j = 0; j < from[i].num_trials; j++) {
            const struct kill_trial *trial = &from[i].trials[j];
            double at = seconds ? trial->seconds : (double)trial->executions;
            if (!trial->failed) {
                times[num++] = (struct survival){at, !trial->killed};
                max = trial->killed && at > max ? at : max;
            }
        }
    }
    bool found = times != NULL && statistics_median(out, times, num);
    free(times);
    if (out_max != NULL) {
        *out_max = max;
    }
    return found;
}
