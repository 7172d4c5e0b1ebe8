/* SPDX-License-Identifier: Apache-2.0
 * vectors_evp.c: reads stanzas of "name = value" (OpenSSL's evp tests) or "name: value" (BoringSSL's file tests).
 * A stanza ends at an empty line; # starts a comment; Title stands for itself. GMAC is AES-GCM without a text.
 * It breaks when a stanza gets a name that changes its meaning: therefore unknown names are reported, not overlooked.
 */
#include "vectors.h"

#include <string.h>
#include <strings.h>

#define PAIRS_MAX 24u

struct pair {
    const char *name;
    const char *value;
};

struct stanza {
    struct vector_set *set;
    size_t file;
    unsigned line;
    size_t num_pairs;
    struct pair pairs[PAIRS_MAX];
};

struct cursor {
    char *at;
    unsigned line;
};

/* NULL when the stanza has no such name; the last one counts. */
static const char *value_of(const struct stanza *stanza, const char *name)
{
    const char *value = NULL;
    for (size_t i = 0; i < stanza->num_pairs; i++) {
        if (strcasecmp(stanza->pairs[i].name, name) == 0) {
            value = stanza->pairs[i].value;
        }
    }
    return value;
}

/* The first name that is not in `known`, a list of words that ends with NULL; NULL if there is none. */
static const char *unknown_name(const struct stanza *stanza, const char *const *known)
{
    for (size_t i = 0; i < stanza->num_pairs; i++) {
        size_t word = 0;
        while (known[word] != NULL && strcasecmp(stanza->pairs[i].name, known[word]) != 0) {
            word++;
        }
        if (known[word] == NULL) {
            return stanza->pairs[i].name;
        }
    }
    return NULL;
}

/* ---- text ---------------------------------------------------------------------------------------------------------
 */

static char *trimmed(char *from, char *end)
{
    while (from < end && strchr(" \t\r", *from) != NULL) {
        from++;
    }
    while (end > from && strchr(" \t\r", end[-1]) != NULL) {
        end--;
    }
    *end = 0;
    return from;
}

static char *next_line(struct cursor *cursor)
{
    char *start = cursor->at;
    char *end = start + strcspn(start, "\n");
    cursor->at = *end == 0 ? end : end + 1;
    cursor->line++;
    return trimmed(start, end);
}

static bool add_pair(struct stanza *stanza, char *line)
{
    char *sign = strpbrk(line, "=:");
    if (sign == NULL || stanza->num_pairs == PAIRS_MAX) {
        return vectors_problem(stanza->set, stanza->file, stanza->line,
                               sign == NULL ? "a line without = or :" : "too long");
    }
    struct pair *pair = &stanza->pairs[stanza->num_pairs];
    pair->value = trimmed(sign + 1, sign + strlen(sign));
    pair->name = trimmed(line, sign);
    stanza->num_pairs += strcasecmp(pair->name, "Title") != 0 ? 1 : 0;
    return true;
}

/* No pairs: the file is at its end. */
static bool next_stanza(struct cursor *cursor, struct stanza *stanza)
{
    stanza->num_pairs = 0;
    while (*cursor->at != 0) {
        char *line = next_line(cursor);
        if (*line == 0 && stanza->num_pairs > 0) {
            return true;
        }
        if (*line == 0 || *line == '#') {
            continue;
        }
        if (stanza->num_pairs == 0) {
            stanza->line = cursor->line;
        }
        if (!add_pair(stanza, line)) {
            return false;
        }
    }
    return true;
}

/* ---- stanzas ------------------------------------------------------------------------------------------------------
 */

static bool add(const struct stanza *stanza, struct vector vector, bool understood)
{
    vector.file = stanza->file;
    vector.id = stanza->line;
    if (!understood) {
        vector_deinit(&vector);
        return vectors_problem(stanza->set, stanza->file, stanza->line, "not understood");
    }
    return vectors_add(stanza->set, vector);
}

static bool unused(const struct stanza *stanza, const char *reason, const char *detail)
{
    return vectors_unused(stanza->set, stanza->file, reason, detail);
}

static bool bytes_of(struct pal_view *out, const struct stanza *stanza, const char *name)
{
    const char *value = value_of(stanza, name);
    return value != NULL && view_join_hex(out, value, NULL);
}

