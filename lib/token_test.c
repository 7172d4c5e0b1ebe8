/* SPDX-License-Identifier: Apache-2.0
 * token_test.c: claims about growing and releasing a token, allocated and rented, over a plain and a hostile pool.
 * No TLS here. It breaks when a token takes memory that neither the ledger nor the pool sees.
 */
#include "token.h"

#include "pool/pool_test.h"

struct world {
    struct ledger ledger;
    struct pal_pool *pool;
    struct pal_pool_bound bound;
    struct pal_env *env;
    enum pal_mode mode;
    bool hostile;
};

static int setup(void **state)
{
    struct world *world = *state;

    ledger_init(&world->ledger);
    world->pool = open_pool(&world->ledger.env, 0, 0, world->hostile);
    pal_pool_bind(&world->bound, &world->ledger.env, world->pool);
    world->env = &world->bound.env;
    return 0;
}

/* Every claim ends with all memory home and no return refused, or it says so itself. */
static int teardown(void **state)
{
    struct world *world = *state;

    assert_int_equal(stats_of(world->pool).rented_bytes, 0);
    assert_int_equal(stats_of(world->pool).refusals, 0);
    ops->close(world->pool);
    ledger_settled(&world->ledger);
    return 0;
}

static struct pal_view text_of(size_t len)
{
    static uint8_t text[40000];

    /* Once: the first byte is not 0. */
    for (size_t i = text[0] == 0 ? 0 : sizeof(text); i < sizeof(text); i++) {
        text[i] = (uint8_t)(i * 7 + (i >> 8) * 3 + 1);
    }
    assert_true(len <= sizeof(text));
    return (struct pal_view){text, len};
}

static void expect_text(const struct pal_token *token, size_t len, size_t index)
{
    struct pal_view view = pal_token_view(token);

    assert_true(pal_token_valid(token));
    expect_size(view.len, len, "length", index);
    if (len > 0 && memcmp(view.data, text_of(len).data, len) != 0) {
        fail_msg("case %zu: the text is not what was appended", index);
    }
}

static void append(struct world *world, struct pal_token *token, struct pal_view bytes)
{
    expect_status(pal_token_append(world->env, token, world->mode, bytes), PAL_OK, "append", bytes.len);
}

static void put_away(struct world *world, struct pal_token *token)
{
    expect_status(pal_token_release(world->env, token), PAL_OK, "release", token->len);
    assert_true(token->payload == NULL && token->len == 0 && token->cap == 0);
    assert_true(token->rental.data == NULL && token->rental.cap == 0 && token->rental.slot == 0 &&
                token->rental.generation == 0);
}

/* ---- growing ------------------------------------------------------------------------------------------------------
 */

/* In two parts, at every place, and byte by byte. */
static void the_valid_prefix_survives_growth_at_every_split(void **state)
{
    struct world *world = *state;

    for (size_t len = 1; len < 140; len++) {
        for (size_t split = 0; split <= len; split++) {
            struct pal_token token = {0};

            append(world, &token, text_of(split));
            append(world, &token, (struct pal_view){text_of(len).data + split, len - split});
            expect_text(&token, len, len * 1000 + split);
            put_away(world, &token);
        }
    }
    struct pal_token token = {0};
    for (size_t i = 0; i < 3000; i++) {
        append(world, &token, (struct pal_view){text_of(i + 1).data + i, 1});
    }
    expect_text(&token, 3000, 3000);
    put_away(world, &token);
}

static size_t memory_in_use(struct world *world)
{
    struct pal_pool_stats stats = stats_of(world->pool);

    return world->mode == PAL_REUSED ? (size_t)(stats.rents - stats.releases) : world->ledger.num_live;
}

/* One block at a time: the old one goes back when the new one is there. */
static void growth_returns_the_old_memory_once(void **state)
{
    struct world *world = *state;
    struct pal_token token = {0};
    size_t before = memory_in_use(world);

    for (size_t more = 1; more < 60000; more += more / 3 + 1) {
        expect_status(pal_token_reserve(world->env, &token, world->mode, more), PAL_OK, "reserve", more);
        assert_true(token.cap - token.len >= more);
        assert_int_equal(memory_in_use(world), before + 1);
        token.len = more / 2;
        memset(token.payload, 0x55, token.len);
    }
    put_away(world, &token);
    assert_int_equal(memory_in_use(world), before);
}

