/* SPDX-License-Identifier: Apache-2.0
 * bench_engine.c: plain, pre-fetched and bare HMAC and AES-GCM, through calls that both engines have. Built once for
 * each of them (ci/engines.cmake).
 * It breaks when a message has another key than the one before of its algorithm: FLOOR never looks.
 */
#include "bench_engine.h"

#ifndef OPENSSL_SUPPRESS_DEPRECATED
#define OPENSSL_SUPPRESS_DEPRECATED
#endif
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/sha.h>

#include <stdlib.h>
#include <string.h>

enum { BLOCK_LEN = 64 };

/* world: states and contexts of FLOOR, keyed when they are first used. */
struct world {
    bool has_sha1, has_sha256;
    SHA_CTX sha1[2];
    SHA256_CTX sha256[2];
    EVP_CIPHER_CTX *contexts[PAL_NUM_AEADS][2];
};

static const EVP_MD *digests[2];
static const EVP_CIPHER *ciphers[PAL_NUM_AEADS];

static const EVP_MD *plain_digest(unsigned algorithm)
{
    return algorithm == PAL_SHA1 ? EVP_sha1() : EVP_sha256();
}

static const EVP_CIPHER *plain_cipher(unsigned algorithm)
{
    return algorithm == PAL_AES_128_GCM ? EVP_aes_128_gcm() : EVP_aes_256_gcm();
}

static bool start(void)
{
#ifdef OPENSSL_IS_BORINGSSL
    digests[0] = EVP_sha1();
    digests[1] = EVP_sha256();
    ciphers[PAL_AES_128_GCM] = EVP_aes_128_gcm();
    ciphers[PAL_AES_256_GCM] = EVP_aes_256_gcm();
#else
    /* As the library does: no openssl.cnf, nothing torn down at exit. */
    if (OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT | OPENSSL_INIT_NO_LOAD_CONFIG, NULL) != 1) {
        return false;
    }
    digests[0] = EVP_MD_fetch(NULL, "SHA1", NULL);
    digests[1] = EVP_MD_fetch(NULL, "SHA2-256", NULL);
    ciphers[PAL_AES_128_GCM] = EVP_CIPHER_fetch(NULL, "AES-128-GCM", NULL);
    ciphers[PAL_AES_256_GCM] = EVP_CIPHER_fetch(NULL, "AES-256-GCM", NULL);
#endif
    return digests[0] != NULL && digests[1] != NULL && ciphers[PAL_AES_128_GCM] != NULL &&
           ciphers[PAL_AES_256_GCM] != NULL;
}

static void *world_new(void)
{
    return calloc(1, sizeof(struct world));
}

static void world_free(void *argument)
{
    struct world *world = argument;
    for (size_t i = 0; world != NULL && i < PAL_NUM_AEADS; i++) {
        EVP_CIPHER_CTX_free(world->contexts[i][0]);
        EVP_CIPHER_CTX_free(world->contexts[i][1]);
    }
    free(world);
}

/* ---- HMAC ----------------------------------------------------------------------------------------------------------
 */

/* Keys up to a block. */
static void pad_key(uint8_t out[BLOCK_LEN], struct pal_view key, uint8_t pad)
{
    memset(out, pad, BLOCK_LEN);
    for (size_t i = 0; i < key.len; i++) {
        out[i] = (uint8_t)(key.data[i] ^ pad);
    }
}

static bool floor_sha1(struct world *world, uint8_t *out, const struct bench_message *message)
{
    SHA_CTX running;
    uint8_t block[BLOCK_LEN];
    for (size_t i = 0; !world->has_sha1 && i < 2; i++) {
        pad_key(block, message->key, i == 0 ? 0x36 : 0x5c);
        (void)SHA1_Init(&world->sha1[i]);
        (void)SHA1_Update(&world->sha1[i], block, sizeof(block));
    }
    world->has_sha1 = true;
    running = world->sha1[0];
    (void)SHA1_Update(&running, message->text.data, message->text.len);
    (void)SHA1_Final(out, &running);
    running = world->sha1[1];
    (void)SHA1_Update(&running, out, SHA_DIGEST_LENGTH);
    return SHA1_Final(out, &running) == 1;
}

