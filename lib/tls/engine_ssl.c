/* SPDX-License-Identifier: Apache-2.0
 * engine_ssl.c: the seam over OpenSSL or BoringSSL, whichever headers it is compiled against: one SSL per endpoint,
 * every call of it between tls_enter and tls_leave, and what it answered made an event. It breaks when an SSL call is
 * made whose error queue was not empty before: SSL_get_error then reports another's error.
 */
#include "engine_ssl.h"

#include <limits.h>
#include <string.h>

struct tls_engine *tls_of(const SSL *ssl)
{
    return SSL_get_ex_data(ssl, 0);
}

/* What an SSL call that did not succeed means. */
static enum tls_event event_of(struct tls_engine *engine, int result)
{
    bool again = engine->finished && SSL_in_init(engine->ssl) && SSL_version(engine->ssl) == TLS1_2_VERSION;

    if (engine->write_refused) {
        return TLS_NO_MEMORY;
    }
    switch (SSL_get_error(engine->ssl, result)) {
    case SSL_ERROR_WANT_READ:
        return again ? TLS_RENEGOTIATING : TLS_WANT_READ;
    case SSL_ERROR_WANT_X509_LOOKUP:
        return TLS_WANT_CREDENTIALS;
    case SSL_ERROR_ZERO_RETURN:
        return TLS_CLOSED;
    case SSL_ERROR_SSL:
        return TLS_FAILED;
    default:
        return TLS_BROKEN;
    }
}

static void begin(struct tls_engine *engine)
{
    engine->write_refused = false;
    tls_enter(engine->env);
}

/* leave: with what makes a connection unusable kept: an engine that failed says why only the first time. */
static enum tls_event leave(struct tls_engine *engine, enum tls_event event)
{
    event = tls_leave(engine->write_refused ? TLS_NO_MEMORY : event);
    if (event == TLS_FAILED || event == TLS_BROKEN || event == TLS_NO_MEMORY || event == TLS_NO_RANDOM) {
        engine->end = event;
    }
    return event;
}

/* ---- open and close
 * --------------------------------------------------------------------------------------------------- */

static bool connect_bios(struct tls_engine *engine, const struct tls_transport *transport)
{
    if (transport != NULL) {
        BIO *both = tls_setup_transport(engine);

        if (both == NULL) {
            return false;
        }
        SSL_set_bio(engine->ssl, both, both);
        return true;
    }
    engine->in = BIO_new(BIO_s_mem());
    engine->out = BIO_new(BIO_s_mem());
    if (engine->in == NULL || engine->out == NULL) {
        BIO_free(engine->in);
        BIO_free(engine->out);
        engine->in = engine->out = NULL;
        return false;
    }
    BIO_set_mem_eof_return(engine->in, -1);
    BIO_set_mem_eof_return(engine->out, -1);
    SSL_set_bio(engine->ssl, engine->in, engine->out);
    return true;
}

static enum tls_event open_ssl(struct tls_engine *engine, const struct pal_tls_config *config,
                               const struct tls_transport *transport, const struct tls_credentials *credentials)
{
    engine->ssl = SSL_new(tls_setup_context());
    if (engine->ssl == NULL || SSL_set_ex_data(engine->ssl, 0, engine) != 1 || !connect_bios(engine, transport)) {
        return TLS_BROKEN;
    }
    return tls_setup_session(engine, config, credentials);
}

enum tls_event tls_engine_open(const struct pal_env *env, struct tls_engine **out, const struct pal_tls_config *config,
                               const struct tls_transport *transport)
{
    struct tls_credentials credentials = {{{NULL}, 0}, {{NULL}, 0}};
    struct tls_engine *engine = NULL;
    enum tls_event event;

    if (config->psk_key.len > 0 && config->version_min > tls_own_psk_version_max()) {
        return TLS_UNSUPPORTED;
    }
    event = tls_setup_certificates(&credentials.chain, config->identity.chain);
    if (event == TLS_DONE) {
        event = tls_setup_certificates(&credentials.trusted, config->trusted);
    }
    if (event != TLS_DONE) {
        goto done;
    }
    engine = env->alloc(env->context, sizeof(*engine));
    if (engine == NULL) {
        event = TLS_NO_MEMORY;
        goto done;
    }
    *engine = (struct tls_engine){.env = env,
                                  .server = config->role == PAL_TLS_SERVER,
                                  .late = config->late_identity,
                                  .alert_sent = 255,
                                  .alert_received = 255};
    if (transport != NULL) {
        engine->transport = *transport;
    }
    begin(engine);
    event = tls_leave(open_ssl(engine, config, transport, &credentials));
    if (event == TLS_DONE) {
        *out = engine;
        engine = NULL;
    }
done:
    tls_engine_close(engine);
    tls_setup_certificates_release(&credentials.chain);
    tls_setup_certificates_release(&credentials.trusted);
    return event;
}

