/* SPDX-License-Identifier: Apache-2.0
 * aead_test.c: claims about the aead tables of both engines in both modes: right bytes, refusals, and nothing left
 * behind. Memory, keys in memory and threads are in slot_test.c. It breaks when both engines are wrong in the same way
 * and the vectors do not show it.
 */
#include "crypt_test.h"

enum { ROOM = 512 };

static const size_t key_lens[PAL_NUM_AEADS] = {16, 24, 32};
static const uint8_t key_bytes[32] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3,
                                      2, 3, 8, 4, 6, 2, 6, 4, 3, 3, 8, 3, 2, 7, 9, 5};
static const uint8_t nonce_bytes[PAL_NONCE_LEN_MAX + 1] = {2, 7, 1, 8, 2, 8, 1, 8, 2, 8, 4, 5, 9, 0, 4, 5};

static struct pal_aead_job job_of(enum pal_aead cipher, size_t nonce_len, size_t tag_len)
{
    return (struct pal_aead_job){.cipher = cipher,
                                 .key = view_of(key_bytes, key_lens[cipher]),
                                 .nonce = view_of(nonce_bytes, nonce_len),
                                 .tag_len = tag_len};
}

/* Seals with the other engine's one-shot way and with the subject, compares, and opens again with the subject. */
static void expect_same(struct subject *subject, const struct pal_aead_job *job, struct pal_view plain)
{
    uint8_t want[ROOM], got[ROOM], back[ROOM];
    size_t want_len = 0, got_len = 0, back_len = 0;

    expect_status(subject->reference_aead->seal(subject->env, want, ROOM, &want_len, job, plain), PAL_OK, "reference",
                  0);
    expect_status(subject->aead->seal(subject->env, got, ROOM, &got_len, job, plain), PAL_OK, "seal", plain.len);
    assert_int_equal(got_len, plain.len + job->tag_len);
    assert_memory_equal(got, want, want_len);
    expect_status(subject->aead->open(subject->env, back, ROOM, &back_len, job, view_of(got, got_len)), PAL_OK, "open",
                  plain.len);
    assert_int_equal(back_len, plain.len);
    if (plain.len > 0) {
        assert_memory_equal(back, plain.data, plain.len);
    }
}

