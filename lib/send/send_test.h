/* SPDX-License-Identifier: Apache-2.0
 * send_test.h: a scripted environment for the tests of lib/send: limits, answers and files are values of the test.
 * It audits each call as it comes, so every test checks flags, sizes and waits, whatever it is about.
 * It breaks when a test lets a script end within a list of its own: past its end every call is served whole.
 */
#ifndef PAL_SEND_TEST_H
#define PAL_SEND_TEST_H

#include "send.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

enum { SOCKET = 7, FILE_FIRST = 100, NUM_FILES = 3, FILE_CAP = 16, STEPS_MAX = 64, WIRE_CAP = 1 << 16 };

/* The library's own limits, written down a second time. */
#define TEST_IOVECS_MAX 1024u
#define TEST_CALL_LEN_MAX 0x7ffff000u

/* script_step: the answer to one call. PAL_OK takes `count` bytes, or what was offered when that is less; `lie` claims
 * `count` bytes more than were offered. `again`: for all further calls, too. */
struct script_step {
    enum pal_status status;
    uint64_t count;
    bool lie;
    bool again;
};

struct script {
    struct script_step steps[STEPS_MAX];
    size_t num_steps, next_step;
    size_t iovecs_max;
    bool count_only; /* lengths are made up: no byte is read */
    /* seen */
    uint8_t wire[WIRE_CAP];
    uint64_t wire_len;
    uint64_t list_end; /* wire_len after the list: MSG_MORE is due before, and wrong at the end; 0: not checked */
    size_t num_calls, num_waits, num_sizes;
    bool must_wait; /* nothing may be called before a wait or the next resume */
    /* files */
    uint8_t files[NUM_FILES][FILE_CAP];
    uint64_t file_lens[NUM_FILES];
    uint64_t last_offset; /* of sendfile */
    /* time */
    uint64_t now_ns, wait_ns;
    /* memory */
    size_t num_allocs, fail_alloc; /* 1 for the first */
    size_t num_live, num_rents, num_rented, fail_rent;
};

static inline void *script_alloc(void *context, size_t len)
{
    struct script *script = context;

    if (++script->num_allocs == script->fail_alloc) {
        return NULL;
    }
    script->num_live++;
    return malloc(len);
}

static inline void script_free(void *context, void *memory)
{
    struct script *script = context;

    script->num_live -= memory != NULL;
    free(memory);
}

static inline enum pal_status script_rent(void *context, struct pal_buffer *out, size_t min_cap)
{
    struct script *script = context;

    if (++script->num_rents == script->fail_rent) {
        return PAL_NO_MEMORY;
    }
    script->num_rented++;
    *out = (struct pal_buffer){malloc(min_cap), min_cap, 1, 1};
    return PAL_OK;
}

static inline enum pal_status script_release(void *context, struct pal_buffer *buffer, bool clear)
{
    struct script *script = context;

    (void)clear;
    assert_non_null(buffer->data);
    script->num_rented--;
    free(buffer->data);
    *buffer = (struct pal_buffer){0};
    return PAL_OK;
}

/* The step for this call, with `count` set to what is taken of `offered`. */
static inline struct script_step script_next(struct script *script, uint64_t offered)
{
    struct script_step step = {.count = UINT64_MAX};

    assert_false(script->must_wait);
    script->num_calls++;
    if (script->next_step < script->num_steps) {
        step = script->steps[script->next_step];
        script->next_step += !step.again;
    }
    script->must_wait = step.status == PAL_WOULD_BLOCK;
    if (step.lie) {
        step.count += offered;
    } else if (step.count > offered) {
        step.count = offered;
    }
    return step;
}

static inline enum pal_status script_sendmsg(void *context, size_t *out_sent, int socket, const struct iovec *segments,
                                             size_t num_segments, int flags)
{
    struct script *script = context;
    uint64_t offered = 0, taken = 0;
    struct script_step step;

    assert_true(socket >= 0);
    assert_int_equal(flags & ~MSG_MORE, MSG_NOSIGNAL | MSG_DONTWAIT);
    assert_true(num_segments > 0 && num_segments <= TEST_IOVECS_MAX);
    for (size_t i = 0; i < num_segments; i++) {
        assert_true(segments[i].iov_base != NULL && segments[i].iov_len > 0);
        offered += segments[i].iov_len;
    }
    assert_true(offered <= TEST_CALL_LEN_MAX);
    if (script->list_end > 0) {
        assert_true(script->wire_len + offered <= script->list_end);
        assert_int_equal((flags & MSG_MORE) != 0, script->wire_len + offered < script->list_end);
    }
    if (num_segments > script->iovecs_max) {
        script->num_calls++;
        return PAL_TOO_LONG;
    }
    step = script_next(script, offered);
    if (step.status != PAL_OK) {
        return step.status;
    }
    for (size_t i = 0; i < num_segments && taken < step.count && !step.lie; i++) {
        uint64_t part = segments[i].iov_len < step.count - taken ? segments[i].iov_len : step.count - taken;

        if (!script->count_only) {
            assert_true(script->wire_len + part <= WIRE_CAP);
            memcpy(script->wire + script->wire_len, segments[i].iov_base, part);
        }
        script->wire_len += part;
        taken += part;
    }
    *out_sent = step.count;
    return PAL_OK;
}

