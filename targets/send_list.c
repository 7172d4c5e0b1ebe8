/* SPDX-License-Identifier: Apache-2.0
 * send_list.c: building a list segment by segment, and what a list says: its bytes, and the calls that a way needs for
 * it.
 */
#include "send_world.h"

#include "poison.h"

#include <string.h>

#define HALF_OF_ALL (SIZE_MAX / 2 + 1)
#define LIST_BYTES_MAX 8192u

const char *const send_len_names[SEND_LENS] = {"0", "1", "2", "3", "7", "16", "36", "64", "100", "255", "256", "1000"};
const size_t send_lens[SEND_LENS] = {0, 1, 2, 3, 7, 16, 36, 64, 100, 255, 256, 1000};

static uint8_t *take(struct send_world *world, size_t len)
{
    return arena_take_undefined(&world->player.world->arena, len);
}

/* count_up: first, first + 1, ..., in memory of one's own: looked at as a whole, not by the byte. */
PALDIFF_LOOKS_ANYWHERE static void count_up(uint8_t *out, size_t len, size_t first)
{
    for (size_t i = 0; i < len; i++) {
        out[i] = (uint8_t)(first + i);
    }
}

void send_drop_list(struct send_world *world)
{
    world->num_segments = 0;
    world->list_len = 0;
}

/* send_add: lists are bounded in number and in bytes; what would not fit is left out. */
void send_add(struct send_world *world, struct pal_segment segment)
{
    size_t len = segment.bytes.len == HALF_OF_ALL ? 0 : segment.bytes.len;
    if (world->num_segments < SEND_SEGMENTS_MAX && len <= LIST_BYTES_MAX && world->list_len <= LIST_BYTES_MAX - len) {
        world->segments[world->num_segments++] = segment;
        world->list_len += len + (segment.file >= 0 ? TRANSPORT_FILE_MAX : 0);
    }
}

void send_add_bytes(struct send_world *world, const struct step *step)
{
    struct pal_view text = scenario_field_bytes(world->player.scenario, step, 0);
    size_t len = text.len + send_lens[step->number[1]];
    uint8_t *data = take(world, len);
    if (text.len > 0) {
        memcpy(data, text.data, text.len);
    }
    count_up(data + text.len, len - text.len, world->num_segments * 31 + text.len);
    struct pal_segment segment = {{data, len}, -1, 0, 0};
    if (step->number[2] == 1) {
        segment.bytes = (struct pal_view){NULL, 1};
    } else if (step->number[2] == 2 && world->num_segments + 2 <= SEND_SEGMENTS_MAX) {
        /* Two halves of all memory, and their sum wraps. Neither may be read. */
        segment.bytes.len = HALF_OF_ALL;
        send_add(world, segment);
    } else if (step->number[2] == 3) {
        segment = (struct pal_segment){{NULL, 0}, TRANSPORT_FILE + (int)TRANSPORT_FILES, 0, 0};
    }
    send_add(world, segment);
}

/* segment_bytes: of a segment of a list that begin accepted. */
static struct pal_view segment_bytes(const struct send_world *world, const struct pal_segment *segment)
{
    if (segment->file < 0) {
        return segment->bytes;
    }
    const struct transport_file *file = &world->transport.files[segment->file - TRANSPORT_FILE];
    size_t len = segment->file_len > 0 ? (size_t)segment->file_len : file->len - (size_t)segment->file_offset;
    return (struct pal_view){file->data + segment->file_offset, len};
}

bool send_sendable(const struct send_world *world, const struct send_slot *slot)
{
    size_t len = 0;
    for (size_t i = 0; i < slot->num_segments; i++) {
        const struct pal_segment *segment = &slot->kept[i];
        uint64_t size = 0;
        bool known = segment->file < 0 ? pal_view_valid(segment->bytes)
                                       : transport_file_size(&world->transport, &size, segment->file) == PAL_OK;
        bool inside =
            segment->file < 0 || (segment->file_offset <= size && segment->file_len <= size - segment->file_offset);
        if (!known || !inside || segment->bytes.len > SIZE_MAX - len) {
            return false;
        }
        len += segment->bytes.len;
    }
    return true;
}

/* send_expect: what a list that begin accepted says. */
void send_expect(struct send_world *world, struct send_slot *slot)
{
    slot->empties = slot->num_segments == 0;
    for (size_t i = 0; i < slot->num_segments; i++) {
        struct pal_view bytes = segment_bytes(world, &slot->kept[i]);
        slot->empties |= bytes.len == 0;
        slot->expected_len += bytes.len;
    }
    slot->empty = slot->expected_len == 0;
    slot->expected = take(world, slot->expected_len);
    size_t at = 0;
    for (size_t i = 0; i < slot->num_segments; i++) {
        const struct pal_segment *segment = &slot->kept[i];
        struct pal_view bytes = segment_bytes(world, segment);
        if (bytes.len > 0) {
            memcpy(slot->expected + at, bytes.data, bytes.len);
        }
        at += bytes.len;
        if (segment->file >= 0 && bytes.len > 0) {
            size_t *needed = &slot->file_end[segment->file - TRANSPORT_FILE];
            size_t end = (size_t)segment->file_offset + bytes.len;
            *needed = end > *needed ? end : *needed;
            slot->files = true;
        }
    }
}

/* calls_due: for a list that the socket takes in one go. */
uint32_t send_calls_due(const struct send_world *world, const struct send_slot *slot)
{
    size_t pieces = 0;
    size_t runs = 0;
    bool in_run = false;
    for (size_t i = 0; i < slot->num_segments; i++) {
        const struct pal_segment *segment = &slot->kept[i];
        bool file = segment->file >= 0;
        size_t len = file ? 1 : segment->bytes.len;
        if (file && segment->file_len == 0) {
            len = world->transport.files[segment->file - TRANSPORT_FILE].len > segment->file_offset ? 1 : 0;
        }
        if (len > 0) {
            pieces++;
            runs += file || !in_run ? 1 : 0;
            in_run = !file;
        }
    }
    switch ((enum pal_send_way)world->player.world->spec->way) {
    case PAL_SEND_SEQUENTIAL:
        return (uint32_t)pieces;
    case PAL_SEND_COPIED:
    case PAL_SEND_GATHERED:
        return pieces > 0 ? 1 : 0;
    case PAL_SEND_PACKETS:
    case PAL_SEND_AUTO:
        return (uint32_t)runs;
    case PAL_SEND_NUM_WAYS:
        break;
    }
    return 0;
}

const struct pal_segment *send_copy_list(struct send_world *world, size_t num)
{
    struct pal_segment *copy = (struct pal_segment *)(void *)take(world, num * sizeof(*copy));
    if (num > 0) {
        memcpy(copy, world->segments, num * sizeof(*copy));
    }
    return copy;
}

uint32_t send_list_changes(const struct send_slot *slot)
{
    uint32_t changed = 0;
    for (size_t i = 0; !slot->scribbled && i < slot->num_segments; i++) {
        const struct pal_segment *a = &slot->given[i];
        const struct pal_segment *b = &slot->kept[i];
        bool same = a->bytes.data == b->bytes.data && a->bytes.len == b->bytes.len && a->file == b->file &&
                    a->file_offset == b->file_offset && a->file_len == b->file_len;
        changed += same ? 0 : 1;
    }
    return changed;
}

void send_add_file(struct send_world *world, const struct step *step)
{
    struct pal_segment segment = {
        {NULL, 0}, TRANSPORT_FILE + (int)step->number[0], step->number[1], send_lens[step->number[2]]};
    send_add(world, segment);
}