/* McGrew and Viega, The Galois/Counter Mode of Operation, appendix B. */
static void vectors_hold(void **state)
{
#define KEY "feffe9928665731c6d6a8f9467308308"
#define TEXT                                                                                                           \
    "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657" \
    "ba637b39"
#define AAD "feedfacedeadbeeffeedfacedeadbeefabaddad2"
    static const struct {
        enum pal_aead cipher;
        const char *key, *nonce, *aad, *plain, *sealed;
    } rows[] = {
        {PAL_AES_128_GCM, "00000000000000000000000000000000", "000000000000000000000000", "", "",
         "58e2fccefa7e3061367f1d57a4e7455a"},
        {PAL_AES_128_GCM, "00000000000000000000000000000000", "000000000000000000000000", "",
         "00000000000000000000000000000000", "0388dace60b6a392f328c2b971b2fe78ab6e47d42cec13bdf53a67b21257bddf"},
        {PAL_AES_128_GCM, KEY, "cafebabefacedbaddecaf888", AAD, TEXT,
         "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e21d514b25466931c7d8f6a5aac84aa051ba30b396a0aa"
         "c973d58e091"
         "5bc94fbc3221a5db94fae95ae7121a47"},
        {PAL_AES_128_GCM, KEY, "cafebabefacedbad", AAD, TEXT,
         "61353b4c2806934a777ff51fa22a4755699b2a714fcdc6f83766e5f97b6c742373806900e49f24b22b097544d4896b424989b5e1ebac0"
         "f07c23f4598"
         "3612d2e79e3b0785561be14aaca2fccb"},
        {PAL_AES_128_GCM, KEY,
         "9313225df88406e555909c5aff5269aa6a7a9538534f7da1e4c303d2a318a728c3c0c95156809539fcf0e2429a6b525416aedbf5a0de6"
         "a57a637b39b",
         AAD, TEXT,
         "8ce24998625615b603a033aca13fb894be9112a5c3a211a8ba262a3cca7e2ca701e4a9a4fba43c90ccdcb281d48c7c6fd62875d2aca41"
         "7034c34aee5"
         "619cc5aefffe0bfa462af43c1699d050"},
        {PAL_AES_192_GCM, "000000000000000000000000000000000000000000000000", "000000000000000000000000", "",
         "00000000000000000000000000000000", "98e7247c07f0fe411c267e4384b0f6002ff58d80033927ab8ef4d4587514f0fb"},
        {PAL_AES_256_GCM, KEY KEY, "cafebabefacedbaddecaf888", AAD, TEXT,
         "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7"
         "a0abcc9f662"
         "76fc6ece0f4e1768cddf8853bb2d551b"},
    };
    struct subject *subject = *state;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint8_t key[32], nonce[64], aad[32], plain[64], want[96], got[96];
        struct pal_view aad_view = view_of(aad, unhex(aad, sizeof(aad), rows[i].aad));
        struct pal_aead_job job = {.cipher = rows[i].cipher,
                                   .key = view_of(key, unhex(key, sizeof(key), rows[i].key)),
                                   .nonce = view_of(nonce, unhex(nonce, sizeof(nonce), rows[i].nonce)),
                                   .aad = &aad_view,
                                   .num_aad = 1,
                                   .tag_len = 16};
        struct pal_view text = view_of(plain, unhex(plain, sizeof(plain), rows[i].plain));
        size_t want_len = unhex(want, sizeof(want), rows[i].sealed), got_len = 0;

        expect_status(subject->aead->seal(subject->env, got, sizeof(got), &got_len, &job, text), PAL_OK, "seal vector",
                      i);
        assert_int_equal(got_len, want_len);
        assert_memory_equal(got, want, want_len);
        expect_status(subject->aead->open(subject->env, got, sizeof(got), &got_len, &job, view_of(want, want_len)),
                      PAL_OK, "open vector", i);
        assert_int_equal(got_len, text.len);
        assert_memory_equal(got, plain, text.len);
    }
}

static void every_text_length_gives_the_same_bytes(void **state)
{
    struct subject *subject = *state;
    uint8_t plain[300];

    fill(plain, sizeof(plain), 1);
    for (int cipher = 0; cipher < PAL_NUM_AEADS; cipher++) {
        struct pal_aead_job job = job_of((enum pal_aead)cipher, PAL_NONCE_LEN, 16);

        for (size_t len = 0; len <= sizeof(plain); len++) {
            expect_same(subject, &job, view_of(plain, len));
        }
        expect_same(subject, &job, view_of(NULL, 0));
    }
}

static void aad_in_parts_is_their_concatenation(void **state)
{
    struct subject *subject = *state;
    uint8_t aad[67], want[ROOM], got[ROOM];
    struct pal_aead_job job = job_of(PAL_AES_128_GCM, PAL_NONCE_LEN, 16);
    struct pal_view whole = view_of(aad, sizeof(aad)), plain = view_of("text", 4);
    size_t len = 0;

    fill(aad, sizeof(aad), 2);
    job.aad = &whole;
    job.num_aad = 1;
    assert_int_equal(subject->reference_aead->seal(subject->env, want, ROOM, &len, &job, plain), PAL_OK);
    for (size_t cut = 0; cut <= sizeof(aad); cut++) {
        struct pal_view parts[4] = {
            {NULL, 0}, view_of(aad, cut), view_of("", 0), view_of(aad + cut, sizeof(aad) - cut)};

        job.aad = parts;
        job.num_aad = 4;
        expect_status(subject->aead->seal(subject->env, got, ROOM, &len, &job, plain), PAL_OK, "aad cut", cut);
        assert_memory_equal(got, want, len);
    }
    /* The next message without any must not see it. */
    job.num_aad = 0;
    expect_same(subject, &job, plain);
    job.aad = NULL;
    expect_same(subject, &job, plain);
}

