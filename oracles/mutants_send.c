/* SPDX-License-Identifier: Apache-2.0
 * mutants_send.c: what mutants of sending share: environments with a bug in them, and the operations that are open.
 * It is no bug itself: the null mutant is the good port through all of it. What a mutant remembers belongs to the
 * process and is forgotten when nothing is open, so that a scenario starts clean.
 */
#include "mutants_send.h"

#include <assert.h>
#include <string.h>

#define SOCKETS_MAX 8u

static struct mutant_socket sockets[SOCKETS_MAX];
static struct mutant_send_bug planted;

struct mutant_socket *mutant_socket_at(const void *context)
{
    for (size_t i = 0; i < SOCKETS_MAX; i++) {
        if (sockets[i].good != NULL && sockets[i].good->context == context) {
            return &sockets[i];
        }
    }
    return NULL;
}

static struct mutant_socket *socket_for(const struct pal_env *env)
{
    struct mutant_socket *socket = mutant_socket_at(env->context);
    for (size_t i = 0; socket == NULL && i < SOCKETS_MAX; i++) {
        if (sockets[i].num_open == 0) {
            socket = &sockets[i];
            memset(socket, 0, sizeof(*socket));
        }
    }
    assert(socket != NULL);
    socket->good = env;
    return socket;
}

struct mutant_socket *mutant_socket_of(const struct pal_send *send)
{
    for (size_t i = 0; i < SOCKETS_MAX; i++) {
        for (size_t j = 0; j < MUTANT_SENDINGS_MAX; j++) {
            if (sockets[i].sendings[j].send == send) {
                return &sockets[i];
            }
        }
    }
    assert(false);
    return NULL;
}

static struct mutant_sending *find(struct mutant_socket *socket, const struct pal_send *send)
{
    struct mutant_sending *sending = socket->sendings;
    while (sending->send != send) {
        sending++;
        assert(sending < socket->sendings + MUTANT_SENDINGS_MAX);
    }
    return sending;
}

struct mutant_sending *mutant_sending_of(const struct pal_send *send)
{
    return find(mutant_socket_of(send), send);
}

static void hook(struct pal_env *env, const struct pal_env *good)
{
    *env = *good;
    env->sendmsg = mutant_send_call;
    env->sendfile = mutant_send_file;
    if (planted.hook != NULL) {
        planted.hook(env);
    }
}

/* sendable: whether begin has to accept a list. One that it has to refuse is refused by a port with a bug in it, too.
 */
static bool sendable(const struct pal_env *env, const struct pal_segment *list, size_t num)
{
    size_t len = 0;
    for (size_t i = 0; i < num; i++) {
        uint64_t size = 0;
        bool known = list[i].file < 0 ? pal_view_valid(list[i].bytes)
                                      : env->file_size(env->context, &size, list[i].file) == PAL_OK;
        bool inside =
            list[i].file < 0 || (list[i].file_offset <= size && list[i].file_len <= size - list[i].file_offset);
        if (!known || !inside || list[i].bytes.len > SIZE_MAX - len) {
            return false;
        }
        len += list[i].bytes.len;
    }
    return true;
}

enum pal_status mutant_send_begin(BEGIN_PARAMETERS)
{
    struct pal_segment list[MUTANT_SEGMENTS_MAX];
    struct mutant_socket *at = socket_for(env);
    struct mutant_sending *sending = find(at, NULL);
    size_t num = num_segments;
    assert(num <= MUTANT_SEGMENTS_MAX);
    memset(sending, 0, sizeof(*sending));
    sending->socket = socket;
    sending->list = segments;
    sending->num_segments = num;
    if (num > 0) {
        memcpy(sending->kept, segments, num * sizeof(*segments));
        memcpy(list, segments, num * sizeof(*segments));
    }
    if (planted.edit != NULL && sendable(env, list, num)) {
        planted.edit(env, list, &num);
    }
    hook(&at->env, env);
    hook(&sending->apart, env);
    enum pal_status status = mutant_good_send->begin(planted.apart ? &sending->apart : &at->env, &sending->send,
                                                     out_bad_segment, way, socket, list, num, deadline_ns);
    if (status == PAL_OK) {
        *out = sending->send;
        at->num_open++;
    }
    return status;
}

