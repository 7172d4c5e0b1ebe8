/* SPDX-License-Identifier: Apache-2.0
 * send_wrap_test.c: one claim, end to end: under EINTR, EAGAIN, ENOBUFS and calls cut short below the C library's door,
 * what lib/send and the real environment bring through a real socket is the list, in no more calls than that takes.
 * Linked with --wrap for sendmsg, sendfile, sendfile64, so the kernel is called for real, with less.
 * It breaks without those flags: the first test then sees no call at all.
 */
#include "send_kernel_test.h"

#include <sys/sendfile.h>

enum { LIST_MAX = 1300, SOURCE_LEN = 1 << 16 };

/* What the next call meets; CUT calls the kernel with at most `cut_len` bytes. */
enum fault { NONE, INTERRUPTED, NOT_READY, FULL, CUT, NUM_FAULTS };

static struct {
    bool on;
    uint32_t seed;
    uint64_t list_left; /* bytes of the list not taken: tells whether MSG_MORE is due */
    size_t num_calls, num_faults[NUM_FAULTS];
    bool must_wait; /* EAGAIN was said, and nobody waited since */
} wrapped;

ssize_t __real_sendmsg(int socket, const struct msghdr *message, int flags);
ssize_t __wrap_sendmsg(int socket, const struct msghdr *message, int flags);
ssize_t __real_sendfile(int socket, int file, off_t *offset, size_t len);
ssize_t __wrap_sendfile(int socket, int file, off_t *offset, size_t len);
ssize_t __real_sendfile64(int socket, int file, off64_t *offset, size_t len);
ssize_t __wrap_sendfile64(int socket, int file, off64_t *offset, size_t len);

static uint32_t draw(uint32_t below)
{
    wrapped.seed = wrapped.seed * 1664525u + 1013904223u;
    return (wrapped.seed >> 8) % below;
}

/* Draws a fault for a call; sets errno where the call is not to be made. */
static enum fault meet_fault(size_t *out_cut_len)
{
    static const int errors[NUM_FAULTS] = {[INTERRUPTED] = EINTR, [NOT_READY] = EAGAIN, [FULL] = ENOBUFS};
    enum fault fault = wrapped.on ? (enum fault)draw(NUM_FAULTS) : NONE;

    assert_false(wrapped.must_wait);
    wrapped.num_calls++;
    wrapped.num_faults[fault]++;
    wrapped.must_wait = fault == NOT_READY;
    *out_cut_len = fault == CUT ? 1 + draw(draw(2) == 0 ? 40 : 4000) : SIZE_MAX;
    errno = errors[fault];
    return fault;
}

ssize_t __wrap_sendmsg(int socket, const struct msghdr *message, int flags)
{
    struct iovec iovecs[1024];
    struct msghdr less = {.msg_iov = iovecs};
    size_t cut_len, offered = 0;
    enum fault fault = meet_fault(&cut_len);
    ssize_t sent;

    assert_true((flags & MSG_NOSIGNAL) != 0);
    for (size_t i = 0; i < message->msg_iovlen; i++) {
        offered += message->msg_iov[i].iov_len;
    }
    assert_true(offered > 0 && offered <= wrapped.list_left);
    assert_int_equal((flags & MSG_MORE) != 0, offered < wrapped.list_left);
    if (fault != NONE && fault != CUT) {
        return -1;
    }
    while (less.msg_iovlen < message->msg_iovlen && cut_len > 0) {
        struct iovec piece = message->msg_iov[less.msg_iovlen];

        piece.iov_len = piece.iov_len < cut_len ? piece.iov_len : cut_len;
        cut_len -= piece.iov_len;
        iovecs[less.msg_iovlen++] = piece;
    }
    sent = __real_sendmsg(socket, &less, flags);
    wrapped.list_left -= sent > 0 ? (size_t)sent : 0;
    return sent;
}

ssize_t __wrap_sendfile64(int socket, int file, off64_t *offset, size_t len)
{
    size_t cut_len;
    enum fault fault = meet_fault(&cut_len);
    ssize_t sent;

    assert_non_null(offset);
    assert_true(len > 0 && len <= wrapped.list_left);
    if (fault != NONE && fault != CUT) {
        return -1;
    }
    sent = __real_sendfile64(socket, file, offset, len < cut_len ? len : cut_len);
    wrapped.list_left -= sent > 0 ? (size_t)sent : 0;
    return sent;
}

ssize_t __wrap_sendfile(int socket, int file, off_t *offset, size_t len)
{
    return __wrap_sendfile64(socket, file, offset, len);
}

/* The environment's wait, which here also tells the wrapped calls. */
static enum pal_status wait_and_tell(void *context, int socket, uint64_t deadline_ns)
{
    wrapped.must_wait = false;
    return pal_env_real()->wait_writable(context, socket, deadline_ns);
}

