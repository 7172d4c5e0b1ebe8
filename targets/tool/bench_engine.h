/* SPDX-License-Identifier: Apache-2.0
 * bench_engine.h: an engine's own calls, beside which a port's are timed: what a program writes that has no port. Made
 * from a second copy of each engine, so that the library's object holds nothing of it. No port, no environment here.
 * It breaks when a message is run in a world of another engine.
 */
#ifndef PALDIFF_BENCH_ENGINE_H
#define PALDIFF_BENCH_ENGINE_H

#include "pal.h"

#ifdef __cplusplus
extern "C" {
#endif

/* bench_bare: PLAIN: the shortest way, nothing kept: HMAC(), or a new context with EVP_aes_256_gcm(). PREFETCHED: a new
 * context for each message, its algorithm looked up once. FLOOR: nothing but the work on the message: two digest states
 * that were copied, or a context that is told the next nonce. */
enum bench_bare { BENCH_PLAIN, BENCH_PREFETCHED, BENCH_FLOOR, BENCH_NUM_BARE };

enum bench_operation { BENCH_HMAC, BENCH_SEAL, BENCH_OPEN };

/* bench_message: what one operation does. `algorithm` is PAL_SHA1 or PAL_SHA256 for BENCH_HMAC, otherwise
 * PAL_AES_128_GCM or PAL_AES_256_GCM; `text` ends with its tag for BENCH_OPEN. All messages of one algorithm have the
 * same key. */
struct bench_message {
    enum bench_operation operation;
    unsigned algorithm;
    struct pal_view key;
    struct pal_view nonce; /* PAL_NONCE_LEN bytes */
    struct pal_view text;
};

struct bench_engine {
    /* start: once, before all else. False: the engine does not start. */
    bool (*start)(void);
    void *(*world_new)(void); /* what a thread keeps; NULL without memory */
    void (*world_free)(void *world);
    /* run: `out` has room for text and tag. False when the engine fails or a tag is wrong. */
    bool (*run)(void *world, enum bench_bare way, uint8_t *out, const struct bench_message *message);
};

extern const struct bench_engine bench_engine_openssl;
extern const struct bench_engine bench_engine_boringssl;
/* bench_engine_system: the machine's libcrypto.so.3, whatever build; PLAIN only. */
extern const struct bench_engine bench_engine_system;

#ifdef __cplusplus
}
#endif

#endif
