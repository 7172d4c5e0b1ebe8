/* SPDX-License-Identifier: Apache-2.0
 * peers_test.c: both engines, in all four shapes, with pooled tokens, talk TLS 1.2 and 1.3 over loopback TCP to
 * programs that are not ours: openssl s_client, openssl s_server, curl. It tests no fault, and reads the real clock, as
 * they do. It breaks when a peer's policy refuses P-256, or a leaf without an extended key usage.
 */
#include "peers_test.h"

/* ---- our end
 * ------------------------------------------------------------------------------------------------------------- */

static void shake_hands(void)
{
    struct end *end = &stage.end;
    size_t consumed = 0;

    for (;;) {
        struct pal_token token = {0};

        end->status = end->tls_ops->handshake(end->tls, &token, &consumed, view_of(end->inbox.data, end->inbox.len));
        if (consumed > end->inbox.len) {
            broken("handshake", "it took more bytes than it was given");
            return;
        }
        bytes_drop(&end->inbox, consumed);
        socket_send(&token);
        if (end->status == PAL_OK) {
            return;
        }
        want_status(end->status, PAL_NEED_INPUT, "handshake");
        if ((consumed == 0 || end->inbox.len == 0) && !socket_receive()) {
            broken("handshake", "the peer closes the connection");
        }
    }
}

static void say(const void *data, size_t len)
{
    struct pal_token token = {0};

    want_status(stage.end.tls_ops->encrypt(stage.end.tls, &token, view_of(data, len)), PAL_OK, "encrypt");
    socket_send(&token);
}

/* hear: one step towards more plaintext; false after close_notify or the end of the connection. */
static bool hear(void)
{
    struct end *end = &stage.end;
    struct pal_token token = {0};
    enum pal_status status = decrypt_into(end, end->inbox.len, end->inbox.len + 20000);

    end->status = status;
    if (status == PAL_OK || status == PAL_CLOSED) {
        return status == PAL_OK;
    }
    want_status(status, PAL_NEED_INPUT, "decrypt");
    want_status(end->tls_ops->take_pending(end->tls, &token), PAL_OK, "take_pending");
    socket_send(&token);
    return socket_receive();
}

static void hear_bytes(size_t len)
{
    while (stage.end.plain.len < len) {
        if (!hear()) {
            broken("decrypt", "the peer closes the connection too early");
        }
    }
}

/* meet_init: our end for one exchange, which trusts the authority that its own identity is of. */
static void meet_init(const char *peer, enum pal_tls_role role, size_t engine, size_t shape, size_t version)
{
    struct end *end = &stage.end;

    (void)snprintf(stage.name, sizeof(stage.name), "%s, %s, %s, %s", peer, engine_port(engine)->name,
                   shape_names[shape], version_flags[version] + 1);
    *end = (struct end){.port = engine_port(engine), .tls_ops = engine_port(engine)->tls};
    world_init(&end->world, 100 + engine * 10 + shape);
    end->world.now = (int64_t)time(NULL);
    end->config = (struct pal_tls_config){.role = role,
                                          .shape = (enum pal_tls_shape)shape,
                                          .mode = PAL_REUSED,
                                          .version_min = versions[version],
                                          .version_max = versions[version],
                                          .identity = {made[engine].chain, made[engine].private_key},
                                          .trusted = made[engine].ca};
}

/* meet: as far as the handshake and what it agreed on. */
static void meet(void)
{
    struct end *end = &stage.end;
    struct pal_tls_info info;

    want_status(end->tls_ops->open(end_env(end), &end->tls, &end->config), PAL_OK, "open");
    shake_hands();
    want_status(end->tls_ops->info(end->tls, &info), PAL_OK, "info");
    assert_int_equal(info.version, end->config.version_min);
    assert_int_equal(info.alpn.len, end->config.alpn.len > 0 ? end->config.alpn.len - 1 : 0);
    if (end->config.role == PAL_TLS_CLIENT || end->config.require_peer) { /* who has the same identity */
        assert_int_equal(info.peer_certificate.len, end->config.identity.chain.len);
        assert_memory_equal(info.peer_certificate.data, end->config.identity.chain.data, info.peer_certificate.len);
    }
}

