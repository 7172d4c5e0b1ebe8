/* SPDX-License-Identifier: Apache-2.0
 * guard.c: the child, the pipe to it, and what its end means. A scenario goes over as it is in memory: both sides are
 * the same program.
 */
#include "guard.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORDS_MAX (64u * 1024u)
#define SLICE_MS 20

void guard_init(struct guard *guard, const struct target *target, const char *mutant, unsigned seconds)
{
    memset(guard, 0, sizeof(*guard));
    guard->target = target;
    guard->mutant = mutant;
    guard->seconds = seconds;
    guard->end = -1;
    guard->words = -1;
}

/* ---- the playing side ----------------------------------------------------------------------------------------------
 */

static struct stage *open_stage(const struct guard *guard)
{
    const struct guard_subject *subject = guard->subject;
    const struct pal_port *port = NULL;
    struct stage *stage = calloc(1, sizeof(*stage));
    bool good = stage != NULL;
    if (good && subject != NULL) {
        port = subject->open(subject->context);
        good = port != NULL && stage_init_port(stage, guard->target, port);
    } else if (good) {
        good = harness_mutant(&port, guard->target, guard->mutant) && stage_init(stage, guard->target, port);
    }
    if (!good) {
        free(stage);
        return NULL;
    }
    if (subject != NULL) {
        subject->ready(subject->context, stage);
    }
    return stage;
}

static void close_stage(struct stage *stage)
{
    if (stage != NULL) {
        stage_deinit(stage);
        free(stage);
    }
}

static void play(struct stage *stage, struct guard_answer *out)
{
    struct verdict verdict;
    memset(stage->rule_counts, 0, sizeof(stage->rule_counts));
    const struct rule *rule = stage_play(stage, &verdict);
    out->end = GUARD_HELD;
    out->hash = stage_hash(stage);
    memcpy(out->counts, stage->rule_counts, sizeof(out->counts));
    if (rule == NULL) {
        return;
    }
    out->end = GUARD_RULE;
    out->rule = (uint32_t)(rule - rules);
    out->step = verdict.step + 1;
    (void)snprintf(out->got, sizeof(out->got), "%s", verdict.got);
    (void)snprintf(out->want, sizeof(out->want), "%s", verdict.want);
    char *text = NULL;
    size_t len = 0;
    FILE *stream = open_memstream(&text, &len);
    if (stream != NULL) {
        harness_report(stream, stage, rule, &verdict);
        if (fclose(stream) == 0) {
            (void)snprintf(out->text, sizeof(out->text), "%s", text);
        }
        free(text);
    }
}

/* transfer: all of it, in either direction; false when the other side is gone. */
static bool transfer(int end, void *memory, size_t len, bool out)
{
    char *at = memory;
    while (len > 0) {
        ssize_t moved = out ? send(end, at, len, MSG_NOSIGNAL) : recv(end, at, len, 0);
        if (moved < 0 && errno == EINTR) {
            continue;
        }
        if (moved <= 0) {
            return false;
        }
        at += moved;
        len -= (size_t)moved;
    }
    return true;
}

/* serve: in the child, until the other side closes. */
static _Noreturn void serve(const struct guard *guard, int end)
{
    static struct guard_answer answer;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)signal(SIGINT, SIG_IGN); /* the parent's to answer */
    (void)dup2(guard->words, STDERR_FILENO);
    struct stage *stage = open_stage(guard);
    while (stage != NULL && transfer(end, &stage->scenario, sizeof(stage->scenario), false)) {
        memset(&answer, 0, sizeof(answer));
        play(stage, &answer);
        if (guard->subject != NULL) {
            guard->subject->played(guard->subject->context, stage);
        }
        if (!transfer(end, &answer, sizeof(answer), true)) {
            break;
        }
    }
    close_stage(stage);
    if (stage == NULL || guard->quiet) {
        _exit(stage != NULL ? EXIT_HELD : EXIT_SUITE);
    }
    exit(EXIT_HELD); /* the leak checker looks now */
}

