/* SPDX-License-Identifier: Apache-2.0
 * auto.c: per call: a run of small segments is copied onto the stack, any other is gathered.
 */
#include "way.h"

#include <string.h>

#ifndef AUTO_CAP
#define AUTO_CAP 16384
#endif

static enum pal_status step(struct pal_send *send, uint64_t *out_taken)
{
    uint8_t flat[AUTO_CAP];
    size_t len = 0, num = 0;

    if (send_at_file(send))
        return send_file(send, out_taken);
    while (num < send->num_pieces && send->pieces[num].iov_base != NULL && send->pieces[num].iov_len <= AUTO_CAP - len) {
        memcpy(flat + len, send->pieces[num].iov_base, send->pieces[num].iov_len);
        len += send->pieces[num].iov_len;
        num++;
    }
    return send_flat(send, out_taken, flat, len);
}

const struct send_way send_auto = {.takes_files = true, .step = step};
