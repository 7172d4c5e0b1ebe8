/* SPDX-License-Identifier: Apache-2.0
 * shim_process.c: the shim's process: its start and end, and the lines that go to it and come from it.
 */
#include "shim.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define READ_MAX (64u * 1024u)
#define END_WAITS_MAX 100 /* of 5 ms, for a process that closed its output to end */
#define LINE_MAX_LEN (64u << 20)
#define BY_SIGNAL 128 /* added to its number: the exit code that shells give */

static struct {
    pid_t pid;
    int in;
    int out;
    shim_failed_fn *failed;
    struct pal_port port;
    char name[64];
    char version[128];
    bool ways[PAL_SEND_NUM_WAYS];
    struct shim_text said; /* what was read, since shim_forget_said */
    size_t scanned;        /* of it: where the next line starts */
} shim = {.in = -1, .out = -1};

/* ---- the process's end ---------------------------------------------------------------------------------------------
 */

static void describe_end(char out[SHIM_ERROR_MAX])
{
    const struct timespec pause = {.tv_nsec = 5000000};
    int status = 0;
    pid_t ended = 0;
    for (int i = 0; i < END_WAITS_MAX && (ended = waitpid(shim.pid, &status, WNOHANG)) == 0; i++) {
        (void)nanosleep(&pause, NULL);
    }
    if (ended <= 0) {
        (void)snprintf(out, SHIM_ERROR_MAX, "the shim closed its output and goes on");
    } else if (WIFEXITED(status) && WEXITSTATUS(status) > BY_SIGNAL) {
        (void)snprintf(out, SHIM_ERROR_MAX, "the shim was ended by signal %d", WEXITSTATUS(status) - BY_SIGNAL);
    } else {
        (void)snprintf(out, SHIM_ERROR_MAX, "the shim ended with exit code %d", WEXITSTATUS(status));
    }
}

_Noreturn void shim_fail(enum shim_failure failure, const char *format, ...)
{
    char text[SHIM_ERROR_MAX];
    va_list list;
    va_start(list, format);
    (void)vsnprintf(text, sizeof(text), format, list);
    va_end(list);
    if (shim.failed != NULL) {
        shim.failed(failure, text);
    }
    (void)fprintf(stderr, "SUMMARY: paldiff: %s\n", text); /* as a sanitizer's: what is read of a fuzz program's end */
    abort();
}

static _Noreturn void fail_ended(void)
{
    char text[SHIM_ERROR_MAX];
    describe_end(text);
    shim_fail(SHIM_ENDED, "%s", text);
}

/* ---- bytes out and in ----------------------------------------------------------------------------------------------
 */

/* take: what is there of its answers; false at its end. */
static bool take(void)
{
    ssize_t got = 0;
    do {
        got = read(shim.out, shim_text_room(&shim.said, READ_MAX), READ_MAX);
    } while (got < 0 && errno == EINTR);
    shim.said.len += got > 0 ? (size_t)got : 0;
    return got > 0;
}

/* put: all of it; answers that come meanwhile are taken, as a shim may write before it has read all. False at its end.
 */
static bool put(const char *data, size_t len)
{
    while (len > 0) {
        struct pollfd ends[2] = {{.fd = shim.in, .events = POLLOUT}, {.fd = shim.out, .events = POLLIN}};
        if (poll(ends, 2, -1) < 0) {
            if (errno == EINTR) {
                continue;
            }
            return false;
        }
        if (ends[1].revents != 0 && !take()) {
            return false;
        }
        if (ends[0].revents == 0) {
            continue;
        }
        ssize_t moved = write(shim.in, data, len);
        if (moved < 0 && errno != EINTR && errno != EAGAIN) {
            return false;
        }
        data += moved > 0 ? moved : 0;
        len -= moved > 0 ? (size_t)moved : 0;
    }
    return true;
}

