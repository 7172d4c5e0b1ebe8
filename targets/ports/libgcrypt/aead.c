/* SPDX-License-Identifier: Apache-2.0
 * AES-GCM through gcry_cipher: with a handle for one message, or with the thread's, keyed once for each direction.
 * gcry_cipher_setiv begins a message and forgets the one before.
 */
#include "check.h"
#include "port.h"

#include <string.h>

static _Thread_local struct pal_slot_stats counts[PAL_NUM_MODES];

static enum pal_status handle_new(gcry_cipher_hd_t *out, const struct pal_aead_job *job)
{
    static const enum gcry_cipher_algos algorithms[PAL_NUM_AEADS] = {
        [PAL_AES_128_GCM] = GCRY_CIPHER_AES128,
        [PAL_AES_192_GCM] = GCRY_CIPHER_AES192,
        [PAL_AES_256_GCM] = GCRY_CIPHER_AES256,
    };
    gcry_error_t error = gcry_cipher_open(out, algorithms[job->cipher], GCRY_CIPHER_MODE_GCM, 0);
    return status_of(error != 0 ? error : gcry_cipher_setkey(*out, job->key.data, job->key.len));
}

static gcry_error_t begin(gcry_cipher_hd_t handle, const struct pal_aead_job *job)
{
    gcry_error_t error = gcry_cipher_setiv(handle, job->nonce.data, job->nonce.len);
    for (size_t i = 0; error == 0 && i < job->num_aad; i++) {
        if (job->aad[i].len > 0) {
            error = gcry_cipher_authenticate(handle, job->aad[i].data, job->aad[i].len);
        }
    }
    return error;
}

/* play: one message, of a keyed handle. Output that is not to be had is wiped. */
static enum pal_status play(gcry_cipher_hd_t handle, bool seals, uint8_t *out, const struct pal_aead_job *job,
                            struct pal_view text)
{
    gcry_error_t (*const crypt)(gcry_cipher_hd_t, void *, size_t, const void *, size_t) =
        seals ? gcry_cipher_encrypt : gcry_cipher_decrypt;
    size_t len = seals ? text.len : text.len - job->tag_len;
    gcry_error_t error = begin(handle, job);
    if (error == 0 && len > 0) {
        error = crypt(handle, out, len, text.data, len);
    }
    if (error == 0) {
        error = seals ? gcry_cipher_gettag(handle, out + len, job->tag_len)
                      : gcry_cipher_checktag(handle, text.data + len, job->tag_len);
    }
    if (error != 0 && out != NULL) {
        explicit_bzero(out, seals ? len + job->tag_len : len);
    }
    return status_of(error);
}

static enum pal_status once(bool seals, uint8_t *out, const struct pal_aead_job *job, struct pal_view text)
{
    gcry_cipher_hd_t handle = NULL;
    enum pal_status status = handle_new(&handle, job);
    if (status == PAL_OK) {
        counts[PAL_FRESH].setups++;
        counts[PAL_FRESH].messages++;
        status = play(handle, seals, out, job, text);
    }
    gcry_cipher_close(handle);
    return status;
}

static enum pal_status kept(const struct pal_env *env, bool seals, uint8_t *out, const struct pal_aead_job *job,
                            struct pal_view text)
{
    enum kind kind = seals ? SEAL_CACHED : OPEN_CACHED;
    struct slot *slot = slot_match(kind, env, (int)job->cipher, job->key);
    enum pal_status status = PAL_OK;
    if (slot == NULL) {
        slot = slot_new(kind, env, (int)job->cipher, job->key);
        status = slot != NULL ? handle_new(&slot->cipher, job) : PAL_NO_MEMORY;
        counts[PAL_REUSED].setups += status == PAL_OK;
    }
    if (status == PAL_OK) {
        counts[PAL_REUSED].messages++;
        status = play(slot->cipher, seals, out, job, text);
    }
    if (status != PAL_OK && status != PAL_BAD_TAG) {
        slot_drop(kind); /* an engine that failed is not trusted again */
    }
    return status;
}

