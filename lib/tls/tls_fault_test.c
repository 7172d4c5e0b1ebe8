/* SPDX-License-Identifier: Apache-2.0
 * tls_fault_test.c: what goes wrong is told in the right words, with its alert, and leaves nothing behind; bytes do not
 * depend on shape, on the pool, on how they were cut, or on what was played before.
 */
#include "tls_test.h"

static const uint16_t versions[2] = {PAL_TLS_1_2, PAL_TLS_1_3};

/* setup: case i of 32: engines, version, shape on both sides. */
enum { NUM_CASES = 32 };

static void setup(struct link *link, size_t i)
{
    link_init(link, i & 1, i >> 1 & 1);
    link_certify(link, &identities[0], false);
    link_versions(link, versions[i >> 2 & 1]);
    link->ends[0].config.shape = link->ends[1].config.shape = (enum pal_tls_shape)(i >> 3);
}

static uint16_t version_of(size_t i)
{
    return versions[i % NUM_CASES >> 2 & 1];
}

/* ---- failing handshakes
 * ----------------------------------------------------------------------------------------------- */

static void wrong_authority(struct link *link)
{
    link->ends[0].config.trusted = identities[1].ca;
}

static void wrong_name(struct link *link)
{
    link->ends[0].config.server_name = text("other.example");
}

static void expired(struct link *link)
{
    link->ends[0].world.now += 2 * 86400;
}

static void no_common_version(struct link *link)
{
    link->ends[0].config.version_min = link->ends[0].config.version_max = PAL_TLS_1_2;
    link->ends[1].config.version_min = link->ends[1].config.version_max = PAL_TLS_1_3;
}

static void no_client_certificate(struct link *link)
{
    link->ends[1].config.require_peer = true;
}

static void no_common_protocol(struct link *link)
{
    link->ends[0].config.alpn = text("\2h2");
    link->ends[1].config.alpn = text("\3foo");
}

static void failing_handshakes_deliver_their_alert(void **state)
{
    static const struct {
        const char *name;
        void (*spoil)(struct link *link);
        size_t who; /* finds out */
    } cases[] = {{"wrong authority", wrong_authority, 0},
                 {"wrong name", wrong_name, 0},
                 {"expired", expired, 0},
                 {"no common version", no_common_version, 1},
                 {"no client certificate", no_client_certificate, 1},
                 {"no common protocol", no_common_protocol, 1}};

    (void)state;
    for (size_t i = 0; i < NUM_CASES * sizeof(cases) / sizeof(cases[0]); i++) {
        struct link link;
        struct pal_tls_info sent, received;
        struct end *finder, *other;
        enum pal_status heard;

        setup(&link, i % NUM_CASES);
        cases[i / NUM_CASES].spoil(&link);
        finder = &link.ends[cases[i / NUM_CASES].who];
        other = peer_of(&link, finder);
        link_open(&link);
        shake(&link);
        expect(finder->status, PAL_PROTOCOL, cases[i / NUM_CASES].name);
        /* In TLS 1.3 a client may be done before the server finds fault with it. */
        heard = other->status == PAL_OK ? decrypt(other, other->inbox.len) : other->status;
        expect(heard, PAL_PROTOCOL, "the other side");
        expect(finder->tls_ops->info(finder->tls, &sent), PAL_OK, "info");
        expect(other->tls_ops->info(other->tls, &received), PAL_OK, "info");
        assert_true(sent.alert_sent != 255);
        /* OpenSSL's client sends it in the clear (it has no other key installed yet), which BoringSSL does not read. */
        if (version_of(i) != PAL_TLS_1_3 || finder != link.ends || (i & 3) != 2)
            assert_int_equal(sent.alert_sent, received.alert_received);
        expect(encrypt(&link, finder, text("x")), PAL_PROTOCOL, "encrypt after failure");
        link_close(&link);
    }
}

