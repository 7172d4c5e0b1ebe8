/* SPDX-License-Identifier: Apache-2.0
 * shim_text.c: see shim_text.h.
 */
#include "shim_text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const shim_digests[PAL_NUM_DIGESTS] = {"sha1", "sha256", "sha384", "sha512"};
const char *const shim_aeads[PAL_NUM_AEADS] = {"aes-128-gcm", "aes-192-gcm", "aes-256-gcm"};
const char *const shim_ways[PAL_SEND_NUM_WAYS] = {"sequential", "copied", "gathered", "packets", "auto"};
const char *const shim_shapes[PAL_TLS_NUM_SHAPES] = {"sized", "drain", "callback", "pending"};
const char *const shim_modes[PAL_NUM_MODES] = {"fresh", "reused"};

char *shim_text_room(struct shim_text *text, size_t len)
{
    if (text->cap - text->len <= len) { /* one byte is for the end */
        size_t cap = 2 * (text->len + len + 1);
        char *grown = realloc(text->data, cap);
        if (grown == NULL) {
            abort();
        }
        text->data = grown;
        text->cap = cap;
    }
    return text->data + text->len;
}

void shim_text_add(struct shim_text *text, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int len = vsnprintf(NULL, 0, format, list);
    va_end(list);
    char *at = shim_text_room(text, (size_t)len);
    va_start(list, format);
    (void)vsnprintf(at, (size_t)len + 1, format, list);
    va_end(list);
    text->len += (size_t)len;
}

void shim_text_bytes(struct shim_text *text, const char *key, struct pal_view bytes)
{
    static const char digits[] = "0123456789abcdef";
    shim_text_add(text, " %s=", key);
    char *at = shim_text_room(text, 2 * bytes.len);
    for (size_t i = 0; i < bytes.len; i++) {
        *at++ = digits[bytes.data[i] >> 4];
        *at++ = digits[bytes.data[i] & 15];
    }
    *at = '\0';
    text->len += 2 * bytes.len;
}

void shim_text_free(struct shim_text *text)
{
    free(text->data);
    *text = (struct shim_text){0};
}

bool shim_words_parse(struct shim_words *out, char *line)
{
    char *rest = line;
    out->num = 0;
    out->name = strsep(&rest, " ");
    while (rest != NULL && out->num < SHIM_WORDS_MAX) {
        char *value = strsep(&rest, " ");
        out->words[out->num].key = strsep(&value, "=");
        out->words[out->num].value = value;
        if (value == NULL) {
            return false;
        }
        out->num++;
    }
    return rest == NULL && out->name[0] != '\0';
}

size_t shim_word_find(const struct shim_words *words, const char *key, size_t from)
{
    while (from < words->num && strcmp(words->words[from].key, key) != 0) {
        from++;
    }
    return from;
}

const char *shim_word(const struct shim_words *words, const char *key)
{
    size_t index = shim_word_find(words, key, 0);
    return index < words->num ? words->words[index].value : NULL;
}

uint64_t shim_word_number(const struct shim_words *words, const char *key, uint64_t fallback)
{
    const char *value = shim_word(words, key);
    char *end = NULL;
    if (value == NULL) {
        return fallback;
    }
    uint64_t number = strtoull(value, &end, 10);
    return value[0] >= '0' && value[0] <= '9' && *end == '\0' ? number : UINT64_MAX;
}

static int digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool shim_word_bytes(struct shim_words *words, size_t index, struct pal_view *out)
{
    const char *hex = words->words[index].value;
    uint8_t *bytes = (uint8_t *)words->words[index].value; /* two digits are read before their byte is written */
    size_t len = strlen(hex);
    for (size_t i = 0; i < len / 2; i++) {
        int high = digit(hex[2 * i]);
        int low = digit(hex[2 * i + 1]);
        if (high < 0 || low < 0) {
            return false;
        }
        bytes[i] = (uint8_t)(high << 4 | low);
    }
    *out = (struct pal_view){bytes, len / 2};
    return len % 2 == 0;
}

bool shim_words_bytes(struct shim_words *words, const char *key, struct pal_view *out)
{
    size_t index = shim_word_find(words, key, 0);
    *out = (struct pal_view){NULL, 0};
    return index == words->num || shim_word_bytes(words, index, out);
}

bool shim_status(enum pal_status *out, const char *text)
{
    size_t row = 0;
    while (row < PAL_NUM_STATUSES && strcmp(pal_status_name((enum pal_status)row), text) != 0) {
        row++;
    }
    *out = (enum pal_status)row;
    return row < PAL_NUM_STATUSES;
}

size_t shim_row(const char *const names[], size_t num, const char *text)
{
    size_t row = 0;
    while (row < num && (text == NULL || strcmp(names[row], text) != 0)) {
        row++;
    }
    return row;
}
