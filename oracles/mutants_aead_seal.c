/* SPDX-License-Identifier: Apache-2.0
 * mutants_aead_seal.c: planted bugs in what one AES-GCM message is made of: text, nonce, AAD, tag, where the output
 * stands.
 */
#include "mutants_aead.h"

#include <string.h>

/* is_hit: the slot's key; any other one is it from now on. */
static bool is_hit(struct pal_view key)
{
    bool hit = mutant_is_kept(&mutant_memory.key, key);
    if (!hit) {
        mutant_keep(&mutant_memory.key, key);
    }
    return hit;
}

/* ---- text ------------------------------------------------------------------------------------------------------- */

static enum pal_status null_cipher_for_192(AEAD_PARAMETERS)
{
    enum pal_status status = aead_good()->seal(env, out, out_cap, out_len, job, text);
    if (status == PAL_OK && job->cipher == PAL_AES_192_GCM && text.len > 0 && text.data != out) {
        mutant_fire();
        memcpy(out, text.data, text.len);
    }
    return status;
}

void mutant_aead_null_cipher_for_192(struct mutant_tables *tables)
{
    mutant_aead_wrap(tables, (struct pal_aead_ops){.seal = null_cipher_for_192});
}

static enum pal_status in_place_writes_first(AEAD_PARAMETERS)
{
    if (text.data == out && text.len > 0 && text.len < out_cap) {
        mutant_fire();
        memset(out, 0, text.len < 16 ? text.len : 16);
    }
    return aead_good()->seal(env, out, out_cap, out_len, job, text);
}

void mutant_aead_in_place_writes_first(struct mutant_tables *tables)
{
    mutant_aead_wrap(tables, (struct pal_aead_ops){.seal = in_place_writes_first});
}

static enum pal_status empty_text_has_no_tag(AEAD_PARAMETERS)
{
    uint8_t unseen[PAL_TAG_LEN_MAX];
    if (text.len != 0 || out_cap > sizeof(unseen)) {
        return aead_good()->seal(env, out, out_cap, out_len, job, text);
    }
    enum pal_status status = aead_good()->seal(env, unseen, out_cap, out_len, job, text);
    if (status == PAL_OK) {
        mutant_fire();
        *out_len = 0;
    }
    return status;
}

void mutant_aead_empty_text_has_no_tag(struct mutant_tables *tables)
{
    mutant_aead_wrap(tables, (struct pal_aead_ops){.seal = empty_text_has_no_tag});
}

static size_t aad_len(const struct pal_aead_job *job)
{
    size_t len = 0;
    for (size_t i = 0; i < job->num_aad; i++) {
        len += job->aad[i].data != NULL ? job->aad[i].len : 0;
    }
    return len;
}

/* seal_part_of_aad: with the first `num_aad` parts only. */
static enum pal_status seal_part_of_aad(AEAD_PARAMETERS, size_t num_aad)
{
    struct pal_aead_job other = *job;
    other.num_aad = num_aad < job->num_aad ? num_aad : job->num_aad;
    if (aad_len(&other) != aad_len(job)) {
        mutant_fire();
    }
    return aead_good()->seal(env, out, out_cap, out_len, &other, text);
}

static enum pal_status empty_text_ends_aad(AEAD_PARAMETERS)
{
    return seal_part_of_aad(env, out, out_cap, out_len, job, text, text.len == 0 ? 0 : SIZE_MAX);
}

void mutant_aead_empty_text_ends_aad(struct mutant_tables *tables)
{
    mutant_aead_wrap(tables, (struct pal_aead_ops){.seal = empty_text_ends_aad});
}

/* ---- AAD -------------------------------------------------------------------------------------------------------- */

static enum pal_status first_aad_part_only(AEAD_PARAMETERS)
{
    return seal_part_of_aad(env, out, out_cap, out_len, job, text, 1);
}

void mutant_aead_first_aad_part_only(struct mutant_tables *tables)
{
    mutant_aead_wrap(tables, (struct pal_aead_ops){.seal = first_aad_part_only});
}

static enum pal_status empty_aad_part_ends_aad(AEAD_PARAMETERS)
{
    size_t end = 0;
    while (end < job->num_aad && job->aad[end].len > 0) {
        end++;
    }
    return seal_part_of_aad(env, out, out_cap, out_len, job, text, end);
}

