/* SPDX-License-Identifier: Apache-2.0
 * shim_send.c: the send table of a shim. The scripted socket stays what is judged: what comes from the shim's real one
 * is forwarded to it. What is refused, whose turn it is, when to wait and what a failure comes to is the reference's to
 * say: it runs the operation, on an environment whose calls to the socket take the shim's bytes instead of its own. The
 * shim's answer is then held against that.
 *
 * A file that shrinks before its list goes to the shim shrinks for the shim, too. Later the kernel may have its bytes
 * already, so the door forwards no more of them, and cuts the connection.
 */
#include "shim_pull.h"

#include "ports.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static struct pull_line lines[WORLDS_MAX];

/* running: the operation that the reference resumes; environments have one context only, the world's. */
static struct pal_send *running;

/* ---- the reference's socket ----------------------------------------------------------------------------------------
 */

/* wanted: how many of these bytes the scripted socket will take. No more are read, so that the shim's socket is as full
 * as the scripted one. */
static size_t wanted(const struct world_env *world, size_t offered)
{
    const struct transport *socket = world->transport;
    uint64_t room = socket->space;
    if (socket->fail_at != TRANSPORT_NEVER) {
        uint64_t before = socket->fail_at > socket->wire_len ? socket->fail_at - socket->wire_len : 0;
        room = before < room ? before : room;
    }
    room = socket->per_call > 0 && socket->per_call < room ? socket->per_call : room;
    return room < offered ? (size_t)room : offered;
}

/* forward: the shim's next `offered` bytes to the scripted socket, for a call that asked to send `asked`. */
static enum pal_status forward(void *context, size_t *out_sent, int socket, size_t asked, size_t offered, int flags)
{
    struct pal_send *send = running;
    size_t due = wanted(context, offered);
    size_t there = pull_up_to(send, send->forwarded + due) - send->forwarded;
    if (there < due && there == 0) {
        send->dry = true;
        return PAL_SYSTEM;
    }
    const struct iovec piece = {send->values + send->forwarded, there < due ? there : offered};
    size_t sent = 0;
    enum pal_status status = send->line->given->sendmsg(context, &sent, socket, &piece, 1, flags);
    if (status == PAL_OK) {
        bool lie = sent > piece.iov_len;
        send->forwarded += lie ? due : sent;
        *out_sent = lie ? asked + 1 : sent;
    }
    return status;
}

static enum pal_status door_sendmsg(void *context, size_t *out_sent, int socket, const struct iovec *segments,
                                    size_t num_segments, int flags)
{
    size_t offered = 0;
    for (size_t i = 0; i < num_segments; i++) {
        offered += segments[i].iov_len;
    }
    return forward(context, out_sent, socket, offered, offered, flags);
}

static enum pal_status door_sendfile(void *context, size_t *out_sent, int socket, int file, uint64_t offset, size_t len)
{
    uint64_t size = 0;
    enum pal_status status = running->line->given->file_size(context, &size, file);
    uint64_t left = offset < size ? size - offset : 0;
    if (status != PAL_OK || left == 0) {
        pull_ask(running); /* that it is over is an answer of the shim's, too */
        *out_sent = 0;
        return status;
    }
    return forward(context, out_sent, socket, len, left < len ? (size_t)left : len, MSG_NOSIGNAL);
}

/* ---- the end of a list ---------------------------------------------------------------------------------------------
 */

/* misreport: the shim says that it sent `sent` bytes of the stream, and did not: the progress has to show it. */
static void misreport(const struct pal_send *send, uint64_t *progress, uint64_t sent)
{
    uint64_t before = send->forwarded - *progress;
    uint64_t told = sent / send->unit;
    told = told > before ? told - before : 0;
    *progress = told != *progress ? told : *progress + 1;
}

/* settle_whole: the list came whole. */
static enum pal_status settle_whole(struct pal_send *send, enum pal_status status, uint64_t *progress)
{
    static const uint8_t stray = 0;
    const struct pal_env *env = send->line->given;
    pull_answer(send);
    if (send->state == PULL_OWN) {
        return status;
    }
    if (send->extra > 0) {
        const struct iovec piece = {(void *)(uintptr_t)&stray, 1};
        size_t sent = 0;
        (void)env->sendmsg(env->context, &sent, send->line->given_socket, &piece, 1, MSG_NOSIGNAL);
        ++*progress;
    } else if (send->answer_sent != send->limit * send->unit) {
        misreport(send, progress, send->answer_sent);
    }
    return send->answer == (send->limit < send->total ? PAL_TRUNCATED : PAL_OK) ? status : send->answer;
}

/* settle_cut: the scripted socket failed, or the operation is over before its end. What a shim believes to have sent is
 * what the kernel took: all that came, and no more than fits into buffers. One that does not know says nothing. */