/* part: close_notify both ways, or, of a peer that may leave without, the connection's end; then all is home. */
static void part(bool in_order)
{
    struct end *end = &stage.end;
    struct pal_token token = {0};
    struct pal_pool_stats stats;

    want_status(end->tls_ops->shutdown(end->tls, &token), PAL_OK, "shutdown");
    stage.parting = true;
    socket_send(&token);
    while (hear()) {
    }
    stage.parting = false;
    if (in_order) {
        want_status(end->status, PAL_CLOSED, "the peer's close_notify");
    }
    socket_close(&stage.socket);
    end->tls_ops->close(end->tls);
    end->tls = NULL;
    pal_pool_reference.stats(end->world.pool, &stats);
    assert_true(stats.rents > 0);
    assert_int_equal(stats.rents, stats.releases);
    world_settled(&end->world);
    bytes_free(&end->inbox);
    bytes_free(&end->plain);
}

/* ---- claims
 * ------------------------------------------------------------------------------------------------------------- */

typedef void case_claim(size_t engine, size_t shape, size_t version);

static void each_case(case_claim *claim)
{
    for (size_t i = 0; i < 2 * NUM_ENGINES * PAL_TLS_NUM_SHAPES; i++) {
        claim(i & 1, i >> 2, i >> 1 & 1);
    }
}

static void claim_s_client(size_t engine, size_t shape, size_t version)
{
    char address[32], ca[16], leaf[16], key[16];
    struct bytes answer;

    (void)snprintf(address, sizeof(address), "127.0.0.1:%u", socket_listen());
    (void)snprintf(ca, sizeof(ca), "ca%zu.pem", engine);
    (void)snprintf(leaf, sizeof(leaf), "leaf%zu.pem", engine);
    (void)snprintf(key, sizeof(key), "key%zu.pem", engine);
    meet_init("openssl s_client", PAL_TLS_SERVER, engine, shape, version);
    stage.end.config.require_peer = true;
    const char *const argv[] = {"openssl",
                                "s_client",
                                "-connect",
                                address,
                                "-quiet",
                                "-servername",
                                "localhost",
                                "-verify_hostname",
                                "localhost",
                                "-verify_return_error",
                                "-CAfile",
                                ca,
                                "-cert",
                                leaf,
                                "-key",
                                key,
                                version_flags[version],
                                NULL};
    child_start(argv, true);
    socket_accept();
    meet();
    hear_bytes(TEXT_LEN);
    want_bytes(&stage.end.plain, question, TEXT_LEN, "the question");
    say(reversed, TEXT_LEN);
    part(true);
    child_end();
    answer = load("answer.txt");
    want_bytes(&answer, reversed, TEXT_LEN, "the answer");
    bytes_free(&answer);
}

static void serves_s_client(void **state)
{
    (void)state;
    each_case(claim_s_client);
}

static void claim_curl(size_t engine, size_t shape, size_t version)
{
    static const char *const versions_of_curl[2] = {"1.2", "1.3"};
    char url[48], resolve[48], ca[16], head[96];
    struct bytes answer = {0};
    unsigned port = socket_listen();

    (void)snprintf(url, sizeof(url), "https://localhost:%u/", port);
    (void)snprintf(resolve, sizeof(resolve), "localhost:%u:127.0.0.1", port);
    (void)snprintf(ca, sizeof(ca), "ca%zu.pem", engine);
    meet_init("curl", PAL_TLS_SERVER, engine, shape, version);
    stage.end.config.alpn = text("\10http/1.1");
    const char *const argv[] = {"curl",
                                "--disable",
                                "--silent",
                                "--show-error",
                                "--http1.1",
                                "--noproxy",
                                "*",
                                "--max-time",
                                "20",
                                "--cacert",
                                ca,
                                "--resolve",
                                resolve,
                                "--tls-max",
                                versions_of_curl[version],
                                url,
                                version == 0 ? "--tlsv1.2" : "--tlsv1.3",
                                NULL};
    child_start(argv, true);
    socket_accept();
    meet();
    do {
        hear_bytes(stage.end.plain.len + 1);
    } while (memmem(stage.end.plain.data, stage.end.plain.len, "\r\n\r\n", 4) == NULL);
    assert_memory_equal(stage.end.plain.data, "GET / HTTP/1.1\r\n", 16);
    bytes_add(&answer, head,
              (size_t)snprintf(head, sizeof(head), "HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n",
                               TEXT_LEN));
    bytes_add(&answer, reversed, TEXT_LEN);
    say(answer.data, answer.len);
    bytes_free(&answer);
    part(false); /* it has the whole body, and need not wait for ours */
    child_end();
    answer = load("answer.txt");
    want_bytes(&answer, reversed, TEXT_LEN, "the body");
    bytes_free(&answer);
}

static void serves_curl(void **state)
{
    (void)state;
    each_case(claim_curl);
}

