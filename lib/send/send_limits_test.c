/* SPDX-License-Identifier: Apache-2.0
 * send_limits_test.c: claims about numbers: iovecs and bytes in one call, allocations, the thresholds of auto, calls
 * made. Lengths beyond memory are made up, over an environment that counts and reads nothing. It breaks when
 * send_test.h audits a limit no more: 1024 iovecs and 0x7ffff000 bytes are checked there.
 */
#include "send_test.h"

enum { LIST_MAX = 4097 };

#define FOR_EACH_WAY(way) for (enum pal_send_way way = PAL_SEND_SEQUENTIAL; way < PAL_SEND_NUM_WAYS; way++)

static uint8_t source[LIST_MAX * 3];
static struct pal_segment list[LIST_MAX * 2];

/* Bytes that tell where they come from, and a list of `num` segments of `len` bytes over them. */
static void make_list(size_t num, size_t len)
{
    assert_true(num <= LIST_MAX && num * len <= sizeof(source));
    for (size_t i = 0; i < sizeof(source); i++) {
        source[i] = (uint8_t)(i * 7 + i / 251);
    }
    for (size_t i = 0; i < num; i++) {
        list[i] = bytes_of(source + i * len, len);
    }
}

static size_t ceil_div(size_t a, size_t b)
{
    return (a + b - 1) / b;
}

/* Calls for a list of equal byte segments when each call is served whole. */
static size_t calls_of(enum pal_send_way way, size_t num, size_t len)
{
    bool copies = way == PAL_SEND_COPIED || (way == PAL_SEND_AUTO && num > 8 && len <= 1024);

    return way == PAL_SEND_SEQUENTIAL ? num : copies ? num > 0 : ceil_div(num, TEST_IOVECS_MAX);
}

static const size_t counts[] = {0, 1, 2, 7, 8, 9, 63, 64, 65, 1023, 1024, 1025, 2048, 2049, 4097};

static void as_few_calls_as_the_kernel_allows(void **state)
{
    static struct script script;

    (void)state;
    FOR_EACH_WAY(way)
    {
        for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
            struct pal_env env = script_env(&script);
            struct pal_send *send;

            make_list(counts[i], 3);
            script.list_end = counts[i] * 3;
            send = begin_ok(&env, way, list, counts[i]);
            resume_as(send, PAL_OK, counts[i] * 3, false);
            if (script.num_calls != calls_of(way, counts[i], 3)) {
                fail_msg("%s, %zu segments: got %zu calls", way_names[way], counts[i], script.num_calls);
            }
            assert_memory_equal(script.wire, source, counts[i] * 3);
            pal_send_reference.end(send);
            script_balanced(&script);
        }
    }
}

static void short_writes_in_a_long_list_lose_nothing(void **state)
{
    static struct script script;

    (void)state;
    FOR_EACH_WAY(way)
    {
        for (size_t taken = 1; taken <= 4099; taken = taken * 3 / 2 + 1) {
            struct pal_env env = script_env(&script);
            struct pal_send *send;

            make_list(2049, 3);
            script.list_end = 2049 * 3;
            script_add(&script, (struct script_step){.count = taken, .again = true});
            send = begin_ok(&env, way, list, 2049);
            memset(list, 0xa5, sizeof(list));
            resume_as(send, PAL_OK, 2049 * 3, true);
            assert_memory_equal(script.wire, source, 2049 * 3);
            assert_true(script.num_calls <= ceil_div(2049 * 3, taken) + 2049);
            pal_send_reference.end(send);
        }
    }
}

