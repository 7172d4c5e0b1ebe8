/* SPDX-License-Identifier: Apache-2.0
 * engine_ssl.h: what engine_ssl.c (the seam), engine_setup.c (configuration), engine_own.c (all that differs between
 * OpenSSL and BoringSSL) and credentials.c share. It is not seen by the shapes.
 * It breaks when a call that can allocate is made outside of tls_enter and tls_leave, tls_engine_start excepted.
 */
#ifndef PAL_TLS_ENGINE_SSL_H
#define PAL_TLS_ENGINE_SSL_H

#include "engine.h"

#include "../crypt/engine.h"

#include <openssl/bio.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

/* tls_engine_start: after the engine's own start, once per process: the one SSL_CTX, hooks for randomness and time, and
 * whatever the engine would make when it is first needed. False when it cannot. */
bool tls_engine_start(void);

enum { TICKET_NAME_LEN = 16, TICKET_AES_LEN = 16, TICKET_HMAC_LEN = 32 };

/* tls_ticket_keys: what a server seals its tickets with. */
struct tls_ticket_keys {
    uint8_t name[TICKET_NAME_LEN];
    uint8_t aes[TICKET_AES_LEN];
    uint8_t hmac[TICKET_HMAC_LEN];
};

struct tls_engine {
    const struct pal_env *env;
    SSL *ssl;
    struct tls_transport transport;
    BIO *in; /* memory, owned by ssl; NULL with a transport */
    BIO *out;
    bool server;
    bool late;          /* an identity comes by tls_engine_set_identity, if it is asked for */
    bool identified;    /* it came */
    bool finished;      /* the first handshake is done */
    bool write_refused; /* the transport had no memory, in this call */
    enum tls_event end; /* what it failed with, once and for all; TLS_DONE while it lives */
    uint8_t alert_sent;
    uint8_t alert_received;
    struct tls_ticket_keys ticket_keys;
    SSL_SESSION *session; /* newest, owned; clients only */
    uint8_t *alpn;        /* owned, as all below */
    size_t alpn_len;
    uint8_t *psk_key;
    size_t psk_key_len;
    char *psk_identity;
    uint8_t *exported;
    uint8_t *peer_certificate;
};

/* tls_of: the engine behind an SSL. */
struct tls_engine *tls_of(const SSL *ssl);

/* tls_enter: engine_enter, and randomness and time of `env` as well. tls_leave: ends it; what was refused meanwhile
 * goes before a failure of the engine's. Empties the error queue. */
void tls_enter(const struct pal_env *env);
enum tls_event tls_leave(enum tls_event event);

/* tls_random: from the entered environment, or the real one; false when it failed. */
bool tls_random(uint8_t *out, size_t len);

/* ---- engine_own.c ------------------------------------------------------------------------------------------------ */

/* tls_own_context: the process's SSL_CTX with what one engine alone has been told. NULL when it cannot be made. */
SSL_CTX *tls_own_context(void);
/* tls_own_hooks: directs the engine's randomness to tls_random. */
bool tls_own_hooks(void);
/* tls_own_warm: makes what the engine would make later. */
bool tls_own_warm(void);
/* tls_own_hold, tls_own_let_go: around every call. After env->alloc refused, let_go takes back what the engine put into
 * state of the process meanwhile. */
void tls_own_hold(void);
void tls_own_let_go(bool refused);
/* tls_own_key: the key in a PKCS#8 PrivateKeyInfo. */
EVP_PKEY *tls_own_key(struct pal_view der);
/* tls_own_certificate: one certificate at the front of *der, taken off. Called outside of tls_enter. */
X509 *tls_own_certificate(struct pal_view *der);
/* tls_own_psk_version_max: the highest version that takes an external PSK. */
uint16_t tls_own_psk_version_max(void);
enum tls_event tls_own_flush(SSL *ssl);
enum tls_event tls_own_update_keys(SSL *ssl, bool request_peer);
enum tls_event tls_own_renegotiate(SSL *ssl);
enum tls_event tls_own_alert(SSL *ssl, uint8_t description);
/* tls_own_export: *out from OPENSSL_malloc; its length, or 0. */
size_t tls_own_export(SSL_SESSION *session, uint8_t **out);
SSL_SESSION *tls_own_import(struct pal_view bytes);
void tls_own_allow_renegotiation(SSL *ssl);

/* ---- engine_setup.c ---------------------------------------------------------------------------------------------- */

enum { TLS_CERTIFICATES_MAX = 16 };

/* tls_certificates: references; {0} is none. */
struct tls_certificates {
    X509 *items[TLS_CERTIFICATES_MAX];
    size_t len;
};

/* tls_credentials: a chain, leaf first, and who is trusted. */
struct tls_credentials {
    struct tls_certificates chain;
    struct tls_certificates trusted;
};

/* tls_setup_context: the process's SSL_CTX. */
SSL_CTX *tls_setup_context(void);

/* tls_setup_certificates: reads `der` into *out, which is {0}; outside of tls_enter. TLS_BAD_ARGUMENT. */
enum tls_event tls_setup_certificates(struct tls_certificates *out, struct pal_view der);
void tls_setup_certificates_release(struct tls_certificates *certificates);

/* tls_setup_identity, tls_setup_session: what one SSL is told, between tls_enter and tls_leave. */
enum tls_event tls_setup_identity(struct tls_engine *engine, const struct tls_certificates *chain,
                                  struct pal_view private_key);
enum tls_event tls_setup_session(struct tls_engine *engine, const struct pal_tls_config *config,
                                 const struct tls_credentials *credentials);
BIO *tls_setup_transport(struct tls_engine *engine);

#endif
