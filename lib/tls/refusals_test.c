/* SPDX-License-Identifier: Apache-2.0
 * refusals_test.c: arguments that no call takes, configurations and credentials that cannot be, and calls at the wrong
 * time, each by itself, are told apart from what can be played, and change nothing. Both engines; what a correct caller
 * may say in another order is tls_fault_test's.
 */
#include "tls_test.h"

#include <limits.h>

/* setup: a link of one engine that is not open yet. */
static void setup(struct link *link, size_t engine, uint16_t version, enum pal_tls_shape shape)
{
    link_init(link, engine, engine);
    link_certify(link, &identities[0], false);
    link_versions(link, version);
    link->ends[0].config.shape = link->ends[1].config.shape = shape;
}

static void setup_open(struct link *link, size_t engine, uint16_t version, enum pal_tls_shape shape)
{
    setup(link, engine, version, shape);
    link_open(link);
    shake_well(link);
    chat(link);
}

/* ---- arguments --------------------------------------------------------------------------------------------------- */

/* each_call: every call of the table that fills a token. */
typedef enum pal_status token_call(const struct end *end, struct pal_tls *tls, struct pal_token *token);

static enum pal_status call_handshake(const struct end *end, struct pal_tls *tls, struct pal_token *token)
{
    size_t consumed;

    return end->tls_ops->handshake(tls, token, &consumed, text(""));
}

static enum pal_status call_encrypt(const struct end *end, struct pal_tls *tls, struct pal_token *token)
{
    return end->tls_ops->encrypt(tls, token, text("x"));
}

static enum pal_status call_update(const struct end *end, struct pal_tls *tls, struct pal_token *token)
{
    return end->tls_ops->update_keys(tls, token, false);
}

static enum pal_status call_renegotiate(const struct end *end, struct pal_tls *tls, struct pal_token *token)
{
    return end->tls_ops->renegotiate(tls, token);
}

static enum pal_status call_alert(const struct end *end, struct pal_tls *tls, struct pal_token *token)
{
    return end->tls_ops->alert(tls, token, 80);
}

static enum pal_status call_shutdown(const struct end *end, struct pal_tls *tls, struct pal_token *token)
{
    return end->tls_ops->shutdown(tls, token);
}

static enum pal_status call_pending(const struct end *end, struct pal_tls *tls, struct pal_token *token)
{
    return end->tls_ops->take_pending(tls, token);
}

static enum pal_status call_export(const struct end *end, struct pal_tls *tls, struct pal_token *token)
{
    return end->tls_ops->export_ticket(tls, token);
}

static token_call *const token_calls[] = {call_handshake, call_encrypt,  call_update,  call_renegotiate,
                                          call_alert,     call_shutdown, call_pending, call_export};

enum { NUM_TOKEN_CALLS = sizeof(token_calls) / sizeof(token_calls[0]) };

static void a_call_takes_an_object_and_an_empty_token(void **state)
{
    static uint8_t memory[1];
    const struct pal_token full[] = {{.payload = memory}, {.len = 1}, {.cap = 1}};
    struct link link;
    struct end *end = &link.ends[0];

    (void)state;
    setup_open(&link, 0, PAL_TLS_1_3, PAL_TLS_DRAIN);
    for (size_t i = 0; i < NUM_TOKEN_CALLS; i++) {
        struct pal_token token = {0};

        expect(token_calls[i](end, NULL, &token), PAL_BAD_ARGUMENT, "no object");
        expect(token_calls[i](end, end->tls, NULL), PAL_BAD_ARGUMENT, "no token");
        for (size_t j = 0; j < sizeof(full) / sizeof(full[0]); j++) {
            token = full[j];
            expect(token_calls[i](end, end->tls, &token), PAL_BAD_ARGUMENT, "a token that is not empty");
            assert_memory_equal(&token, &full[j], sizeof(token));
        }
    }
    chat(&link);
    link_close(&link);
}

