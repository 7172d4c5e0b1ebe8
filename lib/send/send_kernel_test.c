/* SPDX-License-Identifier: Apache-2.0
 * send_kernel_test.c: claims about lib/send on the kernel's sockets and files: numbers of segments, small buffers,
 * signals, peers that go away, deadlines, threads, more than 2 GiB. send_file_test.c has what only files can do. It
 * breaks when a claim needs the kernel to be fast: every wait here is for an event.
 */
#include "send_kernel_test.h"

#include <sched.h>

enum { LIST_MAX = 2 * 2049 + 1, SOURCE_LEN = 1 << 19, SMALL = 4096 };

static uint8_t source[SOURCE_LEN];
static uint8_t arrived[SOURCE_LEN];
static struct pal_segment list[LIST_MAX];

static atomic_int num_signals;

static void count_signal(int number)
{
    (void)number;
    atomic_fetch_add(&num_signals, 1);
}

static int setup(void **state)
{
    struct sigaction action = {.sa_handler = count_signal}; /* no SA_RESTART */

    (void)state;
    num_signals = 0;
    for (size_t i = 0; i < SOURCE_LEN; i++) {
        source[i] = (uint8_t)(i * 7 + i / 251);
    }
    return sigaction(SIGUSR1, &action, NULL) == 0 && sigaction(SIGPIPE, &action, NULL) == 0 ? 0 : -1;
}

/* `num` segments of `len` bytes each with an empty one before, between and after. */
static size_t make_list(size_t num, size_t len)
{
    assert_true(2 * num + 1 <= LIST_MAX && num * len <= SOURCE_LEN);
    for (size_t i = 0; i < num; i++) {
        list[2 * i] = bytes_of(i % 2 == 0 ? NULL : source, 0);
        list[2 * i + 1] = bytes_of(source + i * len, len);
    }
    list[2 * num] = bytes_of(NULL, 0);
    return 2 * num + 1;
}

static struct pal_send *begin_ok(const struct pal_env *env, enum pal_send_way way, int socket, size_t num_segments,
                                 uint64_t deadline_ns)
{
    struct pal_send *send = NULL;
    size_t bad;

    assert_int_equal(pal_send_reference.begin(env, &send, &bad, way, socket, list, num_segments, deadline_ns), PAL_OK);
    return send;
}

/* Resumes until something other than "would block"; all progress in *out_total. */
static enum pal_status drive(struct pal_send *send, uint64_t *out_total, int socket, bool blocking)
{
    struct pollfd ready = {.fd = socket, .events = POLLOUT};
    enum pal_status status;

    *out_total = 0;
    for (;;) {
        uint64_t progress = UINT64_MAX;

        status = pal_send_reference.resume(send, &progress, blocking);
        *out_total += progress;
        if (status != PAL_WOULD_BLOCK) {
            return status;
        }
        assert_false(blocking);
        assert_true(poll(&ready, 1, -1) >= 0 || errno == EINTR);
    }
}

static struct reader reader_into_arrived(const struct link *link, size_t chunk)
{
    memset(arrived, 0, sizeof(arrived));
    return (struct reader){.socket = link->ends[1], .chunk = chunk, .bytes = arrived, .bytes_cap = sizeof(arrived)};
}

static const size_t counts[] = {0, 1, 2, 7, 8, 9, 63, 64, 65, 1023, 1024, 1025, 2048, 2049};

/* DESIGN's figures: sequential one per segment, copied one, gathered and packets ceil(N / IOV_MAX). */
static size_t calls_of(enum pal_send_way way, size_t num)
{
    bool copies = way == PAL_SEND_COPIED || (way == PAL_SEND_AUTO && num > 8);

    return way == PAL_SEND_SEQUENTIAL ? num : copies ? num > 0 : (num + 1023) / 1024;
}

