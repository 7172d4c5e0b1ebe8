/* SPDX-License-Identifier: Apache-2.0
 * trace.h: what one world did with one scenario, step by step, and nothing else: no addresses, no clock, no handles.
 * Worlds write it, rules read it. It is not a log for people; `paldiff show` prints it.
 */
#ifndef PALDIFF_TRACE_H
#define PALDIFF_TRACE_H

#include "pal.h"

#define TRACE_THREADS_MAX 4u
#define TRACE_STEPS_MAX                                                                                                \
    (64u + TRACE_THREADS_MAX + 1u) /* a scenario's steps, what its threads add at the end, the end */
#define TRACE_SLOTS_MAX 2u

enum trace_fact {
#define FACT(name, text) FACT_##name,
#include "facts.def"
#undef FACT
    NUM_FACTS
};

const char *trace_fact_name(enum trace_fact fact);

/* release_kind: what a pool is given back, by the scenario's own bookkeeping. */
enum release_kind {
    RELEASE_NONE,   /* not a release */
    RELEASE_OWN,    /* a live rental, by the thread that rented it; or an empty handle */
    RELEASE_CROSS,  /* a live rental, by another thread */
    RELEASE_STALE,  /* one that was returned already */
    RELEASE_FOREIGN /* nothing that this pool lent */
};

/* send_kind: which call of the send table a step made. */
enum send_kind { SEND_NONE, SEND_BEGIN, SEND_RESUME, SEND_QUEUED /* a resume behind an unfinished operation */ };

/* send_class: what is most likely to spoil a resume; one rule each. In order of priority. */
enum send_class {
    SEND_CLASS_NONE,
    SEND_CLASS_SNAPSHOT,  /* the caller's list was scribbled on after begin */
    SEND_CLASS_TRUNCATED, /* a file of the list shrank */
    SEND_CLASS_FAILURE,   /* the socket failed, lied, or timed out in this step */
    SEND_CLASS_RETRY,     /* goes on within the list */
    SEND_CLASS_FILE,      /* the list has file regions */
    SEND_CLASS_EMPTIES,   /* the list has empty segments, or none */
    SEND_CLASS_PLAIN
};

/* token_clause: what is wrong with a token, or with the numbers that came beside it. */
enum token_clause {
    TOKEN_SOUND,
    TOKEN_STATUS_UNKNOWN, /* outside the table */
    TOKEN_STATUS_DIFFERS, /* the token's is not the call's */
    TOKEN_MALFORMED,      /* len above cap, NULL with a length, a rental that is not its payload */
    TOKEN_NOT_RENTED,     /* pooled, but of no live rental */
    TOKEN_NOT_ALLOCATED,  /* fresh, but of no live allocation */
    TOKEN_COUNTS,         /* consumed, offset or count beyond what was given, or set on failure; a write beyond */
    TOKEN_NUM_CLAUSES
};

/* token_class: what is most likely to spoil a token's bytes; one rule each. */
enum token_class {
    TOKEN_CLASS_PLAIN,
    TOKEN_CLASS_GREW, /* more rentals than tokens */
    TOKEN_CLASS_SHAPE /* the fresh one is made by another shape */
};

/* tls_class: what is most likely to spoil plaintext; one rule each. In order of priority. */
enum tls_class {
    TLS_CLASS_CHANGED,      /* bytes were changed or lost on their way: only that nothing wrong comes is due */
    TLS_CLASS_ISOLATED,     /* another connection failed before */
    TLS_CLASS_RENEGOTIATED, /* there was a second handshake */
    TLS_CLASS_UPDATED,      /* keys were updated */
    TLS_CLASS_FRAMED,       /* input came in pieces */
    TLS_CLASS_CROSS,        /* the ends are of different engines */
    TLS_CLASS_PLAIN
};

/* trace_role: what a step is to a rule, whatever the area calls it. */
enum trace_role {
    ROLE_OTHER,   /* the caller's own doing: sets a key, chooses a thread */
    ROLE_MESSAGE, /* a whole message, or the end of one: has an output */
    ROLE_START,   /* opens a message */
    ROLE_UPDATE,  /* adds to it */
    ROLE_FINISH,  /* ends it: has an output, and uses what ROLE_START was given */
    ROLE_DROP,    /* the thread's slots are gone */
    ROLE_END      /* after the last step: everything was dropped */
};

/* trace_step: views point into memory that lives as long as the trace. */
struct trace_step {
    enum trace_role role;
    uint32_t op; /* row in the target's language */
    uint32_t thread;
    enum pal_status status;
    struct pal_view key; /* as it was given */
    struct pal_view out; /* the caller's whole buffer after the step */
    size_t out_len;      /* as the port reported it; 0 unless PAL_OK */
    uint32_t facts[NUM_FACTS];
};

/* trace: the world that wrote it, and its steps in order. */
struct trace {
    const char *name;   /* "openssl/reused" */
    const char *engine; /* the same pointer for all worlds of one port */
    enum pal_mode mode;
    size_t num_steps;
    struct trace_step steps[TRACE_STEPS_MAX];
};

/* trace_hash: FNV-1a over everything above but the world's name. The same in every build. */
uint64_t trace_hash(const struct trace *trace);

/* trace_step_has_output: whether the step is one whose bytes and acceptance are compared. */
bool trace_step_has_output(const struct trace_step *step);

/* views_equal: same length, same bytes. */
bool views_equal(struct pal_view a, struct pal_view b);

#endif
