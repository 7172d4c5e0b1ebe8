/* SPDX-License-Identifier: Apache-2.0
 * tool_run.c: fuzzes every target in every build, several at a time, and turns red whenever anything did not end as it
 * should. It does no fuzzing itself: the fuzz programs of the builds do, as children.
 */
#include "run.h"
#include "tool.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#define SECONDS_DEFAULT 60u
#define NUMBER_MAX 1000000000u
#define GRACE_SECONDS 60.0 /* after its time, before a child counts as stuck; more than one input may take */
#define STOP_SECONDS 10.0  /* between asking a child to end and making it */

enum {
    KEY_BUILD = 'b',
    KEY_SECONDS = 's',
    KEY_RUNS = 'r',
    KEY_SEED = 'S',
    KEY_AT_ONCE = 'j',
    KEY_MUTANT = 'm',
    KEY_CORPUS = 'c',
    KEY_FROM_EMPTY = 'e',
    KEY_REPORT = 'o',
    KEY_JSON = 'J'
};

/* asked: the command line. */
struct asked {
    struct run_options options;
    size_t num_builds;
    const char *builds[RUN_BUILDS_MAX];
};

static volatile sig_atomic_t ending;

static void on_signal(int signal_number)
{
    ending = signal_number;
}

double run_now(void)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* ---- what was asked for --------------------------------------------------------------------------------------------
 */

