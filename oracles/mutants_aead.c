/* SPDX-License-Identifier: Apache-2.0
 * mutants_aead.c: planted bugs in cached AES-GCM contexts. Each is one wrapped operation; what it remembers is per thread
 * and forgotten at drop, so that a scenario starts clean.
 */
#include "mutants.h"

#include <string.h>

#define MEMORY_KEY_MAX 64u

/* memory: what a mutant keeps between calls of one thread. */
static _Thread_local struct {
    const uint8_t *address;
    size_t key_len;
    uint8_t key[MEMORY_KEY_MAX];
} memory;

static const struct pal_aead_ops *good(void)
{
    return mutant_good_aead[PAL_REUSED];
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

void mutant_aead_null(struct mutant_tables *tables)
{
    tables->aead[PAL_REUSED].drop = forget;
}

static enum pal_status pointer_compare(const struct pal_env *env, uint8_t *out, size_t out_cap, size_t *out_len,
                                       const struct pal_aead_job *job, struct pal_view plain)
{
    struct pal_aead_job other = *job;
    if (memory.address != NULL && memory.address == job->key.data && memory.key_len == job->key.len) {
        mutant_fire();
        other.key = remembered();
    } else {
        remember(job->key);
    }
    return good()->seal(env, out, out_cap, out_len, &other, plain);
}

void mutant_aead_pointer_compare(struct mutant_tables *tables)
{
    tables->aead[PAL_REUSED].seal = pointer_compare;
    tables->aead[PAL_REUSED].drop = forget;
}
