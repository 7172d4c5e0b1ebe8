/* SPDX-License-Identifier: Apache-2.0
 * peers_test.h: what peers_test.c stands on: the one exchange that is on stage, its files, the program at the other end
 * of it, and the socket between. No TLS here. Only that test includes it.
 * It breaks when s_server stops printing the port that it got ("ACCEPT address:port").
 */
#ifndef PAL_PEERS_TEST_H
#define PAL_PEERS_TEST_H

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
    bool parting; /* nothing is wrong when the peer is gone */
    char name[80];
} stage = {.lines = -1, .listener = -1, .socket = -1};

/* ---- failures and files
 * ------------------------------------------------------------------------------------------------------------- */

static inline struct bytes load(const char *path)
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

static inline void save(const char *path, const void *data, size_t len)
{
    FILE *file = fopen(path, "wbe");

    if (file == NULL || fwrite(data, 1, len, file) != len || fclose(file) != 0) {
        fail_msg("%s/%s cannot be written: %s", directory, path, strerror(errno));
    }
}

/* broken: fails with the case, and with what the program had to say. Not marked as noreturn, because cmocka's is not.
 */
static inline void broken(const char *what, const char *detail)
{
    struct bytes errors = load("errors.txt");

    print_error("%s: %s: %s\n%.*s", stage.name, what, detail, (int)errors.len,
                errors.data == NULL ? "" : (const char *)errors.data);
    bytes_free(&errors);
    fail_msg("%s: %s: %s", stage.name, what, detail);
}

static inline void want_status(enum pal_status got, enum pal_status want, const char *what)
{
    if (got != want) {
        char detail[64];

        (void)snprintf(detail, sizeof(detail), "got %s, want %s", pal_status_name(got), pal_status_name(want));
        broken(what, detail);
    }
}

static inline void want_bytes(const struct bytes *got, const void *want, size_t len, const char *what)
{
    if (got->len != len || memcmp(got->data, want, len) != 0) {
        char detail[80];

        (void)snprintf(detail, sizeof(detail), "got %zu bytes, want %zu, or they differ", got->len, len);
        broken(what, detail);
    }
}

/* save_pem: RFC 7468. */
static inline void save_pem(const char *kind, size_t index, const char *label, struct pal_view der)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char name[32];
    FILE *file;
    bool ok;

    (void)snprintf(name, sizeof(name), "%s%zu.pem", kind, index);
    file = fopen(name, "wbe");
    ok = file != NULL && fprintf(file, "-----BEGIN %s-----", label) > 0;
    for (size_t i = 0; ok && i < der.len; i += 3) {
        size_t len = der.len - i < 3 ? der.len - i : 3;
        uint32_t bits = (uint32_t)der.data[i] << 16;
        char group[5] = "====";

        bits |= len > 1 ? (uint32_t)der.data[i + 1] << 8 : 0;
        bits |= len > 2 ? der.data[i + 2] : 0;
        for (unsigned j = 0; j <= len; j++) {
            group[j] = digits[bits >> (18 - 6 * j) & 63];
        }
        ok = fprintf(file, "%s%s", i % 48 == 0 ? "\n" : "", group) > 0;
    }
    ok = ok && fprintf(file, "\n-----END %s-----\n", label) > 0;
    if (file == NULL || fclose(file) != 0 || !ok) {
        fail_msg("%s/%s cannot be written: %s", directory, name, strerror(errno));
    }
}

/* ---- children
 * ------------------------------------------------------------------------------------------------------------- */

/* child_start: reads question.txt if it `asks`, and writes answer.txt; else reads nothing, and writes to stage.lines.
 */
static inline void child_start(const char *const *argv, bool asks)
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
static inline bool child_byte(char *out)
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
static inline uint16_t child_port(void)
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
static inline void child_end(void)
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

static inline void socket_close(int *descriptor)
{
    if (*descriptor >= 0) {
        (void)close(*descriptor);
    }
    *descriptor = -1;
}

static inline struct sockaddr_in loopback(uint16_t port)
{
    return (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

static inline void socket_bound_in_time(int descriptor)
{
    const struct timeval wait = {.tv_sec = WAIT_MS / 1000};

    assert_int_equal(setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)), 0);
    assert_int_equal(setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait)), 0);
}

/* socket_listen: on a port that the kernel chooses. */
static inline uint16_t socket_listen(void)
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
static inline void socket_accept(void)
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

static inline void socket_connect(uint16_t port)
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
static inline void socket_send(struct pal_token *token)
{
    assert_true(pal_token_valid(token));
    assert_true(token->cap == 0 || token->rental.data != NULL);
    for (size_t at = 0; at < token->len;) {
        ssize_t sent = send(stage.socket, token->payload + at, token->len - at, MSG_NOSIGNAL);

        if (sent < 0 && stage.parting && (errno == EPIPE || errno == ECONNRESET)) {
            break;
        }
        if (sent < 0 && errno != EINTR) {
            broken("send", strerror(errno));
        }
        at += sent > 0 ? (size_t)sent : 0;
    }
    want_status(pal_token_release(end_env(&stage.end), token), PAL_OK, "token release");
}

/* socket_receive: some more into the inbox; false when the peer has closed. One that has all it wants may close before
 * it reads our close_notify, which resets the connection. */
static inline bool socket_receive(void)
{
    uint8_t data[5000]; /* so that records come in pieces, too */
    ssize_t got;

    do {
        got = recv(stage.socket, data, sizeof(data), 0);
    } while (got < 0 && errno == EINTR);
    if (got < 0 && !(stage.parting && errno == ECONNRESET)) {
        broken("receive", strerror(errno));
    }
    bytes_add(&stage.end.inbox, data, got > 0 ? (size_t)got : 0);
    return got > 0;
}

#endif