void mutant_aead_empty_aad_part_ends_aad(struct mutant_tables *tables)
{
    mutant_aead_wrap(tables, (struct pal_aead_ops){.seal = empty_aad_part_ends_aad});
}

/* As if each part were a string of its own, with a mark where it ends. */
static enum pal_status empty_aad_part_counts(AEAD_PARAMETERS)
{
    struct pal_aead_job other = *job;
    struct pal_view mark = mutant_zeros(1);
    bool empty = false;
    for (size_t i = 0; i < job->num_aad && job->num_aad > 1; i++) {
        empty |= job->aad[i].len == 0;
    }
    if (empty) {
        mutant_fire();
        other.aad = &mark;
        other.num_aad = 1;
    }
    return aead_good()->seal(env, out, out_cap, out_len, &other, text);
}

void mutant_aead_empty_aad_part_counts(struct mutant_tables *tables)
{
    mutant_aead_wrap(tables, (struct pal_aead_ops){.seal = empty_aad_part_counts});
}

static enum pal_status aad_skipped_on_hit(AEAD_PARAMETERS)
{
    return seal_part_of_aad(env, out, out_cap, out_len, job, text, is_hit(job->key) ? 0 : SIZE_MAX);
}

void mutant_aead_aad_skipped_on_hit(struct mutant_tables *tables)
{
    mutant_aead_wrap(tables, (struct pal_aead_ops){.seal = aad_skipped_on_hit});
}

static enum pal_status aad_of_last_message(AEAD_PARAMETERS)
{
    struct pal_aead_job other = *job;
    struct pal_view last = mutant_kept(&mutant_memory.message);
    bool survives = is_hit(job->key) && aad_len(job) == 0 && last.len > 0;
    if (survives) {
        mutant_fire();
        other.aad = &last;
        other.num_aad = 1;
    } else {
        mutant_memory.message.len = 0;
    }
    for (size_t i = 0; !survives && i < job->num_aad && job->aad[i].data != NULL; i++) {
        (void)mutant_add(&mutant_memory.message, job->aad[i]);
    }
    return aead_good()->seal(env, out, out_cap, out_len, &other, text);
}

void mutant_aead_aad_of_last_message(struct mutant_tables *tables)
{
    mutant_aead_wrap(tables, (struct pal_aead_ops){.seal = aad_of_last_message});
}

/* ---- nonce ------------------------------------------------------------------------------------------------------ */

static enum pal_status nonce_kept_on_hit(AEAD_PARAMETERS)
{
    struct mutant_bytes *last = &mutant_memory.nonce;
    if (!is_hit(job->key) || last->len != job->nonce.len) {
        mutant_keep(last, job->nonce);
    } else if (!mutant_is_kept(last, job->nonce)) {
        mutant_fire();
    }
    return mutant_seal_under_nonce(env, out, out_cap, out_len, job, text, mutant_kept(last));
}

void mutant_aead_nonce_kept_on_hit(struct mutant_tables *tables)
{
    mutant_aead_wrap(tables, (struct pal_aead_ops){.seal = nonce_kept_on_hit});
}

/* cut_nonce: its first `len` bytes. One that is refused for its length stays as it is. */
static struct pal_view cut_nonce(struct pal_view nonce, size_t len)
{
    if (nonce.len <= len || nonce.len > PAL_NONCE_LEN_MAX) {
        return nonce;
    }
    mutant_fire();
    return (struct pal_view){nonce.data, len};
}

static enum pal_status nonce_cut_to_12(AEAD_PARAMETERS)
{
    return mutant_seal_under_nonce(env, out, out_cap, out_len, job, text, cut_nonce(job->nonce, PAL_NONCE_LEN));
}

void mutant_aead_nonce_cut_to_12(struct mutant_tables *tables)
{
    mutant_aead_wrap(tables, (struct pal_aead_ops){.seal = nonce_cut_to_12});
}

static enum pal_status nonce_cut_to_12_fresh(AEAD_PARAMETERS)
{
    struct pal_aead_job other = *job;
    other.nonce = cut_nonce(job->nonce, PAL_NONCE_LEN);
    return mutant_good_aead[PAL_FRESH]->seal(env, out, out_cap, out_len, &other, text);
}

