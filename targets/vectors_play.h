/* SPDX-License-Identifier: Apache-2.0
 * vectors_play.h: plays vectors in worlds {engine} x {fresh, reused}, with refused calls and faults between them.
 * It reads no files. What is expected comes from the vector alone, never from another world.
 * It breaks when two successive vectors of a family have one key: then the first play is no miss.
 */
#ifndef PALDIFF_VECTORS_PLAY_H
#define PALDIFF_VECTORS_PLAY_H

#include "vectors.h"
#include "world_env.h"

#define PLAYER_WORLDS 4u
#define VECTORS_SEED 0x70616c6469666631u

/* disturbance: what a slot has behind it when a vector comes. */
enum disturbance {
    DISTURB_BAD_TAG,           /* aead */
    DISTURB_ABANDONED_MESSAGE, /* hmac */
    DISTURB_SMALL_OUTPUT,
    DISTURB_UNKNOWN_ALGORITHM,
    DISTURB_FAILING_ALLOCATION,
    NUM_DISTURBANCES
};

struct player_world {
    char name[32]; /* engine/mode */
    const struct pal_port *port;
    enum pal_mode mode;
    struct world_env env;
};

/* player: all worlds of one test. Must not move after player_init. */
struct vector_player {
    struct player_world worlds[PLAYER_WORLDS];
    uint64_t random;
    bool silent; /* flags are counted, not printed */
    size_t num_flags;
    size_t num_plays[VECTOR_FILES_MAX];
    size_t num_misses; /* key schedules computed in reused worlds, as they had to be */
    size_t num_hits;   /* messages in reused worlds without key schedule and allocation, as it had to be */
    size_t num_disturbances[NUM_DISTURBANCES];
    size_t num_faults; /* allocations that were refused */
    /* The play at hand: */
    struct player_world *world;
    const struct vector *vector;
    const char *moment;
};

/* player_init: false when an engine cannot be started. player_deinit: drops all slots; returns blocks not given back.
 */
bool player_init(struct vector_player *player);
size_t player_deinit(struct vector_player *player);

/* player_play: `vector` in every world, twice in each: a miss, then a hit, and disturbances before both. */
void player_play(struct vector_player *player, const struct vector *vector);

/* player_try: `vector` once in one world. Returns how many of its operations were flagged; sets *out_operations. */
size_t player_try(struct vector_player *player, size_t *out_operations, size_t world, const struct vector *vector);

/* player_random: the next number of the fixed sequence, below `bound`. */
size_t player_random(struct vector_player *player, size_t bound);

#endif
