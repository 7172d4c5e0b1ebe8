/* SPDX-License-Identifier: Apache-2.0
 * bench_env.c: the counting environment and the connections of bench.
 * It breaks when the real environment's functions come to need a context: here they get another one.
 */
#include "bench_env.h"

#include "env.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

static void *counted_alloc(void *context, size_t len)
{
    struct bench_env *env = context;
    env->counts.allocations++;
    env->counts.bytes += len;
    return pal_env_real()->alloc(NULL, len);
}

static enum pal_status counted_sendmsg(void *context, size_t *out_sent, int socket, const struct iovec *segments,
                                       size_t num_segments, int flags)
{
    struct bench_env *env = context;
    env->counts.calls++;
    return pal_env_real()->sendmsg(NULL, out_sent, socket, segments, num_segments, flags);
}

static enum pal_status counted_sendfile(void *context, size_t *out_sent, int socket, int file, uint64_t offset,
                                        size_t len)
{
    struct bench_env *env = context;
    env->counts.calls++;
    return pal_env_real()->sendfile(NULL, out_sent, socket, file, offset, len);
}

bool bench_env_init(struct bench_env *out)
{
    const struct pal_pool_config config = {0};
    *out = (struct bench_env){.counting = *pal_env_real()};
    out->counting.context = out;
    out->counting.alloc = counted_alloc;
    out->counting.sendmsg = counted_sendmsg;
    out->counting.sendfile = counted_sendfile;
    if (pal_pool_reference.open(&out->counting, &out->pool, &config) != PAL_OK) {
        (void)fputs("paldiff: no memory for a pool\n", stderr);
        return false;
    }
    pal_pool_bind(&out->bound, &out->counting, out->pool);
    out->env = &out->bound.env;
    return true;
}

void bench_env_deinit(struct bench_env *env)
{
    if (env->pool != NULL) {
        pal_pool_reference.close(env->pool);
    }
    env->pool = NULL;
}

static bool set_options(int socket, int room)
{
    const int one = 1;
    const struct timeval patience = {.tv_sec = 10};
    return setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) == 0 &&
           (room == 0 || (setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room)) == 0 &&
                          setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room)) == 0)) &&
           setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) == 0 &&
           setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) == 0;
}

bool bench_connect(int ends[2], int room)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(address);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool good = listener >= 0 && bind(listener, (struct sockaddr *)&address, len) == 0 && listen(listener, 1) == 0 &&
                getsockname(listener, (struct sockaddr *)&address, &len) == 0;
    ends[0] = good ? socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) : -1;
    good = ends[0] >= 0 && connect(ends[0], (struct sockaddr *)&address, len) == 0;
    ends[1] = good ? accept4(listener, NULL, NULL, SOCK_CLOEXEC) : -1;
    good = ends[1] >= 0 && set_options(ends[0], room) && set_options(ends[1], room);
    if (!good) {
        (void)fprintf(stderr, "paldiff: no connection over loopback TCP: %s\n", strerror(errno));
    }
    if (listener >= 0) {
        (void)close(listener);
    }
    return good;
}

void bench_disconnect(int ends[2])
{
    for (size_t i = 0; i < 2; i++) {
        if (ends[i] >= 0) {
            (void)close(ends[i]);
        }
        ends[i] = -1;
    }
}