static void views_and_outputs_must_be_there(void **state)
{
    struct link link;
    struct end *end = &link.ends[0];
    const struct pal_view bad = {NULL, 1};
    const struct pal_tls_identity identity = {identities[0].chain, identities[0].private_key};
    const struct pal_tls_identity keyless = {identities[0].chain, bad};
    struct pal_tls_info info;
    struct pal_token token = {0};
    uint8_t data[4] = {0};
    size_t one = 7, two = 7;

    (void)state;
    setup_open(&link, 0, PAL_TLS_1_3, PAL_TLS_DRAIN);
    expect(end->tls_ops->handshake(end->tls, &token, NULL, text("")), PAL_BAD_ARGUMENT, "handshake without consumed");
    expect(end->tls_ops->handshake(end->tls, &token, &one, bad), PAL_BAD_ARGUMENT, "handshake of nothing");
    expect(end->tls_ops->decrypt(NULL, &one, &two, data, 0, 4), PAL_BAD_ARGUMENT, "decrypt without object");
    expect(end->tls_ops->decrypt(end->tls, NULL, &two, data, 0, 4), PAL_BAD_ARGUMENT, "decrypt without offset");
    expect(end->tls_ops->decrypt(end->tls, &one, NULL, data, 0, 4), PAL_BAD_ARGUMENT, "decrypt without count");
    expect(end->tls_ops->decrypt(end->tls, &one, &two, NULL, 0, 4), PAL_BAD_ARGUMENT, "decrypt into nothing");
    expect(end->tls_ops->decrypt(end->tls, &one, &two, data, 4, 3), PAL_BAD_ARGUMENT, "decrypt of more than is there");
    expect(end->tls_ops->set_identity(NULL, &identity), PAL_BAD_ARGUMENT, "set_identity without object");
    expect(end->tls_ops->set_identity(end->tls, NULL), PAL_BAD_ARGUMENT, "set_identity without identity");
    expect(end->tls_ops->set_identity(end->tls, &keyless), PAL_BAD_ARGUMENT, "set_identity without key");
    expect(end->tls_ops->info(NULL, &info), PAL_BAD_ARGUMENT, "info without object");
    expect(end->tls_ops->info(end->tls, NULL), PAL_BAD_ARGUMENT, "info into nothing");
    expect(end->tls_ops->alert(end->tls, &token, 0), PAL_BAD_ARGUMENT, "close_notify as an alert");
    assert_true(one == 7 && two == 7 && token.payload == NULL);
    end->tls_ops->close(NULL);
    chat(&link);
    link_close(&link);
}

/* Nothing may be read of what is too long: there are a few bytes. */
static void lengths_that_no_memory_has_are_refused(void **state)
{
    static const enum pal_status wants[PAL_TLS_NUM_SHAPES] = {
        [PAL_TLS_DRAIN] = PAL_BAD_ARGUMENT, [PAL_TLS_CALLBACK] = PAL_NO_MEMORY, [PAL_TLS_PENDING] = PAL_NO_MEMORY};
    uint8_t data[4] = {0};
    size_t one, two;

    (void)state;
    for (int shape = 0; shape < PAL_TLS_NUM_SHAPES; shape++) {
        struct link link;
        struct end *end = &link.ends[0];
        struct pal_token token = {0};

        setup_open(&link, 0, PAL_TLS_1_3, (enum pal_tls_shape)shape);
        if (shape == PAL_TLS_SIZED) {
            expect(end->tls_ops->encrypt(end->tls, &token, view_of(data, SIZE_MAX - 100)), PAL_TOO_LONG, "encrypt");
        } else {
            expect(end->tls_ops->decrypt(end->tls, &one, &two, data, SIZE_MAX / 2 + 1, SIZE_MAX / 2 + 1), wants[shape],
                   "decrypt");
        }
        assert_null(token.payload);
        link_close(&link);
    }
}

/* Of what an engine counts in fewer bits. It reads the front: zeros, which begin nothing. */
static void credentials_longer_than_an_engine_counts_are_refused(void **state)
{
    static const uint8_t zeros[8192];
    const struct pal_view endless = view_of(zeros, (size_t)LONG_MAX + 1);

    (void)state;
    for (size_t i = 0; i < 4 * NUM_ENGINES; i++) {
        struct link link;
        struct end *client = &link.ends[0];

        setup(&link, i & 1, PAL_TLS_1_3, PAL_TLS_DRAIN);
        client->config.identity = (struct pal_tls_identity){identities[0].chain, identities[0].private_key};
        switch (i >> 1) {
        case 0:
            client->config.identity.chain = endless;
            break;
        case 1:
            client->config.identity.private_key = endless;
            break;
        case 2:
            client->config.trusted = endless;
            break;
        default:
            client->config.ticket = endless;
            break;
        }
        expect(client->tls_ops->open(end_env(client), &client->tls, &client->config), PAL_BAD_ARGUMENT, "open");
        assert_null(client->tls);
        link_close(&link);
    }
}

