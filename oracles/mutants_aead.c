/* SPDX-License-Identifier: Apache-2.0
 * mutants_aead.c: planted bugs in cached AES-GCM contexts: which key a slot is taken to have, what a failed call leaves
 * in it, and requests that should be refused. What a message is made of is mutants_aead_seal.c's, opening
 * mutants_aead_open.c's.
 */
#include "mutants_aead.h"

#include <string.h>

static void drop(const struct pal_env *env)
{
    mutant_forget(env);
    aead_good()->drop(env);
}

void mutant_aead_wrap(struct mutant_tables *tables, struct pal_aead_ops bug)
{
    struct pal_aead_ops *ops = &tables->aead[PAL_REUSED];
    ops->seal = bug.seal != NULL ? bug.seal : ops->seal;
    ops->open = bug.open != NULL ? bug.open : ops->open;
    ops->seal_fresh = bug.seal_fresh != NULL ? bug.seal_fresh : ops->seal_fresh;
    ops->stats = bug.stats != NULL ? bug.stats : ops->stats;
    ops->drop = bug.drop != NULL ? bug.drop : drop;
}

enum pal_status mutant_seal_under_key(AEAD_PARAMETERS, struct pal_view key)
{
    struct pal_aead_job other = *job;
    other.key = key;
    return aead_good()->seal(env, out, out_cap, out_len, &other, text);
}

enum pal_status mutant_seal_under_nonce(AEAD_PARAMETERS, struct pal_view nonce)
{
    struct pal_aead_job other = *job;
    other.nonce = nonce;
    return aead_good()->seal(env, out, out_cap, out_len, &other, text);
}

void mutant_aead_null(struct mutant_tables *tables)
{
    mutant_aead_wrap(tables, (struct pal_aead_ops){0});
}

/* ---- keys taken for equal --------------------------------------------------------------------------------------- */

static enum pal_status pointer_compare(AEAD_PARAMETERS)
{
    bool equal = mutant_memory.address == job->key.data && mutant_memory.key.len == job->key.len;
    mutant_memory.address = job->key.data;
    return mutant_seal_under_key(env, out, out_cap, out_len, job, text, mutant_confuse(job->key, equal));
}

void mutant_aead_pointer_compare(struct mutant_tables *tables)
{
    mutant_aead_wrap(tables, (struct pal_aead_ops){.seal = pointer_compare});
}

static enum pal_status key_by_length(AEAD_PARAMETERS)
{
    bool equal = mutant_memory.key.len == job->key.len;
    return mutant_seal_under_key(env, out, out_cap, out_len, job, text, mutant_confuse(job->key, equal));
}

void mutant_aead_key_by_length(struct mutant_tables *tables)
{
    mutant_aead_wrap(tables, (struct pal_aead_ops){.seal = key_by_length});
}

static enum pal_status key_by_first_16(AEAD_PARAMETERS)
{
    const struct mutant_bytes *slot = &mutant_memory.key;
    bool equal = slot->len == job->key.len && slot->len >= 16 && memcmp(slot->data, job->key.data, 16) == 0;
    return mutant_seal_under_key(env, out, out_cap, out_len, job, text, mutant_confuse(job->key, equal));
}

void mutant_aead_key_by_first_16(struct mutant_tables *tables)
{
    mutant_aead_wrap(tables, (struct pal_aead_ops){.seal = key_by_first_16});
}

static enum pal_status back_to_replaced_key(AEAD_PARAMETERS)
{
    struct pal_view key = mutant_back(job->key) ? mutant_kept(&mutant_memory.key) : job->key;
    return mutant_seal_under_key(env, out, out_cap, out_len, job, text, key);
}

void mutant_aead_back_to_replaced_key(struct mutant_tables *tables)
{
    mutant_aead_wrap(tables, (struct pal_aead_ops){.seal = back_to_replaced_key});
}

static enum pal_status evicted_key_zeroed(AEAD_PARAMETERS)
{
    struct pal_view key = mutant_back(job->key) ? mutant_zeros(job->key.len) : job->key;
    return mutant_seal_under_key(env, out, out_cap, out_len, job, text, key);
}

void mutant_aead_evicted_key_zeroed(struct mutant_tables *tables)
{
    mutant_aead_wrap(tables, (struct pal_aead_ops){.seal = evicted_key_zeroed});
}

/* ---- slots that are not the caller's alone ---------------------------------------------------------------------- */

static enum pal_status slot_shared_by_threads(AEAD_PARAMETERS)
{
    struct pal_view key = mutant_slot_key(&mutant_memory.key, &mutant_shared.key, job->key);
    return mutant_seal_under_key(env, out, out_cap, out_len, job, text, key);
}

void mutant_aead_slot_shared_by_threads(struct mutant_tables *tables)
{
    mutant_aead_wrap(tables, (struct pal_aead_ops){.seal = slot_shared_by_threads});
}

/* Sealing believes to have left `key` in the slot, opening `other`; what is there is `message`. */
static enum pal_status seal_in_shared_slot(AEAD_PARAMETERS)
{
    struct pal_view key = mutant_slot_key(&mutant_memory.key, &mutant_memory.message, job->key);
    return mutant_seal_under_key(env, out, out_cap, out_len, job, text, key);
}

