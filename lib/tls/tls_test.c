/* SPDX-License-Identifier: Apache-2.0
 * tls_test.c: both engines and all four shapes complete handshakes with each other and carry data, with every feature
 * that they say they have; what they lack they say.
 */
#include "tls_test.h"

static const uint16_t versions[2] = {PAL_TLS_1_2, PAL_TLS_1_3};

/* each_pair: every pair of engines, in both versions, with a certified server. */
typedef void pair_claim(struct link *link, size_t client_engine, size_t server_engine, uint16_t version);

static void each_pair(pair_claim *claim)
{
    for (size_t i = 0; i < 8; i++) {
        struct link link;

        link_init(&link, i & 1, i >> 1 & 1);
        link_certify(&link, &identities[0], false);
        link_versions(&link, versions[i >> 2]);
        claim(&link, i & 1, i >> 1 & 1, versions[i >> 2]);
        link_close(&link);
    }
}

static void every_engine_and_shape_talks_to_every_other(void **state)
{
    (void)state;
    for (size_t i = 0; i < 8 * 8 * 2; i++) {
        struct link link;
        struct pal_tls_info infos[2];

        link_init(&link, i & 1, i >> 1 & 1);
        link_certify(&link, &identities[0], false);
        link_versions(&link, versions[i >> 2 & 1]);
        link.ends[0].config.shape = (enum pal_tls_shape)(i >> 3 & 3);
        link.ends[1].config.shape = (enum pal_tls_shape)(i >> 5 & 3);
        link_open(&link);
        shake_well(&link);
        for (size_t j = 0; j < 2; j++) {
            expect(link.ends[j].tls_ops->info(link.ends[j].tls, &infos[j]), PAL_OK, "info");
        }
        assert_int_equal(infos[0].version, versions[i >> 2 & 1]);
        assert_int_equal(infos[1].version, infos[0].version);
        assert_int_equal(infos[1].cipher_suite, infos[0].cipher_suite);
        assert_int_equal(infos[0].peer_certificate.len, identities[0].chain.len);
        assert_memory_equal(infos[0].peer_certificate.data, identities[0].chain.data, identities[0].chain.len);
        assert_int_equal(infos[1].peer_certificate.len, 0);
        assert_int_equal(infos[0].alert_sent, 255);
        chat(&link);
        link_close(&link);
    }
}

static void claim_lengths(struct link *link, size_t client_engine, size_t server_engine, uint16_t version)
{
    static const size_t lens[] = {0, 1, 15, 16, 255, 4096, 16383, 16384, 16385, 32768, 65536, 100000};
    static uint8_t plain[100000];
    struct pal_tls_info info;

    (void)client_engine, (void)server_engine;
    for (size_t i = 0; i < sizeof(plain); i++) {
        plain[i] = (uint8_t)(i * 7 + (i >> 8) * 3);
    }
    for (int shape = 0; shape < PAL_TLS_NUM_SHAPES; shape++) {
        link->ends[0].config.shape = link->ends[1].config.shape = (enum pal_tls_shape)shape;
        link_open(link);
        shake_well(link);
        chat(link);
        for (size_t i = 0; i < 2 * sizeof(lens) / sizeof(lens[0]); i++) {
            struct end *end = &link->ends[i % 2];
            size_t len = lens[i / 2];
            size_t wire_before = end->wire.len;
            size_t num_records = (len + 16383) / 16384;

            carry(link, end, view_of(plain, len));
            expect(end->tls_ops->info(end->tls, &info), PAL_OK, "info");
            assert_int_equal(info.record_plain_max, 16384);
            assert_int_equal(end->wire.len - wire_before, len + num_records * info.record_overhead);
            for (size_t at = wire_before; num_records > 0; num_records--) {
                assert_int_equal(end->wire.data[at], 23);
                at += 5u + ((size_t)end->wire.data[at + 3] << 8) + end->wire.data[at + 4];
                assert_true(num_records > 1 || at == end->wire.len);
            }
        }
        assert_int_equal(info.record_overhead, version == PAL_TLS_1_3 ? 22 : 29);
        for (size_t i = 0; i < 2; i++) {
            link->ends[i].tls_ops->close(link->ends[i].tls);
            link->ends[i].inbox.len = link->ends[i].plain.len = link->ends[i].wire.len = 0;
            link->ends[i].tls = NULL;
        }
    }
}

static void records_are_as_many_and_as_long_as_stated(void **state)
{
    (void)state;
    each_pair(claim_lengths);
}

