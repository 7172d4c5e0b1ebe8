/* SPDX-License-Identifier: Apache-2.0
 * crypt_test.h: what the crypt unit tests share: a ledger environment, and running a list of claims over every subject.
 * A subject is one engine in one mode. Only tests include this; targets have their own, larger environment.
 * It breaks when a port takes memory that the ledger does not see.
 */
#ifndef PAL_CRYPT_TEST_H
#define PAL_CRYPT_TEST_H

#include "ports.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- ledger -------------------------------------------------------------------------------------------------------
 */

/* LEDGER_HEAD: what of a freed block need not be 0: the engines' blocks start with their owner and length. */
enum { LEDGER_HEAD = 16, LEDGER_POISON = 0xa5 };

struct ledger_block {
    struct ledger_block *next;
    size_t len;
    _Alignas(max_align_t) uint8_t memory[];
};

/* ledger: counts what is taken and given back, refuses the n-th request, and looks into everything that comes back. */
struct ledger {
    struct pal_env env;
    pthread_mutex_t lock;
    struct ledger_block *live;
    size_t num_live;
    size_t num_allocs;
    size_t fail_at; /* 1 is the next one; 0 is none */
    struct pal_view secret;
    size_t num_secret; /* blocks that came back with `secret` in them */
    size_t num_dirty;  /* blocks that came back not wiped */
    size_t num_foreign;
    uint8_t random_next;
    bool random_fails;
};

static inline void *ledger_alloc(void *context, size_t len)
{
    struct ledger *ledger = context;
    struct ledger_block *block = NULL;

    pthread_mutex_lock(&ledger->lock);
    ledger->num_allocs++;
    if (ledger->fail_at == 0 || --ledger->fail_at > 0) {
        block = malloc(sizeof(*block) + len);
    }
    if (block != NULL) {
        block->len = len;
        block->next = ledger->live;
        ledger->live = block;
        ledger->num_live++;
        memset(block->memory, LEDGER_POISON, len);
    }
    pthread_mutex_unlock(&ledger->lock);
    return block == NULL ? NULL : block->memory;
}

static inline bool ledger_has_secret(const struct ledger *ledger, const struct ledger_block *block)
{
    size_t len = ledger->secret.len;

    for (size_t i = 0; len > 0 && i + len <= block->len; i++) {
        if (memcmp(block->memory + i, ledger->secret.data, len) == 0) {
            return true;
        }
    }
    return false;
}

static inline void ledger_free(void *context, void *memory)
{
    struct ledger *ledger = context;
    struct ledger_block **link;
    struct ledger_block *block;
    bool dirty = false;

    if (memory == NULL) {
        return;
    }
    pthread_mutex_lock(&ledger->lock);
    link = &ledger->live;
    while (*link != NULL && (*link)->memory != memory) {
        link = &(*link)->next;
    }
    block = *link;
    if (block == NULL) {
        ledger->num_foreign++;
    } else {
        *link = block->next;
        ledger->num_live--;
        for (size_t i = LEDGER_HEAD; i < block->len; i++) {
            dirty = dirty || block->memory[i] != 0;
        }
        ledger->num_dirty += dirty ? 1 : 0;
        ledger->num_secret += ledger_has_secret(ledger, block) ? 1 : 0;
        free(block);
    }
    pthread_mutex_unlock(&ledger->lock);
}

static inline enum pal_status ledger_random(void *context, uint8_t *out, size_t len)
{
    struct ledger *ledger = context;

    if (ledger->random_fails) {
        return PAL_NO_RANDOM;
    }
    pthread_mutex_lock(&ledger->lock);
    for (size_t i = 0; i < len; i++) {
        out[i] = ledger->random_next++;
    }
    pthread_mutex_unlock(&ledger->lock);
    return PAL_OK;
}

/* ledger_restart_random: the next byte drawn is 0. */
static inline void ledger_restart_random(struct ledger *ledger)
{
    pthread_mutex_lock(&ledger->lock);
    ledger->random_next = 0;
    pthread_mutex_unlock(&ledger->lock);
}

/* ledger_init: must not move afterwards. */
static inline void ledger_init(struct ledger *ledger)
{
    memset(ledger, 0, sizeof(*ledger));
    pthread_mutex_init(&ledger->lock, NULL);
    ledger->env =
        (struct pal_env){.context = ledger, .alloc = ledger_alloc, .free = ledger_free, .random = ledger_random};
}

