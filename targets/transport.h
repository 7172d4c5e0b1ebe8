/* SPDX-License-Identifier: Apache-2.0
 * transport.h: a scripted stream socket and files (a double): what a kernel may do, at places in the byte stream that
 * the scenario names, so that every way to send meets the same socket however it cuts its calls. It keeps what the peer
 * reads, and audits every call. It has no clock: waiting moves the environment's.
 */
#ifndef PALDIFF_TRANSPORT_H
#define PALDIFF_TRANSPORT_H

#include "pal.h"

#define TRANSPORT_SOCKET 1000 /* descriptors that the kernel does not have */
#define TRANSPORT_FILE 2000
#define TRANSPORT_FILES 3u
#define TRANSPORT_WIRE_MAX (64u * 1024u)
#define TRANSPORT_NEVER UINT64_MAX

#define TRANSPORT_FILE_MAX 1024u

/* transport_file: `data` has TRANSPORT_FILE_MAX bytes, whatever the file's present length. */
struct transport_file {
    const uint8_t *data;
    size_t len;
};

/* transport_audit: what a caller did, since transport_step. */
struct transport_audit {
    uint64_t taken; /* bytes */
    uint32_t calls; /* sendmsg and sendfile */
    uint32_t waits;
    uint32_t idle_calls;  /* with nothing to send, or after would-block without a wait */
    uint32_t idle_waits;  /* with the socket known to take bytes */
    uint32_t bad_flags;   /* without MSG_NOSIGNAL */
    bool short_or_failed; /* a call did not take all that it was given */
    bool last_more;       /* the last call had MSG_MORE */
    bool lied;
    bool failed; /* a call was answered by the failure that the scenario set */
};

struct transport {
    uint8_t *wire; /* TRANSPORT_WIRE_MAX bytes, the owner's */
    size_t wire_len;
    uint64_t space;    /* bytes that it takes before it would block */
    uint64_t per_call; /* bytes at most per call; 0: no bound */
    size_t iov_max;    /* more in one call: PAL_TOO_LONG */
    uint64_t fail_at;  /* place in the stream */
    enum pal_status fail_status;
    bool fail_once;
    uint32_t lies;  /* coming calls that claim a byte more than they were given */
    uint64_t drain; /* bytes that the peer reads per millisecond of a wait; 0: it does not read, and waits time out */
    uint64_t ready_at; /* room from which on a wait returns: a kernel wakes later than a write would succeed */
    uint32_t spurious; /* coming waits that return without room */
    uint64_t now_ns;
    bool blocked; /* the last answer was would-block, and nobody waited since */
    struct transport_file files[TRANSPORT_FILES];
    struct transport_audit audit;
};

/* transport_init: a socket that takes everything, and files of 1000, 64 and 0 bytes. */
void transport_init(struct transport *transport, uint8_t *wire);
void transport_step(struct transport *transport);

/* The environment's functions, on a transport. */
enum pal_status transport_sendmsg(struct transport *transport, size_t *out_sent, int socket,
                                  const struct iovec *segments, size_t num_segments, int flags);
enum pal_status transport_sendfile(struct transport *transport, size_t *out_sent, int socket, int file, uint64_t offset,
                                   size_t len);
enum pal_status transport_file_size(const struct transport *transport, uint64_t *out_size, int file);
enum pal_status transport_wait(struct transport *transport, int socket, uint64_t deadline_ns);

#endif