enum pal_status mutant_send_resume(struct pal_send *send, uint64_t *out_progress, bool blocking)
{
    struct mutant_socket *socket = mutant_socket_of(send);
    struct mutant_sending *sending = find(socket, send);
    if (socket->current != sending) {
        socket->num_last = 0;
    }
    socket->current = sending;
    socket->blocking = blocking;
    socket->calls = 0;
    socket->taken = 0;
    sending->status = mutant_good_send->resume(send, out_progress, blocking);
    *out_progress = socket->taken;
    return sending->status;
}

void mutant_send_end(struct pal_send *send)
{
    if (send == NULL) {
        return;
    }
    struct mutant_socket *socket = mutant_socket_of(send);
    struct mutant_sending *sending = find(socket, send);
    mutant_good_send->end(send);
    sending->send = NULL;
    socket->current = NULL;
    socket->num_last = 0;
    if (--socket->num_open == 0) {
        memset(socket, 0, sizeof(*socket));
    }
}

static void count(struct mutant_socket *socket, uint64_t sent)
{
    socket->calls++;
    if (socket->current != NULL) {
        socket->taken += sent;
        socket->current->taken += sent;
    }
}

enum pal_status mutant_send_call(SENDMSG_PARAMETERS)
{
    struct mutant_socket *at = mutant_socket_at(context);
    enum pal_status status = at->good->sendmsg(context, out_sent, socket, segments, num_segments, flags);
    size_t len = mutant_segments_len(segments, num_segments);
    /* What a socket claims above what it was given is no progress. */
    count(at, status == PAL_OK && *out_sent <= len ? *out_sent : 0);
    if (status == PAL_OK && num_segments <= MUTANT_SEGMENTS_MAX) {
        at->num_last = num_segments;
        memcpy(at->last, segments, num_segments * sizeof(*segments));
    }
    return status;
}

enum pal_status mutant_send_file(SENDFILE_PARAMETERS)
{
    struct mutant_socket *at = mutant_socket_at(context);
    enum pal_status status = at->good->sendfile(context, out_sent, socket, file, offset, len);
    count(at, status == PAL_OK && *out_sent <= len ? *out_sent : 0);
    at->num_last = 0;
    return status;
}

struct iovec *mutant_segments_copy(struct mutant_socket *socket, const struct iovec *segments, size_t num_segments)
{
    assert(num_segments <= MUTANT_SEGMENTS_MAX);
    memcpy(socket->copy, segments, num_segments * sizeof(*segments));
    return socket->copy;
}

size_t mutant_segments_len(const struct iovec *segments, size_t num_segments)
{
    size_t len = 0;
    for (size_t i = 0; i < num_segments; i++) {
        len += segments[i].iov_len;
    }
    return len;
}

size_t mutant_segment_taken(const struct mutant_socket *socket, const struct iovec *segments)
{
    uintptr_t here = (uintptr_t)segments[0].iov_base;
    for (size_t i = 0; i < socket->num_last; i++) {
        uintptr_t start = (uintptr_t)socket->last[i].iov_base;
        if (here > start && here < start + socket->last[i].iov_len &&
            here + segments[0].iov_len == start + socket->last[i].iov_len) {
            return here - start;
        }
    }
    return 0;
}

void mutant_send_plant(struct mutant_tables *tables, struct mutant_send_bug bug)
{
    memset(sockets, 0, sizeof(sockets));
    planted = bug;
    tables->send.begin = bug.ops.begin != NULL ? bug.ops.begin : mutant_send_begin;
    tables->send.resume = bug.ops.resume != NULL ? bug.ops.resume : mutant_send_resume;
    tables->send.cancel = bug.ops.cancel != NULL ? bug.ops.cancel : tables->send.cancel;
    tables->send.end = bug.ops.end != NULL ? bug.ops.end : mutant_send_end;
}

void mutant_send_null(struct mutant_tables *tables)
{
    mutant_send_plant(tables, (struct mutant_send_bug){0});
}

void mutant_packets_null(struct mutant_tables *tables)
{
    mutant_send_plant(tables, (struct mutant_send_bug){0});
}
