/* SPDX-License-Identifier: Apache-2.0
 * scenario_text.c: the text form. First line "paldiff TARGET VERSION", then a step a line: OPERATION FIELD=VALUE ...
 * Values: a number, a choice's name, bytes as hex or as "text". '#' starts a comment. Nothing spans lines.
 */
#include "scenario.h"

#include <ctype.h>
#include <stdarg.h>
#include <string.h>

static void print_bytes(struct pal_view bytes, FILE *out)
{
    bool plain = bytes.len > 0;
    for (size_t i = 0; i < bytes.len; i++) {
        plain = plain && bytes.data[i] >= 0x20 && bytes.data[i] < 0x7f && bytes.data[i] != '"';
    }
    if (plain) {
        (void)fprintf(out, "\"%.*s\"", (int)bytes.len, (const char *)bytes.data);
        return;
    }
    for (size_t i = 0; i < bytes.len; i++) {
        (void)fprintf(out, "%02x", bytes.data[i]);
    }
}

void scenario_print_step(const struct scenario *scenario, size_t index, FILE *out)
{
    const struct step *step = &scenario->steps[index];
    const struct operation *operation = &scenario->language->operations[step->op];
    (void)fputs(operation->name, out);
    for (size_t i = 0; i < operation->num_fields; i++) {
        const struct field *field = &operation->fields[i];
        if (field->kind == FIELD_BYTES ? step->len[i] == 0 : step->number[i] == field->fallback) {
            continue;
        }
        (void)fprintf(out, " %s=", field->name);
        if (field->kind == FIELD_BYTES) {
            print_bytes(scenario_field_bytes(scenario, step, i), out);
        } else if (field->kind == FIELD_CHOICE) {
            (void)fputs(field->choices[step->number[i]], out);
        } else {
            (void)fprintf(out, "%u", step->number[i]);
        }
    }
}

void scenario_print(const struct scenario *scenario, FILE *out)
{
    (void)fprintf(out, "paldiff %s %u\n", scenario->language->target, scenario->language->version);
    for (size_t i = 0; i < scenario->num_steps; i++) {
        scenario_print_step(scenario, i, out);
        (void)fputc('\n', out);
    }
}

/* parser: `at` is in the current line; columns are counted from 1. */
struct parser {
    const char *line_start;
    const char *at;
    const char *line_end;
    const char *text_end;
    size_t line;
    char *error;
};

__attribute__((format(printf, 2, 3))) static bool expected(const struct parser *parser, const char *format, ...)
{
    char what[SCENARIO_ERROR_MAX / 2];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(what, sizeof(what), format, arguments);
    va_end(arguments);
    (void)snprintf(parser->error, SCENARIO_ERROR_MAX, "line %zu, column %zu: expected %s", parser->line,
                   (size_t)(parser->at - parser->line_start) + 1, what);
    return false;
}

/* next_line: the next line that is not empty, at its first word. */
static bool next_line(struct parser *parser)
{
    while (parser->line_end < parser->text_end) {
        parser->line_start = parser->line == 0 ? parser->line_end : parser->line_end + 1;
        const char *newline = memchr(parser->line_start, '\n', (size_t)(parser->text_end - parser->line_start));
        parser->line_end = newline != NULL ? newline : parser->text_end;
        parser->at = parser->line_start;
        parser->line++;
        while (parser->at < parser->line_end && isspace((unsigned char)*parser->at)) {
            parser->at++;
        }
        if (parser->at < parser->line_end && *parser->at != '#') {
            return true;
        }
    }
    return false;
}

/* take_word: the characters up to a blank, '=' or '#'. */
static struct pal_view take_word(struct parser *parser)
{
    const char *start = parser->at;
    while (parser->at < parser->line_end && !isspace((unsigned char)*parser->at) && *parser->at != '=' &&
           *parser->at != '#') {
        parser->at++;
    }
    return (struct pal_view){(const uint8_t *)start, (size_t)(parser->at - start)};
}

