/* SPDX-License-Identifier: Apache-2.0
 * TLS 1.2 over mbed TLS, whose send and receive callbacks are the contract's shape "callback": what it writes is
 * collected while a call runs, and becomes the call's token. Its randomness is the environment's; its memory is its
 * own, and so is the clock that it puts into a hello's random bytes. Certificates are judged by the environment's
 * clock.
 */
#include "port.h"
#include "token.h"

#include <mbedtls/ctr_drbg.h>
#include <mbedtls/version.h>
#include <string.h>

#define RECORD_PLAIN_MAX 16384u
#define RECORD_HEADER_LEN 5u
#define PLAIN_ALERT_LEN (RECORD_HEADER_LEN + 2)
#define NO_ALERT 255u

bool bytes_add(const struct pal_env *env, struct bytes *bytes, const uint8_t *data, size_t len)
{
    if (len > bytes->cap - bytes->len) {
        size_t cap = 2 * (bytes->len + len);
        uint8_t *grown = env->alloc(env->context, cap);
        if (grown == NULL) {
            return false;
        }
        if (bytes->len > 0) {
            memcpy(grown, bytes->data, bytes->len);
        }
        env->free(env->context, bytes->data);
        bytes->data = grown;
        bytes->cap = cap;
    }
    if (len > 0) {
        memcpy(bytes->data + bytes->len, data, len);
    }
    bytes->len += len;
    return true;
}

/* ---- what the engine calls ----------------------------------------------------------------------------------------
 */

/* note_alert: the description is to be read as long as records are in the clear. */
static void note_alert(struct pal_tls *tls, const uint8_t *record, size_t len)
{
    if (len < RECORD_HEADER_LEN || record[0] != MBEDTLS_SSL_MSG_ALERT) {
        return;
    }
    tls->alerted = true;
    if (len == PLAIN_ALERT_LEN && record[RECORD_HEADER_LEN] == MBEDTLS_SSL_ALERT_LEVEL_FATAL) {
        tls->alert_sent = record[RECORD_HEADER_LEN + 1];
    }
}

static int push(void *pointer, const unsigned char *data, size_t len)
{
    struct pal_tls *tls = pointer;
    if (!bytes_add(tls->env, &tls->out, data, len)) {
        tls->no_memory = true;
        return MBEDTLS_ERR_SSL_ALLOC_FAILED;
    }
    note_alert(tls, data, len);
    return (int)len;
}

static int pull(void *pointer, unsigned char *data, size_t len)
{
    struct pal_tls *tls = pointer;
    size_t part = len < tls->in.len ? len : tls->in.len;
    if (part == 0) {
        return MBEDTLS_ERR_SSL_WANT_READ;
    }
    memcpy(data, tls->in.data, part);
    tls->in.len -= part;
    memmove(tls->in.data, tls->in.data + part, tls->in.len);
    return (int)part;
}

int random_bytes(void *pointer, unsigned char *out, size_t len)
{
    struct pal_tls *tls = pointer;
    if (tls->env->random(tls->env->context, out, len) == PAL_OK) {
        return 0;
    }
    tls->no_random = true;
    return MBEDTLS_ERR_CTR_DRBG_ENTROPY_SOURCE_FAILED;
}

/* ---- statuses -----------------------------------------------------------------------------------------------------
 */

/* end: a status that is final. */
static enum pal_status end(struct pal_tls *tls, enum pal_status status)
{
    tls->final = status;
    return status;
}

static uint8_t alert_for(int error)
{
    switch (error) {
    case MBEDTLS_ERR_SSL_INVALID_MAC:
        return MBEDTLS_SSL_ALERT_MSG_BAD_RECORD_MAC;
    case MBEDTLS_ERR_SSL_UNEXPECTED_MESSAGE:
    case MBEDTLS_ERR_SSL_UNEXPECTED_RECORD:
        return MBEDTLS_SSL_ALERT_MSG_UNEXPECTED_MESSAGE;
    case MBEDTLS_ERR_SSL_INVALID_RECORD:
    case MBEDTLS_ERR_SSL_BAD_HS_FINISHED:
        return MBEDTLS_SSL_ALERT_MSG_DECODE_ERROR;
    default:
        return MBEDTLS_SSL_ALERT_MSG_HANDSHAKE_FAILURE;
    }
}

