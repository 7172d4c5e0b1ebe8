/* SPDX-License-Identifier: Apache-2.0
 * mutants_tls.h: what mutants of TLS ports remember of a connection, and of the environment that it is in.
 * Scenarios run in lockstep: no locks.
 */
#ifndef PALDIFF_MUTANTS_TLS_H
#define PALDIFF_MUTANTS_TLS_H

#include "mutants.h"

/* mutant_session: one open connection; {0} for none. */
struct mutant_session {
    const struct pal_tls *tls;
    const struct pal_env *env;
    bool client;
    uint32_t frames;   /* read */
    bool failed;       /* a status ended it */
    bool updated;      /* its keys were updated */
    bool renegotiated; /* a second handshake began */
    bool done;         /* the bug was at work */
};

/* mutant_sessions_watch: from now on open() and close() keep the table; the mutants' own functions wrap the rest. */
void mutant_sessions_watch(struct mutant_tables *tables);

/* mutant_session: of an open connection. One that nobody opened gets an entry that belongs to no environment. */
struct mutant_session *mutant_session(const struct pal_tls *tls);

/* mutant_session_failed: another connection of the same environment that failed and is still open; NULL for none. */
struct mutant_session *mutant_session_failed(const struct mutant_session *session);

/* mutant_frame_len: bytes of the record that `data` begins with, as far as they are there. */
size_t mutant_frame_len(const uint8_t *data, size_t len);

#endif
