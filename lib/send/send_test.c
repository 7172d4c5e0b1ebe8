/* SPDX-License-Identifier: Apache-2.0
 * send_test.c: claims about what goes wrong or comes to an end: errors, refusals, memory, deadlines, cancel, order.
 * All over the scripted environment, so nothing here waits or depends on the machine.
 * It breaks when the wire has to be real: send_kernel_test.c and send_wrap_test.c have that.
 */
#include "send_test.h"

static uint8_t text[] = "abcdefgh";

/* Two pieces for each way, and a file where it can be: "abc", "de", then B..E of the second file. */
static size_t mixed_list(struct pal_segment *out, enum pal_send_way way)
{
    out[0] = bytes_of(text, 3);
    out[1] = bytes_of(text + 3, 2);
    out[2] = takes_files(way) ? region_of(FILE_FIRST + 1, 1, 4) : bytes_of(text, 4);
    return 3;
}

enum { MIXED_LEN = 9 };

#define FOR_EACH_WAY(way) for (enum pal_send_way way = PAL_SEND_SEQUENTIAL; way < PAL_SEND_NUM_WAYS; way++)

/* ---- errors -------------------------------------------------------------------------------------------------------
 */

/* The first `taken` bytes go one by one, then every call is answered by `last`. */
static void begin_with_steps(struct script *script, size_t taken, struct script_step last)
{
    for (size_t i = 0; i < taken; i++) {
        script_add(script, (struct script_step){.count = 1});
    }
    script_add(script, last);
}

static void an_error_comes_with_its_progress_and_stays(void **state)
{
    static const enum pal_status errors[] = {PAL_RESET, PAL_BROKEN_PIPE, PAL_SYSTEM, PAL_TIMED_OUT};
    static struct script script;
    struct pal_segment list[3];

    (void)state;
    FOR_EACH_WAY(way)
    {
        for (size_t taken = 0; taken < MIXED_LEN; taken++) {
            for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
                struct pal_env env = script_env(&script);
                struct pal_send *send = begin_ok(&env, way, list, mixed_list(list, way));

                begin_with_steps(&script, taken, (struct script_step){.status = errors[i]});
                resume_as(send, errors[i], taken, taken % 2 == 0);
                assert_int_equal(script.wire_len, taken);
                resume_as(send, errors[i], 0, true);
                assert_int_equal(script.num_calls, taken + 1);
                assert_int_equal(script.num_rented, 0);
                pal_send_reference.end(send);
                script_balanced(&script);
            }
        }
    }
}

static void a_full_kernel_is_reported_and_can_be_tried_again(void **state)
{
    static struct script script;
    struct pal_segment list[3];

    (void)state;
    FOR_EACH_WAY(way)
    {
        for (size_t taken = 0; taken < MIXED_LEN; taken++) {
            struct pal_env env = script_env(&script);
            struct pal_send *send = begin_ok(&env, way, list, mixed_list(list, way));

            script.list_end = MIXED_LEN;
            begin_with_steps(&script, taken, (struct script_step){.status = PAL_NO_MEMORY});
            resume_as(send, PAL_NO_MEMORY, taken, true);
            assert_int_equal(script.num_calls, taken + 1);
            resume_as(send, PAL_OK, MIXED_LEN - taken, true);
            assert_memory_equal(script.wire, takes_files(way) ? "abcdeRSTU" : "abcdeabcd", MIXED_LEN);
            pal_send_reference.end(send);
            script_balanced(&script);
        }
    }
}

static void a_callee_that_claims_too_much_or_nothing_is_an_error(void **state)
{
    static const struct script_step lies[] = {{.lie = true, .count = 1},
                                              {.lie = true, .count = 1u << 31},
                                              {.lie = true, .count = UINT64_MAX / 2},
                                              {.count = 0, .again = true}};
    static struct script script;
    struct pal_segment list[3];

    (void)state;
    FOR_EACH_WAY(way)
    {
        for (size_t taken = 0; taken < MIXED_LEN; taken++) {
            for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
                struct pal_env env = script_env(&script);
                struct pal_send *send = begin_ok(&env, way, list, mixed_list(list, way));
                bool at_file = takes_files(way) && taken >= 5;

                begin_with_steps(&script, taken, lies[i]);
                resume_as(send, at_file && lies[i].count == 0 ? PAL_TRUNCATED : PAL_SYSTEM, taken, true);
                assert_int_equal(script.num_calls, taken + 1);
                pal_send_reference.end(send);
                script_balanced(&script);
            }
        }
    }
}

