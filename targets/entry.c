/* SPDX-License-Identifier: Apache-2.0
 * entry.c: the fuzz engine's way into a target; compiled once per target with -DPALDIFF_TARGET=<name>.
 * Options of its own start with two dashes, which libFuzzer leaves alone: --mutant=NAME plants a bug.
 */
#include "harness.h"

#include <stdlib.h>
#include <string.h>

#define JOIN(name) target_##name
#define TARGET_OF(name) JOIN(name)

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* The engine gives no place to keep it. */
static struct stage stage;

/* close_stage: threads are ended before leaks are looked for, so that what a thread keeps by right is not one. */
static void close_stage(void)
{
    harness_print_stats(stderr, &stage);
    stage_deinit(&stage);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    const struct target *target = &TARGET_OF(PALDIFF_TARGET);
    const struct pal_port *mutant = NULL;
    const char *name = NULL;
    for (int i = 1; i < *argc; i++) {
        if (strncmp((*argv)[i], "--mutant=", strlen("--mutant=")) == 0) {
            name = (*argv)[i] + strlen("--mutant=");
        }
    }
    if (!harness_self_test(target)) {
        exit(EXIT_SUITE);
    }
    if (!harness_mutant(&mutant, target, name)) {
        exit(EXIT_USAGE);
    }
    if (!stage_init(&stage, target, mutant)) {
        exit(EXIT_SUITE);
    }
    if (atexit(close_stage) != 0) {
        exit(EXIT_SUITE);
    }
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct verdict verdict;
    scenario_decode(&stage.scenario, stage.target->language, (struct pal_view){data, len});
    const struct rule *rule = stage_play(&stage, &verdict);
    if (rule != NULL) {
        harness_report(stderr, &stage, rule, &verdict);
        harness_print_stats(stderr, &stage);
        rule->broken();
    }
    return 0;
}
