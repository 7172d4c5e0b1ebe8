/* SPDX-License-Identifier: Apache-2.0
 * vectors_test.c: claims that every published vector holds in every world, whatever the slots have behind them.
 * Usage: vectors_test [DIRECTORY], or PALDIFF_VECTORS; `ci/deps vectors` prints one. Prints what was found and played.
 * It breaks when a vector is read but not played: the last column of the table is counted by the player, not computed.
 */
#include "vectors_play.h"

#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define PLAYS_PER_VECTOR (PLAYER_WORLDS * 2u)
#define TRIED_PER_FILE_MAX 2000u
#define ROUNDS_MAX 10000u

static const char *vectors_dir;
static struct vector_set vectors;
static struct vector_player player;

/* ---- order --------------------------------------------------------------------------------------------------------
 */

/* Whether `next` finds another key in every slot that it uses. `last[0]` used all slots of the family last, `last[1]`
 * was the last to use any. A refused vector uses none. */
static bool fits(const struct vector *const last[VECTOR_NUM_FAMILIES][2], const struct vector *next)
{
    for (size_t i = 0; i < 2; i++) {
        const struct vector *before = last[next->family][i];
        if (!next->refused && before != NULL && vector_same_key(before, next)) {
            return false;
        }
    }
    return true;
}

static void swap(struct vector *items, size_t a, size_t b)
{
    struct vector item = items[a];
    items[a] = items[b];
    items[b] = item;
}

/* The first vector that would not miss; num_items if there is none. */
static size_t first_without_miss(const struct vector *items, size_t num_items)
{
    const struct vector *last[VECTOR_NUM_FAMILIES][2] = {{NULL, NULL}, {NULL, NULL}};
    for (size_t i = 0; i < num_items; i++) {
        const struct vector *item = &items[i];
        if (!fits(last, item)) {
            return i;
        }
        if (!item->refused) {
            last[item->family][1] = item;
            last[item->family][0] = item->open_only ? last[item->family][0] : item;
        }
    }
    return num_items;
}

/* Shuffled, then those that would not miss are sent elsewhere until all do. False when that does not end. */
static bool interleave_keys(struct vector *items, size_t num_items)
{
    for (size_t i = num_items; i > 1; i--) {
        swap(items, i - 1, player_random(&player, i));
    }
    for (size_t round = 0; round < ROUNDS_MAX; round++) {
        size_t found = first_without_miss(items, num_items);
        if (found == num_items) {
            return true;
        }
        swap(items, found, player_random(&player, num_items));
    }
    return false;
}

/* ---- report -------------------------------------------------------------------------------------------------------
 */

static void print_counts(void)
{
    (void)printf("%-36s %8s %8s %8s %8s %8s\n", "file", "valid", "invalid", "refused", "accept.", "played");
    for (size_t i = 0; i < vectors.num_files; i++) {
        const struct vector_file *file = &vectors.files[i];
        (void)printf("%-36s %8zu %8zu %8zu %8zu %8zu\n", file->path, file->num_verdicts[VECTOR_VALID],
                     file->num_verdicts[VECTOR_INVALID], file->num_refused, file->num_verdicts[VECTOR_ACCEPTABLE],
                     player.num_plays[i]);
    }
    for (size_t i = 0; i < vectors.num_reasons; i++) {
        (void)printf("  %5zu of %s left out: %s\n", vectors.reasons[i].num, vectors.files[vectors.reasons[i].file].path,
                     vectors.reasons[i].text);
    }
    (void)printf("refused: by the contract, nonces of 0 or more than %u bytes, tags of less than %u\n",
                 PAL_NONCE_LEN_MAX, PAL_TAG_LEN_MIN);
    (void)printf("order: seed 0x%llx; %zu misses and %zu hits of reused worlds proven by their counts\n",
                 (unsigned long long)VECTORS_SEED, player.num_misses, player.num_hits);
    (void)printf(
        "between: %zu bad tags, %zu abandoned messages, %zu small outputs, %zu unknown algorithms, %zu failing "
        "allocations "
        "(%zu were met)\n",
        player.num_disturbances[DISTURB_BAD_TAG], player.num_disturbances[DISTURB_ABANDONED_MESSAGE],
        player.num_disturbances[DISTURB_SMALL_OUTPUT], player.num_disturbances[DISTURB_UNKNOWN_ALGORITHM],
        player.num_disturbances[DISTURB_FAILING_ALLOCATION], player.num_faults);
    (void)fflush(stdout);
}