static uint8_t source[SOURCE_LEN];
static struct pal_segment list[LIST_MAX];

/* Up to `num` segments over consecutive bytes of the source, every fourth empty; with `file`, some of them its. */
static size_t make_list(size_t num, int file, bool with_files)
{
    size_t total = 0;

    for (size_t i = 0; i < num; i++) {
        size_t len = draw(4) == 0 ? 0 : draw(50) + 1;

        list[i] = with_files && len > 0 && draw(5) == 0 ? region_of(file, total, len) : bytes_of(source + total, len);
        total += len;
    }
    return total;
}

static void play(enum pal_send_way way, enum link_kind kind, size_t num, bool blocking)
{
    struct pal_env env = *pal_env_real();
    struct link link = link_open(kind, 0);
    struct reader reader = {.socket = link.ends[1], .chunk = 4096, .bytes_cap = SOURCE_LEN};
    int file = file_of(source, SOURCE_LEN);
    uint64_t total = make_list(num, file, takes_files(way)), all = 0;
    struct pal_send *send = NULL;
    enum pal_status status;
    size_t bad, num_resumes = 0;

    env.wait_writable = wait_and_tell;
    reader.bytes = calloc(1, SOURCE_LEN);
    assert_non_null(reader.bytes);
    assert_int_equal(pal_send_reference.begin(&env, &send, &bad, way, link.ends[0], list, num, UINT64_MAX), PAL_OK);
    memset(list, 0xa5, sizeof(list));
    wrapped.list_left = total;
    reader_start(&reader);
    do {
        uint64_t progress = UINT64_MAX;

        wrapped.must_wait = false;
        status = pal_send_reference.resume(send, &progress, blocking);
        all += progress;
        assert_true(num_resumes++ < 100000);
    } while (status == PAL_NO_MEMORY || (status == PAL_WOULD_BLOCK && !blocking));
    assert_int_equal(status, PAL_OK);
    assert_int_equal(all, total);
    assert_int_equal(wrapped.list_left, 0);
    pal_send_reference.end(send);
    reader_join(&reader, &link);
    assert_int_equal(reader.total, total);
    assert_memory_equal(reader.bytes, source, total);
    file_unmoved(file);
    free(reader.bytes);
    close(file);
    link_close(&link);
}

static int setup(void **state)
{
    (void)state;
    memset(&wrapped, 0, sizeof(wrapped));
    for (size_t i = 0; i < SOURCE_LEN; i++) {
        source[i] = (uint8_t)(i * 7 + i / 251);
    }
    return 0;
}

static void every_call_to_the_kernel_is_seen(void **state)
{
    (void)state;
    FOR_EACH_WAY(way)
    {
        struct link link = link_open(LINK_UNIX, 0);
        int file = file_of(source, 10);
        struct pal_segment segments[] = {bytes_of(source, 1), bytes_of(source, 2),
                                         takes_files(way) ? region_of(file, 0, 3) : bytes_of(source, 3),
                                         bytes_of(source, 4)};
        static const size_t num_calls[PAL_SEND_NUM_WAYS] = {4, 1, 1, 3, 3};
        uint64_t total;

        wrapped.num_calls = 0;
        wrapped.list_left = 10;
        assert_int_equal(pal_send_all(pal_env_real(), &total, NULL, way, link.ends[0], segments, 4, UINT64_MAX),
                         PAL_OK);
        assert_int_equal(total, 10);
        assert_int_equal(wrapped.num_calls, num_calls[way]);
        close(file);
        link_close(&link);
    }
}

static void faults_below_change_no_byte(void **state)
{
    static const size_t counts[] = {1, 2, 8, 9, 60, 1025, LIST_MAX};

    (void)state;
    wrapped.on = true;
    for (uint32_t round = 0; round < 4; round++) {
        FOR_EACH_WAY(way)
        {
            for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
                for (int kind = 0; kind < NUM_LINKS; kind++) {
                    wrapped.seed = round * 1000 + (uint32_t)(i * 10) + (uint32_t)kind;
                    play(way, (enum link_kind)kind, counts[i], (round + i) % 2 == 0);
                }
            }
        }
    }
    for (int i = 0; i < NUM_FAULTS; i++) {
        assert_true(wrapped.num_faults[i] > 100);
    }
}

int main(void)
{
    const struct CMUnitTest claims[] = {
        cmocka_unit_test_setup(every_call_to_the_kernel_is_seen, setup),
        cmocka_unit_test_setup(faults_below_change_no_byte, setup),
    };

    return cmocka_run_group_tests_name("send_wrap", claims, NULL, NULL);
}
