/* SPDX-License-Identifier: Apache-2.0
 * libuv's side of the port: its loop, and what it asks of the kernel and the allocator, which the linker brings here
 * (--wrap in CMakeLists.txt). libuv polls its streams' descriptors, and the contract's sockets need not be the
 * kernel's: a stream has an end of a socket pair in its place, to which nothing is ever written. It breaks when libuv
 * sends by another call.
 */
#include "port.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

ssize_t __real_write(int fd, const void *data, size_t len);
ssize_t __wrap_write(int fd, const void *data, size_t len);
ssize_t __real_writev(int fd, const struct iovec *segments, int num);
ssize_t __wrap_writev(int fd, const struct iovec *segments, int num);
ssize_t __real_sendfile64(int out, int in, off_t *offset, size_t len);
ssize_t __wrap_sendfile64(int out, int in, off_t *offset, size_t len);
ssize_t __real_uv__fs_copy_file_range(int in, off_t *in_at, int out, off_t *out_at, size_t len, unsigned flags);
ssize_t __wrap_uv__fs_copy_file_range(int in, off_t *in_at, int out, off_t *out_at, size_t len, unsigned flags);

/* Debian's libuv_a.a is for programs: in a shared object, what it uses of libc's data has to be in that object. Only
 * environments, UDP and the receiver of descriptors do: nothing here. */
char **environ;
struct _IO_FILE *stderr;
const struct in6_addr in6addr_any = IN6ADDR_ANY_INIT;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static uv_loop_t loop;
static int ends[2] = {-1, -1};
static struct pal_send *first;   /* all unfinished operations, in the order of begin */
static struct pal_send *working; /* whose turn it is to send; the others' sockets take nothing */
static bool lending;             /* libuv copies the pieces of `working` */

/* What a kernel says. libuv's errors are these numbers, below 0. PAL_SYSTEM: any that libuv has no way around. */
static const struct {
    enum pal_status status;
    int error;
} errors[] = {
    {PAL_WOULD_BLOCK, EAGAIN},  {PAL_NO_MEMORY, ENOBUFS}, {PAL_RESET, ECONNRESET},    {PAL_BROKEN_PIPE, EPIPE},
    {PAL_TIMED_OUT, ETIMEDOUT}, {PAL_TOO_LONG, EMSGSIZE}, {PAL_CANCELLED, ECANCELED}, {PAL_SYSTEM, ENETDOWN},
};
#define NUM_ERRORS (sizeof(errors) / sizeof(errors[0]))

enum pal_status libuv_status(int error)
{
    size_t i = 0;
    while (i < NUM_ERRORS - 1 && errors[i].error != -error) {
        i++;
    }
    return errors[i].status;
}

/* fail: as a system call does. */
static ssize_t fail(enum pal_status status)
{
    size_t i = 0;
    while (i < NUM_ERRORS - 1 && errors[i].status != status) {
        i++;
    }
    errno = errors[i].error;
    return -1;
}

/* ---- what libuv asks for --------------------------------------------------------------------------------------------
 */

static struct pal_send *owner_of(int fd)
{
    struct pal_send *send = first;
    while (send != NULL && send->stand_in != fd) {
        send = send->next;
    }
    return send;
}

/* carry: writev(2) by the environment's sendmsg. It may be short, so that a call with too many buffers becomes one with
 * fewer. */
static ssize_t carry(struct pal_send *send, const struct iovec *segments, size_t num)
{
    const struct pal_env *env = send->env;
    size_t offered = 0;
    size_t sent = 0;
    if (send != working) {
        return fail(PAL_WOULD_BLOCK);
    }
    do {
        num = num < send->num_iovecs_max ? num : send->num_iovecs_max;
        send->answer = env->sendmsg(env->context, &sent, send->socket, segments, num, MSG_NOSIGNAL | MSG_DONTWAIT);
        send->num_iovecs_max = send->answer == PAL_TOO_LONG && num > 1 ? num / 2 : send->num_iovecs_max;
    } while (send->answer == PAL_TOO_LONG && num > 1);
    for (size_t i = 0; i < num; i++) {
        offered += segments[i].iov_len;
    }
    if (send->answer == PAL_OK && (sent > offered || (sent == 0 && offered > 0))) {
        send->answer = PAL_SYSTEM;
    }
    return send->answer == PAL_OK ? (ssize_t)sent : fail(send->answer);
}

ssize_t __wrap_write(int fd, const void *data, size_t len)
{
    struct pal_send *send = owner_of(fd);
    const struct iovec segment = {(void *)(uintptr_t)data, len};
    return send != NULL ? carry(send, &segment, 1) : __real_write(fd, data, len);
}

ssize_t __wrap_writev(int fd, const struct iovec *segments, int num)
{
    struct pal_send *send = owner_of(fd);
    return send != NULL ? carry(send, segments, (size_t)num) : __real_writev(fd, segments, num);
}

