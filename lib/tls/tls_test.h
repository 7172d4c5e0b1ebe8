/* SPDX-License-Identifier: Apache-2.0
 * tls_test.h: what the tls unit tests share: a world of its own for each end (ledger, pool, clock, random stream), and
 * a link that moves bytes between two ends. Only tests include this; targets have their own, larger environment. It
 * breaks when a port takes memory, time or randomness that the world does not see.
 */
#ifndef PAL_TLS_TEST_H
#define PAL_TLS_TEST_H

#include "credentials.h"

#include "../env/env.h"
#include "../pool/pool.h"
#include "../ports.h"
#include "../token.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { TEST_NOW = 1700000000, NUM_ENGINES = 2, POISON = 0xa5 };

static const char *const shape_names[PAL_TLS_NUM_SHAPES] = {"sized", "drain", "callback", "pending"};

/* ---- bytes
 * ------------------------------------------------------------------------------------------------------------ */

struct bytes {
    uint8_t *data;
    size_t len;
    size_t cap;
};

static inline void bytes_add(struct bytes *bytes, const void *data, size_t len)
{
    if (bytes->len + len > bytes->cap) {
        bytes->cap = 2 * (bytes->len + len) + 64;
        bytes->data = realloc(bytes->data, bytes->cap);
        assert_non_null(bytes->data);
    }
    if (len > 0) {
        memcpy(bytes->data + bytes->len, data, len);
    }
    bytes->len += len;
}

static inline void bytes_drop(struct bytes *bytes, size_t len)
{
    assert_true(len <= bytes->len);
    if (len > 0) {
        memmove(bytes->data, bytes->data + len, bytes->len - len);
    }
    bytes->len -= len;
}

static inline void bytes_free(struct bytes *bytes)
{
    free(bytes->data);
    *bytes = (struct bytes){0};
}

static inline struct pal_view view_of(const void *data, size_t len)
{
    return (struct pal_view){data, len};
}

static inline struct pal_view text(const char *string)
{
    return view_of(string, strlen(string));
}

static inline void expect(enum pal_status got, enum pal_status want, const char *what)
{
    if (got != want) {
        fail_msg("%s: got %s, want %s", what, pal_status_name(got), pal_status_name(want));
    }
}

/* ---- world
 * ------------------------------------------------------------------------------------------------------------ */

struct world_block {
    struct world_block *next;
    struct world_block *last;
    size_t len;
    size_t unused;
};

struct world {
    struct pal_env env;
    struct world_block list; /* ring of live blocks */
    size_t num_live;
    size_t num_allocs;
    size_t fail_at; /* the n-th request from now is refused, once; 0 for none */
    bool fail_on;   /* and all after it */
    bool refused;
    uint64_t random;
    size_t random_fails_at;
    int64_t now;
    struct pal_pool *pool;
    struct pal_pool_bound bound;
};

static inline void *world_alloc(void *context, size_t len)
{
    struct world *world = context;
    struct world_block *block;

    world->num_allocs++;
    if (world->fail_at > 0 && --world->fail_at == 0) {
        world->fail_at = world->fail_on ? 1 : 0;
        world->refused = true;
        return NULL;
    }
    block = malloc(sizeof(*block) + len);
    assert_non_null(block);
    block->len = len;
    block->next = world->list.next;
    block->last = &world->list;
    block->next->last = block;
    world->list.next = block;
    world->num_live++;
    memset(block + 1, POISON, len);
    return block + 1;
}

static inline void world_free(void *context, void *memory)
{
    struct world *world = context;
    struct world_block *block = memory;

    if (memory == NULL) {
        return;
    }
    block--;
    block->next->last = block->last;
    block->last->next = block->next;
    world->num_live--;
    free(block);
}

