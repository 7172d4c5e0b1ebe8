/* SPDX-License-Identifier: Apache-2.0
 * reference.c: the port of the areas that need no engine.
 */
#include "pool/pool.h"
#include "ports.h"
#include "send/send.h"

const struct pal_port *pal_port_reference(void)
{
    static const struct pal_port port = {
        .abi = PAL_ABI_VERSION,
        .name = "reference",
        .version = "1",
        .env_random = true,
        .env_clock = true,
        .pool = &pal_pool_reference,
        .send = &pal_send_reference,
    };
    return &port;
}
