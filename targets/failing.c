/* SPDX-License-Identifier: Apache-2.0
 * failing.c: a fuzz program that fails as it is told, for the test of how `paldiff run` takes it (ci/failures_test). It
 * is no target and plays no scenario. --fault=NAME is one of the rows below; what it does comes with the 100th input.
 */
#include "stats.h"

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

#define BYTES_PER_CALL (16u << 20)
#define NUM_CALLS 24u

static void none(void)
{
}

static void hang(void)
{
    for (volatile int on = 1; on != 0;) {
    }
}

static void eat(void)
{
    for (unsigned i = 0; i < NUM_CALLS; i++) {
        void *volatile memory = malloc(BYTES_PER_CALL);
        if (memory != NULL) {
            (void)memset(memory, 1, BYTES_PER_CALL); /* and never given back */
        }
    }
    hang(); /* the engine looks at the memory once a second */
}

static void overflow(void)
{
    char *volatile memory = malloc(8);
    if (memory != NULL) {
        memory[8] = 1;
    }
    free(memory);
}

static void uninitialised(void)
{
    char *volatile memory = malloc(8);
    if (memory != NULL && memory[3] != 0) {
        (void)fputs("undefined\n", stderr);
    }
    free(memory);
}

static void die(void)
{
    (void)raise(SIGKILL);
}

static void leave(void)
{
    exit(0);
}

static const struct fault {
    const char *name;
    void (*happen)(void);
} faults[] = {{"none", none},  {"abort", abort},       {"timeout", hang},
              {"oom", eat},    {"overflow", overflow}, {"uninitialised", uninitialised},
              {"killed", die}, {"exit", leave},        {"vacuous", none}};

static const struct fault *fault = &faults[0];
static unsigned long num_played;
static struct stats *stats;

/* As a program of ours does at its end. */
static void print_stats(void)
{
    unsigned long compared = strcmp(fault->name, "vacuous") == 0 ? 0 : num_played;
    (void)fprintf(stderr, "paldiff-stats plays=%lu steps=%lu compared=%lu reached=%lu\n", num_played, num_played,
                  compared, compared);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    for (int i = 1; i < *argc; i++) {
        for (size_t f = 0; f < sizeof(faults) / sizeof(faults[0]); f++) {
            if (strncmp((*argv)[i], "--fault=", 8) == 0 && strcmp((*argv)[i] + 8, faults[f].name) == 0) {
                fault = &faults[f];
            }
        }
        if (strncmp((*argv)[i], "--stats-fd=", 11) == 0) {
            void *memory = mmap(NULL, sizeof(*stats), PROT_READ | PROT_WRITE, MAP_SHARED,
                                (int)strtol((*argv)[i] + 11, NULL, 10), 0);
            stats = memory != MAP_FAILED ? memory : NULL;
        }
    }
    return atexit(print_stats);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    if (++num_played == 100 && strcmp(fault->name, "killed") == 0 && stats != NULL) {
        /* The one end that the engine cannot write an input at. */
        memcpy(stats->playing, data, len);
        stats->playing_len = len + 1;
        stats->compared = num_played - 1;
        stats->plays = num_played - 1;
    }
    if (num_played == 100) {
        fault->happen();
    }
    return 0;
}
