/* SPDX-License-Identifier: Apache-2.0
 * transport.c: the scripted socket. Any progress wins over an error, as in the kernel's stream sockets: a failure shows
 * on the call that can take nothing.
 */
#include "transport.h"

#include "poison.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* contents: bytes that all files are windows of; written once, always the same. */
static const uint8_t *contents(void)
{
    static uint8_t bytes[TRANSPORT_FILE_MAX + TRANSPORT_FILES * 77u];
    for (size_t i = 0; bytes[1] == 0 && i < sizeof(bytes); i++) {
        size_t at = sizeof(bytes) - 1 - i;
        bytes[at] = (uint8_t)(at * 5 + (at >> 8) * 3 + 1);
    }
    return bytes;
}

void transport_init(struct transport *transport, uint8_t *wire)
{
    static const size_t lens[TRANSPORT_FILES] = {1000, 64, 0};
    memset(transport, 0, sizeof(*transport));
    transport->wire = wire;
    transport->space = TRANSPORT_NEVER;
    transport->iov_max = 1024;
    transport->fail_at = TRANSPORT_NEVER;
    for (size_t f = 0; f < TRANSPORT_FILES; f++) {
        transport->files[f].len = lens[f];
        transport->files[f].data = contents() + f * 77;
    }
}

void transport_step(struct transport *transport)
{
    memset(&transport->audit, 0, sizeof(transport->audit));
    transport->blocked = false;
}

/* room: bytes that this call takes of `offered`, or 0 with the reason in *out_status. */
static uint64_t room(struct transport *transport, uint64_t offered, enum pal_status *out_status)
{
    uint64_t left = transport->space;
    *out_status = PAL_WOULD_BLOCK;
    if (transport->fail_at != TRANSPORT_NEVER) {
        uint64_t before = transport->fail_at > transport->wire_len ? transport->fail_at - transport->wire_len : 0;
        if (before == 0) {
            *out_status = transport->fail_status;
            transport->audit.failed = true;
            transport->fail_at = transport->fail_once ? TRANSPORT_NEVER : transport->fail_at;
            return 0;
        }
        left = left < before ? left : before;
    }
    left = transport->per_call > 0 && transport->per_call < left ? transport->per_call : left;
    left = TRANSPORT_WIRE_MAX - transport->wire_len < left ? TRANSPORT_WIRE_MAX - transport->wire_len : left;
    return offered < left ? offered : left;
}

/* account: after a call that was asked to send `asked`, could be offered `offered` of that, and took `taken`. */
static enum pal_status account(struct transport *transport, size_t *out_sent, uint64_t asked, uint64_t offered,
                               uint64_t taken, enum pal_status refused)
{
    struct transport_audit *audit = &transport->audit;
    audit->calls++;
    audit->idle_calls += transport->blocked || offered == 0 ? 1 : 0;
    audit->short_or_failed |= taken < offered;
    audit->taken += taken;
    transport->space -= transport->space == TRANSPORT_NEVER ? 0 : taken;
    if (taken == 0 && offered > 0) {
        transport->blocked = refused == PAL_WOULD_BLOCK;
        return refused;
    }
    *out_sent = (size_t)taken;
    if (transport->lies > 0) {
        transport->lies--;
        audit->lied = true;
        *out_sent = (size_t)asked + 1;
    }
    return PAL_OK;
}

enum pal_status transport_sendmsg(struct transport *transport, size_t *out_sent, int socket,
                                  const struct iovec *segments, size_t num_segments, int flags)
{
    uint64_t offered = 0;
    enum pal_status refused = PAL_OK;
    if (socket != TRANSPORT_SOCKET) {
        return PAL_BAD_ARGUMENT;
    }
    transport->audit.bad_flags += (flags & MSG_NOSIGNAL) == 0 ? 1 : 0;
    transport->audit.last_more = (flags & MSG_MORE) != 0;
    for (size_t i = 0; i < num_segments; i++) {
        offered += segments[i].iov_len;
    }
    if (num_segments > transport->iov_max) {
        transport->audit.calls++;
        transport->audit.short_or_failed = true;
        return PAL_TOO_LONG;
    }
    uint64_t take = room(transport, offered, &refused);
    uint64_t left = take;
    for (size_t i = 0; i < num_segments && left > 0; i++) {
        size_t part = segments[i].iov_len < left ? segments[i].iov_len : (size_t)left;
        memcpy(transport->wire + transport->wire_len, segments[i].iov_base, part);
        transport->wire_len += part;
        left -= part;
    }
    return account(transport, out_sent, offered, offered, take, refused);
}

static struct transport_file *file_at(const struct transport *transport, int file)
{
    bool known = file >= TRANSPORT_FILE && file < TRANSPORT_FILE + (int)TRANSPORT_FILES;
    return known ? (struct transport_file *)(uintptr_t)&transport->files[file - TRANSPORT_FILE] : NULL;
}

enum pal_status transport_sendfile(struct transport *transport, size_t *out_sent, int socket, int file, uint64_t offset,
                                   size_t len)
{
    const struct transport_file *from = file_at(transport, file);
    enum pal_status refused = PAL_OK;
    if (socket != TRANSPORT_SOCKET || from == NULL) {
        return PAL_BAD_ARGUMENT;
    }
    transport->audit.last_more = false;
    uint64_t there = offset < from->len ? from->len - offset : 0;
    uint64_t offered = len < there ? len : there;
    if (offered == 0 && len > 0) {
        /* The end of the file: an answer, and no progress. */
        transport->audit.calls++;
        transport->audit.short_or_failed = true;
        *out_sent = 0;
        return PAL_OK;
    }
    uint64_t take = room(transport, offered, &refused);
    if (take > 0) {
        memcpy(transport->wire + transport->wire_len, from->data + offset, (size_t)take);
        transport->wire_len += (size_t)take;
    }
    return account(transport, out_sent, len, offered, take, refused);
}

enum pal_status transport_file_size(const struct transport *transport, uint64_t *out_size, int file)
{
    const struct transport_file *from = file_at(transport, file);
    if (from == NULL) {
        return PAL_BAD_ARGUMENT;
    }
    *out_size = from->len;
    return PAL_OK;
}

#define WAIT_NS 1000000u
#define WAITS_MAX 100000u

enum pal_status transport_wait(struct transport *transport, int socket, uint64_t deadline_ns)
{
    if (socket != TRANSPORT_SOCKET) {
        return PAL_BAD_ARGUMENT;
    }
    if (++transport->audit.waits > WAITS_MAX) {
        (void)fputs("paldiff: a port waits for ever\n", stderr);
        abort();
    }
    transport->audit.idle_waits += transport->blocked ? 0 : 1;
    if (transport->spurious > 0) {
        transport->spurious--;
        transport->blocked = false;
        return PAL_OK;
    }
    if (transport->drain == 0) {
        /* The peer does not read: time passes until the deadline, or without one it reads all at last. */
        if (deadline_ns != UINT64_MAX) {
            transport->now_ns = deadline_ns;
            return PAL_TIMED_OUT;
        }
        transport->space = TRANSPORT_NEVER;
    } else {
        do {
            transport->now_ns += WAIT_NS;
            if (deadline_ns <= transport->now_ns) {
                return PAL_TIMED_OUT;
            }
            transport->space += transport->space == TRANSPORT_NEVER ? 0 : transport->drain;
        } while (transport->space < transport->ready_at);
    }
    transport->blocked = false;
    return PAL_OK;
}
