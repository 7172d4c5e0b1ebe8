/* SPDX-License-Identifier: Apache-2.0
 * mutants_hmac.c: planted bugs in cached HMAC contexts. Each is one wrapped operation; what it remembers is per thread and
 * forgotten at drop, so that a scenario starts clean.
 */
#include "mutants.h"

#include <string.h>

#define MEMORY_KEY_MAX 256u

/* memory: what a mutant keeps between calls of one thread. */
static _Thread_local struct {
    const uint8_t *address;
    size_t key_len;
    uint8_t key[MEMORY_KEY_MAX];
    enum pal_digest digest;
} memory;

/* good: the cached table that is wrapped. */
static const struct pal_hmac_ops *good(void)
{
    return mutant_good_hmac[PAL_REUSED];
}

static void forget(const struct pal_env *env)
{
    memset(&memory, 0, sizeof(memory));
    good()->drop(env);
}

static void remember(struct pal_view key)
{
    memory.address = key.data;
    memory.key_len = key.len < MEMORY_KEY_MAX ? key.len : MEMORY_KEY_MAX;
    if (memory.key_len > 0) {
        memcpy(memory.key, key.data, memory.key_len);
    }
}

static struct pal_view remembered(void)
{
    return (struct pal_view){memory.key, memory.key_len};
}

void mutant_hmac_null(struct mutant_tables *tables)
{
    tables->hmac[PAL_REUSED].drop = forget;
}

static enum pal_status pointer_compare(const struct pal_env *env, uint8_t *out, size_t out_cap, size_t *out_len,
                                       enum pal_digest digest, struct pal_view key, const struct pal_view *parts,
                                       size_t num_parts)
{
    if (memory.address != NULL && memory.address == key.data && memory.key_len == key.len) {
        mutant_fire();
        key = remembered();
    } else {
        remember(key);
    }
    return good()->digest(env, out, out_cap, out_len, digest, key, parts, num_parts);
}

void mutant_hmac_pointer_compare(struct mutant_tables *tables)
{
    tables->hmac[PAL_REUSED].digest = pointer_compare;
    tables->hmac[PAL_REUSED].drop = forget;
}
