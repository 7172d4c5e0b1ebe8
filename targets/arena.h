/* SPDX-License-Identifier: Apache-2.0
 * arena.h: memory that a world lends to a port for one scenario: exact in size, fenced, and gone all at once.
 * Under ASan the fences are poisoned; in every build they hold a pattern that is checked after each call.
 */
#ifndef PALDIFF_ARENA_H
#define PALDIFF_ARENA_H

#include "pal.h"

#define ARENA_CAP (4u * 1024u * 1024u)
#define ARENA_FENCE 16u

struct arena {
    uint8_t *memory;
    size_t used;
};

/* arena_init: false without memory. arena_deinit gives it back. */
bool arena_init(struct arena *arena);
void arena_deinit(struct arena *arena);

/* arena_reset: everything that was taken is gone. */
void arena_reset(struct arena *arena);

/* arena_take: `len` bytes between two fences, all `fill`. Aborts when the arena is full: scenarios are bounded below
 * it. */
uint8_t *arena_take(struct arena *arena, size_t len, uint8_t fill);

/* arena_fence_damage: bytes of the two fences around (data, len) that no longer hold the pattern. */
size_t arena_fence_damage(const uint8_t *data, size_t len);

#endif
