/* SPDX-License-Identifier: Apache-2.0
 * port.h: an operation, and its libuv stream. kernel.c is libuv's side: one loop for the process, and what libuv asks
 * of the kernel; port.c is the contract's. libuv's loop is for one thread at a time: libuv_lock is held in all calls.
 */
#ifndef LIBUV_PORT_H
#define LIBUV_PORT_H

#include <pal.h>

#include <uv.h>

/* region: of a file; its piece has no base. */
struct region {
    uint64_t offset;
    uint64_t len;
    int file;
};

struct pal_send {
    const struct pal_env *env;
    enum pal_send_way way;
    int socket;
    uint64_t deadline_ns;
    enum pal_status status; /* PAL_WOULD_BLOCK: unfinished */
    uint64_t left;
    uv_buf_t *pieces; /* none is empty */
    size_t num_pieces;
    struct region *regions;
    struct pal_send *next; /* begun later, and unfinished */

    uv_pipe_t stream;
    int stand_in; /* the stream's descriptor, -1 for none */
    bool closed;
    uv_write_t request;
    bool writing; /* libuv has the request, with so many pieces; so many bytes of them are not sent */
    size_t num_writing;
    size_t waiting;
    int result;             /* of the request, from libuv */
    enum pal_status answer; /* the environment's last one */
    size_t num_iovecs_max;
    uv_buf_t *reserve; /* libuv's copy of a request's pieces */
    size_t reserve_len;
};

/* libuv_start: makes the loop, once. False when libuv cannot. */
bool libuv_start(void);

void libuv_lock(void);
void libuv_unlock(void);

/* libuv_open: a stream for the operation, which is the last one from now on. False without a descriptor. */
bool libuv_open(struct pal_send *send);

/* libuv_close: closes the stream; a request that is under way is cancelled. Does nothing when there is none. */
void libuv_close(struct pal_send *send);

/* libuv_first: whether no unfinished operation on its socket was begun earlier. */
bool libuv_first(const struct pal_send *send);

/* libuv_try, libuv_file, libuv_write: uv_try_write of the first piece; uv_fs_sendfile of the first region; uv_write of
 * the first `num` pieces. As libuv answers: bytes, or an error. A request is at work from now on; libuv_turn turns the
 * loop once for it. */
int libuv_try(struct pal_send *send);
ssize_t libuv_file(struct pal_send *send);
int libuv_write(struct pal_send *send, size_t num);
void libuv_turn(struct pal_send *send);

/* libuv_status: of an error of libuv. */
enum pal_status libuv_status(int error);

#endif