/* ---- claims -------------------------------------------------------------------------------------------------------
 */

static void every_file_and_family_has_vectors(void **state)
{
    size_t num[VECTOR_NUM_FAMILIES] = {0, 0};
    (void)state;
    if (vectors.problem[0] != 0) {
        fail_msg("%s", vectors.problem);
    }
    assert_true(vectors.num_vectors > 0);
    for (size_t i = 0; i < vectors.num_vectors; i++) {
        num[vectors.vectors[i].family]++;
    }
    for (size_t i = 0; i < VECTOR_NUM_FAMILIES; i++) {
        assert_true(num[i] > 0);
    }
}

static void every_vector_holds_in_every_world(void **state)
{
    (void)state;
    player.silent = false;
    player.num_flags = 0;
    assert_true(vectors.num_vectors > 0);
    assert_true(interleave_keys(vectors.vectors, vectors.num_vectors));
    for (size_t i = 0; i < vectors.num_vectors; i++) {
        player_play(&player, &vectors.vectors[i]);
    }
    print_counts();
    if (player.num_flags > 0) {
        fail_msg("%zu answers were wrong", player.num_flags);
    }
    for (size_t i = 0; i < vectors.num_files; i++) {
        const struct vector_file *file = &vectors.files[i];
        size_t found = file->num_families[VECTOR_HMAC] + file->num_families[VECTOR_AEAD];
        assert_int_equal(player.num_plays[i], found * PLAYS_PER_VECTOR);
        assert_true(found > 0);
    }
    for (size_t i = 0; i < NUM_DISTURBANCES; i++) {
        assert_true(player.num_disturbances[i] > 0);
    }
    assert_true(player.num_misses > 0 && player.num_hits > 0 && player.num_faults > 0);
}

/* ---- the comparison can fail ---------------------------------------------------------------------------------------
 */

static struct pal_view with_one_bit_changed(struct pal_view from)
{
    uint8_t *bytes = test_malloc(from.len);
    memcpy(bytes, from.data, from.len);
    bytes[player_random(&player, from.len)] ^= (uint8_t)(1u << player_random(&player, 8));
    return (struct pal_view){bytes, from.len};
}

/* Every operation of the changed vector is flagged in every world. */
static void expect_flagged(const struct vector *wrong, const char *change)
{
    for (size_t world = 0; world < PLAYER_WORLDS; world++) {
        size_t operations = 0;
        size_t flags = player_try(&player, &operations, world, wrong);
        if (flags != operations) {
            fail_msg("%s, case %u, %s, with another %s: %zu flags, want %zu", vectors_file_path(wrong->file), wrong->id,
                     player.worlds[world].name, change, flags, operations);
        }
    }
}

static void expect_wrong_versions_flagged(const struct vector *right)
{
    struct vector wrong = *right;
    if (right->refused) {
        wrong.refused = false;
        wrong.verdict = VECTOR_VALID;
        expect_flagged(&wrong, "contract");
        return;
    }
    wrong.verdict = right->verdict == VECTOR_INVALID ? VECTOR_VALID : VECTOR_INVALID;
    expect_flagged(&wrong, "verdict");
    if (right->verdict == VECTOR_INVALID) {
        return;
    }
    wrong.verdict = right->verdict;
    wrong.want = with_one_bit_changed(right->want);
    expect_flagged(&wrong, "expected byte");
    test_free((void *)wrong.want.data);
    wrong.want = right->want;
    if (right->text.len > 0) {
        wrong.text = with_one_bit_changed(right->text);
        expect_flagged(&wrong, "text");
        test_free((void *)wrong.text.data);
    }
}

/* Up to TRIED_PER_FILE_MAX of each file, in the order of the play. */
static void every_wrong_version_of_a_vector_is_flagged(void **state)
{
    size_t tried[VECTOR_FILES_MAX] = {0};
    (void)state;
    assert_true(vectors.num_vectors > 0);
    player.silent = true;
    for (size_t i = 0; i < vectors.num_vectors; i++) {
        if (tried[vectors.vectors[i].file]++ < TRIED_PER_FILE_MAX) {
            expect_wrong_versions_flagged(&vectors.vectors[i]);
        }
    }
}

static void nothing_is_left_after_drop(void **state)
{
    (void)state;
    assert_int_equal(player_deinit(&player), 0);
}

