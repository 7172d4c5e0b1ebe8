/* SPDX-License-Identifier: Apache-2.0
 * pending.c: the shape of .NET on Android: as callback, but the token takes what was written whatever the status was,
 * and the status comes from a map of Conscrypt's.
 * It breaks when a failure returns before the drain: then its alert is lost, or sent with somebody else's token.
 */
#include "tls.h"

/* SSLEngine's handshake and result status as the Java bridge reports them. */
static const enum pal_status status_table[TLS_NUM_EVENTS] = {
    [TLS_DONE] = PAL_OK,                           /* SSLStreamStatus_OK */
    [TLS_WANT_READ] = PAL_NEED_INPUT,              /* NeedData: ContinueNeeded, OK with a count in decrypt */
    [TLS_WANT_CREDENTIALS] = PAL_NEED_CREDENTIALS, /* none: the key manager is asked in time */
    [TLS_RENEGOTIATING] = PAL_RENEGOTIATE,         /* Renegotiate */
    [TLS_CLOSED] = PAL_CLOSED,                     /* Closed: ContextExpired */
    [TLS_NO_SPACE] = PAL_NO_SPACE,                 /* BUFFER_OVERFLOW */
    [TLS_FAILED] = PAL_PROTOCOL,                   /* Error: InternalError */
    [TLS_NO_MEMORY] = PAL_NO_MEMORY,
    [TLS_NO_RANDOM] = PAL_NO_RANDOM,
    [TLS_UNSUPPORTED] = PAL_UNSUPPORTED,
    [TLS_BAD_STATE] = PAL_BAD_STATE,
    [TLS_BAD_ARGUMENT] = PAL_BAD_ARGUMENT,
    [TLS_BROKEN] = PAL_ENGINE, /* Error: InternalError */
};

static enum tls_event pending_open(struct pal_tls *tls, const struct pal_tls_config *config)
{
    struct tls_transport transport = tls_transport_for(tls);

    return tls_engine_open(tls->env, &tls->engine, config, &transport);
}

/* The engine's failure is the one to tell; the drain's only when there is no other. */
static enum pal_status pending_status(struct pal_tls *tls, struct pal_token *out, enum tls_event event)
{
    enum pal_status drained = tls_append_output(tls, out);
    enum pal_status status = status_table[event];

    return drained != PAL_OK && (status == PAL_OK || status == PAL_NEED_INPUT) ? drained : status;
}

static enum pal_status pending_encrypt(struct pal_tls *tls, struct pal_token *out, struct pal_view plain)
{
    return pending_status(tls, out, tls_write_all(tls, plain));
}

static enum pal_status pending_handshake(struct pal_tls *tls, struct pal_token *out, size_t *out_consumed,
                                         struct pal_view input)
{
    enum tls_event event;

    tls->input = input;
    event = tls_engine_handshake(tls->engine);
    *out_consumed = input.len - tls->input.len;
    tls->input = (struct pal_view){NULL, 0};
    return pending_status(tls, out, event);
}

static enum pal_status pending_decrypt(struct pal_tls *tls, size_t *out_offset, size_t *out_count, struct tls_span span)
{
    if (!tls_queue_append(tls->env, &tls->kept, (struct pal_view){span.data, span.len})) {
        return PAL_NO_MEMORY;
    }
    *out_offset = 0;
    return status_table[tls_read_all(tls, span.data, out_count, span.cap)];
}

const struct tls_shape tls_shape_pending = {
    .status = status_table,
    .open = pending_open,
    .handshake = pending_handshake,
    .encrypt = pending_encrypt,
    .decrypt = pending_decrypt,
    .collect = tls_append_output,
};
