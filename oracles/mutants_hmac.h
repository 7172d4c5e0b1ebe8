/* SPDX-License-Identifier: Apache-2.0
 * mutants_hmac.h: for the files of HMAC mutants: one operation's parameters by name, and how a bug gets into the table.
 */
#ifndef PALDIFF_MUTANTS_HMAC_H
#define PALDIFF_MUTANTS_HMAC_H

#include "mutants_memory.h"

#define DIGEST_PARAMETERS                                                                                              \
    const struct pal_env *env, uint8_t *out, size_t out_cap, size_t *out_len, enum pal_digest digest,                  \
        struct pal_view key, const struct pal_view *parts, size_t num_parts
#define DIGEST_ARGUMENTS env, out, out_cap, out_len, digest, key, parts, num_parts

/* hmac_good: the cached table that is wrapped. */
static inline const struct pal_hmac_ops *hmac_good(void)
{
    return mutant_good_hmac[PAL_REUSED];
}

/* mutant_hmac_wrap: puts the operations that `bug` has into the cached table, and forgetting at drop. */
void mutant_hmac_wrap(struct mutant_tables *tables, struct pal_hmac_ops bug);

#endif
