/* SPDX-License-Identifier: Apache-2.0
 * What the two files of the GnuTLS port share: an endpoint, and how one is set up.
 */
#ifndef GNUTLS_PORT_H
#define GNUTLS_PORT_H

#include <pal.h>

#include <gnutls/gnutls.h>

/* bytes: a queue in the environment's memory. */
struct bytes {
    uint8_t *data;
    size_t len;
    size_t cap;
};

struct pal_tls {
    const struct pal_env *env;
    enum pal_mode mode;
    enum pal_tls_role role;
    gnutls_session_t session;
    gnutls_certificate_credentials_t certificates;
    gnutls_psk_client_credentials_t psk_client;
    gnutls_psk_server_credentials_t psk_server;
    struct bytes in;  /* from the peer, not read yet */
    struct bytes out; /* by the engine, not taken yet */
    struct bytes psk;
    struct bytes name; /* of the server, 0-terminated; empty: nobody's is checked */
    bool verifies;
    bool late;     /* a server that has no identity yet */
    bool finished; /* the first handshake */
    bool shut;     /* close_notify was said */
    bool no_memory;
    enum pal_status final; /* PAL_OK: alive */
    uint8_t alert_sent;
    uint8_t alert_received;
    gnutls_datum_t peer;
};

bool bytes_add(const struct pal_env *env, struct bytes *bytes, const uint8_t *data, size_t len);
void bytes_take(struct bytes *bytes, size_t len);
void bytes_free(const struct pal_env *env, struct bytes *bytes);

/* setup: session and credentials, as the configuration says. setup_identity: a chain and its key. */
enum pal_status setup(struct pal_tls *tls, const struct pal_tls_config *config);
enum pal_status setup_identity(struct pal_tls *tls, const struct pal_tls_identity *identity);

#endif
