/* SPDX-License-Identifier: Apache-2.0
 * drain.c: the shape of .NET on Unix: input into a memory BIO, output out of one: ask how much, reserve exactly that,
 * read. It differs from its model where the contract is stricter: decrypt without plaintext answers PAL_NEED_INPUT, not
 * OK. It breaks when the engine was opened with a transport: then its memory stays empty.
 */
#include "tls.h"

/* SSL_get_error and the handshake's stored exception, in the model's words. */
static const enum pal_status status_table[TLS_NUM_EVENTS] = {
    [TLS_DONE] = PAL_OK,                           /* SSL_ERROR_NONE: OK */
    [TLS_WANT_READ] = PAL_NEED_INPUT,              /* SSL_ERROR_WANT_READ: ContinueNeeded, OK in encrypt and decrypt */
    [TLS_WANT_CREDENTIALS] = PAL_NEED_CREDENTIALS, /* SSL_ERROR_WANT_X509_LOOKUP: CredentialsNeeded */
    [TLS_RENEGOTIATING] = PAL_RENEGOTIATE,         /* WANT_READ with a renegotiation pending: Renegotiate */
    [TLS_CLOSED] = PAL_CLOSED,                     /* SSL_ERROR_ZERO_RETURN: ContextExpired */
    [TLS_NO_SPACE] = PAL_NO_SPACE,                 /* never: it reads into a span of the frame's size */
    [TLS_FAILED] = PAL_PROTOCOL,                   /* SSL_ERROR_SSL: InternalError, the exception after the drain */
    [TLS_NO_MEMORY] = PAL_NO_MEMORY,
    [TLS_NO_RANDOM] = PAL_NO_RANDOM,
    [TLS_UNSUPPORTED] = PAL_UNSUPPORTED,
    [TLS_BAD_STATE] = PAL_BAD_STATE,
    [TLS_BAD_ARGUMENT] = PAL_BAD_ARGUMENT,
    [TLS_BROKEN] = PAL_ENGINE, /* SSL_ERROR_SYSCALL: InternalError */
};

static enum tls_event drain_open(struct pal_tls *tls, const struct pal_tls_config *config)
{
    return tls_engine_open(tls->env, &tls->engine, config, NULL);
}

static enum pal_status drain_collect(struct pal_tls *tls, struct pal_token *out)
{
    size_t pending = tls_engine_produced(tls->engine);
    enum pal_status status;

    if (pending == 0) {
        return PAL_OK;
    }
    status = pal_token_reserve(tls->env, out, tls->mode, pending);
    if (status != PAL_OK) {
        return status;
    }
    if (!tls_engine_take(tls->engine, out->payload + out->len, pending)) {
        return PAL_ENGINE;
    }
    out->len += pending;
    return PAL_OK;
}

static enum pal_status drain_encrypt(struct pal_tls *tls, struct pal_token *out, struct pal_view plain)
{
    enum pal_status status = status_table[tls_write_all(tls, plain)];

    return status != PAL_OK ? status : drain_collect(tls, out); /* a failure leaves Size 0 */
}

static enum pal_status drain_handshake(struct pal_tls *tls, struct pal_token *out, size_t *out_consumed,
                                       struct pal_view input)
{
    enum tls_event event = tls_engine_feed(tls->engine, input);
    enum tls_event forgot;
    enum pal_status collected;
    size_t unread;

    if (event != TLS_DONE) {
        return status_table[event];
    }
    event = tls_engine_handshake(tls->engine);
    /* What an earlier decrypt left comes first, and is not the caller's any more. */
    unread = tls_engine_unread(tls->engine);
    unread = unread < input.len ? unread : input.len;
    *out_consumed = input.len - unread;
    forgot = tls_engine_discard(tls->engine, unread);
    if (forgot != TLS_DONE) {
        return status_table[forgot];
    }
    if (event == TLS_WANT_CREDENTIALS) {
        return PAL_NEED_CREDENTIALS; /* before draining, as the model does */
    }
    collected = drain_collect(tls, out);
    return event == TLS_DONE || event == TLS_WANT_READ ? (collected != PAL_OK ? collected : status_table[event])
                                                       : status_table[event];
}

static enum pal_status drain_decrypt(struct pal_tls *tls, size_t *out_offset, size_t *out_count, struct tls_span span)
{
    enum tls_event event = tls_engine_feed(tls->engine, (struct pal_view){span.data, span.len});

    *out_offset = 0;
    if (event == TLS_DONE) {
        event = tls_read_all(tls, span.data, out_count, span.cap);
    }
    return status_table[event];
}

const struct tls_shape tls_shape_drain = {
    .status = status_table,
    .open = drain_open,
    .handshake = drain_handshake,
    .encrypt = drain_encrypt,
    .decrypt = drain_decrypt,
    .collect = drain_collect,
};
