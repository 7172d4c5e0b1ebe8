/* SPDX-License-Identifier: Apache-2.0
 * The reference library as a port of its own, with everything that the contract has; $PALDIFF_PLANT names one of the
 * suite's mutants to be planted in it. It proves that `paldiff conform` sees through a shared object what it sees in
 * the suite itself.
 */
#include "mutants.h"
#include "ports.h"
#include "token.h"

#include <stdlib.h>

pal_port_get_fn pal_port_get;

const struct pal_port *pal_port_get(void)
{
    static struct pal_port port;
    const char *name = getenv("PALDIFF_PLANT");
    const struct mutant *mutant = name != NULL ? mutant_find(name) : NULL;
    const struct pal_port *engine = pal_port_openssl();
    if (engine == NULL || (name != NULL && mutant == NULL)) {
        return NULL;
    }
    if (port.name == NULL) {
        port = *engine;
        port.name = "reference";
        port.pool = pal_port_reference()->pool;
        port.send = pal_port_reference()->send;
        port.token = &pal_token_reference;
    }
    return mutant != NULL ? mutant_port(mutant, &port) : &port;
}
