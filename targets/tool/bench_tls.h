/* SPDX-License-Identifier: Apache-2.0
 * bench_tls.h: the two ends of a TLS connection over a TCP one, both in the calling thread. It times nothing.
 * It breaks when a flight or a write does not fit the connection's buffers: nobody reads while it is sent.
 */
#ifndef PALDIFF_BENCH_TLS_H
#define PALDIFF_BENCH_TLS_H

#include "bench_env.h"
#include "ports.h"
#include "tls/credentials.h"

#include <stdatomic.h>

enum { TLS_WIRE_CAP = 80 << 10, TLS_PLAIN_MAX = 64 << 10 };

/* tls_kind: whose, how, pooled or fresh. */
struct tls_kind {
    const struct pal_port *port;
    enum pal_tls_shape shape;
    enum pal_mode mode;
};

/* tls_slack: of pooled tokens: bytes that were rented, bytes that were in them. */
struct tls_slack {
    _Atomic uint64_t cap;
    _Atomic uint64_t len;
};

/* tls_world: what all connections of a thread share. */
struct tls_world {
    struct bench_env env;
    struct pal_tls_credentials identity;
    uint8_t wire[TLS_WIRE_CAP]; /* what came in, decrypted where it lies */
};

/* tls_end: inbox: bytes of a flight that were received, and not consumed yet. in_flight: sent to it, not received. */
struct tls_end {
    struct pal_tls *tls;
    uint8_t inbox[16 << 10];
    size_t inbox_len;
    size_t in_flight;
};

/* tls_pair: ends[0] is the client. The sockets are the caller's, connected. */
struct tls_pair {
    const struct tls_kind *kind;
    int sockets[2];
    struct tls_end ends[2];
};

/* tls_world_init: makes a certificate. False, with a line on stderr. */
bool tls_world_init(struct tls_world *world);
void tls_world_deinit(struct tls_world *world);

/* tls_pair_open: a handshake, TLS 1.2 with AES-GCM, or false. `kind` must stay. tls_pair_close: also without one; says
 * nothing to the peer. */
bool tls_pair_open(struct tls_world *world, struct tls_pair *pair, const struct tls_kind *kind, bool mutual,
                   struct tls_slack *slack);
void tls_pair_close(struct tls_pair *pair);

/* tls_pair_carry: `len` <= TLS_PLAIN_MAX bytes in one write, from ends[from] to the other one, all read there. */
bool tls_pair_carry(struct tls_world *world, struct tls_pair *pair, size_t from, size_t len, struct tls_slack *slack);

#endif
