/* SPDX-License-Identifier: Apache-2.0
 * order_test.c: calls at a time when few make them: in mid-renegotiation, with input of an earlier call still inside,
 * when an end is shut or has failed. Each is answered, and what is due still comes. What any caller does in its usual
 * order is tls_test's.
 */
#include "tls_test.h"

static const uint16_t versions[2] = {PAL_TLS_1_2, PAL_TLS_1_3};

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

/* ---- renegotiation ----------------------------------------------------------------------------------------------- */

static void a_renegotiation_is_not_begun_twice_nor_written_into(void **state)
{
    (void)state;
    for (int shape = 0; shape < PAL_TLS_NUM_SHAPES; shape++) {
        struct link link;
        struct end *client = &link.ends[0];
        struct pal_tls_info info;

        setup_open(&link, 0, PAL_TLS_1_2, (enum pal_tls_shape)shape);
        expect(control(&link, client, control_renegotiate, 0), PAL_OK, "renegotiate");
        expect(control(&link, client, control_renegotiate, 0), PAL_BAD_STATE, "renegotiate again");
        expect(encrypt(&link, client, text("not yet")), PAL_BAD_STATE, "encrypt");
        expect(control(&link, client, control_shutdown, 0), PAL_BAD_STATE, "shutdown");
        expect(client->tls_ops->info(client->tls, &info), PAL_OK, "info");
        expect(decrypt(&link.ends[1], link.ends[1].inbox.len), PAL_RENEGOTIATE, "server hears");
        expect(link.ends[1].tls_ops->info(link.ends[1].tls, &info), PAL_OK, "info");
        shake_well(&link);
        chat(&link);
        link_close(&link);
    }
}

/* Asked by a server, a client of either engine has a handshake to finish before it writes. */
static void a_client_that_was_asked_shakes_hands_before_it_writes(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2 * PAL_TLS_NUM_SHAPES; i++) {
        struct link link;
        struct end *client = &link.ends[0], *server = &link.ends[1];

        link_init(&link, i & 1, 0);
        link_certify(&link, &identities[0], false);
        link_versions(&link, PAL_TLS_1_2);
        client->config.shape = server->config.shape = (enum pal_tls_shape)(i >> 1);
        link_open(&link);
        shake_well(&link);
        expect(control(&link, server, control_renegotiate, 0), PAL_OK, "renegotiate");
        expect(decrypt(client, client->inbox.len), PAL_RENEGOTIATE, "client hears");
        expect(encrypt(&link, client, text("not yet")), PAL_BAD_STATE, "encrypt");
        expect(take_pending(&link, client), PAL_OK, "client hello");
        expect(decrypt(server, server->inbox.len), PAL_RENEGOTIATE, "server hears");
        shake_well(&link);
        chat(&link);
        link_close(&link);
    }
}

/* ---- input that is left ------------------------------------------------------------------------------------------ */

/* shake_with: the answer to one call of handshake; what it did not consume stays in the inbox. */
static enum pal_status shake_with(struct link *link, struct end *end, size_t *out_consumed)
{
    struct pal_token token = {0};
    enum pal_status status =
        end->tls_ops->handshake(end->tls, &token, out_consumed, view_of(end->inbox.data, end->inbox.len));

    bytes_drop(&end->inbox, *out_consumed);
    (void)send_token(link, end, &token);
    return status;
}