void mutant_aead_nonce_cut_everywhere(struct mutant_tables *tables)
{
    tables->aead[PAL_FRESH].seal = nonce_cut_to_12_fresh;
    mutant_aead_wrap(tables, (struct pal_aead_ops){.seal = nonce_cut_to_12});
}

static enum pal_status nonce_length_sticky(AEAD_PARAMETERS)
{
    size_t last = is_hit(job->key) && mutant_memory.number > 0 ? mutant_memory.number : SIZE_MAX;
    struct pal_view nonce = cut_nonce(job->nonce, last);
    mutant_memory.number = nonce.len <= PAL_NONCE_LEN_MAX ? nonce.len : 0;
    return mutant_seal_under_nonce(env, out, out_cap, out_len, job, text, nonce);
}

void mutant_aead_nonce_length_sticky(struct mutant_tables *tables)
{
    mutant_aead_wrap(tables, (struct pal_aead_ops){.seal = nonce_length_sticky});
}

/* seal_again: what seal_fresh made, once more under another nonce. */
static enum pal_status seal_again(const struct pal_env *env, uint8_t *out, size_t out_cap,
                                  const struct pal_aead_job *job, struct pal_view text, struct pal_view nonce)
{
    size_t sealed_len = 0;
    mutant_fire();
    memcpy(out, nonce.data, PAL_NONCE_LEN);
    return mutant_seal_under_nonce(env, out + PAL_NONCE_LEN, out_cap - PAL_NONCE_LEN, &sealed_len, job, text, nonce);
}

static enum pal_status drawn_nonce_constant(AEAD_PARAMETERS)
{
    enum pal_status status = aead_good()->seal_fresh(env, out, out_cap, out_len, job, text);
    if (status == PAL_OK) {
        status = seal_again(env, out, out_cap, job, text, mutant_zeros(PAL_NONCE_LEN));
    }
    return status;
}

void mutant_aead_drawn_nonce_constant(struct mutant_tables *tables)
{
    mutant_aead_wrap(tables, (struct pal_aead_ops){.seal_fresh = drawn_nonce_constant});
}

static enum pal_status drawn_nonce_once(AEAD_PARAMETERS)
{
    enum pal_status status = aead_good()->seal_fresh(env, out, out_cap, out_len, job, text);
    struct mutant_bytes *first = &mutant_memory.nonce;
    if (status == PAL_OK && is_hit(job->key) && first->held) {
        status = seal_again(env, out, out_cap, job, text, mutant_kept(first));
    } else if (status == PAL_OK) {
        mutant_keep(first, (struct pal_view){out, PAL_NONCE_LEN});
    }
    return status;
}

void mutant_aead_drawn_nonce_once(struct mutant_tables *tables)
{
    mutant_aead_wrap(tables, (struct pal_aead_ops){.seal_fresh = drawn_nonce_once});
}

/* ---- tag -------------------------------------------------------------------------------------------------------- */

static enum pal_status tag_length_sticky(AEAD_PARAMETERS)
{
    struct pal_aead_job other = *job;
    bool valid = job->tag_len >= PAL_TAG_LEN_MIN && job->tag_len <= PAL_TAG_LEN_MAX;
    if (valid && mutant_memory.number > 0 && mutant_memory.number < job->tag_len) {
        mutant_fire();
        other.tag_len = mutant_memory.number;
    } else if (valid) {
        mutant_memory.number = job->tag_len;
    }
    return aead_good()->seal(env, out, out_cap, out_len, &other, text);
}

void mutant_aead_tag_length_sticky(struct mutant_tables *tables)
{
    mutant_aead_wrap(tables, (struct pal_aead_ops){.seal = tag_length_sticky});
}

/* A tag longer than the last one has only as many bytes computed. */
static enum pal_status tag_tail_not_computed(AEAD_PARAMETERS)
{
    enum pal_status status = aead_good()->seal(env, out, out_cap, out_len, job, text);
    size_t last = is_hit(job->key) ? mutant_memory.number : 0;
    if (status != PAL_OK) {
        return status;
    }
    if (last > 0 && last < job->tag_len) {
        mutant_fire();
        memset(out + text.len + last, 0, job->tag_len - last);
    }
    mutant_memory.number = job->tag_len;
    return status;
}

void mutant_aead_tag_tail_not_computed(struct mutant_tables *tables)
{
    mutant_aead_wrap(tables, (struct pal_aead_ops){.seal = tag_tail_not_computed});
}
