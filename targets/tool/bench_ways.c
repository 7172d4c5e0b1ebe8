/* SPDX-License-Identifier: Apache-2.0
 * bench_ways.c: the ways of bench_crypto.h. Both modes of a port, beside the engine's own calls where the build has
 * them. It breaks when a world is freed while its thread's slots are still in use: they belong to its environment.
 */
#include "bench_crypto.h"

#include "bench_table.h"
#include "ports.h"

#include <stdio.h>
#include <stdlib.h>

#ifdef PALDIFF_BARE_ENGINES
#define BARE(name) &bench_engine_##name
#else
#define BARE(name) NULL /* with a sanitizer, which would not see what the machine's own library writes, either */
#endif

/* clang-format off */
#define WAYS(name, system_name, system) \
    {#name, system_name, NULL, PAL_FRESH, system, BENCH_PLAIN}, \
    {#name, #name "/plain", NULL, PAL_FRESH, BARE(name), BENCH_PLAIN}, \
    {#name, #name "/one-shot", pal_port_##name, PAL_FRESH, NULL, BENCH_PLAIN}, \
    {#name, #name "/pre-fetched", NULL, PAL_FRESH, BARE(name), BENCH_PREFETCHED}, \
    {#name, #name "/cached", pal_port_##name, PAL_REUSED, NULL, BENCH_PLAIN}, \
    {#name, #name "/floor", NULL, PAL_FRESH, BARE(name), BENCH_FLOOR}

const struct crypto_way crypto_ways[CRYPTO_ENGINES * CRYPTO_WAYS] = {WAYS(openssl, "libcrypto.so.3/plain", BARE(system)),
                                                                   WAYS(boringssl, "none", NULL)};
/* clang-format on */

bool crypto_way_works(const struct crypto_way *way)
{
    bool works = way->port != NULL ? way->port() != NULL : way->bare != NULL && way->bare->start();
    if (!works && (way->port != NULL || way->bare != NULL)) {
        (void)fprintf(stderr, "paldiff: no arm %s: the engine does not start\n", way->name);
    }
    return works;
}

void *crypto_world_new(void)
{
    struct crypto_world *world = calloc(1, sizeof(*world));
    bool good = world != NULL && bench_env_init(&world->env);
    for (size_t i = 0; good && i < CRYPTO_ENGINES * CRYPTO_WAYS; i++) {
        world->ports[i] = crypto_ways[i].port != NULL ? crypto_ways[i].port() : NULL;
        if (crypto_ways[i].bare != NULL) {
            world->bare[i] = crypto_ways[i].bare->world_new();
            good = world->bare[i] != NULL;
        }
    }
    if (!good) {
        (void)fputs("paldiff: no memory for a thread's contexts\n", stderr);
        crypto_world_free(world);
        return NULL;
    }
    return world;
}

void crypto_world_free(void *argument)
{
    struct crypto_world *world = argument;
    if (world == NULL) {
        return;
    }
    for (size_t i = 0; i < CRYPTO_ENGINES * CRYPTO_WAYS; i++) {
        if (world->bare[i] != NULL) {
            crypto_ways[i].bare->world_free(world->bare[i]);
        }
    }
    /* The calling thread may have calibrated in this world, and its slots outlive their thread's worlds otherwise. */
    for (size_t i = 0; i < CRYPTO_ENGINES; i++) {
        const struct pal_port *port = crypto_ways[i * CRYPTO_WAYS + CRYPTO_CACHED].port();
        if (port != NULL) {
            port->hmac[PAL_REUSED]->drop(world->env.env);
            port->aead[PAL_REUSED]->drop(world->env.env);
        }
    }
    bench_env_deinit(&world->env);
    free(world);
}

const struct bench_counts *crypto_counts(const void *world)
{
    return &((const struct crypto_world *)world)->env.counts;
}

/* Through a port. */
static bool run_port(struct crypto_world *world, const struct crypto_way *way, const struct bench_message *message)
{
    const struct pal_port *port = world->ports[way - crypto_ways];
    const struct pal_env *env = world->env.env;
    struct pal_aead_job job = {.cipher = (enum pal_aead)message->algorithm,
                               .key = message->key,
                               .nonce = message->nonce,
                               .tag_len = PAL_TAG_LEN_MAX};
    size_t out_len = 0;
    switch (message->operation) {
    case BENCH_HMAC:
        return port->hmac[way->mode]->digest(env, world->out, sizeof(world->out), &out_len,
                                             (enum pal_digest)message->algorithm, message->key, &message->text,
                                             1) == PAL_OK;
    case BENCH_SEAL:
        return port->aead[way->mode]->seal(env, world->out, sizeof(world->out), &out_len, &job, message->text) ==
               PAL_OK;
    case BENCH_OPEN:
        return port->aead[way->mode]->open(env, world->out, sizeof(world->out), &out_len, &job, message->text) ==
               PAL_OK;
    }
    return false;
}

bool crypto_run(struct crypto_world *world, const struct crypto_way *way, const struct bench_message *message)
{
    return way->bare != NULL ? way->bare->run(world->bare[way - crypto_ways], way->how, world->out, message)
                             : run_port(world, way, message);
}

void crypto_cells(struct bench_table *table, const struct bench *bench, const char *group, const char *case_name,
                  size_t engine)
{
    const struct bench_arm *arms[CRYPTO_WAYS];
    for (size_t i = 0; i < CRYPTO_WAYS; i++) {
        arms[i] = bench_find(bench, group, case_name, crypto_ways[engine * CRYPTO_WAYS + i].name);
        if (arms[i] != NULL) {
            bench_table_cell(table, "%.0f ns", arms[i]->median_ns);
        } else {
            bench_table_cell(table, "-");
        }
    }
    for (size_t i = CRYPTO_SYSTEM; i <= CRYPTO_PREFETCHED; i++) {
        bench_table_number(table, 1, bench_ratio(arms[i], arms[CRYPTO_CACHED]), "x");
    }
    bench_table_number(table, 2, bench_ratio(arms[CRYPTO_CACHED], arms[CRYPTO_FLOOR]), "");
}