static inline enum pal_status world_random(void *context, uint8_t *out, size_t len)
{
    struct world *world = context;

    if (world->random_fails_at > 0 && --world->random_fails_at == 0) {
        return PAL_NO_RANDOM;
    }
    for (size_t i = 0; i < len; i++) {
        world->random = world->random * 6364136223846793005u + 1442695040888963407u;
        out[i] = (uint8_t)(world->random >> 56);
    }
    return PAL_OK;
}

static inline int64_t world_unix_time(void *context)
{
    return ((struct world *)context)->now;
}

static inline uint64_t world_now_ns(void *context)
{
    (void)context;
    return 0;
}

/* world_init: must not move afterwards. */
static inline void world_init(struct world *world, uint64_t seed)
{
    *world = (struct world){.random = seed, .now = TEST_NOW};
    world->list.next = world->list.last = &world->list;
    world->env = (struct pal_env){.context = world,
                                  .alloc = world_alloc,
                                  .free = world_free,
                                  .random = world_random,
                                  .unix_time = world_unix_time,
                                  .now_ns = world_now_ns};
    const struct pal_pool_config config = {.hostile = true};
    assert_int_equal(pal_pool_reference.open(pal_env_real(), &world->pool, &config), PAL_OK);
    pal_pool_bind(&world->bound, &world->env, world->pool);
}

/* world_settled: everything is home. */
static inline void world_settled(struct world *world)
{
    struct pal_pool_stats stats;

    pal_pool_reference.stats(world->pool, &stats);
    assert_int_equal(stats.rented_bytes, 0);
    assert_int_equal(stats.refusals, 0);
    if (world->num_live > 0) {
        fail_msg("%zu blocks are not home, one of %zu bytes", world->num_live, world->list.next->len);
    }
    pal_pool_reference.close(world->pool);
    world->pool = NULL;
}

/* ---- link
 * ------------------------------------------------------------------------------------------------------------- */

struct end {
    struct world world;
    const struct pal_port *port;
    const struct pal_tls_ops *tls_ops;
    struct pal_tls *tls;
    struct pal_tls_config config;
    struct bytes inbox;
    struct bytes wire;  /* all that it sent */
    struct bytes plain; /* all that it read */
    size_t chunk_max;   /* of what it is given at once; 0 for all */
    enum pal_status status;
};

/* link: ends[0] is the client. */
struct link {
    struct end ends[2];
};

static inline const struct pal_port *engine_port(size_t index)
{
    const struct pal_port *port = index == 0 ? pal_port_openssl() : pal_port_boringssl();

    assert_non_null(port);
    assert_non_null(port->tls);
    return port;
}

static inline const struct pal_env *end_env(const struct end *end)
{
    return &end->world.bound.env;
}

static inline struct end *peer_of(struct link *link, struct end *end)
{
    return &link->ends[end == link->ends ? 1 : 0];
}

/* link_init: a link whose ends are told nothing yet but role, shape, mode, versions. */
static inline void link_init(struct link *link, size_t client_engine, size_t server_engine)
{
    const size_t engines[2] = {client_engine, server_engine};

    for (size_t i = 0; i < 2; i++) {
        struct end *end = &link->ends[i];

        *end = (struct end){.port = engine_port(engines[i])};
        world_init(&end->world, 17 + i);
        end->tls_ops = end->port->tls;
        end->config = (struct pal_tls_config){.role = i == 0 ? PAL_TLS_CLIENT : PAL_TLS_SERVER,
                                              .shape = PAL_TLS_DRAIN,
                                              .mode = PAL_REUSED,
                                              .version_min = PAL_TLS_1_2,
                                              .version_max = PAL_TLS_1_3};
    }
}

static inline void link_close(struct link *link)
{
    for (size_t i = 0; i < 2; i++) {
        struct end *end = &link->ends[i];

        end->tls_ops->close(end->tls);
        end->tls = NULL;
        bytes_free(&end->inbox);
        bytes_free(&end->wire);
        bytes_free(&end->plain);
        world_settled(&end->world);
    }
}

