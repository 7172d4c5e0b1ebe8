/* SPDX-License-Identifier: Apache-2.0
 * token_world.h: playing token scenarios: an endpoint over the scripted engine, tokens that are held and released late,
 * and other renters of the same pool, in as many worlds as there are shapes. The peer is no endpoint: its records are
 * made here, one after the other, as the engine reads them.
 */
#ifndef PALDIFF_TOKEN_WORLD_H
#define PALDIFF_TOKEN_WORLD_H

#include "tls/scripted.h"
#include "token_watch.h"
#include "troupe.h"

#define TOKEN_REGISTERS 4u
#define TOKEN_RENTERS 4u
#define TOKEN_SCRIPT_MAX 16u
#define TOKEN_LENS 20u
#define TOKEN_PEERS 11u

extern const char *const token_len_names[TOKEN_LENS];
extern const char *const token_peer_names[TOKEN_PEERS];
extern const size_t token_lens[TOKEN_LENS];

enum token_operation {
    TOKEN_OP_ENCRYPT,
    TOKEN_OP_SCRIPT,
    TOKEN_OP_OPEN,
    TOKEN_OP_HANDSHAKE,
    TOKEN_OP_DECRYPT,
    TOKEN_OP_UPDATE_KEYS,
    TOKEN_OP_ALERT,
    TOKEN_OP_SHUTDOWN,
    TOKEN_OP_TAKE_PENDING,
    TOKEN_OP_ENCRYPT_LONG,
    TOKEN_OP_RESERVE,
    TOKEN_OP_APPEND,
    TOKEN_OP_RELEASE,
    TOKEN_OP_RELEASE_COPY,
    TOKEN_OP_RENT,
    TOKEN_OP_GIVE_BACK,
    TOKEN_OP_FAIL_ALLOC
};

/* token_peer: what comes from the peer. */
enum token_peer {
    TOKEN_PEER_DATA,
    TOKEN_PEER_FLIGHT, /* all that the handshake waits for next */
    TOKEN_PEER_RECORD, /* one record of it */
    TOKEN_PEER_NONE,
    TOKEN_PEER_UPDATE,
    TOKEN_PEER_UPDATE_REQUEST,
    TOKEN_PEER_CLOSE,
    TOKEN_PEER_ALERT,
    TOKEN_PEER_BAD_SUM,
    TOKEN_PEER_BAD_LENGTH,
    TOKEN_PEER_GARBAGE
};

/* token_register: a token that was not released yet; `bytes` as they were when it was handed out. */
struct token_register {
    struct pal_token token;
    struct pal_view bytes;
    struct pal_token copy; /* of what was released last */
    bool live;
};

struct token_renter {
    struct pal_buffer rental;
    uint8_t fill;
};

struct token_world {
    struct player player;
    const struct pal_tls_ops *ops;
    struct pal_tls *tls;
    bool server;
    bool whole;  /* nothing is cut off: something of no known type is on its way */
    bool shaken; /* from here on only decrypt takes input: who has half a record is the shape's affair */
    bool failed; /* the endpoint's last call did */
    bool owes;   /* the peer asked for new keys: some record comes with another in front */
    uint32_t fail_alloc;
    bool armed; /* in this step */
    uint64_t peer_sent;
    struct pal_view inbox; /* made by the peer, not taken yet */
    size_t num_steps;      /* of the script for the next endpoint */
    struct scripted_step steps[TOKEN_SCRIPT_MAX];
    bool scripted[SCRIPTED_NUM_CALLS]; /* the running endpoint's */
    bool raw;
    bool write_fails;
    struct token_register registers[TOKEN_REGISTERS];
    struct token_renter renters[TOKEN_RENTERS];
};

/* token_tap_port: endpoints that do nothing but what the engine does: the plain way. */
const struct pal_port *token_tap_port(void);

/* token_peer_send: the peer makes what `what` says, behind what is in the inbox; `len` of data. */
void token_peer_send(struct token_world *world, enum token_peer what, size_t len);

/* token_bytes: `len` bytes that begin with `first`, in the world's arena; no two places next to each other have the
 * same run of them. */
const uint8_t *token_bytes(struct token_world *world, char first, size_t len);

/* token_hold: takes over a token that was handed out, into the register; what is there is released first. */
void token_hold(struct token_world *world, size_t index, const struct pal_token *token, struct pal_view bytes,
                struct trace_step *trace);

/* token_let_go: releases what the register holds, after a look whether it is still as it was. *out, if not NULL: its
 * bytes. */
enum pal_status token_let_go(struct token_world *world, struct pal_view *out, size_t index, struct trace_step *trace);

/* token_held: live rentals in registers and with renters. */
uint32_t token_held(const struct token_world *world);

/* token_direct: the operations from TOKEN_OP_RESERVE on. */
void token_direct(struct token_world *world, const struct step *step, struct trace_step *trace);

/* token_give_back: what a renter has, after a look. */
void token_give_back(struct token_world *world, size_t index, struct trace_step *trace);

/* token_play: target's play. */
void token_play(struct world worlds[], size_t num_worlds, struct actors *actors, const struct scenario *scenario);

#endif