static void room_that_is_there_is_not_moved(void **state)
{
    struct world *world = *state;
    struct pal_token token = {0};
    const uint8_t *payload;
    size_t cap;

    expect_status(pal_token_reserve(world->env, &token, world->mode, 0), PAL_OK, "reserve", 0);
    assert_null(token.payload);
    expect_status(pal_token_reserve(world->env, &token, world->mode, 90), PAL_OK, "reserve", 90);
    assert_int_equal(token.len, 0);
    assert_int_equal(token.cap, world->mode == PAL_REUSED && !world->hostile ? 128 : 90);
    payload = token.payload;
    cap = token.cap;
    for (size_t len = 0; len <= cap; len++) {
        token.len = len;
        expect_status(pal_token_reserve(world->env, &token, world->mode, cap - len), PAL_OK, "reserve", len);
        assert_ptr_equal(token.payload, payload);
        assert_int_equal(token.len, len);
    }
    put_away(world, &token);
}

/* What lies between len and cap is somebody else's: it does not travel. MSan and ASan watch the copying; here the bytes
 * are looked for. */
static void only_the_prefix_is_copied(void **state)
{
    struct world *world = *state;

    for (size_t len = 0; len <= 100; len++) {
        struct pal_token token = {0};

        expect_status(pal_token_reserve(world->env, &token, world->mode, 100), PAL_OK, "reserve", len);
        memset(token.payload, 0x66, token.cap);
        memcpy(token.payload, text_of(len).data, len);
        token.len = len;
        expect_status(pal_token_reserve(world->env, &token, world->mode, 5000), PAL_OK, "reserve", len);
        expect_text(&token, len, len);
        for (size_t i = len; i < 100; i++) {
            bool stale = test_has_byte(token.payload + i, 1, 0x66) && test_has_byte(token.payload + i + 1, 1, 0x66);

            if (stale) {
                fail_msg("len %zu: byte %zu came along", len, i);
            }
        }
        put_away(world, &token);
    }
}

static void a_token_keeps_its_first_mode(void **state)
{
    struct world *world = *state;
    struct pal_token token = {0};
    enum pal_mode other = world->mode == PAL_FRESH ? PAL_REUSED : PAL_FRESH;

    append(world, &token, text_of(10));
    expect_status(pal_token_reserve(world->env, &token, other, 5000), PAL_OK, "reserve", 0);
    assert_int_equal(token.rental.data != NULL, world->mode == PAL_REUSED);
    assert_int_equal(stats_of(world->pool).rents, world->mode == PAL_REUSED ? 2 : 0);
    expect_text(&token, 10, 0);
    put_away(world, &token);
    expect_status(pal_token_reserve(world->env, &token, other, 50), PAL_OK, "reserve", 1);
    assert_int_equal(token.rental.data != NULL, other == PAL_REUSED);
    put_away(world, &token);
}

static void empty_and_impossible_views_change_nothing(void **state)
{
    struct world *world = *state;
    struct pal_token token = {0}, before;

    append(world, &token, (struct pal_view){NULL, 0});
    append(world, &token, (struct pal_view){(const uint8_t *)"", 0});
    assert_null(token.payload);
    append(world, &token, text_of(3));
    before = token;
    expect_status(pal_token_append(world->env, &token, world->mode, (struct pal_view){NULL, 1}), PAL_BAD_ARGUMENT,
                  "NULL with a length", 1);
    assert_memory_equal(&token, &before, sizeof(token));
    put_away(world, &token);
}

/* ---- failing ------------------------------------------------------------------------------------------------------
 */

static void lengths_that_overflow_leave_the_token_as_it_was(void **state)
{
    struct world *world = *state;

    for (size_t len = 0; len < 3; len++) {
        const size_t rows[] = {SIZE_MAX, SIZE_MAX - 1, SIZE_MAX - 2, (size_t)PTRDIFF_MAX + 1, PTRDIFF_MAX};

        for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
            struct pal_token token = {.status = PAL_PROTOCOL}, before;

            append(world, &token, text_of(len));
            before = token;
            expect_status(pal_token_reserve(world->env, &token, world->mode, rows[i]),
                          rows[i] > PTRDIFF_MAX - len ? PAL_TOO_LONG : PAL_NO_MEMORY, "reserve", i);
            assert_memory_equal(&token, &before, sizeof(token));
            expect_status(
                pal_token_append(world->env, &token, world->mode, (struct pal_view){text_of(1).data, rows[i]}),
                rows[i] > PTRDIFF_MAX - len ? PAL_TOO_LONG : PAL_NO_MEMORY, "append", i);
            assert_memory_equal(&token, &before, sizeof(token));
            expect_text(&token, len, i);
            put_away(world, &token);
        }
    }
}

