/* SPDX-License-Identifier: Apache-2.0
 * HMAC and AES-GCM over libgcrypt: the slots, and the entry.
 */
#include "port.h"

#include <pthread.h>
#include <string.h>

static pthread_key_t keys[NUM_KINDS];

static void slot_free(void *memory)
{
    struct slot *slot = memory;
    const struct pal_env *env = slot->env;
    gcry_mac_close(slot->mac);
    gcry_cipher_close(slot->cipher);
    explicit_bzero(slot, sizeof(*slot) + slot->key_len);
    env->free(env->context, slot);
}

struct slot *slot_find(enum kind kind)
{
    return pthread_getspecific(keys[kind]);
}

struct slot *slot_match(enum kind kind, const struct pal_env *env, int variant, struct pal_view key)
{
    struct slot *slot = slot_find(kind);
    uint8_t differs = 0;
    if (slot == NULL || slot->env != env || slot->variant != variant || slot->key_len != key.len) {
        return NULL;
    }
    for (size_t i = 0; i < key.len; i++) { /* in constant time */
        differs |= slot->key[i] ^ key.data[i];
    }
    return differs == 0 ? slot : NULL;
}

struct slot *slot_new(enum kind kind, const struct pal_env *env, int variant, struct pal_view key)
{
    slot_drop(kind);
    struct slot *slot = env->alloc(env->context, sizeof(*slot) + key.len);
    if (slot == NULL) {
        return NULL;
    }
    memset(slot, 0, sizeof(*slot));
    slot->env = env;
    slot->kind = kind;
    slot->variant = variant;
    slot->key_len = key.len;
    if (key.len > 0) {
        memcpy(slot->key, key.data, key.len);
    }
    if (pthread_setspecific(keys[kind], slot) != 0) {
        slot_free(slot);
        return NULL;
    }
    return slot;
}

void slot_drop(enum kind kind)
{
    struct slot *slot = slot_find(kind);
    if (slot != NULL) {
        (void)pthread_setspecific(keys[kind], NULL);
        slot_free(slot);
    }
}

enum pal_status status_of(gcry_error_t error)
{
    switch (gcry_err_code(error)) {
    case GPG_ERR_NO_ERROR:
        return PAL_OK;
    case GPG_ERR_ENOMEM:
        return PAL_NO_MEMORY;
    case GPG_ERR_CHECKSUM:
        return PAL_BAD_TAG;
    default:
        return PAL_ENGINE;
    }
}

static bool started;

static void start_once(void)
{
    started = gcry_check_version(NULL) != NULL && gcry_control(GCRYCTL_DISABLE_SECMEM, 0) == 0 &&
              gcry_control(GCRYCTL_INITIALIZATION_FINISHED, 0) == 0;
    for (int kind = 0; started && kind < NUM_KINDS; kind++) {
        started = pthread_key_create(&keys[kind], slot_free) == 0;
    }
}

pal_port_get_fn pal_port_get;

const struct pal_port *pal_port_get(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    static struct pal_port port = {
        .abi = PAL_ABI_VERSION,
        .name = "libgcrypt",
        .env_random = true, /* only nonces are drawn */
        .env_clock = true,
        .hmac = {[PAL_FRESH] = &hmac_ops[PAL_FRESH], [PAL_REUSED] = &hmac_ops[PAL_REUSED]},
        .aead = {[PAL_FRESH] = &aead_ops[PAL_FRESH], [PAL_REUSED] = &aead_ops[PAL_REUSED]},
    };
    (void)pthread_once(&once, start_once);
    port.version = gcry_check_version(NULL);
    return started ? &port : NULL;
}
