/* SPDX-License-Identifier: Apache-2.0
 * mutants_crypt.c: planted bugs that leave every result right: output where none belongs, keys left in memory, blocks
 * and key set-ups too many. Played by the targets hmac and aead.
 */
#include "mutants_aead.h"
#include "mutants_hmac.h"

#include <string.h>

#define LEAK_LEN 32u

/* ---- output ----------------------------------------------------------------------------------------------------- */

static enum pal_status write_past_length(DIGEST_PARAMETERS)
{
    enum pal_status status = hmac_good()->digest(DIGEST_ARGUMENTS);
    if (status == PAL_OK && out_cap > *out_len) {
        mutant_fire();
        out[*out_len] = 0;
    }
    return status;
}

void mutant_hmac_write_past_length(struct mutant_tables *tables)
{
    mutant_hmac_wrap(tables, (struct pal_hmac_ops){.digest = write_past_length});
}

/* That there is no room is found out when the digest is there already. */
static enum pal_status no_space_after_writing(DIGEST_PARAMETERS)
{
    uint8_t result[PAL_DIGEST_LEN_MAX];
    size_t result_len = 0;
    enum pal_status status = hmac_good()->digest(DIGEST_ARGUMENTS);
    if (status == PAL_NO_SPACE && out_cap > 0 &&
        hmac_good()->digest(env, result, sizeof(result), &result_len, digest, key, parts, num_parts) == PAL_OK) {
        mutant_fire();
        memcpy(out, result, out_cap);
    }
    return status;
}

void mutant_hmac_no_space_after_writing(struct mutant_tables *tables)
{
    mutant_hmac_wrap(tables, (struct pal_hmac_ops){.digest = no_space_after_writing});
}

static enum pal_status no_space_sets_length(const struct pal_env *env, uint8_t *out, size_t out_cap, size_t *out_len)
{
    enum pal_status status = hmac_good()->finish(env, out, out_cap, out_len);
    if (status == PAL_NO_SPACE) {
        mutant_fire();
        *out_len = PAL_DIGEST_LEN_MAX;
    }
    return status;
}

void mutant_hmac_no_space_sets_length(struct mutant_tables *tables)
{
    mutant_hmac_wrap(tables, (struct pal_hmac_ops){.finish = no_space_sets_length});
}

static enum pal_status seal_until_no_space(AEAD_PARAMETERS)
{
    enum pal_status status = aead_good()->seal(env, out, out_cap, out_len, job, text);
    if (status == PAL_NO_SPACE && out_cap > 0) {
        mutant_fire();
        memset(out, 0, out_cap);
    }
    return status;
}

void mutant_aead_no_space_after_writing(struct mutant_tables *tables)
{
    mutant_aead_wrap(tables, (struct pal_aead_ops){.seal = seal_until_no_space});
}

static enum pal_status wipe_whole_capacity(AEAD_PARAMETERS)
{
    enum pal_status status = aead_good()->open(env, out, out_cap, out_len, job, text);
    if (status == PAL_BAD_TAG && out_cap > 0) {
        mutant_fire();
        memset(out, 0, out_cap);
    }
    return status;
}

void mutant_aead_wipe_whole_capacity(struct mutant_tables *tables)
{
    mutant_aead_wrap(tables, (struct pal_aead_ops){.open = wipe_whole_capacity});
}

static enum pal_status mismatch_sets_length(AEAD_PARAMETERS)
{
    enum pal_status status = aead_good()->open(env, out, out_cap, out_len, job, text);
    if (status == PAL_BAD_TAG) {
        mutant_fire();
        *out_len = 0;
    }
    return status;
}

void mutant_aead_mismatch_sets_length(struct mutant_tables *tables)
{
    mutant_aead_wrap(tables, (struct pal_aead_ops){.open = mismatch_sets_length});
}

/* ---- keys in memory --------------------------------------------------------------------------------------------- */

/* key_block: a copy of a key in a block of the environment, or NULL. */
static uint8_t *key_block(const struct pal_env *env, struct pal_view key)
{
    uint8_t *block = key.len > 0 ? mutant_block(env, key.len) : NULL;
    if (block != NULL) {
        mutant_fire();
        memcpy(block, key.data, key.len);
    }
    return block;
}

static enum pal_status key_left_in_freed_block(DIGEST_PARAMETERS)
{
    if (!mutant_is_kept(&mutant_memory.key, key)) {
        env->free(env->context, key_block(env, key));
        mutant_keep(&mutant_memory.key, key);
    }
    return hmac_good()->digest(DIGEST_ARGUMENTS);
}

void mutant_hmac_key_left_in_freed_block(struct mutant_tables *tables)
{
    mutant_hmac_wrap(tables, (struct pal_hmac_ops){.digest = key_left_in_freed_block});
}

/* A copy of the first key outlives all keys that replace it. */
static enum pal_status replaced_key_kept(DIGEST_PARAMETERS)
{
    if (mutant_memory.block == NULL && key.len > 0) {
        mutant_keep(&mutant_memory.key, key);
        mutant_memory.block = key_block(env, key);
    }
    return hmac_good()->digest(DIGEST_ARGUMENTS);
}

