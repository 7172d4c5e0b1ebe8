/* SPDX-License-Identifier: Apache-2.0
 * What the two files of the mbed TLS port share: an endpoint, and how one is set up.
 */
#ifndef MBEDTLS_PORT_H
#define MBEDTLS_PORT_H

#include <pal.h>

#include <mbedtls/ssl.h>
#include <mbedtls/x509_crt.h>

#define ALPN_MAX 8u

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
    mbedtls_ssl_context ssl;
    mbedtls_ssl_config config;
    mbedtls_x509_crt own;
    mbedtls_x509_crt trusted;
    mbedtls_pk_context key;
    struct bytes in;    /* from the peer, not read yet */
    struct bytes out;   /* by the engine, not taken yet */
    struct bytes names; /* of protocols, each 0-terminated */
    const char *alpn[ALPN_MAX + 1];
    bool late;     /* has no identity yet */
    bool finished; /* the first handshake */
    bool shut;     /* close_notify was said */
    bool resumed;
    bool no_memory;
    bool no_random;
    bool alerted;          /* the engine wrote an alert in the call under way */
    enum pal_status final; /* PAL_OK: alive */
    uint8_t alert_sent;
    uint8_t alert_received;
};

bool bytes_add(const struct pal_env *env, struct bytes *bytes, const uint8_t *data, size_t len);

/* random_bytes: mbed TLS's f_rng for an endpoint, which is `pointer`. */
int random_bytes(void *pointer, unsigned char *out, size_t len);

/* setup: context and credentials, as the configuration says. setup_identity: a chain and its key. */
enum pal_status setup(struct pal_tls *tls, const struct pal_tls_config *config);
enum pal_status setup_identity(struct pal_tls *tls, const struct pal_tls_identity *identity);

#endif
