/* SPDX-License-Identifier: Apache-2.0
 * shim_process.c: the shim's process, what goes to it and comes from it, and the rehearsal. It knows no call.
 */
#include "shim.h"

#include "ports.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
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

enum phase {
    PHASE_ASKING,  /* call by call */
    PHASE_WRITING, /* the rehearsal */
    PHASE_TOLD     /* all calls were answered in advance */
};

/* line: of a text, by place, as the text may move. */
struct line {
    size_t at;
    size_t len;
};

static struct {
    pid_t pid;
    int in;
    int out;
    shim_failed_fn *failed;
    struct pal_port port;
    char name[64];
    char version[128];
    bool ways[PAL_SEND_NUM_WAYS];
    enum phase phase;
    uint64_t unsupported;
    struct shim_text call;    /* the one being written, without its end */
    struct shim_text calls;   /* of this scenario so far, each with its end */
    struct shim_text answers; /* to them; what was read */
    size_t num_calls;
    size_t num_answers;
    size_t next;    /* PHASE_TOLD: the call that comes next */
    size_t scanned; /* of answers: where the next line starts */
    struct line *called;
    struct line *answered;
    size_t cap;
    struct shim_text told; /* a copy of an answer, to be taken apart */
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
    } else if (WIFSIGNALED(status)) {
        (void)snprintf(out, SHIM_ERROR_MAX, "the shim was ended by signal %d", WTERMSIG(status));
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
    (void)fprintf(stderr, "paldiff: %s\n", text);
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
        got = read(shim.out, shim_text_room(&shim.answers, READ_MAX), READ_MAX);
    } while (got < 0 && errno == EINTR);
    shim.answers.len += got > 0 ? (size_t)got : 0;
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

static void send_text(const char *data, size_t len)
{
    if (!put(data, len)) {
        fail_ended();
    }
}

