/* SPDX-License-Identifier: Apache-2.0
 * The distribution's libssl3 under the reference library's code: hmac, aead, tls and tokens. A shared library calls the
 * real time() whatever we do: the clock is not the environment's.
 */
#include "pal.h"
#include "token.h"

#include <time.h>

pal_port_get_fn pal_port_get;
pal_port_get_fn pal_port_libssl3;

/* What env.c, which is compiled with this name for time(), asks: the other time() is the reference library's own. */
time_t pal_kernel_time(time_t *out);

time_t pal_kernel_time(time_t *out)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_REALTIME, &now);
    if (out != NULL) {
        *out = now.tv_sec;
    }
    return now.tv_sec;
}

const struct pal_port *pal_port_get(void)
{
    static struct pal_port port;
    const struct pal_port *engine = pal_port_libssl3();
    if (engine == NULL) {
        return NULL;
    }
    if (port.name == NULL) {
        port = *engine;
        port.name = "libssl3";
        port.env_clock = false;
        port.token = &pal_token_reference;
    }
    return &port;
}