static inline void link_open(struct link *link)
{
    for (size_t i = 0; i < 2; i++) {
        struct end *end = &link->ends[i];

        expect(end->tls_ops->open(end_env(end), &end->tls, &end->config), PAL_OK,
               i == 0 ? "open client" : "open server");
    }
}

/* send_token: hands a token's bytes over, and gives it back. */
static inline size_t send_token(struct link *link, struct end *end, struct pal_token *token)
{
    size_t len = token->len;

    assert_true(pal_token_valid(token));
    bytes_add(&end->wire, token->payload, len);
    bytes_add(&peer_of(link, end)->inbox, token->payload, len);
    expect(pal_token_release(end_env(end), token), PAL_OK, "token release");
    return len;
}

/* shake_once: one call of handshake; whether anything moved. */
static inline bool shake_once(struct link *link, struct end *end)
{
    struct pal_token token = {0};
    size_t len = end->chunk_max > 0 && end->inbox.len > end->chunk_max ? end->chunk_max : end->inbox.len;
    size_t consumed = SIZE_MAX;

    end->status = end->tls_ops->handshake(end->tls, &token, &consumed, view_of(end->inbox.data, len));
    assert_true(consumed <= len);
    bytes_drop(&end->inbox, consumed);
    return (send_token(link, end, &token) > 0) | (consumed > 0);
}

/* shake: until neither end gets any further. */
static inline void shake(struct link *link)
{
    bool moved = true;

    link->ends[0].status = link->ends[1].status = PAL_NEED_INPUT;
    while (moved) {
        moved = false;
        for (size_t i = 0; i < 2; i++) {
            if (link->ends[i].status == PAL_NEED_INPUT) {
                moved = shake_once(link, &link->ends[i]) || moved;
            }
        }
    }
}

static inline void shake_well(struct link *link)
{
    shake(link);
    expect(link->ends[0].status, PAL_OK, "client handshake");
    expect(link->ends[1].status, PAL_OK, "server handshake");
}

static inline enum pal_status encrypt(struct link *link, struct end *end, struct pal_view plain)
{
    struct pal_token token = {0};
    enum pal_status status = end->tls_ops->encrypt(end->tls, &token, plain);

    assert_true(token.status == status || status == PAL_BAD_ARGUMENT);
    (void)send_token(link, end, &token);
    return status;
}

/* decrypt_into: the next `len` bytes of the inbox, in memory of exactly `cap` bytes. decrypt: without room to spare. */
static inline enum pal_status decrypt_into(struct end *end, size_t len, size_t cap)
{
    uint8_t *data = malloc(cap > 0 ? cap : 1);
    size_t offset = SIZE_MAX;
    size_t count = SIZE_MAX;
    enum pal_status status;

    assert_non_null(data);
    assert_true(len <= end->inbox.len);
    if (len > 0) {
        memcpy(data, end->inbox.data, len);
    }
    bytes_drop(&end->inbox, len);
    status = end->tls_ops->decrypt(end->tls, &offset, &count, data, len, cap);
    if (status == PAL_OK) {
        assert_true(offset <= cap && count <= cap - offset);
        bytes_add(&end->plain, data + offset, count);
    } else {
        assert_true(offset == SIZE_MAX && count == SIZE_MAX);
    }
    free(data);
    return status;
}

static inline enum pal_status decrypt(struct end *end, size_t len)
{
    return decrypt_into(end, len, len);
}

static inline enum pal_status take_pending(struct link *link, struct end *end)
{
    struct pal_token token = {0};
    enum pal_status status = end->tls_ops->take_pending(end->tls, &token);

    (void)send_token(link, end, &token);
    return status;
}

