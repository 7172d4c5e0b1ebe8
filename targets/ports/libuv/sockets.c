/* SPDX-License-Identifier: Apache-2.0
 * libuv as it is, over the kernel's own sockets: lists by uv_write, uv_try_write and uv_fs_sendfile, to a reader that
 * is slow, through small buffers; what is read has to be the list's bytes. Then what libuv does otherwise than the
 * contract, as far as it can be seen from outside: said, and not judged. Exit 0 when all bytes were right, 1 otherwise.
 */
#include <uv.h>

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define PIECES_MAX 1100u
#define BYTES_MAX (1u << 20)
#define FILE_LEN 300000u

enum family { UNIX_PAIR, TCP, NUM_FAMILIES };
enum way { WRITE, TRY_WRITE, SENDFILE, NUM_WAYS };
static const char *const family_names[NUM_FAMILIES] = {"unix", "tcp"};
static const char *const way_names[NUM_WAYS] = {"uv_write", "uv_try_write", "uv_fs_sendfile"};

/* A list: so many pieces of so many bytes; every n-th one is empty (0: none). */
static const struct {
    unsigned num;
    unsigned len;
    unsigned empty;
} lists[] = {{1, 0, 0},     {1, 1, 0},      {25, 36, 0},    {1100, 7, 0},
             {40, 1000, 3}, {1100, 257, 5}, {3, 100000, 2}, {2, 300000, 0}};

static uint8_t bytes[BYTES_MAX];

static void need(bool good, const char *what)
{
    if (!good) {
        perror(what);
        exit(3);
    }
}

/* ---- the peer -------------------------------------------------------------------------------------------------------
 */

struct reader {
    int fd;
    useconds_t sleep; /* first */
    size_t len;
    uint8_t got[BYTES_MAX];
};

static void *read_slowly(void *context)
{
    struct reader *reader = context;
    ssize_t num = 1;
    (void)usleep(reader->sleep);
    for (size_t i = 0; num > 0 && reader->len < BYTES_MAX; i++) {
        size_t most = 1 + i * 7919 % 2500;
        most = most < BYTES_MAX - reader->len ? most : BYTES_MAX - reader->len;
        num = read(reader->fd, reader->got + reader->len, most);
        reader->len += num > 0 ? (size_t)num : 0;
        if (i % 64 == 0) {
            (void)usleep(200);
        }
    }
    return NULL;
}

/* ---- sockets with as little room as the kernel gives ----------------------------------------------------------------
 */

static void shrink(int fd)
{
    const int least = 1;
    need(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &least, sizeof(least)) == 0, "SO_SNDBUF");
    need(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &least, sizeof(least)) == 0, "SO_RCVBUF");
}

static void connect_tcp(int out[2])
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(address);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    out[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    need(listener >= 0 && out[0] >= 0, "socket");
    shrink(listener);
    shrink(out[0]);
    need(bind(listener, (struct sockaddr *)&address, sizeof(address)) == 0 && listen(listener, 1) == 0, "listen");
    need(getsockname(listener, (struct sockaddr *)&address, &len) == 0, "getsockname");
    need(connect(out[0], (struct sockaddr *)&address, sizeof(address)) == 0, "connect");
    out[1] = accept(listener, NULL, NULL);
    need(out[1] >= 0, "accept");
    (void)close(listener);
}

static void connect_pair(enum family family, int out[2])
{
    if (family == TCP) {
        connect_tcp(out);
    } else {
        need(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, out) == 0, "socketpair");
        shrink(out[0]);
        shrink(out[1]);
    }
    need(fcntl(out[0], F_SETFL, O_NONBLOCK) == 0, "O_NONBLOCK");
}

/* ---- sending --------------------------------------------------------------------------------------------------------
 */

/* sender: a loop, and a stream over one end of a pair. */
struct sender {
    uv_loop_t loop;
    union {
        uv_stream_t stream;
        uv_pipe_t pipe;
        uv_tcp_t tcp;
    } handle;
    int fd;
    int result;
};

static void open_sender(struct sender *sender, enum family family, int fd)
{
    int result = uv_loop_init(&sender->loop);
    sender->fd = fd;
    sender->result = 0;
    if (result == 0 && family == TCP) {
        result = uv_tcp_init(&sender->loop, &sender->handle.tcp);
        result = result == 0 ? uv_tcp_open(&sender->handle.tcp, fd) : result;
    } else if (result == 0) {
        result = uv_pipe_init(&sender->loop, &sender->handle.pipe, 0);
        result = result == 0 ? uv_pipe_open(&sender->handle.pipe, fd) : result;
    }
    errno = -result;
    need(result == 0, "a libuv stream");
}

static void close_sender(struct sender *sender)
{
    uv_close((uv_handle_t *)&sender->handle, NULL);
    (void)uv_run(&sender->loop, UV_RUN_DEFAULT);
    (void)uv_loop_close(&sender->loop);
}

static void on_written(uv_write_t *request, int result)
{
    *(int *)request->data = result;
}

static void write_list(struct sender *sender, const uv_buf_t *pieces, unsigned num)
{
    uv_write_t request;
    request.data = &sender->result;
    sender->result = uv_write(&request, &sender->handle.stream, pieces, num, on_written);
    (void)uv_run(&sender->loop, UV_RUN_DEFAULT);
}

static void wait_for_room(const struct sender *sender)
{
    struct pollfd room = {sender->fd, POLLOUT, 0};
    (void)poll(&room, 1, -1);
}

static void try_list(struct sender *sender, const uv_buf_t *pieces, unsigned num)
{
    for (unsigned i = 0; i < num; i++) {
        uv_buf_t left = pieces[i];
        while (left.len > 0 && sender->result == 0) {
            int sent = uv_try_write(&sender->handle.stream, &left, 1);
            if (sent == UV_EAGAIN) {
                wait_for_room(sender);
                continue;
            }
            sender->result = sent < 0 ? sent : 0;
            left.base += sent > 0 ? sent : 0;
            left.len -= sent > 0 ? (size_t)sent : 0;
        }
    }
}