static void every_failed_allocation_leaves_the_token_as_it_was(void **state)
{
    struct world *world = *state;
    bool failed = true;

    for (size_t n = 1; failed || n < 4; n++) {
        struct pal_token token = {.status = PAL_RENEGOTIATE};
        size_t len = 0;

        failed = false;
        ops->trim(world->pool);
        world->ledger.fail_at = n;
        for (size_t step = 0; step < 40; step++) {
            size_t more = 1 + step * step;
            struct pal_token before = token;
            enum pal_status status = pal_token_append(world->env, &token, world->mode,
                                                      (struct pal_view){text_of(len + more).data + len, more});

            if (status != PAL_OK) {
                expect_status(status, PAL_NO_MEMORY, "append", step);
                assert_memory_equal(&token, &before, sizeof(token));
                failed = true;
                break;
            }
            len += more;
        }
        world->ledger.fail_at = 0;
        expect_text(&token, len, n);
        assert_int_equal(token.status, PAL_RENEGOTIATE);
        put_away(world, &token);
    }
}

static void without_a_pool_only_fresh_tokens_are_had(void **state)
{
    struct world *world = *state;
    struct pal_token token = {.status = PAL_CLOSED}, before = token;
    enum pal_status want = world->mode == PAL_REUSED ? PAL_UNSUPPORTED : PAL_OK;

    expect_status(pal_token_reserve(&world->ledger.env, &token, world->mode, 9), want, "reserve", 0);
    if (want != PAL_OK) {
        assert_memory_equal(&token, &before, sizeof(token));
        append(world, &token, text_of(20));
        before = token;
        expect_status(pal_token_reserve(&world->ledger.env, &token, world->mode, 5000), PAL_UNSUPPORTED, "reserve", 1);
        expect_status(pal_token_release(&world->ledger.env, &token), PAL_UNSUPPORTED, "release", 2);
        assert_memory_equal(&token, &before, sizeof(token));
    }
    put_away(world, &token);
    struct pal_env one_way = *world->env; /* lends, and takes nothing back */
    one_way.release = NULL;
    expect_status(pal_token_reserve(&one_way, &token, PAL_REUSED, 9), PAL_UNSUPPORTED, "nothing to return to", 4);
    expect_status(pal_token_reserve(world->env, &token, PAL_NUM_MODES, 9), PAL_BAD_ARGUMENT, "no mode", 3);
    assert_null(token.payload);
}

/* A pool that lends too little, or nothing, and says that all is well: the token does not believe it. */
static size_t scant_cap;
static unsigned num_scant_releases;
static uint8_t scant_memory[8];

static enum pal_status scant_rent(void *context, struct pal_buffer *out, size_t min_cap)
{
    (void)context;
    (void)min_cap;
    *out = (struct pal_buffer){scant_cap > 0 ? scant_memory : NULL, scant_cap, 1, 1};
    return PAL_OK;
}

static enum pal_status scant_release(void *context, struct pal_buffer *buffer, bool clear)
{
    (void)context;
    (void)clear;
    memset(buffer, 0, sizeof(*buffer));
    num_scant_releases++;
    return PAL_OK;
}

static void a_rental_that_is_too_small_is_not_written_to(void **state)
{
    struct world *world = *state;
    struct pal_env env = world->ledger.env;

    env.rent = scant_rent;
    env.release = scant_release;
    for (scant_cap = 0; scant_cap <= sizeof(scant_memory); scant_cap += 4) {
        struct pal_token token = {0}, empty = {0};

        num_scant_releases = 0;
        expect_status(pal_token_append(&env, &token, PAL_REUSED, text_of(9)), PAL_NO_MEMORY, "append", scant_cap);
        assert_memory_equal(&token, &empty, sizeof(token));
        assert_int_equal(num_scant_releases, 1);
    }
}

/* ---- releasing ----------------------------------------------------------------------------------------------------
 */

static void release_is_idempotent_and_keeps_the_status(void **state)
{
    struct world *world = *state;

    for (int status = 0; status < PAL_NUM_STATUSES; status++) {
        struct pal_token token = {.status = (enum pal_status)status};

        put_away(world, &token);
        assert_int_equal(token.status, status);
        append(world, &token, text_of(33));
        expect_status(pal_token_reserve(world->env, &token, world->mode, 333), PAL_OK, "reserve", (size_t)status);
        for (int i = 0; i < 3; i++) {
            put_away(world, &token);
            assert_int_equal(token.status, status);
        }
    }
    assert_int_equal(stats_of(world->pool).rents, stats_of(world->pool).releases);
}

