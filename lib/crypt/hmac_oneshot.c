/* SPDX-License-Identifier: Apache-2.0
 * hmac_oneshot.c: HMAC the plain way: a new HMAC_CTX for every message, freed at its end.
 * HMAC_CTX is what both engines have; a message in start/update/finish is held in a slot, without its key.
 * It breaks when a context is used for a second message.
 */
#include "check.h"
#include "slot.h"
#include "tables.h"

#include <string.h>

/* A keyed context, or NULL; inside of engine_enter. Counts. */
static HMAC_CTX *context_new(const EVP_MD *digest, struct pal_view key)
{
    HMAC_CTX *context = digest == NULL ? NULL : HMAC_CTX_new();

    if (context == NULL || !engine_hmac_init(context, digest, key)) {
        HMAC_CTX_free(context);
        return NULL;
    }
    slot_stats(SLOT_HMAC_ONESHOT)->messages++;
    slot_stats(SLOT_HMAC_ONESHOT)->setups++;
    return context;
}

static bool add(HMAC_CTX *context, struct pal_view part)
{
    return part.len == 0 || HMAC_Update(context, part.data, part.len) == 1;
}

/* Writes the result only when it is complete: HMAC_Final can still run out of memory. */
static enum pal_status final(HMAC_CTX *context, uint8_t *out, size_t *out_len)
{
    uint8_t result[EVP_MAX_MD_SIZE];
    unsigned result_len = 0;

    if (HMAC_Final(context, result, &result_len) != 1) {
        return PAL_ENGINE;
    }
    memcpy(out, result, result_len);
    *out_len = result_len;
    return PAL_OK;
}

static enum pal_status oneshot_digest(const struct pal_env *env, uint8_t *out, size_t out_cap, size_t *out_len,
                                      enum pal_digest digest, struct pal_view key, const struct pal_view *parts,
                                      size_t num_parts)
{
    enum pal_status status = check_hmac(out, out_cap, out_len, digest, key, parts, num_parts);
    const EVP_MD *fetched;
    HMAC_CTX *context;
    bool ok;

    slot_drop(SLOT_MESSAGE);
    if (status != PAL_OK) {
        return status;
    }
    fetched = engine_digest_fetch(digest);
    engine_enter(env);
    context = context_new(fetched, key);
    ok = context != NULL;
    for (size_t i = 0; ok && i < num_parts; i++) {
        ok = add(context, parts[i]);
    }
    status = ok ? final(context, out, out_len) : PAL_ENGINE;
    HMAC_CTX_free(context);
    engine_digest_release(fetched);
    return engine_leave(status);
}

static enum pal_status oneshot_start(const struct pal_env *env, enum pal_digest digest, struct pal_view key)
{
    enum pal_status status = check_key(digest, key);
    const EVP_MD *fetched;
    struct slot *slot;

    slot_drop(SLOT_MESSAGE);
    if (status != PAL_OK) {
        return status;
    }
    slot = slot_new(SLOT_MESSAGE, env, (int)digest, (struct pal_view){0});
    if (slot == NULL) {
        return PAL_NO_MEMORY;
    }
    fetched = engine_digest_fetch(digest);
    engine_enter(env);
    slot->state.message.context = context_new(fetched, key);
    if (slot->state.message.context == NULL) {
        slot_drop(SLOT_MESSAGE);
        status = PAL_ENGINE;
    }
    engine_digest_release(fetched);
    return engine_leave(status);
}

static enum pal_status oneshot_update(const struct pal_env *env, struct pal_view part)
{
    struct slot *slot = slot_find(SLOT_MESSAGE);
    bool ok;

    if (slot == NULL) {
        return PAL_BAD_STATE;
    }
    if (!pal_view_valid(part)) {
        return PAL_BAD_ARGUMENT;
    }
    engine_enter(env);
    ok = add(slot->state.message.context, part);
    if (!ok) {
        slot_drop(SLOT_MESSAGE);
    }
    return engine_leave(ok ? PAL_OK : PAL_ENGINE);
}

static enum pal_status oneshot_finish(const struct pal_env *env, uint8_t *out, size_t out_cap, size_t *out_len)
{
    struct slot *slot = slot_find(SLOT_MESSAGE);
    enum pal_status status;

    if (slot == NULL) {
        return PAL_BAD_STATE;
    }
    status = check_output(out, out_cap, out_len, check_digest_len((enum pal_digest)slot->variant));
    if (status != PAL_OK) {
        return status;
    }
    engine_enter(env);
    status = final(slot->state.message.context, out, out_len);
    slot_drop(SLOT_MESSAGE);
    return engine_leave(status);
}

static void oneshot_drop(const struct pal_env *env)
{
    (void)env;
    slot_drop(SLOT_MESSAGE);
    *slot_stats(SLOT_HMAC_ONESHOT) = (struct pal_slot_stats){0};
}

static void oneshot_stats(const struct pal_env *env, struct pal_slot_stats *out)
{
    (void)env;
    *out = *slot_stats(SLOT_HMAC_ONESHOT);
}

const struct pal_hmac_ops hmac_oneshot = {
    .digest = oneshot_digest,
    .start = oneshot_start,
    .update = oneshot_update,
    .finish = oneshot_finish,
    .drop = oneshot_drop,
    .stats = oneshot_stats,
};
