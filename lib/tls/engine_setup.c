/* SPDX-License-Identifier: Apache-2.0
 * engine_setup.c: what the SSL_CTX and each SSL are told: suites, credentials, trust, PSK, ALPN, tickets, alerts.
 * The SSL_CTX is one for the process: OpenSSL takes 140 us to make one (470 us under ASan), and fetches algorithms into
 * a cache of the process meanwhile. Nothing of a connection is kept in it. It breaks when a callback keeps an SSL.
 */
#include "engine_ssl.h"

#include <string.h>

#include <openssl/x509v3.h>

static SSL_CTX *context;
static BIO_METHOD *transport_method;

SSL_CTX *tls_setup_context(void)
{
    return context;
}

/* ---- transport
 * -------------------------------------------------------------------------------------------------------- */

static int transport_read(BIO *bio, char *out, int cap)
{
    struct tls_engine *engine = BIO_get_data(bio);
    size_t count;

    BIO_clear_retry_flags(bio);
    count = engine->transport.read(engine->transport.context, (uint8_t *)out, (size_t)cap);
    if (count > 0) {
        return (int)count;
    }
    BIO_set_retry_read(bio);
    return -1;
}

static int transport_write(BIO *bio, const char *bytes, int len)
{
    struct tls_engine *engine = BIO_get_data(bio);

    BIO_clear_retry_flags(bio);
    if (engine->transport.write(engine->transport.context, (struct pal_view){(const uint8_t *)bytes, (size_t)len})) {
        return len;
    }
    engine->write_refused = true;
    return -1;
}

static long transport_control(BIO *bio, int command, long number, void *pointer)
{
    (void)bio, (void)number, (void)pointer;
    return command == BIO_CTRL_FLUSH ? 1 : 0;
}

BIO *tls_setup_transport(struct tls_engine *engine)
{
    BIO *bio = BIO_new(transport_method);

    if (bio != NULL) {
        BIO_set_data(bio, engine);
        BIO_set_init(bio, 1);
    }
    return bio;
}

/* ---- callbacks of the context
 * --------------------------------------------------------------------------------------------- */

static int select_alpn(SSL *ssl, const uint8_t **out, uint8_t *out_len, const uint8_t *offered, unsigned offered_len,
                       void *unused)
{
    const struct tls_engine *engine = tls_of(ssl);
    uint8_t *selected;

    (void)unused;
    if (engine->alpn == NULL) {
        return SSL_TLSEXT_ERR_NOACK;
    }
    if (SSL_select_next_proto(&selected, out_len, engine->alpn, (unsigned)engine->alpn_len, offered, offered_len) !=
        OPENSSL_NPN_NEGOTIATED) {
        return SSL_TLSEXT_ERR_ALERT_FATAL;
    }
    *out = selected;
    return SSL_TLSEXT_ERR_OK;
}

/* RFC 5077 4: AES-128-CBC and HMAC-SHA256 under the keys of the identity. -1 fails, 0 does not know the name, 1 is
 * good. */
static int seal_ticket(SSL *ssl, uint8_t *name, uint8_t *iv, EVP_CIPHER_CTX *cipher, HMAC_CTX *hmac, int seal)
{
    const struct tls_ticket_keys *keys = &tls_of(ssl)->ticket_keys;

    if (seal) {
        if (!tls_random(iv, 16)) {
            return -1;
        }
        memcpy(name, keys->name, TICKET_NAME_LEN);
    } else if (memcmp(name, keys->name, TICKET_NAME_LEN) != 0) {
        return 0;
    }
    if (EVP_CipherInit_ex(cipher, EVP_aes_128_cbc(), NULL, keys->aes, iv, seal) != 1 ||
        HMAC_Init_ex(hmac, keys->hmac, TICKET_HMAC_LEN, EVP_sha256(), NULL) != 1) {
        return -1;
    }
    return 1;
}

static int new_session(SSL *ssl, SSL_SESSION *session)
{
    struct tls_engine *engine = tls_of(ssl);

    if (engine->server) {
        return 0;
    }
    SSL_SESSION_free(engine->session);
    engine->session = session;
    return 1; /* taken */
}

static void note_alert(const SSL *ssl, int where, int value)
{
    struct tls_engine *engine = tls_of(ssl);

    if ((where & SSL_CB_ALERT) == 0 || value >> 8 != SSL3_AL_FATAL) {
        return;
    }
    if (where & SSL_CB_WRITE) {
        engine->alert_sent = (uint8_t)value;
    } else {
        engine->alert_received = (uint8_t)value;
    }
}

/* Every suite is AEAD, so that records have one overhead; ECDHE_PSK has no AES-GCM in either engine. */
static const char suites[] = "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:"
                             "ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305:"
                             "ECDHE-PSK-CHACHA20-POLY1305";