/* Two copies, both released, or one released and the other grown: the pool refuses, and says which were the two. */
static void a_second_copy_is_refused_by_the_pool(void **state)
{
    struct world *world = *state;
    struct pal_token token = {0}, copy, before;

    append(world, &token, text_of(30));
    copy = token;
    put_away(world, &token);
    copy.len = 0; /* ASan does not let the prefix be read */
    before = copy;
    expect_status(pal_token_reserve(world->env, &copy, world->mode, 3), PAL_OK, "room that is there", 0);
    expect_status(pal_token_reserve(world->env, &copy, world->mode, 500), PAL_REFUSED, "growth of a copy", 1);
    assert_memory_equal(&copy, &before, sizeof(copy));
    assert_int_equal(stats_of(world->pool).rented_bytes, 0);
    expect_status(pal_token_release(world->env, &copy), PAL_REFUSED, "release of a copy", 2);
    assert_true(copy.payload == NULL && copy.rental.data == NULL);
    assert_int_equal(refusal_of(world->pool).kind, PAL_POOL_RETURNED_TWICE);
    put_away(world, &copy);
    /* These two were meant. */
    assert_int_equal(stats_of(world->pool).refusals, 2);
    ops->close(world->pool);
    world->pool = open_pool(&world->ledger.env, 0, 0, world->hostile);
}

static void invalid_tokens_are_told_from_valid_ones(void **state)
{
    uint8_t memory[32];
    struct pal_buffer rental = {memory, 32, 0, 1};
    const struct {
        struct pal_token token;
        bool valid;
    } rows[] = {
        {{0}, true},
        {{.payload = memory, .len = 32, .cap = 32}, true},
        {{.payload = memory, .len = 0, .cap = 32}, true},
        {{.payload = memory, .len = 33, .cap = 32}, false},
        {{.payload = memory, .len = SIZE_MAX, .cap = 32}, false},
        {{.payload = NULL, .len = 0, .cap = 1}, false},
        {{.payload = NULL, .len = 1, .cap = 1}, false},
        {{.payload = NULL, .len = 1, .cap = 0}, false},
        {{.payload = memory, .len = 5, .cap = 32, .rental = rental}, true},
        {{.payload = memory, .len = 5, .cap = 31, .rental = rental}, true},
        {{.payload = memory, .len = 5, .cap = 33, .rental = rental}, false},
        {{.payload = memory + 1, .len = 5, .cap = 31, .rental = rental}, false},
        {{.payload = NULL, .len = 0, .cap = 0, .rental = rental}, false},
        {{.payload = memory, .len = 5, .cap = 32, .rental = {NULL, 32, 0, 1}}, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        expect_size(pal_token_valid(&rows[i].token), rows[i].valid, "validity", i);
    }
    assert_false(pal_token_valid(NULL));
}

static void a_warm_rented_token_takes_no_memory(void **state)
{
    struct world *world = *state;
    size_t num_allocs = 0;

    for (size_t round = 0; round < 100; round++) {
        struct pal_token token = {0};

        if (round == 5) {
            num_allocs = world->ledger.num_allocs;
        }
        append(world, &token, text_of(5));
        append(world, &token, text_of(16413));
        put_away(world, &token);
    }
    assert_int_equal(world->ledger.num_allocs - num_allocs, world->mode == PAL_REUSED ? 0 : 95 * 2);
}

int main(void)
{
#define ALL(claim)                                                                                                     \
    {"fresh/" #claim, claim, setup, teardown, &fresh}, {"reused/" #claim, claim, setup, teardown, &reused},            \
    {                                                                                                                  \
        "hostile/" #claim, claim, setup, teardown, &hostile                                                            \
    }
#define REUSED(claim)                                                                                                  \
    {"reused/" #claim, claim, setup, teardown, &reused},                                                               \
    {                                                                                                                  \
        "hostile/" #claim, claim, setup, teardown, &hostile                                                            \
    }
    static struct world fresh = {.mode = PAL_FRESH}, reused = {.mode = PAL_REUSED},
                        hostile = {.mode = PAL_REUSED, .hostile = true};
    const struct CMUnitTest claims[] = {
        ALL(the_valid_prefix_survives_growth_at_every_split),
        ALL(growth_returns_the_old_memory_once),
        ALL(room_that_is_there_is_not_moved),
        ALL(only_the_prefix_is_copied),
        ALL(a_token_keeps_its_first_mode),
        ALL(empty_and_impossible_views_change_nothing),
        ALL(lengths_that_overflow_leave_the_token_as_it_was),
        ALL(every_failed_allocation_leaves_the_token_as_it_was),
        ALL(without_a_pool_only_fresh_tokens_are_had),
        ALL(release_is_idempotent_and_keeps_the_status),
        ALL(a_warm_rented_token_takes_no_memory),
        REUSED(a_rental_that_is_too_small_is_not_written_to),
        REUSED(a_second_copy_is_refused_by_the_pool),
        REUSED(invalid_tokens_are_told_from_valid_ones),
    };
#undef ALL
#undef REUSED

    return cmocka_run_group_tests(claims, NULL, NULL);
}
