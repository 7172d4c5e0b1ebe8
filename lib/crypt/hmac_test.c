/* SPDX-License-Identifier: Apache-2.0
 * hmac_test.c: claims about the hmac tables of both engines in both modes: right digests, whatever came before.
 * Memory, keys in memory and threads are in slot_test.c; timing is nobody's claim here.
 * It breaks when both engines are wrong in the same way and the vectors do not show it.
 */
#include "crypt_test.h"

static enum pal_status digest_of(struct subject *subject, uint8_t *out, enum pal_digest digest, struct pal_view key,
                                 struct pal_view message)
{
    size_t len = 0;

    return subject->hmac->digest(subject->env, out, PAL_DIGEST_LEN_MAX, &len, digest, key, &message, 1);
}

/* What the other engine's one-shot way says. */
static size_t want_of(struct subject *subject, uint8_t *out, enum pal_digest digest, struct pal_view key,
                      struct pal_view message)
{
    size_t len = 0;

    expect_status(
        subject->reference_hmac->digest(subject->env, out, PAL_DIGEST_LEN_MAX, &len, digest, key, &message, 1), PAL_OK,
        "reference", 0);
    return len;
}

static void expect_digest(struct subject *subject, enum pal_digest digest, struct pal_view key, struct pal_view message)
{
    uint8_t got[PAL_DIGEST_LEN_MAX], want[PAL_DIGEST_LEN_MAX];
    size_t len = want_of(subject, want, digest, key, message);

    expect_status(digest_of(subject, got, digest, key, message), PAL_OK, "digest", key.len);
    assert_memory_equal(got, want, len);
}

/* RFC 2202 section 3 and RFC 4231 section 4. */
static void vectors_hold(void **state)
{
    static const struct {
        enum pal_digest digest;
        const char *key; /* literal, or NULL: key_byte repeated */
        uint8_t key_byte;
        size_t key_len;
        const char *message;
        const char *want;
    } rows[] = {
        {PAL_SHA1, NULL, 0x0b, 20, "Hi There", "b617318655057264e28bc0b6fb378c8ef146be00"},
        {PAL_SHA1, "Jefe", 0, 4, "what do ya want for nothing?", "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79"},
        {PAL_SHA1, NULL, 0xaa, 80, "Test Using Larger Than Block-Size Key - Hash Key First",
         "aa4ae5e15272d00e95705637ce8a3b55ed402112"},
        {PAL_SHA256, NULL, 0x0b, 20, "Hi There", "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"},
        {PAL_SHA256, "Jefe", 0, 4, "what do ya want for nothing?",
         "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"},
        {PAL_SHA256, NULL, 0xaa, 131, "Test Using Larger Than Block-Size Key - Hash Key First",
         "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"},
        {PAL_SHA384, NULL, 0x0b, 20, "Hi There",
         "afd03944d84895626b0825f4ab46907f15f9dadbe4101ec682aa034c7cebc59cfaea9ea9076ede7f4af152e8b2fa9cb6"},
        {PAL_SHA384, "Jefe", 0, 4, "what do ya want for nothing?",
         "af45d2e376484031617f78d2b58a6b1b9c7ef464f5a01b47e42ec3736322445e8e2240ca5e69e2c78b3239ecfab21649"},
        {PAL_SHA384, NULL, 0xaa, 131, "Test Using Larger Than Block-Size Key - Hash Key First",
         "4ece084485813e9088d2c63a041bc5b44f9ef1012a2b588f3cd11f05033ac4c60c2ef6ab4030fe8296248df163f44952"},
        {PAL_SHA512, NULL, 0x0b, 20, "Hi There",
         "87aa7cdea5ef619d4ff0b4241a1d6cb02379f4e2ce4ec2787ad0b30545e17cde"
         "daa833b7d6b8a702038b274eaea3f4e4be9d914eeb61f1702e696c203a126854"},
        {PAL_SHA512, "Jefe", 0, 4, "what do ya want for nothing?",
         "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea250554"
         "9758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737"},
        {PAL_SHA512, NULL, 0xaa, 131, "Test Using Larger Than Block-Size Key - Hash Key First",
         "80b24263c7c1a3ebb71493c1dd7be8b49b46d1f41b4aeec1121b013783f8f352"
         "6b56d037e05f2598bd0fd2215d6a1e5295e64f73f63f0aec8b915a985d786598"},
    };
    struct subject *subject = *state;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint8_t key[131], want[PAL_DIGEST_LEN_MAX], got[PAL_DIGEST_LEN_MAX];
        size_t want_len = unhex(want, sizeof(want), rows[i].want);
        struct pal_view message = view_of(rows[i].message, strlen(rows[i].message));
        size_t got_len = 0;

        memset(key, rows[i].key_byte, sizeof(key));
        if (rows[i].key != NULL) {
            memcpy(key, rows[i].key, rows[i].key_len);
        }
        expect_status(subject->hmac->digest(subject->env, got, sizeof(got), &got_len, rows[i].digest,
                                            view_of(key, rows[i].key_len), &message, 1),
                      PAL_OK, "vector", i);
        assert_int_equal(got_len, want_len);
        assert_memory_equal(got, want, want_len);
    }
}