static bool configure(SSL_CTX *made)
{
    SSL_CTX_set_options(made, SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE);
    SSL_CTX_set_mode(made, SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_NO_AUTO_CHAIN);
    /* Without the clean-up that OpenSSL does every 255th time: nothing is stored. */
    SSL_CTX_set_session_cache_mode(made,
                                   SSL_SESS_CACHE_BOTH | SSL_SESS_CACHE_NO_INTERNAL | SSL_SESS_CACHE_NO_AUTO_CLEAR);
    SSL_CTX_sess_set_new_cb(made, new_session);
    SSL_CTX_set_alpn_select_cb(made, select_alpn, NULL);
    SSL_CTX_set_info_callback(made, note_alert);
    return SSL_CTX_set_tlsext_ticket_key_cb(made, seal_ticket) == 1 && SSL_CTX_set_cipher_list(made, suites) == 1 &&
           SSL_CTX_set1_curves_list(made, "X25519:P-256:P-384") == 1;
}

bool tls_engine_start(void)
{
    if (!tls_own_hooks()) {
        return false;
    }
    transport_method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "paldiff transport");
    if (transport_method == NULL || BIO_meth_set_read(transport_method, transport_read) != 1 ||
        BIO_meth_set_write(transport_method, transport_write) != 1 ||
        BIO_meth_set_ctrl(transport_method, transport_control) != 1) {
        return false;
    }
    context = tls_own_context();
    return context != NULL && configure(context) && tls_own_warm();
}

/* ---- callbacks of a session
 * --------------------------------------------------------------------------------------------- */

static int ask_identity(SSL *ssl, void *unused)
{
    const struct tls_engine *engine = tls_of(ssl);

    (void)unused;
    return engine->identified ? 1 : -1;
}

static int verify_nothing(int ok, X509_STORE_CTX *store)
{
    (void)ok, (void)store;
    return 1;
}

static unsigned psk_client(SSL *ssl, const char *hint, char *identity, unsigned identity_cap, uint8_t *key,
                           unsigned key_cap)
{
    const struct tls_engine *engine = tls_of(ssl);
    size_t len = strlen(engine->psk_identity);

    (void)hint;
    if (len >= identity_cap || engine->psk_key_len > key_cap) {
        return 0;
    }
    memcpy(identity, engine->psk_identity, len + 1);
    memcpy(key, engine->psk_key, engine->psk_key_len);
    return (unsigned)engine->psk_key_len;
}

static unsigned psk_server(SSL *ssl, const char *identity, uint8_t *key, unsigned key_cap)
{
    const struct tls_engine *engine = tls_of(ssl);

    if (identity == NULL || strcmp(identity, engine->psk_identity) != 0 || engine->psk_key_len > key_cap) {
        return 0;
    }
    memcpy(key, engine->psk_key, engine->psk_key_len);
    return (unsigned)engine->psk_key_len;
}

/* ---- credentials
 * ---------------------------------------------------------------------------------------------------------- */

void tls_setup_certificates_release(struct tls_certificates *certificates)
{
    while (certificates->len > 0) {
        X509_free(certificates->items[--certificates->len]);
    }
}

enum tls_event tls_setup_certificates(struct tls_certificates *out, struct pal_view der)
{
    while (der.len > 0) {
        X509 *certificate = out->len < TLS_CERTIFICATES_MAX ? tls_own_certificate(&der) : NULL;

        if (certificate == NULL) {
            ERR_clear_error();
            return TLS_BAD_ARGUMENT;
        }
        out->items[out->len++] = certificate;
    }
    return TLS_DONE;
}

/* Keys for tickets follow from what only the server knows, so that every endpoint with the same identity opens them,
 * and no endpoint has to be told what another one drew. */
static bool derive_ticket_keys(struct tls_engine *engine, struct pal_view secret)
{
    static const char label[] = "paldiff session tickets";
    uint8_t hashed[64];
    unsigned len = sizeof(hashed);

    if (!engine->server) {
        return true;
    }
    if (HMAC(EVP_sha512(), label, sizeof(label) - 1, secret.data, secret.len, hashed, &len) == NULL) {
        return false;
    }
    memcpy(&engine->ticket_keys, hashed, sizeof(engine->ticket_keys));
    OPENSSL_cleanse(hashed, sizeof(hashed));
    return true;
}

enum tls_event tls_setup_identity(struct tls_engine *engine, const struct tls_certificates *chain,
                                  struct pal_view private_key)
{
    EVP_PKEY *key;
    bool ok;

    if (chain->len == 0) {
        return TLS_DONE;
    }
    key = tls_own_key(private_key);
    if (key == NULL) {
        return TLS_BAD_ARGUMENT;
    }
    ok = SSL_use_certificate(engine->ssl, chain->items[0]) == 1 && SSL_use_PrivateKey(engine->ssl, key) == 1;
    EVP_PKEY_free(key);
    if (!ok) {
        return TLS_BAD_ARGUMENT;
    }
    for (size_t i = 1; i < chain->len; i++) {
        if (SSL_add1_chain_cert(engine->ssl, chain->items[i]) != 1) {
            return TLS_BROKEN;
        }
    }
    return derive_ticket_keys(engine, private_key) ? TLS_DONE : TLS_BROKEN;
}

