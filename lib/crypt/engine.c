/* SPDX-License-Identifier: Apache-2.0
 * engine.c: start, heap and error queue of the engine whose headers it is compiled against, and the port's entry.
 * The only crypt file that may ask which engine that is.
 * It breaks when something allocates through the engine before engine_start: OpenSSL then keeps malloc for ever.
 */
#include "engine.h"
#include "ports.h"
#include "slot.h"
#include "tables.h"

#include "../tls/engine_ssl.h"
#include "../tls/tls.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* block: in front of every block that the engine has, so that it goes back to where it came from: env NULL is malloc.
 */
struct block {
    alignas(max_align_t) const struct pal_env *env;
    size_t len;
};

_Static_assert(sizeof(struct block) + PAL_NONCE_LEN_MAX <= sizeof(((struct engine_spare *)0)->memory),
               "spare too small");

/* spare_env: the owner named in the block that lies in an engine_spare. */
static const struct pal_env spare_env;

static _Thread_local struct {
    const struct pal_env *env; /* NULL outside of enter and leave */
    struct engine_spare *spare;
    bool refused; /* env->alloc said no since enter */
    bool warm;    /* the engine's own state of this thread exists */
} here;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool started;

static void fail(const char *what)
{
    (void)fprintf(stderr, "paldiff: engine: %s\n", what);
    abort();
}

static struct block *block_take(size_t len)
{
    struct block *block;

    if (len > SIZE_MAX - sizeof(*block)) {
        return NULL;
    }
    if (here.spare != NULL && !here.spare->lent && len <= PAL_NONCE_LEN_MAX) {
        here.spare->lent = true;
        block = (struct block *)(void *)here.spare->memory;
        block->env = &spare_env;
    } else if (here.env != NULL) {
        block = here.env->alloc(here.env->context, sizeof(*block) + len);
        if (block == NULL) {
            here.refused = true;
            return NULL;
        }
        block->env = here.env;
    } else {
        block = malloc(sizeof(*block) + len);
        if (block == NULL) {
            return NULL;
        }
        block->env = NULL;
    }
    block->len = len;
    return block;
}

static void *memory_alloc(size_t len)
{
    struct block *block = block_take(len);

    return block == NULL ? NULL : block + 1;
}

static size_t memory_len(const void *memory)
{
    return ((const struct block *)memory - 1)->len;
}

/* The engines wipe much of what they free, but not all of it: OpenSSL not its HMAC_CTX, BoringSSL leaves it to this
 * hook. */
static void memory_free(void *memory)
{
    struct block *block = (struct block *)memory - 1;
    const struct pal_env *env = block->env;

    OPENSSL_cleanse(memory, block->len);
    if (env == &spare_env) {
        ((struct engine_spare *)(void *)block)->lent = false;
    } else if (env != NULL) {
        env->free(env->context, block);
    } else {
        free(block);
    }
}

#ifdef OPENSSL_IS_BORINGSSL

#define PORT_NAME "boringssl"

/* BoringSSL refers to these weakly, and leaves its own heap alone where they exist. */
void *OPENSSL_memory_alloc(size_t size);
void OPENSSL_memory_free(void *memory);
size_t OPENSSL_memory_get_size(void *memory);

void *OPENSSL_memory_alloc(size_t size)
{
    return memory_alloc(size);
}

void OPENSSL_memory_free(void *memory)
{
    memory_free(memory);
}

size_t OPENSSL_memory_get_size(void *memory)
{
    return memory_len(memory);
}

static bool start(void)
{
    CRYPTO_library_init();
    return true;
}

static void clear_errors(void)
{
    ERR_clear_error();
}

const EVP_MD *engine_digest_fetch(enum pal_digest digest)
{
    switch (digest) {
    case PAL_SHA1:
        return EVP_sha1();
    case PAL_SHA256:
        return EVP_sha256();
    case PAL_SHA384:
        return EVP_sha384();
    case PAL_SHA512:
        return EVP_sha512();
    case PAL_NUM_DIGESTS:
        break;
    }
    return NULL;
}

const EVP_CIPHER *engine_cipher_fetch(enum pal_aead cipher)
{
    switch (cipher) {
    case PAL_AES_128_GCM:
        return EVP_aes_128_gcm();
    case PAL_AES_192_GCM:
        return EVP_aes_192_gcm();
    case PAL_AES_256_GCM:
        return EVP_aes_256_gcm();
    case PAL_NUM_AEADS:
        break;
    }
    return NULL;
}

void engine_digest_release(const EVP_MD *digest)
{
    (void)digest;
}

void engine_cipher_release(const EVP_CIPHER *cipher)
{
    (void)cipher;
}

const EVP_CIPHER *engine_kept_cipher(enum pal_aead cipher)
{
    return engine_cipher_fetch(cipher);
}

bool engine_hmac_init(HMAC_CTX *context, const EVP_MD *digest, struct pal_view key)
{
    /* A NULL key would mean the key from before. */
    return HMAC_Init_ex(context, key.len == 0 ? (const uint8_t *)"" : key.data, key.len, digest, NULL) == 1;
}

#else /* OpenSSL 3 */

#define PORT_NAME "openssl"

static const EVP_CIPHER *kept_ciphers[PAL_NUM_AEADS];

static void *openssl_malloc(size_t len, const char *file, int line)
{
    (void)file;
    (void)line;
    return len == 0 ? NULL : memory_alloc(len);
}

