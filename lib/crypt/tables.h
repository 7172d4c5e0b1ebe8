/* SPDX-License-Identifier: Apache-2.0
 * tables.h: the four tables that an engine's object holds, for its entry to hand out.
 * Not for users of a port: they reach the tables through struct pal_port.
 * It breaks when engine_start has not run before a table is used.
 */
#ifndef PAL_TABLES_H
#define PAL_TABLES_H

#include "../pal.h"

extern const struct pal_hmac_ops hmac_oneshot;
extern const struct pal_hmac_ops hmac_cached;
extern const struct pal_aead_ops aead_oneshot;
extern const struct pal_aead_ops aead_cached;

#endif