/* ---- configurations ---------------------------------------------------------------------------------------------- */

enum { NUM_SPOILT = 22 };

static void spoil(struct pal_tls_config *config, size_t i)
{
    static const uint8_t zeros[UINT16_MAX + 300];
    static uint8_t names[UINT16_MAX + 1];
    const struct pal_view bad = {NULL, 1};
    const struct pal_view key = text("0123456789abcdef");

    memset(names, 255, sizeof(names)); /* 256 names of 255 bytes: valid, and a byte too long */
    struct pal_tls_config spoilt[NUM_SPOILT];
    for (size_t j = 0; j < NUM_SPOILT; j++) {
        spoilt[j] = *config;
    }
    spoilt[0].role = (enum pal_tls_role)2;
    spoilt[1].shape = PAL_TLS_NUM_SHAPES;
    spoilt[2].mode = PAL_NUM_MODES;
    spoilt[3].version_min = 0x0302;
    spoilt[4].version_max = 0x0305;
    spoilt[5].version_min = PAL_TLS_1_3, spoilt[5].version_max = PAL_TLS_1_2;
    spoilt[6].identity.chain = bad;
    spoilt[7].identity.private_key = bad;
    spoilt[8].identity.private_key = text("");
    spoilt[9].trusted = bad;
    spoilt[10].server_name = bad;
    spoilt[11].server_name = view_of(names, 256);
    spoilt[12].server_name = view_of(zeros, 3);
    spoilt[13].alpn = bad;
    spoilt[14].alpn = view_of(zeros, 1);
    spoilt[15].alpn = view_of(names, sizeof(names));
    spoilt[16].psk_identity = view_of(names, 129), spoilt[16].psk_key = key;
    spoilt[17].psk_identity = text("who"), spoilt[17].psk_key = bad;
    spoilt[18].psk_identity = text("who"), spoilt[18].psk_key = view_of(zeros, 257);
    spoilt[19].psk_identity = text("who");
    spoilt[20].ticket = bad, spoilt[20].role = PAL_TLS_CLIENT;
    spoilt[21].identity.chain = text("");
    *config = spoilt[i];
}

static void configurations_that_cannot_be_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < NUM_SPOILT; i++) {
        struct link link;
        struct end *end = &link.ends[1];

        setup(&link, i & 1, PAL_TLS_1_3, PAL_TLS_DRAIN);
        spoil(&end->config, i);
        if (end->tls_ops->open(end_env(end), &end->tls, &end->config) != PAL_BAD_ARGUMENT) {
            fail_msg("configuration %zu was not refused", i);
        }
        assert_null(end->tls);
        link_close(&link);
    }
}

/* Of its own: as good a ticket as there is. */
static void a_ticket_is_for_clients(void **state)
{
    (void)state;
    for (size_t i = 0; i < NUM_ENGINES; i++) {
        struct link link;
        struct end *client = &link.ends[0], *server = &link.ends[1];
        struct pal_token token = {0};

        setup_open(&link, i, PAL_TLS_1_3, PAL_TLS_DRAIN);
        expect(client->tls_ops->export_ticket(client->tls, &token), PAL_OK, "export_ticket");
        server->tls_ops->close(server->tls);
        server->tls = NULL;
        server->config.ticket = client->config.ticket = pal_token_view(&token);
        expect(server->tls_ops->open(end_env(server), &server->tls, &server->config), PAL_BAD_ARGUMENT, "server");
        client->tls_ops->close(client->tls);
        expect(client->tls_ops->open(end_env(client), &client->tls, &client->config), PAL_OK, "client");
        expect(pal_token_release(end_env(client), &token), PAL_OK, "release");
        link_close(&link);
    }
}