/* Empties before, between and after, more of them than fit into a call. */
static void empties_do_not_count(void **state)
{
    static struct script script;

    (void)state;
    FOR_EACH_WAY(way)
    {
        struct pal_env env = script_env(&script);
        struct pal_send *send;

        make_list(8, 3);
        for (size_t i = 0; i < 8; i++) {
            list[1100 + i * 2] = bytes_of(source + i * 3, 3);
        }
        for (size_t i = 0; i < 4000; i++) {
            if (i < 1100 || i > 1114 || i % 2 == 1) {
                list[i] = bytes_of(i % 3 == 0 ? NULL : source, 0);
            }
        }
        script.list_end = 24;
        send = begin_ok(&env, way, list, 4000);
        resume_as(send, PAL_OK, 24, false);
        assert_memory_equal(script.wire, source, 24);
        assert_int_equal(script.num_calls, way == PAL_SEND_SEQUENTIAL ? 8 : 1);
        pal_send_reference.end(send);
    }
}

static void a_lower_limit_of_iovecs_is_found(void **state)
{
    static const size_t limits[] = {1, 2, 3, 16, 17, 512, 1023};
    static struct script script;

    (void)state;
    FOR_EACH_WAY(way)
    {
        for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
            struct pal_env env = script_env(&script);
            struct pal_send *send;

            make_list(1500, 3);
            script.iovecs_max = limits[i];
            send = begin_ok(&env, way, list, 1500);
            resume_as(send, PAL_OK, 4500, true);
            assert_memory_equal(script.wire, source, 4500);
            /* Halving ends above half of the limit, after at most 10 refusals. */
            assert_true(script.num_calls <= 10 + calls_of(PAL_SEND_SEQUENTIAL, 1500, 3) * 2 / limits[i] ||
                        way == PAL_SEND_SEQUENTIAL);
            pal_send_reference.end(send);
        }
        /* A socket that refuses even one iovec is an error, not a loop. */
        struct pal_env env = script_env(&script);
        struct pal_send *send = begin_ok(&env, way, list, 3);

        script.iovecs_max = 0;
        resume_as(send, PAL_TOO_LONG, 0, true);
        assert_true(script.num_calls <= 2);
        pal_send_reference.end(send);
    }
}

static void send_made_up(enum pal_send_way way, uint64_t len)
{
    static struct script script;
    struct pal_env env = script_env(&script);
    uint64_t total = 5 + len + 7;
    bool too_many_calls = len > 1ull << 40;
    struct pal_send *send;

    list[0] = bytes_of(source, 5);
    list[1] = bytes_of(source, len);
    list[2] = bytes_of(source, 7);
    script.count_only = true;
    script.list_end = total;
    if (too_many_calls) {
        script_add(&script, (struct script_step){.count = total});
        script_add(&script, (struct script_step){.status = PAL_RESET});
    }
    send = begin_ok(&env, way, list, 3);
    if (too_many_calls) {
        resume_as(send, PAL_RESET, way == PAL_SEND_SEQUENTIAL ? 5 : TEST_CALL_LEN_MAX, false);
    } else {
        resume_as(send, PAL_OK, total, false);
        assert_int_equal(script.wire_len, total);
        assert_int_equal(script.num_calls, way == PAL_SEND_SEQUENTIAL ? 2 + ceil_div(len, TEST_CALL_LEN_MAX)
                                                                      : ceil_div(total, TEST_CALL_LEN_MAX));
    }
    pal_send_reference.end(send);
}

/* By no way that copies: there is no such memory. */
static void totals_beyond_one_call_are_cut(void **state)
{
    static const uint64_t lens[] = {TEST_CALL_LEN_MAX - 13,
                                    TEST_CALL_LEN_MAX - 12,
                                    TEST_CALL_LEN_MAX - 11,
                                    TEST_CALL_LEN_MAX,
                                    TEST_CALL_LEN_MAX + 1u,
                                    1ull << 31,
                                    1ull << 32,
                                    (1ull << 32) + 1,
                                    1ull << 63};

    (void)state;
    FOR_EACH_WAY(way)
    {
        for (size_t i = 0; way != PAL_SEND_COPIED && i < sizeof(lens) / sizeof(lens[0]); i++) {
            send_made_up(way, lens[i]);
        }
    }
}

