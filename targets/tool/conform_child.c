/* SPDX-License-Identifier: Apache-2.0
 * conform_child.c: a port is played behind a guard (guard.h); what is added here is a look, after each play, whether
 * the process is as it was: descriptors, threads, signals. A process that is not is given up, and the next scenario is
 * played by a new one. It breaks where /proc is not there.
 */
#include "conform.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define DESCRIPTORS_MAX 256
#define SIGNALS_MAX 65
#define FILE_BYTES_MAX ((rlim_t)64 << 20)
#define THREAD_WAITS_MAX 20 /* of 5 ms, for a thread that was joined and is not gone yet */

/* before: the process as it was; the playing side's alone, and where a signal handler finds it. */
static struct {
    struct conform_note *note;
    const struct stage *stage;
    struct stat descriptors[DESCRIPTORS_MAX]; /* st_nlink 0 and st_mode 0: closed */
    struct sigaction actions[SIGNALS_MAX];
    sigset_t mask;
    size_t threads; /* but for the scenario's own */
    struct sigaction next[2];
} before;

/* ---- the playing side ----------------------------------------------------------------------------------------------
 */

static void note_break(enum conform_rule rule, const char *what, long number)
{
    if (atomic_load(&before.note->rule) == CONFORM_NUM_RULES) {
        (void)snprintf(before.note->got, sizeof(before.note->got), what, number);
        atomic_store(&before.note->rule, (int)rule);
    }
}

/* on_fault: says so if it was one of the guard pages. What comes next is as without it: a sanitizer's report, or the
 * end. */
static void on_fault(int number, siginfo_t *info, void *context)
{
    bool guarded = false;
    (void)context;
    for (size_t i = 0; before.stage != NULL && i < before.stage->num_worlds; i++) {
        guarded |= arena_guards(&before.stage->worlds[i].arena, info->si_addr);
    }
    if (guarded && atomic_load(&before.note->rule) == CONFORM_NUM_RULES) {
        memcpy(before.note->got, "a page next to what it was lent", sizeof("a page next to what it was lent"));
        atomic_store(&before.note->rule, CONFORM_CONFINED);
    }
    (void)sigaction(number, &before.next[number == SIGSEGV ? 0 : 1], NULL);
}

static void remember_process(void)
{
    const struct sigaction fault = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    (void)sigaction(SIGSEGV, &fault, &before.next[0]);
    (void)sigaction(SIGBUS, &fault, &before.next[1]);
    for (int fd = 0; fd < DESCRIPTORS_MAX; fd++) {
        if (fstat(fd, &before.descriptors[fd]) != 0) {
            memset(&before.descriptors[fd], 0, sizeof(before.descriptors[fd]));
        }
    }
    for (int number = 1; number < SIGNALS_MAX; number++) {
        (void)sigaction(number, NULL, &before.actions[number]);
    }
    (void)sigprocmask(SIG_SETMASK, NULL, &before.mask);
}

/* num_threads: of this process, the scenario's own not counted. */
static size_t num_threads(const struct stage *stage)
{
    struct stat tasks;
    size_t own = 0;
    for (size_t i = 1; i < TRACE_THREADS_MAX; i++) {
        own += stage->actors.actor[i].running ? 1 : 0;
    }
    return stat("/proc/self/task", &tasks) == 0 ? tasks.st_nlink - 2 - own : 0;
}

static void check_descriptors(void)
{
    for (int fd = 0; fd < DESCRIPTORS_MAX; fd++) {
        const struct stat *was = &before.descriptors[fd];
        struct stat is;
        if (was->st_mode == 0) {
            continue;
        }
        if (fstat(fd, &is) != 0) {
            note_break(CONFORM_DESCRIPTORS, "descriptor %ld is closed", fd);
        } else if (is.st_dev != was->st_dev || is.st_ino != was->st_ino) {
            note_break(CONFORM_DESCRIPTORS, "descriptor %ld is another file", fd);
        }
    }
}

static void check_signals(void)
{
    sigset_t mask;
    for (int number = 1; number < SIGNALS_MAX; number++) {
        struct sigaction is;
        memset(&is, 0, sizeof(is));
        if (sigaction(number, NULL, &is) == 0 && is.sa_sigaction != before.actions[number].sa_sigaction) {
            note_break(CONFORM_SIGNALS, "signal %ld has another handler", number);
        }
    }
    if (sigprocmask(SIG_SETMASK, NULL, &mask) == 0) {
        for (int number = 1; number < SIGNALS_MAX; number++) {
            if (sigismember(&mask, number) != sigismember(&before.mask, number)) {
                note_break(CONFORM_SIGNALS, "signal %ld is masked as it was not", number);
            }
        }
    }
}

