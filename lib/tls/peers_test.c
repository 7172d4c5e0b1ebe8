/* SPDX-License-Identifier: Apache-2.0
 * peers_test.c: both engines, in all four shapes, with pooled tokens, talk TLS 1.2 and 1.3 over loopback TCP to
 * programs that are not ours: openssl s_client, openssl s_server, curl. It tests no fault, and reads the real clock, as
 * they do. It breaks when s_server stops printing the port that it got ("ACCEPT address:port").
 */
#include "tls_test.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WAIT_MS = 20000, LINE_LEN = 100, NUM_LINES = 401, TEXT_LEN = LINE_LEN * NUM_LINES, LIFELINE = 3 };

static const uint16_t versions[2] = {PAL_TLS_1_2, PAL_TLS_1_3};
static const char *const version_flags[2] = {"-tls1_2", "-tls1_3"};

/* Everything that the children read and write, all in one directory that is the current one. */
static const char *const file_names[] = {"ca0.pem",  "leaf0.pem",    "key0.pem",   "ca1.pem",   "leaf1.pem",
                                         "key1.pem", "question.txt", "answer.txt", "errors.txt"};
static char directory[256];
static int start_directory = -1;

/* question: lines of digits, more than two records of them. reversed: what s_server -rev makes of it. */
static uint8_t question[TEXT_LEN];
static uint8_t reversed[TEXT_LEN];
static struct pal_tls_credentials made[NUM_ENGINES];

/* stage: what lives during one exchange; put away by the teardown when a claim fails. */
static struct {
    struct end end;
    pid_t child; /* 0 for none */
    int lines;   /* the child holds the other end as long as it lives */
    int listener;
    int socket;
    char name[80];
} stage = {.lines = -1, .listener = -1, .socket = -1};

/* ---- failures and files
 * ------------------------------------------------------------------------------------------------------------- */

static struct bytes load(const char *path)
{
    struct bytes out = {0};
    FILE *file = fopen(path, "rbe");
    char part[4096];
    size_t len;

    while (file != NULL && (len = fread(part, 1, sizeof(part), file)) > 0) {
        bytes_add(&out, part, len);
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return out;
}

static void save(const char *path, const void *data, size_t len)
{
    FILE *file = fopen(path, "wbe");

    if (file == NULL || fwrite(data, 1, len, file) != len || fclose(file) != 0) {
        fail_msg("%s/%s cannot be written: %s", directory, path, strerror(errno));
    }
}

/* broken: fails with the case, and with what the program had to say. Not marked as noreturn, because cmocka's is not.
 */
static void broken(const char *what, const char *detail)
{
    struct bytes errors = load("errors.txt");

    print_error("%s: %s: %s\n%.*s", stage.name, what, detail, (int)errors.len,
                errors.data == NULL ? "" : (const char *)errors.data);
    bytes_free(&errors);
    fail_msg("%s: %s: %s", stage.name, what, detail);
}

static void want_status(enum pal_status got, enum pal_status want, const char *what)
{
    if (got != want) {
        char detail[64];

        (void)snprintf(detail, sizeof(detail), "got %s, want %s", pal_status_name(got), pal_status_name(want));
        broken(what, detail);
    }
}

static void want_bytes(const struct bytes *got, const void *want, size_t len, const char *what)
{
    if (got->len != len || memcmp(got->data, want, len) != 0) {
        char detail[80];

        (void)snprintf(detail, sizeof(detail), "got %zu bytes, want %zu, or they differ", got->len, len);
        broken(what, detail);
    }
}

/* save_pem: RFC 7468. */
static void save_pem(const char *kind, size_t index, const char *label, struct pal_view der)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    struct bytes pem = {0};
    char line[80];

    bytes_add(&pem, line, (size_t)snprintf(line, sizeof(line), "-----BEGIN %s-----\n", label));
    for (size_t i = 0; i < der.len; i += 3) {
        size_t len = der.len - i < 3 ? der.len - i : 3;
        uint32_t bits = (uint32_t)der.data[i] << 16;

        bits |= len > 1 ? (uint32_t)der.data[i + 1] << 8 : 0;
        bits |= len > 2 ? der.data[i + 2] : 0;
        for (unsigned j = 0; j < 4; j++) {
            line[j] = j <= len ? digits[bits >> (18 - 6 * j) & 63] : '=';
        }
        line[4] = '\n';
        bytes_add(&pem, line, i % 48 == 45 || i + 3 >= der.len ? 5 : 4);
    }
    bytes_add(&pem, line, (size_t)snprintf(line, sizeof(line), "-----END %s-----\n", label));
    (void)snprintf(line, sizeof(line), "%s%zu.pem", kind, index);
    save(line, pem.data, pem.len);
    bytes_free(&pem);
}

/* ---- children
 * ------------------------------------------------------------------------------------------------------------- */

/* child_start: reads question.txt if it `asks`, and writes answer.txt; else reads nothing, and writes to stage.lines.
 */