/* One s_server for all shapes of an engine: it serves one connection after the other. */
static void s_server_meets(size_t engine, size_t version)
{
    char ca[16], leaf[16], key[16];
    uint16_t port;

    (void)snprintf(stage.name, sizeof(stage.name), "openssl s_server, %s", version_flags[version] + 1);
    (void)snprintf(ca, sizeof(ca), "ca%zu.pem", engine);
    (void)snprintf(leaf, sizeof(leaf), "leaf%zu.pem", engine);
    (void)snprintf(key, sizeof(key), "key%zu.pem", engine);
    const char *const argv[] = {"openssl",
                                "s_server",
                                "-accept",
                                "127.0.0.1:0",
                                "-naccept",
                                "4",
                                "-rev",
                                "-Verify",
                                "1",
                                "-verify_return_error",
                                "-CAfile",
                                ca,
                                "-cert",
                                leaf,
                                "-key",
                                key,
                                version_flags[version],
                                NULL};
    child_start(argv, false);
    port = child_port();
    for (size_t shape = 0; shape < PAL_TLS_NUM_SHAPES; shape++) {
        meet_init("openssl s_server", PAL_TLS_CLIENT, engine, shape, version);
        stage.end.config.server_name = text("localhost");
        socket_connect(port);
        meet();
        say(question, TEXT_LEN);
        hear_bytes(TEXT_LEN);
        want_bytes(&stage.end.plain, reversed, TEXT_LEN, "the answer");
        part(true);
    }
    child_end();
}

static void asks_s_server(void **state)
{
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        s_server_meets(i & 1, i >> 1);
    }
}

/* ---- group
 * ------------------------------------------------------------------------------------------------------------- */

static void make_text(void)
{
    for (size_t i = 0; i < NUM_LINES; i++) {
        uint8_t *line = question + i * LINE_LEN;
        uint8_t *back = reversed + i * LINE_LEN;

        for (size_t j = 0; j + 1 < LINE_LEN; j++) {
            line[j] = back[LINE_LEN - 2 - j] = (uint8_t)('0' + (i + 7 * j + j * j / 5) % 10);
        }
        line[LINE_LEN - 1] = back[LINE_LEN - 1] = '\n';
    }
    save("question.txt", question, TEXT_LEN);
}

static int set_up(void **state)
{
    static pal_tls_make_identity_fn *const makers[NUM_ENGINES] = {pal_tls_make_identity_openssl,
                                                                  pal_tls_make_identity_boringssl};
    const char *parent = getenv("TMPDIR");
    int64_t now = (int64_t)time(NULL);
    struct pal_tls_identity_spec spec = {PAL_TLS_KEY_P256, text("localhost"), now - 86400, now + 86400};

    (void)state;
    (void)snprintf(directory, sizeof(directory), "%s/paldiff-peers-XXXXXX", parent == NULL ? "/tmp" : parent);
    start_directory = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(start_directory >= 0);
    assert_non_null(mkdtemp(directory));
    assert_int_equal(chdir(directory), 0);
    world_init(&identity_world, 1);
    for (size_t i = 0; i < NUM_ENGINES; i++) {
        assert_int_equal(makers[i](&identity_world.env, &made[i], &spec), PAL_OK);
        save_pem("ca", i, "CERTIFICATE", made[i].ca);
        save_pem("leaf", i, "CERTIFICATE", made[i].chain);
        save_pem("key", i, "PRIVATE KEY", made[i].private_key);
    }
    make_text();
    return 0;
}

/* put_away: what a failed claim left. */
static int put_away(void **state)
{
    (void)state;
    if (stage.child > 0) {
        (void)kill(stage.child, SIGKILL);
        (void)waitpid(stage.child, NULL, 0);
        stage.child = 0;
    }
    socket_close(&stage.lines);
    socket_close(&stage.listener);
    socket_close(&stage.socket);
    if (stage.end.tls != NULL) {
        stage.end.tls_ops->close(stage.end.tls);
    }
    if (stage.end.world.pool != NULL) {
        pal_pool_reference.close(stage.end.world.pool);
    }
    bytes_free(&stage.end.inbox);
    bytes_free(&stage.end.plain);
    stage.end = (struct end){0};
    stage.parting = false;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    for (size_t i = 0; i < NUM_ENGINES; i++) {
        pal_tls_credentials_release(&identity_world.env, &made[i]);
    }
    world_settled(&identity_world);
    for (size_t i = 0; i < sizeof(file_names) / sizeof(file_names[0]); i++) {
        (void)unlink(file_names[i]);
    }
    assert_int_equal(fchdir(start_directory), 0);
    socket_close(&start_directory);
    assert_int_equal(rmdir(directory), 0);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(serves_s_client, put_away),
        cmocka_unit_test_teardown(asks_s_server, put_away),
        cmocka_unit_test_teardown(serves_curl, put_away),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
