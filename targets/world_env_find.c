/* SPDX-License-Identifier: Apache-2.0
 * world_env_find.c: searching memory for a key. It is done for every block that is given back, so it looks at many
 * places at a time. It breaks when a place at the end of a block is left out: world_env_test has them all.
 */
#include "poison.h"
#include "world_env.h"

#define FIND_BLOCK 64u

/* may_start: whether the needle's first and eighth byte stand in their distance at one of FIND_BLOCK places. Without a
 * branch, so that a compiler takes many places at a time. */
PALDIFF_LOOKS_ANYWHERE static bool may_start(const uint8_t *at, const uint8_t *needle)
{
    uint8_t found = 0;
    for (size_t i = 0; i < FIND_BLOCK; i++) {
        found |= (uint8_t)((at[i] == needle[0]) & (at[i + 7] == needle[7]));
    }
    return found != 0;
}

PALDIFF_LOOKS_ANYWHERE static bool starts_in(const uint8_t *at, size_t num_places, struct pal_view needle)
{
    uint64_t first;
    __builtin_memcpy(&first, needle.data, sizeof(first));
    for (size_t i = 0; i < num_places; i++) {
        uint64_t here;
        __builtin_memcpy(&here, at + i, sizeof(here));
        if (here != first) {
            continue;
        }
        size_t same = sizeof(first);
        while (same < needle.len && at[i + same] == needle.data[same]) {
            same++;
        }
        if (same == needle.len) {
            return true;
        }
    }
    return false;
}

PALDIFF_LOOKS_ANYWHERE bool view_find(struct pal_view hay, struct pal_view needle)
{
    if (needle.len < sizeof(uint64_t) || hay.len < needle.len) {
        return false;
    }
    size_t places = hay.len - needle.len + 1;
    size_t at = 0;
    for (; places - at >= FIND_BLOCK; at += FIND_BLOCK) {
        if (may_start(hay.data + at, needle.data) && starts_in(hay.data + at, FIND_BLOCK, needle)) {
            return true;
        }
    }
    return starts_in(hay.data + at, places - at, needle);
}