static bool set_verification(struct tls_engine *engine, const struct pal_tls_config *config,
                             const struct tls_certificates *trusted)
{
    bool ask = engine->server ? config->require_peer : trusted->len > 0;
    X509_STORE *store;

    if (!ask) {
        return true;
    }
    SSL_set_verify(engine->ssl, SSL_VERIFY_PEER | (engine->server ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0),
                   trusted->len == 0 ? verify_nothing : NULL);
    X509_VERIFY_PARAM_set_time(SSL_get0_param(engine->ssl), engine->env->unix_time(engine->env->context));
    if (trusted->len == 0) {
        return true;
    }
    store = X509_STORE_new();
    if (store == NULL) {
        return false;
    }
    for (size_t i = 0; i < trusted->len; i++) {
        if (X509_STORE_add_cert(store, trusted->items[i]) != 1) {
            X509_STORE_free(store);
            return false;
        }
    }
    if (SSL_set0_verify_cert_store(engine->ssl, store) != 1) {
        X509_STORE_free(store);
        return false;
    }
    return true;
}

static bool set_names(struct tls_engine *engine, const struct pal_tls_config *config, bool verified)
{
    char name[256];

    if (!engine->server && config->server_name.len > 0) {
        memcpy(name, config->server_name.data, config->server_name.len);
        name[config->server_name.len] = 0;
        if (SSL_set_tlsext_host_name(engine->ssl, name) != 1 || (verified && SSL_set1_host(engine->ssl, name) != 1)) {
            return false;
        }
    }
    if (config->alpn.len == 0) {
        return true;
    }
    if (!engine->server) {
        return SSL_set_alpn_protos(engine->ssl, config->alpn.data, (unsigned)config->alpn.len) == 0; /* yes: 0 */
    }
    engine->alpn = OPENSSL_memdup(config->alpn.data, config->alpn.len);
    engine->alpn_len = config->alpn.len;
    return engine->alpn != NULL;
}

static bool set_psk(struct tls_engine *engine, const struct pal_tls_config *config)
{
    if (config->psk_key.len == 0) {
        return true;
    }
    engine->psk_key = OPENSSL_memdup(config->psk_key.data, config->psk_key.len);
    engine->psk_key_len = config->psk_key.len;
    engine->psk_identity = OPENSSL_malloc(config->psk_identity.len + 1);
    if (engine->psk_key == NULL || engine->psk_identity == NULL) {
        return false;
    }
    memcpy(engine->psk_identity, config->psk_identity.data, config->psk_identity.len);
    engine->psk_identity[config->psk_identity.len] = 0;
    if (engine->server) {
        SSL_set_psk_server_callback(engine->ssl, psk_server);
    } else {
        SSL_set_psk_client_callback(engine->ssl, psk_client);
    }
    return config->identity.chain.len > 0 || derive_ticket_keys(engine, config->psk_key);
}

static enum tls_event set_ticket(struct tls_engine *engine, struct pal_view ticket)
{
    SSL_SESSION *session;
    int ok;

    if (ticket.len == 0) {
        return TLS_DONE;
    }
    session = tls_own_import(ticket);
    if (session == NULL) {
        return TLS_BAD_ARGUMENT;
    }
    ok = SSL_set_session(engine->ssl, session);
    SSL_SESSION_free(session);
    return ok == 1 ? TLS_DONE : TLS_BAD_ARGUMENT;
}

enum tls_event tls_setup_session(struct tls_engine *engine, const struct pal_tls_config *config,
                                 const struct tls_credentials *credentials)
{
    uint16_t version_max = config->version_max;
    enum tls_event event;

    if (config->psk_key.len > 0 && version_max > tls_own_psk_version_max()) {
        version_max = tls_own_psk_version_max();
    }
    if (engine->server) {
        SSL_set_accept_state(engine->ssl);
    } else {
        SSL_set_connect_state(engine->ssl);
    }
    tls_own_allow_renegotiation(engine->ssl);
    if (engine->late) {
        SSL_set_cert_cb(engine->ssl, ask_identity, NULL);
    }
    if (SSL_set_min_proto_version(engine->ssl, config->version_min) != 1 ||
        SSL_set_max_proto_version(engine->ssl, version_max) != 1 ||
        /* A client with one would refuse its own external PSK: OpenSSL makes that a session without. */
        (engine->server && SSL_set_session_id_context(engine->ssl, (const uint8_t *)"paldiff", 7) != 1) ||
        !set_verification(engine, config, &credentials->trusted) ||
        !set_names(engine, config, credentials->trusted.len > 0) || !set_psk(engine, config)) {
        return TLS_BROKEN;
    }
    event = tls_setup_identity(engine, &credentials->chain, config->identity.private_key);
    if (event == TLS_DONE) {
        event = set_ticket(engine, config->ticket);
    }
    return event;
}
