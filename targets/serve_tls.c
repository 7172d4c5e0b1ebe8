/* SPDX-License-Identifier: Apache-2.0
 * serve_tls.c: stub.
 */
#include "serve.h"
bool serve_tls(struct server *server, struct shim_words *call, struct shim_text *out)
{
    (void)server, (void)call, (void)out;
    return false;
}
void serve_tls_reset(struct server *server)
{
    (void)server;
}
