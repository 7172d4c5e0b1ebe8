/* SPDX-License-Identifier: Apache-2.0
 * tool_bench.c: how long a message takes, one-shot against cached, on both engines. Arms take turns in short batches,
 * so that a machine that slows down slows all of them; medians and quartiles over the batches are printed. It never
 * judges.
 */
#include "env.h"
#include "ports.h"
#include "tool.h"

#include <cjson/cJSON.h>
#include <dlfcn.h>
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

/* case_fn: one message, through a port; plain_fn: the same through the distribution's own libcrypto. */
typedef bool case_fn(const struct pal_port *port, enum pal_mode mode);
typedef bool plain_fn(void);

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
    return port->aead[mode]->seal(pal_env_real(), out, sizeof(out), &out_len, &job,
                                  (struct pal_view){text_bytes, TEXT_LEN}) == PAL_OK;
}

/* system: what a program calls that links Debian's libcrypto.so.3 and keeps nothing: the third arm, and the one that
 * the gain of a cache is usually stated against. Opened at run time, so that nothing here is linked with it. */
static struct {
    unsigned char *(*hmac)(const void *digest, const void *key, int key_len, const uint8_t *data, size_t len,
                           uint8_t *out, unsigned *out_len);
    const void *(*sha1)(void);
    const void *(*aes_256_gcm)(void);
    void *(*context_new)(void);
    void (*context_free)(void *context);
    int (*init)(void *context, const void *cipher, void *engine, const uint8_t *key, const uint8_t *nonce);
    int (*update)(void *context, uint8_t *out, int *out_len, const uint8_t *data, int len);
    int (*final)(void *context, uint8_t *out, int *out_len);
    int (*control)(void *context, int what, int number, void *data);
} system_crypto;

#define CONTROL_GET_TAG 0x10 /* EVP_CTRL_AEAD_GET_TAG */

static bool system_open(void)
{
    const struct {
        const char *name;
        void *slot;
    } symbols[] = {{"HMAC", &system_crypto.hmac},
                   {"EVP_sha1", &system_crypto.sha1},
                   {"EVP_aes_256_gcm", &system_crypto.aes_256_gcm},
                   {"EVP_CIPHER_CTX_new", &system_crypto.context_new},
                   {"EVP_CIPHER_CTX_free", &system_crypto.context_free},
                   {"EVP_EncryptInit_ex", &system_crypto.init},
                   {"EVP_EncryptUpdate", &system_crypto.update},
                   {"EVP_EncryptFinal_ex", &system_crypto.final},
                   {"EVP_CIPHER_CTX_ctrl", &system_crypto.control}};
    void *library = dlopen("libcrypto.so.3", RTLD_NOW | RTLD_LOCAL);
    bool good = library != NULL;
    for (size_t i = 0; good && i < sizeof(symbols) / sizeof(symbols[0]); i++) {
        void *symbol = dlsym(library, symbols[i].name);
        good = symbol != NULL;
        memcpy(symbols[i].slot, &symbol, sizeof(symbol));
    }
    return good;
}

static bool plain_hmac_sha1(void)
{
    uint8_t out[PAL_DIGEST_LEN_MAX];
    unsigned out_len = 0;
    return system_crypto.hmac(system_crypto.sha1(), key_bytes, sizeof(key_bytes), text_bytes, TEXT_LEN, out,
                              &out_len) != NULL;
}

static bool plain_gcm_seal(void)
{
    uint8_t out[TEXT_LEN + PAL_TAG_LEN_MAX];
    int len = 0;
    void *context = system_crypto.context_new();
    bool good = system_crypto.init(context, system_crypto.aes_256_gcm(), NULL, key_bytes, text_bytes) == 1 &&
                system_crypto.update(context, out, &len, text_bytes, TEXT_LEN) == 1 &&
                system_crypto.final(context, out + TEXT_LEN, &len) == 1 &&
                system_crypto.control(context, CONTROL_GET_TAG, PAL_TAG_LEN_MAX, out + TEXT_LEN) == 1;
    system_crypto.context_free(context);
    return good;
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
    case_fn *run;
    plain_fn *plain;
} cases[] = {{"hmac", "hmac-sha1 250 B", hmac_sha1, plain_hmac_sha1},
             {"aead", "aes-256-gcm seal 250 B", gcm_seal, plain_gcm_seal}};

#define NUM_CASES (sizeof(cases) / sizeof(cases[0]))
/* Arms of a case: the distribution's plain call, then each engine one-shot and cached. */
#define ARMS_PER_CASE (1u + 2u * PAL_NUM_MODES)
#define NUM_ARMS (NUM_CASES * ARMS_PER_CASE)

