/* SPDX-License-Identifier: Apache-2.0
 * crypt_input.c: what a call of a cached crypto context is given: key registers, texts, parts, output buffers; and what
 * is seen of the output afterwards.
 */
#include "crypt_world.h"

#include <string.h>

#define OUT_FILL 0xa5u
#define OUT_LEN_MARK 0x5eedu
#define ROOM_MORE 7u
#define SMALL_PART 61u /* odd, below every block length */

const char *const crypt_tail_names[CRYPT_TAILS] = {"0",  "1",  "15",  "16",  "17",  "32",  "55",  "56",   "63",
                                                   "64", "65", "111", "112", "127", "128", "129", "1000", "8193"};
static const uint32_t tail_lens[CRYPT_TAILS] = {0,  1,  15,  16,  17,  32,  55,  56,   63,
                                                64, 65, 111, 112, 127, 128, 129, 1000, 8193};
const char *const crypt_parts_names[CRYPT_NUM_PARTS] = {"whole", "halves", "small", "empties", "null"};
const char *const crypt_room_names[CRYPT_NUM_ROOMS] = {"exact", "more", "less", "none"};

/* Registers at the start: 1 differs from 0 in its last byte only, 2 is a prefix of 0, 3 goes on after 0. A cache that
 * compares addresses, lengths or beginnings confuses them. */
static const size_t register_lens[CRYPT_KEYS] = {32, 32, 16, 200};

void crypt_register_write(struct crypt_world *world, uint32_t index, struct pal_view bytes)
{
    struct crypt_register *reg = &world->registers[index];
    size_t len = bytes.len > world->area->key_len_min ? bytes.len : world->area->key_len_min;
    bool in_place = reg->data != NULL && reg->len == len;
    if (!in_place) {
        reg->data = arena_take(&world->player.world->arena, len, 0);
        reg->len = len;
        reg->used = false;
    }
    for (size_t i = 0; i < len; i++) {
        uint8_t byte = i < bytes.len ? bytes.data[i] : (uint8_t)(i * 7 + 1);
        reg->changed |= in_place && reg->used && reg->data[i] != byte;
        reg->data[i] = byte;
    }
}

void crypt_registers_init(struct crypt_world *world)
{
    uint8_t bytes[CRYPT_KEY_LEN_MAX];
    for (size_t i = 0; i < sizeof(bytes); i++) {
        bytes[i] = (uint8_t)(0x41 + i * 13);
    }
    for (uint32_t index = 0; index < CRYPT_KEYS; index++) {
        uint8_t last = bytes[register_lens[1] - 1];
        bytes[register_lens[1] - 1] ^= index == 1 ? 1 : 0;
        crypt_register_write(world, index, (struct pal_view){bytes, register_lens[index]});
        bytes[register_lens[1] - 1] = last;
    }
}

static struct pal_view take_part(struct crypt_world *world, struct pal_view text, size_t from, size_t to)
{
    uint8_t *data = arena_take(&world->player.world->arena, to - from, 0);
    if (to > from) {
        memcpy(data, text.data + from, to - from);
    }
    return (struct pal_view){data, to - from};
}

struct pal_view crypt_key(struct crypt_world *world, struct trace_step *trace, uint32_t index, size_t len)
{
    struct crypt_register *reg = &world->registers[index];
    struct pal_view key = {reg->data, len < reg->len ? len : reg->len};
    trace->facts[FACT_KEY_REGISTER] = index;
    trace->facts[FACT_KEY_POKED] = reg->changed ? 1 : 0;
    trace->key = take_part(world, key, 0, key.len);
    world_env_watch(&world->player.world->env, trace->key);
    return key;
}

void crypt_say(struct crypt_world *world, struct pal_view text)
{
    size_t room = CRYPT_SAID_MAX - world->said_len;
    size_t len = text.len < room ? text.len : room;
    if (len > 0) {
        memcpy(world->said + world->said_len, text.data, len);
    }
    world->said_len += len;
}

