/* SPDX-License-Identifier: Apache-2.0
 * credentials.h: keys and certificates for tests, made when they are needed: a certificate authority and a leaf that it
 * signed. Nothing of it is for use on a network.
 * It breaks when credentials are released through another environment than they were made through.
 */
#ifndef PAL_TLS_CREDENTIALS_H
#define PAL_TLS_CREDENTIALS_H

#include "../pal.h"

#ifdef __cplusplus
extern "C" {
#endif

enum pal_tls_key_kind { PAL_TLS_KEY_P256, PAL_TLS_KEY_RSA2048, PAL_TLS_NUM_KEY_KINDS };

/* pal_tls_identity_spec: what to make. `name` (1 to 64 bytes, no 0) is the leaf's subject and DNS name. */
struct pal_tls_identity_spec {
    enum pal_tls_key_kind kind;
    struct pal_view name;
    int64_t not_before; /* seconds since 1970, of both certificates */
    int64_t not_after;
};

/* pal_tls_credentials: DER. Views into one block of the environment; {0} is empty. */
struct pal_tls_credentials {
    struct pal_view ca;          /* certificate: somebody's `trusted` */
    struct pal_view chain;       /* leaf only: an identity's */
    struct pal_view private_key; /* PKCS#8, of the leaf */
    uint8_t *memory;
    size_t memory_len;
};

/* pal_tls_make_identity: all randomness comes from env->random, so the same stream gives the same bytes from the same
 * engine. PAL_BAD_ARGUMENT, PAL_NO_MEMORY, PAL_NO_RANDOM, PAL_ENGINE. An RSA key takes about a second under ASan. */
typedef enum pal_status pal_tls_make_identity_fn(const struct pal_env *env, struct pal_tls_credentials *out,
                                                 const struct pal_tls_identity_spec *spec);
pal_tls_make_identity_fn pal_tls_make_identity_openssl;
pal_tls_make_identity_fn pal_tls_make_identity_boringssl;

/* pal_tls_credentials_release: wipes and gives back; idempotent. */
static inline void pal_tls_credentials_release(const struct pal_env *env, struct pal_tls_credentials *credentials)
{
    volatile uint8_t *memory = credentials->memory;

    for (size_t i = 0; i < credentials->memory_len; i++) {
        memory[i] = 0;
    }
    env->free(env->context, credentials->memory);
    *credentials = (struct pal_tls_credentials){0};
}

#ifdef __cplusplus
}
#endif

#endif
