/* SPDX-License-Identifier: Apache-2.0
 * run_check.c: whether what a run was asked for can be had, before anything is started.
 */
#include "conform.h"
#include "run.h"
#include "tool.h"

#include <string.h>
#include <unistd.h>

static int check_options(const struct run_options *options, char **names, size_t num_names)
{
    const struct mutant *mutant = options->mutant != NULL ? mutant_find(options->mutant) : NULL;
    if (options->mutant != NULL && mutant == NULL) {
        return tool_usage("there is no mutant %s; `paldiff mutants --list` names them", options->mutant);
    }
    for (size_t i = 0; i < num_names; i++) {
        if (target_find(names[i]) == NULL) {
            return tool_usage("there is no target %s; `paldiff list` names them", names[i]);
        }
        if (mutant != NULL && strcmp(mutant->area, names[i]) != 0) {
            return tool_usage("the mutant %s is target %s's, not %s's", mutant->name, mutant->area, names[i]);
        }
    }
    if (options->shim != NULL && (options->mutant != NULL || num_names == 0)) {
        return tool_usage("--shim needs the targets that the shim has, and takes no --mutant");
    }
    if (options->waivers != NULL && options->shim == NULL) {
        return tool_usage("--waivers is for --shim: the reference has nothing to waive");
    }
    if (options->seconds > 0 && options->total_seconds > 0) {
        return tool_usage("--seconds is for each run, --total-seconds for all of them: give one");
    }
    if (options->from_empty && options->corpus != NULL) {
        return tool_usage("--corpus cannot be had with --from-empty or --mutant, which start from nothing");
    }
    if (options->corpus != NULL && access(options->corpus, W_OK | X_OK) != 0) {
        return tool_usage("--corpus %s is no folder that can be written to", options->corpus);
    }
    return EXIT_HELD;
}

/* read_waivers: the rules that are not judged. */
static int read_waivers(struct run *run)
{
    static struct conform_waivers waivers;
    char today[CONFORM_DAY_MAX];
    int result = conform_waivers_read(&waivers, run->options.waivers, conform_today(today));
    for (size_t i = 0; i < waivers.num; i++) {
        (void)snprintf(run->waived[run->num_waived++], sizeof(run->waived[0]), "%s", waivers.rows[i].rule);
    }
    return result;
}

int run_check(struct run *run, char **names, size_t num_names)
{
    int result = check_options(&run->options, names, num_names);
    return result == EXIT_HELD && run->options.waivers != NULL ? read_waivers(run) : result;
}