static bool tag_of(struct vector *vector, const char *text)
{
    struct pal_view tag = {NULL, 0};
    bool ok = text != NULL && view_join_hex(&tag, text, NULL);
    vector->tag_len = tag.len;
    vector_deinit(&(struct vector){.want = tag});
    return ok;
}

/* Whether the algorithm's name and the key's length say the same. */
static bool cipher_of(struct vector *vector, const char *name)
{
    static const char *const names[PAL_NUM_AEADS] = {
        [PAL_AES_128_GCM] = "AES-128-GCM", [PAL_AES_192_GCM] = "AES-192-GCM", [PAL_AES_256_GCM] = "AES-256-GCM"};
    return aead_of_key(&vector->cipher, vector->key.len) && strcasecmp(name, names[vector->cipher]) == 0;
}

static bool is_aes_gcm(const char *name)
{
    return name != NULL && strncasecmp(name, "AES-", 4) == 0 && strlen(name) == 11 && strcasecmp(name + 7, "-GCM") == 0;
}

static bool read_cipher(const struct stanza *stanza, const char *name)
{
    static const char *const known[] = {"Cipher",      "Key",         "IV",        "AAD",    "Tag",
                                        "Plaintext",   "Ciphertext",  "Operation", "Result", "NextIV",
                                        "Availablein", "FIPSversion", NULL};
    const char *result = value_of(stanza, "Result");
    const char *strange = unknown_name(stanza, known);
    if (!is_aes_gcm(name)) {
        return unused(stanza, "another cipher than AES-GCM", "");
    }
    if (strange != NULL) {
        return unused(stanza, "AES-GCM with an unknown name: ", strange);
    }
    if (result != NULL && strcmp(result, "CIPHERFINAL_ERROR") != 0) {
        return unused(stanza, "AES-GCM with another result: ", result);
    }
    struct vector vector = {.family = VECTOR_AEAD, .verdict = result == NULL ? VECTOR_VALID : VECTOR_INVALID};
    const char *tag = value_of(stanza, "Tag");
    const char *text = value_of(stanza, "Ciphertext");
    bool ok = bytes_of(&vector.key, stanza, "Key") && bytes_of(&vector.nonce, stanza, "IV") &&
              bytes_of(&vector.text, stanza, "Plaintext") && tag_of(&vector, tag) && text != NULL &&
              view_join_hex(&vector.aad, value_of(stanza, "AAD"), NULL) && view_join_hex(&vector.want, text, tag) &&
              cipher_of(&vector, name);
    return add(stanza, vector, ok);
}

static bool read_gmac(const struct stanza *stanza)
{
    static const char *const known[] = {"MAC",         "Algorithm",  "Key",       "IV",          "Input", "Output",
                                        "Availablein", "OutputSize", "BlockSize", "FIPSversion", NULL};
    const char *name = value_of(stanza, "Algorithm");
    const char *strange = unknown_name(stanza, known);
    if (!is_aes_gcm(name)) {
        return unused(stanza, "GMAC with another cipher: ", name == NULL ? "none" : name);
    }
    if (strange != NULL) {
        return unused(stanza, "GMAC with an unknown name: ", strange);
    }
    struct vector vector = {.family = VECTOR_AEAD, .verdict = VECTOR_VALID};
    bool ok = bytes_of(&vector.key, stanza, "Key") && bytes_of(&vector.nonce, stanza, "IV") &&
              bytes_of(&vector.aad, stanza, "Input") && bytes_of(&vector.want, stanza, "Output") &&
              cipher_of(&vector, name);
    vector.tag_len = vector.want.len;
    return add(stanza, vector, ok);
}

