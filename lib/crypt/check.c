/* SPDX-License-Identifier: Apache-2.0
 * check.c: argument checks of the hmac and aead tables, free of any engine.
 * Order: unsupported, bad argument, too long, no space, and for open a text without room for its tag.
 * It breaks when an answer depends on where the caller's memory happens to lie: see overlaps_wrongly().
 */
#include "check.h"

static bool views_valid(const struct pal_view *views, size_t num_views)
{
    if (views == NULL) {
        return num_views == 0;
    }
    for (size_t i = 0; i < num_views; i++) {
        if (!pal_view_valid(views[i])) {
            return false;
        }
    }
    return true;
}

size_t check_digest_len(enum pal_digest digest)
{
    static const uint8_t lens[PAL_NUM_DIGESTS] = {
        [PAL_SHA1] = 20, [PAL_SHA256] = 32, [PAL_SHA384] = 48, [PAL_SHA512] = 64};

    return (unsigned)digest < PAL_NUM_DIGESTS ? lens[digest] : 0;
}

enum pal_status check_key(enum pal_digest digest, struct pal_view key)
{
    if (check_digest_len(digest) == 0) {
        return PAL_UNSUPPORTED;
    }
    return pal_view_valid(key) ? PAL_OK : PAL_BAD_ARGUMENT;
}

static bool output_valid(const uint8_t *out, size_t out_cap, const size_t *out_len)
{
    return out_len != NULL && (out != NULL || out_cap == 0);
}

enum pal_status check_output(const uint8_t *out, size_t out_cap, const size_t *out_len, size_t need)
{
    if (!output_valid(out, out_cap, out_len)) {
        return PAL_BAD_ARGUMENT;
    }
    return out_cap < need ? PAL_NO_SPACE : PAL_OK;
}

enum pal_status check_hmac(const uint8_t *out, size_t out_cap, const size_t *out_len, enum pal_digest digest,
                           struct pal_view key, const struct pal_view *parts, size_t num_parts)
{
    enum pal_status status = check_key(digest, key);

    if (status != PAL_OK) {
        return status;
    }
    if (!views_valid(parts, num_parts)) {
        return PAL_BAD_ARGUMENT;
    }
    return check_output(out, out_cap, out_len, check_digest_len(digest));
}

/* What is seen of the output is no more than its capacity: memory beyond that is not the caller's output, and who lies
 * there must not change the answer. */
static bool overlaps_wrongly(const uint8_t *out, size_t out_cap, size_t need, struct pal_view text,
                             bool in_place_allowed)
{
    uintptr_t a = (uintptr_t)out;
    uintptr_t b = (uintptr_t)text.data;
    size_t a_len = need < out_cap ? need : out_cap;

    if (a_len == 0 || text.len == 0 || (in_place_allowed && a == b)) {
        return false;
    }
    return a < b ? b - a < a_len : a - b < text.len;
}

static enum pal_status check_job(const struct pal_aead_job *job)
{
    static const uint8_t key_lens[PAL_NUM_AEADS] = {
        [PAL_AES_128_GCM] = 16, [PAL_AES_192_GCM] = 24, [PAL_AES_256_GCM] = 32};

    if (job == NULL) {
        return PAL_BAD_ARGUMENT;
    }
    if ((unsigned)job->cipher >= PAL_NUM_AEADS) {
        return PAL_UNSUPPORTED;
    }
    if (!pal_view_valid(job->key) || job->key.len != key_lens[job->cipher] || !views_valid(job->aad, job->num_aad) ||
        job->tag_len < PAL_TAG_LEN_MIN || job->tag_len > PAL_TAG_LEN_MAX) {
        return PAL_BAD_ARGUMENT;
    }
    return PAL_OK;
}

static bool nonce_valid(struct pal_view nonce)
{
    return pal_view_valid(nonce) && nonce.len >= 1 && nonce.len <= PAL_NONCE_LEN_MAX;
}

static enum pal_status check_lengths(const struct pal_aead_job *job, size_t plain_len)
{
    if (plain_len > PAL_TEXT_LEN_MAX) {
        return PAL_TOO_LONG;
    }
    for (size_t i = 0; i < job->num_aad; i++) {
        if (job->aad[i].len > PAL_TEXT_LEN_MAX) {
            return PAL_TOO_LONG;
        }
    }
    return PAL_OK;
}

/* A text that is too long is refused before overlap is asked: a wrong length would seem to cover half of the memory. */
static enum pal_status check_texts(const uint8_t *out, size_t out_cap, const struct pal_aead_job *job, size_t plain_len,
                                   size_t need_beside, struct pal_view text, bool in_place_allowed)
{
    enum pal_status status = check_lengths(job, plain_len);

    if (status != PAL_OK) {
        return status;
    }
    if (overlaps_wrongly(out, out_cap, plain_len + need_beside, text, in_place_allowed)) {
        return PAL_BAD_ARGUMENT;
    }
    return out_cap < plain_len + need_beside ? PAL_NO_SPACE : PAL_OK;
}

enum pal_status check_seal(const uint8_t *out, size_t out_cap, const size_t *out_len, const struct pal_aead_job *job,
                           struct pal_view plain)
{
    enum pal_status status = check_job(job);

    if (status != PAL_OK) {
        return status;
    }
    if (!nonce_valid(job->nonce) || !pal_view_valid(plain) || !output_valid(out, out_cap, out_len)) {
        return PAL_BAD_ARGUMENT;
    }
    return check_texts(out, out_cap, job, plain.len, job->tag_len, plain, true);
}

enum pal_status check_open(const uint8_t *out, size_t out_cap, const size_t *out_len, const struct pal_aead_job *job,
                           struct pal_view sealed)
{
    enum pal_status status = check_job(job);
    size_t plain_len;

    if (status != PAL_OK) {
        return status;
    }
    if (!nonce_valid(job->nonce) || !pal_view_valid(sealed) || !output_valid(out, out_cap, out_len)) {
        return PAL_BAD_ARGUMENT;
    }
    plain_len = sealed.len < job->tag_len ? 0 : sealed.len - job->tag_len;
    status = check_texts(out, out_cap, job, plain_len, 0, sealed, true);
    if (status == PAL_OK && sealed.len < job->tag_len) {
        return PAL_BAD_TAG;
    }
    return status;
}

enum pal_status check_seal_fresh(const uint8_t *out, size_t out_cap, const size_t *out_len,
                                 const struct pal_aead_job *job, struct pal_view plain)
{
    enum pal_status status = check_job(job);

    if (status != PAL_OK) {
        return status;
    }
    if (!pal_view_valid(plain) || !output_valid(out, out_cap, out_len)) {
        return PAL_BAD_ARGUMENT;
    }
    return check_texts(out, out_cap, job, plain.len, PAL_NONCE_LEN + job->tag_len, plain, false);
}
