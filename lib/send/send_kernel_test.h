/* SPDX-License-Identifier: Apache-2.0
 * send_kernel_test.h: real sockets for the tests of lib/send: a link, a thread that reads it, an environment that
 * counts. A reader only records; whoever joins it compares, because cmocka's assertions belong to the main thread. It
 * breaks where loopback TCP is forbidden.
 */
#ifndef PAL_SEND_KERNEL_TEST_H
#define PAL_SEND_KERNEL_TEST_H

#include "../env/env.h"
#include "send.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

enum link_kind { LINK_UNIX, LINK_TCP, NUM_LINKS };

/* link: ends[0] sends. */
struct link {
    int ends[2];
};

/* Of a listener before it listens, or of an end that sends: later the kernel drops what it has promised to take, and
 * each repetition takes it 200 ms. */
static inline void set_buffer(int socket, int option, int len)
{
    if (len > 0) {
        assert_int_equal(setsockopt(socket, SOL_SOCKET, option, &len, sizeof(len)), 0);
    }
}

static inline void link_tcp(struct link *out, int buffer_len)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(address);
    int listener = socket(AF_INET, SOCK_STREAM, 0);

    assert_true(listener >= 0);
    set_buffer(listener, SO_RCVBUF, buffer_len);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, len), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &len), 0);
    out->ends[0] = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(out->ends[0], (struct sockaddr *)&address, len), 0);
    out->ends[1] = accept(listener, NULL, NULL);
    assert_true(out->ends[1] >= 0);
    close(listener);
}

/* link_open: a connection whose sending end does not block; `buffer_len` 0 leaves the kernel's buffers alone. */
static inline struct link link_open(enum link_kind kind, int buffer_len)
{
    struct link link;

    if (kind == LINK_TCP) {
        link_tcp(&link, buffer_len);
    } else {
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, link.ends), 0);
    }
    set_buffer(link.ends[0], SO_SNDBUF, buffer_len);
    assert_int_equal(fcntl(link.ends[0], F_SETFL, O_NONBLOCK), 0);
    return link;
}

static inline void end_close(struct link *link, int end)
{
    if (link->ends[end] >= 0) {
        close(link->ends[end]);
    }
    link->ends[end] = -1;
}

static inline void link_close(struct link *link)
{
    end_close(link, 0);
    end_close(link, 1);
}

/* reader: reads to the end of the stream, at most `chunk` bytes at a time, into `bytes` as far as they have room. With
 * a `period`, the byte at stream position i is period[i % period_len], which it checks at both ends of each chunk. */
struct reader {
    int socket;
    size_t chunk;
    uint8_t *bytes;
    size_t bytes_cap;
    const uint8_t *period;
    size_t period_len;
    uint64_t total;
    size_t num_wrong;
    pthread_t thread;
};

static inline void reader_check(struct reader *reader, const uint8_t *chunk, size_t len)
{
    enum { EDGE = 64 };
    size_t starts[2] = {0, len > EDGE ? len - EDGE : 0};

    for (size_t i = 0; i < 2; i++) {
        for (size_t j = starts[i]; j < len && j < starts[i] + EDGE; j++) {
            reader->num_wrong += chunk[j] != reader->period[(reader->total + j) % reader->period_len];
        }
    }
}

static inline void *reader_run(void *argument)
{
    struct reader *reader = argument;
    uint8_t *chunk = malloc(reader->chunk);
    ssize_t got;

    while (chunk != NULL && ((got = read(reader->socket, chunk, reader->chunk)) > 0 || (got < 0 && errno == EINTR))) {
        size_t len = got > 0 ? (size_t)got : 0;
        size_t room = reader->total < reader->bytes_cap ? reader->bytes_cap - reader->total : 0;

        if (reader->period != NULL) {
            reader_check(reader, chunk, len);
        }
        if (room > 0) {
            memcpy(reader->bytes + reader->total, chunk, len < room ? len : room);
        }
        reader->total += len;
    }
    free(chunk);
    return NULL;
}

static inline void reader_start(struct reader *reader)
{
    assert_int_equal(pthread_create(&reader->thread, NULL, reader_run, reader), 0);
}

/* reader_join: closes the sending end and waits for the reader. */
static inline void reader_join(struct reader *reader, struct link *link)
{
    end_close(link, 0);
    assert_int_equal(pthread_join(reader->thread, NULL), 0);
}

/* counter: what an environment did. */
struct counter {
    atomic_size_t num_calls, num_waits, num_allocs;
};

static inline void *counted_alloc(void *context, size_t len)
{
    atomic_fetch_add(&((struct counter *)context)->num_allocs, 1);
    return pal_env_real()->alloc(NULL, len);
}

static inline enum pal_status counted_sendmsg(void *context, size_t *out_sent, int socket, const struct iovec *segments,
                                              size_t num_segments, int flags)
{
    atomic_fetch_add(&((struct counter *)context)->num_calls, 1);
    return pal_env_real()->sendmsg(NULL, out_sent, socket, segments, num_segments, flags);
}

static inline enum pal_status counted_sendfile(void *context, size_t *out_sent, int socket, int file, uint64_t offset,
                                               size_t len)
{
    atomic_fetch_add(&((struct counter *)context)->num_calls, 1);
    return pal_env_real()->sendfile(NULL, out_sent, socket, file, offset, len);
}

static inline enum pal_status counted_wait(void *context, int socket, uint64_t deadline_ns)
{
    atomic_fetch_add(&((struct counter *)context)->num_waits, 1);
    return pal_env_real()->wait_writable(NULL, socket, deadline_ns);
}

static inline struct pal_env counting_env(struct counter *counter)
{
    struct pal_env env = *pal_env_real();

    *counter = (struct counter){0};
    env.context = counter;
    env.alloc = counted_alloc;
    env.sendmsg = counted_sendmsg;
    env.sendfile = counted_sendfile;
    env.wait_writable = counted_wait;
    return env;
}

static const char *const way_names[PAL_SEND_NUM_WAYS] = {"sequential", "copied", "gathered", "packets", "auto"};

#define FOR_EACH_WAY(way) for (enum pal_send_way way = PAL_SEND_SEQUENTIAL; way < PAL_SEND_NUM_WAYS; way++)

static inline bool takes_files(enum pal_send_way way)
{
    return way != PAL_SEND_COPIED && way != PAL_SEND_GATHERED;
}

static inline struct pal_segment bytes_of(const void *data, size_t len)
{
    return (struct pal_segment){.bytes = {data, len}, .file = -1};
}

static inline struct pal_segment region_of(int file, uint64_t offset, uint64_t len)
{
    return (struct pal_segment){.file = file, .file_offset = offset, .file_len = len};
}

static inline int file_of(const void *data, size_t len)
{
    char name[] = "/tmp/paldiff-send-test-XXXXXX";
    int file = mkstemp(name);

    assert_true(file >= 0);
    assert_int_equal(unlink(name), 0);
    assert_int_equal(write(file, data, len), (ssize_t)len);
    assert_int_equal(lseek(file, 3, SEEK_SET), 3);
    return file;
}

/* file_unmoved: its position is where file_of left it. */
static inline void file_unmoved(int file)
{
    assert_int_equal(lseek(file, 0, SEEK_CUR), 3);
}

#endif