static void claim_mutual(struct link *link, size_t client_engine, size_t server_engine, uint16_t version)
{
    struct pal_tls_info info;

    (void)client_engine, (void)server_engine, (void)version;
    link_certify(link, &identities[0], true);
    link_open(link);
    shake_well(link);
    expect(link->ends[1].tls_ops->info(link->ends[1].tls, &info), PAL_OK, "info");
    assert_int_equal(info.peer_certificate.len, identities[0].chain.len);
    chat(link);
}

static void peers_authenticate_each_other(void **state)
{
    (void)state;
    each_pair(claim_mutual);
}

static void claim_rsa(struct link *link, size_t client_engine, size_t server_engine, uint16_t version)
{
    (void)client_engine, (void)server_engine, (void)version;
    link_certify(link, &rsa_identity, true);
    link_open(link);
    shake_well(link);
    chat(link);
}

static void rsa_keys_work(void **state)
{
    (void)state;
    each_pair(claim_rsa);
}

static void claim_alpn(struct link *link, size_t client_engine, size_t server_engine, uint16_t version)
{
    (void)client_engine, (void)server_engine, (void)version;
    link->ends[0].config.alpn = text("\2h2\10http/1.1");
    link->ends[1].config.alpn = text("\10http/1.1\3foo");
    link_open(link);
    shake_well(link);
    for (size_t i = 0; i < 2; i++) {
        struct pal_tls_info info;

        expect(link->ends[i].tls_ops->info(link->ends[i].tls, &info), PAL_OK, "info");
        assert_int_equal(info.alpn.len, 8);
        assert_memory_equal(info.alpn.data, "http/1.1", 8);
    }
}

static void protocols_are_negotiated(void **state)
{
    (void)state;
    each_pair(claim_alpn);
}

/* Offered by the client alone, they are not agreed on, and nothing is wrong. */
static void claim_alpn_of_one(struct link *link, size_t client_engine, size_t server_engine, uint16_t version)
{
    (void)client_engine, (void)server_engine, (void)version;
    link->ends[0].config.alpn = text("\2h2");
    link_open(link);
    shake_well(link);
    for (size_t i = 0; i < 2; i++) {
        struct pal_tls_info info;

        expect(link->ends[i].tls_ops->info(link->ends[i].tls, &info), PAL_OK, "info");
        assert_int_equal(info.alpn.len, 0);
    }
    chat(link);
}

static void protocols_of_one_side_are_not_agreed_on(void **state)
{
    (void)state;
    each_pair(claim_alpn_of_one);
}

/* A name says whom the client means; without an authority it is sent, and nothing is verified. */
static void claim_name_unverified(struct link *link, size_t client_engine, size_t server_engine, uint16_t version)
{
    (void)client_engine, (void)server_engine, (void)version;
    link->ends[0].config.trusted = (struct pal_view){NULL, 0};
    link->ends[0].config.server_name = text("other.example");
    link_open(link);
    shake_well(link);
    chat(link);
}

static void names_are_verified_under_an_authority_only(void **state)
{
    (void)state;
    each_pair(claim_name_unverified);
}

static void claim_psk(struct link *link, size_t client_engine, size_t server_engine, uint16_t version)
{
    for (size_t i = 0; i < 2; i++) {
        struct pal_tls_config *config = &link->ends[i].config;

        config->identity = (struct pal_tls_identity){{NULL, 0}, {NULL, 0}};
        config->trusted = config->server_name = (struct pal_view){NULL, 0};
        config->psk_identity = text("who");
        config->psk_key = text("0123456789abcdef");
    }
    if (version == PAL_TLS_1_3 && (client_engine == 1 || server_engine == 1)) {
        struct end *end = &link->ends[client_engine == 1 ? 0 : 1];

        expect(end->tls_ops->open(end_env(end), &end->tls, &end->config), PAL_UNSUPPORTED, "boringssl, 1.3 psk");
        assert_null(end->tls);
        return;
    }
    link_open(link);
    shake_well(link);
    chat(link);
}

static void preshared_keys_work_where_there_are_any(void **state)
{
    (void)state;
    each_pair(claim_psk);
}

/* A server that has both talks to clients of either kind, and its tickets are those of its identity. */
static void claim_psk_beside_identity(struct link *link, size_t client_engine, size_t server_engine, uint16_t version)
{
    (void)version;
    if (client_engine == 1 || server_engine == 1) {
        link_versions(link, PAL_TLS_1_2);
    }
    link->ends[1].config.psk_identity = text("who");
    link->ends[1].config.psk_key = text("0123456789abcdef");
    link_open(link);
    shake_well(link);
    chat(link);
}

static void a_preshared_key_may_stand_beside_an_identity(void **state)
{
    (void)state;
    each_pair(claim_psk_beside_identity);
}