static void file_regions_beyond_one_call_are_cut(void **state)
{
    static const uint64_t offset = (1ull << 34) + 10, len = (1ull << 33) + 1;
    static struct script script;

    (void)state;
    FOR_EACH_WAY(way)
    {
        struct pal_env env = script_env(&script);
        struct pal_send *send;

        if (way == PAL_SEND_COPIED || way == PAL_SEND_GATHERED) {
            continue;
        }
        script.file_lens[0] = offset + len + 1;
        script.count_only = true;
        list[0] = bytes_of(source, 5);
        list[1] = region_of(FILE_FIRST, offset, len);
        list[2] = bytes_of(source, 7);
        script_add(&script, (struct script_step){.count = 5});
        script_add(&script, (struct script_step){.count = 1});
        send = begin_ok(&env, way, list, 3);
        resume_as(send, PAL_OK, len + 12, false);
        assert_int_equal(script.wire_len, len + 12);
        assert_int_equal(script.num_calls, 3 + ceil_div(len - 1, TEST_CALL_LEN_MAX));
        assert_int_equal(script.last_offset, offset + 1 + (len - 1) / TEST_CALL_LEN_MAX * TEST_CALL_LEN_MAX);
        pal_send_reference.end(send);
    }
}

/* The n-th allocation or rental fails, for n = 1, 2, ... until none does. */
static void no_memory_leaves_nothing_behind(void **state)
{
    static struct script script;

    (void)state;
    for (int pooled = 0; pooled < 3; pooled++) { /* 2: lends, and takes nothing back */
        FOR_EACH_WAY(way)
        {
            size_t fail = 0;
            enum pal_status status;

            do {
                struct pal_env env = script_env(&script);
                struct pal_send *send = NULL;
                size_t bad = 12345;

                make_list(20, 3);
                *(pooled == 1 ? &script.fail_rent : &script.fail_alloc) = ++fail;
                if (pooled == 0) {
                    env.rent = NULL;
                } else if (pooled == 2) {
                    env.release = NULL;
                }
                status = pal_send_reference.begin(&env, &send, &bad, way, SOCKET, list, 20, UINT64_MAX);
                assert_int_equal(bad, 12345);
                if (status == PAL_OK) {
                    uint64_t progress;

                    status = pal_send_reference.resume(send, &progress, true);
                    assert_int_equal(progress, status == PAL_OK ? 60 : 0);
                    resume_as(send, PAL_OK, status == PAL_OK ? 0 : 60, true);
                    assert_memory_equal(script.wire, source, 60);
                    assert_int_equal(script.num_rented + script.num_live, 1);
                    pal_send_reference.end(send);
                } else {
                    assert_null(send);
                }
                assert_true(status == PAL_OK || status == PAL_NO_MEMORY);
                script_balanced(&script);
            } while (status != PAL_OK);
            assert_int_equal(fail, (pooled == 1 ? 1 : 2) + (way == PAL_SEND_COPIED));
        }
    }
}

static void auto_copies_only_many_small_segments(void **state)
{
    static const struct {
        size_t num, len;
        bool copies;
    } rows[] = {{1, 1, false},    {8, 10, false},     {9, 10, true},      {9, 1023, true},    {9, 1024, true},
                {9, 1025, false}, {50, 10000, false}, {1024, 1024, true}, {1025, 1024, false}};
    static struct script script;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        for (int with_memory = 0; with_memory < 2; with_memory++) {
            struct pal_env env = script_env(&script);
            size_t total = rows[i].num * rows[i].len, num_calls = 1;
            uint8_t *bytes = calloc(1, total);
            struct pal_send *send;

            assert_non_null(bytes);
            for (size_t j = 0; j < rows[i].num; j++) {
                list[j] = bytes_of(bytes + j * rows[i].len, rows[i].len);
            }
            script.count_only = true;
            script.list_end = total;
            script.fail_rent = !with_memory;
            send = begin_ok(&env, PAL_SEND_AUTO, list, rows[i].num);
            resume_as(send, PAL_OK, total, false);
            if (rows[i].num > TEST_IOVECS_MAX) {
                num_calls = 2;
            }
            assert_int_equal(script.num_rents, rows[i].copies);
            assert_int_equal(script.num_calls, num_calls);
            pal_send_reference.end(send);
            free(bytes);
            script_balanced(&script);
        }
    }
}

