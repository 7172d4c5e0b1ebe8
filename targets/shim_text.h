/* SPDX-License-Identifier: Apache-2.0
 * shim_text.h: lines of the process door (targets/ports/PROTOCOL.md), made and taken apart; both sides use it. It knows
 * words and bytes, and no call.
 */
#ifndef PALDIFF_SHIM_TEXT_H
#define PALDIFF_SHIM_TEXT_H

#include "pal.h"

#define SHIM_WORDS_MAX 512u

/* shim_text: text that grows; {0} is empty. It aborts when there is no memory. */
struct shim_text {
    char *data; /* ended by '\0' once something was added */
    size_t len;
    size_t cap;
};

/* shim_text_add: as printf. shim_text_bytes: " key=" and hex. shim_text_room: where `len` bytes more can be put, which
 * count once `len` is raised. shim_text_free: gives the memory back; the text is empty and may be used again. */
void shim_text_add(struct shim_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void shim_text_bytes(struct shim_text *text, const char *key, struct pal_view bytes);
char *shim_text_room(struct shim_text *text, size_t len);
void shim_text_free(struct shim_text *text);

/* shim_words: a line in its words, which are views of it; bytes are decoded where they stand. */
struct shim_words {
    const char *name; /* the first word */
    size_t num;
    struct shim_word {
        const char *key;
        char *value;
    } words[SHIM_WORDS_MAX];
};

/* shim_words_parse: cuts `line`, which it changes; false when it has no words, too many, or one without '=' behind the
 * first. */
bool shim_words_parse(struct shim_words *out, char *line);

/* shim_word: the value of a key; NULL when it is not there. */
const char *shim_word(const struct shim_words *words, const char *key);

/* shim_word_number: a decimal number; `fallback` when the key is not there, UINT64_MAX when it is no number. */
uint64_t shim_word_number(const struct shim_words *words, const char *key, uint64_t fallback);

/* shim_word_bytes: decodes the word at `index`, once; false when it is not hex. shim_word_find: index of the first word
 * with this key from `from` on, or words->num. */
bool shim_word_bytes(struct shim_words *words, size_t index, struct pal_view *out);
size_t shim_word_find(const struct shim_words *words, const char *key, size_t from);

/* shim_words_bytes: decodes a key's only word; empty when it is not there; false when it is not hex. */
bool shim_words_bytes(struct shim_words *words, const char *key, struct pal_view *out);

/* shim_status: false when the text is no row's of status.def. */
bool shim_status(enum pal_status *out, const char *text);

/* Tables of names, by enumerator. shim_row: the row of `text`, or `num`. */
extern const char *const shim_digests[PAL_NUM_DIGESTS];
extern const char *const shim_aeads[PAL_NUM_AEADS];
extern const char *const shim_ways[PAL_SEND_NUM_WAYS];
extern const char *const shim_shapes[PAL_TLS_NUM_SHAPES];
extern const char *const shim_modes[PAL_NUM_MODES];
size_t shim_row(const char *const names[], size_t num, const char *text);

#endif
