/* SPDX-License-Identifier: Apache-2.0
 * bench.c: batches of an arm, one arm after the other, round after round, so that a machine that slows down slows all
 * of them; threads run the same arm at the same time. Then quartiles over the batches. It knows no arm. It breaks where
 * CLOCK_MONOTONIC is coarser than an operation that is followed by `settle`.
 */
#include "bench.h"

#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* What a batch aims at, `settle` included: long enough to let an interrupt disappear in a quartile, short enough for
 * 360 arms and 100 rounds in a quarter of a minute. */
#define BATCH_NS 300e3
#define BATCH_OPS_MAX 1000u

/* worker: a thread, its world, and its samples: of each arm one per round. */
struct worker {
    struct bench *bench;
    struct crew *crew;
    pthread_t thread;
    void *world;
    double *samples;
    struct bench_counts used[BENCH_ARMS_MAX];
    bool failed[BENCH_ARMS_MAX];
};

/* crew: all workers. They wait at `gate` until all of them exist, because a barrier waits for missing ones for ever. */
struct crew {
    pthread_barrier_t barrier;
    pthread_mutex_t gate;
    bool called_off;
    double clock_ns; /* what an empty interval takes */
    double *all;     /* room for an arm's samples from all threads */
    struct worker workers[BENCH_THREADS_MAX];
};