/* carry: `plain` arrives at the other end, whole. */
static inline void carry(struct link *link, struct end *from, struct pal_view plain)
{
    struct end *to = peer_of(link, from);
    size_t len_before = to->plain.len;

    expect(encrypt(link, from, plain), PAL_OK, "encrypt");
    expect(decrypt(to, to->inbox.len), plain.len > 0 ? PAL_OK : PAL_NEED_INPUT, "decrypt");
    assert_int_equal(to->plain.len - len_before, plain.len);
    if (plain.len > 0) {
        assert_memory_equal(to->plain.data + len_before, plain.data, plain.len);
    }
}

/* chat: a few bytes each way, tickets and other news read on the way. */
static inline void chat(struct link *link)
{
    for (size_t i = 0; i < 4; i++) {
        carry(link, &link->ends[i % 2], text("some plaintext"));
    }
}

/* control: update_keys, renegotiate, alert or shutdown, as `call` does it. */
typedef enum pal_status control_fn(struct end *end, struct pal_token *token, unsigned argument);

static inline enum pal_status control_update(struct end *end, struct pal_token *token, unsigned argument)
{
    return end->tls_ops->update_keys(end->tls, token, argument != 0);
}

static inline enum pal_status control_renegotiate(struct end *end, struct pal_token *token, unsigned argument)
{
    (void)argument;
    return end->tls_ops->renegotiate(end->tls, token);
}

static inline enum pal_status control_alert(struct end *end, struct pal_token *token, unsigned argument)
{
    return end->tls_ops->alert(end->tls, token, (uint8_t)argument);
}

static inline enum pal_status control_shutdown(struct end *end, struct pal_token *token, unsigned argument)
{
    (void)argument;
    return end->tls_ops->shutdown(end->tls, token);
}

static inline enum pal_status control(struct link *link, struct end *end, control_fn *call, unsigned argument)
{
    struct pal_token token = {0};
    enum pal_status status = call(end, &token, argument);

    assert_int_equal(token.status, status);
    (void)send_token(link, end, &token);
    return status;
}

/* ---- credentials
 * ------------------------------------------------------------------------------------------------------- */

/* identities: made once, by OpenSSL. [1] is of another authority than [0]. */
static struct world identity_world;
static struct pal_tls_credentials identities[2];
static struct pal_tls_credentials rsa_identity;

static inline int make_identities(void **state)
{
    struct pal_tls_identity_spec spec = {PAL_TLS_KEY_P256, text("peer.example"), TEST_NOW - 86400, TEST_NOW + 86400};

    (void)state;
    world_init(&identity_world, 1);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(pal_tls_make_identity_openssl(&identity_world.env, &identities[i], &spec), PAL_OK);
    }
    spec.kind = PAL_TLS_KEY_RSA2048;
    assert_int_equal(pal_tls_make_identity_boringssl(&identity_world.env, &rsa_identity, &spec), PAL_OK);
    return 0;
}

static inline int drop_identities(void **state)
{
    (void)state;
    pal_tls_credentials_release(&identity_world.env, &identities[0]);
    pal_tls_credentials_release(&identity_world.env, &identities[1]);
    pal_tls_credentials_release(&identity_world.env, &rsa_identity);
    world_settled(&identity_world);
    return 0;
}

/* link_certify: the server has an identity, and the client trusts its authority; with `mutual` the other way, too. */
static inline void link_certify(struct link *link, const struct pal_tls_credentials *credentials, bool mutual)
{
    link->ends[1].config.identity = (struct pal_tls_identity){credentials->chain, credentials->private_key};
    link->ends[0].config.trusted = credentials->ca;
    link->ends[0].config.server_name = text("peer.example");
    if (mutual) {
        link->ends[0].config.identity = link->ends[1].config.identity;
        link->ends[1].config.trusted = credentials->ca;
        link->ends[1].config.require_peer = true;
    }
}

static inline void link_versions(struct link *link, uint16_t version)
{
    for (size_t i = 0; i < 2; i++) {
        link->ends[i].config.version_min = link->ends[i].config.version_max = version;
    }
}

#endif
