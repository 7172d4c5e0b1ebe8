/* SPDX-License-Identifier: Apache-2.0
 * check_test.c: each thing that makes a call a wrong one, by itself, is told as PAL_BAD_ARGUMENT.
 */
#include "check.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const uint8_t bytes[64];
static uint8_t room[64];
static size_t out_len;

static struct pal_aead_job good_job(void)
{
    return (struct pal_aead_job){
        .cipher = PAL_AES_128_GCM, .key = {bytes, 16}, .nonce = {bytes, 12}, .tag_len = PAL_TAG_LEN_MAX};
}

static void a_seal_that_can_be_made_is_none(void **state)
{
    struct pal_aead_job job = good_job();
    (void)state;
    assert_int_equal(check_seal(room, sizeof(room), &out_len, &job, (struct pal_view){bytes, 8}), PAL_OK);
}

static void a_seal_without_a_nonce_a_text_or_an_output_is_refused(void **state)
{
    struct pal_view text = {bytes, 8};
    struct pal_aead_job job = good_job();
    (void)state;
    job.nonce.len = 0;
    assert_int_equal(check_seal(room, sizeof(room), &out_len, &job, text), PAL_BAD_ARGUMENT);
    job = good_job();
    assert_int_equal(check_seal(room, sizeof(room), &out_len, &job, (struct pal_view){NULL, 8}), PAL_BAD_ARGUMENT);
    assert_int_equal(check_seal(NULL, sizeof(room), &out_len, &job, text), PAL_BAD_ARGUMENT);
    assert_int_equal(check_seal(room, sizeof(room), NULL, &job, text), PAL_BAD_ARGUMENT);
}

static void an_open_without_a_nonce_a_key_a_text_or_an_output_is_refused(void **state)
{
    struct pal_view text = {bytes, 24};
    struct pal_aead_job job = good_job();
    (void)state;
    assert_int_equal(check_open(room, sizeof(room), &out_len, &job, text), PAL_OK);
    job.nonce.data = NULL;
    assert_int_equal(check_open(room, sizeof(room), &out_len, &job, text), PAL_BAD_ARGUMENT);
    job = good_job();
    job.key.data = NULL;
    assert_int_equal(check_open(room, sizeof(room), &out_len, &job, text), PAL_BAD_ARGUMENT);
    job = good_job();
    assert_int_equal(check_open(room, sizeof(room), &out_len, &job, (struct pal_view){NULL, 24}), PAL_BAD_ARGUMENT);
    assert_int_equal(check_open(NULL, sizeof(room), &out_len, &job, text), PAL_BAD_ARGUMENT);
    assert_int_equal(check_open(room, sizeof(room), NULL, &job, text), PAL_BAD_ARGUMENT);
}

/* Its nonce is drawn: the job's is not looked at. */
static void a_fresh_seal_without_a_text_or_an_output_is_refused(void **state)
{
    struct pal_view text = {bytes, 8};
    struct pal_aead_job job = good_job();
    (void)state;
    job.nonce = (struct pal_view){NULL, 5};
    assert_int_equal(check_seal_fresh(room, sizeof(room), &out_len, &job, text), PAL_OK);
    assert_int_equal(check_seal_fresh(room, sizeof(room), &out_len, &job, (struct pal_view){NULL, 8}),
                     PAL_BAD_ARGUMENT);
    assert_int_equal(check_seal_fresh(NULL, sizeof(room), &out_len, &job, text), PAL_BAD_ARGUMENT);
    assert_int_equal(check_seal_fresh(room, sizeof(room), NULL, &job, text), PAL_BAD_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_seal_that_can_be_made_is_none),
        cmocka_unit_test(a_seal_without_a_nonce_a_text_or_an_output_is_refused),
        cmocka_unit_test(an_open_without_a_nonce_a_key_a_text_or_an_output_is_refused),
        cmocka_unit_test(a_fresh_seal_without_a_text_or_an_output_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
