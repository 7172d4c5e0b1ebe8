/* SPDX-License-Identifier: Apache-2.0
 * world_env_test.c: claims about what a port is given: the ledger is right, faults fire once and where they were asked
 * for, keys are found, random bytes depend on step and draw only, fences are seen, actors take turns.
 */
#include "actors.h"
#include "arena.h"
#include "poison.h"
#include "token_watch.h"
#include "world_env.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const uint8_t key_bytes[] = "sixteen byte key";
static const struct pal_view key = {key_bytes, 16};

static void every_block_is_counted_until_it_is_back(void **state)
{
    struct world_env world;
    void *blocks[5];
    (void)state;
    world_env_init(&world);
    for (size_t i = 0; i < 5; i++) {
        blocks[i] = world.env.alloc(&world, i + 1);
        assert_non_null(blocks[i]);
        assert_int_equal(world.live_blocks, i + 1);
    }
    assert_int_equal(world.allocations, 5);
    /* From the middle, the end and the start of the list. */
    static const size_t order[] = {2, 0, 4, 1, 3};
    for (size_t i = 0; i < 5; i++) {
        world.env.free(&world, blocks[order[i]]);
        assert_int_equal(world.live_blocks, 4 - i);
    }
    world.env.free(&world, NULL);
    assert_null(world.blocks);
}

static void only_the_nth_allocation_fails(void **state)
{
    struct world_env world;
    (void)state;
    for (uint32_t n = 1; n <= 4; n++) {
        world_env_init(&world);
        world.fail_alloc = n;
        for (uint32_t i = 1; i <= 5; i++) {
            void *block = world.env.alloc(&world, 8);
            assert_int_equal(block == NULL, i == n);
            assert_int_equal(world.faulted, i >= n);
        }
        world_env_deinit(&world);
        assert_int_equal(world.live_blocks, 0);
    }
}

static void a_key_is_found_at_any_place_and_only_whole(void **state)
{
    (void)state;
    /* Long ones are looked at 64 places at a time: so many and 16 bytes more is one look, and no place left. */
    for (size_t len = 16; len <= 240; len += len < 80 ? 1 : 80) {
        for (size_t at = 0; at + 16 <= len; at++) {
            struct world_env world;
            world_env_init(&world);
            uint8_t *block = world.env.alloc(&world, len);
            uint8_t *newer = world.env.alloc(&world, len);
            memset(block, 'x', len);
            memset(newer, 'x', len);
            assert_int_equal(world_env_blocks_with(&world, key), 0);
            memcpy(block + at, key.data, key.len);
            assert_int_equal(world_env_blocks_with(&world, key), 1);
            world_env_watch(&world, key);
            block[at + 15] ^= 1;
            assert_int_equal(world_env_blocks_with(&world, key), 0);
            block[at + 15] ^= 1;
            world.env.free(&world, newer);
            assert_int_equal(world.freed_keys, 0);
            world.env.free(&world, block);
            assert_int_equal(world.freed_keys, 1);
        }
    }
}

static void kept_memory_starts_again_at_a_reset(void **state)
{
    struct world_env world;
    uint8_t *first[40];
    (void)state;
    world_env_init(&world);
    world_env_keep(&world);
    world_env_lend(&world);
    for (size_t round = 0; round < 3; round++) {
        struct pal_buffer rental = {0};
        for (size_t i = 0; i < 40; i++) {
            uint8_t *block = world.env.alloc(&world, 100000 + i); /* the region ends on the way */
            assert_non_null(block);
            assert_int_equal((uintptr_t)block % 16, 0);
            memset(block, 1, 100000 + i);
            assert_true(round == 0 || i > 5 || block == first[i]);
            assert_true(i > 5 || (uintptr_t)block - (uintptr_t)world.region < (uintptr_t)1 << 20);
            for (size_t j = 0; j < i; j++) {
                assert_true(block >= first[j] + 100000 + j || block + 100000 + i <= first[j] || round > 0);
            }
            first[i] = block;
            if (i % 2 == 0) {
                world.env.free(&world, block);
            }
        }
        assert_int_equal(world.env.rent(&world, &rental, 1), PAL_OK);
        assert_int_equal(world.live_blocks, 21);
        world_env_reset(&world);
        assert_int_equal(world.live_blocks, 0);
        assert_null(world.env.rent);
        world_env_lend(&world);
    }
    world_env_deinit(&world);
}