double bench_now_ns(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static int compare_values(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return x < y ? -1 : (x > y ? 1 : 0);
}

double bench_median(double *values, size_t num)
{
    qsort(values, num, sizeof(*values), compare_values);
    return num > 0 ? values[num / 2] : NAN;
}

double bench_ratio(const struct bench_arm *over, const struct bench_arm *under)
{
    return over == NULL || under == NULL ? NAN : over->median_ns / under->median_ns;
}

const struct bench_arm *bench_find(const struct bench *bench, const char *group, const char *case_name,
                                   const char *name)
{
    for (size_t i = 0; bench != NULL && i < bench->num_arms; i++) {
        const struct bench_arm *arm = &bench->arms[i];
        if (!arm->failed && strcmp(arm->case_name, case_name) == 0 && strcmp(arm->name, name) == 0 &&
            strcmp(arm->group, group) == 0) {
            return arm;
        }
    }
    return NULL;
}

struct bench_arm *bench_add(struct bench *bench, const char *group, const char *case_name, const char *name,
                            const void *subject)
{
    struct bench_arm *arm = &bench->arms[bench->num_arms++];
    assert(bench->num_arms <= BENCH_ARMS_MAX);
    *arm = (struct bench_arm){.group = group,
                              .case_name = case_name,
                              .name = name,
                              .subject = subject,
                              .counted = bench->group->counts != NULL};
    return arm;
}

/* ---- batches -------------------------------------------------------------------------------------------------------
 */

double bench_clock_ns(void)
{
    enum { NUM = 1001 };
    double costs[NUM];
    for (size_t i = 0; i < NUM; i++) {
        double start = bench_now_ns();
        costs[i] = bench_now_ns() - start;
    }
    return bench_median(costs, NUM);
}

/* One operation and what follows it; *out_ns grows by the operation's time alone. */
static bool one_op(const struct worker *worker, const void *subject, double *out_ns)
{
    const struct bench_group *group = worker->bench->group;
    double start = bench_now_ns();
    double took = 0;
    bool good = group->time != NULL ? group->time(worker->world, subject, &took) : group->run(worker->world, subject);
    *out_ns += group->time != NULL ? took : bench_now_ns() - start - worker->crew->clock_ns;
    return good && (group->settle == NULL || group->settle(worker->world, subject));
}

/* Nanoseconds that `num_ops` operations take. */
static bool time_ops(const struct worker *worker, const void *subject, unsigned num_ops, double *out_ns)
{
    const struct bench_group *group = worker->bench->group;
    bool good = true;
    *out_ns = 0;
    if (group->settle != NULL || group->time != NULL) {
        for (unsigned i = 0; good && i < num_ops; i++) {
            good = one_op(worker, subject, out_ns);
        }
        return good;
    }
    double start = bench_now_ns();
    for (unsigned i = 0; i < num_ops; i++) {
        good &= group->run(worker->world, subject);
    }
    *out_ns = bench_now_ns() - start;
    return good;
}

/* A batch follows one operation that is not timed: it finds the arm's memory in the cache and in the pool, not what the
 * arm before left there. */
static void time_batch(struct worker *worker, size_t index, unsigned long round)
{
    const struct bench_group *group = worker->bench->group;
    const struct bench_arm *arm = &worker->bench->arms[index];
    const struct bench_counts *counts = group->counts != NULL ? group->counts(worker->world) : NULL;
    struct bench_counts *used = &worker->used[index];
    double ns = 0;
    bool good = !worker->failed[index] && time_ops(worker, arm->subject, 1, &ns);
    struct bench_counts before = counts != NULL ? *counts : (struct bench_counts){0};
    good = good && time_ops(worker, arm->subject, arm->num_ops, &ns);
    worker->failed[index] = !good;
    worker->samples[index * worker->bench->rounds + round] = ns / arm->num_ops;
    if (counts != NULL) {
        used->allocations += counts->allocations - before.allocations;
        used->bytes += counts->bytes - before.bytes;
        used->calls += counts->calls - before.calls;
    }
}

/* Doubles the number until a batch takes a quarter of its time, and goes on from there. */
static void calibrate(struct worker *worker, struct bench_arm *arm)
{
    double ns = 0;
    double took = 0;
    unsigned num_ops = 1;
    bool good = time_ops(worker, arm->subject, 3, &ns);
    while (good && took < BATCH_NS / 4 && num_ops < BATCH_OPS_MAX) {
        double start = bench_now_ns();
        num_ops *= 2;
        good = time_ops(worker, arm->subject, num_ops, &ns);
        took = bench_now_ns() - start;
    }
    double wanted = good ? num_ops * BATCH_NS / took : 1;
    arm->num_ops = wanted < 1 ? 1 : (wanted > BATCH_OPS_MAX ? BATCH_OPS_MAX : (unsigned)wanted);
    worker->failed[arm - worker->bench->arms] = !good;
}

/* ---- threads -------------------------------------------------------------------------------------------------------
 */

/* Several threads are there to meet each other: each is put on a processor of its own, as long as there are any. */
static void spread(const struct worker *worker)
{
    cpu_set_t allowed;
    cpu_set_t one;
    if (worker->bench->threads == 1 || sched_getaffinity(0, sizeof(allowed), &allowed) != 0) {
        return;
    }
    int skip = (int)(worker - worker->crew->workers) % CPU_COUNT(&allowed);
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, &allowed) && skip-- == 0) {
            CPU_ZERO(&one);
            CPU_SET(cpu, &one);
            (void)sched_setaffinity(0, sizeof(one), &one);
        }
    }
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    struct crew *crew = worker->crew;
    spread(worker);
    (void)pthread_mutex_lock(&crew->gate);
    bool called_off = crew->called_off;
    (void)pthread_mutex_unlock(&crew->gate);
    for (unsigned long round = 0; !called_off && round < worker->bench->rounds; round++) {
        for (size_t i = 0; i < worker->bench->num_arms; i++) {
            (void)pthread_barrier_wait(&crew->barrier);
            time_batch(worker, i, round);
        }
    }
    return NULL;
}

static bool run_crew(struct crew *crew, size_t num)
{
    size_t num_made = 0;
    (void)pthread_mutex_lock(&crew->gate);
    while (num_made < num &&
           pthread_create(&crew->workers[num_made].thread, NULL, work, &crew->workers[num_made]) == 0) {
        num_made++;
    }
    crew->called_off = num_made < num;
    (void)pthread_mutex_unlock(&crew->gate);
    for (size_t t = 0; t < num_made; t++) {
        (void)pthread_join(crew->workers[t].thread, NULL);
    }
    if (crew->called_off) {
        (void)fprintf(stderr, "paldiff: no more than %zu threads can be made\n", num_made);
    }
    return !crew->called_off;
}

