/* SPDX-License-Identifier: Apache-2.0
 * Sending over libuv: sequential by uv_try_write, gathered by uv_write, packets by uv_write and uv_fs_sendfile. Copied
 * and auto are not libuv's, and not here. What libuv leaves to its caller is done here:
 *  - Empty pieces are left out: libuv spends a call on each one at the end of a request (src/unix/stream.c,
 *    uv__write_req_update ends its loop when no bytes are left, not when no pieces are).
 *  - A request cannot be taken back (uv_cancel is not for writes), so that a stream has one operation: closing it
 *    cancels that. The order of operations on a socket is kept here.
 *  - libuv does not tell ENOBUFS from EAGAIN; the environment's answer does.
 */
#include "port.h"

#include <limits.h>
#include <string.h>

/* ---- begin ----------------------------------------------------------------------------------------------------------
 */

/* measure: the bytes that a segment stands for. */
static enum pal_status measure(const struct pal_env *env, uint64_t *out_len, enum pal_send_way way,
                               const struct pal_segment *segment)
{
    uint64_t size = 0;
    if (segment->file == -1) {
        *out_len = segment->bytes.len;
        return pal_view_valid(segment->bytes) ? PAL_OK : PAL_BAD_ARGUMENT;
    }
    if (segment->file < 0 || segment->bytes.len > 0 || way == PAL_SEND_GATHERED ||
        env->file_size(env->context, &size, segment->file) != PAL_OK || segment->file_offset > size ||
        segment->file_len > size - segment->file_offset) {
        return PAL_BAD_ARGUMENT;
    }
    *out_len = segment->file_len > 0 ? segment->file_len : size - segment->file_offset;
    return PAL_OK;
}

static enum pal_status copy_list(struct pal_send *send, size_t *out_bad, const struct pal_segment *segments,
                                 size_t num_segments)
{
    struct region *region = send->regions;
    for (size_t i = 0; i < num_segments; i++) {
        uint64_t len = 0;
        enum pal_status status = measure(send->env, &len, send->way, &segments[i]);
        if (status == PAL_OK && len > UINT64_MAX - send->left) {
            status = PAL_TOO_LONG;
        }
        if (status != PAL_OK) {
            *out_bad = i;
            return status;
        }
        if (len > 0 && segments[i].file == -1) {
            /* libuv reads only */
            send->pieces[send->num_pieces++] =
                (uv_buf_t){.base = (char *)(uintptr_t)segments[i].bytes.data, .len = segments[i].bytes.len};
        } else if (len > 0) {
            send->pieces[send->num_pieces++] = (uv_buf_t){.base = NULL, .len = 0};
            *region++ = (struct region){segments[i].file_offset, len, segments[i].file};
        }
        send->left += len;
    }
    return PAL_OK;
}

/* allocate: the operation, room for the list, and for libuv's copy of it. */
static struct pal_send *allocate(const struct pal_env *env, size_t num_segments)
{
    const size_t each = 2 * sizeof(uv_buf_t) + sizeof(struct region);
    struct pal_send *send = env->alloc(env->context, sizeof(*send) + num_segments * each);
    if (send != NULL) {
        memset(send, 0, sizeof(*send));
        send->env = env;
        send->pieces = (uv_buf_t *)(send + 1);
        send->reserve = send->pieces + num_segments;
        send->reserve_len = num_segments * sizeof(uv_buf_t);
        send->regions = (struct region *)(send->reserve + num_segments);
        send->stand_in = -1;
        send->num_iovecs_max = SIZE_MAX;
    }
    return send;
}

/* enter: an operation with something to send gets its stream, and its place in the order. */
static enum pal_status enter(struct pal_send *send)
{
    bool opened = true;
    send->status = send->left > 0 ? PAL_WOULD_BLOCK : PAL_OK;
    if (send->left > 0) {
        libuv_lock();
        opened = libuv_open(send);
        libuv_unlock();
    }
    return opened ? PAL_OK : PAL_NO_MEMORY;
}

static enum pal_status begin(const struct pal_env *env, struct pal_send **out, size_t *out_bad_segment,
                             enum pal_send_way way, int socket, const struct pal_segment *segments, size_t num_segments,
                             uint64_t deadline_ns)
{
    size_t bad = SIZE_MAX;
    struct pal_send *send = NULL;
    enum pal_status status = PAL_OK;
    if (way != PAL_SEND_SEQUENTIAL && way != PAL_SEND_GATHERED && way != PAL_SEND_PACKETS) {
        return PAL_UNSUPPORTED;
    }
    if (socket < 0 || (segments == NULL && num_segments > 0)) {
        status = PAL_BAD_ARGUMENT;
    } else if (num_segments > INT_MAX) {
        status = PAL_TOO_LONG;
    } else {
        send = allocate(env, num_segments);
        if (send == NULL) {
            return PAL_NO_MEMORY;
        }
        send->way = way;
        send->socket = socket;
        send->deadline_ns = deadline_ns;
        status = copy_list(send, &bad, segments, num_segments);
        status = status == PAL_OK ? enter(send) : status;
    }
    if (status == PAL_OK) {
        *out = send;
        return PAL_OK;
    }
    if (out_bad_segment != NULL && status != PAL_NO_MEMORY) {
        *out_bad_segment = bad;
    }
    env->free(env->context, send);
    return status;
}

