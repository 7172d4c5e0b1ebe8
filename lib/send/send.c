/* SPDX-License-Identifier: Apache-2.0
 * send.c: the life of an operation: checked and copied by begin, driven by resume, given back by end.
 * It knows nothing about how a list is cut into calls; that is each way's.
 * It breaks when a call is repeated after it said that nothing can be taken: every wait is in run().
 */
#include "way.h"

#include <assert.h>
#include <sys/socket.h>

/* IOV_MAX of Linux: sendmsg(2) with more answers EMSGSIZE. MAX_RW_COUNT for 4 KiB pages: one call takes no more; other
 * systems refuse sums above INT_MAX. */
enum { IOVECS_MAX = 1024, CALL_LEN_MAX = 0x7ffff000 };

static const struct send_way *const ways[PAL_SEND_NUM_WAYS] = {
#define WAY(name, file) [PAL_SEND_##name] = &send_##file,
#include "ways.def"
#undef WAY
};

/* ---- the two calls ------------------------------------------------------------------------------------------------
 */

static enum pal_status send_iovecs(struct pal_send *send, uint64_t *out_taken, size_t num_iovecs, size_t offered)
{
    const struct pal_env *env = send->env;
    int flags = MSG_NOSIGNAL | MSG_DONTWAIT | (offered < send->left ? MSG_MORE : 0);
    size_t sent = 0;
    enum pal_status status;

    assert(num_iovecs > 0 && offered > 0 && offered <= send->left);
    status = env->sendmsg(env->context, &sent, send->socket, send->pieces, num_iovecs, flags);
    if (status == PAL_TOO_LONG && num_iovecs > 1) {
        send->num_iovecs_max = num_iovecs / 2;
        return PAL_OK;
    }
    if (status == PAL_OK && (sent == 0 || sent > offered)) {
        return PAL_SYSTEM;
    }
    if (status == PAL_OK) {
        *out_taken = sent;
    }
    return status;
}

/* What does not fit into one call is cut off its last piece for as long as the call takes. */
enum pal_status send_bytes(struct pal_send *send, uint64_t *out_taken, size_t num_max)
{
    struct iovec *pieces = send->pieces;
    size_t num = 0, offered = 0, cut = 0;
    enum pal_status status;

    if (num_max > send->num_iovecs_max) {
        num_max = send->num_iovecs_max;
    }
    if (num_max > send->num_pieces) {
        num_max = send->num_pieces;
    }
    while (num < num_max && pieces[num].iov_base != NULL && offered < CALL_LEN_MAX) {
        size_t room = CALL_LEN_MAX - offered;

        if (pieces[num].iov_len > room) {
            cut = pieces[num].iov_len - room;
        }
        offered += pieces[num++].iov_len - cut;
    }
    pieces[num - 1].iov_len -= cut;
    status = send_iovecs(send, out_taken, num, offered);
    pieces[num - 1].iov_len += cut;
    return status;
}

enum pal_status send_file(struct pal_send *send, uint64_t *out_taken)
{
    const struct pal_env *env = send->env;
    const struct send_region *region = send->regions;
    size_t offered = region->len > CALL_LEN_MAX ? CALL_LEN_MAX : (size_t)region->len;
    size_t sent = 0;
    enum pal_status status = env->sendfile(env->context, &sent, send->socket, region->file, region->offset, offered);

    if (status != PAL_OK) {
        return status;
    }
    if (sent > offered) {
        return PAL_SYSTEM;
    }
    *out_taken = sent;
    return sent == 0 ? PAL_TRUNCATED : PAL_OK;
}

/* ---- begin --------------------------------------------------------------------------------------------------------
 */

/* The bytes that a segment stands for, 0 included. */
static enum pal_status measure(const struct pal_env *env, uint64_t *out_len, const struct send_way *way,
                               const struct pal_segment *segment)
{
    uint64_t size;

    if (segment->file == -1) {
        *out_len = segment->bytes.len;
        return pal_view_valid(segment->bytes) ? PAL_OK : PAL_BAD_ARGUMENT;
    }
    /* Bytes beside a file would be lost: most likely `file` was left 0. */
    if (segment->file < 0 || segment->bytes.len > 0 || !way->takes_files) {
        return PAL_BAD_ARGUMENT;
    }
    if (env->file_size(env->context, &size, segment->file) != PAL_OK || segment->file_offset > size) {
        return PAL_BAD_ARGUMENT;
    }
    if (segment->file_len > size - segment->file_offset) {
        return PAL_BAD_ARGUMENT;
    }
    *out_len = segment->file_len > 0 ? segment->file_len : size - segment->file_offset;
    return PAL_OK;
}

