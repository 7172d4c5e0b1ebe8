/* SPDX-License-Identifier: Apache-2.0
 * HMAC through gcry_mac, one-shot and cached. A cached handle is reset for each message; it keeps the padded key.
 */
#include "check.h"
#include "port.h"

static _Thread_local struct pal_slot_stats counts[PAL_NUM_MODES];

static enum kind kind_of(enum pal_mode mode)
{
    return mode == PAL_FRESH ? HMAC_ONESHOT : HMAC_CACHED;
}

static enum pal_status give_key(struct slot *slot, enum pal_digest digest)
{
    static const enum gcry_mac_algos algorithms[PAL_NUM_DIGESTS] = {
        [PAL_SHA1] = GCRY_MAC_HMAC_SHA1,
        [PAL_SHA256] = GCRY_MAC_HMAC_SHA256,
        [PAL_SHA384] = GCRY_MAC_HMAC_SHA384,
        [PAL_SHA512] = GCRY_MAC_HMAC_SHA512,
    };
    gcry_error_t error = gcry_mac_open(&slot->mac, algorithms[digest], 0, NULL);
    return status_of(error != 0 ? error : gcry_mac_setkey(slot->mac, slot->key, slot->key_len));
}

/* open_slot: the thread's slot, keyed, with a message just begun. */
static enum pal_status open_slot(enum pal_mode mode, const struct pal_env *env, enum pal_digest digest,
                                 struct pal_view key)
{
    enum kind kind = kind_of(mode);
    struct slot *slot = slot_match(kind, env, (int)digest, key);
    enum pal_status status = PAL_NO_MEMORY;
    if (slot != NULL) {
        status = status_of(gcry_mac_reset(slot->mac));
    } else if ((slot = slot_new(kind, env, (int)digest, key)) != NULL) {
        status = give_key(slot, digest);
        counts[mode].setups += status == PAL_OK;
    }
    if (status != PAL_OK) {
        slot_drop(kind);
        return status;
    }
    counts[mode].messages++;
    slot->open = true;
    return PAL_OK;
}

static void close_slot(enum pal_mode mode)
{
    struct slot *slot = slot_find(kind_of(mode));
    if (slot != NULL) {
        slot->open = false;
    }
    if (mode == PAL_FRESH) {
        slot_drop(HMAC_ONESHOT);
    }
}

static struct slot *find_open(enum pal_mode mode)
{
    struct slot *slot = slot_find(kind_of(mode));
    return slot != NULL && slot->open ? slot : NULL;
}

static enum pal_status add(enum pal_mode mode, struct slot *slot, struct pal_view part)
{
    enum pal_status status = part.len > 0 ? status_of(gcry_mac_write(slot->mac, part.data, part.len)) : PAL_OK;
    if (status != PAL_OK) {
        slot_drop(kind_of(mode));
    }
    return status;
}

static enum pal_status start(enum pal_mode mode, const struct pal_env *env, enum pal_digest digest, struct pal_view key)
{
    enum pal_status status = check_key(digest, key);
    close_slot(mode);
    return status == PAL_OK ? open_slot(mode, env, digest, key) : status;
}

static enum pal_status update(enum pal_mode mode, struct pal_view part)
{
    struct slot *slot = find_open(mode);
    if (slot == NULL) {
        return PAL_BAD_STATE;
    }
    return pal_view_valid(part) ? add(mode, slot, part) : PAL_BAD_ARGUMENT;
}

static enum pal_status finish(enum pal_mode mode, uint8_t *out, size_t out_cap, size_t *out_len)
{
    struct slot *slot = find_open(mode);
    if (slot == NULL) {
        return PAL_BAD_STATE;
    }
    size_t len = check_digest_len((enum pal_digest)slot->variant);
    enum pal_status status = check_output(out, out_cap, out_len, len);
    if (status != PAL_OK) {
        return status;
    }
    status = status_of(gcry_mac_read(slot->mac, out, &len));
    if (status == PAL_OK) {
        *out_len = len;
        close_slot(mode);
    } else {
        slot_drop(kind_of(mode));
    }
    return status;
}

static enum pal_status digest(enum pal_mode mode, const struct pal_env *env, uint8_t *out, size_t out_cap,
                              size_t *out_len, enum pal_digest which, struct pal_view key, const struct pal_view *parts,
                              size_t num_parts)
{
    enum pal_status status = check_hmac(out, out_cap, out_len, which, key, parts, num_parts);
    close_slot(mode);
    status = status == PAL_OK ? open_slot(mode, env, which, key) : status;
    for (size_t i = 0; status == PAL_OK && i < num_parts; i++) {
        status = add(mode, slot_find(kind_of(mode)), parts[i]);
    }
    return status == PAL_OK ? finish(mode, out, out_cap, out_len) : status;
}

/* The contract's functions, once for each mode. */
#define FUNCTIONS(name, mode)                                                                                          \
    static enum pal_status name##_digest(const struct pal_env *env, uint8_t *out, size_t out_cap, size_t *out_len,     \
                                         enum pal_digest which, struct pal_view key, const struct pal_view *parts,     \
                                         size_t num_parts)                                                             \
    {                                                                                                                  \
        return digest(mode, env, out, out_cap, out_len, which, key, parts, num_parts);                                 \
    }                                                                                                                  \
    static enum pal_status name##_start(const struct pal_env *env, enum pal_digest which, struct pal_view key)         \
    {                                                                                                                  \
        return start(mode, env, which, key);                                                                           \
    }                                                                                                                  \
    static enum pal_status name##_update(const struct pal_env *env, struct pal_view part)                              \
    {                                                                                                                  \
        (void)env;                                                                                                     \
        return update(mode, part);                                                                                     \
    }                                                                                                                  \
    static enum pal_status name##_finish(const struct pal_env *env, uint8_t *out, size_t out_cap, size_t *out_len)     \
    {                                                                                                                  \
        (void)env;                                                                                                     \
        return finish(mode, out, out_cap, out_len);                                                                    \
    }                                                                                                                  \
    static void name##_drop(const struct pal_env *env)                                                                 \
    {                                                                                                                  \
        (void)env;                                                                                                     \
        slot_drop(kind_of(mode));                                                                                      \
        counts[mode] = (struct pal_slot_stats){0};                                                                     \
    }                                                                                                                  \
    static void name##_stats(const struct pal_env *env, struct pal_slot_stats *out)                                    \
    {                                                                                                                  \
        (void)env;                                                                                                     \
        *out = counts[mode];                                                                                           \
    }

FUNCTIONS(oneshot, PAL_FRESH)
FUNCTIONS(cached, PAL_REUSED)

const struct pal_hmac_ops hmac_ops[PAL_NUM_MODES] = {
    [PAL_FRESH] = {oneshot_digest, oneshot_start, oneshot_update, oneshot_finish, oneshot_drop, oneshot_stats},
    [PAL_REUSED] = {cached_digest, cached_start, cached_update, cached_finish, cached_drop, cached_stats},
};
