/* SPDX-License-Identifier: Apache-2.0
 * mutator.c: what a change is. Steps are moved whole: a byte fuzzer that cuts one in two shifts the meaning of all that
 * follows.
 */
#include "mutator.h"

#include <assert.h>
#include <string.h>

#define CHANGES_MAX 4u
#define NEW_BYTES_MAX 40u /* of a field that is made up; longer ones come from the engine */

struct random {
    uint32_t state;
};

/* below: 0 to `bound` - 1; xorshift. */
static uint32_t below(struct random *random, uint32_t bound)
{
    random->state ^= random->state << 13;
    random->state ^= random->state >> 17;
    random->state ^= random->state << 5;
    return (uint32_t)(((uint64_t)random->state * bound) >> 32);
}

static const struct operation *operation_of(const struct scenario *scenario, const struct step *step)
{
    return &scenario->language->operations[step->op];
}

/* make_room: an empty place for a step at `at`; false when there are too many. */
static bool make_room(struct scenario *scenario, size_t at)
{
    if (scenario->num_steps == SCENARIO_STEPS_MAX) {
        return false;
    }
    memmove(&scenario->steps[at + 1], &scenario->steps[at], (scenario->num_steps - at) * sizeof(scenario->steps[0]));
    scenario->num_steps++;
    return true;
}

static void remove_step(struct scenario *scenario, size_t at)
{
    scenario->num_steps--;
    memmove(&scenario->steps[at], &scenario->steps[at + 1], (scenario->num_steps - at) * sizeof(scenario->steps[0]));
}

/* same_field: a field of the same name in another step, or NULL; *out_field is its index. */
static const struct step *same_field(const struct scenario *scenario, const char *name, struct random *random,
                                     size_t *out_field)
{
    size_t start = below(random, (uint32_t)scenario->num_steps);
    for (size_t i = 0; i < scenario->num_steps; i++) {
        const struct step *step = &scenario->steps[(start + i) % scenario->num_steps];
        const struct operation *operation = operation_of(scenario, step);
        for (size_t f = 0; f < operation->num_fields; f++) {
            if (strcmp(operation->fields[f].name, name) == 0) {
                *out_field = f;
                return step;
            }
        }
    }
    return NULL;
}

static void make_bytes(struct scenario *scenario, struct step *step, size_t field, uint32_t max, struct random *random)
{
    uint32_t len = below(random, (max < NEW_BYTES_MAX ? max : NEW_BYTES_MAX) + 1);
    step->len[field] = 0;
    if (len <= SCENARIO_STORE_MAX - scenario->store_len) {
        step->number[field] = (uint32_t)scenario->store_len;
        step->len[field] = len;
        for (uint32_t i = 0; i < len; i++) {
            scenario->store[scenario->store_len++] = (uint8_t)below(random, 256);
        }
    }
}

/* change_field: its fallback, what a field of that name is elsewhere, a neighbour of what it was, or anything. */
static void change_field(struct scenario *scenario, struct step *step, size_t field, struct random *random)
{
    const struct field *row = &operation_of(scenario, step)->fields[field];
    size_t other_field = 0;
    uint32_t way = below(random, 4);
    const struct step *other = way == 1 ? same_field(scenario, row->name, random, &other_field) : NULL;
    const struct field *other_row = other != NULL ? &operation_of(scenario, other)->fields[other_field] : NULL;
    bool alike = other_row != NULL && other_row->kind == row->kind && other_row->max == row->max;
    if (alike) {
        step->number[field] = other->number[other_field];
        step->len[field] = other->len[other_field];
    } else if (row->kind == FIELD_BYTES) {
        if (way == 0) {
            step->len[field] = 0;
        } else {
            make_bytes(scenario, step, field, row->max, random);
        }
    } else if (way == 0) {
        step->number[field] = row->fallback;
    } else if (way == 2) {
        uint32_t up = below(random, 2);
        uint32_t size = row->max + 1;
        step->number[field] = row->max == 0 ? 0 : (step->number[field] + (up == 1 ? 1 : size - 1)) % size;
    } else {
        step->number[field] = below(random, row->max + 1);
    }
}

