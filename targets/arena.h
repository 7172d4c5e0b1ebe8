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
    uint8_t *guarded; /* where pieces are taken from while there is room; NULL: all are of `memory` */
    size_t guarded_used;
};

/* arena_init: false without memory. arena_deinit gives it back. */
bool arena_init(struct arena *arena);
void arena_deinit(struct arena *arena);

/* arena_guard: from now on pieces lie between pages that may not be touched, behind the fences: a write that jumps over
 * a fence ends the process, whoever made it and however it was compiled. False, with a line on stderr, without memory.
 */
bool arena_guard(struct arena *arena);

/* arena_guards: whether the address is in one of those pages, or near a piece. Safe in a signal handler. */
bool arena_guards(const struct arena *arena, const void *address);

/* arena_reset: everything that was taken is gone. */
void arena_reset(struct arena *arena);

/* arena_take: `len` bytes between two fences, all `fill`. Aborts when the arena is full: scenarios are bounded below
 * it. */
uint8_t *arena_take(struct arena *arena, size_t len, uint8_t fill);

/* arena_take_undefined: the same, of undefined contents. */
uint8_t *arena_take_undefined(struct arena *arena, size_t len);

/* arena_copy: the same, with the bytes of `view`. */
struct pal_view arena_copy(struct arena *arena, struct pal_view view);

/* arena_fence_damage: bytes of the two fences around (data, len) that no longer hold the pattern. */
size_t arena_fence_damage(const uint8_t *data, size_t len);

#endif
