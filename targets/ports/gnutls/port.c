/* SPDX-License-Identifier: Apache-2.0
 * TLS over GnuTLS, whose push and pull callbacks are the contract's shape "callback": what it writes is collected while
 * a call runs, and becomes the call's token. Its memory and its randomness are its own; its clock is the environment's.
 */
#include "port.h"
#include "token.h"

#include <errno.h>
#include <gnutls/crypto.h>
#include <gnutls/x509.h>
#include <pthread.h>
#include <string.h>

#define RECORD_PLAIN_MAX 16384u

static _Thread_local const struct pal_env *current; /* of the call under way, for the clock */

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

void bytes_take(struct bytes *bytes, size_t len)
{
    bytes->len -= len;
    if (len > 0) {
        memmove(bytes->data, bytes->data + len, bytes->len);
    }
}

void bytes_free(const struct pal_env *env, struct bytes *bytes)
{
    env->free(env->context, bytes->data);
    *bytes = (struct bytes){0};
}

/* ---- what the engine calls ----------------------------------------------------------------------------------------
 */

static ssize_t push(gnutls_transport_ptr_t pointer, const void *data, size_t len)
{
    struct pal_tls *tls = pointer;
    if (!bytes_add(tls->env, &tls->out, data, len)) {
        tls->no_memory = true;
        gnutls_transport_set_errno(tls->session, ENOMEM);
        return -1;
    }
    return (ssize_t)len;
}

static ssize_t pull(gnutls_transport_ptr_t pointer, void *data, size_t len)
{
    struct pal_tls *tls = pointer;
    size_t part = len < tls->in.len ? len : tls->in.len;
    if (part == 0) {
        gnutls_transport_set_errno(tls->session, EAGAIN);
        return -1;
    }
    memcpy(data, tls->in.data, part);
    bytes_take(&tls->in, part);
    return (ssize_t)part;
}

static int verify(gnutls_session_t session)
{
    const struct pal_tls *tls = gnutls_session_get_ptr(session);
    unsigned status = 0;
    if (!tls->verifies) {
        return 0;
    }
    const char *name = tls->name.len > 0 ? (const char *)tls->name.data : NULL;
    int result = gnutls_certificate_verify_peers3(session, name, &status);
    return result < 0 || status != 0 ? GNUTLS_E_CERTIFICATE_ERROR : 0;
}

static time_t now(time_t *out)
{
    time_t seconds = current != NULL ? (time_t)current->unix_time(current->context) : 0;
    if (out != NULL) {
        *out = seconds;
    }
    return seconds;
}

/* ---- statuses -----------------------------------------------------------------------------------------------------
 */

/* end: a status that is final. */
static enum pal_status end(struct pal_tls *tls, enum pal_status status)
{
    tls->final = status;
    return status;
}

/* fail: the alert that says why, for the peer. */
static enum pal_status fail(struct pal_tls *tls, int error)
{
    int level = 0;
    int alert = gnutls_error_to_alert(error, &level);
    if (tls->no_memory || error == GNUTLS_E_MEMORY_ERROR) {
        return end(tls, PAL_NO_MEMORY);
    }
    if (error == GNUTLS_E_FATAL_ALERT_RECEIVED) {
        tls->alert_received = (uint8_t)gnutls_alert_get(tls->session);
    } else if (alert >= 0 && gnutls_alert_send(tls->session, GNUTLS_AL_FATAL, (gnutls_alert_description_t)alert) == 0) {
        tls->alert_sent = (uint8_t)alert;
    }
    return end(tls, PAL_PROTOCOL);
}

/* give: what the engine wrote becomes the token, whatever the status. */
static enum pal_status give(struct pal_tls *tls, struct pal_token *out, enum pal_status status)
{
    const struct pal_view written = {tls->out.data, tls->out.len};
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
    current = tls->env;
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
    gnutls_deinit(tls->session);
    gnutls_certificate_free_credentials(tls->certificates);
    if (tls->psk_client != NULL) {
        gnutls_psk_free_client_credentials(tls->psk_client);
    }
    if (tls->psk_server != NULL) {
        gnutls_psk_free_server_credentials(tls->psk_server);
    }
    bytes_free(env, &tls->in);
    bytes_free(env, &tls->out);
    bytes_free(env, &tls->psk);
    bytes_free(env, &tls->name);
    env->free(env->context, tls);
}

