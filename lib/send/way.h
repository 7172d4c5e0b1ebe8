/* SPDX-License-Identifier: Apache-2.0
 * way.h: what the ways share: the operation, its list, and the two calls. Private to lib/send.
 * A way decides what one call offers; it neither loops, nor waits, nor moves the position.
 * It breaks when a way takes bytes from anywhere but the front of the list.
 */
#ifndef PAL_SEND_WAY_H
#define PAL_SEND_WAY_H

#include "send.h"

#include <stdatomic.h>

/* send_region: the rest of a file region; len > 0. */
struct send_region {
    uint64_t offset;
    uint64_t len;
    int file;
};

/* send_way: a row of ways.def. */
struct send_way {
    bool takes_files;
    /* start: once, before the first step; PAL_NO_MEMORY means not yet. stop: after the last, started or not. Or NULL.
     */
    enum pal_status (*start)(struct pal_send *send);
    void (*stop)(struct pal_send *send);
    /* step: one call, with bytes left to send. 0 < *out_taken <= what was offered on PAL_OK. */
    enum pal_status (*step)(struct pal_send *send, uint64_t *out_taken);
};

#define WAY(name, file) extern const struct send_way send_##file;
#include "ways.def"
#undef WAY

/* pal_send: one operation. The list has no empty pieces. A piece with iov_base NULL stands for the next region. What
 * was taken is gone from the front: `pieces` and `regions` move up, and the first of each shrinks. */
struct pal_send {
    const struct pal_env *env;
    const struct send_way *way;
    int socket;
    bool started;
    enum pal_status status; /* PAL_WOULD_BLOCK until there is a final one */
    uint64_t deadline_ns;
    uint64_t left; /* bytes */
    struct iovec *pieces;
    size_t num_pieces;
    struct send_region *regions;
    size_t num_iovecs_max; /* in one call */
    struct pal_buffer copy;
    /* queue.c's own */
    atomic_bool first;
    bool queued;
    struct pal_send *ahead, *behind; /* in the bucket, whatever their sockets */
};

/* send_bytes: one sendmsg over at most `num_max` pieces from the front, all before the next file. */
enum pal_status send_bytes(struct pal_send *send, uint64_t *out_taken, size_t num_max);

/* send_file: one sendfile of the first piece, a region. */
enum pal_status send_file(struct pal_send *send, uint64_t *out_taken);

/* send_at_file: whether the first piece is a region. */
static inline bool send_at_file(const struct pal_send *send)
{
    return send->pieces[0].iov_base == NULL;
}

/* queue_enter: puts an operation behind those of the same environment and socket. queue_leave: takes it out,
 * and makes the next one first. queue_first: whether it is its turn, which stays so until it leaves. */
void queue_enter(struct pal_send *send);
void queue_leave(struct pal_send *send);
bool queue_first(const struct pal_send *send);

#endif
