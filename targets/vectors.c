/* SPDX-License-Identifier: Apache-2.0
 * vectors.c: the table of vector files, and the set that their readers fill.
 * It breaks when a reader returns true without having seen every case of its file.
 */
#include "vectors.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_LEN_MAX (64ul << 20)

struct row {
    const char *path;
    vectors_reader_fn *reader;
    unsigned families; /* that must have vectors */
};

enum { HMAC = 1u << VECTOR_HMAC, AEAD = 1u << VECTOR_AEAD };

static const struct row rows[] = {
    {"wycheproof/aes_gcm_test.json", vectors_read_wycheproof_aead, AEAD},
    {"wycheproof/hmac_sha1_test.json", vectors_read_wycheproof_hmac, HMAC},
    {"wycheproof/hmac_sha256_test.json", vectors_read_wycheproof_hmac, HMAC},
    {"wycheproof/hmac_sha384_test.json", vectors_read_wycheproof_hmac, HMAC},
    {"wycheproof/hmac_sha512_test.json", vectors_read_wycheproof_hmac, HMAC},
    {"openssl-evp/evpciph_aes_common.txt", vectors_read_evp, AEAD},
    {"openssl-evp/evpmac_common.txt", vectors_read_evp, HMAC | AEAD},
    {"boringssl-cavp/aes_128_gcm.txt", vectors_read_cavp, AEAD},
    {"boringssl-cavp/aes_256_gcm.txt", vectors_read_cavp, AEAD},
};

#define NUM_ROWS (sizeof(rows) / sizeof(rows[0]))
_Static_assert(NUM_ROWS <= VECTOR_FILES_MAX, "every file has room in a set");

size_t vectors_num_files(void)
{
    return NUM_ROWS;
}

const char *vectors_file_path(size_t file)
{
    return rows[file].path;
}

bool vectors_problem(struct vector_set *set, size_t file, unsigned id, const char *what)
{
    if (set->problem[0] == 0) {
        (void)snprintf(set->problem, sizeof(set->problem), "%s, case %u: %s", rows[file].path, id, what);
    }
    return false;
}

bool vectors_unused(struct vector_set *set, size_t file, const char *reason, const char *detail)
{
    char text[sizeof(set->reasons[0].text)];
    (void)snprintf(text, sizeof(text), "%s%s", reason, detail);
    for (size_t i = 0; i < set->num_reasons; i++) {
        if (set->reasons[i].file == file && strcmp(set->reasons[i].text, text) == 0) {
            set->reasons[i].num++;
            return true;
        }
    }
    if (set->num_reasons == VECTOR_REASONS_MAX) {
        return vectors_problem(set, file, 0, "too many reasons for leaving out cases");
    }
    struct vector_reason *row = &set->reasons[set->num_reasons++];
    row->file = file;
    row->num = 1;
    memcpy(row->text, text, sizeof(text));
    return true;
}

/* ---- bytes --------------------------------------------------------------------------------------------------------
 */

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    if (c >= 'a' && c <= 'f') {
        return c - 'a' + 10;
    }
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The number of bytes, or SIZE_MAX; written if `out` is not NULL. An escape within quotes is not understood. */
static size_t text_bytes(uint8_t *out, const char *text)
{
    size_t len = text == NULL ? 0 : strlen(text);
    if (len >= 2 && text[0] == '"' && text[len - 1] == '"') {
        if (out != NULL) {
            memcpy(out, text + 1, len - 2);
        }
        return memchr(text, '\\', len) == NULL ? len - 2 : SIZE_MAX;
    }
    for (size_t i = 0; i + 1 < len; i += 2) {
        int high = hex_digit(text[i]);
        int low = hex_digit(text[i + 1]);
        if (high < 0 || low < 0) {
            return SIZE_MAX;
        }
        if (out != NULL) {
            out[i / 2] = (uint8_t)(high * 16 + low);
        }
    }
    return len % 2 == 0 ? len / 2 : SIZE_MAX;
}

bool view_join_hex(struct pal_view *out, const char *first, const char *second)
{
    size_t first_len = text_bytes(NULL, first);
    size_t second_len = text_bytes(NULL, second);
    if (first_len == SIZE_MAX || second_len == SIZE_MAX) {
        return false;
    }
    *out = (struct pal_view){NULL, first_len + second_len};
    if (out->len == 0) {
        return true;
    }
    uint8_t *bytes = malloc(out->len);
    if (bytes == NULL) {
        *out = (struct pal_view){NULL, 0};
        return false;
    }
    text_bytes(bytes, first);
    text_bytes(bytes + first_len, second);
    out->data = bytes;
    return true;
}

