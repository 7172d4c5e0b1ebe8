/* SPDX-License-Identifier: Apache-2.0
 * send_file_test.c: claims about lib/send and the kernel's files: descriptors that are none, regions, files that shrink
 * or grow, a file beyond 2 GiB. Each claim holds for every way that takes files. It breaks where /tmp cannot hold a
 * sparse file.
 */
#include "send_kernel_test.h"

enum { FILE_LEN = 10000 };

static uint8_t source[FILE_LEN];
static uint8_t arrived[2 * FILE_LEN];

static int setup(void **state)
{
    (void)state;
    for (size_t i = 0; i < FILE_LEN; i++) {
        source[i] = (uint8_t)(i * 7 + i / 251);
    }
    return 0;
}

#define FOR_EACH_FILE_WAY(way)                                                                                         \
    FOR_EACH_WAY(way)                                                                                                  \
    if (takes_files(way))

/* Sends the list in one go, and reads what arrived. */
static enum pal_status send_and_read(struct link *link, uint64_t *out_total, enum pal_send_way way,
                                     const struct pal_segment *list, size_t num_segments)
{
    enum pal_status status =
        pal_send_all(pal_env_real(), out_total, NULL, way, link->ends[0], list, num_segments, UINT64_MAX);

    assert_true(*out_total <= sizeof(arrived));
    if (*out_total > 0) {
        assert_int_equal(recv(link->ends[1], arrived, *out_total, MSG_WAITALL), *out_total);
    }
    assert_int_equal(recv(link->ends[1], arrived, 1, MSG_DONTWAIT), -1);
    return status;
}

static void files_stand_where_the_list_has_them(void **state)
{
    int file = file_of(source, FILE_LEN);

    (void)state;
    FOR_EACH_FILE_WAY(way)
    {
        for (int kind = 0; kind < NUM_LINKS; kind++) {
            struct link link = link_open((enum link_kind)kind, 0);
            struct pal_segment list[] = {
                region_of(file, 0, 10),   bytes_of(source + 10, 5),   region_of(file, FILE_LEN, 0),
                bytes_of(source + 15, 5), bytes_of(NULL, 0),          region_of(file, 20, 4000),
                region_of(file, 4020, 1), bytes_of(source + 4021, 9), region_of(file, 4030, 0)};
            uint64_t total;

            assert_int_equal(send_and_read(&link, &total, way, list, 9), PAL_OK);
            assert_int_equal(total, FILE_LEN);
            assert_memory_equal(arrived, source, FILE_LEN);
            file_unmoved(file);
            link_close(&link);
        }
    }
    close(file);
}

static void begin_names_the_file(int file)
{
    struct link link = link_open(LINK_UNIX, 0);

    FOR_EACH_FILE_WAY(way)
    {
        struct pal_segment list[] = {bytes_of(source, 5), region_of(file, 0, 0), bytes_of(source, 5)};
        struct pal_send *send = NULL;
        size_t bad = 12345;
        enum pal_status status =
            pal_send_reference.begin(pal_env_real(), &send, &bad, way, link.ends[0], list, 3, UINT64_MAX);

        if (status != PAL_BAD_ARGUMENT || bad != 1) {
            fail_msg("%s, descriptor %d: got %s for %zu", way_names[way], file, pal_status_name(status), bad);
        }
    }
    assert_int_equal(recv(link.ends[1], arrived, 1, MSG_DONTWAIT), -1);
    link_close(&link);
}

static void what_is_no_readable_file_is_named(void **state)
{
    char name[] = "/tmp/paldiff-send-test-XXXXXX";
    struct link link = link_open(LINK_UNIX, 0);
    int pipe_ends[2], made = mkstemp(name);

    (void)state;
    assert_int_equal(pipe(pipe_ends), 0);
    const int files[] = {open(name, O_WRONLY),        open(name, O_PATH), open("/tmp", O_RDONLY | O_DIRECTORY),
                         open("/dev/zero", O_RDONLY), pipe_ends[0],       link.ends[0]};
    assert_int_equal(unlink(name), 0);
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        assert_true(files[i] >= 0);
        begin_names_the_file(files[i]);
    }
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        close(files[i]);
    }
    close(pipe_ends[1]);
    close(link.ends[1]);
    close(made);
    begin_names_the_file(INT32_MAX);
}

static void a_socket_that_is_none_gets_nothing(void **state)
{
    int file = file_of(source, FILE_LEN), closed = dup(file);

    (void)state;
    close(closed);
    FOR_EACH_WAY(way)
    {
        for (int at_file = 0; at_file <= takes_files(way); at_file++) {
            struct pal_segment list[] = {at_file ? region_of(file, 0, 5) : bytes_of(source, 5)};
            uint64_t total = 1;

            assert_int_equal(pal_send_all(pal_env_real(), &total, NULL, way, closed, list, 1, UINT64_MAX), PAL_SYSTEM);
            assert_int_equal(total, 0);
        }
    }
    close(file);
}

