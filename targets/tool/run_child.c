/* SPDX-License-Identifier: Apache-2.0
 * run_child.c: one fuzz program as a child: its folders, arguments and environment, and what its end means.
 * It decides no exit code. It breaks when libFuzzer names what it writes otherwise than crash-, timeout-, oom- or leak-
 * and the SHA-1.
 */
#include "run.h"

#include "hint.h"
#include "program.h"
#include "seeds.h"
#include "stats.h"
#include "tool.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define ARGUMENTS_MAX 128u
#define ARGUMENT_MAX (RUN_PATH_MAX + 64u)
#define ENGINE_EXIT 77 /* libFuzzer's own for a finding; the sanitizers get the same */

uint32_t run_child_seed(uint64_t seed, const char *target, const char *label)
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

/* ---- starting ------------------------------------------------------------------------------------------------------
 */

/* arguments: argv under construction; `full` when something did not fit. */
struct arguments {
    char *argv[ARGUMENTS_MAX + 1];
    size_t num;
    bool full;
};

__attribute__((format(printf, 2, 3))) static void add(struct arguments *arguments, const char *format, ...)
{
    char text[ARGUMENT_MAX];
    va_list values;
    va_start(values, format);
    int len = vsnprintf(text, sizeof(text), format, values);
    va_end(values);
    char *copy = len > 0 && (size_t)len < sizeof(text) ? strdup(text) : NULL;
    if (copy == NULL || arguments->num == ARGUMENTS_MAX) {
        arguments->full = true;
        free(copy);
        return;
    }
    arguments->argv[arguments->num++] = copy;
}

/* find_symbolizer: without one a stack is a column of numbers, and Debian's has its version in the name. */
static bool find_symbolizer(char out[PROGRAM_PATH_MAX])
{
    char name[32];
    for (unsigned version = 40; version >= 14; version--) {
        (void)snprintf(name, sizeof(name), "llvm-symbolizer-%u", version);
        if (program_find(out, name)) {
            return true;
        }
    }
    return program_find(out, "llvm-symbolizer");
}

static void set_options(const char *variable, const char *ours, const char *symbolizer)
{
    char text[2 * RUN_PATH_MAX];
    const char *theirs = getenv(variable);
    int len = snprintf(text, sizeof(text), "%s%s%s:%s", ours, symbolizer[0] != '\0' ? ":external_symbolizer_path=" : "",
                       symbolizer, theirs != NULL ? theirs : "");
    if (len > 0 && (size_t)len < sizeof(text)) {
        (void)setenv(variable, text, 1);
    }
}

/* Everything that decides what is reported is said, because defaults change; what the user has set comes last and wins.
 */
static void set_environment(void)
{
    static const char common[] = "exitcode=77:abort_on_error=0:symbolize=1:print_summary=1";
    char symbolizer[PROGRAM_PATH_MAX];
    char text[RUN_TEXT_MAX];
    _Static_assert(ENGINE_EXIT == 77, "as in the text");
    if (!find_symbolizer(symbolizer)) {
        symbolizer[0] = '\0';
    }
    (void)snprintf(text, sizeof(text),
                   "%s:detect_leaks=1:allocator_may_return_null=1:quarantine_size_mb=10:strict_string_checks=1:"
                   "detect_stack_use_after_return=1:check_initialization_order=1",
                   common);
    set_options("ASAN_OPTIONS", text, symbolizer);
    (void)snprintf(text, sizeof(text), "%s:allocator_may_return_null=1", common);
    set_options("MSAN_OPTIONS", text, symbolizer);
    (void)snprintf(text, sizeof(text), "%s:halt_on_error=1", common);
    set_options("TSAN_OPTIONS", text, symbolizer);
    (void)snprintf(text, sizeof(text), "%s:halt_on_error=1:print_stacktrace=1", common);
    set_options("UBSAN_OPTIONS", text, symbolizer);
}

static void add_corpus(struct arguments *arguments, const struct run *run, const struct run_job *job)
{
    if (run->options.corpus != NULL) {
        add(arguments, "%s/%s", run->options.corpus, job->target->name);
    } else {
        add(arguments, "%s/corpus", job->dir);
    }
    if (!run->options.from_empty) {
        add(arguments, "%s/seeds", job->dir);
    }
}

