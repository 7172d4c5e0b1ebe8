/* SPDX-License-Identifier: Apache-2.0
 * aead_oneshot.c: AES-GCM the plain way: a new context for every message, gone when the call returns.
 * It keeps nothing but counts, which is why the cached way is compared with it.
 * It breaks when a context outlives its call.
 */
#include "gcm.h"
#include "slot.h"
#include "tables.h"

/* A new context, ready for the message, or NULL; inside of engine_enter. Counts. */
static EVP_CIPHER_CTX *context_new(const EVP_CIPHER *cipher, const struct pal_aead_job *job, bool sealing)
{
    EVP_CIPHER_CTX *context = cipher == NULL ? NULL : EVP_CIPHER_CTX_new();

    /* The length comes before the nonce: the other way round a long one would be cut. */
    if (context == NULL || !gcm_init(context, cipher, NULL, NULL, sealing) ||
        !engine_set_nonce_len(context, job->nonce.len, NULL) ||
        !gcm_init(context, NULL, job->key.data, job->nonce.data, sealing)) {
        EVP_CIPHER_CTX_free(context);
        return NULL;
    }
    slot_stats(SLOT_AEAD_ONESHOT)->messages++;
    slot_stats(SLOT_AEAD_ONESHOT)->setups++;
    return context;
}

static enum pal_status message(const struct pal_env *env, uint8_t *out, const struct pal_aead_job *job,
                               struct pal_view text, bool sealing)
{
    const EVP_CIPHER *cipher = engine_cipher_fetch(job->cipher);
    enum pal_status status = PAL_ENGINE;
    EVP_CIPHER_CTX *context;

    engine_enter(env);
    context = context_new(cipher, job, sealing);
    if (context != NULL) {
        status = sealing ? gcm_seal(context, out, job, text) : gcm_open(context, out, job, text);
    }
    EVP_CIPHER_CTX_free(context);
    engine_cipher_release(cipher);
    return engine_leave(status);
}

static enum pal_status way_seal(const struct pal_env *env, uint8_t *out, const struct pal_aead_job *job,
                                struct pal_view plain)
{
    return message(env, out, job, plain, true);
}

static enum pal_status way_open(const struct pal_env *env, uint8_t *out, const struct pal_aead_job *job,
                                struct pal_view sealed)
{
    return message(env, out, job, sealed, false);
}

static enum pal_status oneshot_seal(const struct pal_env *env, uint8_t *out, size_t out_cap, size_t *out_len,
                                    const struct pal_aead_job *job, struct pal_view plain)
{
    return gcm_call_seal(way_seal, env, out, out_cap, out_len, job, plain);
}

static enum pal_status oneshot_open(const struct pal_env *env, uint8_t *out, size_t out_cap, size_t *out_len,
                                    const struct pal_aead_job *job, struct pal_view sealed)
{
    return gcm_call_open(way_open, env, out, out_cap, out_len, job, sealed);
}

static enum pal_status oneshot_seal_fresh(const struct pal_env *env, uint8_t *out, size_t out_cap, size_t *out_len,
                                          const struct pal_aead_job *job, struct pal_view plain)
{
    return gcm_call_seal_fresh(way_seal, env, out, out_cap, out_len, job, plain);
}

static void oneshot_drop(const struct pal_env *env)
{
    (void)env;
    *slot_stats(SLOT_AEAD_ONESHOT) = (struct pal_slot_stats){0};
}

static void oneshot_stats(const struct pal_env *env, struct pal_slot_stats *out)
{
    (void)env;
    *out = *slot_stats(SLOT_AEAD_ONESHOT);
}

const struct pal_aead_ops aead_oneshot = {
    .seal = oneshot_seal,
    .open = oneshot_open,
    .seal_fresh = oneshot_seal_fresh,
    .drop = oneshot_drop,
    .stats = oneshot_stats,
};