/* ---- resume ---------------------------------------------------------------------------------------------------------
 */

static bool is_final(enum pal_status status)
{
    return status != PAL_WOULD_BLOCK && status != PAL_NO_MEMORY;
}

/* taken: `len` bytes of the first piece are sent; `piece_len` is all of it. */
static void taken(struct pal_send *send, uint64_t len, uint64_t piece_len)
{
    send->left -= len;
    if (len == piece_len) {
        send->pieces++;
        send->num_pieces--;
    }
}

static enum pal_status send_file(struct pal_send *send)
{
    struct region *region = send->regions;
    ssize_t sent = libuv_file(send);
    if (sent < 0) {
        return is_final(send->answer) ? libuv_status((int)sent) : send->answer;
    }
    if (sent == 0) {
        return PAL_TRUNCATED;
    }
    taken(send, (uint64_t)sent, region->len);
    region->offset += (uint64_t)sent;
    region->len -= (uint64_t)sent;
    send->regions += region->len == 0 ? 1 : 0;
    return PAL_OK;
}

static enum pal_status send_piece(struct pal_send *send)
{
    uv_buf_t *piece = send->pieces;
    int sent = libuv_try(send);
    if (sent < 0) {
        return is_final(send->answer) ? libuv_status(sent) : send->answer;
    }
    taken(send, (uint64_t)sent, piece->len);
    piece->base += sent;
    piece->len -= (size_t)sent;
    return PAL_OK;
}

/* start_run: the pieces up to the next file become one request. */
static void start_run(struct pal_send *send)
{
    size_t num = 0;
    send->waiting = 0;
    while (num < send->num_pieces && send->pieces[num].base != NULL) {
        send->waiting += send->pieces[num++].len;
    }
    send->num_writing = num;
    send->result = libuv_write(send, num);
    send->writing = send->writing && send->result == 0;
}

/* send_run: what is left of a request that is under way, libuv tells by the size of its queue; an answer that ends it,
 * at a later turn of the loop. */
static enum pal_status send_run(struct pal_send *send)
{
    do {
        send->answer = PAL_OK;
        if (send->writing) {
            libuv_turn(send);
        } else {
            start_run(send);
        }
        if (send->writing) {
            size_t waiting = uv_stream_get_write_queue_size((const uv_stream_t *)&send->stream);
            send->left -= send->waiting - waiting;
            send->waiting = waiting;
        }
    } while (send->writing && (send->waiting == 0 || (send->answer != PAL_OK && is_final(send->answer))));
    if (send->writing) {
        return send->answer;
    }
    if (send->result != 0) {
        return libuv_status(send->result);
    }
    send->left -= send->waiting;
    send->pieces += send->num_writing;
    send->num_pieces -= send->num_writing;
    return PAL_OK;
}

static bool is_late(const struct pal_send *send)
{
    return send->deadline_ns != UINT64_MAX && send->env->now_ns(send->env->context) >= send->deadline_ns;
}

static enum pal_status step(struct pal_send *send)
{
    if (is_late(send)) {
        return PAL_TIMED_OUT;
    }
    if (!send->writing && send->pieces[0].base == NULL) {
        return send_file(send);
    }
    return send->way == PAL_SEND_SEQUENTIAL ? send_piece(send) : send_run(send);
}

static enum pal_status run(struct pal_send *send, bool blocking)
{
    const struct pal_env *env = send->env;
    while (send->left > 0) {
        enum pal_status status = step(send);
        if (status == PAL_WOULD_BLOCK && blocking) {
            libuv_unlock();
            status = env->wait_writable(env->context, send->socket, send->deadline_ns);
            libuv_lock();
        }
        if (status != PAL_OK) {
            return status;
        }
    }
    return PAL_OK;
}

static void finish(struct pal_send *send, enum pal_status status)
{
    send->status = status;
    libuv_close(send);
}

static enum pal_status resume(struct pal_send *send, uint64_t *out_progress, bool blocking)
{
    uint64_t before = send->left;
    *out_progress = 0;
    if (is_final(send->status)) {
        return send->status;
    }
    libuv_lock();
    enum pal_status status = is_late(send) ? PAL_TIMED_OUT : PAL_WOULD_BLOCK;
    if (libuv_first(send)) {
        status = run(send, blocking);
    }
    *out_progress = before - send->left;
    if (is_final(status)) {
        finish(send, status);
    }
    libuv_unlock();
    return status;
}

static void cancel(struct pal_send *send)
{
    if (!is_final(send->status)) {
        libuv_lock();
        finish(send, PAL_CANCELLED);
        libuv_unlock();
    }
}

static void end(struct pal_send *send)
{
    if (send != NULL) {
        cancel(send);
        send->env->free(send->env->context, send);
    }
}

pal_port_get_fn pal_port_get;

#define STRING(number) TEXT(number)
#define TEXT(number) #number
#define VERSION STRING(UV_VERSION_MAJOR) "." STRING(UV_VERSION_MINOR) "." STRING(UV_VERSION_PATCH)

const struct pal_port *pal_port_get(void)
{
    static const struct pal_send_ops send = {begin, resume, cancel, end};
    static const struct pal_port port = {.abi = PAL_ABI_VERSION,
                                         .name = "libuv",
                                         .version = "libuv " VERSION,
                                         .env_random = true,
                                         .env_clock = true,
                                         .send = &send};
    return libuv_start() ? &port : NULL;
}
