/* SPDX-License-Identifier: Apache-2.0
 * bench_harness.c: what the suite itself costs: executions a second of each target, over inputs as a fuzzer makes them
 * (random bytes, and the committed scenarios as bytes); how much of that time is spent in the ports, so that the rest
 * is the harness; and whether a scenario twice as long takes twice as long. In any build: with a sanitizer the figures
 * are that build's. It breaks when a target calls its ports otherwise than through world->port: its library arm then
 * has no calls.
 */
#include "bench.h"
#include "bench_table.h"
#include "bench_timed.h"
#include "poison.h"
#include "tool.h"

#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum { TARGETS_MAX = 16, RANDOM_INPUTS = 20, INPUTS_MAX = 40, INPUT_CAP = 8192, LONG_INPUTS = 4, LENGTHS = 4 };

static const size_t lengths[LENGTHS] = {8, 16, 32, 64}; /* multiples of the first */

/* kind: PLAY: executions, from bytes to verdict. LIBRARY: the part of them in ports. LENGTH: as PLAY, of scenarios that
 * are decoded already: the same few steps, over and over, up to `num_steps` of them. */
enum kind { PLAY, LIBRARY, LENGTH };

static struct subject {
    size_t target;
    enum kind kind;
    size_t num_steps;
    char name[24];
} subjects[TARGETS_MAX][2 + LENGTHS];

struct input {
    size_t len;
    uint8_t *data;
};

/* player: a target at work. */
struct player {
    struct stage stage;
    struct input inputs[INPUTS_MAX];
    size_t num_inputs;
    struct scenario long_ones[LONG_INPUTS];
};

/* hall: this group's world: all players. */
struct hall {
    struct bench_counts counts; /* calls: to ports */
    struct player *players[TARGETS_MAX];
    cpu_set_t processors; /* before it was one */
};

/* ---- inputs --------------------------------------------------------------------------------------------------------
 */

/* The same bytes in every run. */
static void fill(uint8_t *out, size_t len, uint64_t *state)
{
    for (size_t i = 0; i < len; i++) {
        *state = *state * 6364136223846793005u + 1442695040888963407u;
        out[i] = (uint8_t)(*state >> 56);
    }
}

static bool add_input(struct player *player, const uint8_t *data, size_t len)
{
    struct input *input = &player->inputs[player->num_inputs];
    if (player->num_inputs == INPUTS_MAX) {
        return true;
    }
    *input = (struct input){len, malloc(len > 0 ? len : 1)};
    if (input->data == NULL) {
        return false;
    }
    memcpy(input->data, data, len);
    player->num_inputs++;
    return true;
}

static bool add_random(struct player *player)
{
    uint8_t bytes[INPUT_CAP];
    uint64_t state = 9;
    size_t len = player->stage.target->input_len_max;
    bool good = true;
    for (size_t i = 0; good && i < RANDOM_INPUTS; i++) {
        fill(bytes, len < INPUT_CAP ? len : INPUT_CAP, &state);
        good = add_input(player, bytes, len < INPUT_CAP ? len : INPUT_CAP);
    }
    for (size_t i = 0; i < LONG_INPUTS; i++) {
        struct scenario *scenario = &player->long_ones[i];
        fill(bytes, sizeof(bytes), &state);
        scenario_decode(scenario, player->stage.target->language, (struct pal_view){bytes, sizeof(bytes)});
        for (size_t j = lengths[0]; j < SCENARIO_STEPS_MAX; j++) {
            scenario->steps[j] = scenario->steps[j - lengths[0]];
        }
    }
    return good;
}

static bool add_corpus(struct player *player)
{
    static uint8_t bytes[SCENARIO_INPUT_MAX];
    char **files = NULL;
    size_t num = 0;
    bool good = tool_corpus_files(player->stage.target, &files, &num);
    for (size_t i = 0; good && i < num; i++) {
        struct pal_view text = {0};
        uint8_t *data = NULL;
        good = harness_read(files[i], &data, &text.len);
        text.data = data;
        if (good && harness_load(&player->stage, files[i], text)) {
            size_t len = scenario_encode(&player->stage.scenario, bytes, sizeof(bytes));
            good = len == 0 || add_input(player, bytes, len);
        }
        free(data);
    }
    tool_files_free(files, num);
    return good;
}

