/* SPDX-License-Identifier: Apache-2.0
 * bench_tokens.c: connections over loopback TCP whose tokens are pooled or fresh: time, and all that both ends
 * allocate, engine included. The scenarios of the table that .NET's token pooling was judged by, and the same traffic
 * on connections that stand. One thread plays both ends, so that no wake-up is in the figures. TLS 1.2, as there; its
 * records with AES-GCM are 29 bytes longer than their plaintext.
 * It breaks when an operation leaves bytes on its connection: all arms of a world share them.
 */
#include "bench_tls.h"

#include "bench_table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CONNECTIONS_MAX = 64, MODES = PAL_NUM_MODES, SHAPES = PAL_TLS_NUM_SHAPES, ENGINES = 2 };

/* token_case: `connections` handshakes, and on each, if len > 0, so many bytes there and back. A standing one has its
 * handshake behind it. saved: what pooling saved the original, percent; rest: what else the original allocated, which
 * was managed memory only: its engine's is not in it. NAN where it has no such row. */
static const struct token_case {
    const char *name;
    size_t connections;
    size_t len;
    bool mutual;
    bool standing;
    double saved;
    double rest;
} cases[] = {{"handshake", 1, 0, false, false, 4.1, 38921},
             {"mutual handshake", 1, 0, true, false, 4.1, 63621},
             {"1 B", 1, 1, false, false, 4.2, 39233},
             {"1 KiB", 1, 1024, false, false, 6.4, 40131},
             {"16 KiB", 1, 16384, false, false, 17.0, 88390},
             {"64 KiB", 1, 65536, false, false, 30.4, 154256},
             {"1 x 4 KiB", 1, 4096, false, false, 10.1, 51768},
             {"16 x 4 KiB", 16, 4096, false, false, 10.1, 830319},
             {"64 x 4 KiB", 64, 4096, false, false, 10.0, 3320172},
             {"standing, 1 B", 1, 1, false, true, NAN, NAN},
             {"standing, 1 KiB", 1, 1024, false, true, NAN, NAN},
             {"standing, 16 KiB", 1, 16384, false, true, NAN, NAN},
             {"standing, 64 KiB", 1, 65536, false, true, NAN, NAN}};

#define NUM_CASES (sizeof(cases) / sizeof(cases[0]))

static const char *const shape_names[SHAPES] = {"sized", "drain", "callback", "pending"};
static const char *const mode_names[MODES] = {[PAL_FRESH] = "fresh", [PAL_REUSED] = "pooled"};
static const char *const engine_names[ENGINES] = {"openssl", "boringssl"};

/* kind: an arm's name. */
static struct kind {
    char name[32];
    struct tls_kind tls;
} kinds[ENGINES][SHAPES][MODES];

/* subject: an arm. `slack`: bytes of the rentals that its tokens had, and of the tokens. */
static struct subject {
    const struct token_case *what;
    const struct kind *kind;
    struct tls_slack slack;
} subjects[NUM_CASES][ENGINES][SHAPES][MODES];

struct world {
    struct tls_world tls;
    struct tls_pair pairs[CONNECTIONS_MAX];
    struct tls_pair standing[ENGINES][SHAPES][MODES]; /* on the connection of pairs[0] */
};

static void world_free(void *argument)
{
    struct world *world = argument;
    for (size_t i = 0; i < ENGINES * SHAPES * MODES; i++) {
        tls_pair_close(&world->standing[i / MODES / SHAPES][i / MODES % SHAPES][i % MODES]);
    }
    for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
        tls_pair_close(&world->pairs[i]);
        bench_disconnect(world->pairs[i].sockets);
    }
    tls_world_deinit(&world->tls);
    free(world);
}

static void *world_new(void)
{
    struct world *world = calloc(1, sizeof(*world));
    bool good = world != NULL;
    for (size_t i = 0; good && i < CONNECTIONS_MAX; i++) {
        world->pairs[i].sockets[0] = world->pairs[i].sockets[1] = -1;
    }
    good = good && tls_world_init(&world->tls);
    for (size_t i = 0; good && i < CONNECTIONS_MAX; i++) {
        good = bench_connect(world->pairs[i].sockets, 1 << 20);
    }
    if (!good && world != NULL) {
        world_free(world);
    }
    return good ? world : NULL;
}

static const struct bench_counts *counts(const void *world)
{
    return &((const struct world *)world)->tls.env.counts;
}

static bool list(struct bench *bench)
{
    for (size_t i = 0; i < NUM_CASES * ENGINES * SHAPES * MODES; i++) {
        size_t mode = i % MODES;
        size_t shape = i / MODES % SHAPES;
        size_t engine = i / MODES / SHAPES % ENGINES;
        const struct token_case *what = &cases[i / MODES / SHAPES / ENGINES];
        struct kind *kind = &kinds[engine][shape][mode];
        struct subject *subject = &subjects[what - cases][engine][shape][mode];
        (void)snprintf(kind->name, sizeof(kind->name), "%s/%s/%s", engine_names[engine], shape_names[shape],
                       mode_names[mode]);
        kind->tls = (struct tls_kind){engine == 0 ? pal_port_openssl() : pal_port_boringssl(),
                                      (enum pal_tls_shape)shape, (enum pal_mode)mode};
        subject->what = what;
        subject->kind = kind;
        if (kind->tls.port != NULL && kind->tls.port->tls != NULL) {
            (void)bench_add(bench, what->standing ? "tokens standing" : "tokens", what->name, kind->name, subject);
        }
    }
    return bench->num_arms > 0;
}

