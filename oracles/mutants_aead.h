/* SPDX-License-Identifier: Apache-2.0
 * mutants_aead.h: for the files of AES-GCM mutants: one operation's parameters by name, and how a bug gets into the
 * table.
 */
#ifndef PALDIFF_MUTANTS_AEAD_H
#define PALDIFF_MUTANTS_AEAD_H

#include "mutants_memory.h"

/* `text` is the plaintext of seal and seal_fresh, and what open is given. */
#define AEAD_PARAMETERS                                                                                                \
    const struct pal_env *env, uint8_t *out, size_t out_cap, size_t *out_len, const struct pal_aead_job *job,          \
        struct pal_view text

/* aead_good: the cached table that is wrapped. */
static inline const struct pal_aead_ops *aead_good(void)
{
    return mutant_good_aead[PAL_REUSED];
}

/* mutant_aead_wrap: puts the operations that `bug` has into the cached table, and forgetting at drop. */
void mutant_aead_wrap(struct mutant_tables *tables, struct pal_aead_ops bug);

/* mutant_seal_under: seals with the good port, with this key or nonce in place of the job's. */
enum pal_status mutant_seal_under_key(AEAD_PARAMETERS, struct pal_view key);
enum pal_status mutant_seal_under_nonce(AEAD_PARAMETERS, struct pal_view nonce);

#endif