static void alerts_are_sent_on_demand(void **state)
{
    enum { internal_error = 80 };

    (void)state;
    for (size_t i = 0; i < 2 * NUM_CASES; i++) {
        struct link link;
        struct pal_tls_info info;
        bool early = i >= NUM_CASES;

        setup(&link, i % NUM_CASES);
        link_open(&link);
        if (early)
            (void)shake_once(&link, &link.ends[0]);
        else
            shake_well(&link);
        expect(control(&link, &link.ends[0], control_alert, internal_error), PAL_OK, "alert");
        if (early)
            (void)shake_once(&link, &link.ends[1]), (void)shake_once(&link, &link.ends[1]);
        else
            link.ends[1].status = decrypt(&link.ends[1], link.ends[1].inbox.len);
        expect(link.ends[1].status, PAL_PROTOCOL, "peer");
        expect(link.ends[1].tls_ops->info(link.ends[1].tls, &info), PAL_OK, "info");
        /* In the first flight it has the version of a client hello and no keys; servers take it for a broken record. */
        if (!early)
            assert_int_equal(info.alert_received, internal_error);
        expect(encrypt(&link, &link.ends[0], text("x")), PAL_BAD_STATE, "encrypt after alert");
        link_close(&link);
    }
}

/* ---- framing
 * ------------------------------------------------------------------------------------------------------------ */

static void flights_may_be_cut_at_every_byte(void **state)
{
    (void)state;
    for (size_t i = 0; i < NUM_CASES; i++) {
        for (size_t chunk = 1; chunk < 12; chunk += i % 3 + 1) {
            struct link link;

            setup(&link, i);
            link_certify(&link, &identities[0], true);
            link.ends[0].chunk_max = link.ends[1].chunk_max = chunk;
            link_open(&link);
            shake_well(&link);
            chat(&link);
            link_close(&link);
        }
    }
}

static void records_may_be_cut_and_joined_at_every_byte(void **state)
{
    (void)state;
    for (size_t i = 0; i < NUM_CASES; i++) {
        struct link link;
        struct end *from = &link.ends[0], *to = &link.ends[1];
        size_t len;

        setup(&link, i);
        link_open(&link);
        shake_well(&link);
        chat(&link);
        to->plain.len = 0;
        for (size_t cut = 0, num = 1; cut < num; cut++) {
            expect(encrypt(&link, from, text("first record")), PAL_OK, "encrypt");
            len = to->inbox.len;
            expect(encrypt(&link, from, text("second record")), PAL_OK, "encrypt");
            num = to->inbox.len;
            expect(decrypt_into(to, cut, cut + 64), cut < len ? PAL_NEED_INPUT : PAL_OK, "front");
            expect(decrypt_into(to, to->inbox.len, to->inbox.len + 64), PAL_OK, "back");
            while (decrypt_into(to, 0, 64) == PAL_OK) { /* what had no room before */
            }
            assert_int_equal(to->plain.len, 25);
            assert_memory_equal(to->plain.data, "first recordsecond record", 25);
            to->plain.len = 0;
        }
        link_close(&link);
    }
}

static void an_end_in_mid_record_is_waited_for_not_spun_on(void **state)
{
    (void)state;
    for (size_t i = 0; i < NUM_CASES; i++) {
        struct link link;

        setup(&link, i);
        link_open(&link);
        shake_well(&link);
        chat(&link);
        expect(encrypt(&link, &link.ends[0], text("cut off")), PAL_OK, "encrypt");
        for (size_t left = link.ends[1].inbox.len; left > 1; left--)
            expect(decrypt(&link.ends[1], 1), PAL_NEED_INPUT, "a byte");
        for (int j = 0; j < 3; j++)
            expect(decrypt(&link.ends[1], 0), PAL_NEED_INPUT, "nothing");
        link_close(&link);
    }
}