static bool there_and_back(struct world *world, struct tls_pair *pair, struct subject *subject)
{
    size_t len = subject->what->len;
    return len == 0 || (tls_pair_carry(&world->tls, pair, 0, len, &subject->slack) &&
                        tls_pair_carry(&world->tls, pair, 1, len, &subject->slack));
}

static bool run_standing(struct world *world, struct subject *subject)
{
    const struct tls_kind *kind = &subject->kind->tls;
    struct tls_pair *pair = &world->standing[kind->port == pal_port_openssl() ? 0 : 1][kind->shape][kind->mode];
    pair->sockets[0] = world->pairs[0].sockets[0];
    pair->sockets[1] = world->pairs[0].sockets[1];
    return (pair->ends[0].tls != NULL || tls_pair_open(&world->tls, pair, kind, false, &subject->slack)) &&
           there_and_back(world, pair, subject);
}

static bool run(void *argument, const void *what)
{
    struct world *world = argument;
    struct subject *subject = (struct subject *)(uintptr_t)what; /* one of `subjects` */
    size_t num = subject->what->connections;
    bool good = true;
    if (subject->what->standing) {
        return run_standing(world, subject);
    }
    for (size_t i = 0; good && i < num; i++) {
        good =
            tls_pair_open(&world->tls, &world->pairs[i], &subject->kind->tls, subject->what->mutual, &subject->slack);
    }
    for (size_t i = 0; good && i < num; i++) {
        good = there_and_back(world, &world->pairs[i], subject);
    }
    for (size_t i = 0; i < num; i++) {
        tls_pair_close(&world->pairs[i]);
    }
    return good;
}

/* ---- text ----------------------------------------------------------------------------------------------------------
 */

static const struct bench_arm *arm_of(const struct bench *bench, const struct token_case *what, size_t engine,
                                      size_t shape, enum pal_mode mode)
{
    return bench_find(bench, what->standing ? "tokens standing" : "tokens", what->name,
                      kinds[engine][shape][mode].name);
}

/* Of all bytes, had everything but tokens cost what it cost the original. */
static double saved_as_there(const struct bench *bench, const struct token_case *what, size_t engine)
{
    const struct bench_arm *fresh = arm_of(bench, what, engine, PAL_TLS_DRAIN, PAL_FRESH);
    const struct bench_arm *pooled = arm_of(bench, what, engine, PAL_TLS_DRAIN, PAL_REUSED);
    double saved = fresh == NULL || pooled == NULL ? NAN : fresh->bytes - pooled->bytes;
    return 100 * saved / (saved + what->rest);
}

/* A row: what the original saved, what each shape saves and how its time changes; the drain shape's own figures. */
static void add_row(struct bench_table *table, const struct bench *bench, const struct token_case *what, size_t engine)
{
    double times[SHAPES];
    bench_table_cell(table, "%s", what->name);
    bench_table_cell(table, "%s", engine_names[engine]);
    bench_table_number(table, 1, what->saved, " %");
    bench_table_number(table, 1, saved_as_there(bench, what, engine), " %");
    for (size_t shape = 0; shape < SHAPES; shape++) {
        const struct bench_arm *fresh = arm_of(bench, what, engine, shape, PAL_FRESH);
        const struct bench_arm *pooled = arm_of(bench, what, engine, shape, PAL_REUSED);
        bool both = fresh != NULL && pooled != NULL;
        bench_table_number(table, 1, both ? 100 * (1 - pooled->bytes / fresh->bytes) : NAN, " %");
        times[shape] = bench_ratio(pooled, fresh);
    }
    for (size_t mode = 0; mode < MODES; mode++) {
        const struct bench_arm *arm = arm_of(bench, what, engine, PAL_TLS_DRAIN, (enum pal_mode)mode);
        bench_table_number(table, 0, arm != NULL ? arm->bytes : NAN, "");
        bench_table_number(table, 1, arm != NULL ? arm->allocations : NAN, "");
    }
    for (size_t shape = 0; shape < SHAPES; shape++) {
        bench_table_number(table, 3, times[shape], "");
    }
    const struct tls_slack *slack = &subjects[what - cases][engine][PAL_TLS_DRAIN][PAL_REUSED].slack;
    bench_table_number(table, 2, (double)slack->cap / (double)slack->len, "x");
}

static void print(const struct bench *const benches[], size_t num)
{
    static struct bench_table table;
    (void)puts("Connections over loopback TCP, TLS 1.2 with AES-128-GCM. Bytes saved by pooling: by the original; "
               "here, had all\n"
               "but the tokens cost what it cost there; here, of all that both ends and their engines allocate, in "
               "each shape.\n"
               "Then bytes and allocations of an operation in the drain shape, time pooled / fresh in each shape, "
               "capacity of\n"
               "rented buffers over what was in them:\n");
    bench_table_start(&table, "operation|engine|original|as there|sized|drain|callback|pending|fresh B|allocs|pooled B|"
                              "allocs|t sized|t drain|t callb.|t pend.|slack");
    for (size_t i = 0; i < num * NUM_CASES * ENGINES; i++) {
        add_row(&table, benches[i / ENGINES / NUM_CASES], &cases[i / ENGINES % NUM_CASES], i % ENGINES);
    }
    bench_table_print(&table);
}

const struct bench_group bench_tokens = {.name = "tokens",
                                         .sentence = "TLS connections over loopback TCP, pooled and fresh, by shape",
                                         .rounds = 15,
                                         .threads = {1},
                                         .list = list,
                                         .world_new = world_new,
                                         .world_free = world_free,
                                         .run = run,
                                         .counts = counts,
                                         .print = print};
