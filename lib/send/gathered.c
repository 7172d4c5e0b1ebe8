/* SPDX-License-Identifier: Apache-2.0
 * gathered.c: as many segments in one sendmsg as the kernel takes.
 * The operation's own list is the iovec array: nothing is built or allocated for a call.
 * It breaks when the list holds files; begin refuses them.
 */
#include "way.h"

static enum pal_status step(struct pal_send *send, uint64_t *out_taken)
{
    return send_bytes(send, out_taken, SIZE_MAX);
}

const struct send_way send_gathered = {.step = step};