/* ---- world ---------------------------------------------------------------------------------------------------------
 */

static void player_free(struct player *player)
{
    if (player == NULL) {
        return;
    }
    stage_deinit(&player->stage);
    for (size_t i = 0; i < player->num_inputs; i++) {
        free(player->inputs[i].data);
    }
    free(player);
}

static struct player *player_new(const struct target *target)
{
    struct player *player = calloc(1, sizeof(*player));
    if (player == NULL || !stage_init(&player->stage, target, NULL)) {
        free(player);
        return NULL;
    }
    if (!add_random(player) || !add_corpus(player)) {
        player_free(player);
        return NULL;
    }
    return player;
}

/* A play's threads hand over to each other, and stay on one processor, as those of a fuzz program that `paldiff run`
 * starts: waking one on another processor takes longer than a step. */
static void stay(struct hall *hall)
{
    cpu_set_t one;
    int here = sched_getcpu();
    CPU_ZERO(&one);
    CPU_SET(here >= 0 ? (size_t)here : 0, &one);
    if (sched_getaffinity(0, sizeof(hall->processors), &hall->processors) != 0 ||
        sched_setaffinity(0, sizeof(one), &one) != 0) {
        (void)fputs("paldiff: the threads of plays are on several processors: figures are too high\n", stderr);
    }
}

static void world_free(void *argument)
{
    struct hall *hall = argument;
    (void)sched_setaffinity(0, sizeof(hall->processors), &hall->processors);
    for (size_t i = 0; i < num_targets; i++) {
        player_free(hall->players[i]);
    }
    free(hall);
}

static void *world_new(void)
{
    struct hall *hall = calloc(1, sizeof(*hall));
    if (hall != NULL) {
        stay(hall);
    }
    for (size_t i = 0; hall != NULL && i < num_targets; i++) {
        hall->players[i] = player_new(targets[i]);
        if (hall->players[i] == NULL) {
            (void)fprintf(stderr, "paldiff: target %s cannot be measured\n", targets[i]->name);
            world_free(hall);
            return NULL;
        }
    }
    return hall;
}

static const struct bench_counts *counts(const void *world)
{
    return &((const struct hall *)world)->counts;
}

static bool list(struct bench *bench)
{
    if (bench->threads != 1 || num_targets > TARGETS_MAX) {
        (void)fputs("paldiff: group harness has one thread, which plays the threads of its targets\n", stderr);
        return false;
    }
    for (size_t i = 0; i < num_targets; i++) {
        subjects[i][0] = (struct subject){i, PLAY, 0, "play"};
        subjects[i][1] = (struct subject){i, LIBRARY, 0, "library"};
        (void)bench_add(bench, "harness", targets[i]->name, subjects[i][0].name, &subjects[i][0]);
        (void)bench_add(bench, "harness", targets[i]->name, subjects[i][1].name, &subjects[i][1]);
        for (size_t j = 0; j < LENGTHS; j++) {
            struct subject *subject = &subjects[i][2 + j];
            *subject = (struct subject){.target = i, .kind = LENGTH, .num_steps = lengths[j]};
            (void)snprintf(subject->name, sizeof(subject->name), "%zu steps", lengths[j]);
            bench_add(bench, "harness length", subject->name, targets[i]->name, subject)->counted = false;
        }
    }
    return true;
}

/* ---- operations ----------------------------------------------------------------------------------------------------
 */

/* All inputs once; what came out is the same every time, and was judged by `replay`. */
static void play_inputs(struct player *player)
{
    struct verdict verdict;
    for (size_t i = 0; i < player->num_inputs; i++) {
        scenario_decode(&player->stage.scenario, player->stage.target->language,
                        (struct pal_view){player->inputs[i].data, player->inputs[i].len});
        (void)stage_play(&player->stage, &verdict);
    }
}

