/* SPDX-License-Identifier: Apache-2.0
 * mutants_aead_open.c: planted bugs in opening: forged messages taken, good ones refused, plaintext left behind.
 */
#include "mutants_aead.h"

#include <string.h>

/* unsealed: a message that is not authentic, opened all the same. */
struct unsealed {
    size_t len;
    uint8_t plain[MUTANT_TEXT_MAX];
    uint8_t sealed[MUTANT_TEXT_MAX]; /* the plaintext with its true tag */
};

static _Thread_local struct unsealed unsealed;

/* unseal: GCM is a stream cipher, so sealing the ciphertext gives the plaintext. False when there is nothing to show:
 * in place the ciphertext is gone by now. */
static bool unseal(const struct pal_env *env, const uint8_t *out, const struct pal_aead_job *job,
                   struct pal_view sealed)
{
    size_t written = 0;
    if (sealed.len < job->tag_len || sealed.len > MUTANT_TEXT_MAX || out == sealed.data) {
        return false;
    }
    struct pal_view text = {sealed.data, sealed.len - job->tag_len};
    unsealed.len = text.len;
    if (aead_good()->seal(env, unsealed.plain, MUTANT_TEXT_MAX, &written, job, text) != PAL_OK) {
        return false;
    }
    text.data = unsealed.plain;
    return aead_good()->seal(env, unsealed.sealed, MUTANT_TEXT_MAX, &written, job, text) == PAL_OK;
}

/* accept: gives the caller what unseal found. */
static enum pal_status accept(uint8_t *out, size_t *out_len)
{
    mutant_fire();
    if (unsealed.len > 0) {
        memcpy(out, unsealed.plain, unsealed.len);
    }
    *out_len = unsealed.len;
    return PAL_OK;
}

/* ---- what a mismatch leaves ------------------------------------------------------------------------------------- */

static enum pal_status keep_plaintext_on_mismatch(AEAD_PARAMETERS)
{
    enum pal_status status = aead_good()->open(env, out, out_cap, out_len, job, text);
    if (status == PAL_BAD_TAG && unseal(env, out, job, text) && unsealed.len > 0) {
        mutant_fire();
        memcpy(out, unsealed.plain, unsealed.len);
    }
    return status;
}

void mutant_aead_keep_plaintext_on_mismatch(struct mutant_tables *tables)
{
    mutant_aead_wrap(tables, (struct pal_aead_ops){.open = keep_plaintext_on_mismatch});
}

static enum pal_status wipe_first_block_only(AEAD_PARAMETERS)
{
    enum pal_status status = aead_good()->open(env, out, out_cap, out_len, job, text);
    size_t len = text.len > job->tag_len ? text.len - job->tag_len : 0;
    if (status == PAL_BAD_TAG && len > 16 && out != text.data) {
        mutant_fire();
        memcpy(out + 16, text.data + 16, len - 16);
    }
    return status;
}

void mutant_aead_wipe_first_block_only(struct mutant_tables *tables)
{
    mutant_aead_wrap(tables, (struct pal_aead_ops){.open = wipe_first_block_only});
}

static enum pal_status dead_after_mismatch(AEAD_PARAMETERS)
{
    if (mutant_memory.flag && mutant_is_kept(&mutant_memory.key, job->key)) {
        mutant_fire();
        return PAL_ENGINE;
    }
    enum pal_status status = aead_good()->open(env, out, out_cap, out_len, job, text);
    mutant_memory.flag = status == PAL_BAD_TAG;
    mutant_keep(&mutant_memory.key, job->key);
    return status;
}

void mutant_aead_dead_after_mismatch(struct mutant_tables *tables)
{
    mutant_aead_wrap(tables, (struct pal_aead_ops){.open = dead_after_mismatch});
}

/* ---- forged messages that are taken ----------------------------------------------------------------------------- */

/* Under the key of an open that ended so, the next forged message is taken. */
static enum pal_status open_after(AEAD_PARAMETERS, enum pal_status last)
{
    struct mutant_memory *memory = &mutant_memory;
    enum pal_status status = aead_good()->open(env, out, out_cap, out_len, job, text);
    bool after = memory->number == (size_t)last && mutant_is_kept(&memory->key, job->key);
    memory->number = status;
    mutant_keep(&memory->key, job->key);
    return status == PAL_BAD_TAG && after && unseal(env, out, job, text) ? accept(out, out_len) : status;
}

static enum pal_status accept_after_mismatch(AEAD_PARAMETERS)
{
    return open_after(env, out, out_cap, out_len, job, text, PAL_BAD_TAG);
}

void mutant_aead_accept_after_mismatch(struct mutant_tables *tables)
{
    mutant_aead_wrap(tables, (struct pal_aead_ops){.open = accept_after_mismatch});
}

static enum pal_status accept_after_good(AEAD_PARAMETERS)
{
    return open_after(env, out, out_cap, out_len, job, text, PAL_OK);
}

void mutant_aead_accept_after_good(struct mutant_tables *tables)
{
    mutant_aead_wrap(tables, (struct pal_aead_ops){.open = accept_after_good});
}

static enum pal_status seal_keeping_tag(AEAD_PARAMETERS)
{
    enum pal_status status = aead_good()->seal(env, out, out_cap, out_len, job, text);
    if (status == PAL_OK) {
        mutant_keep(&mutant_memory.message, (struct pal_view){out + text.len, job->tag_len});
    }
    return status;
}

/* Nobody set the tag to expect: it is compared with the one that was computed last. */
static enum pal_status open_against_last_tag(AEAD_PARAMETERS)
{
    enum pal_status status = aead_good()->open(env, out, out_cap, out_len, job, text);
    if (status == PAL_BAD_TAG && unseal(env, out, job, text) &&
        mutant_is_kept(&mutant_memory.message, (struct pal_view){unsealed.sealed + unsealed.len, job->tag_len})) {
        status = accept(out, out_len);
    }
    return status;
}

void mutant_aead_tag_of_last_seal(struct mutant_tables *tables)
{
    mutant_aead_wrap(tables, (struct pal_aead_ops){.seal = seal_keeping_tag, .open = open_against_last_tag});
}

static enum pal_status short_tag_by_first_4(AEAD_PARAMETERS)
{
    enum pal_status status = aead_good()->open(env, out, out_cap, out_len, job, text);
    if (status == PAL_BAD_TAG && job->tag_len < PAL_TAG_LEN_MAX && unseal(env, out, job, text) &&
        memcmp(unsealed.sealed + unsealed.len, text.data + unsealed.len, 4) == 0) {
        status = accept(out, out_len);
    }
    return status;
}

void mutant_aead_short_tag_by_first_4(struct mutant_tables *tables)
{
    mutant_aead_wrap(tables, (struct pal_aead_ops){.open = short_tag_by_first_4});
}

static enum pal_status cut_message_is_empty(AEAD_PARAMETERS)
{
    enum pal_status status = aead_good()->open(env, out, out_cap, out_len, job, text);
    if (status == PAL_BAD_TAG && text.len < job->tag_len) {
        mutant_fire();
        *out_len = 0;
        status = PAL_OK;
    }
    return status;
}

void mutant_aead_cut_message_is_empty(struct mutant_tables *tables)
{
    mutant_aead_wrap(tables, (struct pal_aead_ops){.open = cut_message_is_empty});
}