static void nonces_of_any_length_take_turns(void **state)
{
    static const size_t lens[] = {12, 1, 12, 8, 128, 12, 13, 16, 17, 128, 127, 128, 12, 64, 128};
    struct subject *subject = *state;
    uint8_t plain[40];

    fill(plain, sizeof(plain), 3);
    for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
        struct pal_aead_job job = job_of(PAL_AES_256_GCM, lens[i], 16);

        expect_same(subject, &job, view_of(plain, sizeof(plain)));
    }
    for (size_t len = 1; len <= PAL_NONCE_LEN_MAX; len++) {
        struct pal_aead_job job = job_of(PAL_AES_128_GCM, len, 16);

        expect_same(subject, &job, view_of(plain, len % sizeof(plain)));
    }
}

static void tags_of_any_length_take_turns(void **state)
{
    static const size_t lens[] = {16, 12, 13, 16, 14, 15, 12, 16};
    struct subject *subject = *state;

    for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
        struct pal_aead_job job = job_of(PAL_AES_192_GCM, PAL_NONCE_LEN, lens[i]);

        expect_same(subject, &job, view_of("some text", i));
    }
}

static void alternating_keys_and_ciphers_never_mix(void **state)
{
    struct subject *subject = *state;
    uint8_t zeros[32] = {0};

    for (int i = 0; i < 64; i++) {
        /* All keys of one kind are prefixes of each other. */
        enum pal_aead cipher = (enum pal_aead)(i % PAL_NUM_AEADS);
        struct pal_aead_job job = job_of(cipher, PAL_NONCE_LEN, 16);

        if (i / 3 % 2 != 0) {
            job.key.data = zeros;
        }
        expect_same(subject, &job, view_of("alternate", 9));
        zeros[i % 16] = (uint8_t)i; /* changed in place */
    }
}

static void text_in_place_gives_the_same_bytes(void **state)
{
    struct subject *subject = *state;

    for (size_t len = 0; len <= 70; len += 7) {
        struct pal_aead_job job = job_of(PAL_AES_256_GCM, PAL_NONCE_LEN, 13);
        uint8_t plain[70], want[ROOM], memory[ROOM];
        size_t want_len = 0, got_len = 0;

        fill(plain, sizeof(plain), 4);
        memcpy(memory, plain, len);
        assert_int_equal(subject->reference_aead->seal(subject->env, want, ROOM, &want_len, &job, view_of(plain, len)),
                         PAL_OK);
        expect_status(subject->aead->seal(subject->env, memory, ROOM, &got_len, &job, view_of(memory, len)), PAL_OK,
                      "seal", len);
        assert_memory_equal(memory, want, want_len);
        expect_status(subject->aead->open(subject->env, memory, len, &got_len, &job, view_of(memory, want_len)), PAL_OK,
                      "open", len);
        assert_memory_equal(memory, plain, len);
    }
}

/* Any changed bit is seen, the output is wiped over the plaintext's length and no further, and the slot stays good. */
static void a_bad_tag_wipes_and_does_no_harm(void **state)
{
    struct subject *subject = *state;

    for (int in_place = 0; in_place < 2; in_place++) {
        for (size_t at = 0; at < 20 + 12; at++) {
            struct pal_aead_job job = job_of(PAL_AES_128_GCM, PAL_NONCE_LEN, 12);
            uint8_t plain[20], sealed[64], room[64], before[64];
            uint8_t *out = in_place ? sealed : room;
            size_t len = 0;

            fill(plain, sizeof(plain), 5);
            fill(room, sizeof(room), 6);
            assert_int_equal(subject->aead->seal(subject->env, sealed, 64, &len, &job, view_of(plain, sizeof(plain))),
                             PAL_OK);
            sealed[at] ^= (uint8_t)(1u << at % 8);
            memcpy(before, out, 64);
            len = 77;
            expect_status(subject->aead->open(subject->env, out, 64, &len, &job, view_of(sealed, 32)), PAL_BAD_TAG,
                          "bit", at);
            assert_int_equal(len, 77);
            for (size_t i = 0; i < 20; i++) {
                assert_int_equal(out[i], 0);
            }
            assert_memory_equal(out + 20, before + 20, in_place ? 12 : 44);
            expect_same(subject, &job, view_of(plain, sizeof(plain)));
        }
    }
}

