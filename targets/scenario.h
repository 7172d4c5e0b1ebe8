/* SPDX-License-Identifier: Apache-2.0
 * scenario.h: a bounded list of operations, written as bytes (for the fuzzer) or as text (for people).
 * A language is a table of operations; decoding, encoding, printing and parsing work from the table alone.
 * Tables are append-only: an operation, field or choice that moved would change what old corpora say.
 */
#ifndef PALDIFF_SCENARIO_H
#define PALDIFF_SCENARIO_H

#include "pal.h"

#include <stdio.h>

#define SCENARIO_STEPS_MAX 64u
#define SCENARIO_FIELDS_MAX 16u
#define SCENARIO_BYTES_MAX 255u          /* of one field */
#define SCENARIO_STORE_MAX 4096u         /* of all fields */
#define SCENARIO_INPUT_MAX (64u * 1024u) /* what is past this in an input is not read */

enum field_kind { FIELD_NUMBER, FIELD_CHOICE, FIELD_BYTES };

/* field: a number 0..max, one of max + 1 named choices, or up to max bytes. `fallback` is what a missing field means. A
 * shy field (max at most 64) is at its fallback for most bytes, 15 of 16 as a rule: for what makes a call fail. */
struct field {
    const char *name;
    enum field_kind kind;
    uint32_t max;
    uint32_t fallback;
    const char *const *choices;
    bool shy;
};

/* operation: `weight` of all bytes that choose an operation choose this one, in proportion. */
struct operation {
    const char *name;
    const char *sentence;
    uint32_t weight;
    size_t num_fields;
    struct field fields[SCENARIO_FIELDS_MAX];
};

/* language: one target's operations. The first operation with all fields missing is a comparison. */
struct language {
    const char *target;
    uint32_t version;
    size_t num_operations;
    const struct operation *operations;
};

/* step: `number` of a FIELD_BYTES is its offset in the store, `len` its length. */
struct step {
    uint32_t op;
    uint32_t number[SCENARIO_FIELDS_MAX];
    uint32_t len[SCENARIO_FIELDS_MAX];
};

struct scenario {
    const struct language *language;
    size_t num_steps;
    struct step steps[SCENARIO_STEPS_MAX];
    size_t store_len;
    uint8_t store[SCENARIO_STORE_MAX];
};

/* scenario_field_bytes: the bytes of field `field` of `step`; lives as long as the scenario. */
struct pal_view scenario_field_bytes(const struct scenario *scenario, const struct step *step, size_t field);

/* scenario_decode: total: every input is a legal scenario of at least one step. Payload is read from the front, choices
 * from the back, the last byte is the version; what is missing means the fallback. */
void scenario_decode(struct scenario *out, const struct language *language, struct pal_view input);

/* scenario_encode: bytes that decode to the same scenario; returns their number. 0 if they do not fit `cap`: `out` is
 * then as it was. */
size_t scenario_encode(const struct scenario *scenario, uint8_t *out, size_t cap);

/* scenario_print: the text form; fields that are at their fallback are left out. */
void scenario_print(const struct scenario *scenario, FILE *out);
/* scenario_print_step: one line without the newline. */
void scenario_print_step(const struct scenario *scenario, size_t index, FILE *out);

/* scenario_is_text: whether a file's first bytes are those of the text form. */
bool scenario_is_text(struct pal_view input);

#define SCENARIO_ERROR_MAX 160u

/* scenario_target_name: the target that the text's first line names, NUL-terminated into `out`; false if it is none. */
bool scenario_target_name(char *out, size_t cap, struct pal_view text);

/* scenario_parse: the text form. On failure `error` has "line L, column C: expected ..." and false is returned. */
bool scenario_parse(struct scenario *out, const struct language *language, struct pal_view text,
                    char error[SCENARIO_ERROR_MAX]);

#endif
