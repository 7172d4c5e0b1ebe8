/* SPDX-License-Identifier: Apache-2.0
 * gcm.c: the text of one AES-GCM message, through calls that OpenSSL and BoringSSL have in common.
 * It trusts check.h for all lengths: they fit an int here.
 * It breaks when a step is skipped because the last message did it: nonce and expected tag are per message.
 */
#include "gcm.h"

#include "check.h"

#include <string.h>

bool gcm_init(EVP_CIPHER_CTX *context, const EVP_CIPHER *cipher, const uint8_t *key, const uint8_t *nonce, bool sealing)
{
    return EVP_CipherInit_ex(context, cipher, NULL, key, nonce, sealing ? 1 : 0) == 1;
}

/* Adds AAD when out is NULL, text otherwise. */
static bool add(EVP_CIPHER_CTX *context, uint8_t *out, struct pal_view part)
{
    int written = 0;

    return part.len == 0 || EVP_CipherUpdate(context, out, &written, part.data, (int)part.len) == 1;
}

static bool add_all(EVP_CIPHER_CTX *context, uint8_t *out, const struct pal_aead_job *job, struct pal_view text)
{
    for (size_t i = 0; i < job->num_aad; i++) {
        if (!add(context, NULL, job->aad[i])) {
            return false;
        }
    }
    return add(context, out, text);
}

static bool finish(EVP_CIPHER_CTX *context)
{
    uint8_t nothing[EVP_MAX_BLOCK_LENGTH];
    int written = 0;

    return EVP_CipherFinal_ex(context, nothing, &written) == 1;
}

static void wipe(uint8_t *out, size_t len)
{
    if (len > 0) {
        OPENSSL_cleanse(out, len);
    }
}

enum pal_status gcm_seal(EVP_CIPHER_CTX *context, uint8_t *out, const struct pal_aead_job *job, struct pal_view plain)
{
    if (add_all(context, out, job, plain) && finish(context) &&
        EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, (int)job->tag_len, out + plain.len) == 1) {
        return PAL_OK;
    }
    wipe(out, plain.len + job->tag_len);
    return PAL_ENGINE;
}

enum pal_status gcm_open(EVP_CIPHER_CTX *context, uint8_t *out, const struct pal_aead_job *job, struct pal_view sealed)
{
    struct pal_view text = {sealed.data, sealed.len - job->tag_len};
    uint8_t tag[PAL_TAG_LEN_MAX];
    bool ready;

    /* Both engines keep the tag of the message before, and would compare with that. */
    memcpy(tag, sealed.data + text.len, job->tag_len);
    ready = EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, (int)job->tag_len, tag) == 1 &&
            add_all(context, out, job, text);
    if (ready && finish(context)) {
        return PAL_OK;
    }
    wipe(out, text.len);
    return ready ? PAL_BAD_TAG : PAL_ENGINE;
}

enum pal_status gcm_call_seal(gcm_way *way, const struct pal_env *env, uint8_t *out, size_t out_cap, size_t *out_len,
                              const struct pal_aead_job *job, struct pal_view plain)
{
    enum pal_status status = check_seal(out, out_cap, out_len, job, plain);

    if (status == PAL_OK) {
        status = way(env, out, job, plain);
    }
    if (status == PAL_OK) {
        *out_len = plain.len + job->tag_len;
    }
    return status;
}

enum pal_status gcm_call_open(gcm_way *way, const struct pal_env *env, uint8_t *out, size_t out_cap, size_t *out_len,
                              const struct pal_aead_job *job, struct pal_view sealed)
{
    enum pal_status status = check_open(out, out_cap, out_len, job, sealed);

    if (status == PAL_OK) {
        status = way(env, out, job, sealed);
    }
    if (status == PAL_OK) {
        *out_len = sealed.len - job->tag_len;
    }
    return status;
}

enum pal_status gcm_call_seal_fresh(gcm_way *way, const struct pal_env *env, uint8_t *out, size_t out_cap,
                                    size_t *out_len, const struct pal_aead_job *job, struct pal_view plain)
{
    enum pal_status status = check_seal_fresh(out, out_cap, out_len, job, plain);
    uint8_t nonce[PAL_NONCE_LEN];
    struct pal_aead_job with_nonce;

    if (status != PAL_OK) {
        return status;
    }
    if (env->random(env->context, nonce, sizeof(nonce)) != PAL_OK) {
        return PAL_NO_RANDOM;
    }
    with_nonce = *job;
    with_nonce.nonce = (struct pal_view){nonce, sizeof(nonce)};
    status = way(env, out + sizeof(nonce), &with_nonce, plain);
    if (status != PAL_OK) {
        return status;
    }
    memcpy(out, nonce, sizeof(nonce));
    *out_len = sizeof(nonce) + plain.len + job->tag_len;
    return PAL_OK;
}