static void other_aad_nonce_key_or_tag_length_is_a_bad_tag(void **state)
{
    struct subject *subject = *state;
    struct pal_aead_job job = job_of(PAL_AES_128_GCM, PAL_NONCE_LEN, 16), other;
    struct pal_view aad = view_of("a", 1);
    uint8_t sealed[ROOM], out[ROOM];
    size_t len = 0, out_len = 0;

    assert_int_equal(subject->aead->seal(subject->env, sealed, ROOM, &len, &job, view_of("text", 4)), PAL_OK);
    other = job;
    other.aad = &aad;
    other.num_aad = 1;
    assert_int_equal(subject->aead->open(subject->env, out, ROOM, &out_len, &other, view_of(sealed, len)), PAL_BAD_TAG);
    other = job_of(PAL_AES_128_GCM, 13, 16);
    assert_int_equal(subject->aead->open(subject->env, out, ROOM, &out_len, &other, view_of(sealed, len)), PAL_BAD_TAG);
    other = job_of(PAL_AES_192_GCM, PAL_NONCE_LEN, 16);
    assert_int_equal(subject->aead->open(subject->env, out, ROOM, &out_len, &other, view_of(sealed, len)), PAL_BAD_TAG);
    other = job_of(PAL_AES_128_GCM, PAL_NONCE_LEN, 12);
    assert_int_equal(subject->aead->open(subject->env, out, ROOM, &out_len, &other, view_of(sealed, len)), PAL_BAD_TAG);
    assert_int_equal(subject->aead->open(subject->env, out, ROOM, &out_len, &job, view_of(sealed, len)), PAL_OK);
}

static void a_text_shorter_than_its_tag_is_a_bad_tag(void **state)
{
    struct subject *subject = *state;
    struct pal_slot_stats stats;
    uint8_t sealed[16] = {0}, out[16], before[16];
    size_t out_len = 77;

    fill(out, sizeof(out), 7);
    memcpy(before, out, sizeof(out));
    for (size_t len = 0; len < 16; len++) {
        struct pal_aead_job job = job_of(PAL_AES_128_GCM, PAL_NONCE_LEN, 16);

        expect_status(subject->aead->open(subject->env, out, 16, &out_len, &job, view_of(sealed, len)), PAL_BAD_TAG,
                      "len", len);
        expect_status(subject->aead->open(subject->env, NULL, 0, &out_len, &job, view_of(NULL, 0)), PAL_BAD_TAG, "null",
                      len);
    }
    assert_int_equal(out_len, 77);
    assert_memory_equal(out, before, sizeof(out));
    subject->aead->stats(subject->env, &stats);
    assert_int_equal(stats.messages, 0);
}

struct refusal {
    const char *what;
    int cipher;
    size_t key_len, nonce_len, tag_len, text_len, out_cap;
    enum pal_status want;
};

