/* SPDX-License-Identifier: Apache-2.0
 * bench_system.c: the plain way once more, through the machine's own libcrypto.so.3: what a program calls that links it
 * and keeps nothing. Opened at run time, so that nothing here is linked with it.
 * It breaks when another major version is called libcrypto.so.3.
 */
#include "bench_engine.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

enum { SET_TAG = 0x11, GET_TAG = 0x10 }; /* EVP_CTRL_AEAD_SET_TAG, EVP_CTRL_AEAD_GET_TAG */

static struct {
    unsigned char *(*hmac)(const void *digest, const void *key, int key_len, const uint8_t *data, size_t len,
                           uint8_t *out, unsigned *out_len);
    const void *(*sha1)(void);
    const void *(*sha256)(void);
    const void *(*aes_128_gcm)(void);
    const void *(*aes_256_gcm)(void);
    void *(*context_new)(void);
    void (*context_free)(void *context);
    int (*init)(void *context, const void *cipher, void *engine, const uint8_t *key, const uint8_t *nonce, int sealing);
    int (*update)(void *context, uint8_t *out, int *out_len, const uint8_t *data, int len);
    int (*final)(void *context, uint8_t *out, int *out_len);
    int (*control)(void *context, int what, int number, void *data);
} crypto;

static bool start(void)
{
    const struct {
        const char *name;
        void *slot;
    } symbols[] = {{"HMAC", &crypto.hmac},
                   {"EVP_sha1", &crypto.sha1},
                   {"EVP_sha256", &crypto.sha256},
                   {"EVP_aes_128_gcm", &crypto.aes_128_gcm},
                   {"EVP_aes_256_gcm", &crypto.aes_256_gcm},
                   {"EVP_CIPHER_CTX_new", &crypto.context_new},
                   {"EVP_CIPHER_CTX_free", &crypto.context_free},
                   {"EVP_CipherInit_ex", &crypto.init},
                   {"EVP_CipherUpdate", &crypto.update},
                   {"EVP_CipherFinal_ex", &crypto.final},
                   {"EVP_CIPHER_CTX_ctrl", &crypto.control}};
    void *library = dlopen("libcrypto.so.3", RTLD_NOW | RTLD_LOCAL);
    bool good = library != NULL;
    for (size_t i = 0; good && i < sizeof(symbols) / sizeof(symbols[0]); i++) {
        void *symbol = dlsym(library, symbols[i].name);
        good = symbol != NULL;
        memcpy(symbols[i].slot, &symbol, sizeof(symbol));
    }
    return good;
}

/* It keeps nothing. */
static void *world_new(void)
{
    return malloc(1);
}

static void world_free(void *world)
{
    free(world);
}

static bool run_gcm(uint8_t *out, const struct bench_message *message)
{
    const void *cipher = message->algorithm == PAL_AES_128_GCM ? crypto.aes_128_gcm() : crypto.aes_256_gcm();
    bool sealing = message->operation == BENCH_SEAL;
    size_t len = message->text.len - (sealing ? 0 : PAL_TAG_LEN_MAX);
    uint8_t tag[PAL_TAG_LEN_MAX];
    uint8_t nothing[32];
    int written = 0;
    void *context = crypto.context_new();
    bool good = context != NULL &&
                crypto.init(context, cipher, NULL, message->key.data, message->nonce.data, sealing ? 1 : 0) == 1;
    if (good && !sealing) {
        memcpy(tag, message->text.data + len, sizeof(tag));
        good = crypto.control(context, SET_TAG, PAL_TAG_LEN_MAX, tag) == 1;
    }
    good = good && crypto.update(context, out, &written, message->text.data, (int)len) == 1 &&
           crypto.final(context, nothing, &written) == 1 &&
           (!sealing || crypto.control(context, GET_TAG, PAL_TAG_LEN_MAX, out + len) == 1);
    crypto.context_free(context);
    return good;
}

static bool run(void *world, enum bench_bare way, uint8_t *out, const struct bench_message *message)
{
    unsigned len = 0;
    (void)world, (void)way;
    if (message->operation != BENCH_HMAC) {
        return run_gcm(out, message);
    }
    return crypto.hmac(message->algorithm == PAL_SHA1 ? crypto.sha1() : crypto.sha256(), message->key.data,
                       (int)message->key.len, message->text.data, message->text.len, out, &len) != NULL;
}

const struct bench_engine bench_engine_system = {
    .start = start, .world_new = world_new, .world_free = world_free, .run = run};
