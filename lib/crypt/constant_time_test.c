/* SPDX-License-Identifier: Apache-2.0
 * constant_time_test.c: claims that no branch and no address depends on a byte of a key that a slot keeps, and that
 * nothing of a key is left in memory that goes back. Secret bytes are marked as undefined, and MSan or valgrind reports
 * whoever decides on one. Controls that leak have to be reported. It says nothing about the engines, nor about time.
 * It breaks when a comparison is inlined into its test, which knows the lengths: it is then not the one that ships.
 */
#include "pool/poison.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* slot_match's answer is public, but that of the comparison inside is not marked so. */
#include "slot.c" /* NOLINT(bugprone-suspicious-include) */

#if !defined(POOL_MSAN) && __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#define WITH_VALGRIND 1
#endif

enum { LEN_MAX = 72, LEAKED = 99, SKIPPED = 89 };

/* ---- the tools -----------------------------------------------------------------------------------------------------
 */

static bool is_watched(void)
{
#if defined(POOL_MSAN)
    return true;
#elif defined(WITH_VALGRIND)
    return RUNNING_ON_VALGRIND != 0;
#else
    return false;
#endif
}

/* num_reports: so far in this process; MSan ends it at the first. */
static unsigned num_reports(void)
{
#if defined(WITH_VALGRIND)
    return (unsigned)VALGRIND_COUNT_ERRORS;
#else
    return 0;
#endif
}

static void mark_secret(const void *memory, size_t len)
{
    poison_undefine(memory, len);
#if defined(WITH_VALGRIND)
    (void)VALGRIND_MAKE_MEM_UNDEFINED(memory, len);
#endif
}

static void mark_public(const void *memory, size_t len)
{
    poison_define(memory, len);
#if defined(WITH_VALGRIND)
    (void)VALGRIND_MAKE_MEM_DEFINED(memory, len);
#endif
}

/* num_secret: bytes from the first secret one on; 0: there is none. */
static size_t num_secret(const uint8_t *memory, size_t len)
{
#if defined(WITH_VALGRIND)
    for (size_t i = 0; i < len; i++) {
        uint8_t bits = 0;
        (void)VALGRIND_GET_VBITS(memory + i, &bits, 1);
        if (bits != 0) {
            return len - i;
        }
    }
#elif defined(POOL_MSAN)
    intptr_t at = __msan_test_shadow(memory, len);
    return at < 0 ? 0 : len - (size_t)at;
#endif
    return 0;
}

/* ---- comparisons ---------------------------------------------------------------------------------------------------
 */

typedef bool comparison(const uint8_t *a, const uint8_t *b, size_t len);

static bool early_exit(const uint8_t *a, const uint8_t *b, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (a[i] != b[i]) {
            return false;
        }
    }
    return true;
}

static bool by_table(const uint8_t *a, const uint8_t *b, size_t len)
{
    static const uint8_t volatile squares[UINT8_MAX + 1] = {[1] = 1, [2] = 4, [3] = 9};
    unsigned differs = 0;
    for (size_t i = 0; i < len; i++) {
        differs |= (unsigned)(squares[a[i]] ^ squares[b[i]]);
    }
    return differs == 0;
}

/* compare: through a pointer, as slot.c does for every length; the answer is public. */
static bool compare(comparison *volatile function, const uint8_t *a, const uint8_t *b, size_t len)
{
    bool same = function(a, b, len);
    mark_public(&same, sizeof(same));
    return same;
}

/* compare_all: every length, keys that are the same and keys that differ at one byte, at each. */
static void compare_all(comparison *function)
{
    uint8_t a[LEN_MAX];
    uint8_t b[LEN_MAX];
    for (size_t len = 0; len <= LEN_MAX; len++) {
        for (size_t at = 0; at <= len; at++) {
            memset(a, 0x5a, sizeof(a));
            memset(b, 0x5a, sizeof(b));
            if (at < len) {
                b[at] ^= (uint8_t)(1u << at % 8);
            }
            mark_secret(a, len);
            mark_secret(b, len);
            bool same = compare(function, a, b, len);
            if (function == same_bytes && same != (at == len)) {
                fail_msg("%zu bytes, different at %zu: got %d", len, at, same);
            }
        }
    }
}

/* ---- slots ---------------------------------------------------------------------------------------------------------
 */

static size_t taken_len;    /* of the block that is out */
static size_t secrets_left; /* in blocks that came back */

static void *take(void *context, size_t len)
{
    (void)context;
    taken_len = len;
    return malloc(len);
}

static void give_back(void *context, void *memory)
{
    (void)context;
    secrets_left += num_secret(memory, taken_len);
    free(memory);
}

static const struct pal_env env = {.alloc = take, .free = give_back};

static struct pal_view secret_key(uint8_t key[LEN_MAX], size_t len)
{
    memset(key, 0xa5, LEN_MAX);
    mark_secret(key, len);
    return (struct pal_view){key, len};
}

/* match_all: against keys of other lengths, and of the same one with a difference in one bit that is not secret: the
 * answer is public then, but a look at any byte before that bit's is not. */
