/* SPDX-License-Identifier: Apache-2.0
 * ledger_test.c: claims what pooling saves, to the byte: a connection that stands allocates for no token, and a fresh
 * token costs its record's plaintext and overhead. In each shape, with each engine, in TLS 1.2 and 1.3. Not time.
 * It would break if an engine came to allocate differently from one record to the next of the same length: engines'
 * allocations are in both sums.
 */
#include "tls_test.h"

enum { WARM_UP = 8, STEADY = 64 };

/* ledger: stands between an end's world and its port, and counts what is asked for. */
struct ledger {
    struct pal_env env;
    struct world *world;
    size_t num_allocs;
    size_t num_bytes;
};

static void *ledger_alloc(void *context, size_t len)
{
    struct ledger *ledger = context;

    ledger->num_allocs++;
    ledger->num_bytes += len;
    return world_alloc(ledger->world, len);
}

static void ledger_free(void *context, void *memory)
{
    world_free(((struct ledger *)context)->world, memory);
}

static enum pal_status ledger_random(void *context, uint8_t *out, size_t len)
{
    return world_random(((struct ledger *)context)->world, out, len);
}

static int64_t ledger_unix_time(void *context)
{
    return world_unix_time(((struct ledger *)context)->world);
}

/* account: a connection, and its server's ledgers: what the port allocates, and what its pool does. */
struct account {
    struct link link;
    struct ledger port;
    struct ledger pool;
    struct pal_pool *own_pool;
};

static struct account account;

/* overhead_of: a record with AES-GCM: RFC 5288 section 3, RFC 8446 section 5.2. */
static size_t overhead_of(uint16_t version)
{
    return version == PAL_TLS_1_2 ? 5 + 8 + 16 : 5 + 1 + 16;
}

/* ledger_init: over the world of `end`. */
static void ledger_init(struct ledger *ledger, struct end *end)
{
    *ledger = (struct ledger){.world = &end->world};
    ledger->env = (struct pal_env){.context = ledger,
                                   .alloc = ledger_alloc,
                                   .free = ledger_free,
                                   .random = ledger_random,
                                   .unix_time = ledger_unix_time,
                                   .now_ns = world_now_ns};
}

/* account_open: a handshake; the server's pool is an ordinary one, not hostile, as in a release. */
static void account_open(size_t engine, enum pal_tls_shape shape, uint16_t version, enum pal_mode mode)
{
    const struct pal_pool_config config = {0};
    struct end *server = &account.link.ends[1];
    struct pal_tls_info info;

    link_init(&account.link, engine, engine);
    link_certify(&account.link, &identities[0], false);
    link_versions(&account.link, version);
    server->config.shape = shape;
    server->config.mode = mode;
    ledger_init(&account.port, server);
    ledger_init(&account.pool, server);
    expect(pal_pool_reference.open(&account.pool.env, &account.own_pool, &config), PAL_OK, "pool");
    pal_pool_bind(&server->world.bound, &account.port.env, account.own_pool);
    link_open(&account.link);
    shake_well(&account.link);
    expect(server->tls_ops->info(server->tls, &info), PAL_OK, "info");
    assert_int_equal(info.version, version);
    assert_int_equal(info.record_overhead, overhead_of(version));
}

static void account_close(void)
{
    struct end *server = &account.link.ends[1];

    server->tls_ops->close(server->tls);
    server->tls = NULL;
    pal_pool_reference.close(account.own_pool);
    link_close(&account.link);
}

/* serve: `num` records of `len` bytes each to the client, as tokens. */
static void serve(size_t num, size_t len)
{
    static const uint8_t plain[16384] = {42};

    for (size_t i = 0; i < num; i++) {
        carry(&account.link, &account.link.ends[1], view_of(plain, len));
    }
}

/* spending: of STEADY records of `len` bytes on a connection that stands. */
struct spending {
    size_t port_allocs, port_bytes, pool_allocs;
};

static struct spending spend(size_t engine, enum pal_tls_shape shape, uint16_t version, enum pal_mode mode, size_t len)
{
    struct spending out;
    size_t wire_before;

    account_open(engine, shape, version, mode);
    serve(WARM_UP, len); /* tickets go with the first */
    wire_before = account.link.ends[1].wire.len;
    out = (struct spending){account.port.num_allocs, account.port.num_bytes, account.pool.num_allocs};
    serve(STEADY, len);
    out.port_allocs = account.port.num_allocs - out.port_allocs;
    out.port_bytes = account.port.num_bytes - out.port_bytes;
    out.pool_allocs = account.pool.num_allocs - out.pool_allocs;
    assert_int_equal(account.link.ends[1].wire.len - wire_before, STEADY * (len + overhead_of(version)));
    account_close();
    return out;
}

/* The case goes before a failure. */
static void want(size_t got, size_t wanted, const char *what, size_t engine, enum pal_tls_shape shape, uint16_t version,
                 size_t len)
{
    if (got != wanted) {
        fail_msg("%s, %s, TLS %#x, %zu bytes, %d records: %s: got %zu, want %zu", engine_port(engine)->name,
                 shape_names[shape], (unsigned)version, len, STEADY, what, got, wanted);
    }
}

static void a_pooled_token_saves_its_record_and_nothing_else(void **state)
{
    static const uint16_t versions[] = {PAL_TLS_1_2, PAL_TLS_1_3};
    static const size_t lens[] = {1, 1024, 4096, 16384};

    (void)state;
    for (size_t i = 0; i < (size_t)NUM_ENGINES * PAL_TLS_NUM_SHAPES * 2 * 4; i++) {
        size_t engine = i % NUM_ENGINES;
        enum pal_tls_shape shape = (enum pal_tls_shape)(i / NUM_ENGINES % PAL_TLS_NUM_SHAPES);
        uint16_t version = versions[i / NUM_ENGINES / PAL_TLS_NUM_SHAPES % 2];
        size_t len = lens[i / NUM_ENGINES / PAL_TLS_NUM_SHAPES / 2];
        size_t record = len + overhead_of(version);
        struct spending fresh = spend(engine, shape, version, PAL_FRESH, len);
        struct spending pooled = spend(engine, shape, version, PAL_REUSED, len);

        want(pooled.pool_allocs, 0, "allocations for pooled tokens", engine, shape, version, len);
        want(fresh.port_allocs - pooled.port_allocs, STEADY, "allocations saved", engine, shape, version, len);
        want(fresh.port_bytes - pooled.port_bytes, STEADY * record, "bytes saved", engine, shape, version, len);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_pooled_token_saves_its_record_and_nothing_else)};

    return cmocka_run_group_tests(tests, make_identities, drop_identities);
}