/* To `new_len` between begin and the first call. */
static void resize_after_begin(enum pal_send_way way, off_t new_len)
{
    /* Over TCP the bytes before a file that is gone would be held back for 200 ms: more was to follow. */
    struct link link = link_open(LINK_UNIX, 0);
    int file = file_of(source, FILE_LEN);
    struct pal_segment list[] = {bytes_of(source, 100), region_of(file, 100, 0), bytes_of(source, 100)};
    bool shrinks = new_len < FILE_LEN;
    uint64_t want = shrinks ? 100 + (new_len > 100 ? (uint64_t)new_len - 100 : 0) : FILE_LEN + 100, total;
    struct pal_send *send = NULL;
    size_t bad;

    assert_int_equal(pal_send_reference.begin(pal_env_real(), &send, &bad, way, link.ends[0], list, 3, UINT64_MAX),
                     PAL_OK);
    assert_int_equal(ftruncate(file, new_len), 0);
    assert_int_equal(pal_send_reference.resume(send, &total, true), shrinks ? PAL_TRUNCATED : PAL_OK);
    assert_int_equal(total, want);
    pal_send_reference.end(send);
    assert_int_equal(recv(link.ends[1], arrived, total, MSG_WAITALL), total);
    assert_memory_equal(arrived, source, total < FILE_LEN ? total : FILE_LEN);
    file_unmoved(file);
    close(file);
    link_close(&link);
}

static void a_file_that_changed_its_length(void **state)
{
    static const off_t lens[] = {0, 99, 100, 101, FILE_LEN - 1, FILE_LEN, FILE_LEN + 1, 3 * FILE_LEN};

    (void)state;
    FOR_EACH_FILE_WAY(way)
    {
        for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
            resize_after_begin(way, lens[i]);
        }
    }
}

static void a_sparse_file_beyond_2_gib(void **state)
{
    static const uint8_t zeros[4096];
    static const uint64_t len = (1ull << 31) + 5000, far_len = 1ull << 33;
    int file = file_of(source, FILE_LEN), far_file = file_of(source, FILE_LEN);
    uint8_t end[1000];

    (void)state;
    memset(end, 0x5a, sizeof(end));
    assert_int_equal(ftruncate(file, 0), 0);
    assert_int_equal(ftruncate(file, (off_t)len), 0);
    assert_int_equal(pwrite(far_file, end, sizeof(end), (off_t)(far_len - sizeof(end))), sizeof(end));
    FOR_EACH_FILE_WAY(way)
    {
        struct link link = link_open(way == PAL_SEND_SEQUENTIAL ? LINK_UNIX : LINK_TCP, 0);
        struct reader reader = {.socket = link.ends[1], .chunk = 1 << 20, .bytes = arrived, .bytes_cap = 2000};
        struct pal_segment list[] = {bytes_of(source, 1000), region_of(file, 10, 0), bytes_of(source, 7)};
        uint64_t total;

        reader_start(&reader);
        assert_int_equal(pal_send_all(pal_env_real(), &total, NULL, way, link.ends[0], list, 3, UINT64_MAX), PAL_OK);
        reader_join(&reader, &link);
        assert_int_equal(total, 1000 + len - 10 + 7);
        assert_int_equal(reader.total, total);
        assert_memory_equal(arrived, source, 1000);
        assert_memory_equal(arrived + 1000, zeros, 1000);
        link_close(&link);
        /* And an end behind an offset that no 32 bits hold. */
        link = link_open(LINK_UNIX, 0);
        list[0] = region_of(far_file, far_len - 1500, 0);
        assert_int_equal(send_and_read(&link, &total, way, list, 1), PAL_OK);
        assert_int_equal(total, 1500);
        assert_memory_equal(arrived, zeros, 500);
        assert_memory_equal(arrived + 500, end, 1000);
        link_close(&link);
        file_unmoved(file);
        file_unmoved(far_file);
    }
    close(file);
    close(far_file);
}

int main(void)
{
    const struct CMUnitTest claims[] = {
        cmocka_unit_test_setup(files_stand_where_the_list_has_them, setup),
        cmocka_unit_test_setup(what_is_no_readable_file_is_named, setup),
        cmocka_unit_test_setup(a_socket_that_is_none_gets_nothing, setup),
        cmocka_unit_test_setup(a_file_that_changed_its_length, setup),
        cmocka_unit_test_setup(a_sparse_file_beyond_2_gib, setup),
    };

    return cmocka_run_group_tests_name("send_file", claims, NULL, NULL);
}