static bool out_of_memory(int error)
{
    switch (error) {
    case MBEDTLS_ERR_SSL_ALLOC_FAILED:
    case MBEDTLS_ERR_X509_ALLOC_FAILED:
        return true;
    default:
        return false;
    }
}

/* fail: the alert that says why, for the peer, unless the engine wrote it. */
static enum pal_status fail(struct pal_tls *tls, int error)
{
    if (tls->no_random) {
        return end(tls, PAL_NO_RANDOM);
    }
    if (tls->no_memory || out_of_memory(error)) {
        return end(tls, PAL_NO_MEMORY);
    }
    if (error == MBEDTLS_ERR_SSL_FATAL_ALERT_MESSAGE) {
        tls->alert_received = tls->ssl.in_msg[1];
    } else if (tls->alert_sent == NO_ALERT) {
        uint8_t alert = alert_for(error);
        if (tls->alerted || mbedtls_ssl_send_alert_message(&tls->ssl, MBEDTLS_SSL_ALERT_LEVEL_FATAL, alert) == 0) {
            tls->alert_sent = alert;
        }
    }
    return end(tls, PAL_PROTOCOL);
}

/* give: what the engine wrote becomes the token, whatever the status; but nothing without random bytes. */
static enum pal_status give(struct pal_tls *tls, struct pal_token *out, enum pal_status status)
{
    const struct pal_view written = {tls->out.data, tls->final == PAL_NO_RANDOM ? 0 : tls->out.len};
    if (written.len > 0 && pal_token_append(tls->env, out, tls->mode, written) != PAL_OK) {
        status = end(tls, PAL_NO_MEMORY);
    }
    tls->out.len = 0;
    out->status = status;
    return status;
}

/* dead: a final status, given again. */
static bool dead(struct pal_tls *tls, struct pal_token *out)
{
    tls->alerted = false;
    if (tls->final != PAL_OK) {
        out->status = tls->final;
    }
    return tls->final != PAL_OK;
}

/* ---- the table ----------------------------------------------------------------------------------------------------
 */

static void tls_close(struct pal_tls *tls)
{
    const struct pal_env *env = tls->env;
    mbedtls_ssl_free(&tls->ssl);
    mbedtls_ssl_config_free(&tls->config);
    mbedtls_x509_crt_free(&tls->own);
    mbedtls_x509_crt_free(&tls->trusted);
    mbedtls_pk_free(&tls->key);
    env->free(env->context, tls->in.data);
    env->free(env->context, tls->out.data);
    env->free(env->context, tls->names.data);
    env->free(env->context, tls);
}

static enum pal_status tls_open(const struct pal_env *env, struct pal_tls **out, const struct pal_tls_config *config)
{
    if (config->version_max > PAL_TLS_1_2) {
        return PAL_UNSUPPORTED; /* mbed TLS 2.28 has no TLS 1.3 */
    }
    struct pal_tls *tls = env->alloc(env->context, sizeof(*tls));
    if (tls == NULL) {
        return PAL_NO_MEMORY;
    }
    memset(tls, 0, sizeof(*tls));
    tls->env = env;
    tls->mode = config->mode;
    tls->role = config->role;
    tls->alert_sent = tls->alert_received = NO_ALERT;
    tls->resumed = true; /* until keys are exchanged */
    mbedtls_ssl_init(&tls->ssl);
    mbedtls_ssl_config_init(&tls->config);
    mbedtls_x509_crt_init(&tls->own);
    mbedtls_x509_crt_init(&tls->trusted);
    mbedtls_pk_init(&tls->key);
    enum pal_status status = setup(tls, config);
    if (status != PAL_OK) {
        tls_close(tls);
        return status;
    }
    mbedtls_ssl_set_bio(&tls->ssl, tls, push, pull, NULL);
    *out = tls;
    return PAL_OK;
}

/* waits: for an identity; a server at the start, a client when it was asked for one. */
static bool waits(const struct pal_tls *tls)
{
    return tls->late && (tls->role == PAL_TLS_SERVER ||
                         (tls->ssl.state == MBEDTLS_SSL_CLIENT_CERTIFICATE && tls->ssl.client_auth != 0));
}