void shim_put(const char *data, size_t len)
{
    if (!put(data, len)) {
        fail_ended();
    }
}

/* next_line: of the answers; waits for it. False at its end. */
static bool next_line(struct shim_place *out)
{
    const char *end = NULL;
    size_t looked = shim.scanned;
    for (;;) {
        size_t fresh = shim.said.len - looked;
        end = fresh > 0 ? memchr(shim.said.data + looked, '\n', fresh) : NULL;
        looked = shim.said.len;
        if (end != NULL || looked - shim.scanned > LINE_MAX_LEN) {
            break;
        }
        if (!take()) {
            return false;
        }
    }
    if (end == NULL) {
        shim_fail(SHIM_GARBLED, "an answer does not end");
    }
    out->at = shim.scanned;
    out->len = (size_t)(end - shim.said.data) - shim.scanned;
    shim.scanned += out->len + 1;
    return true;
}

void shim_take_line(struct shim_place *out)
{
    if (!next_line(out)) {
        fail_ended();
    }
}

const char *shim_said(struct shim_place line)
{
    return shim.said.data + line.at;
}

bool shim_said_more(void)
{
    return shim.scanned < shim.said.len;
}

void shim_forget_said(void)
{
    shim.said.len = 0;
    shim.scanned = 0;
}

int shim_answer_fd(void)
{
    return shim.out;
}

pid_t shim_pid(void)
{
    return shim.pid;
}

bool shim_has_way(enum pal_send_way way)
{
    return (unsigned)way < PAL_SEND_NUM_WAYS && shim.ways[way];
}

/* ---- start ---------------------------------------------------------------------------------------------------------
 */

static void end_group(int number)
{
    (void)number;
    (void)kill(0, SIGKILL);
}

/* keep: runs the command in a group of its own, and ends as it ends, or with all of the group when the process that
 * asks is gone: a shell passes nothing on to the shim that it runs, and one that hangs does not read that its input
 * ended. */
static _Noreturn void keep(const char *command, pid_t parent, int in, int out)
{
    const struct sigaction orphaned = {.sa_handler = end_group};
    sigset_t none;
    int status = 0;
    (void)sigemptyset(&none);
    (void)setpgid(0, 0);
    (void)sigaction(SIGTERM, &orphaned, NULL);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent || dup2(in, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0) {
        _exit(126);
    }
    pid_t pid = fork();
    if (pid == 0) {
        (void)signal(SIGPIPE, SIG_DFL);
        (void)execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    (void)close_range(0, ~0u, 0); /* or nobody would read the end of what it holds */
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    _exit(WIFSIGNALED(status) ? BY_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status));
}

static bool start(const char *command, char error[SHIM_ERROR_MAX])
{
    int in[2] = {-1, -1};
    int out[2] = {-1, -1};
    bool good = pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0;
    pid_t parent = getpid();
    (void)fflush(NULL);
    shim.pid = good ? fork() : -1;
    if (shim.pid == 0) {
        keep(command, parent, in[0], out[1]);
    }
    (void)setpgid(shim.pid, shim.pid); /* whoever is first */
    if (shim.pid < 0) {
        (void)snprintf(error, SHIM_ERROR_MAX, "no shim can be started: %s", strerror(errno));
        shim.pid = 0;
    }
    (void)close(in[0]);
    (void)close(out[1]);
    shim.in = in[1];
    shim.out = out[0];
    (void)fcntl(shim.in, F_SETFL, O_NONBLOCK);
    return shim.pid > 0;
}