static void every_split_gives_the_same_digest(void **state)
{
    struct subject *subject = *state;
    uint8_t message[261], want[PAL_DIGEST_LEN_MAX], got[PAL_DIGEST_LEN_MAX];
    struct pal_view key = view_of("a key", 5);

    fill(message, sizeof(message), 1);
    for (int digest = 0; digest < PAL_NUM_DIGESTS; digest++) {
        size_t want_len = want_of(subject, want, (enum pal_digest)digest, key, view_of(message, sizeof(message)));

        for (size_t cut = 0; cut <= sizeof(message); cut++) {
            struct pal_view parts[3] = {
                view_of(message, cut), {NULL, 0}, view_of(message + cut, sizeof(message) - cut)};
            size_t len = 0;

            expect_status(
                subject->hmac->digest(subject->env, got, sizeof(got), &len, (enum pal_digest)digest, key, parts, 3),
                PAL_OK, "parts", cut);
            assert_memory_equal(got, want, want_len);
            expect_status(subject->hmac->start(subject->env, (enum pal_digest)digest, key), PAL_OK, "start", cut);
            for (size_t i = 0; i < 3; i++) {
                expect_status(subject->hmac->update(subject->env, parts[i]), PAL_OK, "update", cut);
            }
            memset(got, 0, sizeof(got));
            expect_status(subject->hmac->finish(subject->env, got, sizeof(got), &len), PAL_OK, "finish", cut);
            assert_int_equal(len, want_len);
            assert_memory_equal(got, want, want_len);
        }
    }
}

static void every_key_length_gives_the_right_digest(void **state)
{
    struct subject *subject = *state;
    uint8_t key[200], message[77];

    fill(key, sizeof(key), 2);
    fill(message, sizeof(message), 3);
    for (int digest = 0; digest < PAL_NUM_DIGESTS; digest++) {
        /* Each key is a prefix of the next one. */
        for (size_t len = 0; len <= sizeof(key); len++) {
            expect_digest(subject, (enum pal_digest)digest, view_of(key, len), view_of(message, sizeof(message)));
        }
    }
}

static void every_text_length_gives_the_right_digest(void **state)
{
    struct subject *subject = *state;
    uint8_t key[32], message[300];

    fill(key, sizeof(key), 14);
    fill(message, sizeof(message), 15);
    for (int digest = 0; digest < PAL_NUM_DIGESTS; digest++) {
        for (size_t len = 0; len <= sizeof(message); len++) {
            expect_digest(subject, (enum pal_digest)digest, view_of(key, sizeof(key)), view_of(message, len));
        }
    }
}

static void alternating_keys_never_mix(void **state)
{
    static const size_t lens[] = {0, 1, 4, 5, 20, 63, 64, 65, 127, 128, 129, 200};
    struct subject *subject = *state;
    uint8_t key[200], zeros[200] = {0}, message[250];
    const size_t num_lens = sizeof(lens) / sizeof(lens[0]);

    fill(key, sizeof(key), 4);
    fill(message, sizeof(message), 5);
    for (size_t i = 0; i < num_lens; i++) {
        for (size_t j = 0; j < num_lens; j++) {
            enum pal_digest first = (enum pal_digest)(i % PAL_NUM_DIGESTS),
                            second = (enum pal_digest)(j % PAL_NUM_DIGESTS);

            expect_digest(subject, first, view_of(key, lens[i]), view_of(message, i * 20));
            expect_digest(subject, second, view_of(key, lens[j]), view_of(message, j * 20));
            expect_digest(subject, first, view_of(key, lens[i]), view_of(message, i * 20));
            /* Zeros pad a key to the same block, but are another key. */
            expect_digest(subject, first, view_of(zeros, lens[i]), view_of(message, 7));
        }
    }
}

static void a_key_changed_in_place_is_another_key(void **state)
{
    struct subject *subject = *state;
    uint8_t key[20], message[30];

    fill(message, sizeof(message), 6);
    for (unsigned i = 0; i < 40; i++) {
        fill(key, sizeof(key), 7);
        if (i > 0) {
            key[i / 2] ^= (uint8_t)(1 + i % 2 * 127);
        }
        expect_digest(subject, PAL_SHA256, view_of(key, sizeof(key)), view_of(message, sizeof(message)));
    }
}

