/* SPDX-License-Identifier: Apache-2.0
 * HMAC over Nettle, one-shot and cached. Nettle's contexts are plain memory: it allocates nothing, and nothing fails in
 * it. A thread has one slot for each mode; the one-shot slot is gone at the end of its message.
 */
#include <pal.h>

#include <nettle/hmac.h>
#include <nettle/nettle-meta.h>
#include <nettle/version.h>
#include <pthread.h>
#include <string.h>

#define STRING(number) TEXT(number)
#define TEXT(number) #number

union state {
    struct sha1_ctx sha1;
    struct sha256_ctx sha256;
    struct sha512_ctx sha512; /* SHA-384, too */
};

struct slot {
    const struct pal_env *env;
    enum pal_digest digest;
    bool open;
    union state outer, inner, running;
    size_t key_len;
    uint8_t key[];
};

static _Thread_local struct slot *slots[PAL_NUM_MODES];
static _Thread_local struct pal_slot_stats counts[PAL_NUM_MODES];
static pthread_key_t leaving;

static const struct nettle_hash *hash_of(enum pal_digest digest)
{
    const struct nettle_hash *const hashes[] = {&nettle_sha1, &nettle_sha256, &nettle_sha384, &nettle_sha512};
    return (unsigned)digest < PAL_NUM_DIGESTS ? hashes[digest] : NULL;
}

static void drop_slot(enum pal_mode mode)
{
    struct slot *slot = slots[mode];
    if (slot != NULL) {
        const struct pal_env *env = slot->env;
        explicit_bzero(slot, sizeof(*slot) + slot->key_len);
        env->free(env->context, slot);
        slots[mode] = NULL;
    }
}

static void leave(void *unused)
{
    (void)unused;
    drop_slot(PAL_FRESH);
    drop_slot(PAL_REUSED);
}

/* same_key: in constant time. */
static bool same_key(const struct slot *slot, struct pal_view key)
{
    uint8_t differs = 0;
    for (size_t i = 0; slot->key_len == key.len && i < key.len; i++) {
        differs |= slot->key[i] ^ key.data[i];
    }
    return slot->key_len == key.len && differs == 0;
}

/* open_slot: the thread's slot, keyed, with a message just begun. */
static enum pal_status open_slot(enum pal_mode mode, const struct pal_env *env, enum pal_digest digest,
                                 struct pal_view key)
{
    const struct nettle_hash *hash = hash_of(digest);
    struct slot *slot = slots[mode];
    if (mode == PAL_FRESH || slot == NULL || slot->env != env || slot->digest != digest || !same_key(slot, key)) {
        drop_slot(mode);
        slot = env->alloc(env->context, sizeof(*slot) + key.len);
        if (slot == NULL || pthread_setspecific(leaving, &leaving) != 0) {
            env->free(env->context, slot);
            return PAL_NO_MEMORY;
        }
        memset(slot, 0, sizeof(*slot));
        slot->env = env;
        slot->digest = digest;
        slot->key_len = key.len;
        memcpy(slot->key, key.len > 0 ? key.data : slot->key, key.len);
        hmac_set_key(&slot->outer, &slot->inner, &slot->running, hash, key.len, slot->key);
        slots[mode] = slot;
        counts[mode].setups++;
    }
    memcpy(&slot->running, &slot->inner, sizeof(slot->running));
    slot->open = true;
    counts[mode].messages++;
    return PAL_OK;
}

static void close_slot(enum pal_mode mode)
{
    if (slots[mode] != NULL) {
        slots[mode]->open = false;
    }
    if (mode == PAL_FRESH) {
        drop_slot(mode);
    }
}

static void add(struct slot *slot, struct pal_view part)
{
    if (part.len > 0) {
        hmac_update(&slot->running, hash_of(slot->digest), part.len, part.data);
    }
}

static enum pal_status check_output(const uint8_t *out, size_t out_cap, const size_t *out_len, enum pal_digest digest)
{
    if (out_len == NULL || (out == NULL && out_cap > 0)) {
        return PAL_BAD_ARGUMENT;
    }
    return out_cap < hash_of(digest)->digest_size ? PAL_NO_SPACE : PAL_OK;
}

