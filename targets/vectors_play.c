/* SPDX-License-Identifier: Apache-2.0
 * vectors_play.c: one vector in one world: calls, and what they must answer.
 * It breaks when an operation can be flagged twice, or ends before all of it was looked at: vectors_test counts flags.
 */
#include "vectors_play.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNTOUCHED 0xeeu
#define UNTOUCHED_LEN 0x7777u
#define FLAGS_PRINTED_MAX 20u
#define HEX_LEN_MAX 48u
#define JUNK_LEN 40u
#define FAIL_ALLOC_MAX 6u

static const uint8_t digest_lens[PAL_NUM_DIGESTS] = {
    [PAL_SHA1] = 20, [PAL_SHA256] = 32, [PAL_SHA384] = 48, [PAL_SHA512] = 64};

/* Neither an authentic message of anybody nor a nonce of a vector. */
static const uint8_t junk[JUNK_LEN] = "paldiff's junk: forty bytes of no value";

/* The SplitMix64 generator: fixed, so that the order and every cut are the same in each run and build. */
size_t player_random(struct vector_player *player, size_t bound)
{
    uint64_t z = player->random += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (size_t)((z ^ (z >> 31)) % bound);
}

/* ---- flags --------------------------------------------------------------------------------------------------------
 */

static void print_view(const char *word, struct pal_view view)
{
    (void)fprintf(stderr, "  %s (%zu) ", word, view.len);
    for (size_t i = 0; i < view.len && i < HEX_LEN_MAX; i++) {
        (void)fprintf(stderr, "%02x", view.data[i]);
    }
    (void)fprintf(stderr, "%s\n", view.len > HEX_LEN_MAX ? "..." : "");
}

/* Counts, and names the case; whether the caller is to print got and want. */
static bool flag(struct vector_player *player, const char *what)
{
    player->num_flags++;
    if (player->silent || player->num_flags > FLAGS_PRINTED_MAX) {
        return false;
    }
    (void)fprintf(stderr, "FAILED %s, case %u, %s, %s: %s\n", vectors_file_path(player->vector->file),
                  player->vector->id, player->world->name, player->moment, what);
    return true;
}

static bool status_is(struct vector_player *player, const char *what, enum pal_status got, enum pal_status want)
{
    if (got == want) {
        return true;
    }
    if (flag(player, what)) {
        (void)fprintf(stderr, "  got %s\n  want %s\n", pal_status_name(got), pal_status_name(want));
    }
    return false;
}

static bool number_is(struct vector_player *player, const char *what, uint64_t got, uint64_t want)
{
    if (got == want) {
        return true;
    }
    if (flag(player, what)) {
        (void)fprintf(stderr, "  got %llu\n  want %llu\n", (unsigned long long)got, (unsigned long long)want);
    }
    return false;
}