static uint64_t number(struct argp_state *state, const char *name, const char *text, uint64_t min)
{
    char *end = NULL;
    errno = 0;
    uint64_t value = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || value < min || value > NUMBER_MAX) {
        argp_error(state, "%s takes a number from %" PRIu64 " to %u, not %s", name, min, NUMBER_MAX, text);
    }
    return value;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct asked *asked = state->input;
    struct run_options *options = &asked->options;
    switch (key) {
    case KEY_BUILD:
        if (asked->num_builds == RUN_BUILDS_MAX) {
            argp_error(state, "at most %u builds", RUN_BUILDS_MAX);
        }
        asked->builds[asked->num_builds++] = argument;
        return 0;
    case KEY_SECONDS:
        options->seconds = number(state, "--seconds", argument, 1);
        return 0;
    case KEY_RUNS:
        options->runs = number(state, "--runs", argument, 1);
        return 0;
    case KEY_SEED:
        options->seed = number(state, "--seed", argument, 0);
        return 0;
    case KEY_AT_ONCE:
        options->at_once = number(state, "-j", argument, 1);
        return 0;
    case KEY_MUTANT:
        options->mutant = argument;
        return 0;
    case KEY_CORPUS:
        options->corpus = argument;
        return 0;
    case KEY_FROM_EMPTY:
        options->from_empty = true;
        return 0;
    case KEY_REPORT:
        options->report = argument;
        return 0;
    case KEY_JSON:
        options->json = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* own_builds: asan and msan beside the build that this program is from. */
static size_t own_builds(struct run *run)
{
    static const char *const names[] = {"asan", "msan"};
    char own[RUN_PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", own, sizeof(own) - 1);
    size_t num = 0;
    own[len > 0 ? len : 0] = '\0';
    for (int up = 0; up < 2; up++) {
        char *slash = strrchr(own, '/');
        *(slash != NULL ? slash : own) = '\0';
    }
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char *dir = run->builds[num].dir;
        num += run_path(dir, "%s/%s", own, names[i]) && access(dir, X_OK) == 0 ? 1 : 0;
    }
    return num;
}

/* read_build: what the build is for stands in its CMakeCache.txt. */
static bool read_build(struct run *run, struct run_build *build)
{
    static const char row[] = "PALDIFF_SANITIZER:STRING=";
    static const char *const known[] = {"address", "memory", "thread"};
    char path[RUN_PATH_MAX];
    char line[RUN_LINE_MAX];
    size_t alike = 1;
    FILE *file = run_path(path, "%s/CMakeCache.txt", build->dir) ? fopen(path, "re") : NULL;
    if (file == NULL) {
        (void)fprintf(
            stderr, "paldiff: %s is no build: make one with cmake --workflow --preset asan, and name it with --build\n",
            build->dir);
        return false;
    }
    build->sanitizer = "none";
    while (fgets(line, sizeof(line), file) != NULL) {
        line[strcspn(line, "\r\n")] = '\0';
        for (size_t i = 0; i < sizeof(known) / sizeof(known[0]) && strncmp(line, row, strlen(row)) == 0; i++) {
            build->sanitizer = strcmp(line + strlen(row), known[i]) == 0 ? known[i] : build->sanitizer;
        }
    }
    (void)fclose(file);
    for (const struct run_build *other = run->builds; other < build; other++) {
        alike += other->sanitizer == build->sanitizer ? 1 : 0;
    }
    (void)snprintf(build->label, sizeof(build->label), alike > 1 ? "%s-%zu" : "%s", build->sanitizer, alike);
    return true;
}

static int find_builds(struct run *run, const struct asked *asked)
{
    run->num_builds = asked->num_builds > 0 ? asked->num_builds : own_builds(run);
    for (size_t i = 0; i < run->num_builds; i++) {
        struct run_build *build = &run->builds[i];
        if (asked->num_builds > 0 && realpath(asked->builds[i], build->dir) == NULL) {
            (void)fprintf(stderr, "paldiff: the build %s cannot be used: %s\n", asked->builds[i], strerror(errno));
            return EXIT_SUITE;
        }
        if (!read_build(run, build)) {
            return EXIT_SUITE;
        }
    }
    if (run->num_builds == 0) {
        (void)fputs(
            "paldiff: there is no build: make one with cmake --workflow --preset asan, and name it with --build\n",
            stderr);
        return EXIT_SUITE;
    }
    return EXIT_HELD;
}

/* child_seed: not 0, which libFuzzer takes for "choose one", and another one for each job. */
static uint32_t child_seed(uint64_t seed, const char *target, const char *label)
{
    uint64_t hash = 0xcbf29ce484222325u ^ seed;
    for (const char *at = target; *at != '\0'; at++) {
        hash = (hash ^ (uint8_t)*at) * 0x100000001b3u;
    }
    for (const char *at = label; *at != '\0'; at++) {
        hash = (hash ^ (uint8_t)*at) * 0x100000001b3u;
    }
    return (uint32_t)((hash ^ (hash >> 32)) % 2147483646u) + 1;
}

/* check_names: the targets and the mutant that are named. */
static int check_names(const struct run_options *options, char **names, size_t num_names)
{
    const struct mutant *mutant = options->mutant != NULL ? mutant_find(options->mutant) : NULL;
    if (options->mutant != NULL && mutant == NULL) {
        return tool_usage("there is no mutant %s; `paldiff mutants --list` names them", options->mutant);
    }
    for (size_t i = 0; i < num_names; i++) {
        if (target_find(names[i]) == NULL) {
            return tool_usage("there is no target %s; `paldiff list` names them", names[i]);
        }
        if (mutant != NULL && strcmp(mutant->area, names[i]) != 0) {
            return tool_usage("the mutant %s is target %s's, not %s's", mutant->name, mutant->area, names[i]);
        }
    }
    if (options->from_empty && options->corpus != NULL) {
        return tool_usage("--corpus cannot be had with --from-empty or --mutant, which start from nothing");
    }
    if (options->corpus != NULL && access(options->corpus, W_OK | X_OK) != 0) {
        return tool_usage("--corpus %s is no folder that can be written to", options->corpus);
    }
    return EXIT_HELD;
}

/* make_jobs: of the targets that are named, else the mutant's, else all. */
static int make_jobs(struct run *run, char **names, size_t num_names)
{
    const struct mutant *mutant = run->options.mutant != NULL ? mutant_find(run->options.mutant) : NULL;
    run->jobs = calloc(num_targets * run->num_builds, sizeof(*run->jobs));
    for (size_t t = 0; run->jobs != NULL && t < num_targets; t++) {
        bool wanted = num_names == 0 && (mutant == NULL || strcmp(mutant->area, targets[t]->name) == 0);
        for (size_t i = 0; i < num_names; i++) {
            wanted = wanted || strcmp(names[i], targets[t]->name) == 0;
        }
        for (size_t b = 0; wanted && b < run->num_builds; b++) {
            struct run_job *job = &run->jobs[run->num_jobs++];
            job->target = targets[t];
            job->build = &run->builds[b];
            job->seed = child_seed(run->options.seed, job->target->name, job->build->label);
            job->pipe = -1;
        }
    }
    return run->jobs != NULL ? EXIT_HELD : EXIT_SUITE;
}

/* open_report: the folder, for this run alone. The lock goes with the process. */
static bool open_report(struct run *run)
{
    char path[RUN_PATH_MAX];
    if (!run_make_dir(run->options.report) || realpath(run->options.report, run->report) == NULL ||
        !run_path(path, "%s/.lock", run->report)) {
        return false;
    }
    FILE *lock = fopen(path, "we");
    if (lock == NULL) {
        (void)fprintf(stderr, "paldiff: cannot write to %s: %s; name another folder with --report\n", run->report,
                      strerror(errno));
        return false;
    }
    if (flock(fileno(lock), LOCK_EX | LOCK_NB) != 0) {
        (void)fprintf(stderr, "paldiff: another run reports to %s; name another folder with --report\n", run->report);
        (void)fclose(lock);
        return false;
    }
    return true;
}

/* ---- the run -------------------------------------------------------------------------------------------------------
 */

static size_t num_running(const struct run *run)
{
    size_t num = 0;
    for (size_t i = 0; i < run->num_jobs; i++) {
        num += run->jobs[i].state == JOB_RUNNING ? 1 : 0;
    }
    return num;
}

static void start_jobs(struct run *run)
{
    for (size_t i = 0; i < run->num_jobs && ending == 0 && !run->failed; i++) {
        if (run->jobs[i].state == JOB_WAITING && num_running(run) < run->options.at_once) {
            run->failed = !run_child_start(run, &run->jobs[i]);
        }
    }
}

/* wait_for_output: at most a fifth of a second, so that ends and clocks are seen. */
static void wait_for_output(struct run *run)
{
    struct pollfd ends[64];
    nfds_t num = 0;
    for (size_t i = 0; i < run->num_jobs && num < sizeof(ends) / sizeof(ends[0]); i++) {
        if (run->jobs[i].state == JOB_RUNNING && run->jobs[i].pipe >= 0) {
            ends[num++] = (struct pollfd){.fd = run->jobs[i].pipe, .events = POLLIN};
        }
    }
    (void)poll(ends, num, 200);
}

/* stop_late: children that outlive their time, or the whole run; `since` is when the run was told to end, 0 for never.
 */
static void stop_late(struct run *run, struct run_job *job, double since)
{
    double late = run_now() - job->started - (double)run->options.seconds - GRACE_SECONDS;
    if (since > 0 && !job->stopped) {
        job->stopped = true;
        run_child_stop(job, SIGINT);
    } else if (since > 0 && run_now() - since > STOP_SECONDS) {
        run_child_stop(job, SIGKILL);
    } else if (run->options.seconds > 0 && late > 0) {
        job->overdue = true;
        run_child_stop(job, SIGKILL);
    }
}

/* show_progress: on a terminal a line per child, redrawn every second; in a log one every half minute. */
static void show_progress(const struct run *run, bool terminal, size_t *num_drawn)
{
    if (*num_drawn > 0) {
        (void)fprintf(stderr, "\033[%zuA\033[J", *num_drawn);
    }
    *num_drawn = 0;
    for (size_t i = 0; i < run->num_jobs; i++) {
        const struct run_job *job = &run->jobs[i];
        if (job->state == JOB_RUNNING) {
            (void)fprintf(stderr,
                          "%-8s %-10s %4.0f s %10" PRIu64 " executions %6" PRIu64 " edges %6" PRIu64 " corpus\n",
                          job->target->name, job->build->label, run_now() - job->started, job->executions, job->edges,
                          job->corpus);
            *num_drawn += terminal ? 1 : 0;
        }
    }
}

static void run_all(struct run *run)
{
    bool terminal = isatty(STDERR_FILENO) == 1;
    double next_progress = run_now() + (terminal ? 1 : 30);
    double since = 0;
    size_t num_drawn = 0;
    start_jobs(run);
    while (num_running(run) > 0) {
        wait_for_output(run);
        if (since <= 0 && (ending != 0 || run->failed)) {
            since = run_now();
        }
        for (size_t i = 0; i < run->num_jobs; i++) {
            struct run_job *job = &run->jobs[i];
            if (job->state == JOB_RUNNING) {
                run_child_read(job);
                if (!run_child_ended(job)) {
                    stop_late(run, job, since);
                } else if (job->log_full) {
                    (void)fprintf(stderr,
                                  "paldiff: %s takes no more: make room, or name another folder with --report\n",
                                  run->report);
                    run->failed = true;
                }
            }
        }
        start_jobs(run);
        if (run_now() >= next_progress) {
            show_progress(run, terminal, &num_drawn);
            next_progress = run_now() + (terminal ? 1 : 30);
        }
    }
    run->signal = ending;
    if (num_drawn > 0) {
        (void)fprintf(stderr, "\033[%zuA\033[J", num_drawn);
    }
}

/* judge: a broken rule weighs most, then a suite that failed, then one that was cut short, then one that saw nothing.
 */
static int judge(const struct run *run)
{
    bool broken = false;
    bool startup = run->failed;
    bool idle = false;
    for (size_t i = 0; i < run->num_jobs; i++) {
        const struct run_job *job = &run->jobs[i];
        bool start = job->finding.kind != NULL && strcmp(job->finding.kind, "startup") == 0;
        startup = startup || start;
        broken = broken || (job->finding.kind != NULL && !start);
        idle = idle || job->state != JOB_ENDED || job->executions == 0 || job->compared == 0;
    }
    if (broken) {
        return EXIT_BROKEN;
    }
    if (startup) {
        return EXIT_SUITE;
    }
    if (run->signal != 0) {
        return 128 + run->signal;
    }
    return idle ? EXIT_NOTHING_RAN : EXIT_HELD;
}

static void catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
    (void)sigaction(SIGHUP, &action, NULL);
}