static void corrupted_records_end_it_with_an_alert(void **state)
{
    (void)state;
    for (size_t i = 0; i < NUM_CASES; i++) {
        for (size_t at = 0; at < 40; at += 3) {
            struct link link;
            struct end *to = &link.ends[1];
            struct pal_tls_info info;
            size_t len_before;
            enum pal_status status;

            setup(&link, i);
            link_open(&link);
            shake_well(&link);
            chat(&link);
            expect(encrypt(&link, &link.ends[0], text("good")), PAL_OK, "encrypt");
            len_before = to->inbox.len;
            expect(encrypt(&link, &link.ends[0], text("to be corrupted, to be corrupted")), PAL_OK, "encrypt");
            to->inbox.data[len_before + at] ^= 0x41;
            expect(decrypt(to, to->inbox.len), PAL_OK, "the good one first");
            len_before = to->wire.len;
            status = decrypt(to, 0);
            /* A length that became greater than what came is waited for. */
            expect(status, at == 3 && status == PAL_NEED_INPUT ? PAL_NEED_INPUT : PAL_PROTOCOL, "decrypt");
            if (status == PAL_PROTOCOL) {
                expect(take_pending(&link, to), PAL_OK, "take_pending");
                assert_true(to->wire.len > len_before);
                expect(decrypt(&link.ends[0], link.ends[0].inbox.len), PAL_PROTOCOL, "the alert arrives");
                expect(to->tls_ops->info(to->tls, &info), PAL_OK, "info");
                assert_true(info.alert_sent != 255);
                expect(decrypt(to, 0), PAL_PROTOCOL, "still");
            }
            link_close(&link);
        }
    }
}

/* ---- the same bytes
 * ------------------------------------------------------------------------------------------------------- */

/* play: everything that makes bytes, from empty worlds; what both sent. */
static void play(size_t i, enum pal_tls_shape shape, enum pal_mode mode, struct bytes *out)
{
    static uint8_t plain[40000];
    struct link link;

    setup(&link, i);
    link_certify(&link, &identities[0], i & 1);
    for (size_t j = 0; j < 2; j++) {
        link.ends[j].config.shape = shape;
        link.ends[j].config.mode = mode;
    }
    link_open(&link);
    shake_well(&link);
    chat(&link);
    carry(&link, &link.ends[0], view_of(plain, sizeof(plain)));
    (void)control(&link, &link.ends[1], control_update, 1);
    carry(&link, &link.ends[1], text("to the client"));
    carry(&link, &link.ends[0], text("to the server"));
    expect(control(&link, &link.ends[0], control_shutdown, 0), PAL_OK, "shutdown");
    for (size_t j = 0; j < 2; j++)
        bytes_add(out, link.ends[j].wire.data, link.ends[j].wire.len);
    link_close(&link);
}

static void wire_bytes_depend_on_nothing_but_the_scenario(void **state)
{
    (void)state;
    for (size_t i = 0; i < 8; i++) {
        struct bytes first = {0};

        play(i, PAL_TLS_DRAIN, PAL_FRESH, &first);
        assert_non_null(first.data);
        for (size_t j = 0; j < 3 * PAL_TLS_NUM_SHAPES * PAL_NUM_MODES; j++) {
            struct bytes other = {0};

            play(i, (enum pal_tls_shape)(j / PAL_NUM_MODES % PAL_TLS_NUM_SHAPES), (enum pal_mode)(j % PAL_NUM_MODES),
                 &other);
            if (other.data == NULL || other.len != first.len || memcmp(other.data, first.data, first.len) != 0)
                fail_msg("case %zu, shape %s, mode %zu, round %zu", i,
                         shape_names[j / PAL_NUM_MODES % PAL_TLS_NUM_SHAPES], j % PAL_NUM_MODES,
                         j / PAL_NUM_MODES / PAL_TLS_NUM_SHAPES);
            bytes_free(&other);
        }
        bytes_free(&first);
    }
}

/* ---- refusals
 * ------------------------------------------------------------------------------------------------------------ */