static void an_end_needs_an_environment_and_pooled_tokens_a_pool(void **state)
{
    struct link link;
    struct end *end = &link.ends[1];
    struct pal_env env;

    (void)state;
    setup(&link, 0, PAL_TLS_1_3, PAL_TLS_DRAIN);
    expect(end->tls_ops->open(NULL, &end->tls, &end->config), PAL_BAD_ARGUMENT, "no environment");
    expect(end->tls_ops->open(end_env(end), NULL, &end->config), PAL_BAD_ARGUMENT, "no output");
    expect(end->tls_ops->open(end_env(end), &end->tls, NULL), PAL_BAD_ARGUMENT, "no configuration");
    env = *end_env(end);
    env.rent = NULL;
    expect(end->tls_ops->open(&env, &end->tls, &end->config), PAL_UNSUPPORTED, "nothing to rent from");
    env = *end_env(end);
    env.release = NULL;
    expect(end->tls_ops->open(&env, &end->tls, &end->config), PAL_UNSUPPORTED, "nothing to return to");
    assert_null(end->tls);
    link_close(&link);
}

/* ---- credentials ------------------------------------------------------------------------------------------------- */

static struct bytes copy_of(struct pal_view view)
{
    struct bytes copy = {0};

    bytes_add(&copy, view.data, view.len);
    return copy;
}

/* find: where `pattern` begins in `in`. */
static size_t find(const struct bytes *in, const char *pattern, size_t len)
{
    for (size_t i = 0; i + len <= in->len; i++) {
        if (memcmp(in->data + i, pattern, len) == 0) {
            return i;
        }
    }
    fail_msg("the key is not built as it was");
    return 0;
}

static void put(struct bytes *bytes, size_t at, uint8_t value)
{
    assert_true(at < bytes->len);
    if (bytes->data != NULL) {
        bytes->data[at] = value;
    }
}

static void open_with(size_t engine, const struct pal_tls_identity *identity, enum pal_status want, const char *what)
{
    struct link link;
    struct end *end = &link.ends[1];

    setup(&link, engine, PAL_TLS_1_3, PAL_TLS_DRAIN);
    end->config.identity = *identity;
    expect(end->tls_ops->open(end_env(end), &end->tls, &end->config), want, what);
    link_close(&link);
}

static void keys_are_read_to_their_end_and_no_further(void **state)
{
    struct pal_tls_identity ec = {identities[0].chain, identities[0].private_key};
    struct pal_tls_identity rsa = {rsa_identity.chain, rsa_identity.private_key};
    struct bytes longer = copy_of(ec.private_key);
    struct bytes curve = copy_of(ec.private_key);
    struct bytes numbers = copy_of(rsa.private_key);

    (void)state;
    bytes_add(&longer, "", 1);
    /* Where the name of the curve stands (1.2.840.10045.3.1.7), something that is none. */
    put(&curve, find(&curve, "\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07", 10), 4);
    /* The numbers of an RSA key begin with a version: a SET instead of a SEQUENCE of them. */
    put(&numbers, find(&numbers, "\x02\x01\x00\x02\x82", 5) - 4, 0x31);
    for (size_t engine = 0; engine < NUM_ENGINES; engine++) {
        open_with(engine, &ec, PAL_OK, "EC key");
        open_with(engine, &rsa, PAL_OK, "RSA key");
        open_with(engine, &(struct pal_tls_identity){ec.chain, view_of(longer.data, longer.len)}, PAL_BAD_ARGUMENT,
                  "a byte behind a key");
        open_with(engine, &(struct pal_tls_identity){ec.chain, view_of(curve.data, curve.len)}, PAL_BAD_ARGUMENT,
                  "a key without a curve");
        open_with(engine, &(struct pal_tls_identity){rsa.chain, view_of(numbers.data, numbers.len)}, PAL_BAD_ARGUMENT,
                  "an RSA key without numbers");
    }
    bytes_free(&longer);
    bytes_free(&curve);
    bytes_free(&numbers);
}

static void chains_have_up_to_sixteen_certificates(void **state)
{
    struct bytes chain = {0};

    (void)state;
    bytes_add(&chain, identities[0].chain.data, identities[0].chain.len);
    for (size_t num = 1; num <= 17; num++) {
        for (size_t engine = 0; engine < NUM_ENGINES; engine++) {
            open_with(engine, &(struct pal_tls_identity){view_of(chain.data, chain.len), identities[0].private_key},
                      num <= 16 ? PAL_OK : PAL_BAD_ARGUMENT, "chain");
        }
        bytes_add(&chain, identities[0].ca.data, identities[0].ca.len);
    }
    bytes_free(&chain);
}