static void an_empty_key_may_be_null(void **state)
{
    struct subject *subject = *state;
    struct pal_view message = view_of("abc", 3);

    expect_digest(subject, PAL_SHA1, view_of("k", 1), message);
    expect_digest(subject, PAL_SHA1, view_of(NULL, 0), message);
    expect_digest(subject, PAL_SHA1, view_of("", 0), message);
    expect_digest(subject, PAL_SHA1, view_of(NULL, 0), view_of(NULL, 0));
}

static void an_abandoned_message_leaves_no_trace(void **state)
{
    struct subject *subject = *state;
    struct pal_view key = view_of("key", 3), message = view_of("message", 7);

    for (int way = 0; way < 3; way++) {
        uint8_t got[PAL_DIGEST_LEN_MAX], want[PAL_DIGEST_LEN_MAX];
        size_t want_len = want_of(subject, want, PAL_SHA256, key, message), len = 0;

        assert_int_equal(subject->hmac->start(subject->env, PAL_SHA256, way == 2 ? view_of("other", 5) : key), PAL_OK);
        assert_int_equal(subject->hmac->update(subject->env, view_of("stale", 5)), PAL_OK);
        if (way == 0) {
            assert_int_equal(digest_of(subject, got, PAL_SHA256, key, message), PAL_OK);
        } else {
            assert_int_equal(subject->hmac->start(subject->env, PAL_SHA256, key), PAL_OK);
            assert_int_equal(subject->hmac->update(subject->env, message), PAL_OK);
            assert_int_equal(subject->hmac->finish(subject->env, got, sizeof(got), &len), PAL_OK);
        }
        assert_memory_equal(got, want, want_len);
        /* digest() closed it, or finish() did. */
        assert_int_equal(subject->hmac->finish(subject->env, got, sizeof(got), &len), PAL_BAD_STATE);
    }
}

static void without_a_message_there_is_bad_state(void **state)
{
    struct subject *subject = *state;
    uint8_t out[PAL_DIGEST_LEN_MAX];
    size_t len = 77;

    assert_int_equal(subject->hmac->update(subject->env, view_of("x", 1)), PAL_BAD_STATE);
    assert_int_equal(subject->hmac->finish(subject->env, out, sizeof(out), &len), PAL_BAD_STATE);
    assert_int_equal(subject->hmac->start(subject->env, PAL_SHA1, view_of("k", 1)), PAL_OK);
    /* A start that fails abandons, too. */
    assert_int_equal(subject->hmac->start(subject->env, PAL_NUM_DIGESTS, view_of("k", 1)), PAL_UNSUPPORTED);
    assert_int_equal(subject->hmac->update(subject->env, view_of("x", 1)), PAL_BAD_STATE);
    assert_int_equal(subject->hmac->start(subject->env, PAL_SHA1, view_of("k", 1)), PAL_OK);
    subject->hmac->drop(subject->env);
    assert_int_equal(subject->hmac->finish(subject->env, out, sizeof(out), &len), PAL_BAD_STATE);
    assert_int_equal(len, 77);
}

static void no_space_leaves_the_message_open(void **state)
{
    struct subject *subject = *state;
    uint8_t got[PAL_DIGEST_LEN_MAX], want[PAL_DIGEST_LEN_MAX];
    struct pal_view key = view_of("key", 3);
    size_t len = 77, want_len = want_of(subject, want, PAL_SHA512, key, view_of("ab", 2));

    assert_int_equal(subject->hmac->start(subject->env, PAL_SHA512, key), PAL_OK);
    assert_int_equal(subject->hmac->update(subject->env, view_of("a", 1)), PAL_OK);
    assert_int_equal(subject->hmac->finish(subject->env, got, 63, &len), PAL_NO_SPACE);
    assert_int_equal(subject->hmac->finish(subject->env, NULL, 0, &len), PAL_NO_SPACE);
    assert_int_equal(subject->hmac->finish(subject->env, NULL, 64, &len), PAL_BAD_ARGUMENT);
    assert_int_equal(subject->hmac->update(subject->env, view_of(NULL, 1)), PAL_BAD_ARGUMENT);
    assert_int_equal(len, 77);
    assert_int_equal(subject->hmac->update(subject->env, view_of("b", 1)), PAL_OK);
    assert_int_equal(subject->hmac->finish(subject->env, got, 64, &len), PAL_OK);
    assert_memory_equal(got, want, want_len);
}

