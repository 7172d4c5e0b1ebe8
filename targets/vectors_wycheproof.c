/* SPDX-License-Identifier: Apache-2.0
 * vectors_wycheproof.c: reads Wycheproof's JSON: an AeadTest or MacTest file whose groups hold tests.
 * cJSON is a library that MSan does not see: its memory comes zeroed from here, so that what it writes counts as
 * written. It breaks when a file of another schema has the same fields.
 */
#include "vectors.h"

#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

struct reading {
    struct vector_set *set;
    size_t file;
    const cJSON *group;
    enum vector_family family;
    enum pal_digest digest;
};

static void *zeroed(size_t len)
{
    return calloc(1, len);
}

/* NULL when there is no string of that name. */
static const char *string_of(const cJSON *object, const char *name)
{
    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));
}

/* SIZE_MAX when there is no number of that name. */
static size_t number_of(const cJSON *object, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    return cJSON_IsNumber(item) && item->valueint >= 0 ? (size_t)item->valueint : SIZE_MAX;
}

static bool bytes_of(struct pal_view *out, const cJSON *test, const char *first, const char *second)
{
    const char *tail = second == NULL ? NULL : string_of(test, second);
    const char *head = string_of(test, first);
    return head != NULL && (second == NULL || tail != NULL) && view_join_hex(out, head, tail);
}

static bool verdict_of(enum vector_verdict *out, const char *result)
{
    static const char *const names[VECTOR_NUM_VERDICTS] = {"valid", "invalid", "acceptable"};
    for (size_t i = 0; result != NULL && i < VECTOR_NUM_VERDICTS; i++) {
        if (strcmp(result, names[i]) == 0) {
            *out = (enum vector_verdict)i;
            return true;
        }
    }
    return false;
}

static bool read_test(const struct reading *reading, const cJSON *test)
{
    size_t id = number_of(test, "tcId");
    size_t tag_bits = number_of(reading->group, "tagSize");
    struct vector vector = {
        .file = reading->file, .id = (unsigned)id, .family = reading->family, .digest = reading->digest};
    bool ok = id != SIZE_MAX && tag_bits % 8 == 0 && verdict_of(&vector.verdict, string_of(test, "result")) &&
              bytes_of(&vector.key, test, "key", NULL) && bytes_of(&vector.text, test, "msg", NULL);
    vector.tag_len = tag_bits / 8;
    if (ok && reading->family == VECTOR_HMAC) {
        ok = bytes_of(&vector.want, test, "tag", NULL) && vector.want.len == vector.tag_len;
    } else if (ok) {
        ok = bytes_of(&vector.nonce, test, "iv", NULL) && bytes_of(&vector.aad, test, "aad", NULL) &&
             bytes_of(&vector.want, test, "ct", "tag") && aead_of_key(&vector.cipher, vector.key.len);
    }
    if (!ok) {
        vector_deinit(&vector);
        return vectors_problem(reading->set, reading->file, (unsigned)id, "not understood");
    }
    return vectors_add(reading->set, vector);
}

static bool read_groups(struct reading *reading, const cJSON *root)
{
    const char *type = reading->family == VECTOR_HMAC ? "MacTest" : "AeadTest";
    size_t before = reading->set->num_vectors;
    const cJSON *groups = cJSON_GetObjectItemCaseSensitive(root, "testGroups");
    cJSON_ArrayForEach(reading->group, groups)
    {
        const char *found = string_of(reading->group, "type");
        const cJSON *tests = cJSON_GetObjectItemCaseSensitive(reading->group, "tests");
        const cJSON *test;
        if (found == NULL || strcmp(found, type) != 0) {
            return vectors_problem(reading->set, reading->file, 0, "a group of another type");
        }
        cJSON_ArrayForEach(test, tests)
        {
            if (!read_test(reading, test)) {
                return false;
            }
        }
    }
    if (reading->set->num_vectors - before != number_of(root, "numberOfTests")) {
        return vectors_problem(reading->set, reading->file, 0, "not as many tests as it says itself");
    }
    return true;
}

static bool read_root(struct reading *reading, const cJSON *root)
{
    static const char *const names[PAL_NUM_DIGESTS] = {
        [PAL_SHA1] = "HMACSHA1", [PAL_SHA256] = "HMACSHA256", [PAL_SHA384] = "HMACSHA384", [PAL_SHA512] = "HMACSHA512"};
    const char *algorithm = string_of(root, "algorithm");
    if (algorithm == NULL) {
        return vectors_problem(reading->set, reading->file, 0, "no JSON that names an algorithm");
    }
    if (reading->family == VECTOR_AEAD && strcmp(algorithm, "AES-GCM") == 0) {
        return read_groups(reading, root);
    }
    for (size_t i = 0; reading->family == VECTOR_HMAC && i < PAL_NUM_DIGESTS; i++) {
        if (strcmp(algorithm, names[i]) == 0) {
            reading->digest = (enum pal_digest)i;
            return read_groups(reading, root);
        }
    }
    return vectors_problem(reading->set, reading->file, 0, "another algorithm");
}

static bool read_json(struct reading *reading, const char *text)
{
    cJSON_Hooks hooks = {zeroed, free};
    cJSON_InitHooks(&hooks);
    cJSON *root = cJSON_ParseWithOpts(text, NULL, true);
    bool ok = read_root(reading, root);
    cJSON_Delete(root);
    cJSON_InitHooks(NULL);
    return ok;
}

bool vectors_read_wycheproof_aead(struct vector_set *set, size_t file, char *text)
{
    return read_json(&(struct reading){.set = set, .file = file, .family = VECTOR_AEAD}, text);
}

bool vectors_read_wycheproof_hmac(struct vector_set *set, size_t file, char *text)
{
    return read_json(&(struct reading){.set = set, .file = file, .family = VECTOR_HMAC}, text);
}
