/* SPDX-License-Identifier: Apache-2.0
 * bench_send.c: how long a list of buffers takes to a loopback TCP socket, the five ways beside one buffer as long as
 * the list, with what each of them allocates and calls.
 * The reader is the sending thread itself, between two operations and off the clock. On loopback the kernel delivers
 * within the sender's call, so that call's time is whole without anybody reading; a reading thread would add its
 * wakeup, which takes as long as a small send and depends on what else the machine does. Up to 16 operations between
 * two readings gave the same ratios as one; with 64 the window fills, and figures scatter. It breaks when an operation
 * does not fit into the socket's buffers: then reading is on the clock; `calls` tells.
 */
#include "bench.h"
#include "env.h"
#include "pool/pool.h"
#include "send/send.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LIST_NUM_MAX = 50, LIST_LEN_MAX = 10000, READ_CAP = 1 << 18 };

/* ---- world: a connection, and an environment that counts ------------------------------------------------------------
 */

struct world {
    int ends[2];     /* ends[0] sends */
    size_t num_sent; /* bytes that were not read yet */
    struct bench_counts counts;
    struct pal_env counting;
    struct pal_pool *pool;
    struct pal_pool_bound bound;
    uint8_t read_bytes[READ_CAP];
};

static void *counted_alloc(void *context, size_t len)
{
    struct world *world = context;
    world->counts.allocations++;
    world->counts.bytes += len;
    return pal_env_real()->alloc(NULL, len);
}

static enum pal_status counted_sendmsg(void *context, size_t *out_sent, int socket, const struct iovec *segments,
                                       size_t num_segments, int flags)
{
    struct world *world = context;
    world->counts.calls++;
    enum pal_status status = pal_env_real()->sendmsg(NULL, out_sent, socket, segments, num_segments, flags);
    world->num_sent += status == PAL_OK ? *out_sent : 0;
    return status;
}

static enum pal_status counted_sendfile(void *context, size_t *out_sent, int socket, int file, uint64_t offset,
                                        size_t len)
{
    struct world *world = context;
    world->counts.calls++;
    enum pal_status status = pal_env_real()->sendfile(NULL, out_sent, socket, file, offset, len);
    world->num_sent += status == PAL_OK ? *out_sent : 0;
    return status;
}

/* Reads all that was sent. */
static bool drain(struct world *world)
{
    while (world->num_sent > 0) {
        size_t wanted = world->num_sent < READ_CAP ? world->num_sent : READ_CAP;
        ssize_t got = recv(world->ends[1], world->read_bytes, wanted, 0);
        if (got == 0 || (got < 0 && errno != EINTR)) {
            return false;
        }
        world->num_sent -= got > 0 ? (size_t)got : 0;
    }
    return true;
}

/* Nobody but this thread reads, so waiting for room means making it. */
static enum pal_status draining_wait(void *context, int socket, uint64_t deadline_ns)
{
    return drain(context) ? pal_env_real()->wait_writable(NULL, socket, deadline_ns) : PAL_SYSTEM;
}

/* connect_pair: a loopback TCP connection. TCP_NODELAY, or an operation waits for the acknowledgement of the one
 * before, and its bytes leave with others. A reader that gets nothing gives up after some seconds. */
static bool connect_pair(int ends[2])
{
    const int one = 1;
    const struct timeval patience = {.tv_sec = 10};
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(address);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool good = listener >= 0 && bind(listener, (struct sockaddr *)&address, len) == 0 && listen(listener, 1) == 0 &&
                getsockname(listener, (struct sockaddr *)&address, &len) == 0;
    ends[0] = good ? socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) : -1;
    good = ends[0] >= 0 && connect(ends[0], (struct sockaddr *)&address, len) == 0;
    ends[1] = good ? accept(listener, NULL, NULL) : -1;
    good = ends[1] >= 0 && setsockopt(ends[0], IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) == 0 &&
           setsockopt(ends[1], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) == 0;
    int error = errno;
    if (listener >= 0) {
        (void)close(listener);
    }
    errno = error;
    return good;
}

