/* SPDX-License-Identifier: Apache-2.0
 * sized.c: the shape of .NET on Windows: header, data and trailer are reserved before anything is encrypted, plaintext
 * is put where its ciphertext will be, and len becomes what was really produced. Reading goes frame by frame, in place.
 * The engine has no in-place call as EncryptMessage is one: it reads the plaintext from the token and its output is
 * copied over it, which changes no byte on the wire. It breaks when an engine reads plaintext after it has written.
 */
#include "tls.h"

#include <string.h>

enum { FRAME_HEADER = 5, FRAME_BODY_MAX = 16384 + 256 };

/* SECURITY_STATUS, in the model's words. */
static const enum pal_status status_table[TLS_NUM_EVENTS] = {
    [TLS_DONE] = PAL_OK,                           /* SEC_E_OK */
    [TLS_WANT_READ] = PAL_NEED_INPUT,              /* SEC_I_CONTINUE_NEEDED, SEC_E_INCOMPLETE_MESSAGE */
    [TLS_WANT_CREDENTIALS] = PAL_NEED_CREDENTIALS, /* SEC_I_INCOMPLETE_CREDENTIALS: CredentialsNeeded */
    [TLS_RENEGOTIATING] = PAL_RENEGOTIATE,         /* SEC_I_RENEGOTIATE */
    [TLS_CLOSED] = PAL_CLOSED,                     /* SEC_I_CONTEXT_EXPIRED */
    [TLS_NO_SPACE] = PAL_NO_SPACE,                 /* SEC_E_BUFFER_TOO_SMALL */
    [TLS_FAILED] = PAL_PROTOCOL,     /* SEC_E_ILLEGAL_MESSAGE, SEC_E_MESSAGE_ALTERED, SEC_E_UNTRUSTED_ROOT */
    [TLS_NO_MEMORY] = PAL_NO_MEMORY, /* SEC_E_INSUFFICIENT_MEMORY */
    [TLS_NO_RANDOM] = PAL_NO_RANDOM,
    [TLS_UNSUPPORTED] = PAL_UNSUPPORTED,   /* SEC_E_UNSUPPORTED_FUNCTION */
    [TLS_BAD_STATE] = PAL_BAD_STATE,       /* SEC_E_OUT_OF_SEQUENCE */
    [TLS_BAD_ARGUMENT] = PAL_BAD_ARGUMENT, /* SEC_E_INVALID_PARAMETER */
    [TLS_BROKEN] = PAL_ENGINE,             /* SEC_E_INTERNAL_ERROR */
};

/* The engine sees the running frame only: `kept` may begin in the middle of one for it. */
static size_t sized_read(void *context, uint8_t *out, size_t cap)
{
    struct pal_tls *tls = context;
    size_t count = tls->input.len < cap ? tls->input.len : cap;

    if (count > 0) {
        memcpy(out, tls->input.data, count);
        tls->input.data += count;
        tls->input.len -= count;
    }
    return count;
}

static enum tls_event sized_open(struct pal_tls *tls, const struct pal_tls_config *config)
{
    struct tls_transport transport = tls_transport_for(tls);

    transport.read = sized_read;
    return tls_engine_open(tls->env, &tls->engine, config, &transport);
}

static enum pal_status sized_encrypt(struct pal_tls *tls, struct pal_token *out, struct pal_view plain)
{
    struct tls_sizes sizes = tls_engine_sizes(tls->engine);
    size_t overhead = sizes.header + sizes.trailer;
    size_t num_records = plain.len / sizes.plain_max + (plain.len % sizes.plain_max > 0 ? 1 : 0);
    size_t len_before = out->len;
    enum pal_status status;
    enum tls_event event;

    if (num_records > (SIZE_MAX - plain.len) / overhead) {
        return PAL_TOO_LONG;
    }
    status = pal_token_reserve(tls->env, out, tls->mode, plain.len + num_records * overhead);
    while (status == PAL_OK && plain.len > 0) {
        struct pal_view record = {NULL, plain.len < sizes.plain_max ? plain.len : sizes.plain_max};
        uint8_t *place = out->payload + out->len + sizes.header;

        memcpy(place, plain.data, record.len);
        record.data = place;
        event = tls_engine_write(tls->engine, record);
        /* An answer to KeyUpdate may go in front of the record: then there is more than was reserved. The rest of the
         * records keep their room. */
        status = status_table[event];
        plain.data += record.len;
        plain.len -= record.len;
        num_records--;
        if (status == PAL_OK) {
            status = tls_append_output(tls, out);
        }
        if (status == PAL_OK && plain.len > 0) {
            status = pal_token_reserve(tls->env, out, tls->mode, plain.len + num_records * overhead);
        }
    }
    if (status != PAL_OK) {
        out->len = len_before; /* Size 0, array kept */
    }
    return status;
}