static bool read_hmac(const struct stanza *stanza)
{
    static const char *const known[] = {"MAC",         "Algorithm",  "Key",       "Input",       "Output",
                                        "Availablein", "OutputSize", "BlockSize", "FIPSversion", NULL};
    static const char *const names[PAL_NUM_DIGESTS] = {
        [PAL_SHA1] = "SHA1", [PAL_SHA256] = "SHA256", [PAL_SHA384] = "SHA384", [PAL_SHA512] = "SHA512"};
    static const uint8_t lens[PAL_NUM_DIGESTS] = {
        [PAL_SHA1] = 20, [PAL_SHA256] = 32, [PAL_SHA384] = 48, [PAL_SHA512] = 64};
    const char *name = value_of(stanza, "Algorithm");
    const char *strange = unknown_name(stanza, known);
    size_t digest = 0;
    while (name != NULL && digest < PAL_NUM_DIGESTS && strcasecmp(name, names[digest]) != 0) {
        digest++;
    }
    if (name == NULL || digest == PAL_NUM_DIGESTS) {
        return unused(stanza, "HMAC with another digest: ", name == NULL ? "none" : name);
    }
    if (strange != NULL) {
        return unused(stanza, "HMAC with an unknown name: ", strange);
    }
    struct vector vector = {.family = VECTOR_HMAC, .verdict = VECTOR_VALID, .digest = (enum pal_digest)digest};
    bool ok = bytes_of(&vector.key, stanza, "Key") && bytes_of(&vector.text, stanza, "Input") &&
              bytes_of(&vector.want, stanza, "Output") && vector.want.len == lens[digest];
    vector.tag_len = vector.want.len;
    return add(stanza, vector, ok);
}

/* "HMAC by EVP_PKEY" is the same computation by another of OpenSSL's functions. */
static bool mac_is(const char *mac, const char *name)
{
    size_t len = strlen(name);
    return strncasecmp(mac, name, len) == 0 && (mac[len] == 0 || strncasecmp(mac + len, " by ", 4) == 0);
}

/* NOLINTNEXTLINE(readability-non-const-parameter): a vectors_reader_fn */
bool vectors_read_evp(struct vector_set *set, size_t file, char *text)
{
    struct cursor cursor = {text, 0};
    struct stanza stanza = {.set = set, .file = file};
    bool ok = next_stanza(&cursor, &stanza);
    while (ok && stanza.num_pairs > 0) {
        const char *cipher = value_of(&stanza, "Cipher");
        const char *mac = value_of(&stanza, "MAC");
        if (cipher != NULL) {
            ok = read_cipher(&stanza, cipher);
        } else if (mac != NULL && mac_is(mac, "HMAC")) {
            ok = read_hmac(&stanza);
        } else if (mac != NULL && mac_is(mac, "GMAC")) {
            ok = read_gmac(&stanza);
        } else {
            ok = unused(&stanza,
                        mac != NULL ? "another MAC: " : "another test: ", mac != NULL ? mac : stanza.pairs[0].name);
        }
        ok = ok && next_stanza(&cursor, &stanza);
    }
    return ok;
}

static bool read_cavp(const struct stanza *stanza)
{
    static const char *const known[] = {"KEY", "NONCE", "CT", "AD", "TAG", "IN", "FAILS", "NO_SEAL", NULL};
    const char *strange = unknown_name(stanza, known);
    const char *tag = value_of(stanza, "TAG");
    const char *text = value_of(stanza, "CT");
    if (strange != NULL) {
        return unused(stanza, "an unknown name: ", strange);
    }
    struct vector vector = {.family = VECTOR_AEAD, .open_only = value_of(stanza, "NO_SEAL") != NULL};
    vector.verdict = value_of(stanza, "FAILS") != NULL ? VECTOR_INVALID : VECTOR_VALID;
    bool ok = bytes_of(&vector.key, stanza, "KEY") && bytes_of(&vector.nonce, stanza, "NONCE") &&
              bytes_of(&vector.aad, stanza, "AD") && bytes_of(&vector.text, stanza, "IN") && tag_of(&vector, tag) &&
              text != NULL && view_join_hex(&vector.want, text, tag) && aead_of_key(&vector.cipher, vector.key.len);
    return add(stanza, vector, ok);
}

/* NOLINTNEXTLINE(readability-non-const-parameter): a vectors_reader_fn */
bool vectors_read_cavp(struct vector_set *set, size_t file, char *text)
{
    struct cursor cursor = {text, 0};
    struct stanza stanza = {.set = set, .file = file};
    bool ok = next_stanza(&cursor, &stanza);
    while (ok && stanza.num_pairs > 0) {
        ok = read_cavp(&stanza) && next_stanza(&cursor, &stanza);
    }
    return ok;
}