static void a_file_that_shrank_is_truncated_with_the_exact_count(void **state)
{
    static struct script script;
    struct pal_segment list[3] = {bytes_of(text, 3), region_of(FILE_FIRST, 2, 0), bytes_of(text, 2)};

    (void)state;
    FOR_EACH_WAY(way)
    {
        for (uint64_t len = 0; takes_files(way) && len <= FILE_CAP + 1; len++) {
            struct pal_env env = script_env(&script);
            struct pal_send *send = begin_ok(&env, way, list, 3);
            uint64_t in_file = len > 2 ? len - 2 : 0;

            /* What is appended after begin is not part of the region. */
            script.file_lens[0] = len;
            if (len < FILE_CAP) {
                resume_as(send, PAL_TRUNCATED, 3 + in_file, true);
            } else {
                resume_as(send, PAL_OK, 3 + FILE_CAP - 2 + 2, true);
            }
            assert_int_equal(script.num_waits, 0);
            pal_send_reference.end(send);
            script_balanced(&script);
        }
    }
}

/* ---- refusals -----------------------------------------------------------------------------------------------------
 */

struct refusal {
    struct pal_segment segment;
    enum pal_status status;
    bool bad_everywhere; /* or only where files are not taken */
};

static void begin_refuses(const struct pal_env *env, const struct refusal *row, enum pal_send_way way, size_t at)
{
    struct script *script = env->context;
    struct pal_segment list[3] = {bytes_of(text, 1), bytes_of(text, 0), bytes_of(text, 2)};
    struct pal_send *send = (struct pal_send *)list;
    size_t bad = 12345;
    uint64_t progress = 12345;

    list[at] = row->segment;
    assert_int_equal(pal_send_reference.begin(env, &send, &bad, way, SOCKET, list, 3, UINT64_MAX), row->status);
    assert_ptr_equal(send, list);
    assert_int_equal(bad, at);
    assert_int_equal(pal_send_reference.begin(env, &send, NULL, way, SOCKET, list, 3, UINT64_MAX), row->status);
    bad = 12345;
    assert_int_equal(pal_send_all(env, &progress, &bad, way, SOCKET, list, 3, UINT64_MAX), row->status);
    assert_int_equal(bad, at);
    assert_int_equal(progress, 0);
    assert_int_equal(script->num_calls, 0);
    script_balanced(script);
    /* Nothing of it is left in the queue. */
    send = begin_ok(env, way, list, 0);
    pal_send_reference.end(send);
    list[at] = bytes_of(text, 1);
    send = begin_ok(env, way, list, 3);
    resume_as(send, PAL_OK, at == 1 ? 4 : at == 0 ? 3 : 2, false);
    pal_send_reference.end(send);
    script->num_calls = 0;
}

static void a_bad_segment_is_named_before_anything_is_sent(void **state)
{
    static const struct refusal rows[] = {
        {{.bytes = {NULL, 1}, .file = -1}, PAL_BAD_ARGUMENT, true},
        {{.bytes = {NULL, SIZE_MAX}, .file = -1}, PAL_BAD_ARGUMENT, true},
        {{.bytes = {text, 1}, .file = 0}, PAL_BAD_ARGUMENT, true},
        {{.bytes = {text, 1}, .file = FILE_FIRST}, PAL_BAD_ARGUMENT, true},
        {{.file = -2}, PAL_BAD_ARGUMENT, true},
        {{.file = 99}, PAL_BAD_ARGUMENT, true},
        {{.file = FILE_FIRST, .file_offset = FILE_CAP + 1}, PAL_BAD_ARGUMENT, true},
        {{.file = FILE_FIRST, .file_len = FILE_CAP + 1}, PAL_BAD_ARGUMENT, true},
        {{.file = FILE_FIRST, .file_offset = 1, .file_len = FILE_CAP}, PAL_BAD_ARGUMENT, true},
        {{.file = FILE_FIRST, .file_offset = 1, .file_len = UINT64_MAX}, PAL_BAD_ARGUMENT, true},
        {{.file = FILE_FIRST, .file_offset = UINT64_MAX, .file_len = 2}, PAL_BAD_ARGUMENT, true},
        {{.file = FILE_FIRST}, PAL_BAD_ARGUMENT, false},
    };
    static struct script script;

    (void)state;
    FOR_EACH_WAY(way)
    {
        for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
            struct pal_env env = script_env(&script);

            for (size_t at = 0; at < 3 && (rows[i].bad_everywhere || !takes_files(way)); at++) {
                begin_refuses(&env, &rows[i], way, at);
            }
        }
    }
}

