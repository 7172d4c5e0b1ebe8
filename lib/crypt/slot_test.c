/* SPDX-License-Identifier: Apache-2.0
 * slot_test.c: claims about what a thread keeps: memory, keys in it, counts, and what failure and thread exit leave.
 * Looked at from outside, through the tables and a ledger that inspects every block that comes back.
 * It breaks when a slot moves out of the environment's heap: then the ledger sees nothing.
 */
#include "crypt_test.h"

enum { KEY_LEN = 32, ROOM = 256 };

/* A key that is in no engine's tables, and too long to occur by chance. */
static const uint8_t secret[KEY_LEN] = {0xc3, 0x51, 0x8e, 0x07, 0xfa, 0x2b, 0x96, 0x60, 0xd4, 0x3f, 0x7a,
                                        0x19, 0xe8, 0xb5, 0x0c, 0x82, 0x6d, 0xf1, 0x44, 0x9b, 0x25, 0xde,
                                        0x73, 0xa0, 0x1e, 0xc7, 0x58, 0x3b, 0x94, 0x0f, 0xe6, 0x72};

static const struct pal_view secret_key = {secret, KEY_LEN};

/* ---- one operation of each kind, with its right answer ------------------------------------------------------------
 */

struct answer {
    uint8_t bytes[ROOM];
    size_t len;
};

typedef enum pal_status operation(const struct subject *subject, struct answer *out);

static struct pal_aead_job secret_job(size_t nonce_len)
{
    static const uint8_t nonce[PAL_NONCE_LEN_MAX] = {9, 8, 7};

    return (struct pal_aead_job){
        .cipher = PAL_AES_256_GCM, .key = secret_key, .nonce = {nonce, nonce_len}, .tag_len = 16};
}

static enum pal_status do_digest(const struct subject *subject, struct answer *out)
{
    struct pal_view parts[2] = {{(const uint8_t *)"two ", 4}, {(const uint8_t *)"parts", 5}};

    return subject->hmac->digest(subject->env, out->bytes, ROOM, &out->len, PAL_SHA256, secret_key, parts, 2);
}

static enum pal_status do_digest_long_key(const struct subject *subject, struct answer *out)
{
    uint8_t key[200];
    struct pal_view part = view_of("x", 1);

    memset(key, 0x6b, sizeof(key));
    memcpy(key + 100, secret, KEY_LEN);
    return subject->hmac->digest(subject->env, out->bytes, ROOM, &out->len, PAL_SHA512, view_of(key, sizeof(key)),
                                 &part, 1);
}

static enum pal_status do_stream(const struct subject *subject, struct answer *out)
{
    enum pal_status status = subject->hmac->start(subject->env, PAL_SHA384, secret_key);

    if (status == PAL_OK) {
        status = subject->hmac->update(subject->env, view_of("streamed", 8));
    }
    if (status == PAL_OK) {
        status = subject->hmac->finish(subject->env, out->bytes, ROOM, &out->len);
    }
    return status;
}

static enum pal_status do_seal(const struct subject *subject, struct answer *out)
{
    struct pal_aead_job job = secret_job(12);

    return subject->aead->seal(subject->env, out->bytes, ROOM, &out->len, &job, view_of("sealed text", 11));
}

static enum pal_status do_seal_long_nonce(const struct subject *subject, struct answer *out)
{
    struct pal_aead_job job = secret_job(100);

    return subject->aead->seal(subject->env, out->bytes, ROOM, &out->len, &job, view_of("sealed text", 11));
}

static enum pal_status do_seal_fresh(const struct subject *subject, struct answer *out)
{
    struct pal_aead_job job = secret_job(0);

    ledger_restart_random(subject->env->context);
    return subject->aead->seal_fresh(subject->env, out->bytes, ROOM, &out->len, &job, view_of("sealed text", 11));
}

static enum pal_status do_open(const struct subject *subject, struct answer *out)
{
    /* Made by the first call, which must not be on two threads. */
    static struct answer sealed;
    struct pal_aead_job job = secret_job(12);

    if (sealed.len == 0) {
        enum pal_status status =
            subject->reference_aead->seal(subject->env, sealed.bytes, ROOM, &sealed.len, &job, view_of("opened", 6));

        assert_int_equal(status, PAL_OK);
    }
    return subject->aead->open(subject->env, out->bytes, ROOM, &out->len, &job, view_of(sealed.bytes, sealed.len));
}

