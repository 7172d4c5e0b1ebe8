/* SPDX-License-Identifier: Apache-2.0
 * send.h: the reference's send table: five ways to bring one list to one stream socket, after gather-writes in pal.h.
 * It makes no thread and calls no kernel: all goes through pal_env. MSG_ZEROCOPY and io_uring are left out: both need
 * completions that pal_env cannot carry, and neither pays on loopback, where the tests run.
 * It breaks when bytes reach a socket past its operations: order holds among operations only.
 *
 * What pal.h leaves to the port:
 *  - begin: refuses arguments first, then PAL_NO_MEMORY, then the first bad segment. *out_bad_segment (may be NULL) is
 *    set on PAL_BAD_ARGUMENT and PAL_TOO_LONG, SIZE_MAX where no segment is to blame: socket below 0, no list. Unknown
 *    way: PAL_UNSUPPORTED. A segment with a file and bytes, or with a file below -1, is bad.
 *  - Files: sequential, packets, auto. A region is measured by begin; bytes appended later are not sent.
 *  - One allocation holds object and list; resume makes none, but for the rental of copied. pal_send_all makes none up
 * to PAL_SEND_STACK_MAX segments.
 *  - The caller's bytes: read during resume, by copied during the first one that finds the operation at the head of its
 *    socket. Changed before that, the new bytes are sent; changed after the last byte was taken, nothing happens.
 *    A file that shares its pages with the socket (sendfile) is read until the peer has read.
 *  - resume: PAL_NO_MEMORY (no rental, ENOBUFS) and PAL_WOULD_BLOCK leave the operation as it is: resume again goes on
 * at the byte where it stopped. Every other answer is final, repeated by every later resume with progress 0, and ends
 *    the operation's turn: the stream may then end within the list, and who is next on the socket cannot know.
 *    An error after progress comes with that progress, in one answer.
 *  - PAL_SYSTEM: also for a callee that claims more bytes than it was given, or success without any.
 *  - A blocking resume behind an unfinished operation answers PAL_WOULD_BLOCK at once. An empty list waits for nobody.
 *  - Every sendmsg has MSG_NOSIGNAL and MSG_DONTWAIT, and MSG_MORE when it does not offer the list's last byte.
 * sendfile has no such flags: on a socket without O_NONBLOCK a file region blocks in the kernel, past any deadline.
 *  - PAL_TOO_LONG from sendmsg with several iovecs halves their number for the rest of the operation.
 */
#ifndef PAL_SEND_H
#define PAL_SEND_H

#include "../pal.h"

#ifdef __cplusplus
extern "C" {
#endif

/* pal_send_reference: static storage, never changed. */
extern const struct pal_send_ops pal_send_reference;

#define PAL_SEND_STACK_MAX 8u /* UIO_FASTIOV: up to here the kernel needs no heap, either */

/* pal_send_all: begin, one blocking resume, end. *out_progress is set whatever the status, 0 when begin refuses. What
 * was not sent is given up. PAL_WOULD_BLOCK: an earlier operation on the socket is unfinished. */
enum pal_status pal_send_all(const struct pal_env *env, uint64_t *out_progress, size_t *out_bad_segment,
                             enum pal_send_way way, int socket, const struct pal_segment *segments, size_t num_segments,
                             uint64_t deadline_ns);

#ifdef __cplusplus
}
#endif
#endif