static void credentials_that_cannot_be_made_are_refused(void **state)
{
    static pal_tls_make_identity_fn *const makers[] = {pal_tls_make_identity_openssl, pal_tls_make_identity_boringssl};
    static const char name[65] = "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn";
    const struct pal_tls_identity_spec good = {PAL_TLS_KEY_P256, text("peer.example"), TEST_NOW, TEST_NOW + 1};
    const struct {
        const char *what;
        struct pal_tls_identity_spec spec;
        enum pal_status want;
    } cases[] = {{"kind", {PAL_TLS_NUM_KEY_KINDS, good.name, TEST_NOW, TEST_NOW + 1}, PAL_BAD_ARGUMENT},
                 {"no name", {PAL_TLS_KEY_P256, {NULL, 4}, TEST_NOW, TEST_NOW + 1}, PAL_BAD_ARGUMENT},
                 {"empty name", {PAL_TLS_KEY_P256, text(""), TEST_NOW, TEST_NOW + 1}, PAL_BAD_ARGUMENT},
                 {"long name", {PAL_TLS_KEY_P256, view_of(name, 65), TEST_NOW, TEST_NOW + 1}, PAL_BAD_ARGUMENT},
                 {"0 in a name", {PAL_TLS_KEY_P256, view_of("a\0b", 3), TEST_NOW, TEST_NOW + 1}, PAL_BAD_ARGUMENT},
                 {"no UTF-8", {PAL_TLS_KEY_P256, text("\xff\xfe"), TEST_NOW, TEST_NOW + 1}, PAL_ENGINE},
                 {"begins at no time", {PAL_TLS_KEY_P256, good.name, INT64_MAX, TEST_NOW}, PAL_ENGINE},
                 {"ends at no time", {PAL_TLS_KEY_P256, good.name, TEST_NOW, INT64_MAX}, PAL_ENGINE}};
    struct world world;

    (void)state;
    world_init(&world, 3);
    for (size_t i = 0; i < NUM_ENGINES; i++) {
        struct pal_tls_credentials made = {0};

        expect(makers[i](NULL, &made, &good), PAL_BAD_ARGUMENT, "no environment");
        expect(makers[i](&world.env, NULL, &good), PAL_BAD_ARGUMENT, "no output");
        expect(makers[i](&world.env, &made, NULL), PAL_BAD_ARGUMENT, "no specification");
        for (size_t j = 0; j < sizeof(cases) / sizeof(cases[0]); j++) {
            expect(makers[i](&world.env, &made, &cases[j].spec), cases[j].want, cases[j].what);
        }
        for (size_t n = 1; n > 0; n++) {
            enum pal_status status;

            world.random_fails_at = n;
            status = makers[i](&world.env, &made, &good);
            if (world.random_fails_at > 0) {
                world.random_fails_at = 0;
                expect(status, PAL_OK, "with all random bytes");
                break;
            }
            expect(status, PAL_NO_RANDOM, "without random bytes");
            assert_null(made.memory);
        }
        pal_tls_credentials_release(&world.env, &made);
    }
    world_settled(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_takes_an_object_and_an_empty_token),
        cmocka_unit_test(views_and_outputs_must_be_there),
        cmocka_unit_test(lengths_that_no_memory_has_are_refused),
        cmocka_unit_test(credentials_longer_than_an_engine_counts_are_refused),
        cmocka_unit_test(configurations_that_cannot_be_are_refused),
        cmocka_unit_test(a_ticket_is_for_clients),
        cmocka_unit_test(an_end_needs_an_environment_and_pooled_tokens_a_pool),
        cmocka_unit_test(keys_are_read_to_their_end_and_no_further),
        cmocka_unit_test(chains_have_up_to_sixteen_certificates),
        cmocka_unit_test(credentials_that_cannot_be_made_are_refused),
    };

    return cmocka_run_group_tests(tests, make_identities, drop_identities);
}