static void any_number_of_segments_in_the_fewest_calls(void **state)
{
    (void)state;
    FOR_EACH_WAY(way)
    {
        for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
            struct counter counter;
            struct pal_env env = counting_env(&counter);
            struct link link = link_open(LINK_TCP, 1 << 20);
            struct reader reader = reader_into_arrived(&link, 65536);
            struct pal_send *send = begin_ok(&env, way, link.ends[0], make_list(counts[i], 25), UINT64_MAX);
            uint64_t total;

            memset(list, 0xa5, sizeof(list));
            reader_start(&reader);
            assert_int_equal(drive(send, &total, link.ends[0], true), PAL_OK);
            pal_send_reference.end(send);
            reader_join(&reader, &link);
            assert_int_equal(total, counts[i] * 25);
            assert_int_equal(reader.total, total);
            assert_memory_equal(arrived, source, total);
            if (counter.num_calls != calls_of(way, counts[i])) {
                fail_msg("%s, %zu segments: %zu calls", way_names[way], counts[i], (size_t)counter.num_calls);
            }
            assert_int_equal(counter.num_waits, 0);
            assert_true(counter.num_allocs <= 2);
            link_close(&link);
        }
    }
}

/* Through buffers that hold a few segments; every third segment is of a file where the way takes files. */
static void trickle(enum pal_send_way way, enum link_kind kind, size_t num, bool blocking)
{
    struct link link = link_open(kind, SMALL);
    struct reader reader = reader_into_arrived(&link, 1000);
    size_t num_segments = make_list(num, 101);
    int file = file_of(source, SOURCE_LEN);
    struct pal_send *send;
    uint64_t total;

    for (size_t i = 0; takes_files(way) && i < num; i += 3) {
        list[2 * i + 1] = region_of(file, i * 101, 101);
    }
    send = begin_ok(pal_env_real(), way, link.ends[0], num_segments, UINT64_MAX);
    memset(list, 0xa5, sizeof(list));
    reader_start(&reader);
    assert_int_equal(drive(send, &total, link.ends[0], blocking), PAL_OK);
    pal_send_reference.end(send);
    reader_join(&reader, &link);
    assert_int_equal(total, num * 101);
    assert_int_equal(reader.total, total);
    assert_memory_equal(arrived, source, total);
    file_unmoved(file);
    close(file);
    link_close(&link);
}

static void nothing_is_lost_through_small_buffers(void **state)
{
    (void)state;
    FOR_EACH_WAY(way)
    {
        for (int kind = 0; kind < NUM_LINKS; kind++) {
            for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
                trickle(way, (enum link_kind)kind, counts[i], i % 2 == 0);
            }
        }
    }
}

/* ---- peers that go away -------------------------------------------------------------------------------------------
 */

/* Sends more than the buffers hold, without waiting for a reader, and answers with the first final status. */
static enum pal_status send_much(enum pal_send_way way, struct link *link, uint64_t *out_total)
{
    size_t num_segments = make_list(500, 1000);
    struct pal_send *send = begin_ok(pal_env_real(), way, link->ends[0], num_segments, UINT64_MAX);
    enum pal_status status = drive(send, out_total, link->ends[0], true);

    pal_send_reference.end(send);
    return status;
}

static void is_gone(enum pal_status status)
{
    if (status != PAL_RESET && status != PAL_BROKEN_PIPE) {
        fail_msg("got %s, want reset or broken-pipe", pal_status_name(status));
    }
    assert_int_equal(num_signals, 0);
}

static void a_peer_that_is_gone_is_an_error_without_a_signal(void **state)
{
    (void)state;
    FOR_EACH_WAY(way)
    {
        for (int kind = 0; kind < NUM_LINKS; kind++) {
            struct link link = link_open((enum link_kind)kind, SMALL);
            uint64_t total;

            end_close(&link, 1);
            is_gone(send_much(way, &link, &total));
            assert_true(total < 500000 && (kind == LINK_TCP || total == 0));
            is_gone(send_much(way, &link, &total));
            assert_int_equal(total, 0);
            link_close(&link);
        }
    }
}

