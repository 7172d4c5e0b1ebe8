/* SPDX-License-Identifier: Apache-2.0
 * shim_pull.h: getting a list's bytes out of a shim. Private to shim_send.c and shim_pull.c.
 *
 * The shim writes to a real socket, whose buffers hold some KB; a scenario's lists have few bytes. So each byte of a
 * list stands for a unit of bytes, which depend on its value, its place and their place in the unit, and is itself
 * again when all of them came; else it comes as another byte. Exactly the bytes that are wanted are read, so that the
 * shim meets a slow reader, and what is wanted depends on the scenario alone.
 */
#ifndef PALDIFF_SHIM_PULL_H
#define PALDIFF_SHIM_PULL_H

#include "shim.h"

/* pull_line: the connection of one environment's socket. `env` is what the reference gets: the given one, whose calls
 * to the socket are the door's. */
struct pull_line {
    const struct pal_env *given; /* NULL: the row is free */
    int given_socket;
    struct pal_env env;
    unsigned id;           /* for the shim */
    int socket;            /* -1: not connected */
    struct pal_send *user; /* whose bytes are on it */
    bool large;            /* the shim cannot set its send buffer */
    bool closing;          /* the shim was told to close its end */
    int low_water;         /* bytes that a wait is for */
    unsigned lists_ended;  /* on this connection */
};

enum pull_state {
    PULL_NEW,
    PULL_ASKED,    /* the shim has the list */
    PULL_ANSWERED, /* and is done with it */
    PULL_OWN       /* it does not have what the list needs, or the list was given up: the door has the bytes itself */
};

/* pull_part: a segment, as it was measured by begin. */
struct pull_part {
    struct pal_segment segment;
    size_t len;
};

/* pal_send: an operation. The reference knows what is to be done when; the bytes and the final answer are the shim's.
 */
struct pal_send {
    struct pull_line *line;
    struct pal_send *model; /* the reference's operation */
    enum pal_send_way way;
    bool blocking; /* of this resume */
    size_t num_parts;
    struct pull_part *parts;
    size_t total; /* bytes of the list */
    size_t forwarded;
    bool dry;   /* bytes were wanted that did not come */
    bool final; /* `status` is */
    enum pal_status status;

    enum pull_state state;
    size_t unit;
    size_t limit;     /* bytes of the list that the shim is to send: files may have shrunk */
    uint8_t *values;  /* the list's bytes, those changed that came wrong */
    uint8_t *stream;  /* what they stand for */
    size_t wrong_end; /* units that are known to be wrong end here */
    size_t got;       /* of the stream */
    size_t extra;     /* bytes that came after the list */
    bool ended;       /* nothing more comes */
    enum pal_status answer;
    uint64_t answer_sent; /* UINT64_MAX: it did not say */
};

/* pull_ask: gives the shim the list, unless it has it. An unfinished one of another environment is given up before.
 * Only an empty list can come while another one is on the connection; the shim does not get that. */
void pull_ask(struct pal_send *send);

/* pull_up_to: waits for the first `want` bytes of the list, or for what comes of them. Returns how many are there. */
size_t pull_up_to(struct pal_send *send, size_t want);

/* pull_answer: waits for the answer to a list whose bytes all came, and looks for bytes behind it. */
void pull_answer(struct pal_send *send);

/* pull_cut: resets the connection, and waits for the answer. */
void pull_cut(struct pal_send *send);

/* pull_give_up: pull_cut, for a list that is not judged. pull_deinit: gives memory back; the list is not asked. */
void pull_give_up(struct pal_send *send);
void pull_deinit(struct pal_send *send);

/* pull_reset, pull_line_drop: a new scenario: the shim forgets its lists and ends of connections. */
void pull_reset(void);
void pull_line_drop(struct pull_line *line);

/* pull_in_flight_max: bytes that can be on their way at most; SIZE_MAX when the shim cannot set its buffer. */
size_t pull_in_flight_max(const struct pull_line *line);

#endif