static void fill_arguments(struct arguments *arguments, const struct run *run, const struct run_job *job, int stats)
{
    char dictionary[RUN_PATH_MAX];
    char here[RUN_PATH_MAX];
    char change[HINT_MAX] = "";
    add(arguments, "%s/fuzz_%s", job->build->dir, job->target->name);
    if (run->options.seconds > 0) {
        add(arguments, "-max_total_time=%" PRIu64, run->options.seconds);
    }
    if (run->options.runs > 0) {
        add(arguments, "-runs=%" PRIu64, run->options.runs);
    }
    add(arguments, "-seed=%" PRIu32, job->seed);
    add(arguments, "-max_len=%zu", job->target->input_len_max);
    add(arguments, "-artifact_prefix=%s", job->crashes);
    add(arguments, "-len_control=0");
    add(arguments, "-reload=0"); /* what others find meanwhile would make a seed mean less */
    add(arguments, "-print_final_stats=1");
    add(arguments, "-print_funcs=0"); /* asking the symbolizer costs seconds */
    add(arguments, "-rss_limit_mb=2560");
    add(arguments, "-timeout=25");
    add(arguments,
        "-handle_xfsz=0"); /* a limit on file sizes is no crash of the target: it is told as a full disk is */
    add(arguments, "-error_exitcode=%d", ENGINE_EXIT);
    if (run_path(dictionary, "%s/%s.dict", tool_corpus(), job->target->name) && access(dictionary, R_OK) == 0) {
        add(arguments, "-dict=%s", dictionary);
    }
    if (run->options.mutant != NULL) {
        add(arguments, "--mutant=%s", run->options.mutant);
    }
    if (run->options.shim != NULL && getcwd(here, sizeof(here)) != NULL) { /* the child has a folder of its own */
        hint_add(change, "cd ", here);
        add(arguments, "--shim=%s && %s", change, run->options.shim);
    }
    for (size_t i = 0; i < run->num_waived; i++) {
        add(arguments, "--waive=%s", run->waived[i]);
    }
    if (stats >= 0) {
        add(arguments, "--stats-fd=%d", stats);
    }
    for (char **argument = run->options.engine_args; argument != NULL && *argument != NULL; argument++) {
        add(arguments, "%s", *argument);
    }
    add_corpus(arguments, run, job);
}

void run_job_label(char out[RUN_TEXT_MAX], const struct run_job *job)
{
    if (job->worker > 0) {
        (void)snprintf(out, RUN_TEXT_MAX, "%s.%" PRIu64, job->build->label, job->worker + 1);
    } else {
        (void)snprintf(out, RUN_TEXT_MAX, "%s", job->build->label);
    }
}

void run_job_name(char out[RUN_TEXT_MAX], const struct run_job *job)
{
    char label[RUN_TEXT_MAX];
    run_job_label(label, job);
    (void)snprintf(out, RUN_TEXT_MAX, "%.64s-%.64s", job->target->name, label);
}

/* make_folders: fresh ones; what an earlier run found stays among the crashes. */
static bool make_folders(const struct run *run, struct run_job *job)
{
    char path[RUN_PATH_MAX];
    char name[RUN_TEXT_MAX];
    size_t num_seeds = 0;
    run_job_name(name, job);
    if (!run_path(job->dir, "%s/runs/%s", run->report, name) ||
        !run_path(job->crashes, "%s/crashes/%s/", run->report, name)) {
        return false;
    }
    run_remove_dir(job->dir);
    if (!run_make_dir(job->crashes) || !run_path(path, "%s/corpus", job->dir) || !run_make_dir(path)) {
        return false;
    }
    if (run->options.corpus != NULL &&
        (!run_path(path, "%s/%s", run->options.corpus, job->target->name) || !run_make_dir(path))) {
        return false;
    }
    if (!run->options.from_empty) {
        if (!run_path(path, "%s/seeds", job->dir) || !run_make_dir(path)) {
            return false;
        }
        if (!seeds_write(job->target, path, &num_seeds) || num_seeds == 0) {
            (void)fprintf(stderr, "paldiff: the seeds of target %s cannot be used; see above, or use --from-empty\n",
                          job->target->name);
            return false;
        }
    }
    if (!run_path(path, "%s/log", job->dir)) {
        return false;
    }
    job->log = fopen(path, "we");
    if (job->log == NULL) {
        (void)fprintf(stderr, "paldiff: %s cannot be written: %s; name another folder with --report\n", path,
                      strerror(errno));
    }
    return job->log != NULL;
}

/* free_cpu: a processor that no running job has, or -1. A program's threads take turns, so one processor is all it can
 * use, and waking a thread on another costs more than the work between two wakings (twice the time, measured). */