struct leaver {
    int socket;
    size_t len;
};

/* Reads `len` bytes, and leaves the rest unread. */
static void *leave(void *argument)
{
    struct leaver *leaver = argument;
    uint8_t byte;

    for (size_t i = 0; i < leaver->len && read(leaver->socket, &byte, 1) == 1; i++)
        ;
    close(leaver->socket);
    return NULL;
}

static void a_peer_that_leaves_midway_is_an_error_with_progress(void **state)
{
    (void)state;
    FOR_EACH_WAY(way)
    {
        for (int kind = 0; kind < NUM_LINKS; kind++) {
            struct link link = link_open((enum link_kind)kind, SMALL);
            struct leaver leaver = {.socket = link.ends[1], .len = 1500};
            pthread_t thread;
            uint64_t total;

            assert_int_equal(pthread_create(&thread, NULL, leave, &leaver), 0);
            link.ends[1] = -1;
            is_gone(send_much(way, &link, &total));
            assert_int_equal(pthread_join(thread, NULL), 0);
            assert_true(total >= 1500 && total < 500000);
            link_close(&link);
        }
    }
}

static void a_peer_that_leaves_afterwards_changes_nothing(void **state)
{
    (void)state;
    FOR_EACH_WAY(way)
    {
        for (int kind = 0; kind < NUM_LINKS; kind++) {
            struct link link = link_open((enum link_kind)kind, SMALL);
            struct pal_send *send = begin_ok(pal_env_real(), way, link.ends[0], make_list(3, 5), UINT64_MAX);
            uint64_t total, again = 1;

            assert_int_equal(drive(send, &total, link.ends[0], true), PAL_OK);
            assert_int_equal(total, 15);
            assert_int_equal(recv(link.ends[1], arrived, 15, MSG_WAITALL), 15);
            end_close(&link, 1);
            assert_int_equal(pal_send_reference.resume(send, &again, true), PAL_OK);
            assert_int_equal(again, 0);
            pal_send_reference.end(send);
            is_gone(send_much(way, &link, &total));
            link_close(&link);
        }
    }
}

/* ---- signals, deadlines, threads ----------------------------------------------------------------------------------
 */

struct pest {
    struct counter *counter;
    pthread_t victim;
    struct reader *reader;
};

/* The victim cannot end before there is a reader: first the signals, then that. */
static void *pester(void *argument)
{
    struct pest *pest = argument;

    while (pest->counter->num_waits == 0 && pest->counter->num_calls == 0) {
        sched_yield();
    }
    for (int i = 0; i < 10; i++) {
        pthread_kill(pest->victim, SIGUSR1);
        usleep(1000);
    }
    return reader_run(pest->reader);
}

static void a_signal_amid_a_blocking_send_loses_nothing(void **state)
{
    (void)state;
    FOR_EACH_WAY(way)
    {
        for (int blocking_socket = 0; blocking_socket < 2; blocking_socket++) {
            struct counter counter;
            struct pal_env env = counting_env(&counter);
            struct link link = link_open(LINK_UNIX, SMALL);
            struct reader reader = reader_into_arrived(&link, 1000);
            struct pest pest = {&counter, pthread_self(), &reader};
            size_t num_segments = make_list(500, 1000);
            int file = file_of(source, SOURCE_LEN);
            uint64_t total;

            /* The file is first, so that a socket that blocks does so in sendfile. */
            if (takes_files(way)) {
                list[1] = region_of(file, 0, 1000 * 250);
            }
            for (size_t i = 1; takes_files(way) && i < 250; i++) {
                list[2 * i + 1] = bytes_of(NULL, 0);
            }
            if (blocking_socket) {
                assert_int_equal(fcntl(link.ends[0], F_SETFL, 0), 0);
            }
            num_signals = 0;
            struct pal_send *send = begin_ok(&env, way, link.ends[0], num_segments, UINT64_MAX);
            assert_int_equal(pthread_create(&reader.thread, NULL, pester, &pest), 0);
            assert_int_equal(drive(send, &total, link.ends[0], true), PAL_OK);
            pal_send_reference.end(send);
            reader_join(&reader, &link);
            assert_true(num_signals > 0);
            assert_int_equal(reader.total, 500000);
            assert_memory_equal(arrived, source, 500000);
            close(file);
            link_close(&link);
        }
    }
}

