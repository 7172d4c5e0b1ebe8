/* SPDX-License-Identifier: Apache-2.0
 * callback.c: the shape of .NET on Apple: the engine's write callback fills a side buffer while a call runs; after
 * success the token takes all of it. A failed write leaves it there for the next token, a failed handshake does not.
 * It breaks when a token is filled inside of the callback: the engine may write more than once per call.
 */
#include "tls.h"

/* Secure Transport's OSStatus, in the model's words. */
static const enum pal_status status_table[TLS_NUM_EVENTS] = {
    [TLS_DONE] = PAL_OK,                           /* noErr */
    [TLS_WANT_READ] = PAL_NEED_INPUT,              /* errSSLWouldBlock: ContinueNeeded, OK in decrypt */
    [TLS_WANT_CREDENTIALS] = PAL_NEED_CREDENTIALS, /* errSSLClientCertRequested: CredentialsNeeded */
    [TLS_RENEGOTIATING] = PAL_RENEGOTIATE,         /* errSSLPeerNoRenegotiation; the model cannot answer it */
    [TLS_CLOSED] = PAL_CLOSED,                     /* errSSLClosedGraceful, errSSLClosedNoNotify: ContextExpired */
    [TLS_NO_SPACE] = PAL_NO_SPACE,                 /* never: it reads to the destination first, then leftovers */
    [TLS_FAILED] = PAL_PROTOCOL,                   /* errSSLProtocol, errSSLPeer*: InternalError */
    [TLS_NO_MEMORY] = PAL_NO_MEMORY,
    [TLS_NO_RANDOM] = PAL_NO_RANDOM,
    [TLS_UNSUPPORTED] = PAL_UNSUPPORTED,
    [TLS_BAD_STATE] = PAL_BAD_STATE,
    [TLS_BAD_ARGUMENT] = PAL_BAD_ARGUMENT,
    [TLS_BROKEN] = PAL_ENGINE, /* errSSLInternal: InternalError */
};

static enum tls_event callback_open(struct pal_tls *tls, const struct pal_tls_config *config)
{
    struct tls_transport transport = tls_transport_for(tls);

    return tls_engine_open(tls->env, &tls->engine, config, &transport);
}

static enum pal_status callback_encrypt(struct pal_tls *tls, struct pal_token *out, struct pal_view plain)
{
    enum pal_status status = status_table[tls_write_all(tls, plain)];

    return status != PAL_OK ? status : tls_append_output(tls, out);
}

static enum pal_status callback_handshake(struct pal_tls *tls, struct pal_token *out, size_t *out_consumed,
                                          struct pal_view input)
{
    enum tls_event event;
    enum pal_status collected;

    tls->input = input;
    event = tls_engine_handshake(tls->engine);
    *out_consumed = input.len - tls->input.len;
    tls->input = (struct pal_view){NULL, 0};
    if (event == TLS_WANT_CREDENTIALS) {
        return PAL_NEED_CREDENTIALS;
    }
    collected = tls_append_output(tls, out);
    return status_table[event] == PAL_OK || status_table[event] == PAL_NEED_INPUT
               ? (collected != PAL_OK ? collected : status_table[event])
               : status_table[event];
}

static enum pal_status callback_decrypt(struct pal_tls *tls, size_t *out_offset, size_t *out_count,
                                        struct tls_span span)
{
    /* Copied first: plaintext of an earlier record may be longer than what came in, and would overwrite it. */
    if (!tls_queue_append(tls->env, &tls->kept, (struct pal_view){span.data, span.len})) {
        return PAL_NO_MEMORY;
    }
    *out_offset = 0;
    return status_table[tls_read_all(tls, span.data, out_count, span.cap)];
}

const struct tls_shape tls_shape_callback = {
    .status = status_table,
    .open = callback_open,
    .handshake = callback_handshake,
    .encrypt = callback_encrypt,
    .decrypt = callback_decrypt,
    .collect = tls_append_output,
};
