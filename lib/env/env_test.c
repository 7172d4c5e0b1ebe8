/* SPDX-License-Identifier: Apache-2.0
 * env_test.c: claims about the real environment, on real sockets and files.
 * Nothing here injects faults, and no claim depends on how fast the machine is.
 * It breaks where /tmp cannot hold a file.
 */
#include "env.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

enum { FILE_LEN = 10000 };

static const uint64_t wait_ns = 30000000;

struct world {
    const struct pal_env *env;
    int ends[2];
    int file;
};

static volatile sig_atomic_t num_pipe_signals;

static void count_pipe_signal(int number)
{
    (void)number;
    num_pipe_signals++;
}

static int setup(void **state)
{
    static struct world world;
    char name[] = "/tmp/paldiff-env-test-XXXXXX";
    uint8_t bytes[FILE_LEN];

    world.env = pal_env_real();
    num_pipe_signals = 0;
    (void)signal(SIGPIPE, count_pipe_signal);
    world.file = mkstemp(name);
    for (size_t i = 0; i < sizeof(bytes); i++) {
        bytes[i] = (uint8_t)(i * 31 + i / 256);
    }
    *state = &world;
    if (world.file < 0 || unlink(name) != 0 || write(world.file, bytes, sizeof(bytes)) != FILE_LEN) {
        return -1;
    }
    return socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, world.ends);
}

static int teardown(void **state)
{
    struct world *world = *state;

    close(world->file);
    close(world->ends[0]);
    if (world->ends[1] >= 0) {
        close(world->ends[1]);
    }
    return 0;
}

/* Sends until the socket takes no more; returns how much it took, all counts added. */
static size_t fill_up(struct world *world)
{
    static uint8_t bytes[1 << 20];
    struct iovec segment = {bytes, sizeof(bytes)};
    size_t total = 0, sent = 0;
    enum pal_status status;

    do {
        sent = 0;
        status = world->env->sendmsg(NULL, &sent, world->ends[0], &segment, 1, 0);
        total += sent;
    } while (status == PAL_OK);
    assert_int_equal(status, PAL_WOULD_BLOCK);
    return total;
}

static size_t drain(struct world *world)
{
    uint8_t bytes[4096];
    size_t total = 0;
    ssize_t got;

    while ((got = read(world->ends[1], bytes, sizeof(bytes))) > 0) {
        total += (size_t)got;
    }
    return total;
}

static void segments_arrive_in_order(void **state)
{
    struct world *world = *state;
    char one[] = "one", two[] = "two";
    struct iovec segments[3] = {{one, 3}, {NULL, 0}, {two, 3}};
    char got[16];
    size_t sent = 77;

    assert_int_equal(world->env->sendmsg(NULL, &sent, world->ends[0], segments, 3, MSG_MORE), PAL_OK);
    assert_int_equal(sent, 6);
    assert_int_equal(read(world->ends[1], got, sizeof(got)), 6);
    assert_memory_equal(got, "onetwo", 6);
    assert_int_equal(world->env->sendmsg(NULL, &sent, world->ends[0], NULL, 0, 0), PAL_OK);
    assert_int_equal(sent, 0);
}

static void a_short_write_is_ok_and_counts_what_was_taken(void **state)
{
    struct world *world = *state;
    size_t total = fill_up(world);

    assert_true(total > 0 && total % (1 << 20) != 0);
    assert_int_equal(drain(world), total);
}

static void would_block_leaves_the_count_alone(void **state)
{
    struct world *world = *state;
    char byte[1] = "x";
    struct iovec segment = {byte, 1};
    size_t sent = 77;

    fill_up(world);
    assert_int_equal(world->env->sendmsg(NULL, &sent, world->ends[0], &segment, 1, 0), PAL_WOULD_BLOCK);
    assert_int_equal(world->env->sendfile(NULL, &sent, world->ends[0], world->file, 0, 10), PAL_WOULD_BLOCK);
    assert_int_equal(sent, 77);
}

