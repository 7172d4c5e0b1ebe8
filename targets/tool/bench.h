/* SPDX-License-Identifier: Apache-2.0
 * bench.h: the timing core: groups of arms that take turns in one run, and what came out of it.
 * It knows no arm, and never judges: ratios are for whoever reads them.
 * It breaks when an operation leaves something behind that the next one pays for; that is what `settle` is for.
 */
#ifndef PALDIFF_BENCH_H
#define PALDIFF_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bench;

enum { BENCH_ARMS_MAX = 512, BENCH_THREADS_MAX = 16 };

/* bench_counts: what operations took through their world's environment, since the world was made. */
struct bench_counts {
    uint64_t allocations;
    uint64_t bytes; /* allocated */
    uint64_t calls; /* to the kernel: sendmsg, sendfile, send; group harness: to ports */
};

/* bench_arm: one way to do one case. Times are nanoseconds an operation, quartiles over the batches of all threads;
 * counts are means of an operation, NAN where nobody counts. The texts and the subject are borrowed from the group. */
struct bench_arm {
    const char *group; /* cases that are compared with each other: a part of the bench_group, or all of it */
    const char *case_name;
    const char *name;
    const void *subject; /* the group's own: what `run` is given */
    unsigned num_ops;    /* in a batch */
    bool counted;        /* its world counts */
    bool failed;         /* an operation failed: the arm has no row */
    double median_ns, low_ns, high_ns;
    double allocations, bytes, calls;
};

/* bench_group: arms that are compared with each other. A world is what a thread's operations need, its own; a group
 * that needs none has NULL for world_new and world_free. */
struct bench_group {
    const char *name;
    const char *sentence;
    unsigned long rounds;     /* batches of an arm in each thread, unless the user says how many */
    unsigned long threads[3]; /* with how many threads it is measured, unless the user says; ended by 0 */
    /* list: adds the group's arms by bench_add. False, with a line on stderr, when it has none here. */
    bool (*list)(struct bench *bench);
    void *(*world_new)(void); /* NULL, with a line on stderr, when it cannot be made */
    void (*world_free)(void *world);
    bool (*run)(void *world, const void *subject); /* one operation; what is timed, unless there is `time` */
    /* time: one operation that knows better than the clock around it how long it took; or NULL. */
    bool (*time)(void *world, const void *subject, double *out_ns);
    bool (*settle)(void *world, const void *subject);        /* after each, not timed; or NULL */
    const struct bench_counts *(*counts)(const void *world); /* or NULL: nobody counts */
    /* print: Markdown on standard output, from a bench for each number of threads. */
    void (*print)(const struct bench *const benches[], size_t num);
};

extern const struct bench_group bench_crypto;
extern const struct bench_group bench_requests;
extern const struct bench_group bench_tokens;
extern const struct bench_group bench_send;
extern const struct bench_group bench_harness;

/* bench: one group's run with one number of threads. */
struct bench {
    const struct bench_group *group;
    unsigned long rounds;
    unsigned long threads;
    size_t num_arms;
    struct bench_arm arms[BENCH_ARMS_MAX];
};

/* bench_add: the next arm; the caller may change what it says. */
struct bench_arm *bench_add(struct bench *bench, const char *group, const char *case_name, const char *name,
                            const void *subject);

/* bench_measure: lists `group`'s arms and times them. False, with a line on stderr, when nothing could be measured; an
 * arm that failed is named there, too, and left out. */
bool bench_measure(struct bench *out, const struct bench_group *group, unsigned long rounds, unsigned long threads);

/* bench_find: an arm that was measured, or NULL. */
const struct bench_arm *bench_find(const struct bench *bench, const char *group, const char *case_name,
                                   const char *name);

/* bench_ratio: of two medians; NAN when one of them is NULL. */
double bench_ratio(const struct bench_arm *over, const struct bench_arm *under);

/* bench_median: sorts `values` and gives the upper of the middle ones; NAN for none. */
double bench_median(double *values, size_t num);

/* bench_now_ns: a clock that only goes forward. bench_clock_ns: what an interval without anything in it takes. */
double bench_now_ns(void);
double bench_clock_ns(void);

#endif
