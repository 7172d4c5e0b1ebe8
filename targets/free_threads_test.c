/* SPDX-License-Identifier: Apache-2.0
 * free_threads_test.c: the one test without lockstep: threads that run freely, each with keys of its own, on the cached
 * tables of both engines. It claims that no digest or message depends on the others, and under TSan that nothing races.
 */
#include "env.h"
#include "ports.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>

#include <cmocka.h>

#define THREADS 4u
#define ROUNDS 400u

static atomic_uint wrong;

/* runner: one thread's engine and key. */
struct runner {
    pthread_t thread;
    const struct pal_port *port;
    uint8_t number;
};

static bool digest_agrees(const struct pal_port *port, struct pal_view key, struct pal_view text)
{
    uint8_t out[PAL_NUM_MODES][PAL_DIGEST_LEN_MAX];
    size_t len[PAL_NUM_MODES];
    for (size_t mode = 0; mode < PAL_NUM_MODES; mode++) {
        if (port->hmac[mode]->digest(pal_env_real(), out[mode], sizeof(out[mode]), &len[mode], PAL_SHA256, key, &text,
                                     1) != PAL_OK) {
            return false;
        }
    }
    return len[0] == len[1] && memcmp(out[0], out[1], len[0]) == 0;
}

static bool message_agrees(const struct pal_port *port, struct pal_view key, struct pal_view text)
{
    static const uint8_t nonce[PAL_NONCE_LEN] = {1, 2, 3};
    struct pal_aead_job job = {.cipher = PAL_AES_256_GCM, .key = key, .nonce = {nonce, sizeof(nonce)}, .tag_len = 16};
    uint8_t sealed[64];
    uint8_t opened[64];
    size_t sealed_len = 0;
    size_t opened_len = 0;
    const struct pal_aead_ops *reused = port->aead[PAL_REUSED];
    const struct pal_aead_ops *fresh = port->aead[PAL_FRESH];
    return reused->seal(pal_env_real(), sealed, sizeof(sealed), &sealed_len, &job, text) == PAL_OK &&
           fresh->open(pal_env_real(), opened, sizeof(opened), &opened_len, &job,
                       (struct pal_view){sealed, sealed_len}) == PAL_OK &&
           opened_len == text.len && memcmp(opened, text.data, text.len) == 0;
}

static void *run(void *argument)
{
    const struct runner *runner = argument;
    uint8_t key[32];
    uint8_t text[32];
    for (unsigned round = 0; round < ROUNDS; round++) {
        memset(key, runner->number, sizeof(key));
        memset(text, (int)round, sizeof(text));
        key[31] = (uint8_t)(round / 8);
        bool good = digest_agrees(runner->port, (struct pal_view){key, 32}, (struct pal_view){text, 32}) &&
                    message_agrees(runner->port, (struct pal_view){key, 32}, (struct pal_view){text, 32});
        wrong += good ? 0 : 1;
        if (round % 100 == 99) {
            runner->port->hmac[PAL_REUSED]->drop(pal_env_real());
        }
    }
    return NULL;
}

static void free_threads_do_not_disturb_each_other(void **state)
{
    struct runner runners[2 * THREADS];
    (void)state;
    for (size_t i = 0; i < 2 * THREADS; i++) {
        runners[i].port = i % 2 == 0 ? pal_port_openssl() : pal_port_boringssl();
        runners[i].number = (uint8_t)i;
        assert_non_null(runners[i].port);
        assert_int_equal(pthread_create(&runners[i].thread, NULL, run, &runners[i]), 0);
    }
    for (size_t i = 0; i < 2 * THREADS; i++) {
        assert_int_equal(pthread_join(runners[i].thread, NULL), 0);
    }
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(free_threads_do_not_disturb_each_other)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
