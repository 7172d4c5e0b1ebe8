/* SPDX-License-Identifier: Apache-2.0
 * slot.h: what a thread keeps between calls: one slot per kind, with a key, what was computed from it, and an open
 * message. It does no cryptography. Compiled into each engine's object, so every engine has slots of its own. It breaks
 * when a slot is reached otherwise than through slot_find: a thread's destructor may have taken it.
 */
#ifndef PAL_SLOT_H
#define PAL_SLOT_H

#include "engine.h"

/* slot_kind: SLOT_MESSAGE is the open message of the one-shot hmac, without a key. */
enum slot_kind { SLOT_HMAC, SLOT_SEAL, SLOT_OPEN, SLOT_MESSAGE, SLOT_NUM_KINDS };

/* slot_hash: the state of one digest computation. */
union slot_hash {
    SHA_CTX sha1;
    SHA256_CTX sha256;
    SHA512_CTX sha512; /* SHA-384, too */
};

/* slot: one block of `env`. Whoever makes it fills the member of the union that its kind names; slot_drop ends that. */
struct slot {
    const struct pal_env *env;
    enum slot_kind kind;
    int variant; /* the digest or cipher */
    size_t key_len;
    union {
        struct {
            union slot_hash inner, outer; /* after the padded key */
            union slot_hash running;
            bool open;
        } hmac; /* SLOT_HMAC */
        struct {
            EVP_CIPHER_CTX *context; /* NULL, or owned */
            size_t nonce_len;
            struct engine_spare spare;
        } gcm; /* SLOT_SEAL, SLOT_OPEN */
        struct {
            HMAC_CTX *context; /* NULL, or owned */
        } message;             /* SLOT_MESSAGE */
    } state;
    uint8_t key[];
};

/* slot_start: once per process, before all else here; false when the system has no thread keys left. */
bool slot_start(void);

/* slot_find: the calling thread's slot of this kind, or NULL. */
struct slot *slot_find(enum slot_kind kind);

/* slot_match: as slot_find, but NULL unless it was made through `env`, for this variant and this key. The key's bytes
 * are compared in constant time. */
struct slot *slot_match(enum slot_kind kind, const struct pal_env *env, int variant, struct pal_view key);

/* slot_new: drops the thread's slot of this kind, then makes one with a copy of `key` and the state {0}. NULL when
 * there is no memory; the thread then has none. */
struct slot *slot_new(enum slot_kind kind, const struct pal_env *env, int variant, struct pal_view key);

/* slot_drop: ends the thread's slot of this kind, if any: state released, all of it wiped, memory back to where it came
 * from. The same happens when the thread ends. */
void slot_drop(enum slot_kind kind);

/* slot_table: the tables that count. */
enum slot_table { SLOT_HMAC_ONESHOT, SLOT_HMAC_CACHED, SLOT_AEAD_ONESHOT, SLOT_AEAD_CACHED, SLOT_NUM_TABLES };

/* slot_stats: the calling thread's counts for a table. Its storage is the thread's. */
struct pal_slot_stats *slot_stats(enum slot_table table);

#endif