static enum pal_status do_open_forged(const struct subject *subject, struct answer *out)
{
    uint8_t forged[40] = {0};
    struct pal_aead_job job = secret_job(12);
    enum pal_status status =
        subject->aead->open(subject->env, out->bytes, ROOM, &out->len, &job, view_of(forged, sizeof(forged)));

    if (status == PAL_BAD_TAG) {
        out->len = 0;
        return PAL_OK;
    }
    return status == PAL_OK ? PAL_ENGINE : status;
}

static const struct {
    const char *name;
    operation *run;
} operations[] = {
    {"digest", do_digest},
    {"digest with a long key", do_digest_long_key},
    {"stream", do_stream},
    {"seal", do_seal},
    {"open", do_open},
    {"seal with a long nonce", do_seal_long_nonce},
    {"seal_fresh", do_seal_fresh},
    {"open a forged text", do_open_forged},
};

enum { NUM_OPERATIONS = sizeof(operations) / sizeof(operations[0]) };

static void drop(const struct subject *subject)
{
    subject->hmac->drop(subject->env);
    subject->aead->drop(subject->env);
}

/* ---- claims -------------------------------------------------------------------------------------------------------
 */

/* Fail the n-th allocation for n = 1, 2, 3 until the operation passes: from empty slots and from slots with another
 * key. */
static void every_failed_allocation_is_no_memory_and_harmless(void **state)
{
    struct subject *subject = *state;

    subject->ledger.secret = secret_key;
    for (size_t i = 0; i < (size_t)2 * NUM_OPERATIONS; i++) {
        operation *run = operations[i / 2].run;
        struct answer want = {0}, got;
        enum pal_status status = PAL_NO_MEMORY;

        assert_int_equal(run(subject, &want), PAL_OK);
        for (size_t n = 1; status != PAL_OK; n++) {
            drop(subject);
            assert_int_equal(subject->ledger.num_live, 0);
            if (i % 2 != 0) {
                struct pal_aead_job job = secret_job(12);
                uint8_t other[KEY_LEN] = {1}, room[ROOM];
                size_t len = 0;

                job.key = view_of(other, KEY_LEN);
                (void)subject->hmac->digest(subject->env, room, ROOM, &len, PAL_SHA1, job.key, NULL, 0);
                (void)subject->aead->seal(subject->env, room, ROOM, &len, &job, view_of("", 0));
                (void)subject->aead->open(subject->env, room, ROOM, &len, &job, view_of(room, len));
            }
            memset(&got, LEDGER_POISON, sizeof(got));
            subject->ledger.fail_at = n;
            status = run(subject, &got);
            if (status != PAL_OK) {
                expect_status(status, PAL_NO_MEMORY, operations[i / 2].name, n);
                for (size_t j = 0; j < sizeof(got.bytes); j++) {
                    assert_int_equal(got.bytes[j], LEDGER_POISON);
                }
            }
            subject->ledger.fail_at = 0;
            /* The next call is right, whatever came before. */
            expect_status(run(subject, &got), PAL_OK, operations[i / 2].name, n);
            assert_int_equal(got.len, want.len);
            assert_memory_equal(got.bytes, want.bytes, want.len);
            assert_true(n < 100);
        }
        drop(subject);
        ledger_settled(&subject->ledger);
    }
}

/* Failure in the middle of a stream closes it. */
static void a_stream_that_failed_is_closed(void **state)
{
    struct subject *subject = *state;
    struct answer got = {0};
    enum pal_status status;

    for (size_t n = 1; n < 30; n++) {
        subject->ledger.fail_at = n;
        status = do_stream(subject, &got);
        subject->ledger.fail_at = 0;
        assert_true(status == PAL_OK || status == PAL_NO_MEMORY);
        assert_int_equal(subject->hmac->update(subject->env, view_of("x", 1)), PAL_BAD_STATE);
        drop(subject);
    }
}

