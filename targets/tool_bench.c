/* SPDX-License-Identifier: Apache-2.0
 * tool_bench.c: how long a message takes, one-shot against cached, on both engines. Arms take turns in short batches, so
 * that a machine that slows down slows all of them; medians and quartiles over the batches are printed. It never judges.
 */
#include "env.h"
#include "ports.h"
#include "tool.h"

#include <cjson/cJSON.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { KEY_JSON = 'j', KEY_ROUNDS = 'r', KEY_THREADS = 't' };

#define TEXT_LEN 250u
#define BATCH 200u
#define THREADS_MAX 16u

struct options {
    bool json;
    unsigned long rounds;
    unsigned long threads;
};

/* arm: one way to process one message. */
typedef bool arm_fn(const struct pal_port *port, enum pal_mode mode);

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct options *options = state->input;
    char *end = NULL;
    switch (key) {
    case KEY_JSON:
        options->json = true;
        return 0;
    case KEY_ROUNDS:
        options->rounds = strtoul(argument, &end, 10);
        if (*end != '\0' || options->rounds < 5 || options->rounds > 100000) {
            argp_error(state, "--rounds takes a number from 5 to 100000");
        }
        return 0;
    case KEY_THREADS:
        options->threads = strtoul(argument, &end, 10);
        if (*end != '\0' || options->threads < 1 || options->threads > THREADS_MAX) {
            argp_error(state, "--threads takes a number from 1 to %u", THREADS_MAX);
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const uint8_t key_bytes[32] = {7, 1, 8, 2, 9, 3, 10, 4, 11, 5, 12, 6};
static const uint8_t text_bytes[TEXT_LEN] = {42};

static bool hmac_sha1(const struct pal_port *port, enum pal_mode mode)
{
    uint8_t out[PAL_DIGEST_LEN_MAX];
    size_t out_len = 0;
    struct pal_view text = {text_bytes, TEXT_LEN};
    return port->hmac[mode]->digest(pal_env_real(), out, sizeof(out), &out_len, PAL_SHA1,
                                    (struct pal_view){key_bytes, sizeof(key_bytes)}, &text, 1) == PAL_OK;
}

static bool gcm_seal(const struct pal_port *port, enum pal_mode mode)
{
    uint8_t out[TEXT_LEN + PAL_TAG_LEN_MAX];
    size_t out_len = 0;
    struct pal_aead_job job = {.cipher = PAL_AES_256_GCM,
                               .key = {key_bytes, sizeof(key_bytes)},
                               .nonce = {text_bytes, PAL_NONCE_LEN},
                               .tag_len = PAL_TAG_LEN_MAX};
    return port->aead[mode]->seal(pal_env_real(), out, sizeof(out), &out_len, &job, (struct pal_view){text_bytes, TEXT_LEN}) ==
           PAL_OK;
}

static double now_ns(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static const struct {
    const char *group;
    const char *name;
    arm_fn *run;
} cases[] = {{"hmac", "hmac-sha1 250 B", hmac_sha1}, {"aead", "aes-256-gcm seal 250 B", gcm_seal}};

#define NUM_CASES (sizeof(cases) / sizeof(cases[0]))
#define NUM_ENGINES 2u
#define NUM_ARMS (NUM_CASES * NUM_ENGINES * PAL_NUM_MODES)

/* arm: `samples` are nanoseconds a message, one per round. */
struct arm {
    size_t which;
    const struct pal_port *port;
    enum pal_mode mode;
    double *samples;
    bool failed;
};

/* worker: a thread that times every arm in turn, `rounds` times. */
struct worker {
    pthread_t thread;
    pthread_barrier_t *barrier;
    unsigned long rounds;
    struct arm arms[NUM_ARMS];
};

static void time_batch(struct arm *arm, unsigned long round)
{
    double start = now_ns();
    for (unsigned i = 0; i < BATCH; i++) {
        arm->failed |= !cases[arm->which].run(arm->port, arm->mode);
    }
    arm->samples[round] = (now_ns() - start) / BATCH;
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    for (unsigned long round = 0; round < worker->rounds; round++) {
        for (size_t i = 0; i < NUM_ARMS; i++) {
            (void)pthread_barrier_wait(worker->barrier);
            time_batch(&worker->arms[i], round);
        }
    }
    return NULL;
}

static int compare_samples(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return x < y ? -1 : (x > y ? 1 : 0);
}

static bool worker_init(struct worker *worker, pthread_barrier_t *barrier, unsigned long rounds)
{
    const struct pal_port *const ports[NUM_ENGINES] = {pal_port_openssl(), pal_port_boringssl()};
    worker->barrier = barrier;
    worker->rounds = rounds;
    for (size_t i = 0; i < NUM_ARMS; i++) {
        struct arm *arm = &worker->arms[i];
        arm->which = i / (NUM_ENGINES * PAL_NUM_MODES);
        arm->port = ports[i / PAL_NUM_MODES % NUM_ENGINES];
        arm->mode = (enum pal_mode)(i % PAL_NUM_MODES);
        arm->samples = calloc(rounds, sizeof(*arm->samples));
        arm->failed = false;
        if (arm->port == NULL || arm->samples == NULL) {
            return false;
        }
    }
    return true;
}

/* report: quartiles over all threads' samples; the ratio is fresh over reused. */
static void report(cJSON *rows, const struct arm *arm, const double *sorted, size_t num, unsigned long threads, double *medians)
{
    size_t index = arm->which * NUM_ENGINES * PAL_NUM_MODES + (arm->port == pal_port_openssl() ? 0 : PAL_NUM_MODES) + arm->mode;
    cJSON *row = cJSON_CreateObject();
    char name[64];
    medians[index] = sorted[num / 2];
    (void)snprintf(name, sizeof(name), "%s/%s", arm->port->name, arm->mode == PAL_REUSED ? "cached" : "one-shot");
    (void)cJSON_AddStringToObject(row, "group", cases[arm->which].group);
    (void)cJSON_AddStringToObject(row, "case", cases[arm->which].name);
    (void)cJSON_AddNumberToObject(row, "threads", (double)threads);
    (void)cJSON_AddStringToObject(row, "arm", name);
    (void)cJSON_AddNumberToObject(row, "median_ns", medians[index]);
    (void)cJSON_AddNumberToObject(row, "low_ns", sorted[num / 4]);
    (void)cJSON_AddNumberToObject(row, "high_ns", sorted[num * 3 / 4]);
    if (arm->mode == PAL_REUSED) {
        (void)cJSON_AddNumberToObject(row, "ratio", medians[index - 1] / medians[index]);
    }
    (void)cJSON_AddItemToArray(rows, row);
}

static void print_rows(const cJSON *rows)
{
    const cJSON *row = NULL;
    (void)printf("%-24s %-20s %8s %10s %10s %10s %8s\n", "case", "arm", "threads", "median ns", "low", "high", "ratio");
    cJSON_ArrayForEach(row, rows)
    {
        const cJSON *ratio = cJSON_GetObjectItem(row, "ratio");
        (void)printf("%-24s %-20s %8.0f %10.0f %10.0f %10.0f", cJSON_GetObjectItem(row, "case")->valuestring,
                     cJSON_GetObjectItem(row, "arm")->valuestring, cJSON_GetObjectItem(row, "threads")->valuedouble,
                     cJSON_GetObjectItem(row, "median_ns")->valuedouble, cJSON_GetObjectItem(row, "low_ns")->valuedouble,
                     cJSON_GetObjectItem(row, "high_ns")->valuedouble);
        (void)printf(ratio != NULL ? " %7.1fx\n" : "\n", ratio != NULL ? ratio->valuedouble : 0.0);
    }
}

static bool measure(cJSON *rows, const struct options *options)
{
    pthread_barrier_t barrier;
    struct worker *workers = calloc(options->threads, sizeof(*workers));
    double *all = calloc(options->threads * options->rounds, sizeof(*all));
    double medians[NUM_ARMS] = {0};
    bool good = workers != NULL && all != NULL && pthread_barrier_init(&barrier, NULL, (unsigned)options->threads) == 0;
    for (size_t t = 0; good && t < options->threads; t++) {
        good = worker_init(&workers[t], &barrier, options->rounds);
    }
    for (size_t t = 0; good && t < options->threads; t++) {
        good = pthread_create(&workers[t].thread, NULL, work, &workers[t]) == 0;
    }
    for (size_t t = 0; good && t < options->threads; t++) {
        good = pthread_join(workers[t].thread, NULL) == 0;
    }
    for (size_t i = 0; good && i < NUM_ARMS; i++) {
        size_t num = 0;
        for (size_t t = 0; t < options->threads; t++) {
            memcpy(all + num, workers[t].arms[i].samples, options->rounds * sizeof(*all));
            num += options->rounds;
            good = good && !workers[t].arms[i].failed;
        }
        qsort(all, num, sizeof(*all), compare_samples);
        report(rows, &workers[0].arms[i], all, num, options->threads, medians);
    }
    for (size_t t = 0; workers != NULL && t < options->threads; t++) {
        for (size_t i = 0; i < NUM_ARMS; i++) {
            free(workers[t].arms[i].samples);
        }
    }
    free(workers);
    free(all);
    return good;
}

int tool_bench(int argc, char **argv)
{
    static const struct argp_option rows_of_help[] = {
        {"json", KEY_JSON, NULL, 0, "JSON on standard output", 0},
        {"rounds", KEY_ROUNDS, "N", 0, "batches of 200 messages an arm (200)", 0},
        {"threads", KEY_THREADS, "N", 0, "threads that run the same arm at the same time (1)", 0},
        {0}};
    static const struct argp argp = {.options = rows_of_help,
                                     .parser = parse,
                                     .doc = "Times one-shot against cached contexts. Example: paldiff bench --threads 2"};
    struct options options = {.rounds = 200, .threads = 1};
    if (tool_parse(&argp, argc, argv, &options) < argc) {
        return tool_usage("bench takes options only");
    }
    cJSON *json = cJSON_CreateObject();
    cJSON *rows = cJSON_AddArrayToObject(json, "rows");
    if (!measure(rows, &options)) {
        (void)fputs("paldiff: a benchmark's message failed\n", stderr);
        cJSON_Delete(json);
        return EXIT_SUITE;
    }
    if (options.json) {
        return tool_print_json(json) ? EXIT_HELD : EXIT_SUITE;
    }
    print_rows(rows);
    cJSON_Delete(json);
    return EXIT_HELD;
}