static void check_threads(const struct stage *stage)
{
    const struct timespec pause = {.tv_nsec = 5000000};
    for (int i = 0; i < THREAD_WAITS_MAX && num_threads(stage) > before.threads; i++) {
        (void)nanosleep(&pause, NULL);
    }
    size_t now = num_threads(stage);
    if (now > before.threads) {
        note_break(CONFORM_THREADS, "threads left behind: %ld", (long)(now - before.threads));
    }
}

/* shim_failed: the port's process ended, or spoke out of turn. */
static void shim_failed(enum shim_failure failure, const char *text)
{
    (void)snprintf(before.note->got, sizeof(before.note->got), "%s", text);
    atomic_store(&before.note->rule, failure == SHIM_ENDED ? CONFORM_SURVIVES : CONFORM_SPEAKS);
    _exit(EXIT_BROKEN);
}

/* leave_if_broken: what the port did to the process cannot be undone. */
static void leave_if_broken(void)
{
    if (atomic_load(&before.note->rule) != CONFORM_NUM_RULES) {
        _exit(EXIT_BROKEN);
    }
}

/* look: whether the process is as it was. What another one does to itself is its own affair. */
static void look(const struct conform_child *child, const struct stage *stage)
{
    if (!child->source->process) {
        check_descriptors();
        check_signals();
        check_threads(stage);
    }
    leave_if_broken();
}

static const struct pal_port *open_port(void *context)
{
    const struct conform_child *child = context;
    const struct rlimit no_core = {0, 0};
    const struct rlimit small_files = {FILE_BYTES_MAX, FILE_BYTES_MAX};
    char error[CONFORM_TEXT_MAX] = "";
    before.note = child->note;
    before.stage = NULL;
    atomic_store(&child->note->ready, false);
    (void)dup2(STDERR_FILENO, STDOUT_FILENO); /* results are the parent's to print */
    (void)setrlimit(RLIMIT_CORE, &no_core);
    (void)setrlimit(RLIMIT_FSIZE, &small_files);
    remember_process();
    const struct pal_port *port = conform_port_open(child->source, shim_failed, error);
    atomic_store(&child->note->shim, (int)shim_pid());
    if (port == NULL && child->source->shim != NULL) {
        shim_failed(SHIM_ENDED, error); /* it did start when it was asked what it has */
    }
    if (port == NULL) {
        (void)fprintf(stderr, "paldiff: %s\n", error);
    }
    return port;
}

static void ready(void *context, struct stage *stage)
{
    const struct conform_child *child = context;
    struct conform_note *note = child->note;
    for (size_t r = 0; r < NUM_RULES; r++) {
        stage->binds[r] = stage->binds[r] && !child->unbound[r];
    }
    before.stage = stage;
    before.threads = num_threads(stage);
    stage->rehearse = child->source->shim != NULL ? shim_rehearse : NULL;
    stage->faultless = child->source->process;
    note->num_lacking = stage->num_lacking;
    for (size_t i = 0; i < stage->num_lacking; i++) {
        (void)snprintf(note->lacking[i], sizeof(note->lacking[i]), "%s", stage->lacking[i]->name);
    }
    atomic_store(&note->ready, true);
    look(child, stage);
}

static void played(void *context, const struct stage *stage)
{
    const struct conform_child *child = context;
    child->note->num_undone = shim_unsupported();
    look(child, stage);
}

/* ---- the asking side -----------------------------------------------------------------------------------------------
 */

/* megabytes_of: what a process holds now. */
static uint64_t megabytes_of(pid_t pid)
{
    char path[64];
    char line[128] = "";
    (void)snprintf(path, sizeof(path), "/proc/%d/statm", (int)pid);
    FILE *file = fopen(path, "re");
    bool known = file != NULL && fgets(line, sizeof(line), file) != NULL && strchr(line, ' ') != NULL;
    if (file != NULL) {
        (void)fclose(file);
    }
    uint64_t pages = known ? strtoull(strchr(line, ' '), NULL, 10) : 0; /* the second number */
    return pages * (uint64_t)sysconf(_SC_PAGESIZE) >> 20;
}

