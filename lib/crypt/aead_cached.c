/* SPDX-License-Identifier: Apache-2.0
 * aead_cached.c: AES-GCM on a context that the thread keeps per direction, keyed once per run of messages.
 * A context never changes its direction, is never copied, and never gets its cipher again, which would make it anew.
 * It breaks when a message relies on anything but the key of the one before: nonce and tag are set every time.
 */
#include "gcm.h"
#include "slot.h"
#include "tables.h"

/* What both engines' GCM starts with. */
enum { NONCE_LEN_AT_FIRST = 12 };

/* The thread's slot with a keyed context, made if need be; inside of engine_enter. NULL: no memory, or the engine's
 * fault. */
static struct slot *slot_keyed(enum slot_kind kind, const struct pal_env *env, const struct pal_aead_job *job,
                               enum pal_status *out_status)
{
    struct slot *slot = slot_match(kind, env, (int)job->cipher, job->key);

    if (slot != NULL) {
        return slot;
    }
    slot = slot_new(kind, env, (int)job->cipher, job->key);
    if (slot == NULL) {
        *out_status = PAL_NO_MEMORY;
        return NULL;
    }
    *out_status = PAL_ENGINE;
    slot->state.gcm.nonce_len = NONCE_LEN_AT_FIRST;
    slot->state.gcm.context = EVP_CIPHER_CTX_new();
    if (slot->state.gcm.context == NULL ||
        !gcm_init(slot->state.gcm.context, engine_kept_cipher(job->cipher), job->key.data, NULL, kind == SLOT_SEAL)) {
        return NULL;
    }
    slot_stats(SLOT_AEAD_CACHED)->setups++;
    return slot;
}

static bool set_nonce(struct slot *slot, struct pal_view nonce)
{
    if (nonce.len != slot->state.gcm.nonce_len) {
        if (!engine_set_nonce_len(slot->state.gcm.context, nonce.len, &slot->state.gcm.spare)) {
            return false;
        }
        slot->state.gcm.nonce_len = nonce.len;
    }
    return gcm_init(slot->state.gcm.context, NULL, NULL, nonce.data, slot->kind == SLOT_SEAL);
}

static enum pal_status message(enum slot_kind kind, const struct pal_env *env, uint8_t *out,
                               const struct pal_aead_job *job, struct pal_view text)
{
    enum pal_status status = PAL_ENGINE;
    struct slot *slot;

    engine_enter(env);
    slot = slot_keyed(kind, env, job, &status);
    if (slot != NULL) {
        slot_stats(SLOT_AEAD_CACHED)->messages++;
        if (!set_nonce(slot, job->nonce)) {
            status = PAL_ENGINE;
        } else if (kind == SLOT_SEAL) {
            status = gcm_seal(slot->state.gcm.context, out, job, text);
        } else {
            status = gcm_open(slot->state.gcm.context, out, job, text);
        }
    }
    /* A message that is not authentic leaves the context good; an engine that failed is not trusted again. */
    if (status != PAL_OK && status != PAL_BAD_TAG) {
        slot_drop(kind);
    }
    return engine_leave(status);
}

static enum pal_status way_seal(const struct pal_env *env, uint8_t *out, const struct pal_aead_job *job,
                                struct pal_view plain)
{
    return message(SLOT_SEAL, env, out, job, plain);
}

static enum pal_status way_open(const struct pal_env *env, uint8_t *out, const struct pal_aead_job *job,
                                struct pal_view sealed)
{
    return message(SLOT_OPEN, env, out, job, sealed);
}

static enum pal_status cached_seal(const struct pal_env *env, uint8_t *out, size_t out_cap, size_t *out_len,
                                   const struct pal_aead_job *job, struct pal_view plain)
{
    return gcm_call_seal(way_seal, env, out, out_cap, out_len, job, plain);
}

static enum pal_status cached_open(const struct pal_env *env, uint8_t *out, size_t out_cap, size_t *out_len,
                                   const struct pal_aead_job *job, struct pal_view sealed)
{
    return gcm_call_open(way_open, env, out, out_cap, out_len, job, sealed);
}

static enum pal_status cached_seal_fresh(const struct pal_env *env, uint8_t *out, size_t out_cap, size_t *out_len,
                                         const struct pal_aead_job *job, struct pal_view plain)
{
    return gcm_call_seal_fresh(way_seal, env, out, out_cap, out_len, job, plain);
}

static void cached_drop(const struct pal_env *env)
{
    (void)env;
    slot_drop(SLOT_SEAL);
    slot_drop(SLOT_OPEN);
    *slot_stats(SLOT_AEAD_CACHED) = (struct pal_slot_stats){0};
}

static void cached_stats(const struct pal_env *env, struct pal_slot_stats *out)
{
    (void)env;
    *out = *slot_stats(SLOT_AEAD_CACHED);
}

const struct pal_aead_ops aead_cached = {
    .seal = cached_seal,
    .open = cached_open,
    .seal_fresh = cached_seal_fresh,
    .drop = cached_drop,
    .stats = cached_stats,
};