static enum pal_status tls_open(const struct pal_env *env, struct pal_tls **out, const struct pal_tls_config *config)
{
    if (config->late_identity && config->role == PAL_TLS_CLIENT) {
        return PAL_UNSUPPORTED; /* GnuTLS asks for a client's certificate by a callback that cannot wait */
    }
    struct pal_tls *tls = env->alloc(env->context, sizeof(*tls));
    if (tls == NULL) {
        return PAL_NO_MEMORY;
    }
    memset(tls, 0, sizeof(*tls));
    tls->env = env;
    tls->mode = config->mode;
    tls->role = config->role;
    tls->alert_sent = tls->alert_received = 255;
    current = env;
    enum pal_status status = setup(tls, config);
    if (status != PAL_OK) {
        tls_close(tls);
        return status;
    }
    gnutls_certificate_set_verify_function(tls->certificates, verify);
    gnutls_transport_set_ptr(tls->session, tls);
    gnutls_transport_set_push_function(tls->session, push);
    gnutls_transport_set_pull_function(tls->session, pull);
    if (config->ticket.len > 0) {
        (void)gnutls_session_set_data(tls->session, config->ticket.data, config->ticket.len);
    }
    *out = tls;
    return PAL_OK;
}

static enum pal_status shake(struct pal_tls *tls)
{
    int result = 0;
    do {
        result = gnutls_handshake(tls->session);
    } while (result == GNUTLS_E_WARNING_ALERT_RECEIVED || result == GNUTLS_E_INTERRUPTED);
    if (result == GNUTLS_E_AGAIN) {
        return PAL_NEED_INPUT;
    }
    tls->finished |= result == 0;
    return result == 0 ? PAL_OK : fail(tls, result);
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
    if (tls->late) {
        return give(tls, out, tls->in.len > 0 ? PAL_NEED_CREDENTIALS : PAL_NEED_INPUT);
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
        ssize_t sent = gnutls_record_send(tls->session, plain.data + at, plain.len - at);
        if (sent < 0) {
            return give(tls, out, fail(tls, (int)sent));
        }
        at += (size_t)sent;
    }
    return give(tls, out, PAL_OK);
}

static enum pal_status received(struct pal_tls *tls, ssize_t got)
{
    switch (got) {
    case 0:
        return PAL_CLOSED; /* what we say may still go out */
    case GNUTLS_E_AGAIN:
    case GNUTLS_E_INTERRUPTED:
        return PAL_NEED_INPUT;
    case GNUTLS_E_REHANDSHAKE:
        return PAL_RENEGOTIATE;
    default:
        return fail(tls, (int)got);
    }
}

static enum pal_status tls_decrypt(struct pal_tls *tls, size_t *out_offset, size_t *out_count, uint8_t *data,
                                   size_t len, size_t cap)
{
    current = tls->env;
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
        return tls->in.len > 0 || gnutls_record_check_pending(tls->session) > 0 ? PAL_NO_SPACE : PAL_NEED_INPUT;
    }
    ssize_t got = 0;
    do {
        got = gnutls_record_recv(tls->session, data, cap);
    } while (got == GNUTLS_E_INTERRUPTED || (got == GNUTLS_E_AGAIN && tls->in.len > 0));
    if (got <= 0) {
        return received(tls, got);
    }
    *out_offset = 0;
    *out_count = (size_t)got;
    return PAL_OK;
}

static enum pal_status tls_update_keys(struct pal_tls *tls, struct pal_token *out, bool request_peer)
{
    if (dead(tls, out)) {
        return tls->final;
    }
    if (!tls->finished) {
        return give(tls, out, PAL_BAD_STATE);
    }
    if (gnutls_protocol_get_version(tls->session) != GNUTLS_TLS1_3) {
        return give(tls, out, PAL_UNSUPPORTED);
    }
    int result = gnutls_session_key_update(tls->session, request_peer ? GNUTLS_KU_PEER : 0);
    return give(tls, out, result == 0 ? PAL_OK : fail(tls, result));
}

static enum pal_status tls_renegotiate(struct pal_tls *tls, struct pal_token *out)
{
    if (dead(tls, out)) {
        return tls->final;
    }
    if (!tls->finished) {
        return give(tls, out, PAL_BAD_STATE);
    }
    if (gnutls_protocol_get_version(tls->session) == GNUTLS_TLS1_3) {
        return give(tls, out, PAL_UNSUPPORTED);
    }
    if (tls->role == PAL_TLS_SERVER) {
        int result = gnutls_rehandshake(tls->session);
        return give(tls, out, result == 0 ? PAL_OK : fail(tls, result));
    }
    enum pal_status status = shake(tls);
    return give(tls, out, status == PAL_NEED_INPUT ? PAL_OK : status);
}