static void a_sum_that_overflows_is_too_long(void **state)
{
    static struct script script;
    struct pal_segment list[4] = {bytes_of(text, SIZE_MAX - 1), bytes_of(text, 1), bytes_of(text, 0),
                                  bytes_of(text, 1)};
    struct pal_send *send = NULL;
    size_t bad = 12345;

    (void)state;
    FOR_EACH_WAY(way)
    {
        struct pal_env env = script_env(&script);

        assert_int_equal(pal_send_reference.begin(&env, &send, &bad, way, SOCKET, list, 4, UINT64_MAX), PAL_TOO_LONG);
        assert_int_equal(bad, 3);
        pal_send_reference.end(begin_ok(&env, way, list, 3));
        assert_int_equal(script.num_calls, 0);
        script_balanced(&script);
    }
}

static void bad_arguments_blame_no_segment(void **state)
{
    static struct script script;
    struct pal_env env = script_env(&script);
    struct pal_segment list[1] = {bytes_of(text, 1)};
    struct pal_send *send = NULL;
    size_t bad = 0;
    uint64_t progress = 1;

    (void)state;
    FOR_EACH_WAY(way)
    {
        bad = 0;
        assert_int_equal(pal_send_reference.begin(&env, &send, &bad, way, -1, list, 1, UINT64_MAX), PAL_BAD_ARGUMENT);
        assert_true(bad == SIZE_MAX);
        bad = 0;
        assert_int_equal(pal_send_all(&env, &progress, &bad, way, SOCKET, NULL, 1, UINT64_MAX), PAL_BAD_ARGUMENT);
        assert_true(bad == SIZE_MAX && progress == 0);
        struct pal_segment none[1] = {bytes_of(NULL, 1)};
        assert_int_equal(pal_send_all(&env, &progress, NULL, way, SOCKET, none, 1, UINT64_MAX), PAL_BAD_ARGUMENT);
    }
    assert_int_equal(
        pal_send_reference.begin(&env, &send, &bad, PAL_SEND_GATHERED, SOCKET, list, SIZE_MAX / 2, UINT64_MAX),
        PAL_TOO_LONG);
    assert_true(bad == SIZE_MAX);
    bad = 5;
    assert_int_equal(pal_send_reference.begin(&env, &send, &bad, PAL_SEND_NUM_WAYS, SOCKET, list, 1, UINT64_MAX),
                     PAL_UNSUPPORTED);
    assert_int_equal(pal_send_reference.begin(&env, &send, &bad, (enum pal_send_way) - 1, SOCKET, list, 1, UINT64_MAX),
                     PAL_UNSUPPORTED);
    assert_int_equal(bad, 5);
    assert_null(send);
    assert_int_equal(script.num_allocs, 0);
}

static void an_empty_list_is_done_without_a_call(void **state)
{
    static struct script script;
    struct pal_segment list[4] = {bytes_of(NULL, 0), bytes_of(text, 0), region_of(FILE_FIRST, FILE_CAP, 0),
                                  bytes_of(NULL, 0)};
    struct pal_segment full[1] = {bytes_of(text, 1)};

    (void)state;
    FOR_EACH_WAY(way)
    {
        struct pal_env env = script_env(&script);
        struct pal_send *before = begin_ok(&env, way, full, 1);
        struct pal_send *send = begin_ok(&env, way, list, takes_files(way) ? 4 : 2);
        struct pal_send *none = begin_ok(&env, way, NULL, 0);

        resume_as(send, PAL_OK, 0, false);
        resume_as(none, PAL_OK, 0, true);
        pal_send_reference.end(none);
        pal_send_reference.end(send);
        assert_int_equal(script.num_calls, 0);
        pal_send_reference.end(before);
        script_balanced(&script);
    }
    pal_send_reference.end(NULL);
}

