/* SPDX-License-Identifier: Apache-2.0
 * model_pool.h: the plain way to rent: each rental is a fresh allocation of exactly the size asked for, and a list of
 * all that ever were says what may be returned. Slow, obvious, and what pools are compared with.
 */
#ifndef PALDIFF_MODEL_POOL_H
#define PALDIFF_MODEL_POOL_H

#include "pal.h"

extern const struct pal_pool_ops model_pool;

/* model_port: a port with nothing but that. */
const struct pal_port *model_port(void);

#endif