#if defined(PALDIFF_ASAN)
static void kept_memory_has_edges(void **state)
{
    struct world_env world;
    (void)state;
    world_env_init(&world);
    world_env_keep(&world);
    for (size_t len = 17; len <= 32; len++) {
        uint8_t *block = world.env.alloc(&world, len);
        assert_non_null(world.env.alloc(&world, len)); /* its header lies behind the edge */
        assert_null(__asan_region_is_poisoned(block, len));
        assert_int_equal(__asan_address_is_poisoned(block + len), 1);
        world.env.free(&world, block);
        assert_int_equal(__asan_address_is_poisoned(block), 1);
        assert_int_equal(__asan_address_is_poisoned(block + len - 1), 1);
    }
    world_env_deinit(&world);
}

static void a_piece_has_edges(void **state)
{
    struct arena arena;
    (void)state;
    assert_true(arena_init(&arena));
    for (size_t len = 17; len <= 32; len++) {
        (void)arena_take(&arena, len, 1);
        uint8_t *piece = arena_take(&arena, len, 1);
        (void)arena_take(&arena, len, 1);
        assert_null(__asan_region_is_poisoned(piece, len));
        assert_int_equal(__asan_address_is_poisoned(piece - 1), 1);
        assert_int_equal(__asan_address_is_poisoned(piece + len), 1);
        arena_reset(&arena);
        assert_int_equal(__asan_address_is_poisoned(piece), 1);
    }
    arena_deinit(&arena);
}
#endif

static void a_rental_is_a_bucket_full_of_canary(void **state)
{
    static const size_t caps[][2] = {{0, 16}, {1, 16}, {16, 16}, {17, 32}, {16413, 32768}};
    struct world_env world;
    (void)state;
    world_env_init(&world);
    world_env_lend(&world);
    for (size_t i = 0; i < sizeof(caps) / sizeof(caps[0]); i++) {
        struct pal_buffer rental = {0};
        struct pal_buffer found = {0};
        assert_int_equal(world.env.rent(&world, &rental, caps[i][0]), PAL_OK);
        assert_int_equal(rental.cap, caps[i][1]);
        poison_foreign(rental.data, rental.cap);
        for (size_t at = 0; at < rental.cap; at++) {
            assert_int_equal(rental.data[at], RENTAL_CANARY[at % RENTAL_PATTERN_LEN]);
        }
        assert_true(world_env_rental_at(&world, &found, rental.data));
        assert_false(world_env_rental_at(&world, &found, rental.data + 1));
        assert_memory_equal(&found, &rental, sizeof(found));
        assert_int_equal(world.live_rentals, 1);
        assert_int_equal(world.live_blocks, 1);
        assert_int_equal(world.env.release(&world, &rental, false), PAL_OK);
        assert_int_equal(world.live_rentals, 0);
        assert_int_equal(world.live_blocks, 0);
    }
    assert_int_equal(world.rents, 5);
    assert_int_equal(world.allocations, 0);
    assert_int_equal(world.env.rent(&world, &(struct pal_buffer){0}, SIZE_MAX), PAL_NO_MEMORY);
    world_env_deinit(&world);
}

static void only_the_live_handle_returns_a_rental(void **state)
{
    struct world_env world;
    struct pal_buffer rental = {0};
    uint8_t foreign[16];
    (void)state;
    world_env_init(&world);
    world_env_lend(&world);
    assert_int_equal(world.env.rent(&world, &rental, 20), PAL_OK);
    for (size_t i = 0; i < 5; i++) {
        struct pal_buffer wrong = rental;
        wrong.data = i == 0 ? foreign : i == 1 ? rental.data + 1 : rental.data;
        wrong.cap -= i == 2 ? 1 : 0;
        wrong.slot += i == 3 ? 1 : 0;
        wrong.generation += i == 4 ? 1 : 0;
        assert_int_equal(world.env.release(&world, &wrong, false), PAL_REFUSED);
        assert_int_equal(world.bad_returns, i + 1);
        assert_int_equal(world.live_rentals, 1);
    }
    struct pal_buffer copy = rental;
    assert_int_equal(world.env.release(&world, &rental, false), PAL_OK);
    assert_null(rental.data);
    assert_int_equal(world.env.release(&world, &rental, false), PAL_OK);
    assert_int_equal(world.bad_returns, 5);
    assert_int_equal(world.env.release(&world, &copy, false), PAL_REFUSED);
    assert_int_equal(world.bad_returns, 6);
    assert_int_equal(world.env.rent(&world, &rental, 20), PAL_OK);
    assert_ptr_not_equal(rental.data, copy.data);
    assert_int_equal(world.env.release(&world, NULL, false), PAL_BAD_ARGUMENT);
    world_env_deinit(&world);
    assert_int_equal(world.live_blocks, 0);
}