/* send_file: returns how many bytes the first call sent. */
static ssize_t send_file(struct sender *sender, int file, size_t len)
{
    ssize_t first = -1;
    size_t at = 0;
    while (at < len && sender->result == 0) {
        uv_fs_t request;
        (void)uv_fs_sendfile(&sender->loop, &request, sender->fd, file, (int64_t)at, len - at, NULL);
        ssize_t sent = request.result;
        uv_fs_req_cleanup(&request);
        first = first < 0 ? sent : first;
        if (sent == UV_EAGAIN) {
            wait_for_room(sender);
            continue;
        }
        sender->result = sent <= 0 ? (int)sent - 1 : 0;
        at += sent > 0 ? (size_t)sent : 0;
    }
    return first;
}

static int make_file(void)
{
    char name[] = "/tmp/libuv_sockets.XXXXXX";
    int file = mkstemp(name);
    need(file >= 0 && unlink(name) == 0 && write(file, bytes, FILE_LEN) == (ssize_t)FILE_LEN, name);
    return file;
}

/* send_one: the list, or the file, by one way; *out_first is what the first call for a file sent. */
static bool send_one(enum family family, enum way way, size_t list, ssize_t *out_first)
{
    static struct reader reader;
    static struct sender sender;
    static uv_buf_t pieces[PIECES_MAX];
    pthread_t thread;
    int ends[2];
    size_t len = 0;
    for (unsigned i = 0; way != SENDFILE && i < lists[list].num; i++) {
        bool empty = lists[list].empty > 0 && i % lists[list].empty == lists[list].empty - 1;
        pieces[i] = uv_buf_init((char *)bytes + len, empty ? 0 : lists[list].len);
        len += pieces[i].len;
    }
    connect_pair(family, ends);
    reader.fd = ends[1];
    reader.len = 0;
    reader.sleep = way == SENDFILE ? 200000 : 0;
    need(pthread_create(&thread, NULL, read_slowly, &reader) == 0, "pthread_create");
    open_sender(&sender, family, ends[0]);
    if (way == WRITE) {
        write_list(&sender, pieces, lists[list].num);
    } else if (way == TRY_WRITE) {
        try_list(&sender, pieces, lists[list].num);
    } else {
        int file = make_file();
        len = FILE_LEN;
        *out_first = send_file(&sender, file, len);
        (void)close(file);
    }
    close_sender(&sender);
    (void)pthread_join(thread, NULL);
    (void)close(ends[1]);
    bool same = sender.result == 0 && reader.len == len && memcmp(reader.got, bytes, len) == 0;
    if (!same) {
        printf("%s %s list %zu: result %d, got %zu bytes, want %zu, %s\n", family_names[family], way_names[way], list,
               sender.result, reader.len, len, reader.len == len ? "other ones" : "not so many");
    }
    return same;
}

/* ---- what is otherwise than in the contract -------------------------------------------------------------------------
 */

/* tell_pipe: whether a write to a peer that is gone raises SIGPIPE. */
static void tell_pipe(void)
{
    int status = 0;
    pid_t pid = fork();
    need(pid >= 0, "fork");
    if (pid == 0) {
        static struct sender sender;
        int ends[2];
        uv_buf_t piece = uv_buf_init((char *)bytes, 1);
        connect_pair(UNIX_PAIR, ends);
        (void)signal(SIGPIPE, SIG_DFL);
        open_sender(&sender, UNIX_PAIR, ends[0]);
        (void)close(ends[1]);
        _exit(uv_try_write(&sender.handle.stream, &piece, 1) == UV_EPIPE ? 0 : 1);
    }
    (void)waitpid(pid, &status, 0);
    printf("a peer that is gone: %s\n", WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "no signal");
}

/* tell_empties: a packet socket keeps the calls apart. */
static void tell_empties(void)
{
    static struct sender sender;
    int ends[2];
    uint8_t got[8];
    unsigned calls = 0;
    uv_buf_t pieces[2] = {uv_buf_init((char *)bytes, 3), {0}};
    need(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0, "socketpair");
    open_sender(&sender, UNIX_PAIR, ends[0]);
    write_list(&sender, pieces, 2);
    while (recv(ends[1], got, sizeof(got), MSG_DONTWAIT) >= 0) {
        calls++;
    }
    printf("3 bytes and an empty buffer after them: %u writes\n", calls);
    close_sender(&sender);
    (void)close(ends[1]);
}

int main(void)
{
    bool good = true;
    unsigned num = 0;
    ssize_t first = 0;
    for (size_t i = 0; i < BYTES_MAX; i++) {
        bytes[i] = (uint8_t)(i * 5 + (i >> 8) * 3 + 1);
    }
    (void)signal(SIGPIPE, SIG_IGN);
    for (int family = 0; family < NUM_FAMILIES; family++) {
        for (int way = 0; way < NUM_WAYS; way++) {
            size_t num_lists = way == SENDFILE ? 1 : sizeof(lists) / sizeof(lists[0]);
            for (size_t list = 0; list < num_lists; list++, num++) {
                good &= send_one((enum family)family, (enum way)way, list, &first);
            }
        }
    }
    printf("libuv %s: %u lists through small sockets, %s\n", uv_version_string(), num,
           good ? "all bytes right" : "FAILED");
    printf("uv_fs_sendfile to a non-blocking socket whose peer sleeps: %zd of %u bytes in its first call\n", first,
           FILE_LEN);
    tell_pipe();
    tell_empties();
    return good ? 0 : 1;
}