void tls_engine_close(struct tls_engine *engine)
{
    const struct pal_env *env;

    if (engine == NULL) {
        return;
    }
    env = engine->env;
    tls_enter(env);
    SSL_SESSION_free(engine->session);
    SSL_free(engine->ssl);
    OPENSSL_free(engine->alpn);
    OPENSSL_free(engine->psk_key);
    OPENSSL_free(engine->psk_identity);
    OPENSSL_free(engine->exported);
    OPENSSL_free(engine->peer_certificate);
    (void)tls_leave(TLS_DONE);
    OPENSSL_cleanse(engine, sizeof(*engine));
    env->free(env->context, engine);
}

enum tls_event tls_engine_set_identity(struct tls_engine *engine, const struct pal_tls_identity *identity)
{
    struct tls_certificates chain = {{NULL}, 0};
    enum tls_event event;

    if (!engine->late || engine->identified) {
        return TLS_BAD_STATE;
    }
    event = tls_setup_certificates(&chain, identity->chain);
    if (event == TLS_DONE) {
        begin(engine);
        event = tls_leave(tls_setup_identity(engine, &chain, identity->private_key));
    }
    tls_setup_certificates_release(&chain);
    engine->identified = event == TLS_DONE;
    return event;
}

/* ---- traffic
 * ---------------------------------------------------------------------------------------------------------- */

enum tls_event tls_engine_handshake(struct tls_engine *engine)
{
    enum tls_event event;
    int result;

    if (engine->end != TLS_DONE) {
        return engine->end;
    }
    begin(engine);
    result = SSL_do_handshake(engine->ssl);
    event = result == 1 ? TLS_DONE : event_of(engine, result);
    if (event == TLS_RENEGOTIATING) {
        event = TLS_WANT_READ;
    }
    if (event == TLS_CLOSED) {
        event = TLS_FAILED; /* close_notify instead of a handshake */
    }
    event = leave(engine, event);
    engine->finished = engine->finished || event == TLS_DONE;
    return event;
}

enum tls_event tls_engine_write(struct tls_engine *engine, struct pal_view plain)
{
    enum tls_event event = TLS_DONE;
    int result;

    if (engine->end != TLS_DONE) {
        return engine->end;
    }
    begin(engine);
    result = SSL_write(engine->ssl, plain.data, (int)plain.len);
    if (result != (int)plain.len) {
        event = event_of(engine, result);
        if (event == TLS_RENEGOTIATING || event == TLS_WANT_READ) {
            event = TLS_BAD_STATE; /* a handshake is under way; nothing was written */
        }
    }
    return leave(engine, event);
}

enum tls_event tls_engine_read(struct tls_engine *engine, uint8_t *out, size_t *out_count, size_t cap)
{
    enum tls_event event;
    uint8_t probe;
    int result;

    *out_count = 0;
    if (engine->end != TLS_DONE) {
        return engine->end;
    }
    begin(engine);
    if (cap == 0) {
        result = SSL_peek(engine->ssl, &probe, 1);
    } else {
        result = SSL_read(engine->ssl, out, cap < 16384 ? (int)cap : 16384);
    }
    if (result <= 0) {
        event = event_of(engine, result);
    } else {
        event = cap == 0 ? TLS_NO_SPACE : TLS_DONE;
    }
    event = leave(engine, event);
    if (event == TLS_DONE) {
        *out_count = (size_t)result;
    }
    return event;
}

enum tls_event tls_engine_flush(struct tls_engine *engine)
{
    if (engine->end != TLS_DONE) {
        return engine->end;
    }
    begin(engine);
    return leave(engine, tls_own_flush(engine->ssl));
}

enum tls_event tls_engine_update_keys(struct tls_engine *engine, bool request_peer)
{
    if (engine->end != TLS_DONE) {
        return engine->end;
    }
    if (SSL_version(engine->ssl) != TLS1_3_VERSION) {
        return TLS_UNSUPPORTED;
    }
    begin(engine);
    return leave(engine, tls_own_update_keys(engine->ssl, request_peer));
}

enum tls_event tls_engine_renegotiate(struct tls_engine *engine)
{
    if (engine->end != TLS_DONE) {
        return engine->end;
    }
    if (SSL_version(engine->ssl) != TLS1_2_VERSION) {
        return TLS_UNSUPPORTED;
    }
    if (SSL_in_init(engine->ssl)) {
        return TLS_BAD_STATE;
    }
    begin(engine);
    return leave(engine, tls_own_renegotiate(engine->ssl));
}

enum tls_event tls_engine_alert(struct tls_engine *engine, uint8_t description)
{
    if (engine->end != TLS_DONE) {
        return engine->end;
    }
    begin(engine);
    return leave(engine, tls_own_alert(engine->ssl, description));
}

enum tls_event tls_engine_shutdown(struct tls_engine *engine)
{
    int result;