/* megabytes_below: what all processes hold that it started, and those that they started. */
static uint64_t megabytes_below(pid_t pid)
{
    char path[64];
    uint64_t megabytes = 0;
    char *word = NULL;
    size_t cap = 0;
    (void)snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
    FILE *file = fopen(path, "re");
    while (file != NULL && getdelim(&word, &cap, ' ', file) > 0) {
        pid_t started = (pid_t)strtol(word, NULL, 10);
        megabytes += started > 0 ? megabytes_of(started) + megabytes_below(started) : 0;
    }
    free(word);
    if (file != NULL) {
        (void)fclose(file);
    }
    return megabytes;
}

/* excessive: whether the port holds more than the limit now. */
static bool excessive(void *context, pid_t pid)
{
    const struct conform_child *child = context;
    pid_t shim = atomic_load(&child->note->shim);
    uint64_t megabytes = shim > 0 ? megabytes_below(shim) : megabytes_of(pid);
    if (megabytes <= child->limits.megabytes) {
        return false;
    }
    (void)snprintf(child->note->got, sizeof(child->note->got), "%" PRIu64 " MB", megabytes);
    atomic_store(&child->note->rule, CONFORM_MEMORY);
    return true;
}

bool conform_child_init(struct conform_child *child, const struct target *target, const struct conform_source *source,
                        struct conform_limits limits, struct conform_note *note)
{
    memset(child, 0, sizeof(*child));
    child->subject = (struct guard_subject){child, open_port, ready, played, excessive};
    child->source = source;
    child->limits = limits;
    child->note = note;
    guard_init(&child->guard, target, NULL, limits.seconds);
    child->guard.subject = &child->subject;
    child->guard.quiet = true;
    return note != NULL;
}

void conform_child_deinit(struct conform_child *child)
{
    (void)guard_deinit(&child->guard);
}

static void want_of(struct conform_break *out, struct conform_limits limits)
{
    static const char *const wants[CONFORM_NUM_RULES] = {
        [CONFORM_SURVIVES] = "an answer",
        [CONFORM_CONFINED] = "only memory that is the call's",
        [CONFORM_SPEAKS] = "an answer of the protocol",
        [CONFORM_DESCRIPTORS] = "as it was",
        [CONFORM_THREADS] = "0",
        [CONFORM_SIGNALS] = "as it was",
    };
    if (out->rule == CONFORM_MEMORY) {
        (void)snprintf(out->want, sizeof(out->want), "at most %u MB", limits.megabytes);
    } else if (out->rule == CONFORM_ANSWERS) {
        (void)snprintf(out->want, sizeof(out->want), "an answer in %u s", limits.seconds);
    } else {
        (void)snprintf(out->want, sizeof(out->want), "%s", wants[out->rule]);
    }
}

/* is_stray: a sanitizer's summary that is about memory which is not the call's. */
static bool is_stray(const char *summary)
{
    static const char *const kinds[] = {"-overflow", "-underflow", "use-after-", "double-free", "bad-free"};
    bool stray = false;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        stray |= strstr(summary, kinds[i]) != NULL;
    }
    return stray && strstr(summary, ": stack-overflow") == NULL;
}

/* note_end: why the process is gone. */
static void note_end(struct conform_break *out, const struct conform_child *child, const struct guard_answer *answer)
{
    int noted = atomic_load(&child->note->rule);
    memset(out, 0, sizeof(*out));
    out->is_port_rule = true;
    (void)snprintf(out->text, sizeof(out->text), "  the process said: %.3000s\n", answer->text);
    (void)snprintf(out->got, sizeof(out->got), "%.200s", answer->text);
    if (noted != CONFORM_NUM_RULES) {
        out->rule = (uint32_t)noted;
        (void)snprintf(out->got, sizeof(out->got), "%s", child->note->got);
    } else if (answer->end == GUARD_LATE) {
        out->rule = CONFORM_ANSWERS;
    } else if (is_stray(answer->text)) {
        out->rule = CONFORM_CONFINED;
    } else {
        out->rule = CONFORM_SURVIVES;
        if (answer->end == GUARD_CRASHED && WIFEXITED(answer->status) && answer->text[0] == '\0') {
            (void)snprintf(out->got, sizeof(out->got), "ended with exit code %d", WEXITSTATUS(answer->status));
        }
    }
    want_of(out, child->limits);
}