/* A whole record is inside and had no room; the next one is handed to a handshake that has nothing to do. */
static void what_a_finished_handshake_does_not_take_is_still_the_callers(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2 * 2 * PAL_TLS_NUM_SHAPES; i++) {
        struct link link;
        struct end *to = &link.ends[1];
        size_t consumed = SIZE_MAX;

        setup_open(&link, i & 1, versions[i >> 1 & 1], (enum pal_tls_shape)(i >> 2));
        to->plain.len = 0;
        expect(encrypt(&link, &link.ends[0], text("first record, ")), PAL_OK, "encrypt");
        expect(encrypt(&link, &link.ends[0], text("second record, ")), PAL_OK, "encrypt");
        expect(decrypt_into(to, to->inbox.len - 1, to->inbox.len - 1), PAL_OK, "the first one and a part");
        expect(shake_with(&link, to, &consumed), PAL_OK, "handshake");
        expect(encrypt(&link, &link.ends[0], text("third record")), PAL_OK, "encrypt");
        while (decrypt_into(to, to->inbox.len, to->inbox.len + 64) == PAL_OK) {
        }
        assert_int_equal(to->plain.len, 41);
        assert_memory_equal(to->plain.data, "first record, second record, third record", 41);
        link_close(&link);
    }
}

/* A record comes whole with its last byte, into room for one byte of it; the next one finds the rest inside. */
static void plaintext_without_room_waits_in_order(void **state)
{
    static const uint8_t plain[200] = {1, 2, 3};

    (void)state;
    for (size_t i = 0; i < 2 * 2 * PAL_TLS_NUM_SHAPES; i++) {
        struct link link;
        struct end *to = &link.ends[1];
        size_t consumed = SIZE_MAX;

        setup_open(&link, i & 1, versions[i >> 1 & 1], (enum pal_tls_shape)(i >> 2));
        to->plain.len = 0;
        expect(encrypt(&link, &link.ends[0], view_of(plain, sizeof(plain))), PAL_OK, "encrypt");
        expect(decrypt(to, to->inbox.len - 1), PAL_NEED_INPUT, "all but a byte");
        expect(decrypt(to, 1), PAL_OK, "the last byte");
        expect(encrypt(&link, &link.ends[0], text("after")), PAL_OK, "encrypt");
        expect(encrypt(&link, &link.ends[0], text("wards")), PAL_OK, "encrypt");
        expect(decrypt(to, 20), PAL_OK, "a part of the next one");
        expect(shake_with(&link, to, &consumed), PAL_OK, "handshake");
        while (decrypt_into(to, to->inbox.len, to->inbox.len + 64) == PAL_OK) {
        }
        assert_int_equal(to->plain.len, sizeof(plain) + 10);
        assert_memory_equal(to->plain.data, plain, sizeof(plain));
        assert_memory_equal(to->plain.data + sizeof(plain), "afterwards", 10);
        link_close(&link);
    }
}

static void decrypt_may_be_asked_without_any_memory(void **state)
{
    size_t offset, count;

    (void)state;
    for (int shape = 0; shape < PAL_TLS_NUM_SHAPES; shape++) {
        struct link link;
        struct end *end = &link.ends[0];

        setup_open(&link, 0, PAL_TLS_1_3, (enum pal_tls_shape)shape);
        expect(end->tls_ops->decrypt(end->tls, &offset, &count, NULL, 0, 0), PAL_NEED_INPUT, "decrypt");
        link_close(&link);
    }
}

/* ---- credentials that come late ---------------------------------------------------------------------------------- */

static void an_identity_is_set_when_it_is_asked_for_and_once(void **state)
{
    const struct pal_tls_identity identity = {identities[0].chain, identities[0].private_key};
    const struct pal_tls_identity unreadable = {text("no certificate"), identities[0].private_key};

    (void)state;
    for (size_t i = 0; i < NUM_ENGINES; i++) {
        struct link link;
        struct end *server = &link.ends[1];

        setup(&link, i, PAL_TLS_1_3, PAL_TLS_DRAIN);
        link_open(&link);
        expect(server->tls_ops->set_identity(server->tls, &identity), PAL_BAD_STATE, "not late");
        link_close(&link);

        setup(&link, i, PAL_TLS_1_3, PAL_TLS_DRAIN);
        server->config.identity = (struct pal_tls_identity){{NULL, 0}, {NULL, 0}};
        server->config.late_identity = true;
        link_open(&link);
        shake(&link);
        expect(server->status, PAL_NEED_CREDENTIALS, "server");
        expect(server->tls_ops->set_identity(server->tls, &unreadable), PAL_BAD_ARGUMENT, "unreadable");
        expect(server->tls_ops->set_identity(server->tls, &identity), PAL_OK, "set_identity");
        expect(server->tls_ops->set_identity(server->tls, &identity), PAL_BAD_STATE, "again");
        shake_well(&link);
        chat(&link);
        link_close(&link);

        setup(&link, i, PAL_TLS_1_3, PAL_TLS_DRAIN);
        link.ends[0].config.late_identity = true;
        link_open(&link);
        shake_well(&link);
        expect(link.ends[0].tls_ops->set_identity(link.ends[0].tls, &identity), PAL_BAD_STATE, "never asked for");
        link_close(&link);
    }
}