/* area: notes what the shim has; false for a name that the protocol does not know. */
static bool area(const char *name)
{
    static const struct {
        const char *name;
        const struct pal_hmac_ops *hmac;
        const struct pal_aead_ops *aead;
        enum pal_mode mode;
    } rows[] = {
        {"hmac.fresh", &shim_hmac_fresh, NULL, PAL_FRESH},
        {"hmac.reused", &shim_hmac_reused, NULL, PAL_REUSED},
        {"aead.fresh", NULL, &shim_aead_fresh, PAL_FRESH},
        {"aead.reused", NULL, &shim_aead_reused, PAL_REUSED},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (strcmp(name, rows[i].name) == 0) {
            shim.port.hmac[rows[i].mode] = rows[i].hmac != NULL ? rows[i].hmac : shim.port.hmac[rows[i].mode];
            shim.port.aead[rows[i].mode] = rows[i].aead != NULL ? rows[i].aead : shim.port.aead[rows[i].mode];
            return true;
        }
    }
    if (strcmp(name, "tls") == 0) {
        shim.port.tls = &shim_tls;
        return true;
    }
    size_t way = strncmp(name, "send.", 5) == 0 ? shim_row(shim_ways, PAL_SEND_NUM_WAYS, name + 5) : PAL_SEND_NUM_WAYS;
    if (way < PAL_SEND_NUM_WAYS) {
        shim.ways[way] = true;
        shim.port.send = &shim_send;
    }
    return way < PAL_SEND_NUM_WAYS;
}

/* greet: false, with why, when what is there does not speak the protocol. */
static bool greet(char error[SHIM_ERROR_MAX])
{
    static struct shim_words words;
    struct shim_place line = {0, 0};
    char end[SHIM_ERROR_MAX];
    char said[101];
    if (!put("paldiff 1\n", strlen("paldiff 1\n")) || !next_line(&line)) {
        describe_end(end);
        (void)snprintf(error, SHIM_ERROR_MAX, "no greeting: %.200s", end);
        return false;
    }
    char *text = shim.said.data;
    text[line.len] = '\0';
    (void)snprintf(said, sizeof(said), "%s", text); /* before it is taken apart */
    bool good = strncmp(text, "shim 1 ", strlen("shim 1 ")) == 0 && shim_words_parse(&words, text + strlen("shim "));
    const char *name = good ? shim_word(&words, "name") : NULL;
    const char *version = good ? shim_word(&words, "version") : NULL;
    size_t index = good ? shim_word_find(&words, "areas", 0) : 0;
    if (name == NULL || version == NULL || index == words.num) {
        (void)snprintf(error, SHIM_ERROR_MAX, "\"%s\" is no greeting: shim 1 name=... version=... areas=...", said);
        return false;
    }
    (void)snprintf(shim.name, sizeof(shim.name), "%s", name);
    (void)snprintf(shim.version, sizeof(shim.version), "%s", version);
    for (char *at = shim.version; (at = strchr(at, '_')) != NULL;) {
        *at = ' ';
    }
    shim.port.abi = PAL_ABI_VERSION;
    shim.port.name = shim.name;
    shim.port.version = shim.version;
    char *rest = words.words[index].value;
    while (rest != NULL) {
        const char *one = strsep(&rest, ",");
        if (!area(one)) {
            (void)snprintf(error, SHIM_ERROR_MAX, "protocol 1 has no area \"%.60s\"", one);
            return false;
        }
    }
    return true;
}

static void stop(void)
{
    (void)close(shim.in);
    (void)close(shim.out);
    shim.in = shim.out = -1;
    if (shim.pid > 0) {
        (void)kill(-shim.pid, SIGKILL);
        while (waitpid(shim.pid, NULL, 0) < 0 && errno == EINTR) {
        }
    }
    shim.pid = 0;
}

const struct pal_port *shim_port_open(const char *command, shim_failed_fn *failed, char error[SHIM_ERROR_MAX])
{
    (void)signal(SIGPIPE, SIG_IGN);
    memset(&shim.port, 0, sizeof(shim.port));
    memset(shim.ways, 0, sizeof(shim.ways));
    shim_forget_said();
    error[0] = '\0';
    if (!start(command, error) || !greet(error)) {
        stop();
        return NULL;
    }
    shim.failed = failed;
    return &shim.port;
}
