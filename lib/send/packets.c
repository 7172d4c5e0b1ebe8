/* SPDX-License-Identifier: Apache-2.0
 * packets.c: files by sendfile, and each run of byte segments between them gathered.
 * No byte segment moves past a file, and none waits for one.
 * It breaks when a short write of a run goes on with the file behind it.
 */
#include "way.h"

static enum pal_status step(struct pal_send *send, uint64_t *out_taken)
{
    return send_at_file(send) ? send_file(send, out_taken) : send_bytes(send, out_taken, SIZE_MAX);
}

const struct send_way send_packets = {.takes_files = true, .step = step};