/* Also on a socket that blocks: then it is not the kernel that waits. */
static void the_deadline_ends_a_blocking_send(void **state)
{
    static const uint64_t wait_ns = 20000000;

    (void)state;
    FOR_EACH_WAY(way)
    {
        for (int blocking_socket = 0; blocking_socket < 2; blocking_socket++) {
            const struct pal_env *env = pal_env_real();
            struct link link = link_open(LINK_TCP, SMALL);
            struct reader reader = reader_into_arrived(&link, 1000);
            uint64_t deadline_ns = env->now_ns(NULL) + wait_ns, total;
            struct pal_send *send;

            if (blocking_socket) {
                assert_int_equal(fcntl(link.ends[0], F_SETFL, 0), 0);
            }
            send = begin_ok(env, way, link.ends[0], make_list(500, 1000), deadline_ns);
            assert_int_equal(drive(send, &total, link.ends[0], true), PAL_TIMED_OUT);
            assert_true(env->now_ns(NULL) >= deadline_ns);
            pal_send_reference.end(send);
            assert_true(total > 0 && total < 500000);
            reader_start(&reader);
            reader_join(&reader, &link);
            assert_int_equal(reader.total, total);
            assert_memory_equal(arrived, source, total);
            link_close(&link);
        }
    }
}

struct driver {
    struct pal_send *send;
    enum pal_status status;
    uint64_t total;
    pthread_t thread;
};

static void *drive_in_line(void *argument)
{
    struct driver *driver = argument;

    do {
        uint64_t progress = 0;

        driver->status = pal_send_reference.resume(driver->send, &progress, true);
        driver->total += progress;
        sched_yield();
    } while (driver->status == PAL_WOULD_BLOCK);
    pal_send_reference.end(driver->send);
    return NULL;
}

static void threads_on_one_socket_keep_the_order_of_begin(void **state)
{
    enum { NUM_THREADS = 8, LEN = 20000 };

    (void)state;
    for (int round = 0; round < 20; round++) {
        struct link link = link_open(round % 2 == 0 ? LINK_UNIX : LINK_TCP, SMALL);
        struct reader reader = reader_into_arrived(&link, 4000);
        struct driver drivers[NUM_THREADS] = {0};

        for (size_t i = 0; i < NUM_THREADS; i++) {
            for (size_t j = 0; j < 20; j++) {
                list[j] = bytes_of(source + i * LEN + j * (LEN / 20), LEN / 20);
            }
            drivers[i].send =
                begin_ok(pal_env_real(), (enum pal_send_way)(i % PAL_SEND_NUM_WAYS), link.ends[0], 20, UINT64_MAX);
        }
        reader_start(&reader);
        for (size_t i = NUM_THREADS; i-- > 0;) {
            assert_int_equal(pthread_create(&drivers[i].thread, NULL, drive_in_line, &drivers[i]), 0);
        }
        for (size_t i = 0; i < NUM_THREADS; i++) {
            assert_int_equal(pthread_join(drivers[i].thread, NULL), 0);
            assert_int_equal(drivers[i].status, PAL_OK);
            assert_int_equal(drivers[i].total, LEN);
        }
        reader_join(&reader, &link);
        assert_int_equal(reader.total, NUM_THREADS * LEN);
        assert_memory_equal(arrived, source, NUM_THREADS * LEN);
        link_close(&link);
    }
}