static void world_free(void *argument)
{
    struct world *world = argument;
    if (world->pool != NULL) {
        pal_pool_reference.close(world->pool);
    }
    for (size_t i = 0; i < 2; i++) {
        if (world->ends[i] >= 0) {
            (void)close(world->ends[i]);
        }
    }
    free(world);
}

static void *world_new(void)
{
    const struct pal_pool_config config = {0};
    struct world *world = calloc(1, sizeof(*world));
    if (world == NULL) {
        (void)fputs("paldiff: no memory for a connection\n", stderr);
        return NULL;
    }
    world->ends[0] = world->ends[1] = -1;
    world->counting = *pal_env_real();
    world->counting.context = world;
    world->counting.alloc = counted_alloc;
    world->counting.sendmsg = counted_sendmsg;
    world->counting.sendfile = counted_sendfile;
    world->counting.wait_writable = draining_wait;
    if (!connect_pair(world->ends)) {
        (void)fprintf(stderr, "paldiff: no connection over loopback TCP: %s\n", strerror(errno));
    } else if (pal_pool_reference.open(&world->counting, &world->pool, &config) == PAL_OK) {
        pal_pool_bind(&world->bound, &world->counting, world->pool);
        return world;
    } else {
        (void)fputs("paldiff: no memory for a pool\n", stderr);
    }
    world_free(world);
    return NULL;
}

static const struct bench_counts *counts(const void *world)
{
    return &((const struct world *)world)->counts;
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
} subjects[NUM_CASES * NUM_ARMS];

/* What is sent: buffers that lie apart, as a program's do, each at the start of a cache line; and one buffer as long as
 * all. Both are written first: memory that never was is one page of zeroes, however much of it is read. */
#define STRIDE(len) (((size_t)(len) / 64 + 2) * 64)
static _Alignas(64) uint8_t apart[LIST_NUM_MAX * STRIDE(LIST_LEN_MAX)];
static _Alignas(64) uint8_t whole[LIST_NUM_MAX * LIST_LEN_MAX];

static bool list(struct bench *bench)
{
    memset(apart, 1, sizeof(apart));
    memset(whole, 1, sizeof(whole));
    for (size_t i = 0; i < NUM_CASES * NUM_ARMS; i++) {
        struct list_case *what = &cases[i / NUM_ARMS];
        size_t at = i / NUM_ARMS - 1;
        what->num = i < NUM_ARMS ? 25 : grid_nums[at / GRID_COLUMNS];
        what->len = i < NUM_ARMS ? 36 : grid_lens[at % GRID_COLUMNS];
        (void)snprintf(what->name, sizeof(what->name), "%zu x %zu B", what->num, what->len);
        subjects[i] = (struct subject){what, (enum arm)(i % NUM_ARMS)};
        bench_add(bench, "send", what->name, arms[subjects[i].arm].name, &subjects[i]);
    }
    return true;
}

static bool run(void *argument, const void *subject)
{
    struct world *world = argument;
    const struct list_case *what = ((const struct subject *)subject)->what;
    enum arm arm = ((const struct subject *)subject)->arm;
    struct pal_segment segments[LIST_NUM_MAX];
    size_t num = arm == SINGLE ? 1 : what->num;
    uint64_t progress = 0;
    if (arm == SINGLE) {
        segments[0] = (struct pal_segment){.bytes = {whole, what->num * what->len}, .file = -1};
    } else {
        for (size_t i = 0; i < num; i++) {
            segments[i] = (struct pal_segment){.bytes = {apart + i * STRIDE(what->len), what->len}, .file = -1};
        }
    }
    return pal_send_all(&world->bound.env, &progress, NULL, arms[arm].way, world->ends[0], segments, num, UINT64_MAX) ==
               PAL_OK &&
           progress == what->num * what->len;
}

static bool settle(void *world, const void *subject)
{
    (void)subject;
    return drain(world);
}

/* ---- text ----------------------------------------------------------------------------------------------------------
 */

/* figure: a ratio of medians in a case. */
typedef double figure_fn(const struct bench *bench, size_t which);

