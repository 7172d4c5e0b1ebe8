/* SPDX-License-Identifier: Apache-2.0
 * bench_send.c: how long a list of buffers takes to a loopback TCP socket, the five ways beside one buffer as long as
 * the list, with what each of them allocates and calls. Blocking: pal_send_all. Non-blocking: begin, resume, end, the
 * peer reading whenever the socket is full. The reader is the sending thread itself, between two operations and off the
 * clock. On loopback the kernel delivers within the sender's call, so that call's time is whole without anybody
 * reading; a reading thread would add its wakeup, which takes as long as a small send and depends on what else the
 * machine does. Up to 16 operations between two readings gave the same ratios as one; with 64 the window fills, and
 * figures scatter. It breaks when an operation does not fit into the socket's buffers: then reading is on the clock;
 * `calls` tells.
 */
#include "bench_env.h"
#include "bench_table.h"
#include "env.h"
#include "send/send.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { LIST_NUM_MAX = 50, LIST_LEN_MAX = 10000, READ_CAP = 1 << 18 };

/* ---- world: a connection -------------------------------------------------------------------------------------------
 */

struct world {
    struct bench_env env; /* first: it is the context of what it counts */
    int ends[2];          /* ends[0] sends */
    size_t num_read;      /* bytes of this operation that were read */
    uint8_t read_bytes[READ_CAP];
};

/* Reads what there is, and waits until `wanted` bytes of the operation came. */
static bool drain(struct world *world, size_t wanted)
{
    while (true) {
        ssize_t got = recv(world->ends[1], world->read_bytes, READ_CAP, world->num_read < wanted ? 0 : MSG_DONTWAIT);
        if (got > 0) {
            world->num_read += (size_t)got;
        } else if (got == 0 || errno != EINTR) {
            return got < 0 && errno == EAGAIN && world->num_read >= wanted;
        }
    }
}

/* Nobody but this thread reads, so waiting for room means making it. */
static enum pal_status draining_wait(void *context, int socket, uint64_t deadline_ns)
{
    return drain(context, 0) ? pal_env_real()->wait_writable(NULL, socket, deadline_ns) : PAL_SYSTEM;
}

static void world_free(void *argument)
{
    struct world *world = argument;
    bench_env_deinit(&world->env);
    bench_disconnect(world->ends);
    free(world);
}

static void *world_new(void)
{
    struct world *world = calloc(1, sizeof(*world));
    if (world == NULL) {
        (void)fputs("paldiff: no memory for a connection\n", stderr);
        return NULL;
    }
    world->ends[0] = world->ends[1] = -1;
    if (bench_env_init(&world->env) && bench_connect(world->ends, 0)) {
        world->env.counting.wait_writable = draining_wait;
        return world;
    }
    world_free(world);
    return NULL;
}

static const struct bench_counts *counts(const void *world)
{
    return &((const struct world *)world)->env.counts;
}

/* ---- arms ----------------------------------------------------------------------------------------------------------
 */

/* SINGLE is no way of the library: it is one buffer, gathered. */
enum arm { SINGLE, SEQUENTIAL, COPIED, GATHERED, PACKETS, AUTO, NUM_ARMS };

static const struct {
    const char *name;
    enum pal_send_way way;
} arms[NUM_ARMS] = {[SINGLE] = {"single", PAL_SEND_GATHERED},  [SEQUENTIAL] = {"sequential", PAL_SEND_SEQUENTIAL},
                    [COPIED] = {"copied", PAL_SEND_COPIED},    [GATHERED] = {"gathered", PAL_SEND_GATHERED},
                    [PACKETS] = {"packets", PAL_SEND_PACKETS}, [AUTO] = {"auto", PAL_SEND_AUTO}};

static const size_t grid_nums[] = {10, 20, 30, 40, 50};
static const size_t grid_lens[] = {10, 100, 1000, 10000};

#define GRID_ROWS (sizeof(grid_nums) / sizeof(grid_nums[0]))
#define GRID_COLUMNS (sizeof(grid_lens) / sizeof(grid_lens[0]))
#define NUM_CASES (1 + GRID_ROWS * GRID_COLUMNS) /* 25 x 36 first, then the grid row by row */

