/* SPDX-License-Identifier: Apache-2.0
 * scope.h: which rules say something about somebody else's port. `paldiff conform` and the fuzz programs ask here both.
 */
#ifndef PALDIFF_SCOPE_H
#define PALDIFF_SCOPE_H

#include "target.h"

/* scope: what that depends on. */
struct scope {
    bool env_random; /* as the port declares */
    bool env_clock;
    bool caches_hmac;
    bool caches_aead;
    bool process; /* it is seen through the process door (shim.h) */
};

/* scope_of: of a port that is loaded, or stands for one in another process. */
struct scope scope_of(const struct pal_port *port, bool process);

/* scope_excuse: why the rule says nothing about such a port in this target; NULL if it does. Static storage. */
const char *scope_excuse(const struct scope *scope, const struct target *target, size_t rule);

#endif