    if (engine->end != TLS_DONE) {
        return engine->end;
    }
    if (SSL_in_init(engine->ssl)) {
        return TLS_BAD_STATE;
    }
    begin(engine);
    result = SSL_shutdown(engine->ssl); /* 0: said; 1: said, and heard before */
    return leave(engine, result >= 0 ? TLS_DONE : event_of(engine, result));
}

/* ---- what is known
 * ------------------------------------------------------------------------------------------------------ */

enum tls_event tls_engine_info(struct tls_engine *engine, struct pal_tls_info *out)
{
    const SSL_CIPHER *cipher = SSL_get_current_cipher(engine->ssl);
    const uint8_t *alpn = NULL;
    unsigned alpn_len = 0;
    int len = 0;
    X509 *peer;
    enum tls_event event = TLS_DONE;

    out->alert_sent = engine->alert_sent;
    out->alert_received = engine->alert_received;
    if (!engine->finished) {
        return TLS_DONE;
    }
    out->version = (uint16_t)SSL_version(engine->ssl);
    out->cipher_suite = cipher == NULL ? 0 : SSL_CIPHER_get_protocol_id(cipher);
    out->resumed = SSL_session_reused(engine->ssl) == 1;
    SSL_get0_alpn_selected(engine->ssl, &alpn, &alpn_len);
    out->alpn = (struct pal_view){alpn, alpn_len};
    begin(engine);
    OPENSSL_free(engine->peer_certificate);
    engine->peer_certificate = NULL;
    peer = SSL_get_peer_certificate(engine->ssl);
    if (peer != NULL) {
        len = i2d_X509(peer, &engine->peer_certificate);
        event = len > 0 ? TLS_DONE : TLS_BROKEN;
        X509_free(peer);
    }
    event = tls_leave(event);
    if (event == TLS_DONE && len > 0) {
        out->peer_certificate = (struct pal_view){engine->peer_certificate, (size_t)len};
    }
    return event;
}

struct tls_sizes tls_engine_sizes(const struct tls_engine *engine)
{
    const SSL_CIPHER *cipher = SSL_get_current_cipher(engine->ssl);
    struct tls_sizes sizes = {16384, 5, 16};

    if (SSL_version(engine->ssl) == TLS1_3_VERSION) {
        sizes.trailer += 1; /* RFC 8446 5.2: the inner content type */
    } else if (cipher != NULL && SSL_CIPHER_get_cipher_nid(cipher) != NID_chacha20_poly1305) {
        sizes.header += 8; /* RFC 5288 3: nonce_explicit; RFC 7905 has none */
    }
    return sizes;
}

enum tls_event tls_engine_export(struct tls_engine *engine, struct pal_view *out)
{
    size_t len;
    enum tls_event event;

    if (engine->session == NULL) {
        return TLS_BAD_STATE;
    }
    begin(engine);
    OPENSSL_free(engine->exported);
    engine->exported = NULL;
    len = tls_own_export(engine->session, &engine->exported);
    event = tls_leave(len > 0 ? TLS_DONE : TLS_BROKEN);
    if (event == TLS_DONE) {
        *out = (struct pal_view){engine->exported, len};
    }
    return event;
}

/* ---- memory
 * ------------------------------------------------------------------------------------------------------------- */

enum tls_event tls_engine_feed(struct tls_engine *engine, struct pal_view bytes)
{
    bool ok = true;

    if (bytes.len == 0) {
        return TLS_DONE;
    }
    if (bytes.len > INT_MAX) {
        return TLS_BAD_ARGUMENT;
    }
    begin(engine);
    ok = BIO_write(engine->in, bytes.data, (int)bytes.len) == (int)bytes.len;
    return tls_leave(ok ? TLS_DONE : TLS_NO_MEMORY);
}

size_t tls_engine_unread(const struct tls_engine *engine)
{
    return BIO_ctrl_pending(engine->in);
}

/* A memory BIO forgets from its front only. */
enum tls_event tls_engine_discard(struct tls_engine *engine, size_t len)
{
    size_t all = tls_engine_unread(engine);
    size_t left = all - len;
    uint8_t *copy = NULL;
    bool whole;

    if (left > 0) {
        copy = engine->env->alloc(engine->env->context, all);
        if (copy == NULL) {
            return TLS_NO_MEMORY;
        }
    }
    begin(engine);
    whole = left == 0 || BIO_read(engine->in, copy, (int)all) == (int)all;
    whole = whole && BIO_reset(engine->in) == 1;
    whole = whole && (left == 0 || BIO_write(engine->in, copy, (int)left) == (int)left);
    engine->env->free(engine->env->context, copy);
    return tls_leave(whole ? TLS_DONE : TLS_NO_MEMORY);
}

size_t tls_engine_produced(const struct tls_engine *engine)
{
    return BIO_ctrl_pending(engine->out);
}

bool tls_engine_take(struct tls_engine *engine, uint8_t *out, size_t len)
{
    bool ok;

    begin(engine);
    ok = len <= INT_MAX && BIO_read(engine->out, out, (int)len) == (int)len;
    (void)tls_leave(TLS_DONE);
    return ok;
}
