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
#include <sys/stat.h>
#include <sys/wait.h>
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
    KEY_SHIM = 'p',
    KEY_WAIVERS = 'w',
    KEY_CORPUS = 'c',
    KEY_FROM_EMPTY = 'e',
    KEY_REPORT = 'o',
    KEY_JSON = 'J',
    KEY_TOTAL = 't',
    KEY_JUNIT = 'u',
    KEY_SARIF = 'a'
};

/* asked: the command line. */
struct asked {
    struct run_options options;
    size_t num_builds;
    const char *builds[RUN_BUILDS_MAX];
};

/* The signal that ends the run, and how many came: the second one does not wait for the children. */
static volatile sig_atomic_t ending;
static volatile sig_atomic_t num_signals;

static void on_signal(int signal_number)
{
    ending = signal_number;
    num_signals++;
}

/* ---- what was asked for --------------------------------------------------------------------------------------------
 */

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
        options->seconds = tool_number(state, "--seconds", argument, 1, NUMBER_MAX);
        return 0;
    case KEY_TOTAL:
        options->total_seconds = tool_number(state, "--total-seconds", argument, 1, NUMBER_MAX);
        return 0;
    case KEY_RUNS:
        options->runs = tool_number(state, "--runs", argument, 1, NUMBER_MAX);
        return 0;
    case KEY_SEED:
        options->seed = tool_number(state, "--seed", argument, 0, NUMBER_MAX);
        return 0;
    case KEY_AT_ONCE:
        options->at_once = tool_number(state, "-j", argument, 1, NUMBER_MAX);
        if (options->at_once > RUN_JOBS_AT_ONCE_MAX) {
            argp_error(state, "-j takes at most %u", RUN_JOBS_AT_ONCE_MAX);
        }
        return 0;
    case KEY_MUTANT:
        options->mutant = argument;
        return 0;
    case KEY_SHIM:
        options->shim = argument;
        return 0;
    case KEY_WAIVERS:
        options->waivers = argument;
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
    case KEY_JUNIT:
        options->junit = argument;
        return 0;
    case KEY_SARIF:
        options->sarif = argument;
        return 0;
    case KEY_JSON:
        options->json = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* is_wanted: one of the targets that are named, else the mutant's, else any. */
static bool is_wanted(const struct run *run, const struct target *target, char **names, size_t num_names)
{
    const struct mutant *mutant = run->options.mutant != NULL ? mutant_find(run->options.mutant) : NULL;
    bool any = num_names == 0 && (mutant == NULL || strcmp(mutant->area, target->name) == 0);
    return any || tool_is_named(target->name, names, num_names);
}

/* make_jobs: one per target and build; when more are asked for at a time than that, further workers, each with a seed
 * of its own. The first worker's does not depend on how many there are. */
static int make_jobs(struct run *run, char **names, size_t num_names)
{
    uint64_t num_pairs = 0;
    for (size_t t = 0; t < num_targets; t++) {
        num_pairs += is_wanted(run, targets[t], names, num_names) ? run->num_builds : 0;
    }
    uint64_t num = run->options.at_once > num_pairs ? run->options.at_once : num_pairs;
    run->jobs = calloc(num > 0 ? num : 1, sizeof(*run->jobs));
    for (uint64_t worker = 0; run->jobs != NULL && run->num_jobs < num; worker++) {
        for (size_t at = 0; at < num_targets * run->num_builds && run->num_jobs < num; at++) {
            const struct target *target = targets[at / run->num_builds];
            if (is_wanted(run, target, names, num_names)) {
                struct run_job *job = &run->jobs[run->num_jobs++];
                job->target = target;
                job->build = &run->builds[at % run->num_builds];
                job->worker = worker;
                job->seed =
                    run_child_seed(run->options.seed + worker * 0x9e3779b97f4a7c15u, target->name, job->build->label);
                job->pipe = -1;
            }
        }
    }
    return run->jobs != NULL ? EXIT_HELD : EXIT_SUITE;
}