static void refusals_come_in_order_and_touch_nothing(void **state)
{
    static const struct refusal rows[] = {
        {"cipher first", PAL_NUM_AEADS, 1, 0, 17, SIZE_MAX, 0, PAL_UNSUPPORTED},
        {"negative cipher", -1, 16, 12, 16, 5, 64, PAL_UNSUPPORTED},
        {"key before length", PAL_AES_128_GCM, 15, 12, 16, SIZE_MAX, 0, PAL_BAD_ARGUMENT},
        {"long key", PAL_AES_128_GCM, 32, 12, 16, 5, 64, PAL_BAD_ARGUMENT},
        {"short key", PAL_AES_256_GCM, 24, 12, 16, 5, 64, PAL_BAD_ARGUMENT},
        {"empty key", PAL_AES_256_GCM, 0, 12, 16, 5, 64, PAL_BAD_ARGUMENT},
        {"empty nonce", PAL_AES_128_GCM, 16, 0, 16, 5, 64, PAL_BAD_ARGUMENT},
        {"nonce 1", PAL_AES_128_GCM, 16, 1, 16, 5, 64, PAL_OK},
        {"nonce 8", PAL_AES_128_GCM, 16, 8, 16, 5, 64, PAL_OK},
        {"nonce 13", PAL_AES_128_GCM, 16, 13, 16, 5, 64, PAL_OK},
        {"nonce 16", PAL_AES_128_GCM, 16, 16, 16, 5, 64, PAL_OK},
        {"nonce 128", PAL_AES_128_GCM, 16, 128, 16, 5, 64, PAL_OK},
        {"nonce 129", PAL_AES_128_GCM, 16, 129, 16, 5, 64, PAL_BAD_ARGUMENT},
        {"tag 0", PAL_AES_128_GCM, 16, 12, 0, 5, 64, PAL_BAD_ARGUMENT},
        {"tag 11", PAL_AES_128_GCM, 16, 12, 11, 5, 64, PAL_BAD_ARGUMENT},
        {"tag 12", PAL_AES_128_GCM, 16, 12, 12, 5, 64, PAL_OK},
        {"tag 16", PAL_AES_128_GCM, 16, 12, 16, 5, 64, PAL_OK},
        {"tag 17", PAL_AES_128_GCM, 16, 12, 17, 5, 64, PAL_BAD_ARGUMENT},
        {"tag huge", PAL_AES_128_GCM, 16, 12, SIZE_MAX, 5, 64, PAL_BAD_ARGUMENT},
        {"text 2^31-15", PAL_AES_128_GCM, 16, 12, 16, PAL_TEXT_LEN_MAX + 1u, 64, PAL_TOO_LONG},
        {"text max", PAL_AES_128_GCM, 16, 12, 16, SIZE_MAX, 0, PAL_TOO_LONG},
        {"longest text", PAL_AES_128_GCM, 16, 12, 16, PAL_TEXT_LEN_MAX, 0, PAL_NO_SPACE},
        {"one short", PAL_AES_128_GCM, 16, 12, 16, 5, 20, PAL_NO_SPACE},
        {"no room", PAL_AES_128_GCM, 16, 12, 12, 0, 0, PAL_NO_SPACE},
        {"exact", PAL_AES_128_GCM, 16, 12, 16, 5, 21, PAL_OK},
    };
    struct subject *subject = *state;
    static uint8_t text[8];

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct refusal *row = &rows[i];
        struct pal_aead_job job = {.cipher = (enum pal_aead)row->cipher,
                                   .key = view_of(key_bytes, row->key_len),
                                   .nonce = view_of(nonce_bytes, row->nonce_len),
                                   .tag_len = row->tag_len};
        uint8_t out[64], before[64];
        size_t len = 77;
        enum pal_status status;

        fill(out, sizeof(out), 8);
        memcpy(before, out, sizeof(out));
        status = subject->aead->seal(subject->env, out, row->out_cap, &len, &job, view_of(text, row->text_len));
        expect_status(status, row->want, row->what, i);
        if (status != PAL_OK) {
            assert_memory_equal(out, before, sizeof(out));
            assert_int_equal(len, 77);
        }
    }
}

