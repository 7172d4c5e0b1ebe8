/* SPDX-License-Identifier: Apache-2.0
 * bench_crypto.c: how long one message takes, by algorithm, length and way. Allocations are counted for ports only.
 * It breaks when a key is longer than a digest's block: bench_engine.c does not hash keys.
 */
#include "bench_crypto.h"

#include "bench_table.h"
#include "ports.h"

#include <stdio.h>
#include <string.h>

static const struct algorithm {
    const char *name;
    enum bench_operation operation;
    unsigned number;
    size_t key_len;
} algorithms[] = {{"hmac-sha1", BENCH_HMAC, PAL_SHA1, 32},
                  {"hmac-sha256", BENCH_HMAC, PAL_SHA256, 32},
                  {"aes-128-gcm seal", BENCH_SEAL, PAL_AES_128_GCM, 16},
                  {"aes-128-gcm open", BENCH_OPEN, PAL_AES_128_GCM, 16},
                  {"aes-256-gcm seal", BENCH_SEAL, PAL_AES_256_GCM, 32},
                  {"aes-256-gcm open", BENCH_OPEN, PAL_AES_256_GCM, 32}};

static const struct length {
    const char *name;
    size_t len;
} lengths[] = {{"16 B", 16}, {"64 B", 64}, {"250 B", 250}, {"1024 B", 1024}, {"4096 B", 4096}, {"16384 B", 16384}};

enum { HEADLINE = 2 }; /* 250 B */

#define NUM_ALGORITHMS (sizeof(algorithms) / sizeof(algorithms[0]))
#define NUM_LENGTHS (sizeof(lengths) / sizeof(lengths[0]))
#define NUM_CASES (NUM_ALGORITHMS * NUM_LENGTHS)
#define NUM_WAYS ((size_t)CRYPTO_ENGINES * CRYPTO_WAYS)

static const uint8_t key_bytes[32] = {7, 1, 8, 2, 9, 3, 10, 4, 11, 5, 12, 6};
static const uint8_t nonce_bytes[PAL_NONCE_LEN] = {42};
static const uint8_t text_bytes[CRYPTO_TEXT_MAX] = {42};

/* What is opened: one for each case, sealed by whichever port works. */
static uint8_t sealed[NUM_CASES][CRYPTO_TEXT_MAX + PAL_TAG_LEN_MAX];
static struct bench_message messages[NUM_CASES];

static struct subject {
    const struct bench_message *message;
    const struct crypto_way *way;
} subjects[NUM_CASES * NUM_WAYS];

static bool make_message(size_t at)
{
    const struct algorithm *algorithm = &algorithms[at / NUM_LENGTHS];
    size_t len = lengths[at % NUM_LENGTHS].len;
    const struct pal_port *port = pal_port_openssl() != NULL ? pal_port_openssl() : pal_port_boringssl();
    size_t out_len = 0;
    struct pal_aead_job job = {.cipher = (enum pal_aead)algorithm->number,
                               .key = {key_bytes, algorithm->key_len},
                               .nonce = {nonce_bytes, PAL_NONCE_LEN},
                               .tag_len = PAL_TAG_LEN_MAX};
    messages[at] = (struct bench_message){.operation = algorithm->operation,
                                          .algorithm = algorithm->number,
                                          .key = {key_bytes, algorithm->key_len},
                                          .nonce = {nonce_bytes, PAL_NONCE_LEN},
                                          .text = {text_bytes, len}};
    if (algorithm->operation != BENCH_OPEN) {
        return true;
    }
    messages[at].text = (struct pal_view){sealed[at], len + PAL_TAG_LEN_MAX};
    return port != NULL && port->aead[PAL_FRESH]->seal(pal_env_real(), sealed[at], sizeof(sealed[at]), &out_len, &job,
                                                       (struct pal_view){text_bytes, len}) == PAL_OK;
}

static bool list(struct bench *bench)
{
    bool works[NUM_WAYS];
    for (size_t i = 0; i < NUM_WAYS; i++) {
        works[i] = crypto_way_works(&crypto_ways[i]);
    }
    for (size_t i = 0; i < NUM_CASES * NUM_WAYS; i++) {
        size_t at = i / NUM_WAYS;
        const struct crypto_way *way = &crypto_ways[i % NUM_WAYS];
        if (i % NUM_WAYS == 0 && !make_message(at)) {
            (void)fputs("paldiff: no engine works\n", stderr);
            return false;
        }
        subjects[i] = (struct subject){&messages[at], way};
        if (works[i % NUM_WAYS]) {
            struct bench_arm *arm = bench_add(bench, algorithms[at / NUM_LENGTHS].name, lengths[at % NUM_LENGTHS].name,
                                              way->name, &subjects[i]);
            arm->counted = way->port != NULL;
        }
    }
    return bench->num_arms > 0;
}

static bool run(void *world, const void *argument)
{
    const struct subject *subject = argument;
    return crypto_run(world, subject->way, subject->message);
}

static void print(const struct bench *const benches[], size_t num)
{
    static struct bench_table table;
    (void)printf("One message of %s:\n\n", lengths[HEADLINE].name);
    bench_table_start(&table, "message|engine|threads|" CRYPTO_HEAD);
    for (size_t i = 0; i < NUM_ALGORITHMS * CRYPTO_ENGINES * num; i++) {
        size_t engine = i / num % CRYPTO_ENGINES;
        const char *group = algorithms[i / num / CRYPTO_ENGINES].name;
        const struct bench *bench = benches[i % num];
        bench_table_cell(&table, "%s", group);
        bench_table_cell(&table, "%s", crypto_ways[engine * CRYPTO_WAYS].engine);
        bench_table_cell(&table, "%lu", bench->threads);
        crypto_cells(&table, bench, group, lengths[HEADLINE].name, engine);
    }
    bench_table_print(&table);
}

const struct bench_group bench_crypto = {.name = "crypto",
                                         .sentence = "one HMAC or AES-GCM message of 16 B to 16 KiB, by way and engine",
                                         .rounds = 100,
                                         .threads = {1, 2},
                                         .list = list,
                                         .world_new = crypto_world_new,
                                         .world_free = crypto_world_free,
                                         .run = run,
                                         .counts = crypto_counts,
                                         .print = print};
