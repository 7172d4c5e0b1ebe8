/* SPDX-License-Identifier: Apache-2.0
 * tls_config.h: both ends' configurations as a scenario's `open` says, what they have to agree on, and the certificates
 * for it, which are made once in a process.
 */
#ifndef PALDIFF_TLS_CONFIG_H
#define PALDIFF_TLS_CONFIG_H

#include "tls_link.h"
#include "tls_world.h"

/* tls_ticket: a session of a client, and the circumstances in which it has to be taken. */
struct tls_ticket {
    struct pal_view bytes;
    uint32_t client; /* engines, by tls_engine_of */
    uint32_t server;
    uint32_t version;
    uint32_t auth;
    uint32_t alpn;
};

/* tls_terms: what was asked for, read by whoever judges the handshake. */
struct tls_terms {
    uint32_t number[OPEN_FIELDS];
    uint16_t version; /* that has to be agreed on */
    bool offers;      /* a ticket goes with the client's hello */
    bool resumes;     /* it has to be taken: all is as it was; otherwise that is the engine's choice */
    enum tls_side client;
    enum tls_side finder; /* of what was spoilt */
};

/* tls_configure: the ends' ops and configs. `fields` are TLS_OP_OPEN's numbers. */
void tls_configure(struct tls_terms *out, struct tls_link *link, const uint32_t fields[OPEN_FIELDS],
                   const struct tls_ticket *ticket);

/* tls_engine_of: TLS_OP_OPEN's choice for an end, or TLS_ENGINE_OTHER for a port that is none of the references: what
 * it exports is its own alone to read. */
#define TLS_ENGINE_OTHER 2u
uint32_t tls_engine_of(const struct tls_end *end, const struct tls_terms *terms);

/* tls_disagreements: in how many things two ends that are done differ from the terms, or from each other. */
uint32_t tls_disagreements(const struct tls_link *link, const struct tls_terms *terms);

#endif