static void no_block_comes_back_with_a_key(void **state)
{
    struct subject *subject = *state;

    subject->ledger.secret = secret_key;
    for (size_t i = 0; i < NUM_OPERATIONS; i++) {
        struct answer got;

        for (int ending = 0; ending < 2; ending++) {
            expect_status(operations[i].run(subject, &got), PAL_OK, operations[i].name, i);
            if (ending == 0) {
                drop(subject);
            } else { /* replaced by a key of another length */
                (void)subject->hmac->digest(subject->env, got.bytes, ROOM, &got.len, PAL_SHA1, view_of("k", 1), NULL,
                                            0);
            }
        }
    }
    assert_int_equal(subject->hmac->start(subject->env, PAL_SHA256, secret_key), PAL_OK);
    assert_int_equal(subject->hmac->update(subject->env, secret_key), PAL_OK);
    drop(subject);
    ledger_settled(&subject->ledger);
}

static void a_hit_allocates_nothing(void **state)
{
    static const size_t nonce_lens[] = {12, 1, 16, 17, 128, 12, 100, 128};
    struct subject *subject = *state;
    struct answer got;
    size_t before;

    if (subject->mode == PAL_FRESH) {
        return;
    }
    for (size_t i = 0; i < NUM_OPERATIONS; i++) {
        expect_status(operations[i].run(subject, &got), PAL_OK, operations[i].name, i);
        before = subject->ledger.num_allocs;
        expect_status(operations[i].run(subject, &got), PAL_OK, operations[i].name, i);
        assert_int_equal(subject->ledger.num_allocs, before);
    }
    before = subject->ledger.num_allocs;
    for (size_t i = 0; i < sizeof(nonce_lens) / sizeof(nonce_lens[0]); i++) {
        struct pal_aead_job job = secret_job(nonce_lens[i]);

        assert_int_equal(subject->aead->seal(subject->env, got.bytes, ROOM, &got.len, &job, view_of("x", 1)), PAL_OK);
        assert_int_equal(
            subject->aead->open(subject->env, got.bytes, ROOM, &got.len, &job, view_of(got.bytes, got.len)), PAL_OK);
    }
    assert_int_equal(subject->ledger.num_allocs, before);
}

static void plain_ways_keep_no_memory(void **state)
{
    struct subject *subject = *state;
    struct answer got;

    if (subject->mode == PAL_REUSED) {
        return;
    }
    for (size_t i = 0; i < NUM_OPERATIONS; i++) {
        expect_status(operations[i].run(subject, &got), PAL_OK, operations[i].name, i);
        assert_int_equal(subject->ledger.num_live, 0);
    }
}

static void set_ups_are_counted(void **state)
{
    struct subject *subject = *state;
    bool cached = subject->mode == PAL_REUSED;
    struct pal_slot_stats stats;
    struct answer got;

    for (int i = 0; i < 5; i++) {
        assert_int_equal(do_digest(subject, &got), PAL_OK);
        assert_int_equal(do_seal(subject, &got), PAL_OK);
        assert_int_equal(do_open_forged(subject, &got), PAL_OK);
    }
    subject->hmac->stats(subject->env, &stats);
    assert_int_equal(stats.messages, 5);
    assert_int_equal(stats.setups, cached ? 1 : 5);
    subject->aead->stats(subject->env, &stats);
    assert_int_equal(stats.messages, 10);
    assert_int_equal(stats.setups, cached ? 2 : 10);
    assert_int_equal(do_stream(subject, &got), PAL_OK);
    assert_int_equal(do_digest(subject, &got), PAL_OK);
    subject->hmac->stats(subject->env, &stats);
    assert_int_equal(stats.messages, 7);
    assert_int_equal(stats.setups, cached ? 3 : 7);
    drop(subject);
    subject->hmac->stats(subject->env, &stats);
    assert_int_equal(stats.messages + stats.setups, 0);
    subject->aead->stats(subject->env, &stats);
    assert_int_equal(stats.messages + stats.setups, 0);
}

static void another_environment_is_another_slot(void **state)
{
    struct subject *subject = *state;
    struct subject other = *subject;
    struct answer want, got;

    ledger_init(&other.ledger);
    other.env = &other.ledger.env;
    for (size_t i = 0; i < NUM_OPERATIONS; i++) {
        expect_status(operations[i].run(subject, &want), PAL_OK, operations[i].name, i);
        expect_status(operations[i].run(&other, &got), PAL_OK, operations[i].name, i);
        assert_int_equal(got.len, want.len);
        assert_memory_equal(got.bytes, want.bytes, want.len);
        assert_int_equal(subject->ledger.num_live, 0);
        drop(&other);
    }
    ledger_settled(&other.ledger);
    ledger_settled(&subject->ledger);
    pthread_mutex_destroy(&other.ledger.lock);
}