static void a_closed_peer_is_a_broken_pipe_without_a_signal(void **state)
{
    struct world *world = *state;
    char byte[1] = "x";
    struct iovec segment = {byte, 1};
    sigset_t pending;
    size_t sent = 77;

    assert_int_equal(shutdown(world->ends[1], SHUT_RD), 0);
    assert_int_equal(world->env->sendmsg(NULL, &sent, world->ends[0], &segment, 1, 0), PAL_BROKEN_PIPE);
    assert_int_equal(world->env->sendfile(NULL, &sent, world->ends[0], world->file, 0, 10), PAL_BROKEN_PIPE);
    assert_int_equal(sent, 77);
    assert_int_equal(num_pipe_signals, 0);
    sigpending(&pending);
    assert_int_equal(sigismember(&pending, SIGPIPE), 0);
    /* Neither blocked for good, nor taken from the caller. */
    (void)raise(SIGPIPE);
    assert_int_equal(num_pipe_signals, 1);
}

static void a_signal_that_was_pending_stays(void **state)
{
    struct world *world = *state;
    sigset_t pipe_only;
    size_t sent = 0;

    sigemptyset(&pipe_only);
    sigaddset(&pipe_only, SIGPIPE);
    assert_int_equal(shutdown(world->ends[1], SHUT_RD), 0);
    pthread_sigmask(SIG_BLOCK, &pipe_only, NULL);
    (void)raise(SIGPIPE);
    assert_int_equal(world->env->sendfile(NULL, &sent, world->ends[0], world->file, 0, 10), PAL_BROKEN_PIPE);
    assert_int_equal(num_pipe_signals, 0);
    pthread_sigmask(SIG_UNBLOCK, &pipe_only, NULL);
    assert_int_equal(num_pipe_signals, 1);
}

static void other_errors_are_system(void **state)
{
    struct world *world = *state;
    char byte[1] = "x";
    struct iovec segment = {byte, 1};
    struct iovec *many = calloc(2000, sizeof(*many));
    size_t sent = 77;

    assert_non_null(many);
    assert_int_equal(world->env->sendmsg(NULL, &sent, -1, &segment, 1, 0), PAL_SYSTEM);
    assert_int_equal(world->env->sendmsg(NULL, &sent, world->file, &segment, 1, 0), PAL_SYSTEM);
    assert_int_equal(world->env->sendfile(NULL, &sent, world->ends[0], -1, 0, 1), PAL_SYSTEM);
    assert_int_equal(world->env->wait_writable(NULL, 1 << 20, UINT64_MAX), PAL_SYSTEM);
    /* IOV_MAX is 1024. */
    assert_int_equal(world->env->sendmsg(NULL, &sent, world->ends[0], many, 2000, 0), PAL_TOO_LONG);
    assert_int_equal(sent, 77);
    free(many);
}

static void a_file_region_arrives_and_the_position_stays(void **state)
{
    static const struct {
        uint64_t offset;
        size_t len, want;
    } rows[] = {{0, 10, 10},
                {9990, 10, 10},
                {9990, 100, 10},
                {FILE_LEN, 5, 0},
                {FILE_LEN + 1, 5, 0},
                {INT64_MAX - 1, 5, 0},
                {(uint64_t)INT64_MAX, 5, 0},
                {UINT64_MAX, 5, 0},
                {255, 700, 700},
                {3, 0, 0},
                {0, SIZE_MAX, FILE_LEN}};
    struct world *world = *state;

    assert_int_equal(lseek(world->file, 17, SEEK_SET), 17);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint8_t got[FILE_LEN];
        size_t sent = 77;
        enum pal_status status =
            world->env->sendfile(NULL, &sent, world->ends[0], world->file, rows[i].offset, rows[i].len);

        if (status != PAL_OK || sent != rows[i].want) {
            fail_msg("region %zu: %s, %zu of %zu bytes", i, pal_status_name(status), sent, rows[i].want);
        }
        if (sent > 0) {
            assert_int_equal(read(world->ends[1], got, sizeof(got)), sent);
        }
        for (uint64_t j = 0; j < sent; j++) {
            assert_int_equal(got[j], (uint8_t)((rows[i].offset + j) * 31 + (rows[i].offset + j) / 256));
        }
    }
    assert_int_equal(lseek(world->file, 0, SEEK_CUR), 17);
}

