/* SPDX-License-Identifier: Apache-2.0
 * tls_link.h: one TLS connection of a world: two ends and the bytes between them. `we` are the world's port, looked at
 * closely; the `peer` is a reference port, in memory of its own, which no fault touches. It knows no scenario, and
 * decides nothing about what is right: it writes down facts.
 * It breaks when an end is called past these functions: then bytes are in nobody's inbox.
 */
#ifndef PALDIFF_TLS_LINK_H
#define PALDIFF_TLS_LINK_H

#include "token_watch.h"

#define TLS_INBOX_MAX (96u * 1024u)
#define TLS_HELD_MAX 6u
#define TLS_PIECES_MAX 16u /* so often input is cut; what is left then comes whole */
#define TLS_ALERT_NONE 255u

enum tls_side { TLS_WE, TLS_PEER, TLS_SIDES };

struct tls_link;

/* tls_end: one endpoint. Plaintext is a stream that position and side decide: `said` bytes of it were encrypted, and
 * `heard` bytes of the other side's came in. */
struct tls_end {
    struct tls_link *link;
    enum tls_side side;
    const struct pal_tls_ops *ops;
    struct world_env *env;
    struct pal_tls *tls;
    struct pal_tls_config config;
    enum pal_status status; /* of the last call */
    enum pal_status final;  /* what every call has to answer from now on; PAL_OK while it lives */
    bool finished;          /* its first handshake is done */
    bool wrote; /* its first record of plaintext is out: nothing of the handshake goes in front of the next */
    bool owes;  /* it read a KeyUpdate that may ask for an answer */
    bool shut;  /* it said close_notify */
    bool heard_shut;
    bool touched;  /* bytes to it were changed or lost */
    bool tampered; /* one of them within a record's body: it must not be read */
    uint64_t said;
    uint64_t heard;
    uint8_t *inbox; /* TLS_INBOX_MAX bytes of the arena */
    size_t inbox_len;
    uint32_t arrivals; /* tokens with plaintext since the last reading */
    size_t num_held;   /* tokens that were made and not sent yet, oldest first */
    struct pal_token held[TLS_HELD_MAX];
};

/* tls_wire: the bytes that we sent, over all links of a world. */
struct tls_wire {
    uint8_t *data;
    size_t len;
    size_t cap;
};

struct tls_link {
    struct world *world;
    struct trace_step *trace; /* of the running step */
    struct tls_wire *wire;
    uint32_t number; /* in the scenario; part of the plaintext */
    bool open;
    struct tls_end ends[TLS_SIDES];
    size_t piece;  /* a reader gets so many bytes first; 0 for all */
    bool pieces;   /* and so many again */
    uint32_t hold; /* so many of our next tokens wait to be sent */
    bool change;   /* the byte `change_at` of what goes to `change_to` is another one */
    size_t change_at;
    uint8_t change_xor;
    enum tls_side change_to;
    bool armed;  /* a fault is armed in this step: an end may fail where nothing is wrong */
    bool framed; /* in this step input was cut, or joined */
    bool updated;
    bool renegotiated;
    bool shaking; /* a renegotiation is under way */
};

struct tls_end *tls_other(struct tls_end *end);

/* tls_is_fatal: a status that ends a connection. */
bool tls_is_fatal(enum pal_status status);

/* tls_link_open: opens both ends by their configs, `we` first; not yet a handshake. PAL_OK, or what open() answered;
 * then nothing is open. Inboxes are the arena's. */
enum pal_status tls_link_open(struct tls_link *link);

/* tls_link_close: gives all tokens back and closes both ends. */
void tls_link_close(struct tls_link *link);

/* tls_link_flush: sends what was held, in order, and gives the tokens back, the last one first if `backwards`. */
void tls_link_flush(struct tls_link *link, bool backwards);

/* tls_link_shake: handshake calls until neither end gets any further. */
void tls_link_shake(struct tls_link *link);

/* tls_link_failed: an end that failed says so with an alert; the other one reads it. `due`: it has to be heard,
 * unless the end had said that it ends. */
void tls_link_failed(struct tls_link *link, bool due);

/* tls_end_write: `len` bytes of the end's stream as one token. The port's status. */
enum pal_status tls_end_write(struct tls_end *end, size_t len);

/* tls_end_read: what is in the inbox, in pieces, into memory of `room` bytes or what came in if that is more.
 * PAL_NEED_INPUT when all was read; or what stopped it. */
enum pal_status tls_end_read(struct tls_end *end, size_t room);

/* tls_end_control: a call that takes nothing and may make bytes. */
enum tls_control { TLS_UPDATE, TLS_UPDATE_BOTH, TLS_RENEGOTIATE, TLS_ALERT, TLS_SHUTDOWN, TLS_PENDING };
enum pal_status tls_end_control(struct tls_end *end, enum tls_control control, uint8_t alert);

/* tls_end_drop: all but the first `len` bytes of the inbox are lost. */
void tls_end_drop(struct tls_end *end, size_t len);

/* tls_end_export: the newest session of an end, copied to the arena; empty when there is none. */
struct pal_view tls_end_export(struct tls_end *end);

/* tls_end_info: {0} when the port has none to give. */
struct pal_tls_info tls_end_info(const struct tls_end *end);

#endif
