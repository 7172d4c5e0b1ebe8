/* SPDX-License-Identifier: Apache-2.0
 * gcm.h: one AES-GCM message on an EVP_CIPHER_CTX, and what surrounds it in both ways: checks, lengths, fresh nonces.
 * It makes and keeps no context: where that comes from is what the two ways differ in.
 * It breaks when a NULL or empty part is given to the engine: BoringSSL takes NULL for the end of the message.
 */
#ifndef PAL_GCM_H
#define PAL_GCM_H

#include "engine.h"

/* gcm_init: the next step of a context's set-up: each of cipher, key and nonce may be NULL, meaning as before. */
bool gcm_init(EVP_CIPHER_CTX *context, const EVP_CIPHER *cipher, const uint8_t *key, const uint8_t *nonce,
              bool sealing);

/* gcm_seal, gcm_open: the rest of a message under way: AAD, text, tag. PAL_OK, PAL_BAD_TAG or PAL_ENGINE; on the latter
 * two what was written to `out` is wiped. `sealed` is not shorter than the tag. */
enum pal_status gcm_seal(EVP_CIPHER_CTX *context, uint8_t *out, const struct pal_aead_job *job, struct pal_view plain);
enum pal_status gcm_open(EVP_CIPHER_CTX *context, uint8_t *out, const struct pal_aead_job *job, struct pal_view sealed);

/* gcm_way: does one message, whose arguments were checked. */
typedef enum pal_status gcm_way(const struct pal_env *env, uint8_t *out, const struct pal_aead_job *job,
                                struct pal_view text);

/* gcm_call_seal, gcm_call_open, gcm_call_seal_fresh: the functions of pal_aead_ops, given the way to do a message. */
enum pal_status gcm_call_seal(gcm_way *way, const struct pal_env *env, uint8_t *out, size_t out_cap, size_t *out_len,
                              const struct pal_aead_job *job, struct pal_view plain);
enum pal_status gcm_call_open(gcm_way *way, const struct pal_env *env, uint8_t *out, size_t out_cap, size_t *out_len,
                              const struct pal_aead_job *job, struct pal_view sealed);
enum pal_status gcm_call_seal_fresh(gcm_way *way, const struct pal_env *env, uint8_t *out, size_t out_cap,
                                    size_t *out_len, const struct pal_aead_job *job, struct pal_view plain);

#endif
