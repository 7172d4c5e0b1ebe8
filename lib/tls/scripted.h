/* SPDX-License-Identifier: Apache-2.0
 * scripted.h: a test double of a TLS engine, under the four shapes, and how it is told what to emit and answer.
 * It has no cryptography: records are framed, numbered and summed, and anybody can read them. Never for real traffic.
 * It breaks when a script is taken for certificates: an engine that is none reads config.trusted as its script.
 */
#ifndef PAL_TLS_SCRIPTED_H
#define PAL_TLS_SCRIPTED_H

#include "engine.h"

#ifdef __cplusplus
extern "C" {
#endif

/* scripted_call: what a step waits for. */
enum scripted_call {
    SCRIPTED_HANDSHAKE,
    SCRIPTED_WRITE,   /* one record */
    SCRIPTED_READ,    /* also the probe with no room */
    SCRIPTED_CONTROL, /* update_keys, renegotiate, alert, shutdown, flush */
    SCRIPTED_NUM_CALLS
};

enum scripted_flags {
    SCRIPTED_INSTEAD = 1, /* the call does nothing else; otherwise it goes on as without a step, if event is TLS_DONE */
    SCRIPTED_RAW = 2      /* emits bytes, not records */
};

/* scripted_step: answers the next call of its kind; steps for the other kinds keep waiting. First `emit_len` bytes of
 * body are emitted in records of at most 1024 (or raw), then `event` is answered. All output of the call is written in
 * num_chunks pieces, the last one longest; 0 counts as 1. An event that is none counts as TLS_BROKEN; TLS_NO_MEMORY,
 * TLS_NO_RANDOM, TLS_BROKEN and TLS_FAILED stay for ever. TLS_DONE from SCRIPTED_READ with SCRIPTED_INSTEAD gives
 * min(plain_len, cap) bytes of plaintext. Body and plaintext are fill, fill + 1, and so on. */
struct scripted_step {
    uint8_t call;
    uint8_t event; /* enum tls_event */
    uint8_t flags;
    uint8_t num_chunks;
    uint8_t type; /* content type of the records: 20 to 23, or anything */
    uint8_t fill;
    uint16_t plain_len;
    uint32_t emit_len; /* at most SCRIPTED_EMIT_MAX is emitted */
};

/* Plaintext of one record: 4096 stands for TLS's 16384, so that writes of several records are cheap. */
#define SCRIPTED_PLAIN_MAX ((size_t)4096)
#define SCRIPTED_EMIT_MAX ((uint32_t)1 << 20)

/* pal_port_scripted: tls only. pal_tls_config.trusted holds an array of scripted_step, copied by open(), of which a
 * rest that is no whole step is ignored; empty is the unscripted double: a handshake of 1, 3 and 1 records, records
 * with 5 bytes of header and 17 of trailer, alerts, close_notify and KeyUpdate as TLS 1.3 has them. Everything else in
 * the config but role, shape and mode is checked, and not used. PAL_UNSUPPORTED: renegotiate, set_identity without
 * late_identity. */
const struct pal_port *pal_port_scripted(void);

#ifdef __cplusplus
}
#endif

#endif
