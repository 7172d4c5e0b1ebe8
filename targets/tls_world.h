/* SPDX-License-Identifier: Apache-2.0
 * tls_world.h: the operations of TLS scenarios, and playing them: connections between the world's port and a reference
 * port, over OpenSSL and BoringSSL on either side, with what may happen between them.
 */
#ifndef PALDIFF_TLS_WORLD_H
#define PALDIFF_TLS_WORLD_H

#include "troupe.h"

#define TLS_LINKS 2u
#define TLS_LENS 16u
#define TLS_WORLDS 2u

extern const char *const tls_len_names[TLS_LENS];
extern const size_t tls_lens[TLS_LENS];

enum tls_operation {
    TLS_OP_EXCHANGE,
    TLS_OP_OPEN,
    TLS_OP_WRITE,
    TLS_OP_READ,
    TLS_OP_UPDATE,
    TLS_OP_RENEGOTIATE,
    TLS_OP_ALERT,
    TLS_OP_SHUTDOWN,
    TLS_OP_PENDING,
    TLS_OP_TICKET,
    TLS_OP_CLOSE,
    TLS_OP_USE,
    TLS_OP_CUT,
    TLS_OP_CHANGE,
    TLS_OP_LOSE,
    TLS_OP_HOLD,
    TLS_OP_FLUSH,
    TLS_OP_OTHERS,
    TLS_OP_FAIL_ALLOC,
    TLS_OP_FAIL_RANDOM
};

/* Fields of TLS_OP_OPEN. */
enum tls_open_field {
    OPEN_ROLE,
    OPEN_VERSION,
    OPEN_ENGINE,
    OPEN_PEER,
    OPEN_SHAPE,
    OPEN_AGAINST, /* so many shapes further is the fresh world's */
    OPEN_PEER_SHAPE,
    OPEN_AUTH,
    OPEN_ALPN,
    OPEN_SPOIL,
    OPEN_LATE,
    OPEN_TICKET,
    OPEN_FIELDS
};

enum tls_version { VERSION_1_3, VERSION_1_2, VERSION_BOTH, NUM_VERSIONS };
enum tls_auth { AUTH_SERVER, AUTH_MUTUAL, AUTH_PSK, NUM_AUTHS };
enum tls_alpn { ALPN_NONE, ALPN_ONE, ALPN_SECOND, NUM_ALPNS };
enum tls_spoil {
    SPOIL_NONE,
    SPOIL_AUTHORITY,   /* the client trusts another one */
    SPOIL_NAME,        /* the client wants another one */
    SPOIL_VERSION,     /* none in common */
    SPOIL_CERTIFICATE, /* the client has none, and the server insists */
    SPOIL_PROTOCOL,    /* no ALPN in common */
    NUM_SPOILS
};

/* tls_play: target's play. */
void tls_play(struct world worlds[], size_t num_worlds, struct actors *actors, const struct scenario *scenario);

#endif