static int free_cpu(const struct run *run)
{
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0 || run->options.at_once > (uint64_t)CPU_COUNT(&allowed)) {
        return -1;
    }
    for (size_t i = 0; i < run->num_jobs; i++) {
        if (run->jobs[i].state == JOB_RUNNING && run->jobs[i].cpu >= 0) {
            CPU_CLR((size_t)run->jobs[i].cpu, &allowed);
        }
    }
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET((size_t)cpu, &allowed)) {
            return cpu;
        }
    }
    return -1;
}

static void stay_on(int cpu)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    if (cpu >= 0) {
        CPU_SET((size_t)cpu, &one);
        (void)sched_setaffinity(0, sizeof(one), &one);
    }
}

/* become: in the child. A group of its own, so that Ctrl-C reaches us alone; and it dies with us. */
static _Noreturn void become(const struct run_job *job, const struct arguments *arguments, int end, int stats,
                             pid_t parent)
{
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    (void)setpgid(0, 0);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)signal(SIGPIPE, SIG_DFL);
    /* The engine learns from compared values, addresses too: only at the same addresses does one seed find the same. */
    (void)personality(ADDR_NO_RANDOMIZE);
    stay_on(job->cpu);
    if (getppid() == parent && nothing >= 0 && dup2(nothing, STDIN_FILENO) >= 0 && dup2(end, STDOUT_FILENO) >= 0 &&
        dup2(end, STDERR_FILENO) >= 0 && (stats < 0 || fcntl(stats, F_SETFD, 0) == 0) && chdir(job->dir) == 0) {
        set_environment();
        (void)execv(arguments->argv[0], arguments->argv);
        (void)dprintf(STDERR_FILENO, "paldiff: %s does not start: %s; build it first\n", arguments->argv[0],
                      strerror(errno));
    }
    _exit(EXIT_SUITE);
}

/* share_stats: memory that the child counts in; its file for the child to inherit. -1 where it cannot be had (a limit
 * on file sizes counts here too): then a child's counts are known only if it lives to print them. */
static int share_stats(struct run_job *job)
{
    int fd = memfd_create("paldiff-stats", MFD_CLOEXEC);
    void *memory = fd >= 0 && ftruncate(fd, sizeof(*job->stats)) == 0
                       ? mmap(NULL, sizeof(*job->stats), PROT_READ, MAP_SHARED, fd, 0)
                       : MAP_FAILED;
    if (memory == MAP_FAILED) {
        if (fd >= 0) {
            (void)close(fd);
        }
        return -1;
    }
    job->stats = memory;
    return fd;
}

static void forget_stats(struct run_job *job)
{
    if (job->stats != NULL) {
        (void)munmap(job->stats, sizeof(*job->stats));
        job->stats = NULL;
    }
}

/* launch: false when there is no new process. */
static bool launch(struct run_job *job, const struct arguments *arguments, int stats)
{
    int ends[2] = {-1, -1};
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
        return false;
    }
    /* The child's end blocks, as everybody expects of standard error. */
    bool good = fcntl(ends[1], F_SETFL, 0) == 0;
    for (size_t i = 0; i < arguments->num; i++) {
        (void)fprintf(job->log, "%s%c", arguments->argv[i], i + 1 < arguments->num ? ' ' : '\n');
    }
    (void)fflush(job->log); /* or the child has it too; whether it was taken is seen when the log is closed */
    pid_t parent = getpid();
    job->pid = good ? fork() : -1;
    if (job->pid == 0) {
        become(job, arguments, ends[1], stats, parent);
    }
    (void)setpgid(job->pid, job->pid); /* here too: whoever is first */
    (void)close(ends[1]);
    job->pipe = ends[0];
    job->state = JOB_RUNNING;
    job->started = tool_now();
    return job->pid > 0;
}

bool run_child_start(struct run *run, struct run_job *job)
{
    struct arguments arguments = {0};
    int stats = -1;
    bool good = make_folders(run, job);
    job->cpu = free_cpu(run);
    if (good) {
        stats = share_stats(job);
        fill_arguments(&arguments, run, job, stats);
        good = !arguments.full && launch(job, &arguments, stats);
    }
    for (size_t i = 0; i < arguments.num; i++) {
        free(arguments.argv[i]);
    }
    if (stats >= 0) {
        (void)close(stats);
    }
    if (!good) {
        (void)fprintf(stderr, "paldiff: target %s could not be started in %s\n", job->target->name, job->build->dir);
        forget_stats(job);
        job->state = JOB_ENDED;
    }
    return good;
}

/* ---- ending --------------------------------------------------------------------------------------------------------
 */

