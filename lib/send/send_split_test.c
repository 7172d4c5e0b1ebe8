/* SPDX-License-Identifier: Apache-2.0
 * send_split_test.c: one claim: whatever a socket takes, call by call, the same bytes arrive, in as many calls as must
 * be. All lists of up to 3 segments of 0 to 3 bytes, each as bytes or as a file region, by every way, under every
 * schedule of short writes, with and without waits in between. Flags, sizes and waits are audited by the environment.
 * It breaks when a way answers to totals: the thresholds of auto lie far above these lists; send_test.c has them.
 */
#include "send_test.h"

enum { NUM_SEGMENTS_MAX = 3, LEN_MAX = 3, KINDS = 2 * (LEN_MAX + 1), TOTAL_MAX = NUM_SEGMENTS_MAX * LEN_MAX };

enum mode { STRAIGHT, BLOCKING, NOT_BLOCKING, NUM_MODES };

struct list {
    struct pal_segment segments[NUM_SEGMENTS_MAX];
    size_t num_segments;
    uint8_t bytes[NUM_SEGMENTS_MAX][LEN_MAX];
    bool has_file;
    uint8_t stream[TOTAL_MAX]; /* the plain concatenation */
    size_t total;
    uint32_t ends;      /* bit i: a segment ends before byte i */
    uint32_t file_ends; /* the same, where a file is on either side */
};

/* Segment i is code % KINDS: a length, and whether it is of a file. */
static struct list list_of(size_t num_segments, unsigned code, const struct script *script)
{
    struct list list = {.num_segments = num_segments};
    bool after_file = false;

    for (size_t i = 0; i < num_segments; i++, code /= KINDS) {
        size_t len = code % (LEN_MAX + 1);
        bool is_file = code % KINDS > LEN_MAX;
        uint64_t offset = len > 0 ? i + 1 : FILE_CAP; /* file_len 0 is "to the end": empty only there */

        for (size_t j = 0; j < len; j++) {
            list.bytes[i][j] = (uint8_t)('a' + i * LEN_MAX + j);
        }
        list.segments[i] = is_file ? region_of(FILE_FIRST + (int)i, offset, len) : bytes_of(list.bytes[i], len);
        memcpy(list.stream + list.total, is_file ? script->files[i] + offset : list.bytes[i], len);
        list.has_file |= is_file;
        if (len == 0) {
            continue;
        }
        list.ends |= 1u << list.total;
        if (is_file || after_file) {
            list.file_ends |= 1u << list.total;
        }
        after_file = is_file;
        list.total += len;
    }
    return list;
}

static size_t count_bits(uint32_t bits)
{
    return (size_t)__builtin_popcount(bits);
}

/* Calls that this way needs when no call takes bytes on both sides of a cut. Bit 0 of `ends` is no cut. */
static size_t calls_needed(enum pal_send_way way, const struct list *list, uint32_t cuts)
{
    if (list->total == 0) {
        return 0;
    }
    if (way == PAL_SEND_SEQUENTIAL) {
        cuts |= list->ends;
    } else if (way == PAL_SEND_PACKETS || way == PAL_SEND_AUTO) {
        cuts |= list->file_ends;
    }
    return count_bits(cuts & ~1u) + 1;
}

/* A step for each stretch between two cuts; a stretch that spans pieces is served by several calls, so the steps are
 * cut there, too. */
static void write_script(struct script *script, size_t total, uint32_t cuts, enum mode mode)
{
    size_t from = 0;

    for (size_t at = 1; at <= total; at++) {
        if (at < total && (cuts >> at & 1) == 0) {
            continue;
        }
        if (mode != STRAIGHT) {
            script_add(script, (struct script_step){.status = PAL_WOULD_BLOCK});
        }
        script_add(script, (struct script_step){.count = at - from});
        from = at;
    }
}

static void drive(struct pal_send *send, struct script *script, size_t total, enum mode mode)
{
    uint64_t all = 0;
    enum pal_status status;

    do {
        uint64_t progress = UINT64_MAX, before = script->wire_len;

        script->must_wait = false;
        status = pal_send_reference.resume(send, &progress, mode == BLOCKING);
        assert_int_equal(progress, script->wire_len - before);
        all += progress;
    } while (status == PAL_WOULD_BLOCK && mode == NOT_BLOCKING && script->num_calls < STEPS_MAX);
    assert_int_equal(status, PAL_OK);
    assert_int_equal(all, total);
}

static void play(const char *what, enum pal_send_way way, const struct list *given, uint32_t cuts, enum mode mode)
{
    static struct script script;
    struct pal_env env = script_env(&script);
    struct list list = *given;
    uint32_t all_cuts = cuts;
    struct pal_send *send;
    size_t needed;

    /* The copy points at this function's bytes, not at the caller's. */
    for (size_t i = 0; i < list.num_segments; i++) {
        if (list.segments[i].file == -1) {
            list.segments[i].bytes.data = list.bytes[i];
        }
    }
    if (way == PAL_SEND_SEQUENTIAL) {
        all_cuts |= list.ends;
    } else if (takes_files(way)) {
        all_cuts |= list.file_ends;
    }
    write_script(&script, list.total, all_cuts, mode);
    script.list_end = list.total;
    send = begin_ok(&env, way, list.segments, list.num_segments);
    assert_int_equal(script.num_calls, 0);
    memset(list.segments, 0xa5, sizeof(list.segments));
    drive(send, &script, list.total, mode);
    memset(list.bytes, 0xa5, sizeof(list.bytes));
    needed = calls_needed(way, &list, cuts);
    resume_as(send, PAL_OK, 0, true);
    pal_send_reference.end(send);
    if (script.num_calls != needed + (mode == STRAIGHT ? 0 : needed) || script.wire_len != list.total ||
        memcmp(script.wire, list.stream, list.total) != 0) {
        fail_msg("%s, %s, cuts %x, mode %d: got %zu calls and \"%.*s\", want %zu and \"%.*s\"", way_names[way], what,
                 cuts, mode, script.num_calls, (int)script.wire_len, script.wire, needed, (int)list.total, list.stream);
    }
    assert_int_equal(script.num_waits, mode == BLOCKING ? needed : 0);
    assert_int_equal(script.num_allocs, 1);
    script_balanced(&script);
}

static void play_all_ways(const struct list *list, const char *what)
{
    uint32_t num_schedules = list->total > 0 ? 1u << (list->total - 1) : 1;

    for (int way = 0; way < PAL_SEND_NUM_WAYS; way++) {
        if (list->has_file && !takes_files((enum pal_send_way)way)) {
            continue;
        }
        for (uint32_t schedule = 0; schedule < num_schedules; schedule++) {
            for (int mode = 0; mode < NUM_MODES; mode++) {
                play(what, (enum pal_send_way)way, list, schedule << 1, (enum mode)mode);
            }
        }
    }
}

static void every_split_brings_the_same_bytes(void **state)
{
    static struct script files;
    unsigned num_lists = 1;

    (void)state;
    (void)script_env(&files);
    for (size_t num_segments = 0; num_segments <= NUM_SEGMENTS_MAX; num_segments++, num_lists *= KINDS) {
        for (unsigned code = 0; code < num_lists; code++) {
            struct list list = list_of(num_segments, code, &files);
            char what[64];

            (void)snprintf(what, sizeof(what), "list %zu/%u", num_segments, code);
            play_all_ways(&list, what);
        }
    }
}

int main(void)
{
    const struct CMUnitTest claims[] = {
        cmocka_unit_test(every_split_brings_the_same_bytes),
    };

    return cmocka_run_group_tests_name("send_split", claims, NULL, NULL);
}