/* shake: step by step, as a step is where a client can wait, and what tells whether a session is resumed. */
static enum pal_status shake(struct pal_tls *tls)
{
    while (tls->ssl.state != MBEDTLS_SSL_HANDSHAKE_OVER) {
        if (waits(tls)) {
            return PAL_NEED_CREDENTIALS;
        }
        if (tls->ssl.state == MBEDTLS_SSL_CLIENT_KEY_EXCHANGE) {
            tls->resumed = false;
        }
        int result = mbedtls_ssl_handshake_step(&tls->ssl);
        if (result == MBEDTLS_ERR_SSL_WANT_READ) {
            return PAL_NEED_INPUT;
        }
        if (result != 0) {
            return fail(tls, result);
        }
    }
    tls->finished = true;
    return PAL_OK;
}

static enum pal_status tls_handshake(struct pal_tls *tls, struct pal_token *out, size_t *out_consumed,
                                     struct pal_view input)
{
    *out_consumed = 0;
    if (dead(tls, out)) {
        return tls->final;
    }
    if (!bytes_add(tls->env, &tls->in, input.data, input.len)) {
        return give(tls, out, end(tls, PAL_NO_MEMORY));
    }
    *out_consumed = input.len;
    if (tls->role == PAL_TLS_SERVER && tls->late && tls->in.len == 0) {
        return give(tls, out, PAL_NEED_INPUT);
    }
    return give(tls, out, shake(tls));
}

static enum pal_status tls_set_identity(struct pal_tls *tls, const struct pal_tls_identity *identity)
{
    if (tls->final != PAL_OK) {
        return tls->final;
    }
    if (!tls->late) {
        return PAL_BAD_STATE;
    }
    enum pal_status status = setup_identity(tls, identity);
    tls->late = status != PAL_OK;
    return status;
}

static enum pal_status tls_encrypt(struct pal_tls *tls, struct pal_token *out, struct pal_view plain)
{
    if (dead(tls, out)) {
        return tls->final;
    }
    if (!tls->finished || tls->shut) {
        return give(tls, out, PAL_BAD_STATE);
    }
    for (size_t at = 0; at < plain.len;) {
        int sent = mbedtls_ssl_write(&tls->ssl, plain.data + at, plain.len - at);
        if (sent == MBEDTLS_ERR_SSL_WANT_READ) {
            return give(tls, out, PAL_BAD_STATE); /* in the middle of a handshake it writes nothing */
        }
        if (sent < 0) {
            return give(tls, out, fail(tls, sent));
        }
        at += (size_t)sent;
    }
    return give(tls, out, PAL_OK);
}

static enum pal_status tls_decrypt(struct pal_tls *tls, size_t *out_offset, size_t *out_count, uint8_t *data,
                                   size_t len, size_t cap)
{
    tls->alerted = false;
    if (tls->final != PAL_OK) {
        return tls->final;
    }
    if (!tls->finished) {
        return PAL_BAD_STATE;
    }
    if (!bytes_add(tls->env, &tls->in, data, len)) {
        return end(tls, PAL_NO_MEMORY);
    }
    if (cap == 0) {
        return tls->in.len > 0 || mbedtls_ssl_check_pending(&tls->ssl) != 0 ? PAL_NO_SPACE : PAL_NEED_INPUT;
    }
    bool shaking = tls->ssl.state != MBEDTLS_SSL_HANDSHAKE_OVER;
    int got = 0;
    do {
        got = mbedtls_ssl_read(&tls->ssl, data, cap);
        if (got == MBEDTLS_ERR_SSL_WANT_READ && !shaking && tls->ssl.state != MBEDTLS_SSL_HANDSHAKE_OVER) {
            return PAL_RENEGOTIATE;
        }
    } while (got == MBEDTLS_ERR_SSL_WANT_READ && tls->in.len > 0);
    if (got == MBEDTLS_ERR_SSL_WANT_READ) {
        return PAL_NEED_INPUT;
    }
    if (got == MBEDTLS_ERR_SSL_PEER_CLOSE_NOTIFY) {
        return PAL_CLOSED; /* what we say may still go out */
    }
    if (got <= 0) {
        return fail(tls, got);
    }
    *out_offset = 0;
    *out_count = (size_t)got;
    return PAL_OK;
}

static enum pal_status tls_update_keys(struct pal_tls *tls, struct pal_token *out, bool request_peer)
{
    (void)request_peer;
    return dead(tls, out) ? tls->final : give(tls, out, tls->finished ? PAL_UNSUPPORTED : PAL_BAD_STATE);
}