static void open_and_seal_fresh_refuse_in_the_same_order(void **state)
{
    struct subject *subject = *state;
    const struct pal_aead_ops *aead = subject->aead;
    struct pal_aead_job job = job_of(PAL_AES_128_GCM, PAL_NONCE_LEN, 16), bad = job, unknown = job;
    struct pal_view big = {NULL, PAL_TEXT_LEN_MAX + 1u}, text;
    uint8_t out[64], sealed[64] = {0};
    size_t len = 77;

    bad.key.len = 17;
    unknown.cipher = PAL_NUM_AEADS;
    text = view_of(sealed, 20);
    assert_int_equal(aead->open(subject->env, NULL, 9, NULL, &unknown, view_of(NULL, 1)), PAL_UNSUPPORTED);
    assert_int_equal(aead->open(subject->env, out, 64, &len, &bad, view_of(sealed, SIZE_MAX)), PAL_BAD_ARGUMENT);
    assert_int_equal(aead->open(subject->env, out, 64, &len, NULL, text), PAL_BAD_ARGUMENT);
    assert_int_equal(aead->open(subject->env, out, 64, NULL, &job, text), PAL_BAD_ARGUMENT);
    assert_int_equal(aead->open(subject->env, NULL, 64, &len, &job, text), PAL_BAD_ARGUMENT);
    assert_int_equal(aead->open(subject->env, out, 64, &len, &job, view_of(NULL, 20)), PAL_BAD_ARGUMENT);
    assert_int_equal(aead->open(subject->env, out, 0, &len, &job, view_of(sealed, PAL_TEXT_LEN_MAX + 17u)),
                     PAL_TOO_LONG);
    assert_int_equal(aead->open(subject->env, out, 0, &len, &job, view_of(sealed, PAL_TEXT_LEN_MAX + 16u)),
                     PAL_NO_SPACE);
    assert_int_equal(aead->open(subject->env, out, 3, &len, &job, text), PAL_NO_SPACE);
    assert_int_equal(aead->open(subject->env, out, 4, &len, &job, text), PAL_BAD_TAG);
    assert_int_equal(aead->seal_fresh(subject->env, NULL, 9, NULL, &unknown, view_of(NULL, 1)), PAL_UNSUPPORTED);
    assert_int_equal(aead->seal_fresh(subject->env, out, 64, &len, &bad, text), PAL_BAD_ARGUMENT);
    assert_int_equal(aead->seal_fresh(subject->env, out, 64, &len, &job, big), PAL_BAD_ARGUMENT);
    assert_int_equal(aead->seal_fresh(subject->env, out, 0, &len, &job, view_of(sealed, PAL_TEXT_LEN_MAX + 1u)),
                     PAL_TOO_LONG);
    assert_int_equal(aead->seal_fresh(subject->env, out, 47, &len, &job, text), PAL_NO_SPACE);
    job.aad = &big;
    job.num_aad = 1;
    assert_int_equal(aead->seal(subject->env, out, 64, &len, &job, text), PAL_BAD_ARGUMENT);
    big.data = sealed;
    assert_int_equal(aead->seal(subject->env, out, 0, &len, &job, text), PAL_TOO_LONG);
    job.aad = NULL;
    assert_int_equal(aead->seal(subject->env, out, 64, &len, &job, text), PAL_BAD_ARGUMENT);
    assert_int_equal(len, 77);
}

static void overlap_is_refused_unless_in_place(void **state)
{
    struct subject *subject = *state;
    struct pal_aead_job job = job_of(PAL_AES_128_GCM, PAL_NONCE_LEN, 16);
    uint8_t memory[256] = {0};
    const size_t text_at = 100, text_len = 20;
    size_t len = 0;

    for (size_t out_at = 40; out_at < 140; out_at++) {
        struct pal_view text = view_of(memory + text_at, text_len);
        bool apart = out_at + 36 <= text_at || out_at >= text_at + text_len;
        enum pal_status status = subject->aead->seal(subject->env, memory + out_at, 36, &len, &job, text);

        expect_status(status, apart || out_at == text_at ? PAL_OK : PAL_BAD_ARGUMENT, "seal", out_at);
        apart = out_at + 4 <= text_at || out_at >= text_at + text_len;
        status = subject->aead->open(subject->env, memory + out_at, 4, &len, &job, text);
        if ((status == PAL_BAD_ARGUMENT) == (apart || out_at == text_at)) {
            fail_msg("open at %zu: %s", out_at, pal_status_name(status));
        }
        apart = out_at + 48 <= text_at || out_at >= text_at + text_len;
        status = subject->aead->seal_fresh(subject->env, memory + out_at, 48, &len, &job, text);
        expect_status(status, apart ? PAL_OK : PAL_BAD_ARGUMENT, "seal_fresh", out_at);
    }
    /* Memory behind a small output is not output. */
    assert_int_equal(subject->aead->seal(subject->env, memory + 90, 10, &len, &job, view_of(memory + 100, 20)),
                     PAL_NO_SPACE);
}