static void a_failing_session_leaves_others_alone(void **state)
{
    (void)state;
    for (size_t i = 0; i < NUM_CASES; i++) {
        struct link good, bad;

        setup(&good, i);
        setup(&bad, i);
        link_open(&good);
        link_open(&bad);
        shake_well(&good);
        shake_well(&bad);
        for (int j = 0; j < 3; j++) {
            bytes_add(&bad.ends[1].inbox, "\x17\x03\x03\0\1x", 6);
            (void)decrypt(&bad.ends[1], bad.ends[1].inbox.len);
            expect(decrypt(&good.ends[0], 0), PAL_NEED_INPUT, "good end after the bad one's error");
            chat(&good);
        }
        link_close(&bad);
        chat(&good);
        link_close(&good);
    }
}

static void calls_out_of_order_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < NUM_CASES; i++) {
        struct link link;
        struct pal_token token = {0};
        struct pal_tls_info info;

        setup(&link, i);
        link_open(&link);
        for (size_t j = 0; j < 2; j++) {
            struct end *end = &link.ends[j];

            expect(encrypt(&link, end, text("x")), PAL_BAD_STATE, "encrypt");
            expect(encrypt(&link, end, text("")), PAL_BAD_STATE, "encrypt nothing");
            expect(encrypt(&link, end, (struct pal_view){NULL, 1}), PAL_BAD_ARGUMENT, "encrypt NULL");
            expect(decrypt(end, 0), PAL_BAD_STATE, "decrypt");
            expect(control(&link, end, control_shutdown, 0), PAL_BAD_STATE, "shutdown");
            expect(control(&link, end, control_update, 0), PAL_BAD_STATE, "update");
            expect(control(&link, end, control_renegotiate, 0), PAL_BAD_STATE, "renegotiate");
            expect(take_pending(&link, end), PAL_OK, "take_pending");
            expect(end->tls_ops->export_ticket(end->tls, &token), PAL_BAD_STATE, "export");
            expect(end->tls_ops->info(end->tls, &info), PAL_OK, "info");
            assert_int_equal(info.version, 0);
            assert_int_equal(end->wire.len, 0);
        }
        link_close(&link);
    }
}

static void unreadable_configurations_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < 8; i++) {
        struct link link;
        struct pal_tls_config spoilt[7];

        setup(&link, i);
        for (size_t j = 0; j < 7; j++)
            spoilt[j] = link.ends[1].config;
        spoilt[0].identity.private_key.len--;
        spoilt[1].identity.chain.len--;
        spoilt[2].identity.private_key = identities[1].private_key;
        spoilt[3].trusted = text("no certificate");
        spoilt[4].alpn = text("\3h2");
        spoilt[5].ticket = text("servers have none");
        spoilt[6].role = PAL_TLS_CLIENT;
        spoilt[6].ticket = text("no session");
        for (size_t j = 0; j < 7; j++)
            expect(link.ends[1].tls_ops->open(end_env(&link.ends[1]), &link.ends[1].tls, &spoilt[j]), PAL_BAD_ARGUMENT,
                   "open");
        assert_null(link.ends[1].tls);
        link_close(&link);
    }
}

/* What was sent before the n-th draw failed is what would have been sent anyhow, and nothing else was. */
static void nothing_made_without_randomness_is_sent(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2 * NUM_CASES; i++) {
        struct bytes good = {0};
        bool failed = true;

        for (size_t n = 0; failed; n++) { /* 0: none fails */
            struct link link;
            struct end *end = &link.ends[i / NUM_CASES];

            setup(&link, i % NUM_CASES);
            end->world.random_fails_at = n;
            end->status = end->tls_ops->open(end_env(end), &end->tls, &end->config);
            if (end->status == PAL_OK) {
                struct end *peer = peer_of(&link, end);

                expect(peer->tls_ops->open(end_env(peer), &peer->tls, &peer->config), PAL_OK, "open peer");
                shake(&link);
            }
            failed = n == 0 || end->world.random_fails_at == 0;
            expect(end->status, n > 0 && failed ? PAL_NO_RANDOM : PAL_OK, "handshake");
            if (end->status == PAL_NO_RANDOM && end->tls != NULL)
                expect(take_pending(&link, end), PAL_NO_RANDOM, "take_pending");
            if (n == 0)
                bytes_add(&good, end->wire.data, end->wire.len);
            assert_true(end->wire.len <= good.len);
            if (end->wire.len > 0)
                assert_memory_equal(end->wire.data, good.data, end->wire.len);
            link_close(&link);
        }
        bytes_free(&good);
    }
}