/* ---- more than 2 GiB ----------------------------------------------------------------------------------------------
 */

enum { PAGE_LEN = 1 << 20, NUM_PAGES = 2100 };

/* One mebibyte, seen NUM_PAGES times in a row: a segment longer than any call takes, in little memory. */
static uint8_t *repeated_memory(void)
{
    size_t len = (size_t)PAGE_LEN * NUM_PAGES;
    int file = memfd_create("paldiff-send-test", 0);
    uint8_t *memory = mmap(NULL, len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    assert_true(file >= 0 && memory != MAP_FAILED);
    assert_int_equal(write(file, source, PAGE_LEN / 2), PAGE_LEN / 2);
    assert_int_equal(write(file, source, PAGE_LEN / 2), PAGE_LEN / 2);
    for (size_t i = 0; i < NUM_PAGES; i++) {
        void *at = memory + i * PAGE_LEN;

        assert_ptr_equal(mmap(at, PAGE_LEN, PROT_READ, MAP_SHARED | MAP_FIXED, file, 0), at);
    }
    close(file);
    return memory;
}

/* Not by copied, and not copied by auto: that takes the whole length in memory. */
static void more_than_2_gib_arrive_in_full(void **state)
{
    uint8_t *memory = repeated_memory();
    uint64_t total = (uint64_t)PAGE_LEN * NUM_PAGES;

    (void)state;
    for (int row = 0; row < 3; row++) {
        static const enum pal_send_way row_ways[] = {PAL_SEND_SEQUENTIAL, PAL_SEND_GATHERED, PAL_SEND_AUTO};
        struct link link = link_open(row == 0 ? LINK_UNIX : LINK_TCP, 0);
        struct reader reader = {.socket = link.ends[1], .chunk = 1 << 20, .period = source, .period_len = SOURCE_LEN};
        size_t num_segments = 2;
        struct pal_send *send;
        uint64_t sent;

        /* Sequential: one segment beyond 2 GiB, behind a short one. Else: 2100 segments over the same mebibyte. */
        list[0] = bytes_of(source, 5);
        list[1] = bytes_of(memory + 5, total - 5);
        for (size_t i = 0; row > 0 && i < NUM_PAGES; i++, num_segments = NUM_PAGES) {
            list[i] = bytes_of(memory, PAGE_LEN);
        }
        reader_start(&reader);
        send = begin_ok(pal_env_real(), row_ways[row], link.ends[0], num_segments, UINT64_MAX);
        assert_int_equal(drive(send, &sent, link.ends[0], true), PAL_OK);
        pal_send_reference.end(send);
        reader_join(&reader, &link);
        assert_int_equal(sent, total);
        assert_int_equal(reader.total, total);
        assert_int_equal(reader.num_wrong, 0);
        link_close(&link);
    }
    munmap(memory, total);
}

int main(void)
{
    const struct CMUnitTest claims[] = {
        cmocka_unit_test_setup(any_number_of_segments_in_the_fewest_calls, setup),
        cmocka_unit_test_setup(nothing_is_lost_through_small_buffers, setup),
        cmocka_unit_test_setup(a_peer_that_is_gone_is_an_error_without_a_signal, setup),
        cmocka_unit_test_setup(a_peer_that_leaves_midway_is_an_error_with_progress, setup),
        cmocka_unit_test_setup(a_peer_that_leaves_afterwards_changes_nothing, setup),
        cmocka_unit_test_setup(a_signal_amid_a_blocking_send_loses_nothing, setup),
        cmocka_unit_test_setup(the_deadline_ends_a_blocking_send, setup),
        cmocka_unit_test_setup(threads_on_one_socket_keep_the_order_of_begin, setup),
        cmocka_unit_test_setup(more_than_2_gib_arrive_in_full, setup),
    };

    return cmocka_run_group_tests_name("send_kernel", claims, NULL, NULL);
}