ssize_t __wrap_sendfile64(int out, int in, off_t *offset, size_t len)
{
    struct pal_send *send = owner_of(out);
    size_t sent = 0;
    if (send == NULL) {
        return __real_sendfile64(out, in, offset, len);
    }
    send->answer = send->env->sendfile(send->env->context, &sent, send->socket, in, (uint64_t)*offset, len);
    if (send->answer == PAL_OK && sent > len) {
        send->answer = PAL_SYSTEM;
    }
    if (send->answer != PAL_OK) {
        return fail(send->answer);
    }
    *offset += (off_t)sent;
    return (ssize_t)sent;
}

/* As a kernel older than 4.5: the environment has no such call. On a newer one libuv 1.44 takes its EINVAL, which
 * every socket gives, for sendfile's and copies the file through a buffer instead, with poll(2) for as long as it takes
 * (src/unix/fs.c, uv__fs_sendfile and uv__fs_sendfile_emul); sockets.c shows that. */
ssize_t __wrap_uv__fs_copy_file_range(int in, off_t *in_at, int out, off_t *out_at, size_t len, unsigned flags)
{
    if (owner_of(out) == NULL) {
        return __real_uv__fs_copy_file_range(in, in_at, out, out_at, len, flags);
    }
    errno = ENOSYS;
    return -1;
}

/* lend: uv_write allocates its copy of a list that has more than four pieces; begin made room for it. What else libuv
 * allocates is the loop's. */
static void *lend(size_t len)
{
    return lending && len <= working->reserve_len ? working->reserve : malloc(len);
}

static void take_back(void *memory)
{
    const struct pal_send *send = first;
    while (send != NULL && send->reserve != memory) {
        send = send->next;
    }
    if (send == NULL) {
        free(memory);
    }
}

/* ---- the loop -------------------------------------------------------------------------------------------------------
 */

static bool started;

static void start_once(void)
{
    started = uv_replace_allocator(lend, realloc, calloc, take_back) == 0 &&
              socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0 && uv_loop_init(&loop) == 0;
}

bool libuv_start(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, start_once);
    return started;
}

void libuv_lock(void)
{
    (void)pthread_mutex_lock(&mutex);
}

void libuv_unlock(void)
{
    (void)pthread_mutex_unlock(&mutex);
}

static void on_closed(uv_handle_t *handle)
{
    ((struct pal_send *)handle->data)->closed = true;
}

bool libuv_open(struct pal_send *send)
{
    struct pal_send **last = &first;
    while (*last != NULL) {
        last = &(*last)->next;
    }
    send->stand_in = fcntl(ends[0], F_DUPFD_CLOEXEC, STDERR_FILENO + 1); /* libuv closes none of the first three */
    if (send->stand_in < 0) {
        return false;
    }
    (void)uv_pipe_init(&loop, &send->stream, 0); /* never fails without ipc */
    send->stream.data = send;
    send->request.data = send;
    *last = send;
    if (uv_pipe_open(&send->stream, send->stand_in) != 0) {
        (void)close(send->stand_in);
        libuv_close(send);
        return false;
    }
    return true;
}

void libuv_close(struct pal_send *send)
{
    struct pal_send **at = &first;
    if (send->stand_in < 0) {
        return;
    }
    uv_close((uv_handle_t *)&send->stream, on_closed);
    while (!send->closed) {
        (void)uv_run(&loop, UV_RUN_NOWAIT);
    }
    while (*at != send) {
        at = &(*at)->next;
    }
    *at = send->next;
    send->stand_in = -1;
}

bool libuv_first(const struct pal_send *send)
{
    const struct pal_send *other = first;
    while (other->env != send->env || other->socket != send->socket) {
        other = other->next;
    }
    return other == send;
}

/* ---- sending --------------------------------------------------------------------------------------------------------
 */

static void on_written(uv_write_t *request, int result)
{
    struct pal_send *send = request->data;
    send->writing = false;
    send->result = result;
}

int libuv_try(struct pal_send *send)
{
    working = send;
    int result = uv_try_write((uv_stream_t *)&send->stream, send->pieces, 1);
    working = NULL;
    return result;
}

ssize_t libuv_file(struct pal_send *send)
{
    uv_fs_t request;
    const struct region *region = send->regions;
    send->answer = PAL_OK;
    (void)uv_fs_sendfile(&loop, &request, send->stand_in, region->file, (int64_t)region->offset, region->len, NULL);
    ssize_t result = request.result;
    uv_fs_req_cleanup(&request);
    return result;
}

int libuv_write(struct pal_send *send, size_t num)
{
    working = send;
    lending = true;
    send->writing = true;
    int result = uv_write(&send->request, (uv_stream_t *)&send->stream, send->pieces, (unsigned)num, on_written);
    lending = false;
    working = NULL;
    return result;
}

void libuv_turn(struct pal_send *send)
{
    working = send;
    (void)uv_run(&loop, UV_RUN_NOWAIT);
    working = NULL;
}
