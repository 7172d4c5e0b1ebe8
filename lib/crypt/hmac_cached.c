/* SPDX-License-Identifier: Apache-2.0
 * hmac_cached.c: HMAC from two digest states that the thread keeps: one that has read the inner padded key, one the
 * outer. Not EVP_MAC: OpenSSL 3.0 to 3.4 allocate for each copied digest state, that is twice a message. The engines'
 * plain SHA functions take no lock and no memory; the price: no provider, so never FIPS-validated, and only for these
 * digests. It breaks when a state is used in place of a copy.
 */
#include "check.h"
#include "slot.h"
#include "tables.h"

#include <endian.h>
#include <string.h>

enum { BLOCK_LEN_MAX = 128 };

static size_t block_len(enum pal_digest digest)
{
    return digest == PAL_SHA1 || digest == PAL_SHA256 ? 64 : 128;
}

static bool hash_init(enum pal_digest digest, union slot_hash *hash)
{
    switch (digest) {
    case PAL_SHA1:
        return SHA1_Init(&hash->sha1) == 1;
    case PAL_SHA256:
        return SHA256_Init(&hash->sha256) == 1;
    case PAL_SHA384:
        return SHA384_Init(&hash->sha512) == 1;
    case PAL_SHA512:
        return SHA512_Init(&hash->sha512) == 1;
    case PAL_NUM_DIGESTS:
        break;
    }
    return false;
}

static bool hash_add(enum pal_digest digest, union slot_hash *hash, struct pal_view part)
{
    if (part.len == 0) {
        return true;
    }
    switch (digest) {
    case PAL_SHA1:
        return SHA1_Update(&hash->sha1, part.data, part.len) == 1;
    case PAL_SHA256:
        return SHA256_Update(&hash->sha256, part.data, part.len) == 1;
    case PAL_SHA384:
        return SHA384_Update(&hash->sha512, part.data, part.len) == 1;
    case PAL_SHA512:
        return SHA512_Update(&hash->sha512, part.data, part.len) == 1;
    case PAL_NUM_DIGESTS:
        break;
    }
    return false;
}

static bool hash_final(enum pal_digest digest, union slot_hash *hash, uint8_t *out)
{
    switch (digest) {
    case PAL_SHA1:
        return SHA1_Final(out, &hash->sha1) == 1;
    case PAL_SHA256:
        return SHA256_Final(out, &hash->sha256) == 1;
    case PAL_SHA384:
        return SHA384_Final(out, &hash->sha512) == 1;
    case PAL_SHA512:
        return SHA512_Final(out, &hash->sha512) == 1;
    case PAL_NUM_DIGESTS:
        break;
    }
    return false;
}

static void hash_copy(enum pal_digest digest, union slot_hash *out, const union slot_hash *from)
{
    if (digest == PAL_SHA1) {
        out->sha1 = from->sha1;
    } else if (digest == PAL_SHA256) {
        out->sha256 = from->sha256;
    } else {
        out->sha512 = from->sha512;
    }
}

/* ---- SHA-1 and SHA-256 of a text in one piece
 * ----------------------------------------------------------------------------------------- */

enum { SHORT_BLOCK = 64 };

/* Where the words stand that short_words reads. */
_Static_assert(offsetof(SHA_CTX, Nl) == 20 && offsetof(SHA256_CTX, Nl) == 32, "something else stands in front");

/* short_words: what a state has come to. */
static void short_words(enum pal_digest digest, const union slot_hash *hash, uint8_t *out)
{
    size_t len = digest == PAL_SHA1 ? SHA_DIGEST_LENGTH : SHA256_DIGEST_LENGTH;

    for (size_t at = 0; at < len; at += sizeof(uint32_t)) {
        uint32_t word;
        memcpy(&word, (const uint8_t *)hash + at, sizeof(word));
        word = htobe32(word);
        memcpy(out + at, &word, sizeof(word));
    }
}

/* short_pad: FIPS 180-4 section 5.1, in blocks that are 0 behind the last `rest_len` bytes of `len`. How much of them
 * is to be added. */
