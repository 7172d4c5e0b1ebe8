/* SPDX-License-Identifier: Apache-2.0
 * sequential.c: one call per segment. The way that the others are compared with.
 * It merges nothing, however small the segments are.
 * It breaks when a call spans two segments: then the number of calls is no longer that of the segments.
 */
#include "way.h"

static enum pal_status step(struct pal_send *send, uint64_t *out_taken)
{
    return send_at_file(send) ? send_file(send, out_taken) : send_bytes(send, out_taken, 1);
}

const struct send_way send_sequential = {.takes_files = true, .step = step};
