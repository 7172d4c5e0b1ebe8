/* SPDX-License-Identifier: Apache-2.0
 * scenario.c: the byte form. Layout: payload bytes | ... | choices of step 2 | choices of step 1 | version.
 * A choice is one byte, two where its field has more than 256 values; it holds the distance from the fallback, so that
 * a byte that is missing, or 0, means the fallback.
 */
#include "scenario.h"

#include <assert.h>
#include <string.h>

#define SHY_BYTES                                                                                                      \
    16u /* of 256 that choose another value than a shy field's fallback; more where it has more values                 \
         */

/* reader: `data` between `front` and `back` is not read yet. */
struct reader {
    const uint8_t *data;
    size_t front;
    size_t back;
};

static size_t reader_left(const struct reader *reader)
{
    return reader->back - reader->front;
}

static uint32_t read_choice(struct reader *reader, uint32_t max, uint32_t fallback)
{
    uint64_t raw = 0;
    for (uint32_t width = 0; width < (max > UINT8_MAX ? 2u : 1u); width++) {
        if (reader_left(reader) > 0) {
            raw |= (uint64_t)reader->data[--reader->back] << (8 * width);
        }
    }
    return (uint32_t)((raw + fallback) % ((uint64_t)max + 1));
}

/* shy_from: the first byte that chooses another value. */
static uint32_t shy_from(const struct field *field)
{
    return UINT8_MAX + 1 - (field->max > SHY_BYTES ? field->max : SHY_BYTES);
}

static uint32_t read_field(struct reader *reader, const struct field *field)
{
    if (!field->shy) {
        return read_choice(reader, field->max, field->fallback);
    }
    uint32_t raw = read_choice(reader, UINT8_MAX, 0);
    uint32_t distance = raw < shy_from(field) ? 0 : 1 + (raw - shy_from(field)) % field->max;
    return (distance + field->fallback) % (field->max + 1);
}

static uint32_t weight_sum(const struct language *language)
{
    uint32_t sum = 0;
    for (size_t i = 0; i < language->num_operations; i++) {
        sum += language->operations[i].weight;
    }
    return sum;
}

static uint32_t read_operation(struct reader *reader, const struct language *language)
{
    uint32_t at = read_choice(reader, weight_sum(language) - 1, 0);
    uint32_t op = 0;
    while (at >= language->operations[op].weight) {
        at -= language->operations[op++].weight;
    }
    return op;
}

struct pal_view scenario_field_bytes(const struct scenario *scenario, const struct step *step, size_t field)
{
    return (struct pal_view){scenario->store + step->number[field], step->len[field]};
}

static void read_bytes(struct scenario *out, struct reader *reader, struct step *step, size_t field, uint32_t max)
{
    size_t len = read_choice(reader, max, 0);
    size_t left = reader_left(reader);
    size_t room = SCENARIO_STORE_MAX - out->store_len;
    len = len < left ? len : left;
    len = len < room ? len : room;
    step->number[field] = (uint32_t)out->store_len;
    step->len[field] = (uint32_t)len;
    if (len > 0) {
        memcpy(out->store + out->store_len, reader->data + reader->front, len);
    }
    out->store_len += len;
    reader->front += len;
}

void scenario_decode(struct scenario *out, const struct language *language, struct pal_view input)
{
    struct reader reader = {input.data, 0, input.len < SCENARIO_INPUT_MAX ? input.len : SCENARIO_INPUT_MAX};
    out->language = language;
    out->num_steps = 0;
    out->store_len = 0;
    /* The only version so far; a later table reads the older ones' choices as they were meant. */
    (void)read_choice(&reader, language->version - 1, 0);
    do {
        struct step *step = &out->steps[out->num_steps++];
        memset(step, 0, sizeof(*step));
        step->op = read_operation(&reader, language);
        const struct operation *operation = &language->operations[step->op];
        for (size_t i = 0; i < operation->num_fields; i++) {
            const struct field *field = &operation->fields[i];
            if (field->kind == FIELD_BYTES) {
                read_bytes(out, &reader, step, i, field->max);
            } else {
                step->number[i] = read_field(&reader, field);
            }
        }
    } while (reader_left(&reader) > 0 && out->num_steps < SCENARIO_STEPS_MAX);
}

/* writer: choices are collected in reading order and turned round at the end. */
struct writer {
    uint8_t choices[SCENARIO_STEPS_MAX * SCENARIO_FIELDS_MAX * 2 + 1];
    size_t num_choices;
};

static void write_choice(struct writer *writer, uint32_t max, uint32_t fallback, uint32_t value)
{
    uint64_t size = (uint64_t)max + 1;
    uint64_t raw = (value + size - fallback) % size;
    for (uint32_t width = 0; width < (max > UINT8_MAX ? 2u : 1u); width++) {
        writer->choices[writer->num_choices++] = (uint8_t)(raw >> (8 * width));
    }
}

static void write_field(struct writer *writer, const struct field *field, uint32_t value)
{
    if (!field->shy) {
        write_choice(writer, field->max, field->fallback, value);
        return;
    }
    uint32_t distance = (value + field->max + 1 - field->fallback) % (field->max + 1);
    write_choice(writer, UINT8_MAX, 0, distance == 0 ? 0 : shy_from(field) + distance - 1);
}

static void write_operation(struct writer *writer, const struct language *language, uint32_t op)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < op; i++) {
        at += language->operations[i].weight;
    }
    write_choice(writer, weight_sum(language) - 1, 0, at);
}

/* write_step: the choices of a step; returns how many bytes of payload it has. */
static size_t write_step(struct writer *writer, const struct scenario *scenario, const struct step *step)
{
    const struct operation *operation = &scenario->language->operations[step->op];
    size_t payload = 0;
    write_operation(writer, scenario->language, step->op);
    for (size_t i = 0; i < operation->num_fields; i++) {
        const struct field *field = &operation->fields[i];
        if (field->kind == FIELD_BYTES) {
            write_choice(writer, field->max, 0, step->len[i]);
            payload += step->len[i];
        } else {
            write_field(writer, field, step->number[i]);
        }
    }
    return payload;
}

/* copy_payload: of a step; returns its end. */
static uint8_t *copy_payload(uint8_t *out, const struct scenario *scenario, const struct step *step)
{
    const struct operation *operation = &scenario->language->operations[step->op];
    for (size_t i = 0; i < operation->num_fields; i++) {
        if (operation->fields[i].kind == FIELD_BYTES && step->len[i] > 0) {
            struct pal_view bytes = scenario_field_bytes(scenario, step, i);
            memcpy(out, bytes.data, bytes.len);
            out += bytes.len;
        }
    }
    return out;
}

size_t scenario_encode(const struct scenario *scenario, uint8_t *out, size_t cap)
{
    struct writer writer;
    size_t payload = 0;
    writer.num_choices = 0;
    write_choice(&writer, scenario->language->version - 1, 0, 0);
    for (size_t s = 0; s < scenario->num_steps; s++) {
        payload += write_step(&writer, scenario, &scenario->steps[s]);
    }
    assert(writer.num_choices <= sizeof(writer.choices));
    if (payload > cap || writer.num_choices > cap - payload) {
        return 0;
    }
    for (size_t s = 0; s < scenario->num_steps; s++) {
        out = copy_payload(out, scenario, &scenario->steps[s]);
    }
    for (size_t i = 0; i < writer.num_choices; i++) {
        out[i] = writer.choices[writer.num_choices - 1 - i];
    }
    return payload + writer.num_choices;
}