struct pal_view crypt_text(struct crypt_world *world, struct pal_view literal, uint32_t tail)
{
    size_t len = literal.len + tail_lens[tail];
    uint8_t *data = arena_take(&world->player.world->arena, len, 0);
    if (literal.len > 0) {
        memcpy(data, literal.data, literal.len);
    }
    for (size_t i = literal.len; i < len; i++) {
        data[i] = (uint8_t)(i ^ (i >> 8) ^ 0x80u);
    }
    return (struct pal_view){data, len};
}

size_t crypt_cut(struct crypt_world *world, struct pal_view parts[CRYPT_PARTS_MAX], struct pal_view text,
                 enum crypt_parts how)
{
    size_t half = text.len / 2;
    size_t num = 0;
    if (how == CRYPT_PARTS_NULL) {
        parts[0] = text;
        parts[1] = (struct pal_view){NULL, 1};
        return 2;
    }
    if (how == CRYPT_WHOLE || world->player.world->mode == PAL_FRESH) {
        parts[0] = text;
        return 1;
    }
    if (how == CRYPT_SMALL) {
        size_t piece = text.len <= CRYPT_PARTS_MAX ? 1 : SMALL_PART;
        for (size_t at = 0; at < text.len; at += piece) {
            bool last = num == CRYPT_PARTS_MAX - 1 || at + piece >= text.len;
            parts[num++] = take_part(world, text, at, last ? text.len : at + piece);
            if (last) {
                break;
            }
        }
        return num;
    }
    if (how == CRYPT_EMPTIES) {
        parts[num++] = (struct pal_view){NULL, 0};
    }
    parts[num++] = take_part(world, text, 0, half);
    if (how == CRYPT_EMPTIES) {
        parts[num++] = take_part(world, text, half, half);
    }
    parts[num++] = take_part(world, text, half, text.len);
    if (how == CRYPT_EMPTIES) {
        parts[num++] = (struct pal_view){NULL, 0};
    }
    return num;
}

struct crypt_output crypt_output_take(struct crypt_world *world, size_t need, enum crypt_room room,
                                      struct pal_view input)
{
    struct crypt_output output = {.len = OUT_LEN_MARK, .cap = need};
    switch (room) {
    case CRYPT_ROOM_MORE:
        output.cap = need + ROOM_MORE;
        break;
    case CRYPT_ROOM_LESS:
        output.cap = need > 0 ? need - 1 : 0;
        break;
    case CRYPT_ROOM_NONE:
        output.cap = 0;
        break;
    case CRYPT_ROOM_EXACT:
    case CRYPT_NUM_ROOMS:
        break;
    }
    output.memory = output.cap > input.len ? output.cap : input.len;
    uint8_t *before = arena_take(&world->player.world->arena, output.memory, OUT_FILL);
    output.data = arena_take(&world->player.world->arena, output.memory, OUT_FILL);
    if (input.len > 0) {
        memcpy(output.data, input.data, input.len);
        memcpy(before, input.data, input.len);
    }
    output.before = before;
    return output;
}

void crypt_output_done(const struct crypt_output *output, struct trace_step *trace, enum pal_status status,
                       size_t wiped)
{
    size_t own = status == PAL_OK ? output->len : 0;
    uint32_t dirt = (uint32_t)arena_fence_damage(output->data, output->memory);
    own = status == PAL_BAD_TAG ? wiped : own;
    for (size_t i = own; i < output->memory; i++) {
        dirt += output->data[i] != output->before[i] ? 1 : 0;
    }
    dirt += status != PAL_OK && output->len != OUT_LEN_MARK ? 1 : 0;
    trace->status = status;
    trace->out = (struct pal_view){output->data, output->cap};
    trace->out_len = status == PAL_OK ? output->len : 0;
    trace->facts[FACT_DIRT] = dirt;
    trace->facts[FACT_WIPE_LEN] = (uint32_t)wiped;
}
