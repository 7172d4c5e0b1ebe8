/* SPDX-License-Identifier: Apache-2.0
 * arena.c: a bump allocator with fences. Each piece starts on 16 bytes, so that ASan sees its end to the byte.
 */
#include "arena.h"

#include "poison.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define FENCE_BYTE 0xfeu
#define PIECE_ALIGN 16u
#define PAGE ((size_t)4096)
#define GUARDED_CAP ((size_t)64 << 20)

bool arena_init(struct arena *arena)
{
    memset(arena, 0, sizeof(*arena));
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
    if (arena->guarded != NULL) {
        poison_clear(arena->guarded, GUARDED_CAP);
        (void)munmap(arena->guarded, GUARDED_CAP);
        arena->guarded = NULL;
    }
}

bool arena_guard(struct arena *arena)
{
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void *memory = mmap(NULL, GUARDED_CAP, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory, PAGE, PROT_NONE) != 0) {
        (void)fputs("paldiff: no memory with guard pages\n", stderr);
        return false;
    }
    arena->guarded = memory;
    arena->guarded_used = PAGE;
    poison_region(memory, GUARDED_CAP);
    return true;
}

bool arena_guards(const struct arena *arena, const void *address)
{
    return arena->guarded != NULL && (uintptr_t)address - (uintptr_t)arena->guarded < GUARDED_CAP;
}

/* take_guarded: `whole` bytes up to the page behind them, which is closed; NULL when there is no more room. */
static uint8_t *take_guarded(struct arena *arena, size_t whole)
{
    size_t pages = (whole + PAGE - 1) / PAGE * PAGE;
    if (arena->guarded == NULL || pages + PAGE > GUARDED_CAP - arena->guarded_used) {
        return NULL;
    }
    uint8_t *end = arena->guarded + arena->guarded_used + pages;
    if (mprotect(end, PAGE, PROT_NONE) != 0) {
        return NULL;
    }
    arena->guarded_used += pages + PAGE;
    return end - whole;
}

void arena_reset(struct arena *arena)
{
    poison_region(arena->memory, arena->used);
    arena->used = 0;
    if (arena->guarded != NULL && arena->guarded_used > PAGE) {
        (void)mprotect(arena->guarded + PAGE, arena->guarded_used - PAGE, PROT_READ | PROT_WRITE);
        poison_region(arena->guarded + PAGE, arena->guarded_used - PAGE);
        arena->guarded_used = PAGE;
    }
}

/* write_fence: FENCE_BYTE, into memory that stays poisoned. Volatile, or it becomes a call of memset, which ASan
 * watches. */
PALDIFF_LOOKS_ANYWHERE static void write_fence(uint8_t *from, const uint8_t *end)
{
    for (; from < end; from += sizeof(uint64_t)) {
        *(volatile uint64_t *)(void *)from = 0x0101010101010101u * FENCE_BYTE;
    }
}

/* take: a piece of undefined contents. */
static uint8_t *take(struct arena *arena, size_t len)
{
    size_t rounded = (len + PIECE_ALIGN - 1) / PIECE_ALIGN * PIECE_ALIGN;
    size_t whole = ARENA_FENCE + rounded + ARENA_FENCE;
    if (len > ARENA_CAP / 2 || whole > ARENA_CAP - arena->used) {
        (void)fputs("paldiff: a scenario needs more memory than its bounds allow\n", stderr);
        abort();
    }
    uint8_t *guarded = take_guarded(arena, whole);
    uint8_t *piece = guarded != NULL ? guarded : arena->memory + arena->used;
    uint8_t *data = piece + ARENA_FENCE;
    arena->used += whole;
    write_fence(piece, data);
    write_fence(data + len / PIECE_ALIGN * PIECE_ALIGN, data + rounded + ARENA_FENCE);
    poison_clear(data, len); /* all else is poisoned already */
    return data;
}

uint8_t *arena_take_undefined(struct arena *arena, size_t len)
{
    uint8_t *data = take(arena, len);
    poison_uninitialised(data, len);
    return data;
}

uint8_t *arena_take(struct arena *arena, size_t len, uint8_t fill)
{
    return memset(take(arena, len), fill, len);
}

struct pal_view arena_copy(struct arena *arena, struct pal_view view)
{
    uint8_t *data = take(arena, view.len);
    if (view.len > 0) {
        memcpy(data, view.data, view.len);
    }
    return (struct pal_view){data, view.len};
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