/* skip_blanks: true when something other than a comment follows. */
static bool skip_blanks(struct parser *parser)
{
    while (parser->at < parser->line_end && isspace((unsigned char)*parser->at)) {
        parser->at++;
    }
    return parser->at < parser->line_end && *parser->at != '#';
}

static bool word_is(struct pal_view word, const char *name)
{
    return strlen(name) == word.len && memcmp(word.data, name, word.len) == 0;
}

static bool parse_number(struct parser *parser, uint32_t *out, uint32_t max)
{
    const char *start = parser->at;
    uint64_t value = 0;
    while (parser->at < parser->line_end && isdigit((unsigned char)*parser->at) && value <= max) {
        value = value * 10 + (uint64_t)(*parser->at++ - '0');
    }
    if (parser->at == start || value > max) {
        parser->at = start;
        return expected(parser, "a number from 0 to %u", max);
    }
    *out = (uint32_t)value;
    return true;
}

static int hex_digit(char c)
{
    const char *digits = "0123456789abcdef";
    const char *at = c != '\0' ? strchr(digits, tolower((unsigned char)c)) : NULL;
    return at != NULL ? (int)(at - digits) : -1;
}

static bool store_byte(struct parser *parser, struct scenario *out, struct step *step, size_t field, uint32_t max,
                       uint8_t byte)
{
    if (step->len[field] == max || out->store_len == SCENARIO_STORE_MAX) {
        return expected(parser, "at most %u bytes here and %u in all", max, SCENARIO_STORE_MAX);
    }
    out->store[out->store_len++] = byte;
    step->len[field]++;
    return true;
}

static bool parse_bytes(struct parser *parser, struct scenario *out, struct step *step, size_t field, uint32_t max)
{
    step->number[field] = (uint32_t)out->store_len;
    step->len[field] = 0;
    if (parser->at < parser->line_end && *parser->at == '"') {
        for (parser->at++; parser->at < parser->line_end && *parser->at != '"'; parser->at++) {
            if (!store_byte(parser, out, step, field, max, (uint8_t)*parser->at)) {
                return false;
            }
        }
        if (parser->at == parser->line_end) {
            return expected(parser, "'\"' at the end of the bytes");
        }
        parser->at++;
        return true;
    }
    while (parser->at < parser->line_end && !isspace((unsigned char)*parser->at)) {
        int high = hex_digit(*parser->at);
        int low = high >= 0 && parser->at + 1 < parser->line_end ? hex_digit(parser->at[1]) : -1;
        if (low < 0) {
            return expected(parser, "two hexadecimal digits, or '\"'");
        }
        if (!store_byte(parser, out, step, field, max, (uint8_t)(high * 16 + low))) {
            return false;
        }
        parser->at += 2;
    }
    return true;
}

static bool parse_choice(struct parser *parser, uint32_t *out, const struct field *field)
{
    char known[SCENARIO_ERROR_MAX / 2 - 16] = "";
    bool cut = false;
    const char *start = parser->at;
    struct pal_view word = take_word(parser);
    for (uint32_t i = 0; i <= field->max; i++) {
        size_t used = strlen(known);
        if (word_is(word, field->choices[i])) {
            *out = i;
            return true;
        }
        cut = cut || used + strlen(field->choices[i]) + strlen(", , ..") >= sizeof(known);
        if (!cut) {
            (void)snprintf(known + used, sizeof(known) - used, "%s%s", i == 0 ? "" : ", ", field->choices[i]);
        }
    }
    parser->at = start;
    return expected(parser, "one of %s%s", known, cut ? ", .." : "");
}

