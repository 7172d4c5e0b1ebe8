/* SPDX-License-Identifier: Apache-2.0
 * engine.h: the seam between the four shapes and what speaks TLS: OpenSSL or BoringSSL (engine_ssl.c), or a test double
 * (engine_scripted.c). One of them is linked with each copy of the shapes. It knows tokens and pools not at all.
 * It breaks when a shape keeps a view that the engine gave it over another call.
 */
#ifndef PAL_TLS_ENGINE_H
#define PAL_TLS_ENGINE_H

#include "../pal.h"

/* tls_engine: one endpoint of one connection. */
struct tls_engine;

/* tls_event: what an engine answers; each shape has a table that makes a pal_status of it. */
enum tls_event {
    TLS_DONE,
    TLS_WANT_READ,
    TLS_WANT_CREDENTIALS,
    TLS_RENEGOTIATING, /* a handshake began while data was read */
    TLS_CLOSED,        /* close_notify came */
    TLS_NO_SPACE,      /* there is plaintext, and no room for it */
    TLS_FAILED,        /* the peer's fault, or it found one with us; an alert may have been written */
    TLS_NO_MEMORY,
    TLS_NO_RANDOM,
    TLS_UNSUPPORTED,
    TLS_BAD_STATE,
    TLS_BAD_ARGUMENT,
    TLS_BROKEN, /* for a reason of its own */
    TLS_NUM_EVENTS
};

/* tls_transport: where an engine reads and writes. `read` gives 0 when there is nothing, `write` false when there is no
 * memory. Both are called inside of engine calls only, and may not call the engine. */
struct tls_transport {
    size_t (*read)(void *context, uint8_t *out, size_t cap);
    bool (*write)(void *context, struct pal_view bytes);
    void *context;
};

/* tls_sizes: what a record is made of: `header` (with an explicit nonce), plaintext, `trailer` (with the inner type).
 * Exact: only AEAD suites are offered. */
struct tls_sizes {
    size_t plain_max;
    size_t header;
    size_t trailer;
};

/* tls_engine_open: an endpoint. `transport` is copied; NULL has the engine keep bytes itself: see tls_engine_feed.
 * `config` was checked by the caller and is not kept. TLS_UNSUPPORTED, TLS_BAD_ARGUMENT (credentials or ticket that
 * cannot be read), TLS_NO_MEMORY, TLS_NO_RANDOM, TLS_BROKEN. */
enum tls_event tls_engine_open(const struct pal_env *env, struct tls_engine **out, const struct pal_tls_config *config,
                               const struct tls_transport *transport);
void tls_engine_close(struct tls_engine *engine);

/* tls_engine_set_identity: TLS_DONE, TLS_BAD_STATE (not asked for by late_identity, or set before), TLS_BAD_ARGUMENT.
 */
enum tls_event tls_engine_set_identity(struct tls_engine *engine, const struct pal_tls_identity *identity);

/* What ends an engine (TLS_FAILED, TLS_NO_MEMORY, TLS_NO_RANDOM, TLS_BROKEN) is answered by every later call of these.
 * tls_engine_handshake: one step; TLS_DONE when there is nothing left to shake. */
enum tls_event tls_engine_handshake(struct tls_engine *engine);

/* tls_engine_write: one record of plain.len <= plain_max bytes; `plain` is not read after the first byte is written. */
enum tls_event tls_engine_write(struct tls_engine *engine, struct pal_view plain);

/* tls_engine_read: plaintext of at most one record. *out_count > 0 on TLS_DONE, 0 otherwise. With cap 0 it answers
 * TLS_NO_SPACE instead of TLS_DONE and keeps the plaintext. */
enum tls_event tls_engine_read(struct tls_engine *engine, uint8_t *out, size_t *out_count, size_t cap);

/* tls_engine_flush: writes what the engine keeps back for its next record: answers to KeyUpdate. */
enum tls_event tls_engine_flush(struct tls_engine *engine);

enum tls_event tls_engine_update_keys(struct tls_engine *engine, bool request_peer);
enum tls_event tls_engine_renegotiate(struct tls_engine *engine);
enum tls_event tls_engine_alert(struct tls_engine *engine, uint8_t description);
enum tls_event tls_engine_shutdown(struct tls_engine *engine);

/* tls_engine_info: *out but for the two record sizes. Views live until the next call. */
enum tls_event tls_engine_info(struct tls_engine *engine, struct pal_tls_info *out);

/* tls_engine_sizes: of the records that are written now. */
struct tls_sizes tls_engine_sizes(const struct tls_engine *engine);

/* tls_engine_export: the newest session; TLS_BAD_STATE when there is none. The view lives until the next call. */
enum tls_event tls_engine_export(struct tls_engine *engine, struct pal_view *out);

/* Only for an engine without a transport. feed: appends to what it will read. unread: how much of that it has not
 * looked at. discard: forgets the last `len` bytes of that; TLS_NO_MEMORY: nothing was forgotten. produced: how much it
 * wrote. take: moves exactly len <= produced of it to `out`. */
enum tls_event tls_engine_feed(struct tls_engine *engine, struct pal_view bytes);
size_t tls_engine_unread(const struct tls_engine *engine);
enum tls_event tls_engine_discard(struct tls_engine *engine, size_t len);
size_t tls_engine_produced(const struct tls_engine *engine);
bool tls_engine_take(struct tls_engine *engine, uint8_t *out, size_t len);

#endif
