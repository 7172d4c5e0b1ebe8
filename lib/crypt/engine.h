/* SPDX-License-Identifier: Apache-2.0
 * engine.h: what the crypt files need of OpenSSL or BoringSSL beyond the calls that both have: start, heap, error
 * queue. It is not a wrapper: contexts and algorithms are used directly. engine.c is the one file where the two differ.
 * It breaks when an engine call that can allocate is made outside of engine_enter and engine_leave.
 */
#ifndef PAL_ENGINE_H
#define PAL_ENGINE_H

#include "../pal.h"

#include <stdalign.h>

/* OpenSSL calls HMAC_CTX and the SHA functions deprecated; hmac_oneshot.c and hmac_cached.c say why they are used. */
#ifndef OPENSSL_SUPPRESS_DEPRECATED
#define OPENSSL_SUPPRESS_DEPRECATED
#endif
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/sha.h>
#ifdef OPENSSL_IS_BORINGSSL
#include <openssl/mem.h>
#endif

/* engine_start: brings the engine up, once per process; false when it cannot be. Any thread, any number of times. */
bool engine_start(void);

/* engine_digest_fetch, engine_cipher_fetch: looks an algorithm up, as a program that keeps nothing does for every
 * message; NULL when it cannot. To be released; a context made with it stays good. OpenSSL takes locks for that and may
 * write to a cache of the whole process, so call it outside of enter and leave. For checked numbers only. */
const EVP_MD *engine_digest_fetch(enum pal_digest digest);
void engine_digest_release(const EVP_MD *digest);
const EVP_CIPHER *engine_cipher_fetch(enum pal_aead cipher);
void engine_cipher_release(const EVP_CIPHER *cipher);

/* engine_kept_cipher: looked up once, by engine_start. Not to be released. */
const EVP_CIPHER *engine_kept_cipher(enum pal_aead cipher);

/* engine_enter: from here to engine_leave what the engine allocates on this thread comes from `env`. Not to be nested.
 */
void engine_enter(const struct pal_env *env);

/* engine_leave: ends it. Gives `status` back, but for PAL_ENGINE says PAL_NO_MEMORY if env->alloc refused meanwhile.
 * Empties the thread's error queue when anything went wrong, so that no block of `env` stays in it. Memory may be freed
 * after. */
enum pal_status engine_leave(enum pal_status status);

/* engine_hmac_init: keys a new HMAC_CTX, with a key of any length. */
bool engine_hmac_init(HMAC_CTX *context, const EVP_MD *digest, struct pal_view key);

/* engine_spare: room for the longest nonce, inside of a slot. `lent` while the engine has it. {0} at first; must not
 * move. */
struct engine_spare {
    alignas(max_align_t) uint8_t memory[32 + PAL_NONCE_LEN_MAX];
    bool lent;
};

/* engine_set_nonce_len: tells a GCM context the length of nonces to come, before it sees one. What the engine allocates
 * for that is taken from `spare` (NULL: from the environment), which must outlive the context. */
bool engine_set_nonce_len(EVP_CIPHER_CTX *context, size_t nonce_len, struct engine_spare *spare);

#endif