static double ratio(const struct bench *bench, size_t which, enum arm over, enum arm under)
{
    return bench_ratio(bench, which * NUM_ARMS + over, which * NUM_ARMS + under);
}

static double auto_to_better(const struct bench *bench, size_t which)
{
    double to_copied = ratio(bench, which, AUTO, COPIED);
    double to_gathered = ratio(bench, which, AUTO, GATHERED);
    return to_copied > to_gathered || isnan(to_copied) ? to_copied : to_gathered;
}

static double gathered_to_copied(const struct bench *bench, size_t which)
{
    return ratio(bench, which, GATHERED, COPIED);
}

static double packets_to_gathered(const struct bench *bench, size_t which)
{
    return ratio(bench, which, PACKETS, GATHERED);
}

/* A ratio that could not be measured is a dash. */
static const char *ratio_text(char text[16], double value)
{
    (void)snprintf(text, 16, isnan(value) ? "-" : "%.2f", value);
    return text;
}

static void print_first_case(const struct bench *bench)
{
    (void)printf("%-12s %-10s %7s %9s %8s %8s %8s %11s %7s %6s\n", "case", "arm", "threads", "median ns", "low", "high",
                 "x single", "allocations", "bytes", "calls");
    for (size_t i = 0; i < NUM_ARMS; i++) {
        const struct bench_arm *arm = &bench->arms[i];
        char text[16];
        if (!arm->failed) {
            (void)printf("%-12s %-10s %7lu %9.0f %8.0f %8.0f %8s %11.2f %7.0f %6.2f\n", arm->case_name, arm->name,
                         bench->threads, arm->median_ns, arm->low_ns, arm->high_ns,
                         ratio_text(text, bench_ratio(bench, i, SINGLE)), arm->allocations, arm->bytes, arm->calls);
        }
    }
}

static void print_grid(const struct bench *bench, const char *title, figure_fn *figure)
{
    (void)printf("\n%-32s", title);
    for (size_t column = 0; column < GRID_COLUMNS; column++) {
        (void)printf(" %6zu B", grid_lens[column]);
    }
    (void)putchar('\n');
    for (size_t row = 0; row < GRID_ROWS; row++) {
        (void)printf("%20zu buffers of%*s", grid_nums[row], 1, "");
        for (size_t column = 0; column < GRID_COLUMNS; column++) {
            char text[16];
            (void)printf(" %8s", ratio_text(text, figure(bench, 1 + row * GRID_COLUMNS + column)));
        }
        (void)putchar('\n');
    }
}

static void print(const struct bench *bench)
{
    double values[NUM_CASES];
    size_t num = 0;
    char texts[4][16];
    print_first_case(bench);
    print_grid(bench, "auto / better of copied, gathered", auto_to_better);
    print_grid(bench, "gathered / copied", gathered_to_copied);
    print_grid(bench, "packets / gathered", packets_to_gathered);
    for (size_t i = 1; i < NUM_CASES; i++) {
        values[num] = auto_to_better(bench, i);
        num += isnan(values[num]) ? 0 : 1;
    }
    (void)printf("\n%s: auto/single %s, gathered/single %s, packets/gathered %s; grid's median of auto/min(copied, "
                 "gathered) %s\n",
                 cases[0].name, ratio_text(texts[0], ratio(bench, 0, AUTO, SINGLE)),
                 ratio_text(texts[1], ratio(bench, 0, GATHERED, SINGLE)),
                 ratio_text(texts[2], packets_to_gathered(bench, 0)), ratio_text(texts[3], bench_median(values, num)));
}

static void add_fields(struct cJSON *row, const struct bench *bench, size_t index)
{
    double over_single = bench_ratio(bench, index, index / NUM_ARMS * NUM_ARMS + SINGLE);
    if (!isnan(over_single)) {
        (void)cJSON_AddNumberToObject(row, "over_single", over_single);
    }
}

const struct bench_group bench_send = {.name = "send",
                                       .list = list,
                                       .world_new = world_new,
                                       .world_free = world_free,
                                       .run = run,
                                       .settle = settle,
                                       .counts = counts,
                                       .add_fields = add_fields,
                                       .print = print};