/* ---- the asking side -----------------------------------------------------------------------------------------------
 */

static bool start(struct guard *guard)
{
    int ends[2] = {-1, -1};
    guard->words = memfd_create("paldiff-words", MFD_CLOEXEC);
    if (guard->words < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        (void)fprintf(stderr, "paldiff: no child can be started: %s\n", strerror(errno));
        return false;
    }
    (void)fflush(NULL);
    guard->pid = fork();
    if (guard->pid == 0) {
        (void)close(ends[0]);
        serve(guard, ends[1]);
    }
    (void)close(ends[1]);
    guard->end = ends[0];
    if (guard->pid < 0) {
        (void)fprintf(stderr, "paldiff: no child can be started: %s\n", strerror(errno));
        guard->pid = 0;
    }
    return guard->pid > 0;
}

/* take_words: what the child said, NUL-terminated; the caller's to free. */
static char *take_words(const struct guard *guard)
{
    char *words = calloc(1, WORDS_MAX + 1);
    size_t len = 0;
    ssize_t got = 0;
    while (words != NULL && len < WORDS_MAX &&
           (got = pread(guard->words, words + len, WORDS_MAX - len, (off_t)len)) > 0) {
        len += (size_t)got;
    }
    return words;
}

/* add_line: to the end of `out`, up to the line's end, without the folders of files: they are one machine's. */
static void add_line(char out[GUARD_TEXT_MAX], const char *line)
{
    size_t used = strlen(out);
    size_t word = used;
    for (; *line != '\0' && *line != '\n' && used + 1 < GUARD_TEXT_MAX; line++) {
        out[used++] = *line;
        if (*line == ' ' || *line == '(') {
            word = used;
        } else if (*line == '/') {
            used = word;
        }
    }
    out[used] = '\0';
}