static enum pal_status open_in_shared_slot(AEAD_PARAMETERS)
{
    struct pal_aead_job other = *job;
    other.key = mutant_slot_key(&mutant_memory.other, &mutant_memory.message, job->key);
    return aead_good()->open(env, out, out_cap, out_len, &other, text);
}

void mutant_aead_slot_shared_by_directions(struct mutant_tables *tables)
{
    mutant_aead_wrap(tables, (struct pal_aead_ops){.seal = seal_in_shared_slot, .open = open_in_shared_slot});
}

/* ---- failures --------------------------------------------------------------------------------------------------- */

/* After a call that failed the slot has that call's key to show, and the schedule of the key before. */
static enum pal_status slot_survives_failure(AEAD_PARAMETERS)
{
    struct mutant_memory *memory = &mutant_memory;
    struct pal_view key = job->key;
    if (mutant_is_kept(&memory->other, key) && memory->key.len == key.len && !mutant_is_kept(&memory->key, key)) {
        mutant_fire();
        key = mutant_kept(&memory->key);
    }
    enum pal_status status = mutant_seal_under_key(env, out, out_cap, out_len, job, text, key);
    if (status != PAL_OK) {
        mutant_keep(&memory->other, job->key);
    } else {
        memory->other.held = false;
        mutant_keep(&memory->key, key);
    }
    return status;
}

void mutant_aead_slot_survives_failure(struct mutant_tables *tables)
{
    mutant_aead_wrap(tables, (struct pal_aead_ops){.seal = slot_survives_failure});
}

static enum pal_status no_memory_is_success(AEAD_PARAMETERS)
{
    enum pal_status status = aead_good()->seal(env, out, out_cap, out_len, job, text);
    if (status == PAL_NO_MEMORY) {
        mutant_fire();
        *out_len = text.len + job->tag_len;
        status = PAL_OK;
    }
    return status;
}

void mutant_aead_no_memory_is_success(struct mutant_tables *tables)
{
    mutant_aead_wrap(tables, (struct pal_aead_ops){.seal = no_memory_is_success});
}

static enum pal_status zero_key_after_failure(AEAD_PARAMETERS)
{
    struct pal_view key = mutant_memory.flag ? mutant_zeros(job->key.len) : job->key;
    if (mutant_memory.flag) {
        mutant_fire();
    }
    enum pal_status status = mutant_seal_under_key(env, out, out_cap, out_len, job, text, key);
    mutant_memory.flag = status == PAL_NO_MEMORY;
    return status;
}

void mutant_aead_zero_key_after_failure(struct mutant_tables *tables)
{
    mutant_aead_wrap(tables, (struct pal_aead_ops){.seal = zero_key_after_failure});
}

/* ---- requests that should be refused ---------------------------------------------------------------------------- */

static enum pal_status length_in_32_bits(AEAD_PARAMETERS)
{
    if (text.len > UINT32_MAX) {
        mutant_fire();
        text.len &= UINT32_MAX;
    }
    return aead_good()->seal(env, out, out_cap, out_len, job, text);
}

void mutant_aead_length_in_32_bits(struct mutant_tables *tables)
{
    mutant_aead_wrap(tables, (struct pal_aead_ops){.seal = length_in_32_bits});
}

static enum pal_status longer_key_cut(AEAD_PARAMETERS)
{
    struct pal_view key = job->key;
    if (key.len == 17 || key.len == 25 || key.len == 33) {
        mutant_fire();
        key.len--;
    }
    return mutant_seal_under_key(env, out, out_cap, out_len, job, text, key);
}

void mutant_aead_longer_key_cut(struct mutant_tables *tables)
{
    mutant_aead_wrap(tables, (struct pal_aead_ops){.seal = longer_key_cut});
}

static enum pal_status unknown_cipher_is_bad_argument(AEAD_PARAMETERS)
{
    enum pal_status status = aead_good()->seal(env, out, out_cap, out_len, job, text);
    if (status == PAL_UNSUPPORTED) {
        mutant_fire();
        status = PAL_BAD_ARGUMENT;
    }
    return status;
}

void mutant_aead_unknown_cipher_is_bad_argument(struct mutant_tables *tables)
{
    mutant_aead_wrap(tables, (struct pal_aead_ops){.seal = unknown_cipher_is_bad_argument});
}

/* The message goes out under a nonce of zeros. */
static enum pal_status random_failure_ignored(AEAD_PARAMETERS)
{
    size_t sealed_len = 0;
    enum pal_status status = aead_good()->seal_fresh(env, out, out_cap, out_len, job, text);
    if (status != PAL_NO_RANDOM) {
        return status;
    }
    mutant_fire();
    memset(out, 0, PAL_NONCE_LEN);
    status = mutant_seal_under_nonce(env, out + PAL_NONCE_LEN, out_cap - PAL_NONCE_LEN, &sealed_len, job, text,
                                     mutant_zeros(PAL_NONCE_LEN));
    *out_len = status == PAL_OK ? PAL_NONCE_LEN + sealed_len : *out_len;
    return status;
}

void mutant_aead_random_failure_ignored(struct mutant_tables *tables)
{
    mutant_aead_wrap(tables, (struct pal_aead_ops){.seal_fresh = random_failure_ignored});
}