static void child_start(const char *const *argv, bool asks)
{
    posix_spawn_file_actions_t actions;
    int ends[2];
    int failed;

    assert_int_equal(stage.child, 0);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    stage.lines = ends[0];
    assert_int_equal(posix_spawn_file_actions_init(&actions), 0);
    failed = posix_spawn_file_actions_addopen(&actions, 0, asks ? "question.txt" : "/dev/null", O_RDONLY, 0);
    if (asks) {
        failed |= posix_spawn_file_actions_addopen(&actions, 1, "answer.txt", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    }
    failed |= posix_spawn_file_actions_addopen(&actions, 2, "errors.txt", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    failed |= posix_spawn_file_actions_adddup2(&actions, ends[1], asks ? LIFELINE : 1);
    assert_int_equal(failed, 0);
    failed = posix_spawnp(&stage.child, argv[0], &actions, NULL, (char *const *)argv, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)close(ends[1]);
    if (failed != 0) {
        stage.child = 0;
        fail_msg("the program %s cannot be run (%s): install the Debian package %s", argv[0], strerror(failed),
                 argv[0]);
    }
}

/* child_byte: the next one that it writes to stage.lines; false when it has ended. */
static bool child_byte(char *out)
{
    struct pollfd wait = {.fd = stage.lines, .events = POLLIN};
    ssize_t got = -1;

    if (poll(&wait, 1, WAIT_MS) == 1) {
        got = read(stage.lines, out, 1);
    }
    if (got < 0) {
        broken("the program", "neither speaks nor ends");
    }
    return got == 1;
}

/* child_port: the one that s_server says it listens on. */
static uint16_t child_port(void)
{
    char line[128] = "";
    size_t len = 0;

    while (child_byte(&line[len])) {
        if (line[len] == '\n' && strncmp(line, "ACCEPT ", 7) == 0) {
            line[len] = 0;
            return (uint16_t)strtoul(strrchr(line, ':') == NULL ? "0" : strrchr(line, ':') + 1, NULL, 10);
        }
        len = line[len] == '\n' || len + 2 == sizeof(line) ? 0 : len + 1;
    }
    broken("openssl s_server", "ended before it listened");
    return 0;
}

/* child_end: it ends by itself, and was content. */
static void child_end(void)
{
    char byte;
    int status = -1;

    while (child_byte(&byte)) {
    }
    (void)close(stage.lines);
    stage.lines = -1;
    while (waitpid(stage.child, &status, 0) < 0 && errno == EINTR) {
    }
    stage.child = 0;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        broken("the program", "ended with a failure");
    }
}

/* ---- sockets
 * ------------------------------------------------------------------------------------------------------------- */

static void socket_close(int *descriptor)
{
    if (*descriptor >= 0) {
        (void)close(*descriptor);
    }
    *descriptor = -1;
}

static struct sockaddr_in loopback(uint16_t port)
{
    return (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

static void socket_bound_in_time(int descriptor)
{
    const struct timeval wait = {.tv_sec = WAIT_MS / 1000};

    assert_int_equal(setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)), 0);
    assert_int_equal(setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait)), 0);
}

/* socket_listen: on a port that the kernel chooses. */
static uint16_t socket_listen(void)
{
    struct sockaddr_in address = loopback(0);
    socklen_t len = sizeof(address);

    stage.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(stage.listener >= 0);
    assert_int_equal(bind(stage.listener, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(stage.listener, 1), 0);
    assert_int_equal(getsockname(stage.listener, (struct sockaddr *)&address, &len), 0);
    return ntohs(address.sin_port);
}

/* socket_accept: the child's connection. */
static void socket_accept(void)
{
    struct pollfd waits[2] = {{.fd = stage.listener, .events = POLLIN}, {.fd = stage.lines, .events = POLLIN}};

    if (poll(waits, 2, WAIT_MS) < 1 || waits[0].revents == 0) {
        broken("the program", "does not connect");
    }
    stage.socket = accept4(stage.listener, NULL, NULL, SOCK_CLOEXEC);
    assert_true(stage.socket >= 0);
    socket_bound_in_time(stage.socket);
    socket_close(&stage.listener);
}

static void socket_connect(uint16_t port)
{
    const struct sockaddr_in address = loopback(port);

    stage.socket = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(stage.socket >= 0);
    socket_bound_in_time(stage.socket);
    if (connect(stage.socket, (const struct sockaddr *)&address, sizeof(address)) != 0) {
        broken("connect", strerror(errno));
    }
}

/* socket_send: a token's bytes, and gives it back. */
static void socket_send(struct pal_token *token)
{
    assert_true(pal_token_valid(token));
    assert_true(token->cap == 0 || token->rental.data != NULL);
    for (size_t at = 0; at < token->len;) {
        ssize_t sent = send(stage.socket, token->payload + at, token->len - at, MSG_NOSIGNAL);

        if (sent < 0 && errno != EINTR) {
            broken("send", strerror(errno));
            return;
        }
        at += sent > 0 ? (size_t)sent : 0;
    }
    want_status(pal_token_release(end_env(&stage.end), token), PAL_OK, "token release");
}

/* socket_receive: some more into the inbox; false when the peer has closed. */
static bool socket_receive(void)
{
    uint8_t data[5000]; /* so that records come in pieces, too */
    ssize_t got;

    do {
        got = recv(stage.socket, data, sizeof(data), 0);
    } while (got < 0 && errno == EINTR);
    if (got < 0) {
        broken("receive", strerror(errno));
    }
    bytes_add(&stage.end.inbox, data, got > 0 ? (size_t)got : 0);
    return got > 0;
}

/* ---- our end
 * ------------------------------------------------------------------------------------------------------------- */

static void shake_hands(void)
{
    struct end *end = &stage.end;
    size_t consumed = 0;

    for (;;) {
        struct pal_token token = {0};

        end->status = end->tls_ops->handshake(end->tls, &token, &consumed, view_of(end->inbox.data, end->inbox.len));
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

/* meet: our end for one exchange. i: engine, shape, version, one digit each. */
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

/* part: close_notify both ways, or the connection's end; then all is home. */
static void part(void)
{
    struct end *end = &stage.end;
    struct pal_token token = {0};
    struct pal_pool_stats stats;

    want_status(end->tls_ops->shutdown(end->tls, &token), PAL_OK, "shutdown");
    socket_send(&token);
    while (hear()) {
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
    part();
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
    part();
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
        part();
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
