/* SPDX-License-Identifier: Apache-2.0
 * auto.c: copied for many small segments, otherwise gathered; with files, packets.
 * It chooses once, when the operation's turn has come. Having no memory for the copy only means gathering.
 * It breaks, in speed alone, where the thresholds below were not measured.
 *
 * Gathered / copied, median of 1,500 to 4,000 operations, loopback TCP, Linux 6.18 x86-64, sources in cache, pooled
 * copy:
 *
 *   segments   10 B  100 B  512 B  1000 B  1500 B  2000 B  4000 B  10000 B
 *          4   1.02   1.02   1.01    1.01    0.98    0.96    0.92     0.88
 *          8   1.05   1.04   1.03    1.01    1.01    0.98    0.92     0.87
 *         10   1.06   1.07   1.06    1.03    1.01    0.98    0.92     0.85
 *         50   1.29   1.27   1.17    1.11    1.03    0.98    0.85     0.75
 *        200   1.91   1.89   1.27    1.05    0.97    0.88       -        -
 *       1000   3.43   2.44   1.25       -       -       -       -        -
 *
 * So the mean length decides, at 1 to 2 KB, and the number hardly moves that. Up to 8 segments the kernel's fast path
 * makes gathering never worse than 1.05, and it needs no buffer.
 */
#include "way.h"

enum { GATHER_NUM_MAX = 8, COPY_MEAN_LEN_MAX = 1024, COPY_LEN_MAX = 1 << 20 };

static bool has_file(const struct pal_send *send)
{
    for (size_t i = 0; i < send->num_pieces; i++) {
        if (send->pieces[i].iov_base == NULL) {
            return true;
        }
    }
    return false;
}

static enum pal_status start(struct pal_send *send)
{
    if (send->num_pieces > GATHER_NUM_MAX && send->left <= COPY_LEN_MAX &&
        send->left / send->num_pieces <= COPY_MEAN_LEN_MAX && !has_file(send)) {
        (void)send_copied.start(send);
    }
    return PAL_OK;
}

static void stop(struct pal_send *send)
{
    send_copied.stop(send);
}

static enum pal_status step(struct pal_send *send, uint64_t *out_taken)
{
    return send_packets.step(send, out_taken);
}

const struct send_way send_auto = {.takes_files = true, .start = start, .stop = stop, .step = step};