/* list_case: a case. subject: an arm of it. */
static struct list_case {
    char name[32];
    size_t num, len;
} cases[NUM_CASES];

static struct subject {
    const struct list_case *what;
    enum arm arm;
    bool blocking;
} subjects[2][NUM_CASES * NUM_ARMS];

static const char *const groups[2] = {"send blocking", "send non-blocking"};

/* What is sent: buffers that lie apart, as a program's do, each at the start of a cache line; and one buffer as long as
 * all. Both are written first: memory that never was is one page of zeroes, however much of it is read. */
#define STRIDE(len) (((size_t)(len) / 64 + 2) * 64)
static _Alignas(64) uint8_t apart[LIST_NUM_MAX * STRIDE(LIST_LEN_MAX)];
static _Alignas(64) uint8_t whole[LIST_NUM_MAX * LIST_LEN_MAX];

static bool list(struct bench *bench)
{
    memset(apart, 1, sizeof(apart));
    memset(whole, 1, sizeof(whole));
    for (size_t i = 0; i < 2 * NUM_CASES * NUM_ARMS; i++) {
        size_t blocks = i / (NUM_CASES * NUM_ARMS);
        size_t which = i / NUM_ARMS % NUM_CASES;
        struct list_case *what = &cases[which];
        struct subject *subject = &subjects[blocks][i % (NUM_CASES * NUM_ARMS)];
        what->num = which == 0 ? 25 : grid_nums[(which - 1) / GRID_COLUMNS];
        what->len = which == 0 ? 36 : grid_lens[(which - 1) % GRID_COLUMNS];
        (void)snprintf(what->name, sizeof(what->name), "%zu x %zu B", what->num, what->len);
        *subject = (struct subject){what, (enum arm)(i % NUM_ARMS), blocks == 0};
        (void)bench_add(bench, groups[blocks], what->name, arms[subject->arm].name, subject);
    }
    return true;
}

/* One list, as somebody sends it who has an event loop. */
static enum pal_status send_in_turns(struct world *world, uint64_t *out_progress, enum pal_send_way way,
                                     const struct pal_segment *segments, size_t num)
{
    struct pal_send *send = NULL;
    enum pal_status status =
        pal_send_reference.begin(world->env.env, &send, NULL, way, world->ends[0], segments, num, UINT64_MAX);
    if (status != PAL_OK) {
        return status;
    }
    do {
        uint64_t progress = 0;
        status = pal_send_reference.resume(send, &progress, false);
        *out_progress += progress;
    } while (status == PAL_WOULD_BLOCK && draining_wait(world, world->ends[0], UINT64_MAX) == PAL_OK);
    pal_send_reference.end(send);
    return status;
}

static bool run(void *argument, const void *subject)
{
    struct world *world = argument;
    const struct list_case *what = ((const struct subject *)subject)->what;
    enum arm arm = ((const struct subject *)subject)->arm;
    struct pal_segment segments[LIST_NUM_MAX];
    size_t num = arm == SINGLE ? 1 : what->num;
    uint64_t progress = 0;
    enum pal_status status;
    if (arm == SINGLE) {
        segments[0] = (struct pal_segment){.bytes = {whole, what->num * what->len}, .file = -1};
    } else {
        for (size_t i = 0; i < num; i++) {
            segments[i] = (struct pal_segment){.bytes = {apart + i * STRIDE(what->len), what->len}, .file = -1};
        }
    }
    if (((const struct subject *)subject)->blocking) {
        status =
            pal_send_all(world->env.env, &progress, NULL, arms[arm].way, world->ends[0], segments, num, UINT64_MAX);
    } else {
        status = send_in_turns(world, &progress, arms[arm].way, segments, num);
    }
    return status == PAL_OK && progress == what->num * what->len;
}

static bool settle(void *argument, const void *subject)
{
    struct world *world = argument;
    const struct list_case *what = ((const struct subject *)subject)->what;
    bool good = drain(world, what->num * what->len) && world->num_read == what->num * what->len;
    world->num_read = 0;
    return good;
}

/* ---- text ----------------------------------------------------------------------------------------------------------
 */

