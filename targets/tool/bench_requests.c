/* SPDX-License-Identifier: Apache-2.0
 * bench_requests.c: what a web application does with a request's cookies: verify one and sign one (HMAC-SHA1), open one
 * and seal one (AES-256-GCM), of 160 to 300 bytes, the keys lying somewhere else each time, as they do when they come
 * out of a configuration object. Threads tell whether looking algorithms up is a place where they wait for each other.
 * It breaks when an arm keeps a key's address.
 */
#include "bench_crypto.h"

#include "bench_table.h"
#include "ports.h"

#include <stdio.h>
#include <string.h>

enum { COOKIES = 8, COOKIE_MAX = 300, KEY_LEN = 32, MAC_LEN = 20 };

#define NUM_WAYS ((size_t)CRYPTO_ENGINES * CRYPTO_WAYS)
#define CASE "4 operations, 160-300 B"

static const uint8_t key_bytes[2][KEY_LEN] = {{1, 2, 3, 4, 5, 6, 7, 8}, {8, 7, 6, 5, 4, 3, 2, 1}};

/* cookie: what one request brings. */
static struct cookie {
    size_t len;
    uint8_t nonce[PAL_NONCE_LEN];
    uint8_t text[COOKIE_MAX];
    uint8_t mac[MAC_LEN];
    uint8_t sealed[COOKIE_MAX + PAL_TAG_LEN_MAX];
} cookies[COOKIES];

static bool make_cookies(const struct pal_port *port)
{
    for (size_t i = 0; port != NULL && i < COOKIES; i++) {
        struct cookie *cookie = &cookies[i];
        struct pal_view text = {cookie->text, cookie->len = 160 + i * 20};
        struct pal_aead_job job = {.cipher = PAL_AES_256_GCM,
                                   .key = {key_bytes[1], KEY_LEN},
                                   .nonce = {cookie->nonce, PAL_NONCE_LEN},
                                   .tag_len = PAL_TAG_LEN_MAX};
        size_t len = 0;
        memset(cookie->text, (int)i, sizeof(cookie->text));
        cookie->nonce[0] = (uint8_t)i;
        if (port->hmac[PAL_FRESH]->digest(pal_env_real(), cookie->mac, MAC_LEN, &len, PAL_SHA1,
                                          (struct pal_view){key_bytes[0], KEY_LEN}, &text, 1) != PAL_OK ||
            port->aead[PAL_FRESH]->seal(pal_env_real(), cookie->sealed, sizeof(cookie->sealed), &len, &job, text) !=
                PAL_OK) {
            return false;
        }
    }
    return port != NULL;
}

static bool list(struct bench *bench)
{
    if (!make_cookies(pal_port_openssl() != NULL ? pal_port_openssl() : pal_port_boringssl())) {
        (void)fputs("paldiff: no engine works\n", stderr);
        return false;
    }
    for (size_t i = 0; i < NUM_WAYS; i++) {
        if (crypto_way_works(&crypto_ways[i])) {
            bench_add(bench, "requests", CASE, crypto_ways[i].name, &crypto_ways[i])->counted =
                crypto_ways[i].port != NULL;
        }
    }
    return bench->num_arms > 0;
}

/* A key where the request before had none. */
static struct pal_view fresh_key(struct crypto_world *world, size_t which)
{
    uint8_t *copy = world->key_copies[(2 * world->num_requests + which) % 8];
    memcpy(copy, key_bytes[which], KEY_LEN);
    return (struct pal_view){copy, KEY_LEN};
}

static bool same_mac(const uint8_t *a, const uint8_t *b)
{
    unsigned differs = 0;
    for (size_t i = 0; i < MAC_LEN; i++) {
        differs |= (unsigned)(a[i] ^ b[i]);
    }
    return differs == 0;
}

static bool run(void *argument, const void *way)
{
    struct crypto_world *world = argument;
    const struct cookie *cookie = &cookies[world->num_requests % COOKIES];
    const struct pal_view text = {cookie->text, cookie->len};
    struct bench_message mac = {
        .operation = BENCH_HMAC, .algorithm = PAL_SHA1, .key = fresh_key(world, 0), .text = text};
    struct bench_message open = {.operation = BENCH_OPEN,
                                 .algorithm = PAL_AES_256_GCM,
                                 .key = fresh_key(world, 1),
                                 .nonce = {cookie->nonce, PAL_NONCE_LEN},
                                 .text = {cookie->sealed, cookie->len + PAL_TAG_LEN_MAX}};
    struct bench_message seal = open;
    seal.operation = BENCH_SEAL;
    seal.text = text;
    world->num_requests++;
    return crypto_run(world, way, &mac) && same_mac(world->out, cookie->mac) && crypto_run(world, way, &open) &&
           crypto_run(world, way, &mac) && crypto_run(world, way, &seal);
}

static void print(const struct bench *const benches[], size_t num)
{
    static struct bench_table table;
    (void)puts("One request: verify and sign a cookie with HMAC-SHA1, open and seal one with AES-256-GCM:\n");
    bench_table_start(&table, "engine|threads|" CRYPTO_HEAD);
    for (size_t i = 0; i < CRYPTO_ENGINES * num; i++) {
        const struct bench *bench = benches[i % num];
        bench_table_cell(&table, "%s", crypto_ways[i / num * CRYPTO_WAYS].engine);
        bench_table_cell(&table, "%lu", bench->threads);
        crypto_cells(&table, bench, "requests", CASE, i / num);
    }
    bench_table_print(&table);
}

const struct bench_group bench_requests = {.name = "requests",
                                           .sentence =
                                               "four operations on a request's cookies, by way, engine, threads",
                                           .rounds = 400,
                                           .threads = {1, 2, 4},
                                           .list = list,
                                           .world_new = crypto_world_new,
                                           .world_free = crypto_world_free,
                                           .run = run,
                                           .counts = crypto_counts,
                                           .print = print};