static enum pal_status tls_alert(struct pal_tls *tls, struct pal_token *out, uint8_t description)
{
    if (dead(tls, out)) {
        return tls->final;
    }
    if (gnutls_alert_send(tls->session, GNUTLS_AL_FATAL, (gnutls_alert_description_t)description) != 0) {
        return give(tls, out, fail(tls, GNUTLS_E_INTERNAL_ERROR));
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
    int result = tls->finished ? gnutls_bye(tls->session, GNUTLS_SHUT_WR) : 0;
    tls->shut = true;
    return give(tls, out, result == 0 ? PAL_OK : fail(tls, result));
}

static enum pal_status tls_take_pending(struct pal_tls *tls, struct pal_token *out)
{
    return give(tls, out, PAL_OK);
}

static struct pal_view view_of(const gnutls_datum_t *datum)
{
    return datum != NULL ? (struct pal_view){datum->data, datum->size} : (struct pal_view){NULL, 0};
}

/* suite_of: GnuTLS tells names, of two kinds, and in TLS 1.2 what a suite is made of. */
static uint16_t suite_of(gnutls_session_t session, uint16_t version)
{
    const char *name = gnutls_ciphersuite_get(session);
    unsigned char id[2];
    gnutls_kx_algorithm_t kx;
    gnutls_cipher_algorithm_t cipher;
    gnutls_mac_algorithm_t mac;
    const char *other = NULL;
    for (size_t i = 0; (other = gnutls_cipher_suite_info(i, id, &kx, &cipher, &mac, NULL)) != NULL; i++) {
        bool parts =
            kx == gnutls_kx_get(session) && cipher == gnutls_cipher_get(session) && mac == gnutls_mac_get(session);
        if (version == PAL_TLS_1_3 ? strcmp(other, name) == 0 : parts) {
            return (uint16_t)(id[0] << 8 | id[1]);
        }
    }
    return 0;
}

static enum pal_status tls_info(struct pal_tls *tls, struct pal_tls_info *out)
{
    unsigned num = 0;
    gnutls_datum_t alpn = {NULL, 0};
    *out = (struct pal_tls_info){.alert_sent = tls->alert_sent, .alert_received = tls->alert_received};
    out->record_plain_max = RECORD_PLAIN_MAX;
    if (!tls->finished) {
        return PAL_OK;
    }
    out->version = gnutls_protocol_get_version(tls->session) == GNUTLS_TLS1_3 ? PAL_TLS_1_3 : PAL_TLS_1_2;
    out->cipher_suite = suite_of(tls->session, out->version);
    out->resumed = gnutls_session_is_resumed(tls->session) != 0;
    if (gnutls_alpn_get_selected_protocol(tls->session, &alpn) == 0) {
        out->alpn = view_of(&alpn);
    }
    out->peer_certificate = view_of(gnutls_certificate_get_peers(tls->session, &num));
    out->record_overhead = gnutls_record_overhead_size(tls->session);
    return PAL_OK;
}

static enum pal_status tls_export_ticket(struct pal_tls *tls, struct pal_token *out)
{
    gnutls_datum_t data = {NULL, 0};
    if (dead(tls, out)) {
        return tls->final;
    }
    bool there = tls->finished && tls->role == PAL_TLS_CLIENT &&
                 (gnutls_session_get_flags(tls->session) & GNUTLS_SFLAGS_SESSION_TICKET) != 0 &&
                 gnutls_session_get_data2(tls->session, &data) == 0;
    enum pal_status status = there ? pal_token_append(tls->env, out, tls->mode, view_of(&data)) : PAL_BAD_STATE;
    gnutls_free(data.data);
    out->status = status;
    return status;
}

static bool started;

static void start_once(void)
{
    started = gnutls_global_init() == 0;
    gnutls_global_set_time_function(now);
}

pal_port_get_fn pal_port_get;

const struct pal_port *pal_port_get(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    static const struct pal_tls_ops tls = {
        tls_open,        tls_close, tls_handshake, tls_set_identity, tls_encrypt, tls_decrypt,      tls_update_keys,
        tls_renegotiate, tls_alert, tls_shutdown,  tls_take_pending, tls_info,    tls_export_ticket};
    static struct pal_port port;
    (void)pthread_once(&once, start_once);
    port = (struct pal_port){.abi = PAL_ABI_VERSION, .name = "gnutls", .tls = &tls};
    port.version = gnutls_check_version(NULL);
    return started ? &port : NULL;
}