static size_t short_pad(uint8_t *blocks, size_t rest_len, uint64_t len)
{
    const uint64_t bits = htobe64(8 * len);
    size_t padded = rest_len < SHORT_BLOCK - sizeof(bits) ? SHORT_BLOCK : 2 * SHORT_BLOCK;

    blocks[rest_len] = 0x80;
    memcpy(blocks + padded - sizeof(bits), &bits, sizeof(bits));
    return padded;
}

static bool hash_block(enum pal_digest digest, union slot_hash *hash, const uint8_t *block, uint8_t pad)
{
    uint8_t padded[BLOCK_LEN_MAX];
    bool ok;

    for (size_t i = 0; i < block_len(digest); i++) {
        padded[i] = block[i] ^ pad;
    }
    ok = hash_init(digest, hash) && hash_add(digest, hash, (struct pal_view){padded, block_len(digest)});
    OPENSSL_cleanse(padded, sizeof(padded));
    return ok;
}

/* RFC 2104 section 2: a key longer than a block is hashed, a shorter one filled up with zeros. */
static bool key_states(struct slot *slot, enum pal_digest digest, struct pal_view key)
{
    uint8_t block[BLOCK_LEN_MAX] = {0};
    union slot_hash *scratch = &slot->state.hmac.running;
    bool ok = true;

    if (key.len > block_len(digest)) {
        ok = hash_init(digest, scratch) && hash_add(digest, scratch, key) && hash_final(digest, scratch, block);
    } else if (key.len > 0) {
        memcpy(block, key.data, key.len);
    }
    ok = ok && hash_block(digest, &slot->state.hmac.inner, block, 0x36) &&
         hash_block(digest, &slot->state.hmac.outer, block, 0x5c);
    OPENSSL_cleanse(block, sizeof(block));
    return ok;
}

/* The thread's slot for this key, with a message just opened in it. */
static enum pal_status slot_opened(struct slot **out, const struct pal_env *env, enum pal_digest digest,
                                   struct pal_view key)
{
    struct slot *slot = slot_match(SLOT_HMAC, env, (int)digest, key);

    if (slot == NULL) {
        slot = slot_new(SLOT_HMAC, env, (int)digest, key);
        if (slot == NULL) {
            return PAL_NO_MEMORY;
        }
        if (!key_states(slot, digest, key)) {
            slot_drop(SLOT_HMAC);
            return PAL_ENGINE;
        }
        slot_stats(SLOT_HMAC_CACHED)->setups++;
    }
    slot_stats(SLOT_HMAC_CACHED)->messages++;
    hash_copy(digest, &slot->state.hmac.running, &slot->state.hmac.inner);
    slot->state.hmac.open = true;
    *out = slot;
    return PAL_OK;
}

static bool result(struct slot *slot, enum pal_digest digest, uint8_t *out)
{
    union slot_hash *running = &slot->state.hmac.running;
    uint8_t inner[PAL_DIGEST_LEN_MAX];

    if (!hash_final(digest, running, inner)) {
        return false;
    }
    hash_copy(digest, running, &slot->state.hmac.outer);
    return hash_add(digest, running, (struct pal_view){inner, check_digest_len(digest)}) &&
           hash_final(digest, running, out);
}

/* As the above, of a text in one piece, nothing of which was added. The engine sees whole blocks only: it copies
 * nothing into its state, and has nothing there to wipe. That is a twentieth of a message of 250 bytes. */
static bool short_result(struct slot *slot, enum pal_digest digest, uint8_t *out, struct pal_view text)
{
    union slot_hash *running = &slot->state.hmac.running;
    size_t rest_len = text.len % SHORT_BLOCK;
    size_t digest_len = digest == PAL_SHA1 ? SHA_DIGEST_LENGTH : SHA256_DIGEST_LENGTH;
    uint8_t end[2 * SHORT_BLOCK] = {0};
    uint8_t outer[SHORT_BLOCK] = {0};

    if (rest_len > 0) {
        memcpy(end, text.data + text.len - rest_len, rest_len);
    }
    if (!hash_add(digest, running, (struct pal_view){text.data, text.len - rest_len}) ||
        !hash_add(digest, running, (struct pal_view){end, short_pad(end, rest_len, SHORT_BLOCK + text.len)})) {
        return false;
    }
    short_words(digest, running, outer);
    hash_copy(digest, running, &slot->state.hmac.outer);
    if (!hash_add(digest, running, (struct pal_view){outer, short_pad(outer, digest_len, SHORT_BLOCK + digest_len)})) {
        return false;
    }
    short_words(digest, running, out);
    return true;
}

