/* SPDX-License-Identifier: Apache-2.0
 * bench_crypto.c: how long a message takes: one-shot against cached, on both engines, beside the distribution's own
 * libcrypto. No counts: the engines allocate for themselves, out of an environment's sight.
 * It breaks when a case's arms do not stand in the order that `ports` gives.
 */
#include "bench.h"
#include "env.h"
#include "ports.h"

#include <cjson/cJSON.h>
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define TEXT_LEN 250u

/* case_fn: one message, through a port; plain_fn: the same through the distribution's own libcrypto. */
typedef bool case_fn(const struct pal_port *port, enum pal_mode mode);
typedef bool plain_fn(void);

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

static const struct crypto_case {
    const char *group;
    const char *name;
    case_fn *run;
    plain_fn *plain;
} cases[] = {{"hmac", "hmac-sha1 250 B", hmac_sha1, plain_hmac_sha1},
             {"aead", "aes-256-gcm seal 250 B", gcm_seal, plain_gcm_seal}};

#define NUM_CASES (sizeof(cases) / sizeof(cases[0]))

/* way: how a case is run: `get` NULL is the distribution's plain call, cached stands right behind its one-shot. */
static const struct way {
    const char *name;
    pal_port_get_fn *get;
    enum pal_mode mode;
} ways[] = {{"libcrypto.so.3/plain", NULL, PAL_FRESH},
            {"openssl/one-shot", pal_port_openssl, PAL_FRESH},
            {"openssl/cached", pal_port_openssl, PAL_REUSED},
            {"boringssl/one-shot", pal_port_boringssl, PAL_FRESH},
            {"boringssl/cached", pal_port_boringssl, PAL_REUSED}};

#define NUM_WAYS (sizeof(ways) / sizeof(ways[0]))

/* subject: an arm. */
static struct subject {
    const struct crypto_case *what;
    const struct way *way;
    const struct pal_port *port;
} subjects[NUM_CASES * NUM_WAYS];

/* What is missing here leaves its arms out. */
static bool list(struct bench *bench)
{
    bool has_plain = system_open();
    if (!has_plain) {
        (void)fputs("paldiff: no plain arm: it needs libcrypto.so.3, of the package libssl3\n", stderr);
    }
    for (size_t i = 0; i < NUM_CASES * NUM_WAYS; i++) {
        const struct way *way = &ways[i % NUM_WAYS];
        subjects[i] = (struct subject){&cases[i / NUM_WAYS], way, way->get != NULL ? way->get() : NULL};
        if (way->get != NULL ? subjects[i].port != NULL : has_plain) {
            bench_add(bench, subjects[i].what->group, subjects[i].what->name, way->name, &subjects[i]);
        } else if (way->get != NULL) {
            (void)fprintf(stderr, "paldiff: no arm %s: the engine does not start\n", way->name);
        }
    }
    return bench->num_arms > 0;
}

static bool run(void *world, const void *argument)
{
    const struct subject *subject = argument;
    (void)world;
    return subject->port != NULL ? subject->what->run(subject->port, subject->way->mode) : subject->what->plain();
}

/* A cached arm's gain over the arm of the same case that is run the way `other`; NAN for other arms, or without one. */
static double gain(const struct bench *bench, size_t index, const struct way *other)
{
    const struct subject *subject = bench->arms[index].subject;
    for (size_t i = 0; subject->way->mode == PAL_REUSED && i < bench->num_arms; i++) {
        const struct subject *candidate = bench->arms[i].subject;
        if (candidate->what == subject->what && candidate->way == other) {
            return bench_ratio(bench, i, index);
        }
    }
    return NAN;
}

static double gain_over_one_shot(const struct bench *bench, size_t index)
{
    const struct subject *subject = bench->arms[index].subject;
    return gain(bench, index, subject->way - 1);
}

static double gain_over_plain(const struct bench *bench, size_t index)
{
    return gain(bench, index, &ways[0]);
}

static void add_fields(struct cJSON *row, const struct bench *bench, size_t index)
{
    double over_one_shot = gain_over_one_shot(bench, index);
    double over_plain = gain_over_plain(bench, index);
    if (!isnan(over_one_shot)) {
        (void)cJSON_AddNumberToObject(row, "gain_over_one_shot", over_one_shot);
    }
    if (!isnan(over_plain)) {
        (void)cJSON_AddNumberToObject(row, "gain_over_plain", over_plain);
    }
}

/* Nothing for arms that are no gain over anything, a dash where there is nothing to compare with. */
static void print_gains(const struct bench *bench, size_t index)
{
    const struct subject *subject = bench->arms[index].subject;
    const double gains[] = {gain_over_one_shot(bench, index), gain_over_plain(bench, index)};
    const int widths[] = {11, 9};
    for (size_t i = 0; subject->way->mode == PAL_REUSED && i < 2; i++) {
        if (isnan(gains[i])) {
            (void)printf(" %*s", widths[i], "-");
        } else {
            (void)printf(" %*.1fx", widths[i] - 1, gains[i]);
        }
    }
}

static void print(const struct bench *bench)
{
    (void)printf("%-24s %-20s %7s %9s %8s %8s %11s %9s\n", "case", "arm", "threads", "median ns", "low", "high",
                 "x one-shot", "x plain");
    for (size_t i = 0; i < bench->num_arms; i++) {
        const struct bench_arm *arm = &bench->arms[i];
        if (!arm->failed) {
            (void)printf("%-24s %-20s %7lu %9.0f %8.0f %8.0f", arm->case_name, arm->name, bench->threads,
                         arm->median_ns, arm->low_ns, arm->high_ns);
            print_gains(bench, i);
            (void)putchar('\n');
        }
    }
}

const struct bench_group bench_crypto = {
    .name = "crypto", .num_ops = 200, .list = list, .run = run, .add_fields = add_fields, .print = print};