static void seal_fresh_is_nonce_and_seal(void **state)
{
    struct subject *subject = *state;
    struct pal_aead_job job = job_of(PAL_AES_256_GCM, 0, 14);
    uint8_t got[ROOM], want[ROOM], before[ROOM];
    struct pal_view plain = view_of("plaintext", 9);
    size_t len = 0, want_len = 0;

    fill(got, sizeof(got), 9);
    memcpy(before, got, sizeof(got));
    subject->ledger.random_fails = true;
    assert_int_equal(subject->aead->seal_fresh(subject->env, got, ROOM, &len, &job, plain), PAL_NO_RANDOM);
    assert_memory_equal(got, before, sizeof(got));
    subject->ledger.random_fails = false;
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(subject->aead->seal_fresh(subject->env, got, ROOM, &len, &job, plain), PAL_OK);
        assert_int_equal(len, 12 + 9 + 14);
        for (unsigned j = 0; j < 12; j++) {
            assert_int_equal(got[j], 12 * i + j);
        }
        job.nonce = view_of(got, 12);
        assert_int_equal(subject->reference_aead->seal(subject->env, want, ROOM, &want_len, &job, plain), PAL_OK);
        assert_memory_equal(got + 12, want, want_len);
        job.nonce = view_of(NULL, 5); /* not read */
    }
}

static void directions_do_not_disturb_each_other(void **state)
{
    struct subject *subject = *state;
    struct pal_aead_job job = job_of(PAL_AES_128_GCM, PAL_NONCE_LEN, 16), other = job_of(PAL_AES_128_GCM, 16, 12);
    uint8_t one[ROOM], two[ROOM], out[ROOM];
    size_t one_len = 0, two_len = 0, len = 0;
    struct pal_slot_stats stats;

    for (int i = 0; i < 5; i++) {
        assert_int_equal(subject->aead->seal(subject->env, one, ROOM, &one_len, &job, view_of("one", 3)), PAL_OK);
        assert_int_equal(subject->aead->seal(subject->env, two, ROOM, &two_len, &other, view_of("two!", 4)), PAL_OK);
        assert_int_equal(subject->aead->open(subject->env, out, ROOM, &len, &other, view_of(one, one_len)),
                         PAL_BAD_TAG);
        assert_int_equal(subject->aead->open(subject->env, out, ROOM, &len, &job, view_of(one, one_len)), PAL_OK);
        assert_memory_equal(out, "one", 3);
        assert_int_equal(subject->aead->open(subject->env, out, ROOM, &len, &other, view_of(two, two_len)), PAL_OK);
        assert_memory_equal(out, "two!", 4);
    }
    subject->aead->stats(subject->env, &stats);
    assert_int_equal(stats.messages, 25);
    assert_int_equal(stats.setups, subject->mode == PAL_FRESH ? 25 : 2);
}

int main(void)
{
    const struct CMUnitTest claims[] = {
        cmocka_unit_test(vectors_hold),
        cmocka_unit_test(every_text_length_gives_the_same_bytes),
        cmocka_unit_test(aad_in_parts_is_their_concatenation),
        cmocka_unit_test(nonces_of_any_length_take_turns),
        cmocka_unit_test(tags_of_any_length_take_turns),
        cmocka_unit_test(alternating_keys_and_ciphers_never_mix),
        cmocka_unit_test(text_in_place_gives_the_same_bytes),
        cmocka_unit_test(a_bad_tag_wipes_and_does_no_harm),
        cmocka_unit_test(other_aad_nonce_key_or_tag_length_is_a_bad_tag),
        cmocka_unit_test(a_text_shorter_than_its_tag_is_a_bad_tag),
        cmocka_unit_test(refusals_come_in_order_and_touch_nothing),
        cmocka_unit_test(open_and_seal_fresh_refuse_in_the_same_order),
        cmocka_unit_test(overlap_is_refused_unless_in_place),
        cmocka_unit_test(seal_fresh_is_nonce_and_seal),
        cmocka_unit_test(directions_do_not_disturb_each_other),
    };

    return run_claims("aead", claims, sizeof(claims) / sizeof(claims[0]));
}