/* insert: an operation with few fields that are not at their fallback: those are what most operations mean. */
static void insert(struct scenario *scenario, struct random *random)
{
    size_t at = below(random, (uint32_t)scenario->num_steps + 1);
    if (!make_room(scenario, at)) {
        return;
    }
    struct step *step = &scenario->steps[at];
    memset(step, 0, sizeof(*step));
    step->op = below(random, (uint32_t)scenario->language->num_operations);
    const struct operation *operation = operation_of(scenario, step);
    for (size_t f = 0; f < operation->num_fields; f++) {
        step->number[f] = operation->fields[f].kind == FIELD_BYTES ? 0 : operation->fields[f].fallback;
    }
    for (size_t f = 0; f < operation->num_fields; f++) {
        if (below(random, 3) == 0) {
            change_field(scenario, step, f, random);
        }
    }
}

static void repeat(struct scenario *scenario, struct random *random)
{
    size_t from = below(random, (uint32_t)scenario->num_steps);
    struct step copy = scenario->steps[from];
    size_t at = below(random, (uint32_t)scenario->num_steps + 1);
    if (make_room(scenario, at)) {
        scenario->steps[at] = copy;
    }
}

static void move(struct scenario *scenario, struct random *random)
{
    size_t from = below(random, (uint32_t)scenario->num_steps);
    struct step copy = scenario->steps[from];
    remove_step(scenario, from);
    size_t at = below(random, (uint32_t)scenario->num_steps + 1);
    (void)make_room(scenario, at);
    scenario->steps[at] = copy;
}

static void change(struct scenario *scenario, struct random *random)
{
    size_t at = below(random, (uint32_t)scenario->num_steps);
    size_t num_fields = operation_of(scenario, &scenario->steps[at])->num_fields;
    switch (below(random, 8)) {
    case 0:
    case 1:
    case 2:
        insert(scenario, random);
        break;
    case 3:
        repeat(scenario, random);
        break;
    case 4:
        move(scenario, random);
        break;
    case 5:
        if (scenario->num_steps > 1) {
            remove_step(scenario, at);
        }
        break;
    default:
        if (num_fields > 0) {
            change_field(scenario, &scenario->steps[at], below(random, (uint32_t)num_fields), random);
        }
        break;
    }
}

size_t mutator_change(const struct language *language, uint8_t *data, size_t len, size_t cap, uint32_t seed)
{
    struct scenario scenario;
    struct random random = {seed * 2654435761u | 1u};
    scenario_decode(&scenario, language, (struct pal_view){data, len});
    for (uint32_t num = 1 + below(&random, CHANGES_MAX); num > 0; num--) {
        change(&scenario, &random);
    }
    assert(scenario.num_steps > 0);
    return scenario_encode(&scenario, data, cap);
}

size_t mutator_cross(const struct language *language, struct pal_view head, struct pal_view tail, uint8_t *out,
                     size_t cap, uint32_t seed)
{
    struct scenario first;
    struct scenario second;
    struct random random = {seed * 2654435761u | 1u};
    scenario_decode(&first, language, head);
    scenario_decode(&second, language, tail);
    first.num_steps = 1 + below(&random, (uint32_t)first.num_steps);
    for (size_t i = below(&random, (uint32_t)second.num_steps); i < second.num_steps; i++) {
        if (first.num_steps == SCENARIO_STEPS_MAX || second.store_len > SCENARIO_STORE_MAX - first.store_len) {
            break;
        }
        struct step *step = &first.steps[first.num_steps++];
        *step = second.steps[i];
        for (size_t f = 0; f < operation_of(&second, step)->num_fields; f++) {
            if (operation_of(&second, step)->fields[f].kind == FIELD_BYTES) {
                step->number[f] += (uint32_t)first.store_len;
            }
        }
    }
    if (second.store_len <= SCENARIO_STORE_MAX - first.store_len) {
        memcpy(first.store + first.store_len, second.store, second.store_len);
        first.store_len += second.store_len;
    }
    return scenario_encode(&first, out, cap);
}