/* arm: `samples` are nanoseconds a message, one per round. `port` NULL is the plain call. */
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
        bool good = arm->port != NULL ? cases[arm->which].run(arm->port, arm->mode) : cases[arm->which].plain();
        arm->failed |= !good;
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
    const struct pal_port *const ports[ARMS_PER_CASE] = {NULL, pal_port_openssl(), pal_port_openssl(),
                                                         pal_port_boringssl(), pal_port_boringssl()};
    worker->barrier = barrier;
    worker->rounds = rounds;
    for (size_t i = 0; i < NUM_ARMS; i++) {
        struct arm *arm = &worker->arms[i];
        size_t at = i % ARMS_PER_CASE;
        arm->which = i / ARMS_PER_CASE;
        arm->port = ports[at];
        arm->mode = at % 2 == 0 ? PAL_REUSED : PAL_FRESH;
        arm->samples = calloc(rounds, sizeof(*arm->samples));
        arm->failed = false;
        if ((at > 0 && arm->port == NULL) || arm->samples == NULL) {
            return false;
        }
    }
    return true;
}

/* report: quartiles over all threads' samples. A cached arm also gets its gain over the same engine's one-shot arm, and
 * over the distribution's plain call. */
static void report(cJSON *rows, const struct arm *arm, size_t index, const double *sorted, size_t num,
                   unsigned long threads, double medians[NUM_ARMS])
{
    cJSON *row = cJSON_CreateObject();
    char name[64] = "libcrypto.so.3/plain";
    medians[index] = sorted[num / 2];
    if (arm->port != NULL) {
        (void)snprintf(name, sizeof(name), "%s/%s", arm->port->name, arm->mode == PAL_REUSED ? "cached" : "one-shot");
    }
    (void)cJSON_AddStringToObject(row, "group", cases[arm->which].group);
    (void)cJSON_AddStringToObject(row, "case", cases[arm->which].name);
    (void)cJSON_AddNumberToObject(row, "threads", (double)threads);
    (void)cJSON_AddStringToObject(row, "arm", name);
    (void)cJSON_AddNumberToObject(row, "median_ns", medians[index]);
    (void)cJSON_AddNumberToObject(row, "low_ns", sorted[num / 4]);
    (void)cJSON_AddNumberToObject(row, "high_ns", sorted[num * 3 / 4]);
    if (arm->port != NULL && arm->mode == PAL_REUSED) {
        (void)cJSON_AddNumberToObject(row, "gain_over_one_shot", medians[index - 1] / medians[index]);
        (void)cJSON_AddNumberToObject(row, "gain_over_plain", medians[arm->which * ARMS_PER_CASE] / medians[index]);
    }
    (void)cJSON_AddItemToArray(rows, row);
}

static void print_rows(const cJSON *rows)
{
    const cJSON *row = NULL;
    (void)printf("%-24s %-20s %7s %9s %8s %8s %11s %9s\n", "case", "arm", "threads", "median ns", "low", "high",
                 "x one-shot", "x plain");
    cJSON_ArrayForEach(row, rows)
    {
        const cJSON *gain = cJSON_GetObjectItem(row, "gain_over_one_shot");
        (void)printf("%-24s %-20s %7.0f %9.0f %8.0f %8.0f", cJSON_GetObjectItem(row, "case")->valuestring,
                     cJSON_GetObjectItem(row, "arm")->valuestring, cJSON_GetObjectItem(row, "threads")->valuedouble,
                     cJSON_GetObjectItem(row, "median_ns")->valuedouble,
                     cJSON_GetObjectItem(row, "low_ns")->valuedouble, cJSON_GetObjectItem(row, "high_ns")->valuedouble);
        if (gain != NULL) {
            (void)printf(" %10.1fx %8.1fx", gain->valuedouble,
                         cJSON_GetObjectItem(row, "gain_over_plain")->valuedouble);
        }
        (void)putchar('\n');
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
        report(rows, &workers[0].arms[i], i, all, num, options->threads, medians);
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
                                     .doc =
                                         "Times one-shot against cached contexts. Example: paldiff bench --threads 2"};
    struct options options = {.rounds = 200, .threads = 1};
    if (tool_parse(&argp, argc, argv, &options) < argc) {
        return tool_usage("bench takes options only");
    }
    if (!system_open()) {
        (void)fputs("paldiff: the plain arm needs libcrypto.so.3: install the package libssl3\n", stderr);
        return EXIT_SUITE;
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