/* Fills send's list, which has room for all. */
static enum pal_status copy_list(struct pal_send *send, size_t *out_bad_segment, const struct pal_segment *segments,
                                 size_t num_segments)
{
    size_t num_regions = 0;

    for (size_t i = 0; i < num_segments; i++) {
        const struct pal_segment *segment = &segments[i];
        uint64_t len = 0;
        enum pal_status status = measure(send->env, &len, send->way, segment);

        if (status == PAL_OK && len > UINT64_MAX - send->left) {
            status = PAL_TOO_LONG;
        }
        if (status != PAL_OK) {
            *out_bad_segment = i;
            return status;
        }
        if (len == 0) {
            continue;
        }
        if (segment->file == -1) {
            send->pieces[send->num_pieces] = (struct iovec){(void *)segment->bytes.data, segment->bytes.len};
        } else {
            send->pieces[send->num_pieces] = (struct iovec){NULL, 0};
            send->regions[num_regions++] = (struct send_region){segment->file_offset, len, segment->file};
        }
        send->num_pieces++;
        send->left += len;
    }
    return PAL_OK;
}

static enum pal_status check_arguments(enum pal_send_way way, int socket, const struct pal_segment *segments,
                                       size_t num_segments)
{
    if ((unsigned)way >= PAL_SEND_NUM_WAYS) {
        return PAL_UNSUPPORTED;
    }
    return socket < 0 || (segments == NULL && num_segments > 0) ? PAL_BAD_ARGUMENT : PAL_OK;
}

static size_t count_files(const struct pal_segment *segments, size_t num_segments)
{
    size_t num_files = 0;

    for (size_t i = 0; i < num_segments; i++) {
        num_files += segments[i].file != -1;
    }
    return num_files;
}

/* Makes `send` an operation over `pieces` and `regions`, which have room for the list. It is queued last, so that a
 * refusal leaves nothing behind. */
static enum pal_status init(struct pal_send *send, size_t *out_bad_segment, const struct pal_segment *segments,
                            size_t num_segments)
{
    enum pal_status status = copy_list(send, out_bad_segment, segments, num_segments);

    if (status != PAL_OK) {
        return status;
    }
    send->num_iovecs_max = IOVECS_MAX;
    send->status = send->left > 0 ? PAL_WOULD_BLOCK : PAL_OK;
    if (send->left > 0) {
        queue_enter(send);
    }
    return PAL_OK;
}

static enum pal_status begin(const struct pal_env *env, struct pal_send **out, size_t *out_bad_segment,
                             enum pal_send_way way, int socket, const struct pal_segment *segments, size_t num_segments,
                             uint64_t deadline_ns)
{
    size_t each = sizeof(struct iovec) + sizeof(struct send_region), bad = SIZE_MAX;
    enum pal_status status = check_arguments(way, socket, segments, num_segments);
    struct pal_send *send = NULL;

    if (status == PAL_OK && num_segments > (SIZE_MAX - sizeof(*send)) / each) {
        status = PAL_TOO_LONG;
    }
    if (status == PAL_OK) {
        size_t lists_len =
            num_segments * sizeof(struct iovec) + count_files(segments, num_segments) * sizeof(struct send_region);

        send = env->alloc(env->context, sizeof(*send) + lists_len);
        if (send == NULL) {
            return PAL_NO_MEMORY;
        }
        *send = (struct pal_send){.env = env, .way = ways[way], .socket = socket, .deadline_ns = deadline_ns};
        send->pieces = (struct iovec *)(send + 1);
        send->regions = (struct send_region *)(send->pieces + num_segments);
        status = init(send, &bad, segments, num_segments);
    }
    if (status == PAL_OK) {
        *out = send;
        return PAL_OK;
    }
    if (out_bad_segment != NULL && status != PAL_UNSUPPORTED) {
        *out_bad_segment = bad;
    }
    env->free(env->context, send);
    return status;
}

/* ---- resume, cancel, end ------------------------------------------------------------------------------------------
 */

static bool running(const struct pal_send *send)
{
    return send->status == PAL_WOULD_BLOCK;
}