void mutant_hmac_replaced_key_kept(struct mutant_tables *tables)
{
    mutant_hmac_wrap(tables, (struct pal_hmac_ops){.digest = replaced_key_kept});
}

static enum pal_status seal_noting_key(AEAD_PARAMETERS)
{
    mutant_keep(&mutant_memory.key, job->key);
    return aead_good()->seal(env, out, out_cap, out_len, job, text);
}

static void drop_without_wiping(const struct pal_env *env)
{
    env->free(env->context, key_block(env, mutant_kept(&mutant_memory.key)));
    mutant_forget(env);
    aead_good()->drop(env);
}

void mutant_aead_drop_without_wiping(struct mutant_tables *tables)
{
    mutant_aead_wrap(tables, (struct pal_aead_ops){.seal = seal_noting_key, .drop = drop_without_wiping});
}

/* ---- allocations ------------------------------------------------------------------------------------------------ */

static enum pal_status allocate_on_hit(DIGEST_PARAMETERS)
{
    if (mutant_is_kept(&mutant_memory.key, key)) {
        mutant_fire();
        env->free(env->context, mutant_block(env, LEAK_LEN));
    }
    mutant_keep(&mutant_memory.key, key);
    return hmac_good()->digest(DIGEST_ARGUMENTS);
}

void mutant_hmac_allocate_on_hit(struct mutant_tables *tables)
{
    mutant_hmac_wrap(tables, (struct pal_hmac_ops){.digest = allocate_on_hit});
}

static enum pal_status allocate_for_long_nonce(AEAD_PARAMETERS)
{
    if (job->nonce.len > 16 && job->nonce.len <= PAL_NONCE_LEN_MAX) {
        mutant_fire();
        env->free(env->context, mutant_block(env, job->nonce.len));
    }
    return aead_good()->seal(env, out, out_cap, out_len, job, text);
}

void mutant_aead_allocate_for_long_nonce(struct mutant_tables *tables)
{
    mutant_aead_wrap(tables, (struct pal_aead_ops){.seal = allocate_for_long_nonce});
}

static enum pal_status leak_on_refusal(DIGEST_PARAMETERS)
{
    enum pal_status status = hmac_good()->digest(DIGEST_ARGUMENTS);
    if (status != PAL_OK && mutant_block(env, LEAK_LEN) != NULL) {
        mutant_fire();
    }
    return status;
}

void mutant_hmac_leak_on_refusal(struct mutant_tables *tables)
{
    mutant_hmac_wrap(tables, (struct pal_hmac_ops){.digest = leak_on_refusal});
}

static enum pal_status leak_on_mismatch(AEAD_PARAMETERS)
{
    enum pal_status status = aead_good()->open(env, out, out_cap, out_len, job, text);
    if (status == PAL_BAD_TAG && mutant_block(env, LEAK_LEN) != NULL) {
        mutant_fire();
    }
    return status;
}

void mutant_aead_leak_on_mismatch(struct mutant_tables *tables)
{
    mutant_aead_wrap(tables, (struct pal_aead_ops){.open = leak_on_mismatch});
}

/* ---- key set-ups ------------------------------------------------------------------------------------------------ */

static void stats_of_setup_each_time(const struct pal_env *env, struct pal_slot_stats *out)
{
    hmac_good()->stats(env, out);
    if (out->setups < out->messages) {
        mutant_fire();
        out->setups = out->messages;
    }
}

void mutant_hmac_setup_each_time(struct mutant_tables *tables)
{
    mutant_hmac_wrap(tables, (struct pal_hmac_ops){.stats = stats_of_setup_each_time});
}

static enum pal_status setup_by_address(DIGEST_PARAMETERS)
{
    if (mutant_is_kept(&mutant_memory.key, key) && mutant_memory.address != key.data) {
        mutant_fire();
        mutant_memory.setups++;
    }
    mutant_memory.address = key.data;
    mutant_keep(&mutant_memory.key, key);
    return hmac_good()->digest(DIGEST_ARGUMENTS);
}

static void stats_of_hmac(const struct pal_env *env, struct pal_slot_stats *out)
{
    hmac_good()->stats(env, out);
    out->setups += mutant_memory.setups;
}

void mutant_hmac_setup_by_address(struct mutant_tables *tables)
{
    mutant_hmac_wrap(tables, (struct pal_hmac_ops){.digest = setup_by_address, .stats = stats_of_hmac});
}

static enum pal_status setup_for_nonce_length(AEAD_PARAMETERS)
{
    if (mutant_is_kept(&mutant_memory.key, job->key) && mutant_memory.number != job->nonce.len) {
        mutant_fire();
        mutant_memory.setups++;
    }
    mutant_memory.number = job->nonce.len;
    mutant_keep(&mutant_memory.key, job->key);
    return aead_good()->seal(env, out, out_cap, out_len, job, text);
}

static void stats_of_aead(const struct pal_env *env, struct pal_slot_stats *out)
{
    aead_good()->stats(env, out);
    out->setups += mutant_memory.setups;
}

void mutant_aead_setup_for_nonce_length(struct mutant_tables *tables)
{
    mutant_aead_wrap(tables, (struct pal_aead_ops){.seal = setup_for_nonce_length, .stats = stats_of_aead});
}
