/* SPDX-License-Identifier: Apache-2.0
 * tls_alert.c: see tls_alert.h.
 */
#include "tls_alert.h"

#define USER_CANCELED 90u

bool tls_apart(const struct world *world)
{
    return world->env.faultless;
}

/* tls_note_alert: a port apart that does not say which alert it sent has it heard all the same, and one that does not
 * say which it heard has ended; but it may ignore user_canceled, which is no error (RFC 8446 6.1). */
void tls_note_alert(struct tls_end *hears, uint8_t sent)
{
    uint32_t *facts = hears->link->trace->facts;
    uint8_t heard = tls_end_info(hears).alert_received;
    bool we = hears->side == TLS_WE;
    bool lost = sent == TLS_ALERT_NONE || sent != heard;
    if (tls_apart(hears->link->world) && (we ? heard : sent) == TLS_ALERT_NONE) {
        if (we && hears->final == PAL_OK && sent == USER_CANCELED) {
            return;
        }
        lost = we ? hears->final == PAL_OK : heard == TLS_ALERT_NONE;
    }
    facts[FACT_ALERT_DUE]++;
    facts[FACT_ALERT_LOST] += lost ? 1 : 0;
}