static enum pal_status settle_cut(struct pal_send *send, enum pal_status status, uint64_t *progress)
{
    uint64_t whole = send->limit * send->unit;
    pull_cut(send);
    if (send->state == PULL_OWN) {
        return status;
    }
    bool may_be_whole = whole - send->got <= pull_in_flight_max(send->line);
    if (send->answer == PAL_RESET || send->answer == PAL_BROKEN_PIPE) {
        bool sound = send->answer_sent >= send->got && send->answer_sent <= whole &&
                     send->answer_sent - send->got <= pull_in_flight_max(send->line);
        if (!sound && send->answer_sent != UINT64_MAX) {
            misreport(send, progress, send->answer_sent);
        }
        return status;
    }
    bool is_whole = send->answer == (send->limit < send->total ? PAL_TRUNCATED : PAL_OK);
    if (is_whole && may_be_whole && send->answer_sent != whole) {
        misreport(send, progress, send->answer_sent);
    }
    return is_whole && may_be_whole ? status : send->answer;
}

/* settle: `status` is the reference's, and final. */
static enum pal_status settle(struct pal_send *send, enum pal_status status, uint64_t *progress)
{
    if (send->state == PULL_NEW || send->state == PULL_OWN) {
        return status;
    }
    if (send->dry) {
        pull_cut(send);
        return send->answer;
    }
    return send->forwarded >= send->limit ? settle_whole(send, status, progress) : settle_cut(send, status, progress);
}

/* ---- the table -----------------------------------------------------------------------------------------------------
 */

static struct pull_line *line_of(const struct pal_env *env, int socket)
{
    size_t row = 0;
    while (row < WORLDS_MAX && lines[row].given != NULL &&
           (lines[row].given != env || lines[row].given_socket != socket)) {
        row++;
    }
    assert(row < WORLDS_MAX);
    struct pull_line *line = &lines[row];
    if (line->given == NULL) {
        *line = (struct pull_line){
            .given = env, .given_socket = socket, .env = *env, .id = (unsigned)row + 1, .socket = -1};
        line->env.sendmsg = door_sendmsg;
        line->env.sendfile = door_sendfile;
    }
    return line;
}

/* measure: the list that the reference accepted. */
static void measure(struct pal_send *send, const struct pal_env *env, const struct pal_segment *segments)
{
    for (size_t i = 0; i < send->num_parts; i++) {
        struct pull_part *part = &send->parts[i];
        uint64_t size = 0;
        part->segment = segments[i];
        part->len = segments[i].bytes.len;
        if (segments[i].file >= 0 && env->file_size(env->context, &size, segments[i].file) == PAL_OK) {
            uint64_t len = segments[i].file_len > 0 ? segments[i].file_len : size - segments[i].file_offset;
            part->len = (size_t)len;
        }
        send->total += part->len;
    }
}

static enum pal_status begin(const struct pal_env *env, struct pal_send **out, size_t *out_bad_segment,
                             enum pal_send_way way, int socket, const struct pal_segment *segments, size_t num_segments,
                             uint64_t deadline_ns)
{
    if (!shim_has_way(way)) {
        return PAL_UNSUPPORTED;
    }
    struct pull_line *line = line_of(env, socket);
    struct pal_send *model = NULL;
    enum pal_status status = pal_port_reference()->send->begin(&line->env, &model, out_bad_segment, way, socket,
                                                               segments, num_segments, deadline_ns);
    if (status != PAL_OK) {
        return status;
    }
    struct pal_send *send = calloc(1, sizeof(*send));
    struct pull_part *parts = calloc(num_segments + 1, sizeof(*parts));
    if (send == NULL || parts == NULL) {
        abort();
    }
    *send = (struct pal_send){.line = line, .model = model, .way = way, .num_parts = num_segments, .parts = parts};
    measure(send, env, segments);
    *out = send;
    return PAL_OK;
}

static enum pal_status resume(struct pal_send *send, uint64_t *out_progress, bool blocking)
{
    if (send->final) {
        *out_progress = 0;
        return send->status;
    }
    running = send;
    send->blocking = blocking;
    enum pal_status status = pal_port_reference()->send->resume(send->model, out_progress, blocking);
    if (send->total == 0) {
        pull_ask(send); /* the reference has nothing to ask for */
    }
    running = NULL;
    if (status == PAL_WOULD_BLOCK || status == PAL_NO_MEMORY) {
        return status;
    }
    send->final = true;
    send->status = settle(send, status, out_progress);
    return send->status;
}

static void cancel(struct pal_send *send)
{
    if (!send->final && send->total > 0) { /* an empty list is all sent from the start */
        pal_port_reference()->send->cancel(send->model);
        pull_give_up(send);
        send->final = true;
        send->status = PAL_CANCELLED;
    }
}

static void end(struct pal_send *send)
{
    if (send != NULL) {
        cancel(send);
        pal_port_reference()->send->end(send->model);
        pull_deinit(send);
        free(send);
    }
}

const struct pal_send_ops shim_send = {begin, resume, cancel, end};

void shim_send_reset(void)
{
    pull_reset();
    for (size_t i = 0; i < WORLDS_MAX; i++) {
        if (lines[i].given != NULL) {
            pull_line_drop(&lines[i]);
        }
        lines[i].given = NULL;
    }
}
