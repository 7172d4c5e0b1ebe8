/* SPDX-License-Identifier: Apache-2.0
 * tls_alert.h: whether an alert arrived, as far as a port tells. It breaks when an end's info is asked for before the
 * end has read what came in.
 */
#ifndef PALDIFF_TLS_ALERT_H
#define PALDIFF_TLS_ALERT_H

#include "tls_link.h"

/* tls_apart: the world's port is judged as one in another process: its runtime may lack key updates and external PSK,
 * and need not tell of alerts. */
bool tls_apart(const struct world *world);

/* tls_note_alert: FACT_ALERT_DUE of the running step; `sent` (TLS_ALERT_NONE: nobody says which) had to be heard. */
void tls_note_alert(struct tls_end *hears, uint8_t sent);

#endif
