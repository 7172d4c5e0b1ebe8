/* SPDX-License-Identifier: Apache-2.0
 * entry.c: the fuzz engine's way into a target; compiled once per target with -DPALDIFF_TARGET=<name>.
 * Options of its own start with two dashes, which libFuzzer leaves alone: --mutant=NAME plants a bug, --shim=COMMAND
 * has another process answer (shim.h), --waive=RULE leaves a rule of such a port unjudged, --stats-fd=N names an open
 * file with room for struct stats, where the counts are kept. Other engines take every argument for a file: there
 * PALDIFF_MUTANT=NAME plants the bug, and PALDIFF_SHIM=COMMAND names the process.
 */
#include "harness.h"
#include "scope.h"
#include "shim.h"
#include "stats.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define JOIN(name) target_##name
#define TARGET_OF(name) JOIN(name)

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* The engine gives no place to keep it. */
static struct stage stage;
static struct stats *stats; /* NULL if nobody asked for them */
static bool waived[NUM_RULES];

/* Somebody else's port, where one is linked in: it stands in for the reference. */
__attribute__((weak)) extern pal_port_get_fn pal_port_get;

/* judge_less: what the port cannot show is not judged, nor what is waived. */
static void judge_less(const struct target *target, const struct pal_port *port, bool process)
{
    const struct scope scope = scope_of(port, process);
    for (size_t r = 0; r < NUM_RULES; r++) {
        stage.binds[r] = stage.binds[r] && !waived[r] && scope_excuse(&scope, target, r) == NULL;
    }
    if (process) {
        stage.rehearse = shim_rehearse;
        stage.faultless = true;
    }
}

static bool open_stage(const struct target *target, const struct pal_port *mutant, const char *shim)
{
    char error[SHIM_ERROR_MAX];
    if (shim == NULL && pal_port_get == NULL) {
        return stage_init(&stage, target, mutant);
    }
    const struct pal_port *port = shim != NULL ? shim_port_open(shim, NULL, error) : pal_port_get();
    if (shim != NULL && port == NULL) {
        (void)fprintf(stderr, "paldiff: %s\n", error);
        return false;
    }
    struct pal_port scratch;
    if (port == NULL || port->abi != PAL_ABI_VERSION || mutant != NULL) {
        (void)fputs("paldiff: the port gives nothing of this version of the contract, or a mutant is asked for too\n",
                    stderr);
        return false;
    }
    scratch = *port;
    if (!target->adopt(&scratch, port)) {
        (void)fprintf(stderr, "paldiff: port %s has nothing of target %s\n", port->name, target->name);
        exit(EXIT_SKIPPED);
    }
    bool good = stage_init_port(&stage, target, port);
    judge_less(target, port, shim != NULL);
    return good;
}

/* waive: a rule is not judged; false, with a line on stderr, when there is none of that name. A rule of the port as a
 * whole is nothing to a fuzz program. */
static bool waive(const char *id)
{
    const struct rule *rule = rule_find(id);
    if (rule != NULL) {
        waived[rule - rules] = true;
    } else if (strncmp(id, "port.", strlen("port.")) != 0) {
        (void)fprintf(stderr, "paldiff: there is no rule %s\n", id);
        return false;
    }
    return true;
}

static bool share_stats(const char *fd)
{
    char *end = NULL;
    unsigned long number = strtoul(fd, &end, 10);
    void *memory = *end == '\0' && number < INT_MAX
                       ? mmap(NULL, sizeof(*stats), PROT_READ | PROT_WRITE, MAP_SHARED, (int)number, 0)
                       : MAP_FAILED;
    if (memory == MAP_FAILED) {
        (void)fprintf(stderr, "paldiff: --stats-fd=%s is no file that can be shared\n", fd);
        return false;
    }
    stats = memory;
    return true;
}

static void tell_input(const uint8_t *data, size_t len)
{
    if (stats != NULL && len <= sizeof(stats->playing)) {
        if (len > 0) {
            memcpy(stats->playing, data, len);
        }
        atomic_store_explicit(&stats->playing_len, len + 1, memory_order_release);
    }
}

static void tell_idle(void)
{
    if (stats != NULL) {
        atomic_store_explicit(&stats->playing_len, 0, memory_order_relaxed);
    }
}

static void tell_stats(void)
{
    if (stats != NULL) {
        atomic_store_explicit(&stats->steps, stage.steps, memory_order_relaxed);
        atomic_store_explicit(&stats->compared, stage.compared, memory_order_relaxed);
        atomic_store_explicit(&stats->reached, stage.reached, memory_order_relaxed);
        atomic_store_explicit(&stats->plays, stage.plays, memory_order_release);
    }
}

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
    const char *name = getenv("PALDIFF_MUTANT");
    const char *shim = getenv("PALDIFF_SHIM");
    for (int i = 1; i < *argc; i++) {
        if (strncmp((*argv)[i], "--mutant=", strlen("--mutant=")) == 0) {
            name = (*argv)[i] + strlen("--mutant=");
        }
        if (strncmp((*argv)[i], "--shim=", strlen("--shim=")) == 0) {
            shim = (*argv)[i] + strlen("--shim=");
        }
        if (strncmp((*argv)[i], "--waive=", strlen("--waive=")) == 0 && !waive((*argv)[i] + strlen("--waive="))) {
            exit(EXIT_USAGE);
        }
        if (strncmp((*argv)[i], "--stats-fd=", strlen("--stats-fd=")) == 0 &&
            !share_stats((*argv)[i] + strlen("--stats-fd="))) {
            exit(EXIT_USAGE);
        }
    }
    if (!harness_self_test(target)) {
        exit(EXIT_SUITE);
    }
    if (!harness_mutant(&mutant, target, name)) {
        exit(EXIT_USAGE);
    }
    if (!open_stage(target, mutant, shim)) {
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
    tell_input(data, len);
    scenario_decode(&stage.scenario, stage.target->language, (struct pal_view){data, len});
    const struct rule *rule = stage_play(&stage, &verdict);
    tell_stats();
    if (rule != NULL) {
        harness_report(stderr, &stage, rule, &verdict);
        harness_print_stats(stderr, &stage);
        rule->broken();
    }
    tell_idle();
    return 0;
}