static enum pal_status message(enum pal_mode mode, const struct pal_env *env, bool seals, uint8_t *out,
                               const struct pal_aead_job *job, struct pal_view text)
{
    return mode == PAL_FRESH ? once(seals, out, job, text) : kept(env, seals, out, job, text);
}

static enum pal_status seal(enum pal_mode mode, const struct pal_env *env, uint8_t *out, size_t out_cap,
                            size_t *out_len, const struct pal_aead_job *job, struct pal_view plain)
{
    enum pal_status status = check_seal(out, out_cap, out_len, job, plain);
    status = status == PAL_OK ? message(mode, env, true, out, job, plain) : status;
    if (status == PAL_OK) {
        *out_len = plain.len + job->tag_len;
    }
    return status;
}

static enum pal_status unseal(enum pal_mode mode, const struct pal_env *env, uint8_t *out, size_t out_cap,
                              size_t *out_len, const struct pal_aead_job *job, struct pal_view sealed)
{
    enum pal_status status = check_open(out, out_cap, out_len, job, sealed);
    status = status == PAL_OK ? message(mode, env, false, out, job, sealed) : status;
    if (status == PAL_OK) {
        *out_len = sealed.len - job->tag_len;
    }
    return status;
}

static enum pal_status seal_fresh(enum pal_mode mode, const struct pal_env *env, uint8_t *out, size_t out_cap,
                                  size_t *out_len, const struct pal_aead_job *job, struct pal_view plain)
{
    uint8_t nonce[PAL_NONCE_LEN];
    enum pal_status status = check_seal_fresh(out, out_cap, out_len, job, plain);
    if (status != PAL_OK) {
        return status;
    }
    if (env->random(env->context, nonce, sizeof(nonce)) != PAL_OK) {
        return PAL_NO_RANDOM;
    }
    struct pal_aead_job with_nonce = *job;
    with_nonce.nonce = (struct pal_view){nonce, sizeof(nonce)};
    status = message(mode, env, true, out + sizeof(nonce), &with_nonce, plain);
    if (status == PAL_OK) {
        memcpy(out, nonce, sizeof(nonce));
        *out_len = sizeof(nonce) + plain.len + job->tag_len;
    }
    return status;
}

/* The contract's functions, once for each mode. */
#define FUNCTION(name, function, mode)                                                                                 \
    static enum pal_status name##_##function(const struct pal_env *env, uint8_t *out, size_t out_cap, size_t *out_len, \
                                             const struct pal_aead_job *job, struct pal_view text)                     \
    {                                                                                                                  \
        return function(mode, env, out, out_cap, out_len, job, text);                                                  \
    }
#define FUNCTIONS(name, mode)                                                                                          \
    FUNCTION(name, seal, mode)                                                                                         \
    FUNCTION(name, unseal, mode)                                                                                       \
    FUNCTION(name, seal_fresh, mode)                                                                                   \
    static void name##_drop(const struct pal_env *env)                                                                 \
    {                                                                                                                  \
        (void)env;                                                                                                     \
        if (mode == PAL_REUSED) {                                                                                      \
            slot_drop(SEAL_CACHED);                                                                                    \
            slot_drop(OPEN_CACHED);                                                                                    \
        }                                                                                                              \
        counts[mode] = (struct pal_slot_stats){0};                                                                     \
    }                                                                                                                  \
    static void name##_stats(const struct pal_env *env, struct pal_slot_stats *out)                                    \
    {                                                                                                                  \
        (void)env;                                                                                                     \
        *out = counts[mode];                                                                                           \
    }

FUNCTIONS(oneshot, PAL_FRESH)
FUNCTIONS(cached, PAL_REUSED)

const struct pal_aead_ops aead_ops[PAL_NUM_MODES] = {
    [PAL_FRESH] = {oneshot_seal, oneshot_unseal, oneshot_seal_fresh, oneshot_drop, oneshot_stats},
    [PAL_REUSED] = {cached_seal, cached_unseal, cached_seal_fresh, cached_drop, cached_stats},
};
