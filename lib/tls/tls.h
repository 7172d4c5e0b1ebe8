/* SPDX-License-Identifier: Apache-2.0
 * tls.h: what the four shapes share: the object, its byte queues, and how records are read. Internal to lib/tls.
 * It decides nothing that a shape decides: when output is taken, and which status an event of the engine becomes.
 * It breaks when a shape hands a queue's view to a token function that may call back into the queue.
 */
#ifndef PAL_TLS_H
#define PAL_TLS_H

#include "engine.h"

#include "../token.h"

/* pal_tls_table: every engine's, local to its object; the port hands it out. */
extern const struct pal_tls_ops pal_tls_table;

/* ---- queue ------------------------------------------------------------------------------------------------------- */

/* tls_queue: bytes in order, in memory of env->alloc, never pooled. {0} is empty. */
struct tls_queue {
    uint8_t *data;
    size_t at; /* bytes before are gone */
    size_t len;
    size_t cap;
};

/* tls_queue_reserve: room for `more` bytes in one piece. tls_queue_append: adds bytes. Both: false when there is no
 * memory; nothing was added then. */
bool tls_queue_reserve(const struct pal_env *env, struct tls_queue *queue, size_t more);
bool tls_queue_append(const struct pal_env *env, struct tls_queue *queue, struct pal_view bytes);
struct pal_view tls_queue_view(const struct tls_queue *queue);
void tls_queue_drop(struct tls_queue *queue, size_t len);
/* tls_queue_free: wipes and gives back. */
void tls_queue_free(const struct pal_env *env, struct tls_queue *queue);

/* ---- shape ------------------------------------------------------------------------------------------------------- */

/* tls_span: the caller's buffer in decrypt: `len` bytes came in, `cap` >= len may be written. Never NULL. */
struct tls_span {
    uint8_t *data;
    size_t len;
    size_t cap;
};

/* tls_shape: one shape. The functions follow pal_tls_ops, but arguments were checked and the object is alive. */
struct tls_shape {
    /* status: its words for the engine's events; decrypt and all else. */
    const enum pal_status *status;
    enum tls_event (*open)(struct pal_tls *tls, const struct pal_tls_config *config);
    enum pal_status (*handshake)(struct pal_tls *tls, struct pal_token *out, size_t *out_consumed,
                                 struct pal_view input);
    enum pal_status (*encrypt)(struct pal_tls *tls, struct pal_token *out, struct pal_view plain);
    enum pal_status (*decrypt)(struct pal_tls *tls, size_t *out_offset, size_t *out_count, struct tls_span span);
    /* collect: moves what the engine has written so far into the token. */
    enum pal_status (*collect)(struct pal_tls *tls, struct pal_token *out);
};

extern const struct tls_shape tls_shape_sized;
extern const struct tls_shape tls_shape_drain;
extern const struct tls_shape tls_shape_callback;
extern const struct tls_shape tls_shape_pending;

/* pal_tls: one endpoint. */
struct pal_tls {
    const struct pal_env *env;
    const struct tls_shape *shape;
    struct tls_engine *engine;
    enum pal_mode mode;
    enum pal_status dead;    /* what every later call answers; PAL_OK while it lives */
    bool open;               /* the first handshake is done */
    bool shut;               /* close_notify was written */
    struct pal_view input;   /* borrowed by the engine for the running call: read after `kept` */
    struct tls_queue kept;   /* input that outlives its call */
    struct tls_queue output; /* written by the engine, in no token yet */
};

/* tls_transport_for: reads `kept`, then `input`; writes to `output`. */
struct tls_transport tls_transport_for(struct pal_tls *tls);

/* tls_die: remembers a status that ends the connection; gives it back. Ordinary answers end nothing. */
enum pal_status tls_die(struct pal_tls *tls, enum pal_status status);

/* tls_append_output: all of `output` behind what the token has. PAL_NO_MEMORY and PAL_TOO_LONG leave it in the queue.
 */
enum pal_status tls_append_output(struct pal_tls *tls, struct pal_token *out);

/* tls_write_all: plaintext as records of full size, the last one shorter. */
enum tls_event tls_write_all(struct pal_tls *tls, struct pal_view plain);

/* tls_read_all: plaintext from the engine to out, until there is no more or no room. TLS_DONE when there was any. */
enum tls_event tls_read_all(struct pal_tls *tls, uint8_t *out, size_t *out_count, size_t cap);

#endif