static bool floor_sha256(struct world *world, uint8_t *out, const struct bench_message *message)
{
    SHA256_CTX running;
    uint8_t block[BLOCK_LEN];
    for (size_t i = 0; !world->has_sha256 && i < 2; i++) {
        pad_key(block, message->key, i == 0 ? 0x36 : 0x5c);
        (void)SHA256_Init(&world->sha256[i]);
        (void)SHA256_Update(&world->sha256[i], block, sizeof(block));
    }
    world->has_sha256 = true;
    running = world->sha256[0];
    (void)SHA256_Update(&running, message->text.data, message->text.len);
    (void)SHA256_Final(out, &running);
    running = world->sha256[1];
    (void)SHA256_Update(&running, out, SHA256_DIGEST_LENGTH);
    return SHA256_Final(out, &running) == 1;
}

static bool run_hmac(struct world *world, enum bench_bare way, uint8_t *out, const struct bench_message *message)
{
    const uint8_t key_len = (uint8_t)message->key.len; /* an int to one engine, a size_t to the other */
    unsigned len = 0;
    HMAC_CTX *context;
    bool good;
    if (way == BENCH_FLOOR) {
        return message->algorithm == PAL_SHA1 ? floor_sha1(world, out, message) : floor_sha256(world, out, message);
    }
    if (way == BENCH_PLAIN) {
        return HMAC(plain_digest(message->algorithm), message->key.data, key_len, message->text.data, message->text.len,
                    out, &len) != NULL;
    }
    context = HMAC_CTX_new();
    good =
        context != NULL &&
        HMAC_Init_ex(context, message->key.data, key_len, digests[message->algorithm == PAL_SHA1 ? 0 : 1], NULL) == 1 &&
        HMAC_Update(context, message->text.data, message->text.len) == 1 && HMAC_Final(context, out, &len) == 1;
    HMAC_CTX_free(context);
    return good;
}

/* ---- AES-GCM -------------------------------------------------------------------------------------------------------
 */

static bool gcm_text(EVP_CIPHER_CTX *context, uint8_t *out, const struct bench_message *message)
{
    bool sealing = message->operation == BENCH_SEAL;
    size_t len = message->text.len - (sealing ? 0 : PAL_TAG_LEN_MAX);
    uint8_t tag[PAL_TAG_LEN_MAX];
    uint8_t nothing[EVP_MAX_BLOCK_LENGTH];
    int written = 0;
    if (!sealing) {
        memcpy(tag, message->text.data + len, sizeof(tag));
        if (EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, (int)sizeof(tag), tag) != 1) {
            return false;
        }
    }
    return EVP_CipherUpdate(context, out, &written, message->text.data, (int)len) == 1 &&
           EVP_CipherFinal_ex(context, nothing, &written) == 1 &&
           (!sealing || EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, PAL_TAG_LEN_MAX, out + len) == 1);
}

static bool run_gcm(struct world *world, enum bench_bare way, uint8_t *out, const struct bench_message *message)
{
    int sealing = message->operation == BENCH_SEAL ? 1 : 0;
    EVP_CIPHER_CTX **kept = &world->contexts[message->algorithm][sealing];
    const EVP_CIPHER *cipher = way == BENCH_PLAIN ? plain_cipher(message->algorithm) : ciphers[message->algorithm];
    EVP_CIPHER_CTX *context;
    bool good;
    if (way == BENCH_FLOOR && *kept != NULL) {
        return EVP_CipherInit_ex(*kept, NULL, NULL, NULL, message->nonce.data, sealing) == 1 &&
               gcm_text(*kept, out, message);
    }
    context = EVP_CIPHER_CTX_new();
    good = context != NULL &&
           EVP_CipherInit_ex(context, cipher, NULL, message->key.data, message->nonce.data, sealing) == 1 &&
           gcm_text(context, out, message);
    if (good && way == BENCH_FLOOR) {
        *kept = context;
        return true;
    }
    EVP_CIPHER_CTX_free(context);
    return good;
}

static bool run(void *world, enum bench_bare way, uint8_t *out, const struct bench_message *message)
{
    return message->operation == BENCH_HMAC ? run_hmac(world, way, out, message) : run_gcm(world, way, out, message);
}

extern const struct bench_engine BENCH_ENGINE;
const struct bench_engine BENCH_ENGINE = {.start = start, .world_new = world_new, .world_free = world_free, .run = run};