/* kind_of: NULL for a child that ended as it should, or as we asked it to. */
static const char *kind_of(const struct run_job *job, int status)
{
    const struct run_finding *finding = &job->finding;
    const char *name = strrchr(finding->file, '/');
    static const char *const artefacts[] = {"timeout", "oom", "leak"};
    for (size_t i = 0; name != NULL && i < sizeof(artefacts) / sizeof(artefacts[0]); i++) {
        if (strncmp(name + 1, artefacts[i], strlen(artefacts[i])) == 0) {
            return artefacts[i];
        }
    }
    if (finding->rule[0] != '\0') {
        return "rule";
    }
    if (finding->file[0] != '\0') {
        return "crash";
    }
    if (job->overdue) {
        return "timeout";
    }
    if (job->stopped || (WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == EXIT_NOTHING_RAN))) {
        return NULL;
    }
    if (job->executions == 0 || (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUITE)) {
        return "startup";
    }
    if (WIFSIGNALED(status)) {
        return "killed";
    }
    return strstr(finding->summary, "leak") != NULL ? "leak" : "crash";
}

/* was_written: whether what the engine says it wrote is there. A full disk leaves an empty file, under the name of what
 * it would have held; only the empty input's own name ends like this. */
static bool was_written(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 &&
           (info.st_size > 0 || strstr(path, "da39a3ee5e6b4b0d3255bfef95601890afd80709") != NULL);
}

/* keep_input: what a child was at that ended without writing it. */
static void keep_input(struct run_job *job)
{
    struct run_finding *finding = &job->finding;
    uint64_t len = job->stats != NULL ? atomic_load_explicit(&job->stats->playing_len, memory_order_acquire) : 0;
    if (finding->file[0] != '\0' || len == 0 || len > sizeof(job->stats->playing) + 1 ||
        !run_path(finding->file, "%s%s-%" PRIu64, job->crashes, finding->kind, job->plays + 1)) {
        return;
    }
    FILE *file = fopen(finding->file, "we");
    bool good = file != NULL && fwrite(job->stats->playing, 1, len - 1, file) == len - 1;
    good = file != NULL && fclose(file) == 0 && good;
    if (!good) {
        (void)fprintf(stderr, "paldiff: %s was not written: %s\n", finding->file, strerror(errno));
        finding->file[0] = '\0';
        job->log_full = true;
    }
}

/* explain: an end that nobody announced gets its exit code or signal as its summary. */
static void explain(struct run_job *job, int status)
{
    struct run_finding *finding = &job->finding;
    char said[RUN_TEXT_MAX];
    (void)memcpy(said, finding->summary, sizeof(said));
    if (finding->file[0] != '\0' && !was_written(finding->file)) {
        (void)fprintf(stderr, "paldiff: %s was not written: is the disk full?\n", finding->file);
        finding->file[0] = '\0';
        job->log_full = true;
    }
    if (job->overdue) {
        (void)snprintf(finding->summary, sizeof(finding->summary), "did not end long after its time, and was killed");
    } else if (WIFSIGNALED(status)) {
        int signal_number = WTERMSIG(status);
        (void)snprintf(finding->summary, sizeof(finding->summary), "ended by signal %d (%s)%s%.400s", signal_number,
                       strsignal(signal_number), said[0] != '\0' ? ": " : "", said);
    } else if (WIFEXITED(status) && said[0] == '\0') {
        (void)snprintf(finding->summary, sizeof(finding->summary), "ended with exit code %d", WEXITSTATUS(status));
    }
}

bool run_child_ended(struct run_job *job)
{
    int status = 0;
    if (waitpid(job->pid, &status, WNOHANG) != job->pid) {
        return false;
    }
    run_child_read_last(job);
    if (job->pipe >= 0) {
        (void)close(job->pipe);
    }
    run_child_stop(job, SIGKILL); /* a symbolizer that it left behind */
    job->pipe = -1;
    job->seconds = tool_now() - job->started;
    job->state = JOB_ENDED;
    job->finding.kind = kind_of(job, status);
    if (job->finding.kind != NULL) {
        explain(job, status);
        keep_input(job);
    }
    forget_stats(job);
    bool log_error = ferror(job->log) != 0;
    if (fclose(job->log) != 0 || log_error) {
        job->log_full = true;
    }
    if (job->finding.kind == NULL && !job->log_full) {
        run_remove_dir(job->dir);
    }
    return true;
}

void run_child_stop(const struct run_job *job, int signal_number)
{
    (void)kill(-job->pid, signal_number);
}
