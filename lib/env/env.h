/* SPDX-License-Identifier: Apache-2.0
 * env.h: the real environment: malloc, the kernel's sockets and files, its clock and its random source.
 * It has no pool (rent and release are NULL) and injects no fault.
 * It breaks on a kernel without sendfile(2) and getrandom(2): Linux.
 */
#ifndef PAL_ENV_H
#define PAL_ENV_H

#include "../pal.h"

#ifdef __cplusplus
extern "C" {
#endif

/* pal_env_real: the process's only one. Static storage, context NULL, never changed; may be copied to replace
 * functions. */
const struct pal_env *pal_env_real(void);

#ifdef __cplusplus
}
#endif
#endif