bool aead_of_key(enum pal_aead *out, size_t key_len)
{
    *out = key_len == 16 ? PAL_AES_128_GCM : key_len == 24 ? PAL_AES_192_GCM : PAL_AES_256_GCM;
    return key_len == 16 || key_len == 24 || key_len == 32;
}

/* ---- set ----------------------------------------------------------------------------------------------------------
 */

void vector_deinit(struct vector *vector)
{
    struct pal_view *views[] = {&vector->key, &vector->nonce, &vector->aad, &vector->text, &vector->want};
    for (size_t i = 0; i < sizeof(views) / sizeof(views[0]); i++) {
        free((void *)views[i]->data);
        *views[i] = (struct pal_view){NULL, 0};
    }
}

void vectors_deinit(struct vector_set *set)
{
    for (size_t i = 0; i < set->num_vectors; i++) {
        vector_deinit(&set->vectors[i]);
    }
    free(set->vectors);
    set->vectors = NULL;
    set->num_vectors = set->cap = 0;
}

static bool refused_by_contract(const struct vector *vector)
{
    return vector->family == VECTOR_AEAD && (vector->nonce.len < 1 || vector->nonce.len > PAL_NONCE_LEN_MAX ||
                                             vector->tag_len < PAL_TAG_LEN_MIN || vector->tag_len > PAL_TAG_LEN_MAX);
}

bool vectors_add(struct vector_set *set, struct vector vector)
{
    struct vector_file *file = &set->files[vector.file];
    if (vector.want.len < vector.tag_len || vector.tag_len == 0 ||
        (vector.family == VECTOR_AEAD && !vector.open_only && vector.want.len != vector.text.len + vector.tag_len)) {
        vector_deinit(&vector);
        return vectors_problem(set, vector.file, vector.id, "lengths do not fit together");
    }
    if (set->num_vectors == set->cap) {
        size_t cap = set->cap == 0 ? 1024 : 2 * set->cap;
        struct vector *grown = realloc(set->vectors, cap * sizeof(*grown));
        if (grown == NULL) {
            vector_deinit(&vector);
            return vectors_problem(set, vector.file, vector.id, "no memory");
        }
        set->vectors = grown;
        set->cap = cap;
    }
    vector.refused = refused_by_contract(&vector);
    file->num_families[vector.family]++;
    if (vector.refused) {
        file->num_refused++;
    } else {
        file->num_verdicts[vector.verdict]++;
    }
    set->vectors[set->num_vectors++] = vector;
    return true;
}

bool vector_same_key(const struct vector *a, const struct vector *b)
{
    return a->family == b->family && (a->family == VECTOR_HMAC ? a->digest == b->digest : a->cipher == b->cipher) &&
           a->key.len == b->key.len && (a->key.len == 0 || memcmp(a->key.data, b->key.data, a->key.len) == 0);
}

/* ---- files --------------------------------------------------------------------------------------------------------
 */

/* The whole file and a terminating 0; NULL with errno otherwise. */
static char *read_whole(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    if (file == NULL) {
        return NULL;
    }
    long len = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
    if (len < 0 || (unsigned long)len > FILE_LEN_MAX || fseek(file, 0, SEEK_SET) != 0) {
        errno = EFBIG;
    } else if ((text = malloc((size_t)len + 1)) != NULL) {
        text[fread(text, 1, (size_t)len, file)] = 0;
        if (strlen(text) != (size_t)len) {
            free(text);
            text = NULL;
            errno = EINVAL;
        }
    }
    int saved = errno;
    (void)fclose(file);
    errno = saved;
    return text;
}

static bool load_file(struct vector_set *set, size_t index, const char *dir)
{
    const struct row *row = &rows[index];
    struct vector_file *file = &set->files[index];
    char path[4096];
    file->path = row->path;
    if (snprintf(path, sizeof(path), "%s/%s", dir, row->path) >= (int)sizeof(path)) {
        return vectors_problem(set, index, 0, "the directory's name is too long");
    }
    char *text = read_whole(path);
    if (text == NULL) {
        return vectors_problem(set, index, 0, strerror(errno));
    }
    bool ok = row->reader(set, index, text);
    free(text);
    for (size_t family = 0; ok && family < VECTOR_NUM_FAMILIES; family++) {
        if ((row->families >> family & 1) != 0 && file->num_families[family] == 0) {
            ok = vectors_problem(set, index, 0, family == VECTOR_HMAC ? "no HMAC vectors" : "no AES-GCM vectors");
        }
    }
    return ok;
}

bool vectors_load(struct vector_set *out, const char *dir)
{
    memset(out, 0, sizeof(*out));
    out->num_files = NUM_ROWS;
    for (size_t i = 0; i < NUM_ROWS; i++) {
        if (!load_file(out, i, dir)) {
            return false;
        }
    }
    return true;
}
