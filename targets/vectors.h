/* SPDX-License-Identifier: Apache-2.0
 * vectors.h: published test vectors as data: Wycheproof JSON, OpenSSL's evp stanzas, BoringSSL's CAVP files.
 * It plays nothing and knows no engine; which vectors paldiff's own contract refuses is decided here, from lengths
 * alone. It breaks when a file is added without a row in vectors.c.
 */
#ifndef PALDIFF_VECTORS_H
#define PALDIFF_VECTORS_H

#include "pal.h"

#define VECTOR_FILES_MAX 12u
#define VECTOR_REASONS_MAX 64u

enum vector_family { VECTOR_HMAC, VECTOR_AEAD, VECTOR_NUM_FAMILIES };
enum vector_verdict { VECTOR_VALID, VECTOR_INVALID, VECTOR_ACCEPTABLE, VECTOR_NUM_VERDICTS };

/* vector: one case. Each view has memory of exactly its length, owned by the set; empty ones are {NULL, 0}. */
struct vector {
    size_t file; /* index into vector_set.files */
    unsigned id; /* tcId, or the line where its stanza starts */
    enum vector_family family;
    enum vector_verdict verdict;
    bool refused;   /* outside of pal.h's contract, whatever the verdict: nonce or tag length */
    bool open_only; /* its plaintext is not known */
    enum pal_digest digest;
    enum pal_aead cipher;
    struct pal_view key;
    struct pal_view nonce;
    struct pal_view aad;
    struct pal_view text; /* message or plaintext */
    struct pal_view want; /* hmac: the tag, perhaps only its start; aead: ciphertext and tag */
    size_t tag_len;
};

/* vector_reason: why cases of a file are not vectors for us, and how many. */
struct vector_reason {
    size_t file;
    size_t num;
    char text[64];
};

/* vector_file: a row of the table of files, and what was found. The three verdicts leave out what the contract refuses.
 */
struct vector_file {
    const char *path; /* below the vectors' directory */
    size_t num_verdicts[VECTOR_NUM_VERDICTS];
    size_t num_refused;
    size_t num_families[VECTOR_NUM_FAMILIES];
};

struct vector_set {
    struct vector *vectors;
    size_t num_vectors;
    size_t cap;
    size_t num_files;
    struct vector_file files[VECTOR_FILES_MAX];
    size_t num_reasons;
    struct vector_reason reasons[VECTOR_REASONS_MAX];
    char problem[256];
};

/* vectors_load: everything below `dir`. False, with a sentence in `problem`, when a file is missing, cannot be
 * understood to its end, or has no vector of a family that it is there for. Needs vectors_deinit in both cases. */
bool vectors_load(struct vector_set *out, const char *dir);
void vectors_deinit(struct vector_set *set);

/* vectors_num_files, vectors_file_path: what vectors_load looks for. */
size_t vectors_num_files(void);
const char *vectors_file_path(size_t file);

/* vector_same_key: whether both would meet the same slot: family, algorithm and key. */
bool vector_same_key(const struct vector *a, const struct vector *b);

/* ---- for the readers ----------------------------------------------------------------------------------------------
 */

/* vectors_reader_fn: adds all of `text`, which it may change. False after vectors_problem. */
typedef bool vectors_reader_fn(struct vector_set *set, size_t file, char *text);
vectors_reader_fn vectors_read_wycheproof_aead, vectors_read_wycheproof_hmac, vectors_read_evp, vectors_read_cavp;

/* vectors_add: takes the views of `vector` in any case. */
bool vectors_add(struct vector_set *set, struct vector vector);

/* vectors_unused: counts a case that is not for us. */
bool vectors_unused(struct vector_set *set, size_t file, const char *reason, const char *detail);

/* vectors_problem: sets the sentence; always false. */
bool vectors_problem(struct vector_set *set, size_t file, unsigned id, const char *what);

/* vector_deinit: gives back the views. */
void vector_deinit(struct vector *vector);

/* view_join_hex: new memory with the bytes of `first`, then `second`; each in hex, in "quotes", or NULL for none. */
bool view_join_hex(struct pal_view *out, const char *first, const char *second);

/* aead_of_key: false when no cipher has keys of that length. */
bool aead_of_key(enum pal_aead *out, size_t key_len);

#endif
