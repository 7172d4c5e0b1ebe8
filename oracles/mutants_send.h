/* SPDX-License-Identifier: Apache-2.0
 * mutants_send.h: for the files of mutants of sending: what they know of the operations that are open, and how a bug
 * gets in, either around an operation of the table, or into the environment that the good port is given.
 */
#ifndef PALDIFF_MUTANTS_SEND_H
#define PALDIFF_MUTANTS_SEND_H

#include "mutants.h"

#define MUTANT_SEGMENTS_MAX 64u
#define MUTANT_SENDINGS_MAX 4u

#define BEGIN_PARAMETERS                                                                                               \
    const struct pal_env *env, struct pal_send **out, size_t *out_bad_segment, enum pal_send_way way, int socket,      \
        const struct pal_segment *segments, size_t num_segments, uint64_t deadline_ns
#define BEGIN_ARGUMENTS env, out, out_bad_segment, way, socket, segments, num_segments, deadline_ns
#define SENDMSG_PARAMETERS                                                                                             \
    void *context, size_t *out_sent, int socket, const struct iovec *segments, size_t num_segments, int flags
#define SENDFILE_PARAMETERS void *context, size_t *out_sent, int socket, int file, uint64_t offset, size_t len

/* mutant_sending: one open operation. */
struct mutant_sending {
    struct pal_send *send; /* the good port's; NULL where there is none */
    int socket;
    const struct pal_segment *list; /* the caller's; not to be read after begin */
    size_t num_segments;
    struct pal_segment kept[MUTANT_SEGMENTS_MAX]; /* what the list was */
    struct pal_env apart;
    uint64_t taken;         /* by the socket */
    enum pal_status status; /* of the last resume */
    bool hit;               /* the mutant's own */
    uint64_t note;          /* the mutant's own */
};

/* mutant_socket: one world's environment, and what goes through it. Zero when nothing is open. */
struct mutant_socket {
    const struct pal_env *good; /* as the world gave it */
    struct pal_env env;         /* as the good port gets it */
    size_t num_open;
    struct mutant_sending sendings[MUTANT_SENDINGS_MAX];
    struct mutant_sending *current; /* whose resume is under way, or was the last */
    bool blocking;
    size_t calls;   /* of this resume */
    uint64_t taken; /* by this resume */
    /* the last sendmsg of `current` that took bytes */
    size_t num_last;
    struct iovec last[MUTANT_SEGMENTS_MAX];
    struct iovec copy[MUTANT_SEGMENTS_MAX]; /* for mutant_segments_copy */
    bool owes;                              /* the mutant's own; kept until the next end */
};

/* mutant_send_bug: any of it may be NULL. `edit` changes the list that begin gets, when that can be sent; `hook`
 * changes the environment; with `apart` each operation has an environment of its own. `ops` replace operations, and
 * call mutant_send_begin and its like. */
struct mutant_send_bug {
    void (*edit)(const struct pal_env *env, struct pal_segment *list, size_t *num);
    void (*hook)(struct pal_env *env);
    bool apart;
    struct pal_send_ops ops;
};

void mutant_send_plant(struct mutant_tables *tables, struct mutant_send_bug bug);

/* The good port's operations, in the environment with the bug. Progress is what the socket took. */
enum pal_status mutant_send_begin(BEGIN_PARAMETERS);
enum pal_status mutant_send_resume(struct pal_send *send, uint64_t *out_progress, bool blocking);
void mutant_send_end(struct pal_send *send);

/* The good environment's calls, counted. */
enum pal_status mutant_send_call(SENDMSG_PARAMETERS);
enum pal_status mutant_send_file(SENDFILE_PARAMETERS);

struct mutant_sending *mutant_sending_of(const struct pal_send *send);
struct mutant_socket *mutant_socket_of(const struct pal_send *send);
struct mutant_socket *mutant_socket_at(const void *context);

/* mutant_segments_copy: of what a call was given, to be changed; valid until the next. */
struct iovec *mutant_segments_copy(struct mutant_socket *socket, const struct iovec *segments, size_t num_segments);

size_t mutant_segments_len(const struct iovec *segments, size_t num_segments);

/* mutant_segment_taken: how much of its first segment was taken by the call before, when it ended within it. */
size_t mutant_segment_taken(const struct mutant_socket *socket, const struct iovec *segments);

#endif