static void claim_resumption(struct link *link, size_t client_engine, size_t server_engine, uint16_t version)
{
    struct pal_token ticket = {0};
    struct pal_tls_info info;

    (void)client_engine, (void)server_engine, (void)version;
    link_open(link);
    shake_well(link);
    chat(link);
    expect(link->ends[1].tls_ops->export_ticket(link->ends[1].tls, &ticket), PAL_BAD_STATE, "server's export");
    expect(link->ends[0].tls_ops->export_ticket(link->ends[0].tls, &ticket), PAL_OK, "export");
    for (size_t i = 0; i < 2; i++) {
        link->ends[i].tls_ops->close(link->ends[i].tls);
        link->ends[i].tls = NULL;
        link->ends[i].inbox.len = 0;
        link->ends[i].world.now += 100;
    }
    link->ends[0].config.ticket = pal_token_view(&ticket);
    link_open(link);
    expect(pal_token_release(end_env(&link->ends[0]), &ticket), PAL_OK, "release");
    shake_well(link);
    for (size_t i = 0; i < 2; i++) {
        expect(link->ends[i].tls_ops->info(link->ends[i].tls, &info), PAL_OK, "info");
        assert_true(info.resumed);
    }
    chat(link);
}

static void sessions_are_resumed(void **state)
{
    (void)state;
    each_pair(claim_resumption);
}

/* Another identity seals with other keys: the ticket is nothing to it. */
static void claim_foreign_ticket(struct link *link, size_t client_engine, size_t server_engine, uint16_t version)
{
    struct pal_token ticket = {0};
    struct pal_tls_info info;

    (void)client_engine, (void)server_engine, (void)version;
    link_open(link);
    shake_well(link);
    chat(link);
    expect(link->ends[0].tls_ops->export_ticket(link->ends[0].tls, &ticket), PAL_OK, "export");
    for (size_t i = 0; i < 2; i++) {
        link->ends[i].tls_ops->close(link->ends[i].tls);
        link->ends[i].tls = NULL;
        link->ends[i].inbox.len = 0;
    }
    link_certify(link, &identities[1], false);
    link->ends[0].config.ticket = pal_token_view(&ticket);
    link_open(link);
    expect(pal_token_release(end_env(&link->ends[0]), &ticket), PAL_OK, "release");
    shake_well(link);
    expect(link->ends[1].tls_ops->info(link->ends[1].tls, &info), PAL_OK, "info");
    assert_false(info.resumed);
    chat(link);
}

static void a_ticket_of_another_server_is_not_taken(void **state)
{
    (void)state;
    each_pair(claim_foreign_ticket);
}

static void claim_key_update(struct link *link, size_t client_engine, size_t server_engine, uint16_t version)
{
    enum pal_status want = version == PAL_TLS_1_3 ? PAL_OK : PAL_UNSUPPORTED;

    (void)client_engine, (void)server_engine;
    link_open(link);
    shake_well(link);
    chat(link);
    for (size_t i = 0; i < 8; i++) {
        struct end *end = &link->ends[i & 1];
        struct end *peer = peer_of(link, end);
        size_t len_before = end->wire.len;

        expect(control(link, end, control_update, i >> 1 & 1), want, "update_keys");
        assert_int_equal(end->wire.len - len_before, want == PAL_OK ? 27 : 0);
        carry(link, end, text("under new keys"));
        if (want == PAL_OK && (i >> 1 & 1)) { /* the answer, on its own or before the next record */
            len_before = peer->wire.len;
            if (i >> 2) {
                expect(take_pending(link, peer), PAL_OK, "take_pending");
                assert_int_equal(peer->wire.len - len_before, 27);
            }
            carry(link, peer, text("answered"));
            assert_int_equal(peer->wire.len - len_before, 27 + 22 + 8);
        }
        chat(link);
    }
}

static void keys_are_updated_in_mid_traffic(void **state)
{
    (void)state;
    each_pair(claim_key_update);
}

/* Data of the other direction meets the handshake, too. */
static void renegotiated(struct link *link, struct end *asks)
{
    struct end *client = &link->ends[0];
    struct end *server = &link->ends[1];

    expect(control(link, asks, control_renegotiate, 0), PAL_OK, "renegotiate");
    if (asks == server) {
        expect(decrypt(client, client->inbox.len), PAL_RENEGOTIATE, "client hears");
    }
    expect(take_pending(link, client), PAL_OK, "client hello");
    expect(decrypt(server, server->inbox.len), PAL_RENEGOTIATE, "server hears");
    shake_well(link);
    chat(link);
}