static void copied_reads_the_bytes_once(void **state)
{
    static struct script script;
    struct pal_env env = script_env(&script);
    uint8_t bytes[4] = "abcd";
    struct pal_send *send;

    (void)state;
    list[0] = bytes_of(bytes, 2);
    list[1] = bytes_of(bytes + 2, 2);
    script_add(&script, (struct script_step){.count = 1});
    script_add(&script, (struct script_step){.status = PAL_WOULD_BLOCK});
    send = begin_ok(&env, PAL_SEND_COPIED, list, 2);
    assert_int_equal(script.num_rents, 0);
    for (size_t i = 0; i < 4; i++) {
        bytes[i] = (uint8_t)('w' + i);
    }
    resume_as(send, PAL_WOULD_BLOCK, 1, false);
    memset(bytes, '-', 4);
    script.must_wait = false;
    resume_as(send, PAL_OK, 3, false);
    assert_memory_equal(script.wire, "wxyz", 4);
    assert_int_equal(script.num_rents, 1);
    pal_send_reference.end(send);
    script_balanced(&script);
}

static void all_at_once_needs_no_heap_for_eight_segments(void **state)
{
    static struct script script;

    (void)state;
    FOR_EACH_WAY(way)
    {
        for (size_t num = 0; num <= 9; num++) {
            struct pal_env env = script_env(&script);
            uint64_t progress = 0;
            size_t bad = 12345;

            make_list(num, 3);
            script.list_end = num * 3;
            script_add(&script, (struct script_step){.status = PAL_WOULD_BLOCK});
            assert_int_equal(pal_send_all(&env, &progress, &bad, way, SOCKET, list, num, UINT64_MAX), PAL_OK);
            assert_int_equal(progress, num * 3);
            assert_int_equal(bad, 12345);
            assert_memory_equal(script.wire, source, num * 3);
            assert_int_equal(script.num_allocs, num == 9);
            script_balanced(&script);
        }
        /* What it gave up is out of the way of the next. */
        struct pal_env env = script_env(&script);
        uint64_t progress = 0;

        script_add(&script, (struct script_step){.count = 1});
        script_add(&script, (struct script_step){.status = PAL_NO_MEMORY});
        assert_int_equal(pal_send_all(&env, &progress, NULL, way, SOCKET, list, 2, UINT64_MAX), PAL_NO_MEMORY);
        assert_int_equal(progress, 1);
        assert_int_equal(pal_send_all(&env, &progress, NULL, way, SOCKET, list, 2, UINT64_MAX), PAL_OK);
        assert_int_equal(progress, 6);
        script_balanced(&script);
    }
}

int main(void)
{
    const struct CMUnitTest claims[] = {
        cmocka_unit_test(as_few_calls_as_the_kernel_allows),
        cmocka_unit_test(short_writes_in_a_long_list_lose_nothing),
        cmocka_unit_test(empties_do_not_count),
        cmocka_unit_test(a_lower_limit_of_iovecs_is_found),
        cmocka_unit_test(totals_beyond_one_call_are_cut),
        cmocka_unit_test(file_regions_beyond_one_call_are_cut),
        cmocka_unit_test(no_memory_leaves_nothing_behind),
        cmocka_unit_test(auto_copies_only_many_small_segments),
        cmocka_unit_test(copied_reads_the_bytes_once),
        cmocka_unit_test(all_at_once_needs_no_heap_for_eight_segments),
    };

    return cmocka_run_group_tests_name("send_limits", claims, NULL, NULL);
}