static void a_write_after_the_return_is_counted(void **state)
{
    struct world_env world;
    struct pal_buffer rentals[2] = {{0}};
    uint8_t *data[2];
    (void)state;
    world_env_init(&world);
    world_env_lend(&world);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(world.env.rent(&world, &rentals[i], 40), PAL_OK);
        data[i] = rentals[i].data;
        memset(data[i], 7, 64);
    }
    assert_int_equal(world_env_rentals_touched(&world), 0);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(world.env.release(&world, &rentals[i], true), PAL_OK);
        assert_int_equal(world_env_rentals_touched(&world), i);
        data[i][i * 63] ^= 1;
        assert_int_equal(world_env_rentals_touched(&world), i + 1);
    }
    world_env_deinit(&world);
}

static void a_rent_fails_as_an_allocation_does(void **state)
{
    struct world_env world;
    struct pal_buffer rental = {0};
    (void)state;
    world_env_init(&world);
    world_env_lend(&world);
    world.fail_alloc = 2;
    void *block = world.env.alloc(&world, 8);
    size_t len = 0;
    assert_non_null(block);
    assert_true(world_env_block_at(&world, &len, block));
    assert_false(world_env_block_at(&world, &len, (uint8_t *)block + 1));
    assert_int_equal(len, 8);
    assert_int_equal(world.env.rent(&world, &rental, 8), PAL_NO_MEMORY);
    assert_null(rental.data);
    assert_true(world.faulted);
    assert_int_equal(world.env.rent(&world, &rental, 8), PAL_OK);
    assert_int_equal(world.allocations, 1);
    world_env_deinit(&world);
}

static void keys_that_could_be_chance_are_not_looked_for(void **state)
{
    struct world_env world;
    static const uint8_t zeros[32];
    (void)state;
    world_env_init(&world);
    uint8_t *block = world.env.alloc(&world, 64);
    assert_non_null(block);
    memset(block, 0, 64);
    world_env_watch(&world, (struct pal_view){zeros, 32});
    world_env_watch(&world, (struct pal_view){key.data, 8});
    assert_int_equal(world.num_watched, 0);
    assert_int_equal(world_env_blocks_with(&world, (struct pal_view){zeros, 32}), 0);
    world.env.free(&world, block);
    assert_int_equal(world.freed_keys, 0);
}

static void the_newest_keys_are_watched_once_each(void **state)
{
    struct world_env world;
    uint8_t keys[WATCHED_KEYS_MAX + 1][16];
    (void)state;
    world_env_init(&world);
    for (size_t i = 0; i <= WATCHED_KEYS_MAX; i++) {
        memcpy(keys[i], key.data, key.len);
        keys[i][0] = (uint8_t)i;
        for (int again = 0; again < 2; again++) {
            world_env_watch(&world, (struct pal_view){keys[i], 16});
            assert_int_equal(world.num_watched, i < WATCHED_KEYS_MAX ? i + 1 : WATCHED_KEYS_MAX);
        }
    }
    for (size_t i = 0; i <= WATCHED_KEYS_MAX; i++) {
        uint8_t *block = world.env.alloc(&world, 16);
        assert_non_null(block);
        memcpy(block, keys[i], 16);
        world.env.free(&world, block);
        assert_int_equal(world.freed_keys, i); /* all but the oldest */
    }
    world_env_deinit(&world);
}

static void a_step_counts_from_zero(void **state)
{
    struct world_env world;
    struct pal_buffer rental = {0};
    (void)state;
    world_env_init(&world);
    world_env_lend(&world);
    world_env_watch(&world, key);
    world.fail_alloc = 3;
    uint8_t *block = world.env.alloc(&world, 16);
    assert_non_null(block);
    memcpy(block, key.data, key.len);
    world.env.free(&world, block);
    assert_int_equal(world.env.rent(&world, &rental, 8), PAL_OK);
    assert_null(world.env.alloc(&world, 8));
    assert_true(world.allocations == 2 && world.rents == 1 && world.freed_keys == 1 && world.faulted);
    world_env_step(&world, 1);
    assert_int_equal(world.allocations, 0);
    assert_int_equal(world.rents, 0);
    assert_int_equal(world.freed_keys, 0);
    assert_false(world.faulted);
    assert_int_equal(world.live_rentals, 1);
    world_env_deinit(&world);
}

