/* SPDX-License-Identifier: Apache-2.0
 * mutants_memory.h: what mutants keep between calls, and the few ways in which they mistake one key for another.
 * It is per thread and forgotten at drop, so that a scenario starts clean; a thread that ends without drop takes it
 * along.
 */
#ifndef PALDIFF_MUTANTS_MEMORY_H
#define PALDIFF_MUTANTS_MEMORY_H

#include "mutants.h"

#define MUTANT_BYTES_MAX 256u /* any key of a scenario, and a few parts of a message */
#define MUTANT_TEXT_MAX 8448u /* any text of a scenario, with nonce and tag */

/* mutant_bytes: a copy; {0} holds nothing. */
struct mutant_bytes {
    bool held;
    size_t len;
    uint8_t data[MUTANT_BYTES_MAX];
};

/* mutant_keep: a copy of `view`, cut to MUTANT_BYTES_MAX. mutant_add: `view` at the end of what is held, or nothing if
 * that does not fit; returns what it added. mutant_kept: borrowed. mutant_is_kept: held, same length, same bytes. */
void mutant_keep(struct mutant_bytes *bytes, struct pal_view view);
size_t mutant_add(struct mutant_bytes *bytes, struct pal_view view);
struct pal_view mutant_kept(const struct mutant_bytes *bytes);
bool mutant_is_kept(const struct mutant_bytes *bytes, struct pal_view view);

/* mutant_memory: each mutant uses what it needs. */
struct mutant_memory {
    const uint8_t *address;      /* of the last key */
    struct mutant_bytes key;     /* the slot's, or what the bug takes for it */
    struct mutant_bytes other;   /* one more key */
    struct mutant_bytes message; /* of the last message: text, AAD, digest or tag */
    struct mutant_bytes nonce;
    size_t number; /* of the last message: digest, or a length */
    bool flag;
    uint64_t setups; /* on top of the good port's */
    uint8_t *block;  /* from the environment, with a key in it */
};

extern _Thread_local struct mutant_memory mutant_memory;

/* mutant_shared: one for all threads; forgotten when any of them drops. Worlds run one thread at a time. */
extern struct mutant_memory mutant_shared;

/* mutant_forget: empties both, and gives the block back, wiped. */
void mutant_forget(const struct pal_env *env);

/* mutant_confuse: for a comparison that takes `key` for the slot's: the slot's in its place; otherwise `key`, the
 * slot's from now on. */
struct pal_view mutant_confuse(struct pal_view key, bool taken_for_equal);

/* mutant_slot_key: the key of a slot that others use, too: who believes to have left `key` in it takes what is there
 * now. */
struct pal_view mutant_slot_key(struct mutant_bytes *believed, struct mutant_bytes *slot, struct pal_view key);

/* mutant_back: A, B, A: the first key while the slot has another one of that length. Otherwise notes both. */
bool mutant_back(struct pal_view key);

/* mutant_zeros: `len` bytes, at most MUTANT_BYTES_MAX, of 0. */
struct pal_view mutant_zeros(size_t len);

/* mutant_block: `len` > 0 bytes from the environment, all 0, or NULL. */
uint8_t *mutant_block(const struct pal_env *env, size_t len);

#endif