static inline enum pal_status script_sendfile(void *context, size_t *out_sent, int socket, int file, uint64_t offset,
                                              size_t len)
{
    struct script *script = context;
    int index = file - FILE_FIRST;
    struct script_step step;
    uint64_t there;

    assert_true(socket >= 0);
    assert_true(index >= 0 && index < NUM_FILES);
    assert_true(len > 0 && len <= TEST_CALL_LEN_MAX);
    script->last_offset = offset;
    there = offset < script->file_lens[index] ? script->file_lens[index] - offset : 0;
    step = script_next(script, there < len ? there : len);
    if (step.status != PAL_OK) {
        return step.status;
    }
    if (!script->count_only && !step.lie) {
        memcpy(script->wire + script->wire_len, script->files[index] + offset, step.count);
    }
    script->wire_len += step.lie ? 0 : step.count;
    *out_sent = step.count;
    return PAL_OK;
}

static inline enum pal_status script_file_size(void *context, uint64_t *out_size, int file)
{
    struct script *script = context;
    int index = file - FILE_FIRST;

    script->num_sizes++;
    if (index < 0 || index >= NUM_FILES) {
        return PAL_BAD_ARGUMENT;
    }
    *out_size = script->file_lens[index];
    return PAL_OK;
}

static inline uint64_t script_now_ns(void *context)
{
    return ((struct script *)context)->now_ns;
}

static inline enum pal_status script_wait(void *context, int socket, uint64_t deadline_ns)
{
    struct script *script = context;

    assert_true(socket >= 0);
    assert_true(script->must_wait);
    script->must_wait = false;
    script->num_waits++;
    script->now_ns += script->wait_ns;
    return script->now_ns >= deadline_ns ? PAL_TIMED_OUT : PAL_OK;
}

/* script_env: a fresh script, and an environment with a pool over it. */
static inline struct pal_env script_env(struct script *script)
{
    *script = (struct script){.iovecs_max = TEST_IOVECS_MAX};
    for (int i = 0; i < NUM_FILES; i++) {
        script->file_lens[i] = FILE_CAP;
        for (int j = 0; j < FILE_CAP; j++) {
            script->files[i][j] = (uint8_t)('A' + i * FILE_CAP + j);
        }
    }
    return (struct pal_env){.context = script,
                            .alloc = script_alloc,
                            .free = script_free,
                            .rent = script_rent,
                            .release = script_release,
                            .now_ns = script_now_ns,
                            .sendmsg = script_sendmsg,
                            .sendfile = script_sendfile,
                            .file_size = script_file_size,
                            .wait_writable = script_wait};
}

static inline void script_add(struct script *script, struct script_step step)
{
    assert_true(script->num_steps < STEPS_MAX);
    script->steps[script->num_steps++] = step;
}

/* script_balanced: all memory is back. */
static inline void script_balanced(const struct script *script)
{
    assert_int_equal(script->num_live, 0);
    assert_int_equal(script->num_rented, 0);
}

static const char *const way_names[PAL_SEND_NUM_WAYS] = {"sequential", "copied", "gathered", "packets", "auto"};

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

/* begin_ok: begin that must succeed, on SOCKET and without a deadline. */
static inline struct pal_send *begin_ok(const struct pal_env *env, enum pal_send_way way,
                                        const struct pal_segment *segments, size_t num_segments)
{
    struct pal_send *send = NULL;
    size_t bad = 12345;

    assert_int_equal(pal_send_reference.begin(env, &send, &bad, way, SOCKET, segments, num_segments, UINT64_MAX),
                     PAL_OK);
    assert_non_null(send);
    assert_int_equal(bad, 12345);
    return send;
}

/* resume_as: one resume, which must answer `status` with this progress. */
static inline void resume_as(struct pal_send *send, enum pal_status status, uint64_t progress, bool blocking)
{
    uint64_t got = UINT64_MAX;
    enum pal_status answer = pal_send_reference.resume(send, &got, blocking);

    if (answer != status || got != progress) {
        fail_msg("resume: got %s with %llu bytes, want %s with %llu", pal_status_name(answer), (unsigned long long)got,
                 pal_status_name(status), (unsigned long long)progress);
    }
}

#endif