/* ledger_settled: everything is home, and came home wiped. */
static inline void ledger_settled(const struct ledger *ledger)
{
    assert_int_equal(ledger->num_live, 0);
    assert_int_equal(ledger->num_secret, 0);
    assert_int_equal(ledger->num_dirty, 0);
    assert_int_equal(ledger->num_foreign, 0);
}

/* ---- subjects -----------------------------------------------------------------------------------------------------
 */

struct subject {
    const struct pal_port *port;
    enum pal_mode mode;
    const struct pal_hmac_ops *hmac;
    const struct pal_aead_ops *aead;
    const struct pal_hmac_ops *reference_hmac; /* the plain way of the other engine */
    const struct pal_aead_ops *reference_aead;
    struct ledger ledger;
    const struct pal_env *env; /* the ledger's */
};

static inline int subject_setup(void **state)
{
    struct subject *subject = *state;

    ledger_init(&subject->ledger);
    subject->env = &subject->ledger.env;
    return 0;
}

/* Every claim ends with all slots dropped, also those of the reference, and a settled ledger. */
static inline int subject_teardown(void **state)
{
    struct subject *subject = *state;

    subject->hmac->drop(subject->env);
    subject->aead->drop(subject->env);
    subject->reference_hmac->drop(subject->env);
    subject->reference_aead->drop(subject->env);
    ledger_settled(&subject->ledger);
    pthread_mutex_destroy(&subject->ledger.lock);
    return 0;
}

/* run_claims: every claim of the list over every engine and mode, named engine/mode/claim. */
static inline int run_claims(const char *group, const struct CMUnitTest *claims, size_t num_claims)
{
    static const char *const mode_names[PAL_NUM_MODES] = {"fresh", "reused"};
    static struct subject subjects[2 * PAL_NUM_MODES];
    const struct pal_port *ports[2] = {pal_port_openssl(), pal_port_boringssl()};
    struct CMUnitTest *tests = calloc(4 * num_claims, sizeof(*tests));
    char(*names)[128] = calloc(4 * num_claims, sizeof(*names));
    size_t num_tests = 0;
    int failed = 1;

    for (size_t i = 0; tests != NULL && names != NULL && i < 4; i++) {
        struct subject *subject = &subjects[i];

        if (ports[0] == NULL || ports[1] == NULL) {
            goto done;
        }
        subject->port = ports[i / 2];
        subject->mode = (enum pal_mode)(i % 2);
        subject->hmac = subject->port->hmac[subject->mode];
        subject->aead = subject->port->aead[subject->mode];
        subject->reference_hmac = ports[1 - i / 2]->hmac[PAL_FRESH];
        subject->reference_aead = ports[1 - i / 2]->aead[PAL_FRESH];
        for (size_t j = 0; j < num_claims; j++, num_tests++) {
            (void)snprintf(names[num_tests], sizeof(names[0]), "%s/%s/%s", subject->port->name,
                           mode_names[subject->mode], claims[j].name);
            tests[num_tests] = claims[j];
            tests[num_tests].name = names[num_tests];
            tests[num_tests].setup_func = subject_setup;
            tests[num_tests].teardown_func = subject_teardown;
            tests[num_tests].initial_state = subject;
        }
    }
    failed = _cmocka_run_group_tests(group, tests, num_tests, NULL, NULL);
done:
    if (num_tests == 0) {
        (void)fprintf(stderr, "%s: an engine did not start\n", group);
    }
    free(tests);
    free(names);
    return failed;
}

/* ---- values -------------------------------------------------------------------------------------------------------
 */

/* expect_status: as assert_int_equal, in words, naming the case. */
static inline void expect_status(enum pal_status got, enum pal_status want, const char *what, size_t index)
{
    if (got != want) {
        fail_msg("%s, case %zu: got %s, want %s", what, index, pal_status_name(got), pal_status_name(want));
    }
}

static inline struct pal_view view_of(const void *data, size_t len)
{
    return (struct pal_view){data, len};
}

/* fill: bytes that differ from each other and with `seed`. */
static inline void fill(uint8_t *out, size_t len, unsigned seed)
{
    for (size_t i = 0; i < len; i++) {
        out[i] = (uint8_t)(i * 7 + (i >> 8) * 3 + (size_t)seed * 41 + 1);
    }
}

/* unhex: the bytes of a literal; returns their number. */
static inline size_t unhex(uint8_t *out, size_t out_cap, const char *hex)
{
    size_t len = strlen(hex) / 2;

    assert_true(len <= out_cap);
    for (size_t i = 0; i < len; i++) {
        char pair[3] = {hex[2 * i], hex[2 * i + 1], 0};

        out[i] = (uint8_t)strtoul(pair, NULL, 16);
    }
    return len;
}

#endif