static enum pal_status tls_renegotiate(struct pal_tls *tls, struct pal_token *out)
{
    if (dead(tls, out)) {
        return tls->final;
    }
    if (!tls->finished) {
        return give(tls, out, PAL_BAD_STATE);
    }
    int result = mbedtls_ssl_renegotiate(&tls->ssl);
    return give(tls, out, result == 0 || result == MBEDTLS_ERR_SSL_WANT_READ ? PAL_OK : fail(tls, result));
}

static enum pal_status tls_alert(struct pal_tls *tls, struct pal_token *out, uint8_t description)
{
    if (dead(tls, out)) {
        return tls->final;
    }
    int result = mbedtls_ssl_send_alert_message(&tls->ssl, MBEDTLS_SSL_ALERT_LEVEL_FATAL, description);
    if (result != 0) {
        return give(tls, out, fail(tls, result));
    }
    tls->alert_sent = description;
    tls->final = PAL_BAD_STATE;
    return give(tls, out, PAL_OK);
}

static enum pal_status tls_shutdown(struct pal_tls *tls, struct pal_token *out)
{
    if (dead(tls, out)) {
        return tls->final;
    }
    int result = tls->finished ? mbedtls_ssl_close_notify(&tls->ssl) : 0;
    tls->shut = true;
    return give(tls, out, result == 0 ? PAL_OK : fail(tls, result));
}

static enum pal_status tls_take_pending(struct pal_tls *tls, struct pal_token *out)
{
    return give(tls, out, PAL_OK);
}

static enum pal_status tls_info(struct pal_tls *tls, struct pal_tls_info *out)
{
    *out = (struct pal_tls_info){.alert_sent = tls->alert_sent, .alert_received = tls->alert_received};
    out->record_plain_max = RECORD_PLAIN_MAX;
    if (!tls->finished) {
        return PAL_OK;
    }
    const char *alpn = mbedtls_ssl_get_alpn_protocol(&tls->ssl);
    const mbedtls_x509_crt *peer = mbedtls_ssl_get_peer_cert(&tls->ssl);
    int overhead = mbedtls_ssl_get_record_expansion(&tls->ssl);
    out->version = PAL_TLS_1_2;
    out->cipher_suite = (uint16_t)mbedtls_ssl_get_ciphersuite_id(mbedtls_ssl_get_ciphersuite(&tls->ssl));
    out->resumed = tls->resumed;
    if (alpn != NULL) {
        out->alpn = (struct pal_view){(const uint8_t *)alpn, strlen(alpn)};
    }
    if (peer != NULL) {
        out->peer_certificate = (struct pal_view){peer->raw.p, peer->raw.len};
    }
    out->record_overhead = overhead > 0 ? (size_t)overhead : 0;
    return PAL_OK;
}

static enum pal_status tls_export_ticket(struct pal_tls *tls, struct pal_token *out)
{
    if (dead(tls, out)) {
        return tls->final;
    }
    const mbedtls_ssl_session *session = mbedtls_ssl_get_session_pointer(&tls->ssl);
    size_t len = 0;
    if (!tls->finished || tls->role != PAL_TLS_CLIENT || session == NULL || session->ticket_len == 0 ||
        mbedtls_ssl_session_save(session, NULL, 0, &len) != MBEDTLS_ERR_SSL_BUFFER_TOO_SMALL) {
        out->status = PAL_BAD_STATE;
        return PAL_BAD_STATE;
    }
    enum pal_status status = pal_token_reserve(tls->env, out, tls->mode, len);
    if (status == PAL_OK && mbedtls_ssl_session_save(session, out->payload, len, &out->len) != 0) {
        status = PAL_ENGINE;
    }
    out->status = status;
    return status;
}

pal_port_get_fn pal_port_get;

const struct pal_port *pal_port_get(void)
{
    static const struct pal_tls_ops tls = {
        tls_open,        tls_close, tls_handshake, tls_set_identity, tls_encrypt, tls_decrypt,      tls_update_keys,
        tls_renegotiate, tls_alert, tls_shutdown,  tls_take_pending, tls_info,    tls_export_ticket};
    static const struct pal_port port = {
        .abi = PAL_ABI_VERSION,
        .name = "mbedtls",
        .version = MBEDTLS_VERSION_STRING_FULL,
        .env_random = true,
        .tls = &tls,
    };
    return &port;
}
