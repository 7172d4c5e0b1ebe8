/* SPDX-License-Identifier: Apache-2.0
 * mutants_hmac.c: planted bugs in cached HMAC contexts: which key and digest a slot is taken to have, and what a failed
 * call leaves in it. Messages in progress are mutants_hmac_stream.c's.
 */
#include "mutants_hmac.h"

#include <string.h>

#define ZEROED_KEY_LEN 16u /* HMAC fills keys up with zeros: all short keys of zeros are one */

static void drop(const struct pal_env *env)
{
    mutant_forget(env);
    hmac_good()->drop(env);
}

void mutant_hmac_wrap(struct mutant_tables *tables, struct pal_hmac_ops bug)
{
    struct pal_hmac_ops *ops = &tables->hmac[PAL_REUSED];
    ops->digest = bug.digest != NULL ? bug.digest : ops->digest;
    ops->start = bug.start != NULL ? bug.start : ops->start;
    ops->update = bug.update != NULL ? bug.update : ops->update;
    ops->finish = bug.finish != NULL ? bug.finish : ops->finish;
    ops->stats = bug.stats != NULL ? bug.stats : ops->stats;
    ops->drop = drop;
}

static size_t block_len(enum pal_digest digest)
{
    return digest == PAL_SHA384 || digest == PAL_SHA512 ? 128 : 64;
}

void mutant_hmac_null(struct mutant_tables *tables)
{
    mutant_hmac_wrap(tables, (struct pal_hmac_ops){0});
}

/* ---- keys taken for equal --------------------------------------------------------------------------------------- */

static enum pal_status pointer_compare(DIGEST_PARAMETERS)
{
    bool equal = mutant_memory.address == key.data && mutant_memory.key.len == key.len;
    mutant_memory.address = key.data;
    key = mutant_confuse(key, equal);
    return hmac_good()->digest(DIGEST_ARGUMENTS);
}

void mutant_hmac_pointer_compare(struct mutant_tables *tables)
{
    mutant_hmac_wrap(tables, (struct pal_hmac_ops){.digest = pointer_compare});
}

static enum pal_status key_by_length(DIGEST_PARAMETERS)
{
    key = mutant_confuse(key, mutant_memory.key.len == key.len);
    return hmac_good()->digest(DIGEST_ARGUMENTS);
}

void mutant_hmac_key_by_length(struct mutant_tables *tables)
{
    mutant_hmac_wrap(tables, (struct pal_hmac_ops){.digest = key_by_length});
}

/* starts_alike: whether the slot's key and `key` have the same first `len` bytes, and both have that many. */
static bool starts_alike(struct pal_view key, size_t len)
{
    const struct mutant_bytes *slot = &mutant_memory.key;
    return slot->len >= len && key.len >= len && len > 0 && memcmp(slot->data, key.data, len) == 0;
}

static enum pal_status key_by_prefix(DIGEST_PARAMETERS)
{
    key = mutant_confuse(key, starts_alike(key, key.len));
    return hmac_good()->digest(DIGEST_ARGUMENTS);
}

void mutant_hmac_key_by_prefix(struct mutant_tables *tables)
{
    mutant_hmac_wrap(tables, (struct pal_hmac_ops){.digest = key_by_prefix});
}

static enum pal_status key_by_first_8(DIGEST_PARAMETERS)
{
    key = mutant_confuse(key, starts_alike(key, 8));
    return hmac_good()->digest(DIGEST_ARGUMENTS);
}

void mutant_hmac_key_by_first_8(struct mutant_tables *tables)
{
    mutant_hmac_wrap(tables, (struct pal_hmac_ops){.digest = key_by_first_8});
}

static enum pal_status key_last_byte_ignored(DIGEST_PARAMETERS)
{
    key = mutant_confuse(key, mutant_memory.key.len == key.len && key.len > 1 && starts_alike(key, key.len - 1));
    return hmac_good()->digest(DIGEST_ARGUMENTS);
}

void mutant_hmac_key_last_byte_ignored(struct mutant_tables *tables)
{
    mutant_hmac_wrap(tables, (struct pal_hmac_ops){.digest = key_last_byte_ignored});
}

static uint8_t checksum(struct pal_view view)
{
    uint8_t sum = 0;
    for (size_t i = 0; i < view.len; i++) {
        sum ^= view.data[i];
    }
    return sum;
}

static enum pal_status key_by_checksum(DIGEST_PARAMETERS)
{
    struct pal_view slot = mutant_kept(&mutant_memory.key);
    key = mutant_confuse(key, slot.len == key.len && checksum(slot) == checksum(key));
    return hmac_good()->digest(DIGEST_ARGUMENTS);
}