static enum pal_status sized_handshake(struct pal_tls *tls, struct pal_token *out, size_t *out_consumed,
                                       struct pal_view input)
{
    struct pal_view kept = tls_queue_view(&tls->kept);
    enum tls_event event = TLS_WANT_READ;
    enum pal_status collected;

    if (kept.len > 0) { /* what an earlier decrypt left comes first */
        tls->input = kept;
        event = tls_engine_handshake(tls->engine);
        tls_queue_drop(&tls->kept, kept.len - tls->input.len);
    }
    tls->input = input;
    if (event == TLS_WANT_READ && tls_queue_view(&tls->kept).len == 0) {
        event = tls_engine_handshake(tls->engine);
    }
    *out_consumed = input.len - tls->input.len;
    tls->input = (struct pal_view){NULL, 0};
    collected = tls_append_output(tls, out); /* SSPI's own allocation, copied into the token */
    return status_table[event] == PAL_OK || status_table[event] == PAL_NEED_INPUT
               ? (collected != PAL_OK ? collected : status_table[event])
               : status_table[event];
}

/* frame_len: bytes of the frame that begins here; 0 when that cannot be told yet. A length that no record may have is
 * not waited for: the engine refuses its header. */
static size_t frame_len(struct pal_view bytes)
{
    size_t body;

    if (bytes.data == NULL || bytes.len < FRAME_HEADER) {
        return 0;
    }
    body = ((size_t)bytes.data[3] << 8) | bytes.data[4];
    return body > FRAME_BODY_MAX ? FRAME_HEADER : FRAME_HEADER + body;
}

/* next_frame: gives the engine the first frame of `source`, and takes it off; false when there is no whole one. */
static bool next_frame(struct pal_tls *tls, struct pal_view *source)
{
    size_t len = frame_len(*source);

    if (len == 0 || len > source->len) {
        return false;
    }
    tls->input = (struct pal_view){source->data, len};
    source->data += len;
    source->len -= len;
    return true;
}

/* decrypt_frames: plaintext that the engine still has, then frame after frame of `source`, while there is room. */
static enum tls_event decrypt_frames(struct pal_tls *tls, uint8_t *out, size_t *out_count, size_t cap,
                                     struct pal_view *source)
{
    enum tls_event event = tls_read_all(tls, out, out_count, cap);
    size_t count;

    while (event == TLS_WANT_READ || event == TLS_DONE || event == TLS_RENEGOTIATING) {
        if ((cap > 0 && *out_count == cap) || !next_frame(tls, source)) {
            break;
        }
        event = tls_read_all(tls, out + *out_count, &count, cap - *out_count);
        *out_count += count;
        tls->input = (struct pal_view){NULL, 0};
    }
    return *out_count > 0 ? TLS_DONE : event;
}

/* Whole frames are decrypted where they lie: the engine takes all of a frame before it gives its plaintext, and that is
 * shorter. With anything left from before that order is lost, and what came in is copied first. */
static enum pal_status sized_decrypt(struct pal_tls *tls, size_t *out_offset, size_t *out_count, struct tls_span span)
{
    struct pal_view source = {span.data, span.len};
    size_t header = tls_engine_sizes(tls->engine).header;
    size_t offset = header < span.cap ? header : 0;
    uint8_t *out = span.data + offset;
    bool in_place = tls_queue_view(&tls->kept).len == 0;
    enum tls_event event;
    size_t count;

    if (in_place && span.len > 0) {
        in_place = tls_engine_read(tls->engine, NULL, &count, 0) != TLS_NO_SPACE;
    }
    if (!in_place) {
        if (!tls_queue_append(tls->env, &tls->kept, source)) {
            return PAL_NO_MEMORY;
        }
        source = tls_queue_view(&tls->kept);
    }
    event = decrypt_frames(tls, out, out_count, span.cap - offset, &source);
    if (!in_place) {
        tls_queue_drop(&tls->kept, tls_queue_view(&tls->kept).len - source.len);
    } else if (!tls_queue_append(tls->env, &tls->kept, source)) {
        return PAL_NO_MEMORY;
    }
    *out_offset = offset;
    return status_table[event];
}

const struct tls_shape tls_shape_sized = {
    .status = status_table,
    .open = sized_open,
    .handshake = sized_handshake,
    .encrypt = sized_encrypt,
    .decrypt = sized_decrypt,
    .collect = tls_append_output,
};
