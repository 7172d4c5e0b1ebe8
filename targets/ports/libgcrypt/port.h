/* SPDX-License-Identifier: Apache-2.0
 * What the files of the libgcrypt port share: a thread's slots, each a key, an engine handle that is keyed with it, and
 * what belongs to the environment. Handles are in libgcrypt's own memory, slots in the environment's.
 */
#ifndef LIBGCRYPT_PORT_H
#define LIBGCRYPT_PORT_H

#include <pal.h>

#include <gcrypt.h>

/* kind: what a slot is for. One-shot AES-GCM has none: its handle lives for a call. */
enum kind { HMAC_ONESHOT, HMAC_CACHED, SEAL_CACHED, OPEN_CACHED, NUM_KINDS };

struct slot {
    const struct pal_env *env;
    enum kind kind;
    int variant; /* the digest or cipher */
    bool open;   /* a message is under way */
    gcry_mac_hd_t mac;
    gcry_cipher_hd_t cipher;
    size_t key_len;
    uint8_t key[];
};

/* slot_find: the calling thread's slot, or NULL. slot_match: NULL, too, when it is another environment's, variant's or
 * key's. slot_new: an empty one with a copy of `key`, in place of the one there was; NULL without memory. slot_drop:
 * wipes it and gives all back, as the thread's end does. */
struct slot *slot_find(enum kind kind);
struct slot *slot_match(enum kind kind, const struct pal_env *env, int variant, struct pal_view key);
struct slot *slot_new(enum kind kind, const struct pal_env *env, int variant, struct pal_view key);
void slot_drop(enum kind kind);

/* status_of: what an engine's error comes to. */
enum pal_status status_of(gcry_error_t error);

extern const struct pal_hmac_ops hmac_ops[PAL_NUM_MODES];
extern const struct pal_aead_ops aead_ops[PAL_NUM_MODES];

#endif