/* live: a whole connection, given up at the first call that fails on `end`; the other one may see anything but that. */
static void live(struct link *link, struct end *end)
{
    struct pal_token ticket = {0};

    for (size_t i = 0; i < 2; i++) {
        struct end *opened = &link->ends[i];

        opened->status = opened->tls_ops->open(end_env(opened), &opened->tls, &opened->config);
        if (opened->status != PAL_OK)
            return;
    }
    shake(link);
    if (link->ends[0].status != PAL_OK || link->ends[1].status != PAL_OK)
        return;
    for (size_t i = 0; i < 8; i++) {
        struct end *from = &link->ends[i % 2];
        struct end *to = peer_of(link, from);

        if (i == 2)
            (void)control(link, from, control_update, 1);
        from->status = encrypt(link, from, text("some plaintext"));
        if (from->status == PAL_OK)
            to->status = decrypt(to, to->inbox.len);
        if (end->status != PAL_OK)
            return;
    }
    end->status = end->tls_ops->export_ticket(end->tls, &ticket);
    if (end->status == PAL_BAD_STATE)
        end->status = PAL_OK;
    (void)pal_token_release(end_env(end), &ticket);
    if (end->status == PAL_OK)
        end->status = control(link, end, control_shutdown, 0);
}

/* An engine may do without what it was refused; a port may not do anything but say so, and give everything back. */
static void refused_memory_is_told_and_nothing_is_lost(void **state)
{
    (void)state;
    for (size_t i = 0; i < 16; i++) {
        bool refused = true;

        for (size_t n = 1 + i; refused; n += 31) {
            struct link link;
            struct end *end = &link.ends[i >> 3];

            setup(&link, i & 7);
            link_certify(&link, &identities[0], true);
            end->config.shape = (enum pal_tls_shape)(n % PAL_TLS_NUM_SHAPES);
            end->config.mode = (enum pal_mode)(n / PAL_TLS_NUM_SHAPES % PAL_NUM_MODES);
            end->world.fail_at = n;
            live(&link, end);
            refused = end->world.refused;
            if (end->status != PAL_OK && (end->status != PAL_NO_MEMORY || !refused))
                fail_msg("case %zu, request %zu: %s", i, n, pal_status_name(end->status));
            link_close(&link);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(failing_handshakes_deliver_their_alert),
        cmocka_unit_test(alerts_are_sent_on_demand),
        cmocka_unit_test(flights_may_be_cut_at_every_byte),
        cmocka_unit_test(records_may_be_cut_and_joined_at_every_byte),
        cmocka_unit_test(an_end_in_mid_record_is_waited_for_not_spun_on),
        cmocka_unit_test(corrupted_records_end_it_with_an_alert),
        cmocka_unit_test(wire_bytes_depend_on_nothing_but_the_scenario),
        cmocka_unit_test(a_failing_session_leaves_others_alone),
        cmocka_unit_test(calls_out_of_order_are_refused),
        cmocka_unit_test(unreadable_configurations_are_refused),
        cmocka_unit_test(nothing_made_without_randomness_is_sent),
        cmocka_unit_test(refused_memory_is_told_and_nothing_is_lost),
    };

    return cmocka_run_group_tests(tests, make_identities, drop_identities);
}
