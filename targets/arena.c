/* SPDX-License-Identifier: Apache-2.0
 * arena.c: a bump allocator with fences. Each piece starts on 16 bytes, so that ASan sees its end to the byte.
 */
#include "arena.h"

#include "poison.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FENCE_BYTE 0xfeu
#define PIECE_ALIGN 16u

bool arena_init(struct arena *arena)
{
    arena->used = 0;
    arena->memory = aligned_alloc(PIECE_ALIGN, ARENA_CAP);
    if (arena->memory == NULL) {
        return false;
    }
    poison_region(arena->memory, ARENA_CAP);
    return true;
}

void arena_deinit(struct arena *arena)
{
    poison_clear(arena->memory, arena->memory != NULL ? ARENA_CAP : 0);
    free(arena->memory);
    arena->memory = NULL;
}

void arena_reset(struct arena *arena)
{
    poison_region(arena->memory, arena->used);
    arena->used = 0;
}

/* write_fence: into memory that stays poisoned. Volatile, or it becomes a call of memset, which ASan watches. */
PALDIFF_LOOKS_ANYWHERE static void write_fence(uint8_t *from, size_t len)
{
    volatile uint8_t *at = from;
    for (size_t i = 0; i < len; i++) {
        at[i] = FENCE_BYTE;
    }
}

uint8_t *arena_take(struct arena *arena, size_t len, uint8_t fill)
{
    size_t rounded = (len + PIECE_ALIGN - 1) / PIECE_ALIGN * PIECE_ALIGN;
    size_t whole = ARENA_FENCE + rounded + ARENA_FENCE;
    if (len > ARENA_CAP / 2 || whole > ARENA_CAP - arena->used) {
        (void)fputs("paldiff: a scenario needs more memory than its bounds allow\n", stderr);
        abort();
    }
    uint8_t *piece = arena->memory + arena->used;
    uint8_t *data = piece + ARENA_FENCE;
    arena->used += whole;
    write_fence(piece, ARENA_FENCE);
    write_fence(data + len, rounded - len + ARENA_FENCE);
    poison_clear(data, len); /* all else is poisoned already */
    memset(data, fill, len);
    return data;
}

PALDIFF_LOOKS_ANYWHERE size_t arena_fence_damage(const uint8_t *data, size_t len)
{
    size_t damage = 0;
    for (size_t i = 0; i < ARENA_FENCE; i++) {
        damage += (data - ARENA_FENCE)[i] != FENCE_BYTE ? 1 : 0;
        damage += data[len + i] != FENCE_BYTE ? 1 : 0;
    }
    return damage;
}
