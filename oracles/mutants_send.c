/* SPDX-License-Identifier: Apache-2.0
 * mutants_send.c: planted bugs in sending. Each is one wrapped operation, or the environment that it is given; what a
 * mutant remembers belongs to the process and is forgotten when nothing is open, so that a scenario starts clean.
 */
#include "mutants.h"

#include <string.h>

static void null_cancel(struct pal_send *send)
{
    mutant_good_send->cancel(send);
}

void mutant_send_null(struct mutant_tables *tables)
{
    tables->send.cancel = null_cancel;
}

void mutant_packets_null(struct mutant_tables *tables)
{
    tables->send.cancel = null_cancel;
}

/* After a short write the rest is taken for sent. */
static enum pal_status drop_tail_on_short(struct pal_send *send, uint64_t *out_progress, bool blocking)
{
    enum pal_status status = mutant_good_send->resume(send, out_progress, blocking);
    if (status == PAL_WOULD_BLOCK && *out_progress > 0) {
        mutant_fire();
        mutant_good_send->cancel(send);
        return PAL_OK;
    }
    return status;
}

void mutant_send_drop_tail_on_short(struct mutant_tables *tables)
{
    tables->send.resume = drop_tail_on_short;
}

void mutant_packets_drop_tail_on_short(struct mutant_tables *tables)
{
    tables->send.resume = drop_tail_on_short;
}