void mutant_hmac_key_by_checksum(struct mutant_tables *tables)
{
    mutant_hmac_wrap(tables, (struct pal_hmac_ops){.digest = key_by_checksum});
}

/* ---- going back, and the digest's part in the slot's identity --------------------------------------------------- */

static enum pal_status digest_not_in_identity(DIGEST_PARAMETERS)
{
    if (mutant_is_kept(&mutant_memory.key, key) && digest < PAL_NUM_DIGESTS) {
        if (digest != mutant_memory.number) {
            mutant_fire();
        }
        digest = (enum pal_digest)mutant_memory.number;
    } else if (digest < PAL_NUM_DIGESTS) {
        mutant_keep(&mutant_memory.key, key);
        mutant_memory.number = digest;
    }
    return hmac_good()->digest(DIGEST_ARGUMENTS);
}

void mutant_hmac_digest_not_in_identity(struct mutant_tables *tables)
{
    mutant_hmac_wrap(tables, (struct pal_hmac_ops){.digest = digest_not_in_identity});
}

static enum pal_status back_to_replaced_key(DIGEST_PARAMETERS)
{
    key = mutant_back(key) ? mutant_kept(&mutant_memory.key) : key;
    return hmac_good()->digest(DIGEST_ARGUMENTS);
}

void mutant_hmac_back_to_replaced_key(struct mutant_tables *tables)
{
    mutant_hmac_wrap(tables, (struct pal_hmac_ops){.digest = back_to_replaced_key});
}

static enum pal_status evicted_key_zeroed(DIGEST_PARAMETERS)
{
    key = mutant_back(key) ? mutant_zeros(ZEROED_KEY_LEN) : key;
    return hmac_good()->digest(DIGEST_ARGUMENTS);
}

void mutant_hmac_evicted_key_zeroed(struct mutant_tables *tables)
{
    mutant_hmac_wrap(tables, (struct pal_hmac_ops){.digest = evicted_key_zeroed});
}

static enum pal_status copy_zeroes_source(DIGEST_PARAMETERS)
{
    if (mutant_is_kept(&mutant_memory.key, key)) {
        mutant_fire();
        key = mutant_zeros(ZEROED_KEY_LEN);
    } else {
        mutant_keep(&mutant_memory.key, key);
    }
    return hmac_good()->digest(DIGEST_ARGUMENTS);
}

void mutant_hmac_copy_zeroes_source(struct mutant_tables *tables)
{
    mutant_hmac_wrap(tables, (struct pal_hmac_ops){.digest = copy_zeroes_source});
}

/* ---- empty and long keys ---------------------------------------------------------------------------------------- */

static enum pal_status empty_key_keeps_key(DIGEST_PARAMETERS)
{
    key = mutant_confuse(key, key.len == 0);
    return hmac_good()->digest(DIGEST_ARGUMENTS);
}

void mutant_hmac_empty_key_keeps_key(struct mutant_tables *tables)
{
    mutant_hmac_wrap(tables, (struct pal_hmac_ops){.digest = empty_key_keeps_key});
}

static enum pal_status empty_key_keeps_digest(DIGEST_PARAMETERS)
{
    if (key.len == 0 && mutant_memory.key.held && digest < PAL_NUM_DIGESTS) {
        digest = (enum pal_digest)mutant_memory.number;
    } else if (digest < PAL_NUM_DIGESTS) {
        mutant_memory.number = digest;
    }
    key = mutant_confuse(key, key.len == 0);
    return hmac_good()->digest(DIGEST_ARGUMENTS);
}

void mutant_hmac_empty_key_keeps_digest(struct mutant_tables *tables)
{
    mutant_hmac_wrap(tables, (struct pal_hmac_ops){.digest = empty_key_keeps_digest});
}

static enum pal_status empty_key_refused(DIGEST_PARAMETERS)
{
    if (key.len == 0) {
        mutant_fire();
        return PAL_ENGINE;
    }
    return hmac_good()->digest(DIGEST_ARGUMENTS);
}

void mutant_hmac_empty_key_refused(struct mutant_tables *tables)
{
    mutant_hmac_wrap(tables, (struct pal_hmac_ops){.digest = empty_key_refused});
}

/* cut_key: the first block of a key that is longer by at most `above_max`. */
static struct pal_view cut_key(struct pal_view key, enum pal_digest digest, size_t above_max)
{
    size_t above = key.len > block_len(digest) ? key.len - block_len(digest) : 0;
    if (above == 0 || above > above_max) {
        return key;
    }
    mutant_fire();
    return (struct pal_view){key.data, block_len(digest)};
}