static void match_all(void)
{
    uint8_t kept[LEN_MAX];
    uint8_t asked[LEN_MAX];
    for (size_t len = 1; len <= LEN_MAX; len++) {
        memset(kept, 0, sizeof(kept));
        mark_secret(kept, len);
        for (size_t at = 0; at < len; at++) {
            mark_public(kept + at, 1);
            assert_non_null(slot_new(SLOT_HMAC, &env, 1, (struct pal_view){kept, len}));
            memset(asked, 0, sizeof(asked));
            asked[at] = 1;
            mark_secret(asked, at);
            mark_secret(asked + at + 1, len - at - 1);
            assert_null(slot_match(SLOT_HMAC, &env, 1, (struct pal_view){asked, len}));
            mark_secret(asked, sizeof(asked));
            assert_null(slot_match(SLOT_HMAC, &env, 1, (struct pal_view){asked, len - 1}));
            assert_null(slot_match(SLOT_HMAC, &env, 2, (struct pal_view){asked, len}));
            assert_null(slot_match(SLOT_SEAL, &env, 1, (struct pal_view){asked, len}));
            mark_secret(kept + at, 1);
        }
    }
    slot_drop(SLOT_HMAC);
}

/* evict_all: a key is replaced by one of another length, replaced by itself, and dropped. */
static void evict_all(void)
{
    uint8_t key[LEN_MAX];
    for (int kind = 0; kind < SLOT_NUM_KINDS; kind++) {
        for (size_t len = 0; len <= LEN_MAX; len++) {
            assert_non_null(slot_new((enum slot_kind)kind, &env, 1, secret_key(key, len)));
            /* The mark is on the copy, too, or its wiping would show nothing. */
            assert_int_equal(num_secret(slot_find((enum slot_kind)kind)->key, len), len);
            assert_non_null(slot_new((enum slot_kind)kind, &env, 1, secret_key(key, len)));
        }
        slot_drop((enum slot_kind)kind);
    }
}

/* ---- claims --------------------------------------------------------------------------------------------------------
 */

static void equal_or_different_a_comparison_leaks_nothing(void **state)
{
    unsigned before = num_reports();
    (void)state;
    compare_all(same_bytes);
    assert_int_equal(num_reports() - before, 0);
}

static void a_match_leaks_nothing(void **state)
{
    unsigned before = num_reports();
    (void)state;
    match_all();
    assert_int_equal(num_reports() - before, 0);
}

static void an_eviction_leaks_nothing_and_leaves_nothing(void **state)
{
    unsigned before = num_reports();
    (void)state;
    secrets_left = 0;
    evict_all();
    assert_int_equal(num_reports() - before, 0);
    assert_int_equal(secrets_left, 0);
}

/* expect_report: in a child, which MSan ends with words on stderr; valgrind counts. */
static void expect_report(comparison *leaky)
{
    int status = 0;
    char words[4096] = "";
    FILE *file = tmpfile();
    assert_non_null(file);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)dup2(fileno(file), STDERR_FILENO);
        compare_all(leaky);
        _exit(num_reports() > 0 ? LEAKED : EXIT_SUCCESS);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_not_equal(WEXITSTATUS(status), EXIT_SUCCESS);
#if defined(POOL_MSAN)
    rewind(file);
    words[fread(words, 1, sizeof(words) - 1, file)] = '\0';
    assert_non_null(strstr(words, "MemorySanitizer: use-of-uninitialized-value"));
#else
    (void)words;
    assert_int_equal(WEXITSTATUS(status), LEAKED);
#endif
    (void)fclose(file);
}

static void a_comparison_that_stops_early_is_reported(void **state)
{
    (void)state;
    expect_report(early_exit);
}

static void a_comparison_through_a_table_is_reported(void **state)
{
    (void)state;
    expect_report(by_table);
}

static void a_key_that_is_not_wiped_is_seen(void **state)
{
    uint8_t key[LEN_MAX];
    (void)state;
    struct slot *slot = slot_new(SLOT_HMAC, &env, 1, secret_key(key, sizeof(key)));
    assert_non_null(slot);
    secrets_left = 0;
    pthread_setspecific(keys[SLOT_HMAC], NULL);
    env.free(env.context, slot);
    assert_true(secrets_left >= sizeof(key));
}

int main(void)
{
    static const struct CMUnitTest claims[] = {
        cmocka_unit_test(equal_or_different_a_comparison_leaks_nothing),
        cmocka_unit_test(a_match_leaks_nothing),
        cmocka_unit_test(an_eviction_leaks_nothing_and_leaves_nothing),
        cmocka_unit_test(a_comparison_that_stops_early_is_reported),
        cmocka_unit_test(a_comparison_through_a_table_is_reported),
        cmocka_unit_test(a_key_that_is_not_wiped_is_seen),
    };
    if (!is_watched()) {
        (void)puts("skipped: nobody watches: this needs MSan, or valgrind and its headers at build time");
        return SKIPPED;
    }
    return slot_start() ? cmocka_run_group_tests(claims, NULL, NULL) : EXIT_FAILURE;
}