/* parse_field: `said` has a bit for each field of the step that stands before. */
static bool parse_field(struct parser *parser, struct scenario *out, struct step *step, uint32_t *said)
{
    _Static_assert(SCENARIO_FIELDS_MAX <= 32, "a bit for each");
    const struct operation *operation = &out->language->operations[step->op];
    const char *start = parser->at;
    struct pal_view name = take_word(parser);
    for (size_t i = 0; i < operation->num_fields; i++) {
        const struct field *field = &operation->fields[i];
        if (!word_is(name, field->name)) {
            continue;
        }
        if (parser->at == parser->line_end || *parser->at != '=') {
            return expected(parser, "'=' after %s", field->name);
        }
        if ((*said & (1u << i)) != 0) {
            parser->at = start;
            return expected(parser, "%s once only", field->name);
        }
        *said |= 1u << i;
        parser->at++;
        switch (field->kind) {
        case FIELD_NUMBER:
            return parse_number(parser, &step->number[i], field->max);
        case FIELD_CHOICE:
            return parse_choice(parser, &step->number[i], field);
        case FIELD_BYTES:
            return parse_bytes(parser, out, step, i, field->max);
        }
    }
    parser->at = start;
    return expected(parser, "a field of %s (see paldiff list --fields)", operation->name);
}

static bool parse_step(struct parser *parser, struct scenario *out)
{
    const char *start = parser->at;
    struct pal_view name = take_word(parser);
    const struct language *language = out->language;
    uint32_t op = 0;
    while (op < language->num_operations && !word_is(name, language->operations[op].name)) {
        op++;
    }
    parser->at = op < language->num_operations ? parser->at : start;
    if (op == language->num_operations) {
        return expected(parser, "an operation of %s (see paldiff list --fields)", language->target);
    }
    if (out->num_steps == SCENARIO_STEPS_MAX) {
        return expected(parser, "no more than %u steps", SCENARIO_STEPS_MAX);
    }
    struct step *step = &out->steps[out->num_steps++];
    step->op = op;
    for (size_t i = 0; i < language->operations[op].num_fields; i++) {
        step->number[i] = language->operations[op].fields[i].fallback;
        if (language->operations[op].fields[i].kind == FIELD_BYTES) {
            step->number[i] = (uint32_t)out->store_len;
        }
    }
    uint32_t said = 0;
    while (skip_blanks(parser)) {
        if (!parse_field(parser, out, step, &said)) {
            return false;
        }
    }
    return true;
}

bool scenario_is_text(struct pal_view input)
{
    return input.len >= 8 && memcmp(input.data, "paldiff ", 8) == 0;
}

bool scenario_target_name(char *out, size_t cap, struct pal_view text)
{
    size_t len = 8;
    while (len < text.len && !isspace(text.data[len])) {
        len++;
    }
    if (!scenario_is_text(text) || len == 8 || len - 8 >= cap) {
        return false;
    }
    memcpy(out, text.data + 8, len - 8);
    out[len - 8] = '\0';
    return true;
}

bool scenario_parse(struct scenario *out, const struct language *language, struct pal_view text,
                    char error[SCENARIO_ERROR_MAX])
{
    const char *start = (const char *)text.data;
    struct parser parser = {start, start, start, start + text.len, 0, error};
    uint32_t version = 0;
    memset(out, 0, offsetof(struct scenario, store));
    out->language = language;
    if (!next_line(&parser) || !word_is(take_word(&parser), "paldiff")) {
        return expected(&parser, "\"paldiff %s %u\"", language->target, language->version);
    }
    (void)skip_blanks(&parser);
    if (!word_is(take_word(&parser), language->target)) {
        return expected(&parser, "the target %s", language->target);
    }
    (void)skip_blanks(&parser);
    const char *at = parser.at;
    if (!parse_number(&parser, &version, language->version)) {
        return false;
    }
    if (version == 0) {
        parser.at = at;
        return expected(&parser, "a version from 1 to %u", language->version);
    }
    if (skip_blanks(&parser)) {
        return expected(&parser, "the end of the line");
    }
    while (next_line(&parser)) {
        if (!parse_step(&parser, out)) {
            return false;
        }
    }
    return out->num_steps > 0 || expected(&parser, "at least one step");
}