/* Closes the message, whose result is in place if `ok`. */
static enum pal_status slot_closed(struct slot *slot, bool ok, size_t *out_len)
{
    if (!ok) {
        slot_drop(SLOT_HMAC);
        return PAL_ENGINE;
    }
    slot->state.hmac.open = false;
    *out_len = check_digest_len((enum pal_digest)slot->variant);
    return PAL_OK;
}

static struct slot *find_open(void)
{
    struct slot *slot = slot_find(SLOT_HMAC);

    return slot != NULL && slot->state.hmac.open ? slot : NULL;
}

static void abandon(void)
{
    struct slot *slot = find_open();

    if (slot != NULL) {
        slot->state.hmac.open = false;
    }
}

static enum pal_status cached_update(const struct pal_env *env, struct pal_view part)
{
    struct slot *slot = find_open();

    (void)env;
    if (slot == NULL) {
        return PAL_BAD_STATE;
    }
    if (!pal_view_valid(part)) {
        return PAL_BAD_ARGUMENT;
    }
    if (!hash_add((enum pal_digest)slot->variant, &slot->state.hmac.running, part)) {
        slot_drop(SLOT_HMAC);
        return PAL_ENGINE;
    }
    return PAL_OK;
}

static enum pal_status cached_digest(const struct pal_env *env, uint8_t *out, size_t out_cap, size_t *out_len,
                                     enum pal_digest digest, struct pal_view key, const struct pal_view *parts,
                                     size_t num_parts)
{
    enum pal_status status = check_hmac(out, out_cap, out_len, digest, key, parts, num_parts);
    struct slot *slot = NULL;

    abandon();
    if (status == PAL_OK) {
        status = slot_opened(&slot, env, digest, key);
    }
    if (status != PAL_OK) {
        return status;
    }
    if (num_parts == 1 && block_len(digest) == SHORT_BLOCK) {
        return slot_closed(slot, short_result(slot, digest, out, parts[0]), out_len);
    }
    for (size_t i = 0; i < num_parts; i++) {
        if (!hash_add(digest, &slot->state.hmac.running, parts[i])) {
            slot_drop(SLOT_HMAC);
            return PAL_ENGINE;
        }
    }
    return slot_closed(slot, result(slot, digest, out), out_len);
}

static enum pal_status cached_start(const struct pal_env *env, enum pal_digest digest, struct pal_view key)
{
    enum pal_status status = check_key(digest, key);
    struct slot *slot = NULL;

    abandon();
    return status == PAL_OK ? slot_opened(&slot, env, digest, key) : status;
}

static enum pal_status cached_finish(const struct pal_env *env, uint8_t *out, size_t out_cap, size_t *out_len)
{
    struct slot *slot = find_open();
    enum pal_status status;

    (void)env;
    if (slot == NULL) {
        return PAL_BAD_STATE;
    }
    status = check_output(out, out_cap, out_len, check_digest_len((enum pal_digest)slot->variant));
    return status == PAL_OK ? slot_closed(slot, result(slot, (enum pal_digest)slot->variant, out), out_len) : status;
}

static void cached_drop(const struct pal_env *env)
{
    (void)env;
    slot_drop(SLOT_HMAC);
    *slot_stats(SLOT_HMAC_CACHED) = (struct pal_slot_stats){0};
}

static void cached_stats(const struct pal_env *env, struct pal_slot_stats *out)
{
    (void)env;
    *out = *slot_stats(SLOT_HMAC_CACHED);
}

const struct pal_hmac_ops hmac_cached = {
    .digest = cached_digest,
    .start = cached_start,
    .update = cached_update,
    .finish = cached_finish,
    .drop = cached_drop,
    .stats = cached_stats,
};
