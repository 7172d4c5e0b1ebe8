/* SPDX-License-Identifier: Apache-2.0
 * serve.h: the other side of the process door: `paldiff serve` is a shim that answers with a port in C. It proves that
 * the door changes nothing, and is what shims in other languages can be compared with.
 */
#ifndef PALDIFF_SERVE_H
#define PALDIFF_SERVE_H

#include "actors.h"
#include "shim_text.h"
#include "world_env.h"

#define SERVE_THREADS_MAX 96u
#define SERVE_ACTORS (SERVE_THREADS_MAX / (TRACE_THREADS_MAX - 1))

/* server: what the calls of one scenario work on. */
struct server {
    const struct pal_port *port;
    struct world_env env[PAL_NUM_MODES];
    struct actors actors[SERVE_ACTORS]; /* whose first one, the caller's own thread, is not used */
};

/* serve_crypt, serve_send, serve_tls: answers a call of the area: a status, and words, added to `out`. False when it is
 * none of theirs. serve_*_reset: what is left of the last scenario is ended. */
bool serve_crypt(struct server *server, struct shim_words *call, struct shim_text *out);
bool serve_send(struct server *server, struct shim_words *call, struct shim_text *out);
bool serve_tls(struct server *server, struct shim_words *call, struct shim_text *out);
void serve_crypt_reset(struct server *server);
void serve_send_reset(struct server *server);
void serve_tls_reset(struct server *server);

#endif
