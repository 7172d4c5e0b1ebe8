/* SPDX-License-Identifier: Apache-2.0
 * bench_crypto.h: the ways to do one HMAC or AES-GCM message that groups crypto and requests have in common.
 * It breaks when a crypto_world is used by two threads at once.
 */
#ifndef PALDIFF_BENCH_CRYPTO_H
#define PALDIFF_BENCH_CRYPTO_H

#include "bench_engine.h"
#include "bench_env.h"
#include "env.h"

enum { CRYPTO_ENGINES = 2, CRYPTO_WAYS = 6, CRYPTO_TEXT_MAX = 16384 };

/* crypto_way: how: a port in a mode, or the engine's own calls (`bare`, whose way is `how`). */
struct crypto_way {
    const char *engine; /* "openssl" */
    const char *name;   /* "openssl/cached" */
    const struct pal_port *(*port)(void);
    enum pal_mode mode;
    const struct bench_engine *bare; /* NULL: by the port */
    enum bench_bare how;
};

/* crypto_ways: of each engine: plain through the machine's own library (OpenSSL), plain, one-shot, pre-fetched, cached,
 * floor. */
enum crypto_arm { CRYPTO_SYSTEM, CRYPTO_PLAIN, CRYPTO_ONE_SHOT, CRYPTO_PREFETCHED, CRYPTO_CACHED, CRYPTO_FLOOR };
extern const struct crypto_way crypto_ways[CRYPTO_ENGINES * CRYPTO_WAYS];

/* crypto_way_works: whether this build has it, started; a line on stderr when it should, but does not start. */
bool crypto_way_works(const struct crypto_way *way);

/* crypto_world: of one thread. */
struct crypto_world {
    struct bench_env env;
    const struct pal_port *ports[CRYPTO_ENGINES * CRYPTO_WAYS]; /* by way; NULL: by the engine's own calls */
    void *bare[CRYPTO_ENGINES * CRYPTO_WAYS];                   /* what those keep */
    uint64_t num_requests;
    uint8_t key_copies[8][32];
    uint8_t out[CRYPTO_TEXT_MAX + PAL_TAG_LEN_MAX];
};

/* crypto_world_new, crypto_world_free: a group's world_new and world_free. */
void *crypto_world_new(void);
void crypto_world_free(void *argument);
const struct bench_counts *crypto_counts(const void *world);

/* crypto_run: one message, into world->out. */
bool crypto_run(struct crypto_world *world, const struct crypto_way *way, const struct bench_message *message);

/* crypto_cells: medians of the ways, then how many times faster cached is than each but the floor, and how many
 * times slower than that: the cells of CRYPTO_HEAD. */
struct bench_table;
#define CRYPTO_HEAD                                                                                                    \
    "system|plain|one-shot|pre-fetched|cached|floor|x system|x plain|x one-shot|x pre-fetched|cached / floor"
void crypto_cells(struct bench_table *table, const struct bench *bench, const char *group, const char *case_name,
                  size_t engine);

#endif
