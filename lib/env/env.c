/* SPDX-License-Identifier: Apache-2.0
 * env.c: each function of pal_env as one system call, with errno translated.
 * It keeps no state, and repeats a call for nothing but EINTR: short counts go up as they are.
 * It breaks when a call here can raise SIGPIPE: callers are libraries and must not end the process.
 */
#include "env.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>

enum { NS_PER_S = 1000000000 };

/* The kernel's MAX_RW_COUNT for 4 KiB pages: more than this is never taken by one call. */
static const size_t sendfile_len_max = 0x7ffff000u;

static void *real_alloc(void *context, size_t len)
{
    (void)context;
    return malloc(len);
}

static void real_free(void *context, void *memory)
{
    (void)context;
    free(memory);
}

/* A request of up to 256 bytes is answered whole or not at all (getrandom(2)), so only the first one can fail. */
static enum pal_status real_random(void *context, uint8_t *out, size_t len)
{
    (void)context;
    while (len > 0) {
        ssize_t got = getrandom(out, len < 256 ? len : 256, 0);

        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return PAL_NO_RANDOM;
        }
        out += got;
        len -= (size_t)got;
    }
    return PAL_OK;
}

static uint64_t real_now_ns(void *context)
{
    struct timespec now = {0};

    (void)context;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static int64_t real_unix_time(void *context)
{
    (void)context;
    return (int64_t)time(NULL);
}

static enum pal_status status_of_errno(int error)
{
    switch (error) {
    case EAGAIN:
#if EWOULDBLOCK != EAGAIN
    case EWOULDBLOCK:
#endif
        return PAL_WOULD_BLOCK;
    case ECONNRESET:
        return PAL_RESET;
    case EPIPE:
        return PAL_BROKEN_PIPE;
    case ENOBUFS:
    case ENOMEM:
        return PAL_NO_MEMORY;
    case EMSGSIZE:
        return PAL_TOO_LONG;
    default:
        return PAL_SYSTEM;
    }
}

static enum pal_status real_sendmsg(void *context, size_t *out_sent, int socket, const struct iovec *segments,
                                    size_t num_segments, int flags)
{
    /* msg_iov is not const, but sendmsg only reads through it. */
    struct msghdr message = {.msg_iov = (struct iovec *)segments, .msg_iovlen = num_segments};
    ssize_t sent;

    (void)context;
    do {
        sent = sendmsg(socket, &message, flags | MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    if (sent < 0) {
        return status_of_errno(errno);
    }
    *out_sent = (size_t)sent;
    return PAL_OK;
}

/* One sendfile(2), 0 or errno. The kernel refuses a region that ends past INT64_MAX, even where the file ends long
 * before; EOVERFLOW is an offset where no file has bytes. */
static int sendfile_once(size_t *out_sent, int socket, int file, uint64_t offset, size_t len)
{
    off_t position = (off_t)offset;
    uint64_t room = (uint64_t)INT64_MAX - offset;
    ssize_t sent;

    if (len > sendfile_len_max) {
        len = sendfile_len_max;
    }
    if (len > room) {
        len = (size_t)room;
    }
    do {
        sent = sendfile(socket, file, &position, len);
    } while (sent < 0 && errno == EINTR);
    if (sent < 0 && errno != EOVERFLOW) {
        return errno;
    }
    *out_sent = sent < 0 ? 0 : (size_t)sent;
    return 0;
}

/* sendfile(2) has no MSG_NOSIGNAL. A SIGPIPE of its own goes to the calling thread, so it is held back there, and taken
 * off unless one was pending before. */
static enum pal_status real_sendfile(void *context, size_t *out_sent, int socket, int file, uint64_t offset, size_t len)
{
    const struct timespec no_wait = {0};
    sigset_t pipe_only, before, pending;
    int error;

    (void)context;
    if (offset > INT64_MAX) {
        *out_sent = 0;
        return PAL_OK;
    }
    sigemptyset(&pipe_only);
    sigaddset(&pipe_only, SIGPIPE);
    sigpending(&pending);
    if (pthread_sigmask(SIG_BLOCK, &pipe_only, &before) != 0) {
        return PAL_SYSTEM;
    }
    error = sendfile_once(out_sent, socket, file, offset, len);
    if (error == EPIPE && sigismember(&pending, SIGPIPE) == 0) {
        while (sigtimedwait(&pipe_only, NULL, &no_wait) < 0 && errno == EINTR)
            ;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error == 0 ? PAL_OK : status_of_errno(error);
}

/* A file that cannot be read has no size either: sendfile(2) would say so only after the bytes before it were sent. */
static enum pal_status real_file_size(void *context, uint64_t *out_size, int file)
{
    struct stat about;
    int mode = fcntl(file, F_GETFL);

    (void)context;
    if (mode < 0 || (mode & O_PATH) != 0 || (mode & O_ACCMODE) == O_WRONLY) {
        return PAL_BAD_ARGUMENT;
    }
    if (fstat(file, &about) != 0 || !S_ISREG(about.st_mode)) {
        return PAL_BAD_ARGUMENT;
    }
    *out_size = (uint64_t)about.st_size;
    return PAL_OK;
}

static enum pal_status real_wait_writable(void *context, int socket, uint64_t deadline_ns)
{
    struct pollfd poll_one = {.fd = socket, .events = POLLOUT};

    for (;;) {
        uint64_t now = real_now_ns(context);
        uint64_t left = deadline_ns > now ? deadline_ns - now : 0;
        struct timespec wait = {.tv_sec = (time_t)(left / NS_PER_S), .tv_nsec = (long)(left % NS_PER_S)};
        int ready = ppoll(&poll_one, 1, deadline_ns == UINT64_MAX ? NULL : &wait, NULL);

        if (ready > 0) {
            return (poll_one.revents & POLLNVAL) != 0 ? PAL_SYSTEM : PAL_OK;
        }
        if (ready < 0 && errno != EINTR) {
            return status_of_errno(errno);
        }
        if (ready == 0 && left == 0) {
            return PAL_TIMED_OUT;
        }
    }
}

static const struct pal_env real_env = {
    .alloc = real_alloc,
    .free = real_free,
    .random = real_random,
    .now_ns = real_now_ns,
    .unix_time = real_unix_time,
    .sendmsg = real_sendmsg,
    .sendfile = real_sendfile,
    .file_size = real_file_size,
    .wait_writable = real_wait_writable,
};

const struct pal_env *pal_env_real(void)
{
    return &real_env;
}