/* ---- ends -------------------------------------------------------------------------------------------------------- */

/* RFC 8446 6.1: it says that nothing more comes, whenever it does. */
static void close_notify_instead_of_a_handshake_is_a_failure(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2 * PAL_TLS_NUM_SHAPES; i++) {
        struct link link;

        setup(&link, i & 1, PAL_TLS_1_2, (enum pal_tls_shape)(i >> 1));
        link_open(&link);
        (void)shake_once(&link, &link.ends[0]);
        bytes_add(&link.ends[0].inbox, "\x15\x03\x03\0\2\1\0", 7);
        (void)shake_once(&link, &link.ends[0]);
        expect(link.ends[0].status, PAL_PROTOCOL, "handshake");
        link_close(&link);
    }
}

/* dead_calls: all that answers what the connection died of, `why`. */
static void dead_calls(struct link *link, struct end *end, enum pal_status why)
{
    const struct pal_tls_identity identity = {identities[0].chain, identities[0].private_key};
    struct pal_token token = {0};
    size_t consumed;

    expect(shake_with(link, end, &consumed), why, "handshake");
    expect(end->tls_ops->set_identity(end->tls, &identity), why, "set_identity");
    expect(encrypt(link, end, text("x")), why, "encrypt");
    expect(decrypt(end, 0), why, "decrypt");
    expect(control(link, end, control_update, 0), why, "update_keys");
    expect(control(link, end, control_renegotiate, 0), why, "renegotiate");
    expect(control(link, end, control_alert, 80), why, "alert");
    expect(control(link, end, control_shutdown, 0), why, "shutdown");
    expect(end->tls_ops->export_ticket(end->tls, &token), why, "export_ticket");
    expect(take_pending(link, end), PAL_OK, "take_pending");
}

static void a_connection_that_failed_says_so_to_every_call(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2 * PAL_TLS_NUM_SHAPES; i++) {
        for (int shut = 0; shut < 2; shut++) {
            struct link link;
            struct end *end = &link.ends[0];

            setup_open(&link, i & 1, PAL_TLS_1_3, (enum pal_tls_shape)(i >> 1));
            if (shut != 0) {
                expect(control(&link, end, control_shutdown, 0), PAL_OK, "shutdown");
                expect(control(&link, end, control_alert, 80), PAL_BAD_STATE, "alert after shutdown");
            }
            bytes_add(&end->inbox, "\x17\x03\x03\0\1x", 6);
            expect(decrypt(end, end->inbox.len), PAL_PROTOCOL, "decrypt");
            dead_calls(&link, end, PAL_PROTOCOL);
            link_close(&link);
        }
    }
}

static void a_connection_that_said_so_itself_is_over(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2 * PAL_TLS_NUM_SHAPES; i++) {
        struct link link;

        setup_open(&link, i & 1, PAL_TLS_1_3, (enum pal_tls_shape)(i >> 1));
        expect(control(&link, &link.ends[0], control_alert, 80), PAL_OK, "alert");
        dead_calls(&link, &link.ends[0], PAL_BAD_STATE);
        link_close(&link);
    }
}

