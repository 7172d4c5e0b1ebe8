/* SPDX-License-Identifier: Apache-2.0
 * bench_env.h: what the groups' worlds are made of: an environment that counts, with a pool, and loopback connections.
 * It times nothing. It breaks when a bench_env is moved after bench_env_init.
 */
#ifndef PALDIFF_BENCH_ENV_H
#define PALDIFF_BENCH_ENV_H

#include "bench.h"
#include "pool/pool.h"

/* bench_env: the real environment, counting. `env` has the pool. */
struct bench_env {
    struct bench_counts counts;
    struct pal_env counting;
    struct pal_pool *pool;
    struct pal_pool_bound bound;
    const struct pal_env *env;
};

/* bench_env_init: false, with a line on stderr. bench_env_deinit: also after a failure, and for {0}. */
bool bench_env_init(struct bench_env *out);
void bench_env_deinit(struct bench_env *env);

/* bench_connect: a loopback TCP connection, ends[0] the one that connected; -1 for what could not be had. TCP_NODELAY:
 * or an operation waits for the acknowledgement of the one before, and its bytes leave with others. An end that gets
 * nothing, or whose bytes nobody takes, gives up after some seconds. `room` is what its buffers are to hold, 0 for what
 * the kernel finds right. False, with a line on stderr. */
bool bench_connect(int ends[2], int room);
void bench_disconnect(int ends[2]);

#endif