/* summarise: the sanitizer's SUMMARY line, else the signal and the last line that was said. */
static void summarise(char out[GUARD_TEXT_MAX], const char *words, int status)
{
    const char *summary = strstr(words, "SUMMARY: ");
    const char *last = "";
    for (const char *line = words; *line != '\0';) {
        size_t len = strcspn(line, "\n");
        last = len > 0 ? line : last;
        line += len;
        line += *line == '\n' ? 1 : 0;
    }
    out[0] = '\0';
    if (summary != NULL) {
        add_line(out, summary + strlen("SUMMARY: "));
        return;
    }
    if (WIFSIGNALED(status)) {
        (void)snprintf(out, GUARD_TEXT_MAX, "ended by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    } else {
        (void)snprintf(out, GUARD_TEXT_MAX, "ended with exit code %d", WEXITSTATUS(status));
    }
    if (*last != '\0') {
        add_line(out, ": ");
        add_line(out, last);
    }
}

/* stop: waits for the child's end and returns how it was, as waitpid; `text` unless it was an orderly one. */
static int stop(struct guard *guard, char text[GUARD_TEXT_MAX])
{
    int status = 0;
    (void)shutdown(guard->end, SHUT_RDWR); /* closing would not do: other guards' children have it too */
    (void)close(guard->end);
    while (waitpid(guard->pid, &status, 0) < 0 && errno == EINTR) {
    }
    bool good = WIFEXITED(status) && WEXITSTATUS(status) == EXIT_HELD;
    char *words = take_words(guard);
    if (!good && words != NULL) {
        summarise(text, words, status);
        if (!guard->quiet) {
            (void)fputs(words, stderr);
        }
    }
    free(words);
    (void)close(guard->words);
    guard->pid = 0;
    return status;
}

static bool ended_with(int status, int code)
{
    return WIFEXITED(status) && WEXITSTATUS(status) == code;
}

static void lost(struct guard *guard, struct guard_answer *out, bool late)
{
    memset(out, 0, sizeof(*out));
    out->end = late ? GUARD_LATE : GUARD_CRASHED;
    if (late) {
        (void)kill(guard->pid, SIGKILL);
    }
    out->status = stop(guard, out->text);
    if (ended_with(out->status, EXIT_SUITE)) {
        out->end = GUARD_FAILED; /* its own word for having no stage */
    }
    if (late) {
        (void)snprintf(out->text, sizeof(out->text), "no answer in %u s", guard->seconds);
    }
}

/* wait_for_answer: false after `seconds`. A signal does not end the wait. */
static bool wait_for_answer(const struct guard *guard)
{
    const struct guard_subject *subject = guard->subject;
    struct pollfd waited = {.fd = guard->end, .events = POLLIN};
    int left_ms = (int)guard->seconds * 1000;
    int slice_ms = subject != NULL ? SLICE_MS : left_ms;
    int ready = 0;
    for (; ready == 0 && left_ms > 0; left_ms -= slice_ms) {
        do {
            ready = poll(&waited, 1, slice_ms);
        } while (ready < 0 && errno == EINTR);
        if (ready == 0 && subject != NULL && subject->excessive(subject->context, guard->pid)) {
            (void)kill(guard->pid, SIGKILL); /* the next poll tells */
        }
    }
    return ready > 0;
}

void guard_play(struct guard *guard, const struct scenario *scenario, struct guard_answer *out)
{
    memset(out, 0, sizeof(*out));
    if (guard->here) {
        guard->stage = guard->stage != NULL ? guard->stage : open_stage(guard);
        out->end = GUARD_FAILED;
        if (guard->stage != NULL) {
            guard->stage->scenario = *scenario;
            play(guard->stage, out);
        }
        return;
    }
    if (guard->pid == 0 && !start(guard)) {
        out->end = GUARD_FAILED;
        return;
    }
    struct scenario sent = *scenario;
    bool asked = transfer(guard->end, &sent, sizeof(sent), true);
    bool late = asked && !wait_for_answer(guard);
    if (late || !asked || !transfer(guard->end, out, sizeof(*out), false)) {
        lost(guard, out, late);
    }
}

bool guard_deinit(struct guard *guard)
{
    char text[GUARD_TEXT_MAX] = "";
    bool good = true;
    close_stage(guard->stage);
    guard->stage = NULL;
    if (guard->pid != 0) {
        good = ended_with(stop(guard, text), EXIT_HELD) || guard->quiet;
    }
    return good;
}

void guard_play_once(struct guard_answer *out, const struct target *target, const char *mutant, unsigned seconds,
                     const struct scenario *scenario)
{
    struct guard guard;
    guard_init(&guard, target, mutant, seconds);
    guard.quiet = true;
    guard_play(&guard, scenario, out);
    (void)guard_deinit(&guard);
}

bool guard_same(const struct guard_answer *a, const struct guard_answer *b)
{
    if (a->end != b->end) {
        return false;
    }
    switch (a->end) {
    case GUARD_RULE:
        return a->rule == b->rule;
    case GUARD_CRASHED:
        return strcmp(a->text, b->text) == 0;
    case GUARD_HELD:
    case GUARD_LATE:
    case GUARD_FAILED:
        return true;
    }
    return false;
}

const char *guard_describe(char out[GUARD_TEXT_MAX], const struct guard_answer *answer)
{
    switch (answer->end) {
    case GUARD_HELD:
        return "no rule broken";
    case GUARD_RULE:
        (void)snprintf(out, GUARD_TEXT_MAX, "rule %s.%s", rules[answer->rule].area, rules[answer->rule].name);
        return out;
    case GUARD_CRASHED:
        (void)snprintf(out, GUARD_TEXT_MAX, "crash: %.3000s", answer->text);
        return out;
    case GUARD_LATE:
        (void)snprintf(out, GUARD_TEXT_MAX, "timeout: %.3000s", answer->text);
        return out;
    case GUARD_FAILED:
        return "nothing: no child could be started";
    }
    return "";
}
