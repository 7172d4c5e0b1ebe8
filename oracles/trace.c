/* SPDX-License-Identifier: Apache-2.0
 * trace.c: hashing of traces. A field that is not hashed here is one that replay does not guard.
 */
#include "trace.h"

#include <string.h>

const char *trace_fact_name(enum trace_fact fact)
{
    static const char *const names[NUM_FACTS] = {
#define FACT(name, text) text,
#include "facts.def"
#undef FACT
    };
    return fact < NUM_FACTS ? names[fact] : "?";
}

static uint64_t hash_bytes(uint64_t hash, const uint8_t *data, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        hash = (hash ^ data[i]) * 0x100000001b3u;
    }
    return hash;
}

static uint64_t hash_number(uint64_t hash, uint64_t number)
{
    uint8_t bytes[8];
    for (size_t i = 0; i < sizeof(bytes); i++) {
        bytes[i] = (uint8_t)(number >> (8 * i));
    }
    return hash_bytes(hash, bytes, sizeof(bytes));
}

static uint64_t hash_view(uint64_t hash, struct pal_view view)
{
    return hash_bytes(hash_number(hash, view.len), view.data, view.len);
}

uint64_t trace_hash(const struct trace *trace)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < trace->num_steps; i++) {
        const struct trace_step *step = &trace->steps[i];
        hash = hash_number(hash, (uint64_t)step->role);
        hash = hash_number(hash, step->op);
        hash = hash_number(hash, step->thread);
        hash = hash_number(hash, (uint64_t)step->status);
        hash = hash_view(hash, step->key);
        hash = hash_view(hash, step->out);
        hash = hash_number(hash, step->out_len);
        for (size_t fact = 0; fact < NUM_FACTS; fact++) {
            hash = hash_number(hash, step->facts[fact]);
        }
    }
    return hash;
}

bool trace_step_has_output(const struct trace_step *step)
{
    return step->role == ROLE_MESSAGE || step->role == ROLE_FINISH;
}

/* By the word, and not by memcmp: what ASan looks at before that takes longer than short views do. */
bool views_equal(struct pal_view a, struct pal_view b)
{
    uint64_t differs = 0;
    size_t at = 0;
    if (a.len != b.len) {
        return false;
    }
    for (; at + sizeof(uint64_t) <= a.len; at += sizeof(uint64_t)) {
        uint64_t words[2];
        __builtin_memcpy(&words[0], a.data + at, sizeof(words[0]));
        __builtin_memcpy(&words[1], b.data + at, sizeof(words[1]));
        differs |= words[0] ^ words[1];
    }
    for (; at < a.len; at++) {
        differs |= a.data[at] ^ b.data[at];
    }
    return differs == 0;
}