static void openssl_free(void *memory, const char *file, int line)
{
    (void)file;
    (void)line;
    if (memory != NULL) {
        memory_free(memory);
    }
}

static void *openssl_realloc(void *memory, size_t len, const char *file, int line)
{
    size_t old_len = memory == NULL ? 0 : memory_len(memory);
    void *grown = openssl_malloc(len, file, line);

    if (grown != NULL && old_len > 0) {
        memcpy(grown, memory, old_len < len ? old_len : len);
    }
    if (grown != NULL || len == 0) {
        openssl_free(memory, file, line);
    }
    return grown;
}

const EVP_MD *engine_digest_fetch(enum pal_digest digest)
{
    static const char *const names[PAL_NUM_DIGESTS] = {"SHA1", "SHA2-256", "SHA2-384", "SHA2-512"};

    return EVP_MD_fetch(NULL, names[digest], NULL);
}

void engine_digest_release(const EVP_MD *digest)
{
    EVP_MD_free((EVP_MD *)digest);
}

const EVP_CIPHER *engine_cipher_fetch(enum pal_aead cipher)
{
    static const char *const names[PAL_NUM_AEADS] = {"AES-128-GCM", "AES-192-GCM", "AES-256-GCM"};

    return EVP_CIPHER_fetch(NULL, names[cipher], NULL);
}

void engine_cipher_release(const EVP_CIPHER *cipher)
{
    EVP_CIPHER_free((EVP_CIPHER *)cipher);
}

const EVP_CIPHER *engine_kept_cipher(enum pal_aead cipher)
{
    return kept_ciphers[cipher];
}

/* The machine's openssl.cnf is not read, and nothing is torn down at exit, where threads may still run. */
static bool start(void)
{
    if (CRYPTO_set_mem_functions(openssl_malloc, openssl_realloc, openssl_free) != 1 ||
        OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT | OPENSSL_INIT_NO_LOAD_CONFIG, NULL) != 1) {
        return false;
    }
    for (int i = 0; i < PAL_NUM_AEADS; i++) {
        kept_ciphers[i] = engine_cipher_fetch((enum pal_aead)i);
        if (kept_ciphers[i] == NULL) {
            return false;
        }
    }
    return true;
}

/* ERR_clear_error keeps the text of each of the 16 entries for the next error; replacing it by a literal gives it back.
 */
static void clear_errors(void)
{
    static char none[1];

    for (int i = 0; i < ERR_NUM_ERRORS; i++) {
        ERR_new();
        ERR_set_error_data(none, 0);
    }
    ERR_clear_error();
}

bool engine_hmac_init(HMAC_CTX *context, const EVP_MD *digest, struct pal_view key)
{
    uint8_t hashed[EVP_MAX_MD_SIZE];
    unsigned hashed_len = 0;
    bool ok = true;

    /* OpenSSL counts keys in int. What HMAC does to a key longer than a block, done early, changes nothing. */
    if (key.len > INT_MAX) {
        ok = EVP_Digest(key.data, key.len, hashed, &hashed_len, digest, NULL) == 1;
        key = (struct pal_view){hashed, hashed_len};
    }
    /* A NULL key would mean the key from before. */
    ok = ok && HMAC_Init_ex(context, key.len == 0 ? (const uint8_t *)"" : key.data, (int)key.len, digest, NULL) == 1;
    if (hashed_len > 0) {
        OPENSSL_cleanse(hashed, sizeof(hashed));
    }
    return ok;
}

#endif

bool engine_set_nonce_len(EVP_CIPHER_CTX *context, size_t nonce_len, struct engine_spare *spare)
{
    bool ok;

    /* BoringSSL allocates for a nonce above 16 bytes each time that the length grows. */
    here.spare = spare;
    ok = EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_IVLEN, (int)nonce_len, NULL) == 1;
    here.spare = NULL;
    return ok;
}

void engine_enter(const struct pal_env *env)
{
    if (here.env != NULL) {
        fail("entered twice: did an environment's function call its port?");
    }
    if (!here.warm) {
        ERR_clear_error(); /* makes this thread's queue, from malloc */
        here.warm = true;
    }
    here.refused = false;
    here.env = env;
}

enum pal_status engine_leave(enum pal_status status)
{
    if (here.env == NULL) {
        fail("left without entering");
    }
    if (status != PAL_OK || here.refused) {
        clear_errors();
    }
    here.env = NULL;
    return status == PAL_ENGINE && here.refused ? PAL_NO_MEMORY : status;
}

static struct pal_port port = {
    .abi = PAL_ABI_VERSION,
    .name = PORT_NAME,
    .env_random = true,
    .env_clock = true,
    .tls = &pal_tls_table,
    .hmac = {[PAL_FRESH] = &hmac_oneshot, [PAL_REUSED] = &hmac_cached},
    .aead = {[PAL_FRESH] = &aead_oneshot, [PAL_REUSED] = &aead_cached},
};

static void start_once(void)
{
    started = slot_start() && start() && tls_engine_start();
    port.version = OpenSSL_version(OPENSSL_VERSION);
}

bool engine_start(void)
{
    pthread_once(&once, start_once);
    return started;
}

const struct pal_port *PAL_ENGINE_PORT(void)
{
    return engine_start() ? &port : NULL;
}