/* share_time: the time of each job, when that of the whole run was given. Jobs that start together share none of it. */
static int share_time(struct run *run)
{
    struct run_options *options = &run->options;
    if (options->at_once == 0) {
        cpu_set_t cpus;
        options->at_once = sched_getaffinity(0, sizeof(cpus), &cpus) == 0 ? (uint64_t)CPU_COUNT(&cpus) : 1;
    }
    uint64_t rounds = (run->num_jobs + options->at_once - 1) / options->at_once;
    if (options->total_seconds > 0) {
        options->seconds = rounds > 0 ? options->total_seconds / rounds : 0;
        if (options->seconds == 0) {
            return tool_usage("--total-seconds %" PRIu64 " is too little for %zu runs, %" PRIu64 " at a time",
                              options->total_seconds, run->num_jobs, options->at_once);
        }
    } else if (options->seconds == 0 && options->runs == 0) {
        options->seconds = SECONDS_DEFAULT;
    }
    return EXIT_HELD;
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
    /* An earlier run's would pass for this one's, should this one not come to write its own. */
    if (!run_path(path, "%s/fuzz.json", run->report)) {
        return false;
    }
    const char *const stale[] = {path, run->options.junit, run->options.sarif};
    for (size_t i = 0; i < sizeof(stale) / sizeof(stale[0]); i++) {
        struct stat info;
        if (stale[i] != NULL && lstat(stale[i], &info) == 0 && S_ISREG(info.st_mode)) {
            (void)remove(stale[i]);
        }
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
    double late = tool_now() - job->started - (double)run->options.seconds - GRACE_SECONDS;
    if (since > 0 && !job->stopped) {
        job->stopped = true;
        run_child_stop(job, SIGINT);
    } else if (since > 0 && (tool_now() - since > STOP_SECONDS || num_signals > 1)) {
        run_child_stop(job, SIGKILL);
    } else if (run->options.seconds > 0 && late > 0) {
        job->overdue = true;
        run_child_stop(job, SIGKILL);
    }
}

static bool is_over(const struct run_job *job)
{
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)job->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == job->pid;
}

/* end_job: reads and judges what a child has left; a place that takes no more ends the run. */
static void end_job(struct run *run, struct run_job *job)
{
    char corpus[RUN_PATH_MAX];
    if (!run_child_ended(job)) {
        return;
    }
    if (job->log_full) {
        (void)fprintf(stderr, "paldiff: %s takes no more: make room, or name another folder with --report\n",
                      run->report);
        run->failed = true;
    }
    if (run->options.corpus != NULL &&
        (!run_path(corpus, "%s/%s", run->options.corpus, job->target->name) || !run_has_room(corpus))) {
        run->failed = true;
    }
}

static void run_all(struct run *run)
{
    struct run_progress progress;
    double since = 0;
    run_progress_init(&progress);
    start_jobs(run);
    while (num_running(run) > 0) {
        wait_for_output(run);
        if (since <= 0 && (ending != 0 || run->failed)) {
            since = tool_now();
        }
        for (size_t i = 0; i < run->num_jobs; i++) {
            struct run_job *job = &run->jobs[i];
            if (job->state == JOB_RUNNING) {
                run_child_read(job);
                if (is_over(job)) {
                    run_progress_clear(&progress); /* there may be words to come, which would be taken back with it */
                    end_job(run, job);
                } else {
                    stop_late(run, job, since);
                }
            }
        }
        start_jobs(run);
        run_progress_show(&progress, run);
    }
    run->signal = ending;
    run_progress_clear(&progress);
}

/* judge: a broken rule weighs most, then a suite that failed or was cut short, then one that saw nothing. */
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
    if (startup || run->signal != 0) {
        return EXIT_SUITE;
    }
    return idle ? EXIT_NOTHING_RAN : EXIT_HELD;
}

static void catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
    (void)sigaction(SIGHUP, &action, NULL);
    (void)signal(SIGXFSZ, SIG_IGN); /* a limit on file sizes is to be told as a full disk is */
}

