/* SPDX-License-Identifier: Apache-2.0
 * shrink_steps.c: the edits and their order. Every edit makes the scenario smaller by one measure (steps, distance of
 * values from their fallbacks, bytes, bytes that are not plain) and none larger by an earlier one, so it ends.
 */
#include "shrink_steps.h"

#include <string.h>

static const struct operation *operation_of(const struct scenario *scenario, size_t index)
{
    return &scenario->language->operations[scenario->steps[index].op];
}

/* accept: takes the candidate if it still shows the same. */
static bool accept(struct shrink *shrink)
{
    if (shrink->is_over(shrink->context)) {
        return false;
    }
    shrink->num_tried++;
    if (!shrink->shows(shrink->context, &shrink->candidate)) {
        return false;
    }
    shrink->best = shrink->candidate;
    shrink->changed = true;
    return true;
}

/* ---- operations ----------------------------------------------------------------------------------------------------
 */

static void remove_steps(struct scenario *scenario, size_t at, size_t num)
{
    memmove(&scenario->steps[at], &scenario->steps[at + num],
            (scenario->num_steps - at - num) * sizeof(scenario->steps[0]));
    scenario->num_steps -= num;
}

/* drop_steps: runs of them, from the end, in halves; what stands after the fault goes first. */
static void drop_steps(struct shrink *shrink)
{
    for (size_t num = shrink->best.num_steps / 2; num > 0; num /= 2) {
        for (size_t end = shrink->best.num_steps; end >= num && shrink->best.num_steps > num; end -= num) {
            shrink->candidate = shrink->best;
            remove_steps(&shrink->candidate, end - num, num);
            (void)accept(shrink);
        }
    }
}

/* join_bytes: both fields' bytes, one behind the other, in the first's. */
static void join_bytes(struct scenario *scenario, struct step *into, const struct step *from, size_t field,
                       uint32_t max)
{
    size_t len = (size_t)into->len[field] + from->len[field];
    if (from->len[field] == 0 || len > max || scenario->store_len + len > SCENARIO_STORE_MAX) {
        return;
    }
    uint8_t *out = scenario->store + scenario->store_len;
    memcpy(out, scenario->store + into->number[field], into->len[field]);
    memcpy(out + into->len[field], scenario->store + from->number[field], from->len[field]);
    into->number[field] = (uint32_t)scenario->store_len;
    into->len[field] = (uint32_t)len;
    scenario->store_len += len;
}

/* merge_steps: two steps of one operation, with the first's values and the bytes and numbers of both. */
static void merge_steps(struct shrink *shrink)
{
    for (size_t i = 0; i + 1 < shrink->best.num_steps; i++) {
        for (size_t j = i + 1; j < shrink->best.num_steps; j++) {
            struct scenario *candidate = &shrink->candidate;
            if (shrink->best.steps[i].op != shrink->best.steps[j].op) {
                continue;
            }
            *candidate = shrink->best;
            const struct operation *operation = operation_of(candidate, i);
            struct step *into = &candidate->steps[i];
            const struct step *from = &candidate->steps[j];
            for (size_t f = 0; f < operation->num_fields; f++) {
                const struct field *field = &operation->fields[f];
                if (field->kind == FIELD_BYTES) {
                    join_bytes(candidate, into, from, f, field->max);
                } else if (field->kind == FIELD_NUMBER && into->number[f] + from->number[f] <= field->max) {
                    into->number[f] += from->number[f];
                }
            }
            remove_steps(candidate, j, 1);
            if (accept(shrink)) {
                j--;
            }
        }
    }
}

/* ---- values --------------------------------------------------------------------------------------------------------
 */

static uint32_t distance(uint32_t value, uint32_t fallback)
{
    return value > fallback ? value - fallback : fallback - value;
}

/* towards: the value at this distance from the fallback, on the side where `value` is. */
static uint32_t towards(uint32_t value, uint32_t fallback, uint32_t far)
{
    return value > fallback ? fallback + far : fallback - far;
}

static bool try_value(struct shrink *shrink, size_t step, size_t field, uint32_t value)
{
    shrink->candidate = shrink->best;
    shrink->candidate.steps[step].number[field] = value;
    return accept(shrink);
}

/* simplify_value: the fallback, else the nearest choice, or the nearest number that bisection finds. */
static void simplify_value(struct shrink *shrink, size_t step, size_t index, const struct field *field)
{
    uint32_t value = shrink->best.steps[step].number[index];
    if (value == field->fallback || try_value(shrink, step, index, field->fallback)) {
        return;
    }
    uint32_t far = distance(value, field->fallback);
    if (field->kind == FIELD_CHOICE) {
        for (uint32_t near = 1; near < far; near++) {
            if (try_value(shrink, step, index, towards(value, field->fallback, near))) {
                return;
            }
        }
        return;
    }
    uint32_t low = 0;
    uint32_t high = far;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (try_value(shrink, step, index, towards(value, field->fallback, middle))) {
            high = middle;
        } else {
            low = middle;
        }
    }
}