static void claim_renegotiation(struct link *link, size_t client_engine, size_t server_engine, uint16_t version)
{
    link_open(link);
    shake_well(link);
    chat(link);
    for (size_t i = 0; i < 2; i++) {
        bool able = version == PAL_TLS_1_2 && (i == 0 ? client_engine : server_engine) == 0;

        if (!able) {
            expect(control(link, &link->ends[i], control_renegotiate, 0), PAL_UNSUPPORTED, "renegotiate");
        } else if (server_engine == 0) {
            renegotiated(link, &link->ends[i]);
        }
        chat(link);
    }
}

static void tls12_is_renegotiated_where_both_can(void **state)
{
    (void)state;
    each_pair(claim_renegotiation);
}

static void claim_late(struct link *link, size_t client_engine, size_t server_engine, uint16_t version)
{
    struct pal_tls_identity identity = {identities[0].chain, identities[0].private_key};

    (void)client_engine, (void)server_engine, (void)version;
    for (int shape = 0; shape < PAL_TLS_NUM_SHAPES; shape++) {
        link_certify(link, &identities[0], true);
        for (size_t i = 0; i < 2; i++) {
            link->ends[i].config.shape = (enum pal_tls_shape)shape;
            link->ends[i].config.identity = (struct pal_tls_identity){{NULL, 0}, {NULL, 0}};
            link->ends[i].config.late_identity = true;
        }
        link_open(link);
        shake(link);
        expect(link->ends[1].status, PAL_NEED_CREDENTIALS, "server");
        expect(link->ends[1].tls_ops->set_identity(link->ends[1].tls, &identity), PAL_OK, "server's identity");
        shake(link);
        expect(link->ends[0].status, PAL_NEED_CREDENTIALS, "client");
        expect(link->ends[0].tls_ops->set_identity(link->ends[0].tls, &identity), PAL_OK, "client's identity");
        shake_well(link);
        chat(link);
        expect(link->ends[0].tls_ops->set_identity(link->ends[0].tls, &identity), PAL_BAD_STATE, "too late");
        for (size_t i = 0; i < 2; i++) {
            link->ends[i].tls_ops->close(link->ends[i].tls);
            link->ends[i].tls = NULL;
            link->ends[i].inbox.len = 0;
        }
    }
}

static void credentials_may_come_late(void **state)
{
    (void)state;
    each_pair(claim_late);
}

static void claim_shutdown(struct link *link, size_t client_engine, size_t server_engine, uint16_t version)
{
    (void)client_engine, (void)server_engine, (void)version;
    link_open(link);
    shake_well(link);
    chat(link);
    for (size_t i = 0; i < 2; i++) {
        struct end *end = &link->ends[i];
        struct end *peer = peer_of(link, end);

        expect(encrypt(link, end, text("last words")), PAL_OK, "encrypt");
        expect(control(link, end, control_shutdown, 0), PAL_OK, "shutdown");
        expect(encrypt(link, end, text("after")), PAL_BAD_STATE, "encrypt after shutdown");
        expect(decrypt(peer, peer->inbox.len), PAL_OK, "data before close_notify");
        expect(decrypt(peer, 0), PAL_CLOSED, "close_notify");
        expect(decrypt(peer, 0), PAL_CLOSED, "close_notify again");
        assert_int_equal(end->wire.len,
                         (expect(control(link, end, control_shutdown, 0), PAL_OK, "again"), end->wire.len));
    }
}

static void both_sides_close_in_order(void **state)
{
    (void)state;
    each_pair(claim_shutdown);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_engine_and_shape_talks_to_every_other),
        cmocka_unit_test(records_are_as_many_and_as_long_as_stated),
        cmocka_unit_test(peers_authenticate_each_other),
        cmocka_unit_test(rsa_keys_work),
        cmocka_unit_test(protocols_are_negotiated),
        cmocka_unit_test(protocols_of_one_side_are_not_agreed_on),
        cmocka_unit_test(names_are_verified_under_an_authority_only),
        cmocka_unit_test(preshared_keys_work_where_there_are_any),
        cmocka_unit_test(a_preshared_key_may_stand_beside_an_identity),
        cmocka_unit_test(sessions_are_resumed),
        cmocka_unit_test(a_ticket_of_another_server_is_not_taken),
        cmocka_unit_test(keys_are_updated_in_mid_traffic),
        cmocka_unit_test(tls12_is_renegotiated_where_both_can),
        cmocka_unit_test(credentials_may_come_late),
        cmocka_unit_test(both_sides_close_in_order),
    };

    return cmocka_run_group_tests(tests, make_identities, drop_identities);
}