/* ---- deadline, cancel, order --------------------------------------------------------------------------------------
 */

static void the_deadline_is_the_operations_not_the_calls(void **state)
{
    static struct script script;
    struct pal_segment list[3];

    (void)state;
    FOR_EACH_WAY(way)
    {
        struct pal_env env = script_env(&script);
        struct pal_send *send = NULL;
        size_t num = mixed_list(list, way), bad;

        /* Each round takes a byte and waits for 10 ns: the fourth wait reaches 40. */
        for (int i = 0; i < MIXED_LEN; i++) {
            script_add(&script, (struct script_step){.count = 1});
            script_add(&script, (struct script_step){.status = PAL_WOULD_BLOCK});
        }
        script.wait_ns = 10;
        assert_int_equal(pal_send_reference.begin(&env, &send, &bad, way, SOCKET, list, num, 40), PAL_OK);
        resume_as(send, PAL_TIMED_OUT, 4, true);
        assert_int_equal(script.num_waits, 4);
        resume_as(send, PAL_TIMED_OUT, 0, true);
        assert_int_equal(script.num_calls, 8);
        assert_int_equal(script.num_rented, 0);
        pal_send_reference.end(send);
        /* Passed before the first call, also where it is not blocking, and in the queue; an empty list needs no time.
         */
        assert_int_equal(pal_send_reference.begin(&env, &send, &bad, way, SOCKET, list, num, 40), PAL_OK);
        struct pal_send *next = NULL;
        assert_int_equal(pal_send_reference.begin(&env, &next, &bad, way, SOCKET, list, num, 39), PAL_OK);
        resume_as(next, PAL_TIMED_OUT, 0, false);
        resume_as(send, PAL_TIMED_OUT, 0, false);
        pal_send_reference.end(next);
        pal_send_reference.end(send);
        assert_int_equal(pal_send_reference.begin(&env, &send, &bad, way, SOCKET, NULL, 0, 1), PAL_OK);
        resume_as(send, PAL_OK, 0, true);
        pal_send_reference.end(send);
        assert_int_equal(script.num_calls, 8);
        script_balanced(&script);
    }
}

static void a_cancelled_operation_makes_no_call_and_frees_the_next(void **state)
{
    static struct script script;
    struct pal_segment list[3];

    (void)state;
    FOR_EACH_WAY(way)
    {
        for (size_t taken = 0; taken <= MIXED_LEN; taken++) {
            struct pal_env env = script_env(&script);
            size_t num = mixed_list(list, way);
            struct pal_send *send = begin_ok(&env, way, list, num), *next = begin_ok(&env, way, list, num);
            bool done = taken == MIXED_LEN;

            begin_with_steps(&script, taken, (struct script_step){.status = PAL_WOULD_BLOCK});
            resume_as(send, done ? PAL_OK : PAL_WOULD_BLOCK, taken, false);
            script.must_wait = false;
            pal_send_reference.cancel(send);
            pal_send_reference.cancel(send);
            resume_as(send, done ? PAL_OK : PAL_CANCELLED, 0, true);
            assert_int_equal(script.num_rented, 0);
            assert_int_equal(script.num_calls, taken + (done ? 0 : 1));
            script.next_step = script.num_steps;
            resume_as(next, PAL_OK, MIXED_LEN, true);
            pal_send_reference.end(send);
            pal_send_reference.end(next);
            script_balanced(&script);
        }
    }
}