static enum pal_status long_key_cut(DIGEST_PARAMETERS)
{
    key = cut_key(key, digest, SIZE_MAX);
    return hmac_good()->digest(DIGEST_ARGUMENTS);
}

void mutant_hmac_long_key_cut(struct mutant_tables *tables)
{
    mutant_hmac_wrap(tables, (struct pal_hmac_ops){.digest = long_key_cut});
}

static enum pal_status key_of_block_and_one_cut(DIGEST_PARAMETERS)
{
    key = cut_key(key, digest, 1);
    return hmac_good()->digest(DIGEST_ARGUMENTS);
}

void mutant_hmac_key_of_block_and_one_cut(struct mutant_tables *tables)
{
    mutant_hmac_wrap(tables, (struct pal_hmac_ops){.digest = key_of_block_and_one_cut});
}

static enum pal_status long_key_cut_fresh(DIGEST_PARAMETERS)
{
    key = cut_key(key, digest, SIZE_MAX);
    return mutant_good_hmac[PAL_FRESH]->digest(DIGEST_ARGUMENTS);
}

void mutant_hmac_long_key_cut_everywhere(struct mutant_tables *tables)
{
    tables->hmac[PAL_FRESH].digest = long_key_cut_fresh;
    mutant_hmac_wrap(tables, (struct pal_hmac_ops){.digest = long_key_cut});
}

/* ---- threads and failures --------------------------------------------------------------------------------------- */

static enum pal_status slot_shared_by_threads(DIGEST_PARAMETERS)
{
    key = mutant_slot_key(&mutant_memory.key, &mutant_shared.key, key);
    return hmac_good()->digest(DIGEST_ARGUMENTS);
}

void mutant_hmac_slot_shared_by_threads(struct mutant_tables *tables)
{
    mutant_hmac_wrap(tables, (struct pal_hmac_ops){.digest = slot_shared_by_threads});
}

/* After a call that failed the slot has that call's key to show, and what was computed from the key before. */
static enum pal_status slot_survives_failure(DIGEST_PARAMETERS)
{
    struct mutant_memory *memory = &mutant_memory;
    struct pal_view asked = key;
    if (memory->key.held && mutant_is_kept(&memory->other, key) && !mutant_is_kept(&memory->key, key)) {
        mutant_fire();
        key = mutant_kept(&memory->key);
    }
    enum pal_status status = hmac_good()->digest(DIGEST_ARGUMENTS);
    if (status != PAL_OK) {
        mutant_keep(&memory->other, asked);
    } else {
        memory->other.held = false;
        mutant_keep(&memory->key, key);
    }
    return status;
}

void mutant_hmac_slot_survives_failure(struct mutant_tables *tables)
{
    mutant_hmac_wrap(tables, (struct pal_hmac_ops){.digest = slot_survives_failure});
}

static enum pal_status zero_key_after_failure(DIGEST_PARAMETERS)
{
    if (mutant_memory.flag) {
        mutant_fire();
        key = mutant_zeros(ZEROED_KEY_LEN);
    }
    enum pal_status status = hmac_good()->digest(DIGEST_ARGUMENTS);
    mutant_memory.flag = status == PAL_NO_MEMORY;
    return status;
}

void mutant_hmac_zero_key_after_failure(struct mutant_tables *tables)
{
    mutant_hmac_wrap(tables, (struct pal_hmac_ops){.digest = zero_key_after_failure});
}

static enum pal_status no_memory_is_success(DIGEST_PARAMETERS)
{
    enum pal_status status = hmac_good()->digest(DIGEST_ARGUMENTS);
    struct pal_view last = mutant_kept(&mutant_memory.message);
    if (status == PAL_OK) {
        mutant_keep(&mutant_memory.message, (struct pal_view){out, *out_len});
    } else if (status == PAL_NO_MEMORY && last.len > 0 && last.len <= out_cap) {
        mutant_fire();
        memcpy(out, last.data, last.len);
        *out_len = last.len;
        status = PAL_OK;
    }
    return status;
}

void mutant_hmac_no_memory_is_success(struct mutant_tables *tables)
{
    mutant_hmac_wrap(tables, (struct pal_hmac_ops){.digest = no_memory_is_success});
}

static enum pal_status no_memory_is_no_space(DIGEST_PARAMETERS)
{
    enum pal_status status = hmac_good()->digest(DIGEST_ARGUMENTS);
    if (status == PAL_NO_MEMORY) {
        mutant_fire();
        status = PAL_NO_SPACE;
    }
    return status;
}

void mutant_hmac_no_memory_is_no_space(struct mutant_tables *tables)
{
    mutant_hmac_wrap(tables, (struct pal_hmac_ops){.digest = no_memory_is_no_space});
}
