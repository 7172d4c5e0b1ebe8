/* SPDX-License-Identifier: Apache-2.0
 * ports.h: the entry symbols of the reference library: one per engine, all that is global in its object, and one for
 * the areas that need no engine. A port of somebody else's needs nothing from here. It breaks when the build's
 * PAL_ENGINE_PORT names a symbol that is not listed.
 */
#ifndef PAL_PORTS_H
#define PAL_PORTS_H

#include "pal.h"

#ifdef __cplusplus
extern "C" {
#endif

/* pal_port_openssl, pal_port_boringssl: pal_port_get_fn of each engine. */
const struct pal_port *pal_port_openssl(void);
const struct pal_port *pal_port_boringssl(void);

/* pal_port_reference: pool and send. */
const struct pal_port *pal_port_reference(void);

#ifdef __cplusplus
}
#endif
#endif