/* ---- the loader can fail -------------------------------------------------------------------------------------------
 */

static void expect_refused(const char *dir, const char *what, const char *path)
{
    struct vector_set set;
    bool loaded = vectors_load(&set, dir);
    bool named = strstr(set.problem, path) != NULL;
    vectors_deinit(&set);
    if (loaded || !named) {
        fail_msg("%s %s: %s", path, what, loaded ? "loaded" : set.problem);
    }
}

static void fill_path(char out[PATH_MAX], const char *dir, const char *name)
{
    assert_true(snprintf(out, PATH_MAX, "%s/%s", dir, name) < PATH_MAX);
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* The real files with the one of `index` replaced by `text`, or left out (NULL). */
static void expect_refused_with(const char *dir, size_t index, const char *what, const char *text)
{
    char path[PATH_MAX], target[PATH_MAX];
    for (size_t i = 0; i < vectors_num_files(); i++) {
        fill_path(path, dir, vectors_file_path(i));
        unlink(path);
        if (i == index && text != NULL) {
            write_file(path, text);
        } else if (i != index) {
            fill_path(target, vectors_dir, vectors_file_path(i));
            assert_int_equal(symlink(target, path), 0);
        }
    }
    expect_refused(dir, what, vectors_file_path(index));
}

static void remove_directory(const char *dir)
{
    char path[PATH_MAX];
    for (size_t i = 0; i < vectors_num_files(); i++) {
        fill_path(path, dir, vectors_file_path(i));
        unlink(path);
        *strrchr(path, '/') = 0;
        rmdir(path);
    }
    rmdir(dir);
}

static void a_missing_empty_or_damaged_file_fails(void **state)
{
    static const struct {
        const char *what, *text;
    } rows[] = {
        {"missing", NULL},
        {"empty", ""},
        {"without JSON or stanzas", "{}"},
        {"with a group without tests", "{\"algorithm\": \"AES-GCM\", \"numberOfTests\": 0, \"testGroups\": []}"},
        {"with a test that is cut off", "Cipher = aes-128-gcm\nKey = 00\n"},
        {"with vectors of others only", "MAC = KMAC128\nKey = 00\n\nCipher = aes-128-ecb\nKey = 00\n"},
    };
    char dir[] = "/tmp/vectors_test.XXXXXX";
    char path[PATH_MAX];
    (void)state;
    if (vectors.problem[0] != 0) {
        fail_msg("nothing to damage: %s", vectors.problem);
    }
    assert_non_null(mkdtemp(dir));
    expect_refused(dir, "in an empty directory", vectors_file_path(0));
    for (size_t i = 0; i < vectors_num_files(); i++) {
        fill_path(path, dir, vectors_file_path(i));
        *strrchr(path, '/') = 0;
        assert_true(mkdir(path, 0700) == 0 || errno == EEXIST);
    }
    for (size_t i = 0; i < vectors_num_files(); i++) {
        for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
            expect_refused_with(dir, i, rows[row].what, rows[row].text);
        }
    }
    remove_directory(dir);
    expect_refused(dir, "in no directory", vectors_file_path(0));
}

int main(int argc, char **argv)
{
    static char absolute[PATH_MAX];
    const struct CMUnitTest claims[] = {
        cmocka_unit_test(every_file_and_family_has_vectors),
        cmocka_unit_test(every_vector_holds_in_every_world),
        cmocka_unit_test(every_wrong_version_of_a_vector_is_flagged),
        cmocka_unit_test(nothing_is_left_after_drop),
        cmocka_unit_test(a_missing_empty_or_damaged_file_fails),
    };
    vectors_dir = argc > 1 ? argv[1] : getenv("PALDIFF_VECTORS");
    if (argc > 2 || vectors_dir == NULL || vectors_dir[0] == 0) {
        (void)fprintf(stderr, "usage: vectors_test DIRECTORY (or PALDIFF_VECTORS; ci/deps vectors prints one)\n");
        return 2;
    }
    if (realpath(vectors_dir, absolute) == NULL) {
        (void)fprintf(stderr, "%s: %s\n", vectors_dir, strerror(errno));
        return 1;
    }
    vectors_dir = absolute;
    if (!player_init(&player)) {
        return 1;
    }
    vectors_load(&vectors, vectors_dir);
    int failed = cmocka_run_group_tests_name("vectors", claims, NULL, NULL);
    vectors_deinit(&vectors);
    return failed;
}