static void crew_free(struct crew *crew, const struct bench_group *group)
{
    for (size_t t = 0; t < BENCH_THREADS_MAX; t++) {
        if (crew->workers[t].world != NULL) {
            group->world_free(crew->workers[t].world);
        }
        free(crew->workers[t].samples);
    }
    (void)pthread_barrier_destroy(&crew->barrier);
    (void)pthread_mutex_destroy(&crew->gate);
    free(crew->all);
    free(crew);
}

/* Fills what the crew has one of for each thread. */
static bool crew_fill(struct crew *crew, struct bench *bench)
{
    const struct bench_group *group = bench->group;
    bool good = crew->all != NULL;
    for (size_t t = 0; good && t < bench->threads; t++) {
        struct worker *worker = &crew->workers[t];
        worker->bench = bench;
        worker->crew = crew;
        worker->samples = calloc(bench->rounds * bench->num_arms, sizeof(*worker->samples));
        good = worker->samples != NULL;
        if (good && group->world_new != NULL) {
            worker->world = group->world_new();
            if (worker->world == NULL) {
                return false;
            }
        }
    }
    if (!good) {
        (void)fputs("paldiff: no memory for so many rounds\n", stderr);
    }
    return good;
}

static struct crew *crew_new(struct bench *bench)
{
    struct crew *crew = calloc(1, sizeof(*crew));
    if (crew == NULL || pthread_barrier_init(&crew->barrier, NULL, (unsigned)bench->threads) != 0) {
        (void)fputs("paldiff: no memory for the threads\n", stderr);
        free(crew);
        return NULL;
    }
    (void)pthread_mutex_init(&crew->gate, NULL);
    crew->clock_ns = bench_clock_ns();
    crew->all = calloc(bench->threads * bench->rounds, sizeof(*crew->all));
    if (!crew_fill(crew, bench)) {
        crew_free(crew, bench->group);
        return NULL;
    }
    return crew;
}

/* ---- what came out -------------------------------------------------------------------------------------------------
 */

/* The arm's figures from all threads. False when the arm failed. */
static bool conclude(struct bench *bench, const struct crew *crew, size_t index)
{
    double *all = crew->all;
    struct bench_arm *arm = &bench->arms[index];
    struct bench_counts used = {0};
    size_t num = 0;
    for (size_t t = 0; t < bench->threads; t++) {
        const struct worker *worker = &crew->workers[t];
        memcpy(all + num, worker->samples + index * bench->rounds, bench->rounds * sizeof(*all));
        num += bench->rounds;
        arm->failed |= worker->failed[index];
        used.allocations += worker->used[index].allocations;
        used.bytes += worker->used[index].bytes;
        used.calls += worker->used[index].calls;
    }
    if (arm->failed) {
        (void)fprintf(stderr, "paldiff: %s, %s: an operation failed; left out\n", arm->case_name, arm->name);
        return false;
    }
    double num_ops = arm->counted ? (double)num * arm->num_ops : NAN;
    arm->median_ns = bench_median(all, num);
    arm->low_ns = all[num / 4];
    arm->high_ns = all[num * 3 / 4];
    arm->allocations = (double)used.allocations / num_ops;
    arm->bytes = (double)used.bytes / num_ops;
    arm->calls = (double)used.calls / num_ops;
    return true;
}

bool bench_measure(struct bench *out, const struct bench_group *group, unsigned long rounds, unsigned long threads)
{
    *out = (struct bench){.group = group, .rounds = rounds, .threads = threads};
    assert(rounds > 0 && threads > 0 && threads <= BENCH_THREADS_MAX);
    if (!group->list(out)) {
        return false;
    }
    struct crew *crew = crew_new(out);
    if (crew == NULL) {
        return false;
    }
    for (size_t i = 0; i < out->num_arms; i++) {
        calibrate(&crew->workers[0], &out->arms[i]);
    }
    size_t num_measured = 0;
    bool good = run_crew(crew, threads);
    for (size_t i = 0; good && i < out->num_arms; i++) {
        num_measured += conclude(out, crew, i) ? 1 : 0;
    }
    crew_free(crew, group);
    return num_measured > 0;
}