static int run_and_report(struct run *run)
{
    FILE *words = run->options.json ? stderr : stdout;
    (void)fprintf(stderr, "%zu runs, %" PRIu64 " at a time, seed %" PRIu64 "\n", run->num_jobs, run->options.at_once,
                  run->options.seed);
    catch_signals();
    run_all(run);
    run->exit_code = judge(run);
    bool written = run_report_write(run);
    written = run_report_findings_write(run) && written;
    if (!written && run->exit_code != EXIT_BROKEN) {
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

/* check_engine_args: what takes the children's output away from us, and their folders from each other. */
static int check_engine_args(char **arguments)
{
    static const char *const refused[] = {"-jobs=", "-workers=", "-fork="};
    for (char **argument = arguments; argument != NULL && *argument != NULL; argument++) {
        for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
            if (strncmp(*argument, refused[i], strlen(refused[i])) == 0) {
                return tool_usage("the engine's %s is not used: it breaks MSan, and its workers share folders; "
                                  "`paldiff run -j N` gives each its own",
                                  *argument);
            }
        }
    }
    return EXIT_HELD;
}

int tool_run(int argc, char **argv)
{
    static const struct argp_option rows[] = {
        {"build", KEY_BUILD, "DIR", 0,
         "a build folder with fuzz programs; again for more (asan and msan beside this one)", 0},
        {"seconds", KEY_SECONDS, "N", 0, "for each target and build (60, or no limit if --runs is given)", 0},
        {"total-seconds", KEY_TOTAL, "N", 0, "for all of them, split evenly, instead of --seconds", 0},
        {"runs", KEY_RUNS, "N", 0, "inputs for each target and build", 0},
        {"seed", KEY_SEED, "N", 0, "of the whole run (1); each child's is made from it", 0},
        {NULL, KEY_AT_ONCE, "N", 0,
         "children at a time (the number of processors); when that is more than targets times builds, several workers "
         "for each, which have folders and seeds of their own",
         0},
        {"mutant", KEY_MUTANT, "NAME", 0, "plant a bug, in its target, and start from nothing", 0},
        {"shim", KEY_SHIM, "COMMAND", 0, "the port under test: see `paldiff conform --help`", 0},
        {"waivers", KEY_WAIVERS, "FILE", 0, "rules that are not judged, with --shim: as `paldiff conform` reads them",
         0},
        {"corpus", KEY_CORPUS, "DIR", 0, "DIR/TARGET has more inputs, and keeps new ones", 0},
        {"from-empty", KEY_FROM_EMPTY, NULL, 0, "start without seeds", 0},
        {"report", KEY_REPORT, "DIR", 0, "for fuzz.json, crashes and logs (build/report)", 0},
        {"json", KEY_JSON, NULL, 0, "the report on standard output", 0},
        {"junit", KEY_JUNIT, "FILE", 0, "also the findings as JUnit XML", 0},
        {"sarif", KEY_SARIF, "FILE", 0, "also the findings as SARIF 2.1.0", 0},
        {0}};
    static const struct argp argp = {
        .options = rows,
        .parser = parse,
        .args_doc = "[TARGET...] [-- ENGINE ARGS]",
        .doc = "Fuzzes targets, every one in every build, or those named. Ctrl-C ends it early, with its report. "
               "Example: paldiff run --seconds 60 hmac"};
    struct asked asked = {.options = {.seed = 1, .report = "build/report"}};
    static struct run run;
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
    run.options.from_empty = run.options.from_empty || run.options.mutant != NULL;
    char **names = argv + first;
    size_t num_names = (size_t)(num_own - first);
    int result = run_check(&run, names, num_names);
    result = result == EXIT_HELD ? check_engine_args(run.options.engine_args) : result;
    result = result == EXIT_HELD ? run_find_builds(&run, asked.num_builds, asked.builds) : result;
    result = result == EXIT_HELD ? make_jobs(&run, names, num_names) : result;
    result = result == EXIT_HELD ? share_time(&run) : result;
    result = result == EXIT_HELD && !open_report(&run) ? EXIT_SUITE : result;
    result = result == EXIT_HELD ? run_and_report(&run) : result;
    free(run.jobs);
    return result;
}