/* next_line: of the answers; waits for it. False at its end. */
static bool next_line(struct line *out)
{
    const char *end = NULL;
    size_t looked = shim.scanned;
    for (;;) {
        size_t fresh = shim.answers.len - looked;
        end = fresh > 0 ? memchr(shim.answers.data + looked, '\n', fresh) : NULL;
        looked = shim.answers.len;
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
    out->len = (size_t)(end - shim.answers.data) - shim.scanned;
    shim.scanned += out->len + 1;
    return true;
}

static void hear_line(struct line *out)
{
    if (!next_line(out)) {
        fail_ended();
    }
}

/* ---- calls ---------------------------------------------------------------------------------------------------------
 */

struct shim_text *shim_call(const char *name)
{
    shim.call.len = 0;
    shim_text_add(&shim.call, "%s", name);
    return &shim.call;
}

struct shim_text *shim_call_more(void)
{
    return &shim.call;
}

static void grow(void)
{
    if (shim.num_calls == shim.cap) {
        shim.cap = shim.cap > 0 ? 2 * shim.cap : 64;
        shim.called = realloc(shim.called, shim.cap * sizeof(*shim.called));
        shim.answered = realloc(shim.answered, shim.cap * sizeof(*shim.answered));
        if (shim.called == NULL || shim.answered == NULL) {
            abort();
        }
    }
}

/* write_down: the call that was written is one of this scenario's. */
static void write_down(void)
{
    grow();
    shim.called[shim.num_calls++] = (struct line){shim.calls.len, shim.call.len};
    shim_text_add(&shim.calls, "%s\n", shim.call.data);
}

/* send_calls: those from `first` on, as one request. */
static void send_calls(size_t first)
{
    char head[64];
    size_t at = shim.called[first].at;
    int len = snprintf(head, sizeof(head), "calls %zu\n", shim.num_calls - first);
    send_text(head, (size_t)len);
    send_text(shim.calls.data + at, shim.calls.len - at);
}

static void hear_answers(size_t up_to)
{
    while (shim.num_answers < up_to) {
        hear_line(&shim.answered[shim.num_answers]);
        shim.num_answers++;
    }
}

static void forget_calls(void)
{
    shim.calls.len = 0;
    shim.answers.len = 0;
    shim.scanned = 0;
    shim.num_calls = 0;
    shim.num_answers = 0;
    shim.next = 0;
}

static const char *text_of(const struct shim_text *text, struct line line)
{
    return text->data + line.at;
}

static bool same_line(const struct shim_text *a, struct line in_a, const char *b, size_t len)
{
    return in_a.len == len && memcmp(text_of(a, in_a), b, len) == 0;
}

/* read_answer: takes the answer to call `index` apart. False when the reference's is to be taken. */
static bool read_answer(size_t index, enum pal_status *out_status, struct shim_words *out)
{
    struct line line = shim.answered[index];
    shim.told.len = 0;
    char *copy = shim_text_room(&shim.told, line.len);
    memcpy(copy, text_of(&shim.answers, line), line.len);
    copy[line.len] = '\0';
    if (!shim_words_parse(out, copy) || !shim_status(out_status, out->name)) {
        shim_fail(SHIM_GARBLED, "\"%.60s\" is no answer to \"%.60s\"", text_of(&shim.answers, line),
                  text_of(&shim.calls, shim.called[index]));
    }
    if (*out_status == PAL_UNSUPPORTED) {
        shim_skipped();
        return false;
    }
    return true;
}

/* begin_anew: an answer led away from what was rehearsed. The shim forgets, and is given the calls that were made in
 * truth; it has to answer them as before. */
static void begin_anew(void)
{
    struct shim_text old = shim.answers;
    struct line *lines = malloc((shim.next + 1) * sizeof(*lines));
    size_t num = shim.next;
    if (lines == NULL) {
        abort();
    }
    memcpy(lines, shim.answered, num * sizeof(*lines));
    shim.answers = (struct shim_text){0};
    shim.scanned = 0;
    shim.num_answers = 0;
    shim.calls.len = shim.called[num].at;
    shim.num_calls = num;
    shim.phase = PHASE_ASKING;
    send_text("scenario\n", strlen("scenario\n"));
    if (num > 0) {
        send_calls(0);
        hear_answers(num);
    }
    for (size_t i = 0; i < num; i++) {
        if (!same_line(&old, lines[i], text_of(&shim.answers, shim.answered[i]), shim.answered[i].len)) {
            shim_fail(SHIM_GARBLED, "the answer to \"%.60s\" is another one when the scenario is played again",
                      text_of(&shim.calls, shim.called[i]));
        }
    }
    free(lines);
    shim_text_free(&old);
}

void shim_tell(void)
{
    write_down();
    send_calls(shim.num_calls - 1);
}

bool shim_hear(enum pal_status *out_status, struct shim_words *out)
{
    hear_answers(shim.num_calls);
    return read_answer(shim.num_calls - 1, out_status, out);
}

bool shim_ask(enum pal_status *out_status, struct shim_words *out)
{
    if (shim.phase == PHASE_WRITING) {
        write_down();
        return false;
    }
    if (shim.phase == PHASE_TOLD) {
        if (shim.next < shim.num_calls &&
            same_line(&shim.calls, shim.called[shim.next], shim.call.data, shim.call.len)) {
            return read_answer(shim.next++, out_status, out);
        }
        if (shim.next == shim.num_calls) {
            shim.phase = PHASE_ASKING;
        } else {
            begin_anew();
        }
    }
    shim_tell();
    return shim_hear(out_status, out);
}

int shim_answer_fd(void)
{
    return shim.out;
}

struct pal_view shim_bytes(struct shim_words *answer, const char *key)
{
    struct pal_view out;
    if (!shim_words_bytes(answer, key, &out)) {
        shim_fail(SHIM_GARBLED, "%s in an answer is not hex", key);
    }
    return out;
}

void shim_skipped(void)
{
    shim.unsupported++;
}

uint64_t shim_unsupported(void)
{
    return shim.unsupported;
}

pid_t shim_pid(void)
{
    return shim.pid;
}

bool shim_has_way(enum pal_send_way way)
{
    return (unsigned)way < PAL_SEND_NUM_WAYS && shim.ways[way];
}

/* ---- scenarios -----------------------------------------------------------------------------------------------------
 */

/* is_rehearsed: what is called does not depend on bytes that only the port knows. */
static bool is_rehearsed(const struct target *target)
{
    return strcmp(target->name, "hmac") == 0 || strcmp(target->name, "aead") == 0;
}

static void reset_areas(void)
{
    shim_crypt_reset();
    shim_send_reset();
    shim_tls_reset();
}

void shim_rehearse(struct stage *stage)
{
    size_t num = 0;
    reset_areas();
    forget_calls();
    shim.unsupported = 0;
    shim.phase = PHASE_ASKING;
    send_text("scenario\n", strlen("scenario\n"));
    while (num < stage->num_worlds && stage->worlds[num].port == &stage->adopted) {
        num++;
    }
    if (!is_rehearsed(stage->target) || num == 0) {
        return;
    }
    shim.phase = PHASE_WRITING;
    stage_clean(stage);
    stage->target->play(stage->worlds, num, &stage->actors, &stage->scenario);
    reset_areas();
    shim.unsupported = 0;
    shim.phase = PHASE_TOLD;
    if (shim.num_calls > 0) {
        send_calls(0);
        hear_answers(shim.num_calls);
    }
}

/* ---- start ---------------------------------------------------------------------------------------------------------
 */

static bool start(const char *command, char error[SHIM_ERROR_MAX])
{
    int in[2] = {-1, -1};
    int out[2] = {-1, -1};
    bool good = pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0;
    pid_t parent = getpid();
    (void)fflush(NULL);
    shim.pid = good ? fork() : -1;
    if (shim.pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent || dup2(in[0], STDIN_FILENO) < 0 || dup2(out[1], STDOUT_FILENO) < 0) {
            _exit(126);
        }
        (void)signal(SIGPIPE, SIG_DFL);
        (void)execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
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
    struct line line = {0, 0};
    char end[SHIM_ERROR_MAX];
    if (!put("paldiff 1\n", strlen("paldiff 1\n")) || !next_line(&line)) {
        describe_end(end);
        (void)snprintf(error, SHIM_ERROR_MAX, "no greeting: %.200s", end);
        return false;
    }
    char *text = shim.answers.data;
    text[line.len] = '\0';
    bool good = strncmp(text, "shim 1 ", strlen("shim 1 ")) == 0 && shim_words_parse(&words, text + strlen("shim "));
    const char *name = good ? shim_word(&words, "name") : NULL;
    const char *version = good ? shim_word(&words, "version") : NULL;
    size_t index = good ? shim_word_find(&words, "areas", 0) : 0;
    if (name == NULL || version == NULL || index == words.num) {
        (void)snprintf(error, SHIM_ERROR_MAX, "\"%.100s\" is no greeting: shim 1 name=... version=... areas=...", text);
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
        (void)kill(shim.pid, SIGKILL);
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
    forget_calls();
    error[0] = '\0';
    if (!start(command, error) || !greet(error)) {
        stop();
        return NULL;
    }
    shim.failed = failed;
    return &shim.port;
}
