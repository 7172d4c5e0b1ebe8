/* SPDX-License-Identifier: Apache-2.0
 * ports.h: the entry symbols of the reference library, one per engine: all that is global in an engine's object.
 * A port of somebody else's needs nothing from here.
 * It breaks when the build's PAL_ENGINE_PORT names a symbol that is not listed.
 */
#ifndef PAL_PORTS_H
#define PAL_PORTS_H

#include "../pal.h"

#ifdef __cplusplus
extern "C" {
#endif

/* pal_port_openssl, pal_port_boringssl: pal_port_get_fn of each engine. */
const struct pal_port *pal_port_openssl(void);
const struct pal_port *pal_port_boringssl(void);

#ifdef __cplusplus
}
#endif
#endif