static bool view_same(struct pal_view a, struct pal_view b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

/* `same`: the bytes must be these, or (an invalid vector) must not. */
static void bytes_are(struct vector_player *player, const char *what, struct pal_view got, struct pal_view want,
                      bool same)
{
    if (view_same(got, want) != same && flag(player, what)) {
        print_view("got ", got);
        print_view(same ? "want" : "want other than", want);
    }
}

/* ---- room ---------------------------------------------------------------------------------------------------------
 */

/* room: an output of exactly `cap` bytes, and what it held before. */
struct room {
    uint8_t *memory;
    uint8_t *before;
    size_t cap;
    size_t len; /* *out_len */
};

static struct room room_new(size_t cap, struct pal_view content)
{
    struct room room = {malloc(cap), malloc(cap), cap, UNTOUCHED_LEN};
    if ((room.memory == NULL || room.before == NULL) && cap > 0) {
        (void)fprintf(stderr, "no memory\n");
        abort();
    }
    if (cap > 0) {
        memset(room.memory, UNTOUCHED, cap);
    }
    if (content.len > 0) {
        memcpy(room.memory, content.data, content.len);
    }
    if (cap > 0) {
        memcpy(room.before, room.memory, cap);
    }
    return room;
}

static void room_free(struct room *room)
{
    free(room->memory);
    free(room->before);
    *room = (struct room){0};
}

static void room_is_untouched(struct vector_player *player, const char *what, const struct room *room)
{
    if (number_is(player, "*out_len of a failed call", room->len, UNTOUCHED_LEN)) {
        bytes_are(player, what, (struct pal_view){room->memory, room->cap}, (struct pal_view){room->before, room->cap},
                  true);
    }
}

/* ---- operations ---------------------------------------------------------------------------------------------------
 */

static const struct pal_hmac_ops *hmac_of(const struct vector_player *player)
{
    return player->world->port->hmac[player->world->mode];
}

static const struct pal_aead_ops *aead_of(const struct vector_player *player)
{
    return player->world->port->aead[player->world->mode];
}

/* `whole` in three parts, cut anywhere. */
static void cut(struct vector_player *player, struct pal_view out_parts[3], struct pal_view whole)
{
    size_t first = player_random(player, whole.len + 1);
    size_t second = first + player_random(player, whole.len - first + 1);
    out_parts[0] = (struct pal_view){whole.data, first};
    out_parts[1] = (struct pal_view){first < second ? whole.data + first : NULL, second - first};
    out_parts[2] = (struct pal_view){second < whole.len ? whole.data + second : NULL, whole.len - second};
}

static enum pal_status hmac_by_parts(struct vector_player *player, struct room *out, const struct vector *vector,
                                     const struct pal_view parts[3])
{
    const struct pal_env *env = &player->world->env.env;
    const struct pal_hmac_ops *hmac = hmac_of(player);
    enum pal_status status = hmac->start(env, vector->digest, vector->key);
    for (size_t i = 0; status == PAL_OK && i < 3; i++) {
        status = hmac->update(env, parts[i]);
    }
    return status == PAL_OK ? hmac->finish(env, out->memory, out->cap, &out->len) : status;
}

static void play_hmac(struct vector_player *player, const struct vector *vector)
{
    struct room out = room_new(digest_lens[vector->digest], (struct pal_view){NULL, 0});
    struct pal_view parts[3];
    enum pal_status status;
    cut(player, parts, vector->text);
    if (player_random(player, 2) == 0) {
        status = hmac_of(player)->digest(&player->world->env.env, out.memory, out.cap, &out.len, vector->digest,
                                         vector->key, parts, 3);
    } else {
        status = hmac_by_parts(player, &out, vector, parts);
    }
    if (status_is(player, "hmac", status, PAL_OK) && number_is(player, "hmac's length", out.len, out.cap)) {
        bytes_are(player, "hmac", (struct pal_view){out.memory, vector->tag_len}, vector->want,
                  vector->verdict != VECTOR_INVALID);
    }
    room_free(&out);
}

static void play_seal(struct vector_player *player, const struct vector *vector, const struct pal_aead_job *job)
{
    bool in_place = player_random(player, 2) == 0;
    struct room out =
        room_new(vector->text.len + vector->tag_len, in_place ? vector->text : (struct pal_view){NULL, 0});
    struct pal_view text = in_place ? (struct pal_view){out.memory, vector->text.len} : vector->text;
    enum pal_status status = aead_of(player)->seal(&player->world->env.env, out.memory, out.cap, &out.len, job, text);
    if (!status_is(player, "seal", status, vector->refused ? PAL_BAD_ARGUMENT : PAL_OK)) {
        goto done;
    }
    if (vector->refused) {
        room_is_untouched(player, "output of a refused seal", &out);
    } else if (number_is(player, "length of what was sealed", out.len, out.cap)) {
        bytes_are(player, "seal", (struct pal_view){out.memory, out.len}, vector->want,
                  vector->verdict != VECTOR_INVALID);
    }
done:
    room_free(&out);
}

/* What a message that is not authentic leaves behind: nothing where the plaintext would have been. */
static void room_is_wiped(struct vector_player *player, const struct room *out, size_t plain_len)
{
    struct room want = room_new(out->cap, (struct pal_view){out->before, out->cap});
    if (plain_len > 0) {
        memset(want.memory, 0, plain_len);
    }
    if (number_is(player, "*out_len of a bad tag", out->len, UNTOUCHED_LEN)) {
        bytes_are(player, "output of a bad tag", (struct pal_view){out->memory, out->cap},
                  (struct pal_view){want.memory, want.cap}, true);
    }
    room_free(&want);
}

static void play_open(struct vector_player *player, const struct vector *vector, const struct pal_aead_job *job)
{
    bool in_place = player_random(player, 2) == 0;
    size_t plain_len = vector->want.len - vector->tag_len;
    struct room out =
        room_new(in_place ? vector->want.len : plain_len, in_place ? vector->want : (struct pal_view){NULL, 0});
    struct pal_view sealed = in_place ? (struct pal_view){out.memory, vector->want.len} : vector->want;
    enum pal_status want = vector->refused                     ? PAL_BAD_ARGUMENT
                           : vector->verdict == VECTOR_INVALID ? PAL_BAD_TAG
                                                               : PAL_OK;
    enum pal_status status = aead_of(player)->open(&player->world->env.env, out.memory, out.cap, &out.len, job, sealed);
    if (!status_is(player, "open", status, want)) {
        goto done;
    }
    if (vector->refused) {
        room_is_untouched(player, "output of a refused open", &out);
    } else if (vector->verdict == VECTOR_INVALID) {
        room_is_wiped(player, &out, plain_len);
    } else if (number_is(player, "length of what was opened", out.len, plain_len)) {
        bytes_are(player, "open", (struct pal_view){out.memory, out.len}, vector->text, true);
    }
done:
    room_free(&out);
}

static size_t num_operations(const struct vector *vector)
{
    return vector->family == VECTOR_HMAC || vector->open_only ? 1 : 2;
}

static void play_once(struct vector_player *player, const struct vector *vector)
{
    if (vector->family == VECTOR_HMAC) {
        play_hmac(player, vector);
        return;
    }
    struct pal_view aad[3];
    struct pal_aead_job job = {.cipher = vector->cipher,
                               .key = vector->key,
                               .nonce = vector->nonce,
                               .aad = aad,
                               .num_aad = 3,
                               .tag_len = vector->tag_len};
    cut(player, aad, vector->aad);
    if (!vector->open_only) {
        play_seal(player, vector, &job);
    }
    play_open(player, vector, &job);
}

/* ---- disturbances -------------------------------------------------------------------------------------------------
 */

/* disturb_hmac, disturb_aead: one call that fails (or an opened message) under `key`, and its answer. */
static void disturb_hmac(struct vector_player *player, enum disturbance kind, enum pal_digest digest,
                         struct pal_view key)
{
    const struct pal_hmac_ops *hmac = hmac_of(player);
    struct world_env *env = &player->world->env;
    struct pal_view part = {junk, sizeof(junk)};
    struct room out = room_new(digest_lens[digest], (struct pal_view){NULL, 0});
    enum pal_status want = kind == DISTURB_SMALL_OUTPUT        ? PAL_NO_SPACE
                           : kind == DISTURB_UNKNOWN_ALGORITHM ? PAL_UNSUPPORTED
                                                               : PAL_OK;
    enum pal_status status;
    if (kind == DISTURB_ABANDONED_MESSAGE) {
        status = hmac->start(&env->env, digest, key);
        status = status == PAL_OK ? hmac->update(&env->env, part) : status;
    } else {
        status = hmac->digest(&env->env, out.memory, out.cap - (kind == DISTURB_SMALL_OUTPUT ? 1 : 0), &out.len,
                              kind == DISTURB_UNKNOWN_ALGORITHM ? PAL_NUM_DIGESTS : digest, key, &part, 1);
    }
    if (status_is(player, "hmac between vectors", status, env->faulted ? PAL_NO_MEMORY : want) && status != PAL_OK) {
        room_is_untouched(player, "output of hmac between vectors", &out);
    }
    room_free(&out);
}

static void disturb_seal(struct vector_player *player, enum disturbance kind, const struct pal_aead_job *job)
{
    struct world_env *env = &player->world->env;
    struct room out =
        room_new(sizeof(junk) + job->tag_len - (kind == DISTURB_SMALL_OUTPUT ? 1 : 0), (struct pal_view){NULL, 0});
    enum pal_status want = kind == DISTURB_SMALL_OUTPUT        ? PAL_NO_SPACE
                           : kind == DISTURB_UNKNOWN_ALGORITHM ? PAL_UNSUPPORTED
                                                               : PAL_OK;
    enum pal_status status =
        aead_of(player)->seal(&env->env, out.memory, out.cap, &out.len, job, (struct pal_view){junk, sizeof(junk)});
    if (status_is(player, "seal between vectors", status, env->faulted ? PAL_NO_MEMORY : want) && status != PAL_OK) {
        room_is_untouched(player, "output of seal between vectors", &out);
    }
    room_free(&out);
}

static void disturb_open(struct vector_player *player, enum disturbance kind, const struct pal_aead_job *job)
{
    struct world_env *env = &player->world->env;
    size_t plain_len = sizeof(junk) - job->tag_len;
    struct room out = room_new(plain_len - (kind == DISTURB_SMALL_OUTPUT ? 1 : 0), (struct pal_view){NULL, 0});
    enum pal_status want = kind == DISTURB_SMALL_OUTPUT        ? PAL_NO_SPACE
                           : kind == DISTURB_UNKNOWN_ALGORITHM ? PAL_UNSUPPORTED
                                                               : PAL_BAD_TAG;
    enum pal_status status =
        aead_of(player)->open(&env->env, out.memory, out.cap, &out.len, job, (struct pal_view){junk, sizeof(junk)});
    if (!status_is(player, "open between vectors", status, env->faulted ? PAL_NO_MEMORY : want)) {
        goto done;
    }
    if (status == PAL_BAD_TAG) {
        room_is_wiped(player, &out, plain_len);
    } else {
        room_is_untouched(player, "output of open between vectors", &out);
    }
done:
    room_free(&out);
}

static void disturb_aead(struct vector_player *player, enum disturbance kind, enum pal_aead cipher, struct pal_view key)
{
    struct pal_aead_job job = {.cipher = kind == DISTURB_UNKNOWN_ALGORITHM ? PAL_NUM_AEADS : cipher,
                               .key = key,
                               .nonce = {junk, 1 + player_random(player, JUNK_LEN)},
                               .tag_len =
                                   PAL_TAG_LEN_MIN + player_random(player, PAL_TAG_LEN_MAX - PAL_TAG_LEN_MIN + 1)};
    if (kind != DISTURB_BAD_TAG && player_random(player, 2) == 0) {
        disturb_seal(player, kind, &job);
    } else {
        disturb_open(player, kind, &job);
    }
}

/* Under the key and algorithm of `like`. */
static void disturb(struct vector_player *player, enum disturbance kind, const struct vector *like)
{
    struct world_env *env = &player->world->env;
    world_env_step(env, player->random);
    env->fail_alloc = kind == DISTURB_FAILING_ALLOCATION ? 1 + (uint32_t)player_random(player, FAIL_ALLOC_MAX) : 0;
    if (like->family == VECTOR_HMAC) {
        disturb_hmac(player, kind, like->digest, like->key);
    } else {
        disturb_aead(player, kind, like->cipher, like->key);
    }
    env->fail_alloc = 0;
    player->num_faults += env->faulted ? 1 : 0;
    player->num_disturbances[kind]++;
}

/* What a slot could take for the vector's own: `key` with a bit changed; for hmac also one byte more or less, or the
 * same under another digest. `key` has room for a byte more than the vector's. */
static void make_similar(struct vector_player *player, struct vector *similar, uint8_t *key)
{
    size_t choice = player_random(player, similar->family == VECTOR_HMAC ? 4 : 1);
    if (choice == 1) {
        similar->digest =
            (enum pal_digest)((similar->digest + 1 + player_random(player, PAL_NUM_DIGESTS - 1)) % PAL_NUM_DIGESTS);
    } else if (choice == 2 && similar->key.len > 0) {
        similar->key.len--;
    } else if (choice == 3 || similar->key.len == 0) {
        similar->key.len++;
    } else {
        key[player_random(player, 2) == 0 ? 0 : similar->key.len - 1] ^= (uint8_t)(1u << player_random(player, 8));
    }
}

/* Before the miss: under a similar key, so that the vector's own stays away from the slot; except now and then for the
 * failing allocation, which must not leave half of it there. Returns whether the slot may hold the own key. */
static bool disturb_before_miss(struct vector_player *player, const struct vector *vector, enum disturbance kind)
{
    struct vector similar = *vector;
    struct room key = room_new(vector->key.len + 1, vector->key);
    bool own = kind == DISTURB_FAILING_ALLOCATION && !vector->refused && player_random(player, 2) == 0;
    similar.key.data = key.memory;
    if (!own) {
        make_similar(player, &similar, key.memory);
    }
    disturb(player, kind, &similar);
    room_free(&key);
    return own;
}

/* ---- twice --------------------------------------------------------------------------------------------------------
 */

static struct pal_slot_stats stats_of(const struct vector_player *player)
{
    struct pal_slot_stats stats = {0, 0};
    if (player->vector->family == VECTOR_HMAC) {
        hmac_of(player)->stats(&player->world->env.env, &stats);
    } else {
        aead_of(player)->stats(&player->world->env.env, &stats);
    }
    return stats;
}

/* `own`: the slot may hold the key already, so that set-ups cannot be foretold. */
static void play_counted(struct vector_player *player, const struct vector *vector, bool hit, bool own)
{
    size_t flags = player->num_flags;
    struct pal_slot_stats before = stats_of(player);
    world_env_step(&player->world->env, player->random);
    player->vector = vector;
    play_once(player, vector);
    struct pal_slot_stats after = stats_of(player);
    uint64_t messages = vector->refused ? 0 : num_operations(vector);
    uint64_t setups = hit && player->world->mode == PAL_REUSED ? 0 : messages;
    player->num_plays[vector->file]++;
    if (player->num_flags > flags ||
        !number_is(player, "messages counted", after.messages - before.messages, messages)) {
        return;
    }
    if (!own && !number_is(player, "set-ups counted", after.setups - before.setups, setups)) {
        return;
    }
    if (vector->refused || player->world->mode == PAL_FRESH) {
        return;
    }
    if (!hit) {
        player->num_misses += own ? 0 : messages;
    } else if (number_is(player, "allocations of a hit", player->world->env.allocations, 0)) {
        player->num_hits += messages;
    }
}

static void play_twice(struct vector_player *player, const struct vector *vector)
{
    enum disturbance first =
        (enum disturbance)(vector->family == VECTOR_HMAC ? DISTURB_ABANDONED_MESSAGE : DISTURB_BAD_TAG);
    enum disturbance kinds[] = {first, DISTURB_SMALL_OUTPUT, DISTURB_UNKNOWN_ALGORITHM, DISTURB_FAILING_ALLOCATION};
    player->vector = vector;
    player->moment = "first play";
    bool own = disturb_before_miss(player, vector, kinds[player_random(player, 4)]);
    play_counted(player, vector, false, own);
    player->moment = "second play";
    /* None that allocates: it would cost the slot its key. A refused vector's key was never there. */
    if (!vector->refused) {
        disturb(player, kinds[player_random(player, 3)], vector);
    }
    play_counted(player, vector, true, false);
}

void player_play(struct vector_player *player, const struct vector *vector)
{
    for (size_t i = 0; i < PLAYER_WORLDS; i++) {
        player->world = &player->worlds[i];
        play_twice(player, vector);
    }
}

size_t player_try(struct vector_player *player, size_t *out_operations, size_t world, const struct vector *vector)
{
    size_t flags = player->num_flags;
    player->world = &player->worlds[world];
    player->vector = vector;
    player->moment = "only play";
    play_once(player, vector);
    *out_operations = num_operations(vector);
    return player->num_flags - flags;
}