/* Descriptors and environments whose operations share a bucket of the queue, and must not wait for each other. */
static void sockets_do_not_wait_for_each_other(void **state)
{
    static union {
        struct pal_env env;
        uint8_t room[4096];
    } worlds[2];
    static struct script scripts[2];
    struct pal_segment list[1] = {bytes_of(text, 2)};

    (void)state;
    FOR_EACH_WAY(way)
    {
        struct pal_send *first, *other = NULL;
        size_t bad;

        for (int i = 0; i < 2; i++) {
            worlds[i].env = script_env(&scripts[i]);
        }
        first = begin_ok(&worlds[0].env, way, list, 1);
        assert_int_equal(pal_send_reference.begin(&worlds[0].env, &other, &bad, way, SOCKET + 256, list, 1, UINT64_MAX),
                         PAL_OK);
        resume_as(other, PAL_OK, 2, false);
        pal_send_reference.end(other);
        other = begin_ok(&worlds[1].env, way, list, 1);
        resume_as(other, PAL_OK, 2, false);
        pal_send_reference.end(other);
        assert_int_equal(pal_send_reference.begin(&worlds[0].env, &other, &bad, way, SOCKET + 256, list, 1, UINT64_MAX),
                         PAL_OK);
        struct pal_send *second = begin_ok(&worlds[0].env, way, list, 1);
        resume_as(second, PAL_WOULD_BLOCK, 0, false);
        resume_as(first, PAL_OK, 2, false);
        pal_send_reference.end(first);
        resume_as(second, PAL_OK, 2, false); /* next on its socket, over the head of the other one's */
        resume_as(other, PAL_OK, 2, false);
        pal_send_reference.end(second);
        pal_send_reference.end(other);
        script_balanced(&scripts[0]);
        script_balanced(&scripts[1]);
    }
}

static void operations_on_one_socket_are_served_in_order(void **state)
{
    static struct script script;
    struct pal_segment list[4] = {bytes_of(text, 2), bytes_of(text + 2, 2), bytes_of(text + 4, 2),
                                  bytes_of(text + 6, 2)};

    (void)state;
    FOR_EACH_WAY(way)
    {
        struct pal_env env = script_env(&script);
        struct pal_send *sends[4];
        uint64_t progress;

        for (size_t i = 0; i < 4; i++) {
            sends[i] = begin_ok(&env, (enum pal_send_way)((way + i) % PAL_SEND_NUM_WAYS), &list[i], 1);
        }
        script_add(&script, (struct script_step){.count = 1});
        script_add(&script, (struct script_step){.status = PAL_WOULD_BLOCK});
        resume_as(sends[1], PAL_WOULD_BLOCK, 0, true);
        assert_int_equal(pal_send_all(&env, &progress, NULL, way, SOCKET, list, 1, UINT64_MAX), PAL_WOULD_BLOCK);
        assert_int_equal(script.num_calls, 0);
        resume_as(sends[0], PAL_WOULD_BLOCK, 1, false);
        script.must_wait = false;
        resume_as(sends[3], PAL_WOULD_BLOCK, 0, false);
        /* One that leaves from the middle lets nobody overtake. */
        pal_send_reference.end(sends[1]);
        resume_as(sends[2], PAL_WOULD_BLOCK, 0, false);
        resume_as(sends[0], PAL_OK, 1, false);
        resume_as(sends[3], PAL_WOULD_BLOCK, 0, false);
        resume_as(sends[2], PAL_OK, 2, false);
        resume_as(sends[3], PAL_OK, 2, false);
        for (size_t i = 0; i < 4; i++) {
            pal_send_reference.end(i == 1 ? NULL : sends[i]);
        }
        assert_memory_equal(script.wire, "abefgh", 6);
        script_balanced(&script);
    }
}

int main(void)
{
    const struct CMUnitTest claims[] = {
        cmocka_unit_test(an_error_comes_with_its_progress_and_stays),
        cmocka_unit_test(a_full_kernel_is_reported_and_can_be_tried_again),
        cmocka_unit_test(a_callee_that_claims_too_much_or_nothing_is_an_error),
        cmocka_unit_test(a_file_that_shrank_is_truncated_with_the_exact_count),
        cmocka_unit_test(a_bad_segment_is_named_before_anything_is_sent),
        cmocka_unit_test(a_sum_that_overflows_is_too_long),
        cmocka_unit_test(bad_arguments_blame_no_segment),
        cmocka_unit_test(an_empty_list_is_done_without_a_call),
        cmocka_unit_test(the_deadline_is_the_operations_not_the_calls),
        cmocka_unit_test(a_cancelled_operation_makes_no_call_and_frees_the_next),
        cmocka_unit_test(sockets_do_not_wait_for_each_other),
        cmocka_unit_test(operations_on_one_socket_are_served_in_order),
    };

    return cmocka_run_group_tests_name("send", claims, NULL, NULL);
}