static void finish(struct pal_send *send, enum pal_status status)
{
    send->status = status;
    if (send->way->stop != NULL) {
        send->way->stop(send);
    }
    queue_leave(send);
}

static bool late(const struct pal_send *send)
{
    const struct pal_env *env = send->env;

    return send->deadline_ns != UINT64_MAX && env->now_ns(env->context) >= send->deadline_ns;
}

static void advance(struct pal_send *send, uint64_t taken)
{
    assert(taken <= send->left);
    send->left -= taken;
    while (taken > 0) {
        struct iovec *piece = &send->pieces[0];
        uint64_t len = piece->iov_base == NULL ? send->regions[0].len : piece->iov_len;
        uint64_t part = taken < len ? taken : len;

        assert(send->num_pieces > 0);
        if (piece->iov_base == NULL) {
            send->regions[0].offset += part;
            send->regions[0].len -= part;
            send->regions += part == len;
        } else {
            piece->iov_base = (uint8_t *)piece->iov_base + part;
            piece->iov_len -= (size_t)part;
        }
        if (part == len) {
            send->pieces++;
            send->num_pieces--;
        }
        taken -= part;
    }
}

static enum pal_status step(struct pal_send *send, uint64_t *out_taken)
{
    if (!send->started && send->way->start != NULL) {
        enum pal_status status = send->way->start(send);

        if (status != PAL_OK) {
            return status;
        }
    }
    send->started = true;
    return send->way->step(send, out_taken);
}

/* Until all is sent, or a status stands in the way. After "would block" there is a wait before the next call. */
static enum pal_status run(struct pal_send *send, bool blocking)
{
    const struct pal_env *env = send->env;

    while (send->left > 0) {
        uint64_t taken = 0;
        enum pal_status status = late(send) ? PAL_TIMED_OUT : step(send, &taken);

        if (status == PAL_WOULD_BLOCK && blocking) {
            status = env->wait_writable(env->context, send->socket, send->deadline_ns);
        } else if (status == PAL_OK) {
            advance(send, taken);
        }
        if (status != PAL_OK) {
            return status;
        }
    }
    return PAL_OK;
}

static enum pal_status resume(struct pal_send *send, uint64_t *out_progress, bool blocking)
{
    uint64_t before = send->left;
    enum pal_status status;

    *out_progress = 0;
    if (!running(send)) {
        return send->status;
    }
    if (queue_first(send)) {
        status = run(send, blocking);
    } else {
        status = late(send) ? PAL_TIMED_OUT : PAL_WOULD_BLOCK;
    }
    *out_progress = before - send->left;
    if (status != PAL_WOULD_BLOCK && status != PAL_NO_MEMORY) {
        finish(send, status);
    }
    return status;
}

static void cancel(struct pal_send *send)
{
    if (running(send)) {
        finish(send, PAL_CANCELLED);
    }
}

static void end(struct pal_send *send)
{
    if (send == NULL) {
        return;
    }
    cancel(send);
    send->env->free(send->env->context, send);
}

enum pal_status pal_send_all(const struct pal_env *env, uint64_t *out_progress, size_t *out_bad_segment,
                             enum pal_send_way way, int socket, const struct pal_segment *segments, size_t num_segments,
                             uint64_t deadline_ns)
{
    struct pal_send *made = NULL;
    enum pal_status status = check_arguments(way, socket, segments, num_segments);

    *out_progress = 0;
    if (status == PAL_OK && num_segments <= PAL_SEND_STACK_MAX) {
        struct iovec pieces[PAL_SEND_STACK_MAX];
        struct send_region regions[PAL_SEND_STACK_MAX];
        struct pal_send send = {.env = env,
                                .way = ways[way],
                                .socket = socket,
                                .deadline_ns = deadline_ns,
                                .pieces = pieces,
                                .regions = regions};
        size_t bad;

        status = init(&send, &bad, segments, num_segments);
        if (status == PAL_OK) {
            status = resume(&send, out_progress, true);
            cancel(&send);
        } else if (out_bad_segment != NULL) {
            *out_bad_segment = bad;
        }
        return status;
    }
    status = begin(env, &made, out_bad_segment, way, socket, segments, num_segments, deadline_ns);
    if (status == PAL_OK) {
        status = resume(made, out_progress, true);
    }
    end(made);
    return status;
}

const struct pal_send_ops pal_send_reference = {begin, resume, cancel, end};