/* ---- threads ------------------------------------------------------------------------------------------------------
 */

struct visit {
    struct subject *subject;
    bool open_message; /* leave one behind */
    bool ok;
    struct pal_slot_stats hmac_stats;
};

static void *visit_and_leave(void *argument)
{
    struct visit *visit = argument;
    const struct subject *subject = visit->subject;
    struct answer got;
    enum pal_status status = PAL_OK;

    for (size_t i = 0; i < NUM_OPERATIONS && status == PAL_OK; i++) {
        status = operations[i].run(subject, &got);
    }
    if (status == PAL_OK && visit->open_message) {
        status = subject->hmac->start(subject->env, PAL_SHA512, secret_key);
    }
    subject->hmac->stats(subject->env, &visit->hmac_stats);
    visit->ok = status == PAL_OK;
    return NULL;
}

static void run_thread(struct visit *visit)
{
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, visit_and_leave, visit), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(visit->ok);
}

static void a_thread_that_ends_gives_all_back_wiped(void **state)
{
    struct subject *subject = *state;
    struct answer got;

    assert_int_equal(do_open(subject, &got), PAL_OK); /* its static text, on this thread */
    drop(subject);
    subject->ledger.secret = secret_key;
    for (int open_message = 0; open_message < 2; open_message++) {
        struct visit visit = {.subject = subject, .open_message = open_message != 0};

        run_thread(&visit);
        ledger_settled(&subject->ledger);
    }
}

static void threads_do_not_share(void **state)
{
    struct subject *subject = *state;
    struct visit visit = {.subject = subject};
    struct pal_slot_stats stats;
    struct answer got;
    size_t len = 0;

    assert_int_equal(do_open(subject, &got), PAL_OK);
    drop(subject);
    assert_int_equal(subject->hmac->start(subject->env, PAL_SHA256, secret_key), PAL_OK);
    run_thread(&visit);
    /* digest, long key, stream; not the one that is open here. */
    assert_int_equal(visit.hmac_stats.messages, 3);
    assert_int_equal(visit.hmac_stats.setups, 3);
    subject->hmac->stats(subject->env, &stats);
    assert_int_equal(stats.messages, 1);
    assert_int_equal(subject->hmac->finish(subject->env, got.bytes, ROOM, &len), PAL_OK);
}

static void *visit_often(void *argument)
{
    struct visit *visit = argument;

    visit->ok = true;
    for (int i = 0; i < 50 && visit->ok; i++) {
        visit_and_leave(visit);
    }
    return NULL;
}

static void threads_run_side_by_side(void **state)
{
    struct subject *subject = *state;
    struct visit visits[4];
    pthread_t threads[4];
    struct answer got;

    assert_int_equal(do_open(subject, &got), PAL_OK);
    drop(subject);
    for (int i = 0; i < 4; i++) {
        visits[i] = (struct visit){.subject = subject, .open_message = i % 2 != 0};
        assert_int_equal(pthread_create(&threads[i], NULL, visit_often, &visits[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_true(visits[i].ok);
    }
    ledger_settled(&subject->ledger);
}

int main(void)
{
    const struct CMUnitTest claims[] = {
        cmocka_unit_test(every_failed_allocation_is_no_memory_and_harmless),
        cmocka_unit_test(a_stream_that_failed_is_closed),
        cmocka_unit_test(no_block_comes_back_with_a_key),
        cmocka_unit_test(a_hit_allocates_nothing),
        cmocka_unit_test(plain_ways_keep_no_memory),
        cmocka_unit_test(set_ups_are_counted),
        cmocka_unit_test(another_environment_is_another_slot),
        cmocka_unit_test(a_thread_that_ends_gives_all_back_wiped),
        cmocka_unit_test(threads_do_not_share),
        cmocka_unit_test(threads_run_side_by_side),
    };

    return run_claims("slot", claims, sizeof(claims) / sizeof(claims[0]));
}