/* renumber: every number field of this size with this value, at once: a register or thread that several steps name. */
static void renumber(struct shrink *shrink, const struct field *like, uint32_t value)
{
    for (uint32_t far = 0; far < distance(value, like->fallback); far++) {
        struct scenario *candidate = &shrink->candidate;
        *candidate = shrink->best;
        for (size_t s = 0; s < candidate->num_steps; s++) {
            const struct operation *operation = operation_of(candidate, s);
            for (size_t f = 0; f < operation->num_fields; f++) {
                const struct field *field = &operation->fields[f];
                bool same = field->kind == FIELD_NUMBER && field->max == like->max && field->fallback == like->fallback;
                if (same && candidate->steps[s].number[f] == value) {
                    candidate->steps[s].number[f] = towards(value, like->fallback, far);
                }
            }
        }
        if (accept(shrink)) {
            return;
        }
    }
}

static void simplify_values(struct shrink *shrink)
{
    for (size_t s = 0; s < shrink->best.num_steps; s++) {
        const struct operation *operation = operation_of(&shrink->best, s);
        for (size_t f = 0; f < operation->num_fields; f++) {
            const struct field *field = &operation->fields[f];
            if (field->kind == FIELD_BYTES) {
                continue;
            }
            simplify_value(shrink, s, f, field);
            uint32_t value = shrink->best.steps[s].number[f];
            if (field->kind == FIELD_NUMBER && field->max < UINT8_MAX && value != field->fallback) {
                renumber(shrink, field, value);
            }
        }
    }
}

/* ---- bytes ---------------------------------------------------------------------------------------------------------
 */

/* cut_bytes: without `num` bytes from `at`. The gap in the store belongs to nobody. */
static bool cut_bytes(struct shrink *shrink, size_t s, size_t f, uint32_t at, uint32_t num)
{
    shrink->candidate = shrink->best;
    struct step *step = &shrink->candidate.steps[s];
    uint8_t *data = shrink->candidate.store + step->number[f];
    memmove(data + at, data + at + num, step->len[f] - at - num);
    step->len[f] -= num;
    return accept(shrink);
}

/* plain_bytes: `num` bytes from `at` made plain; true also when they are already. */
static bool plain_bytes(struct shrink *shrink, size_t s, size_t f, uint32_t at, uint32_t num)
{
    bool plain = true;
    shrink->candidate = shrink->best;
    uint8_t *data = shrink->candidate.store + shrink->candidate.steps[s].number[f];
    for (uint32_t i = at; i < at + num; i++) {
        plain = plain && data[i] == SHRINK_PLAIN;
        data[i] = SHRINK_PLAIN;
    }
    return plain || accept(shrink);
}

static void simplify_field_bytes(struct shrink *shrink, size_t s, size_t f)
{
    const uint32_t *len = &shrink->best.steps[s].len[f];
    for (uint32_t num = *len; num > 0; num /= 2) {
        for (uint32_t at = 0; at + num <= *len;) {
            at += cut_bytes(shrink, s, f, at, num) ? 0 : num;
        }
    }
    for (uint32_t num = *len; num > 0; num /= 2) {
        for (uint32_t at = 0; at + num <= *len; at += num) {
            (void)plain_bytes(shrink, s, f, at, num);
        }
    }
}

static void simplify_bytes(struct shrink *shrink)
{
    for (size_t s = 0; s < shrink->best.num_steps; s++) {
        const struct operation *operation = operation_of(&shrink->best, s);
        for (size_t f = 0; f < operation->num_fields; f++) {
            if (operation->fields[f].kind == FIELD_BYTES && shrink->best.steps[s].len[f] > 0) {
                simplify_field_bytes(shrink, s, f);
            }
        }
    }
}

/* ---- all -----------------------------------------------------------------------------------------------------------
 */

bool shrink_run(struct shrink *shrink)
{
    do {
        shrink->changed = false;
        drop_steps(shrink);
        merge_steps(shrink);
        simplify_values(shrink);
        simplify_bytes(shrink);
    } while (shrink->changed && !shrink->is_over(shrink->context));
    return !shrink->is_over(shrink->context);
}

size_t shrink_num_bytes(const struct scenario *scenario)
{
    size_t num = 0;
    for (size_t s = 0; s < scenario->num_steps; s++) {
        const struct operation *operation = operation_of(scenario, s);
        for (size_t f = 0; f < operation->num_fields; f++) {
            num += operation->fields[f].kind == FIELD_BYTES ? scenario->steps[s].len[f] : 0;
        }
    }
    return num;
}