static int run_and_report(struct run *run)
{
    FILE *words = run->options.json ? stderr : stdout;
    (void)fprintf(stderr, "%zu runs, %" PRIu64 " at a time, seed %" PRIu64 "\n", run->num_jobs, run->options.at_once,
                  run->options.seed);
    catch_signals();
    run_all(run);
    run->exit_code = judge(run);
    if (!run_report_write(run) && run->exit_code != EXIT_BROKEN) {
        run->exit_code = EXIT_SUITE;
    }
    run_report_table(words, run);
    run_report_findings(words, run);
    run_report_verdict(words, run);
    if (run->options.json && !tool_print_json(run_report_json(run)) && run->exit_code != EXIT_BROKEN) {
        run->exit_code = EXIT_SUITE;
    }
    return run->exit_code;
}

int tool_run(int argc, char **argv)
{
    static const struct argp_option rows[] = {
        {"build", KEY_BUILD, "DIR", 0,
         "a build folder with fuzz programs; again for more (asan and msan beside this one)", 0},
        {"seconds", KEY_SECONDS, "N", 0, "for each target and build (60, or no limit if --runs is given)", 0},
        {"runs", KEY_RUNS, "N", 0, "inputs for each target and build", 0},
        {"seed", KEY_SEED, "N", 0, "of the whole run (1); each child's is made from it", 0},
        {NULL, KEY_AT_ONCE, "N", 0, "children at a time (the number of processors)", 0},
        {"mutant", KEY_MUTANT, "NAME", 0, "plant a bug, in its target, and start from nothing", 0},
        {"corpus", KEY_CORPUS, "DIR", 0, "DIR/TARGET has more inputs, and keeps new ones", 0},
        {"from-empty", KEY_FROM_EMPTY, NULL, 0, "start without seeds", 0},
        {"report", KEY_REPORT, "DIR", 0, "for fuzz.json, crashes and logs (build/report)", 0},
        {"json", KEY_JSON, NULL, 0, "the report on standard output", 0},
        {0}};
    static const struct argp argp = {.options = rows,
                                     .parser = parse,
                                     .args_doc = "[TARGET...] [-- ENGINE ARGS]",
                                     .doc = "Fuzzes targets. Example: paldiff run --seconds 60 hmac"};
    struct asked asked = {.options = {.seed = 1, .report = "build/report"}};
    static struct run run;
    cpu_set_t cpus;
    int num_own = 0;
    while (num_own < argc && strcmp(argv[num_own], "--") != 0) {
        num_own++;
    }
    if (num_own < argc) {
        asked.options.engine_args = argv + num_own + 1;
        argv[num_own] = NULL;
    }
    int first = tool_parse(&argp, num_own, argv, &asked);
    run.options = asked.options;
    if (run.options.seconds == 0 && run.options.runs == 0) {
        run.options.seconds = SECONDS_DEFAULT;
    }
    if (run.options.at_once == 0) {
        run.options.at_once = sched_getaffinity(0, sizeof(cpus), &cpus) == 0 ? (uint64_t)CPU_COUNT(&cpus) : 1;
    }
    run.options.from_empty = run.options.from_empty || run.options.mutant != NULL;
    char **names = argv + first;
    size_t num_names = (size_t)(num_own - first);
    int result = check_names(&run.options, names, num_names);
    result = result == EXIT_HELD ? find_builds(&run, &asked) : result;
    result = result == EXIT_HELD ? make_jobs(&run, names, num_names) : result;
    result = result == EXIT_HELD && !open_report(&run) ? EXIT_SUITE : result;
    result = result == EXIT_HELD ? run_and_report(&run) : result;
    free(run.jobs);
    return result;
}