static void refusals_come_in_order_and_touch_nothing(void **state)
{
    static const struct {
        int digest;
        struct pal_view key;
        struct pal_view part;
        size_t num_parts;
        bool no_parts, no_out;
        size_t out_cap;
        enum pal_status want;
    } rows[] = {
        {PAL_NUM_DIGESTS, {NULL, 1}, {NULL, 1}, 1, false, false, 0, PAL_UNSUPPORTED},
        {-1, {NULL, 0}, {NULL, 0}, 1, false, false, 64, PAL_UNSUPPORTED},
        {PAL_SHA1, {NULL, 1}, {NULL, 0}, 1, false, false, 0, PAL_BAD_ARGUMENT},
        {PAL_SHA1, {NULL, 0}, {NULL, SIZE_MAX}, 1, false, false, 0, PAL_BAD_ARGUMENT},
        {PAL_SHA1, {NULL, 0}, {NULL, 0}, 1, true, false, 64, PAL_BAD_ARGUMENT},
        {PAL_SHA1, {NULL, 0}, {NULL, 0}, 1, false, true, 64, PAL_BAD_ARGUMENT},
        {PAL_SHA1, {NULL, 0}, {NULL, 0}, 1, false, true, 0, PAL_NO_SPACE},
        {PAL_SHA1, {NULL, 0}, {NULL, 0}, 1, false, false, 19, PAL_NO_SPACE},
        {PAL_SHA384, {NULL, 0}, {NULL, 0}, 1, false, false, 47, PAL_NO_SPACE},
        {PAL_SHA384, {NULL, 0}, {NULL, 0}, 0, true, false, 48, PAL_OK},
    };
    struct subject *subject = *state;
    struct pal_slot_stats stats;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint8_t out[PAL_DIGEST_LEN_MAX], before[PAL_DIGEST_LEN_MAX];
        size_t len = 77;
        enum pal_status status;

        fill(out, sizeof(out), 9);
        memcpy(before, out, sizeof(out));
        status = subject->hmac->digest(subject->env, rows[i].no_out ? NULL : out, rows[i].out_cap, &len,
                                       (enum pal_digest)rows[i].digest, rows[i].key,
                                       rows[i].no_parts ? NULL : &rows[i].part, rows[i].num_parts);
        expect_status(status, rows[i].want, "refusal", i);
        if (status != PAL_OK) {
            assert_memory_equal(out, before, sizeof(out));
            assert_int_equal(len, 77);
        }
    }
    assert_int_equal(subject->hmac->digest(subject->env, (uint8_t[20]){0}, 20, NULL, PAL_SHA1, view_of("", 0), NULL, 0),
                     PAL_BAD_ARGUMENT);
    subject->hmac->stats(subject->env, &stats);
    assert_int_equal(stats.messages, 1);
}

static void output_may_be_the_key_or_the_message(void **state)
{
    struct subject *subject = *state;
    uint8_t memory[64], want[PAL_DIGEST_LEN_MAX];
    size_t len = 0;

    for (int i = 0; i < 2; i++) {
        struct pal_view whole = view_of(memory, sizeof(memory)), text = view_of("text", 4);

        fill(memory, sizeof(memory), 10);
        want_of(subject, want, PAL_SHA512, i == 0 ? whole : text, i == 0 ? text : whole);
        assert_int_equal(subject->hmac->digest(subject->env, memory, sizeof(memory), &len, PAL_SHA512,
                                               i == 0 ? whole : text, i == 0 ? &text : &whole, 1),
                         PAL_OK);
        assert_memory_equal(memory, want, 64);
    }
}

int main(void)
{
    const struct CMUnitTest claims[] = {
        cmocka_unit_test(vectors_hold),
        cmocka_unit_test(every_split_gives_the_same_digest),
        cmocka_unit_test(every_key_length_gives_the_right_digest),
        cmocka_unit_test(every_text_length_gives_the_right_digest),
        cmocka_unit_test(alternating_keys_never_mix),
        cmocka_unit_test(a_key_changed_in_place_is_another_key),
        cmocka_unit_test(an_empty_key_may_be_null),
        cmocka_unit_test(an_abandoned_message_leaves_no_trace),
        cmocka_unit_test(without_a_message_there_is_bad_state),
        cmocka_unit_test(no_space_leaves_the_message_open),
        cmocka_unit_test(refusals_come_in_order_and_touch_nothing),
        cmocka_unit_test(output_may_be_the_key_or_the_message),
    };

    return run_claims("hmac", claims, sizeof(claims) / sizeof(claims[0]));
}