static void only_regular_files_have_a_size(void **state)
{
    struct world *world = *state;
    uint64_t size = 77;

    assert_int_equal(world->env->file_size(NULL, &size, -1), PAL_BAD_ARGUMENT);
    assert_int_equal(world->env->file_size(NULL, &size, world->ends[0]), PAL_BAD_ARGUMENT);
    assert_int_equal(size, 77);
    assert_int_equal(world->env->file_size(NULL, &size, world->file), PAL_OK);
    assert_int_equal(size, FILE_LEN);
}

static void waiting_ends_at_the_deadline_and_not_before(void **state)
{
    struct world *world = *state;
    uint64_t start = world->env->now_ns(NULL);

    assert_int_equal(world->env->wait_writable(NULL, world->ends[0], UINT64_MAX), PAL_OK);
    assert_int_equal(world->env->wait_writable(NULL, world->ends[0], 0), PAL_OK);
    fill_up(world);
    assert_int_equal(world->env->wait_writable(NULL, world->ends[0], 0), PAL_TIMED_OUT);
    assert_int_equal(world->env->wait_writable(NULL, world->ends[0], start + wait_ns), PAL_TIMED_OUT);
    assert_true(world->env->now_ns(NULL) >= start + wait_ns);
    drain(world);
    assert_int_equal(world->env->wait_writable(NULL, world->ends[0], start), PAL_OK);
    /* A peer that is gone wakes the waiter, whose next send says why. */
    fill_up(world);
    assert_int_equal(close(world->ends[1]), 0);
    world->ends[1] = -1;
    assert_int_equal(world->env->wait_writable(NULL, world->ends[0], UINT64_MAX), PAL_OK);
}

static void memory_random_and_clocks_are_there(void **state)
{
    struct world *world = *state;
    uint8_t one[1000] = {0}, two[1000] = {0}, zeros[1000] = {0};
    void *memory = world->env->alloc(NULL, 100);

    assert_non_null(memory);
    memset(memory, 1, 100);
    world->env->free(NULL, memory);
    world->env->free(NULL, NULL);
    assert_int_equal(world->env->random(NULL, one, sizeof(one)), PAL_OK);
    assert_int_equal(world->env->random(NULL, two, sizeof(two)), PAL_OK);
    assert_int_equal(world->env->random(NULL, NULL, 0), PAL_OK);
    assert_memory_not_equal(one, two, sizeof(one));
    assert_memory_not_equal(one + 984, zeros, 16);
    assert_true(world->env->now_ns(NULL) <= world->env->now_ns(NULL));
    assert_true(world->env->unix_time(NULL) > 1700000000);
}

static void every_status_has_a_name(void **state)
{
    (void)state;
    for (int i = 0; i < PAL_NUM_STATUSES; i++) {
        for (int j = 0; j < i; j++) {
            assert_string_not_equal(pal_status_name((enum pal_status)i), pal_status_name((enum pal_status)j));
        }
    }
    assert_string_equal(pal_status_name(PAL_BAD_TAG), "bad-tag");
    assert_string_equal(pal_status_name(PAL_NUM_STATUSES), "?");
    assert_string_equal(pal_status_name((enum pal_status) - 1), "?");
}

int main(void)
{
    const struct CMUnitTest claims[] = {
        cmocka_unit_test_setup_teardown(segments_arrive_in_order, setup, teardown),
        cmocka_unit_test_setup_teardown(a_short_write_is_ok_and_counts_what_was_taken, setup, teardown),
        cmocka_unit_test_setup_teardown(would_block_leaves_the_count_alone, setup, teardown),
        cmocka_unit_test_setup_teardown(a_closed_peer_is_a_broken_pipe_without_a_signal, setup, teardown),
        cmocka_unit_test_setup_teardown(a_signal_that_was_pending_stays, setup, teardown),
        cmocka_unit_test_setup_teardown(other_errors_are_system, setup, teardown),
        cmocka_unit_test_setup_teardown(a_file_region_arrives_and_the_position_stays, setup, teardown),
        cmocka_unit_test_setup_teardown(only_regular_files_have_a_size, setup, teardown),
        cmocka_unit_test_setup_teardown(waiting_ends_at_the_deadline_and_not_before, setup, teardown),
        cmocka_unit_test_setup_teardown(memory_random_and_clocks_are_there, setup, teardown),
        cmocka_unit_test(every_status_has_a_name),
    };

    return cmocka_run_group_tests_name("env", claims, NULL, NULL);
}