static void note_rule(struct conform_break *out, const struct guard_answer *answer)
{
    memset(out, 0, sizeof(*out));
    out->rule = answer->rule;
    out->step = answer->step;
    (void)snprintf(out->got, sizeof(out->got), "%s", answer->got);
    (void)snprintf(out->want, sizeof(out->want), "%s", answer->want);
    (void)snprintf(out->text, sizeof(out->text), "%s", answer->text);
}

enum conform_end conform_child_play(struct conform_child *child, const struct scenario *scenario,
                                    struct guard_answer *answer, struct conform_break *out)
{
    atomic_store(&child->note->rule, CONFORM_NUM_RULES);
    child->note->num_undone = 0;
    guard_play(&child->guard, scenario, answer);
    switch (answer->end) {
    case GUARD_HELD:
        return CONFORM_HELD;
    case GUARD_RULE:
        note_rule(out, answer);
        return CONFORM_BROKEN;
    case GUARD_FAILED:
        if (!atomic_load(&child->note->ready)) {
            (void)fprintf(stderr, "paldiff: the port cannot be played: %s\n", answer->text);
            return CONFORM_FAILED;
        }
        break; /* an exit code of ours that the port took */
    case GUARD_CRASHED:
    case GUARD_LATE:
        break;
    }
    note_end(out, child, answer);
    return CONFORM_BROKEN;
}

/* ---- asking what it declares ---------------------------------------------------------------------------------------
 */

/* wait_for: how the process ended; false when it had to be killed. */
static bool wait_for(pid_t pid, unsigned seconds, int *out_status)
{
    const struct timespec pause = {.tv_nsec = 5000000};
    for (unsigned i = 0; i < seconds * 200; i++) {
        if (waitpid(pid, out_status, WNOHANG) == pid) {
            return true;
        }
        (void)nanosleep(&pause, NULL);
    }
    (void)kill(pid, SIGKILL);
    while (waitpid(pid, out_status, 0) < 0 && errno == EINTR) {
    }
    return false;
}

/* judge_declared: what the port says of itself is no port, or none for us. */
static bool judge_declared(struct conform_break *out, const struct conform_declared *declared)
{
    if (!declared->loaded) {
        out->rule = CONFORM_LOADS;
        (void)snprintf(out->got, sizeof(out->got), "%s", declared->error);
        (void)snprintf(out->want, sizeof(out->want), "a port");
    } else if (declared->abi != PAL_ABI_VERSION) {
        out->rule = CONFORM_ABI;
        (void)snprintf(out->got, sizeof(out->got), "version %" PRIu32, declared->abi);
        (void)snprintf(out->want, sizeof(out->want), "version %u", PAL_ABI_VERSION);
    } else if (declared->missing[0] != '\0') {
        out->rule = CONFORM_COMPLETE;
        (void)snprintf(out->got, sizeof(out->got), "%s is NULL", declared->missing);
        (void)snprintf(out->want, sizeof(out->want), "a function, or no table at all");
    } else {
        return true;
    }
    return false;
}

enum conform_end conform_probe(const struct conform_source *source, struct conform_limits limits,
                               struct conform_note *note, struct conform_break *out)
{
    int status = 0;
    memset(out, 0, sizeof(*out));
    memset(&note->declared, 0, sizeof(note->declared));
    out->is_port_rule = true;
    (void)fflush(NULL);
    pid_t pid = fork();
    if (pid < 0) {
        (void)fprintf(stderr, "paldiff: no child can be started: %s\n", strerror(errno));
        return CONFORM_FAILED;
    }
    if (pid == 0) {
        (void)dup2(STDERR_FILENO, STDOUT_FILENO);
        conform_declare(&note->declared, source);
        _exit(EXIT_HELD);
    }
    if (!wait_for(pid, limits.seconds, &status)) {
        out->rule = CONFORM_ANSWERS;
        (void)snprintf(out->got, sizeof(out->got), "nothing, while it was loaded");
        want_of(out, limits);
        return CONFORM_BROKEN;
    }
    if (!note->declared.loaded && note->declared.error[0] == '\0') {
        out->rule = CONFORM_SURVIVES;
        (void)snprintf(out->got, sizeof(out->got), "while it was loaded: %s %d",
                       WIFSIGNALED(status) ? "signal" : "exit code",
                       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
        want_of(out, limits);
        return CONFORM_BROKEN;
    }
    return judge_declared(out, &note->declared) ? CONFORM_HELD : CONFORM_BROKEN;
}