/* next_call: the calls that may follow on a decrypt. */
enum { ENCRYPT, DECRYPT, HANDSHAKE, UPDATE, RENEGOTIATE, ALERT, SHUTDOWN, PENDING, NUM_NEXT_CALLS };

static enum pal_status next_call(struct link *link, struct end *end, size_t call)
{
    size_t consumed;

    switch (call) {
    case ENCRYPT:
        return encrypt(link, end, text("x"));
    case DECRYPT:
        return decrypt(end, 0);
    case HANDSHAKE:
        return shake_with(link, end, &consumed);
    case UPDATE:
        return control(link, end, control_update, 0);
    case RENEGOTIATE:
        return control(link, end, control_renegotiate, 0);
    case ALERT:
        return control(link, end, control_alert, 80);
    case SHUTDOWN:
        return control(link, end, control_shutdown, 0);
    default:
        return take_pending(link, end);
    }
}

/* A good record and a bad one in one call: the plaintext is given first, whatever is called next says why nothing goes
 * on, and the alert still comes. */
static void a_failure_behind_plaintext_is_told_by_the_next_call(void **state)
{
    (void)state;
    for (size_t i = 0; i < NUM_NEXT_CALLS * 2 * 2 * PAL_TLS_NUM_SHAPES; i++) {
        struct link link;
        struct end *end = &link.ends[0];
        size_t len_before;

        setup_open(&link, i & 1, versions[i >> 1 & 1], (enum pal_tls_shape)(i / 4 % PAL_TLS_NUM_SHAPES));
        expect(encrypt(&link, &link.ends[1], text("good")), PAL_OK, "encrypt");
        bytes_add(&end->inbox, "\x17\x03\x03\0\1x", 6);
        len_before = end->wire.len;
        expect(decrypt(end, end->inbox.len), PAL_OK, "decrypt");
        expect(next_call(&link, end, i / 4 / PAL_TLS_NUM_SHAPES), PAL_PROTOCOL, "the next call");
        dead_calls(&link, end, PAL_PROTOCOL);
        assert_true(end->wire.len > len_before);
        link_close(&link);
    }
}

static void no_room_is_no_end(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2 * PAL_TLS_NUM_SHAPES; i++) {
        struct link link;
        struct end *to = &link.ends[1];

        setup_open(&link, i & 1, PAL_TLS_1_3, (enum pal_tls_shape)(i >> 1));
        to->plain.len = 0;
        expect(encrypt(&link, &link.ends[0], text("plaintext")), PAL_OK, "encrypt");
        expect(decrypt(to, to->inbox.len - 1), PAL_NEED_INPUT, "all but a byte");
        expect(decrypt(to, 1), PAL_OK, "one byte of it");
        expect(decrypt(to, 0), PAL_NO_SPACE, "room for nothing");
        expect(decrypt_into(to, 0, 64), PAL_OK, "the rest");
        assert_int_equal(to->plain.len, 9);
        chat(&link);
        link_close(&link);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_renegotiation_is_not_begun_twice_nor_written_into),
        cmocka_unit_test(a_client_that_was_asked_shakes_hands_before_it_writes),
        cmocka_unit_test(what_a_finished_handshake_does_not_take_is_still_the_callers),
        cmocka_unit_test(plaintext_without_room_waits_in_order),
        cmocka_unit_test(decrypt_may_be_asked_without_any_memory),
        cmocka_unit_test(an_identity_is_set_when_it_is_asked_for_and_once),
        cmocka_unit_test(close_notify_instead_of_a_handshake_is_a_failure),
        cmocka_unit_test(a_connection_that_failed_says_so_to_every_call),
        cmocka_unit_test(a_connection_that_said_so_itself_is_over),
        cmocka_unit_test(a_failure_behind_plaintext_is_told_by_the_next_call),
        cmocka_unit_test(no_room_is_no_end),
    };

    return cmocka_run_group_tests(tests, make_identities, drop_identities);
}