static enum pal_status check_key(enum pal_digest digest, struct pal_view key)
{
    if (hash_of(digest) == NULL) {
        return PAL_UNSUPPORTED;
    }
    return pal_view_valid(key) ? PAL_OK : PAL_BAD_ARGUMENT;
}

static enum pal_status start(enum pal_mode mode, const struct pal_env *env, enum pal_digest digest, struct pal_view key)
{
    enum pal_status status = check_key(digest, key);
    close_slot(mode);
    return status == PAL_OK ? open_slot(mode, env, digest, key) : status;
}

static enum pal_status update(enum pal_mode mode, struct pal_view part)
{
    struct slot *slot = slots[mode];
    if (slot == NULL || !slot->open) {
        return PAL_BAD_STATE;
    }
    if (!pal_view_valid(part)) {
        return PAL_BAD_ARGUMENT;
    }
    add(slot, part);
    return PAL_OK;
}

static enum pal_status finish(enum pal_mode mode, uint8_t *out, size_t out_cap, size_t *out_len)
{
    struct slot *slot = slots[mode];
    if (slot == NULL || !slot->open) {
        return PAL_BAD_STATE;
    }
    enum pal_status status = check_output(out, out_cap, out_len, slot->digest);
    if (status == PAL_OK) {
        const struct nettle_hash *hash = hash_of(slot->digest);
        hmac_digest(&slot->outer, &slot->inner, &slot->running, hash, hash->digest_size, out);
        *out_len = hash->digest_size;
        close_slot(mode);
    }
    return status;
}

static enum pal_status digest(enum pal_mode mode, const struct pal_env *env, uint8_t *out, size_t out_cap,
                              size_t *out_len, enum pal_digest which, struct pal_view key, const struct pal_view *parts,
                              size_t num_parts)
{
    enum pal_status status = check_key(which, key);
    close_slot(mode);
    if (status == PAL_OK && parts == NULL && num_parts > 0) {
        status = PAL_BAD_ARGUMENT;
    }
    for (size_t i = 0; status == PAL_OK && i < num_parts; i++) {
        status = pal_view_valid(parts[i]) ? PAL_OK : PAL_BAD_ARGUMENT;
    }
    status = status == PAL_OK ? check_output(out, out_cap, out_len, which) : status;
    status = status == PAL_OK ? open_slot(mode, env, which, key) : status;
    if (status != PAL_OK) {
        return status;
    }
    for (size_t i = 0; i < num_parts; i++) {
        add(slots[mode], parts[i]);
    }
    return finish(mode, out, out_cap, out_len);
}

/* The contract's functions, once for each mode. */
#define TABLE(name, mode)                                                                                              \
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
        drop_slot(mode);                                                                                               \
        counts[mode] = (struct pal_slot_stats){0};                                                                     \
    }                                                                                                                  \
    static void name##_stats(const struct pal_env *env, struct pal_slot_stats *out)                                    \
    {                                                                                                                  \
        (void)env;                                                                                                     \
        *out = counts[mode];                                                                                           \
    }                                                                                                                  \
    static const struct pal_hmac_ops name = {name##_digest, name##_start, name##_update,                               \
                                             name##_finish, name##_drop,  name##_stats};

TABLE(oneshot, PAL_FRESH)
TABLE(cached, PAL_REUSED)

static bool started;

static void start_once(void)
{
    started = pthread_key_create(&leaving, leave) == 0;
}

pal_port_get_fn pal_port_get;

const struct pal_port *pal_port_get(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    static const struct pal_port port = {
        .abi = PAL_ABI_VERSION,
        .name = "nettle",
        .version = "Nettle " STRING(NETTLE_VERSION_MAJOR) "." STRING(NETTLE_VERSION_MINOR),
        .env_random = true,
        .env_clock = true,
        .hmac = {[PAL_FRESH] = &oneshot, [PAL_REUSED] = &cached},
    };
    (void)pthread_once(&once, start_once);
    return started ? &port : NULL;
}