static double play_long(struct player *player, size_t num_steps)
{
    struct verdict verdict;
    double ns = 0;
    for (size_t i = 0; i < LONG_INPUTS; i++) {
        player->stage.scenario = player->long_ones[i];
        player->stage.scenario.num_steps = num_steps;
        double start = bench_now_ns();
        (void)stage_play(&player->stage, &verdict);
        ns += bench_now_ns() - start;
    }
    return ns / (double)LONG_INPUTS;
}

/* Time and calls are of one execution: a pass is over many. */
static bool time_pass(void *argument, const void *what, double *out_ns)
{
    struct hall *hall = argument;
    const struct subject *subject = what;
    struct player *player = hall->players[subject->target];
    double start = bench_now_ns();
    double in_ports = timed_ns();
    uint64_t calls = timed_calls();
    timed_switch(subject->kind == LIBRARY);
    for (size_t i = 0; i < player->stage.num_worlds; i++) {
        struct world *world = &player->stage.worlds[i];
        world->port = timed_port(world->spec->port());
    }
    if (subject->kind == LENGTH) {
        *out_ns = play_long(player, subject->num_steps);
        return true;
    }
    play_inputs(player);
    timed_switch(false);
    *out_ns = subject->kind == LIBRARY ? timed_ns() - in_ports : bench_now_ns() - start;
    *out_ns /= (double)player->num_inputs;
    hall->counts.calls += (timed_calls() - calls) / player->num_inputs;
    return true;
}

/* ---- text ----------------------------------------------------------------------------------------------------------
 */

/* What a step costs between two lengths, at the lower quartiles: starting threads scatters. */
static double marginal(const struct bench *bench, const char *target, size_t length)
{
    const struct bench_arm *shorter = bench_find(bench, "harness length", subjects[0][2 + length - 1].name, target);
    const struct bench_arm *longer = bench_find(bench, "harness length", subjects[0][2 + length].name, target);
    return shorter == NULL || longer == NULL
               ? NAN
               : (longer->low_ns - shorter->low_ns) / (double)(lengths[length] - lengths[length - 1]);
}

static void print(const struct bench *const benches[], size_t num)
{
    static struct bench_table table;
    (void)printf(
        "Executions (decoding, all worlds, judging), built with sanitizer %s; harness factor: their time over the "
        "time in ports; a step's\nprice between 8 and 16, 16 and 32, 32 and 64 steps:\n\n",
        PALDIFF_SANITIZER);
    bench_table_start(&table, "target|executions/s|ns|in ports|port calls|factor|8-16|16-32|32-64");
    for (size_t i = 0; i < num * num_targets; i++) {
        const struct bench *bench = benches[i / num_targets];
        const char *name = targets[i % num_targets]->name;
        const struct bench_arm *play = bench_find(bench, "harness", name, "play");
        const struct bench_arm *library = bench_find(bench, "harness", name, "library");
        if (play == NULL || library == NULL) {
            continue;
        }
        bench_table_cell(&table, "%s", name);
        bench_table_cell(&table, "%.0f", 1e9 / play->median_ns);
        bench_table_cell(&table, "%.0f", play->median_ns);
        bench_table_cell(&table, "%.0f", library->median_ns);
        bench_table_cell(&table, "%.0f", library->calls);
        bench_table_number(&table, 2, library->calls > 0 ? bench_ratio(play, library) : NAN, "");
        for (size_t j = 1; j < LENGTHS; j++) {
            bench_table_number(&table, 0, marginal(bench, name, j), " ns");
        }
    }
    bench_table_print(&table);
}

const struct bench_group bench_harness = {.name = "harness",
                                          .sentence = "executions of each target, and what of them is the suite's own",
                                          .rounds = 12,
                                          .threads = {1},
                                          .list = list,
                                          .world_new = world_new,
                                          .world_free = world_free,
                                          .time = time_pass,
                                          .counts = counts,
                                          .print = print};