static double ratio(const struct bench *bench, size_t blocks, size_t which, enum arm over, enum arm under)
{
    return bench_ratio(bench_find(bench, groups[blocks], cases[which].name, arms[over].name),
                       bench_find(bench, groups[blocks], cases[which].name, arms[under].name));
}

static double auto_to_better(const struct bench *bench, size_t blocks, size_t which)
{
    return fmax(ratio(bench, blocks, which, AUTO, COPIED), ratio(bench, blocks, which, AUTO, GATHERED));
}

static void print_headline(const struct bench *const benches[], size_t num)
{
    static struct bench_table table;
    (void)puts("25 buffers of 36 bytes to loopback TCP:\n");
    bench_table_start(&table, "way|peer|threads|median|low|high|x single|allocations|bytes|calls");
    for (size_t i = 0; i < num * 2 * NUM_ARMS; i++) {
        size_t blocks = i / NUM_ARMS % 2;
        const struct bench *bench = benches[i / NUM_ARMS / 2];
        const struct bench_arm *arm = bench_find(bench, groups[blocks], cases[0].name, arms[i % NUM_ARMS].name);
        if (arm != NULL) {
            bench_table_cell(&table, "%s", arm->name);
            bench_table_cell(&table, "%s", groups[blocks] + strlen("send "));
            bench_table_cell(&table, "%lu", bench->threads);
            bench_table_cell(&table, "%.0f ns", arm->median_ns);
            bench_table_cell(&table, "%.0f", arm->low_ns);
            bench_table_cell(&table, "%.0f", arm->high_ns);
            bench_table_number(&table, 2, ratio(bench, blocks, 0, (enum arm)(i % NUM_ARMS), SINGLE), "x");
            bench_table_cell(&table, "%.2f", arm->allocations);
            bench_table_cell(&table, "%.0f", arm->bytes);
            bench_table_cell(&table, "%.2f", arm->calls);
        }
    }
    bench_table_print(&table);
}

/* A row for each number of buffers, a column for each length and figure. */
static void print_grid(const struct bench *bench, size_t blocks)
{
    static struct bench_table table;
    (void)printf(
        "%s, %lu thread%s: gathered / copied, packets / gathered, auto / the better of copied and gathered:\n\n",
        groups[blocks], bench->threads, bench->threads > 1 ? "s" : "");
    bench_table_start(&table,
                      "buffers|g/c 10 B|100 B|1000 B|10000 B|p/g 10 B|100 B|1000 B|10000 B|auto 10 B|100 B|1000 B|"
                      "10000 B");
    for (size_t row = 0; row < GRID_ROWS; row++) {
        bench_table_cell(&table, "%zu", grid_nums[row]);
        for (size_t i = 0; i < 3 * GRID_COLUMNS; i++) {
            size_t which = 1 + row * GRID_COLUMNS + i % GRID_COLUMNS;
            const double figures[] = {ratio(bench, blocks, which, GATHERED, COPIED),
                                      ratio(bench, blocks, which, PACKETS, GATHERED),
                                      auto_to_better(bench, blocks, which)};
            bench_table_number(&table, 2, figures[i / GRID_COLUMNS], "");
        }
    }
    bench_table_print(&table);
}

static void print(const struct bench *const benches[], size_t num)
{
    print_headline(benches, num);
    for (size_t i = 0; i < 2 * num; i++) {
        double values[NUM_CASES];
        size_t num_values = 0;
        for (size_t which = 1; which < NUM_CASES; which++) {
            values[num_values] = auto_to_better(benches[i / 2], i % 2, which);
            num_values += isnan(values[num_values]) ? 0 : 1;
        }
        print_grid(benches[i / 2], i % 2);
        (void)printf("Median of auto over the grid: %.3f\n\n", bench_median(values, num_values));
    }
}

const struct bench_group bench_send = {.name = "send",
                                       .sentence = "lists of buffers to loopback TCP, by way",
                                       .rounds = 100,
                                       .threads = {1},
                                       .list = list,
                                       .world_new = world_new,
                                       .world_free = world_free,
                                       .run = run,
                                       .settle = settle,
                                       .counts = counts,
                                       .print = print};