static void random_bytes_depend_on_step_and_draw_only(void **state)
{
    struct world_env a;
    struct world_env b;
    uint8_t drawn[4][24];
    (void)state;
    world_env_init(&a);
    world_env_init(&b);
    world_env_step(&a, 7);
    world_env_step(&b, 9);
    assert_int_equal(a.env.random(&a, drawn[0], 24), PAL_OK);
    assert_int_equal(a.env.random(&a, drawn[1], 24), PAL_OK);
    assert_int_equal(b.env.random(&b, drawn[2], 24), PAL_OK);
    world_env_step(&b, 7);
    assert_int_equal(b.env.random(&b, drawn[3], 24), PAL_OK);
    assert_memory_not_equal(drawn[0], drawn[1], 24);
    assert_memory_not_equal(drawn[0], drawn[2], 24);
    assert_memory_equal(drawn[0], drawn[3], 24);
    b.fail_random = 1;
    assert_int_equal(b.env.random(&b, drawn[2], 24), PAL_NO_RANDOM);
    assert_int_equal(b.env.random(&b, drawn[2], 24), PAL_OK);
}

#if !defined(PALDIFF_ASAN)
/* Under ASan the write itself is caught. */
static void a_write_past_a_piece_is_seen(void **state)
{
    struct arena arena;
    (void)state;
    assert_true(arena_init(&arena));
    for (size_t len = 0; len < 40; len++) {
        uint8_t *piece = arena_take(&arena, len, 1);
        assert_int_equal(arena_fence_damage(piece, len), 0);
        for (size_t i = 0; i < ARENA_FENCE; i++) {
            piece[len + i] ^= 1;
            assert_int_equal(arena_fence_damage(piece, len), 2 * i + 1);
            (piece - ARENA_FENCE)[i] ^= 1;
            assert_int_equal(arena_fence_damage(piece, len), 2 * i + 2);
        }
    }
    arena_deinit(&arena);
}
#endif

static _Thread_local int turns;

static void take_turn(void *argument)
{
    *(int *)argument = ++turns;
}

static void an_actor_keeps_its_thread_until_it_ends(void **state)
{
    struct actors actors;
    int seen = 0;
    (void)state;
    actors_init(&actors);
    turns = 0;
    for (int turn = 1; turn <= 3; turn++) {
        for (size_t i = 0; i < TRACE_THREADS_MAX; i++) {
            actors_run(&actors, i, take_turn, &seen);
            assert_int_equal(seen, turn);
        }
    }
    actors_end(&actors, 2);
    actors_end(&actors, 0);
    actors_run(&actors, 2, take_turn, &seen);
    assert_int_equal(seen, 1);
    actors_run(&actors, 0, take_turn, &seen);
    assert_int_equal(seen, 4);
    assert_int_equal(turns, 4); /* the first actor is the caller */
    actors_deinit(&actors);
}

static void bytes_of_a_pattern_count_in_runs_of_six_at_any_place(void **state)
{
    const uint8_t *const patterns[2] = {RENTAL_CANARY, RENTAL_RETURNED};
    uint8_t bytes[200];
    (void)state;
    for (size_t len = 0; len <= 80; len++) {
        for (size_t at = 0; at + len <= sizeof(bytes); at++) {
            memset(bytes, 'x', sizeof(bytes));
            for (size_t i = at; i < at + len; i++) {
                bytes[i] = patterns[at & 1][i % RENTAL_PATTERN_LEN];
            }
            assert_int_equal(token_bleed((struct pal_view){bytes, sizeof(bytes)}), len >= 6 ? len : 0);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_block_is_counted_until_it_is_back),
        cmocka_unit_test(only_the_nth_allocation_fails),
        cmocka_unit_test(a_key_is_found_at_any_place_and_only_whole),
        cmocka_unit_test(kept_memory_starts_again_at_a_reset),
#if defined(PALDIFF_ASAN)
        cmocka_unit_test(kept_memory_has_edges),
        cmocka_unit_test(a_piece_has_edges),
#endif
        cmocka_unit_test(a_rental_is_a_bucket_full_of_canary),
        cmocka_unit_test(only_the_live_handle_returns_a_rental),
        cmocka_unit_test(a_write_after_the_return_is_counted),
        cmocka_unit_test(a_rent_fails_as_an_allocation_does),
        cmocka_unit_test(keys_that_could_be_chance_are_not_looked_for),
        cmocka_unit_test(the_newest_keys_are_watched_once_each),
        cmocka_unit_test(a_step_counts_from_zero),
        cmocka_unit_test(bytes_of_a_pattern_count_in_runs_of_six_at_any_place),
        cmocka_unit_test(random_bytes_depend_on_step_and_draw_only),
#if !defined(PALDIFF_ASAN)
        cmocka_unit_test(a_write_past_a_piece_is_seen),
#endif
        cmocka_unit_test(an_actor_keeps_its_thread_until_it_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
