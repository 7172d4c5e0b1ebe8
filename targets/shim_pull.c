/* SPDX-License-Identifier: Apache-2.0
 * shim_pull.c: see shim_pull.h. Waits have no limit but for those that a shim which does as told cannot run into: how
 * long a scenario may take is its guard's to say.
 */
#include "shim_pull.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

/* With these buffers a connection over loopback holds 9 KB (measured; the kernel doubles both numbers). */
#define SEND_BUFFER 4608
#define RECEIVE_BUFFER 4096
#define SEGMENT_MAX 536
#define IN_FLIGHT_MAX 16384u
#define STREAM_LEN 32768u             /* of a list, at least, so that writes are short */
#define STREAM_LEN_LARGE (4 * 32768u) /* with a send buffer of the system's choice */
#define UNIT_MAX 32768u               /* the longest file becomes 32 MB, which a process under a guard may write */
#define LISTS_PER_LINE 2u             /* so that the second one meets what the first one left behind */
#define LATE_MS 50                    /* longer than TCP delays bytes or acknowledgements */
#define CLOSE_MS 1000
#define READ_MAX 8192u
#define LOW_WATER_MAX 3072 /* less than the receive buffer holds: wakes rarely, when the shim's buffer is full */

static struct {
    int listener;
    unsigned port;
    int files[TRANSPORT_FILES];
    struct pal_send *asked; /* whose list the shim has; it takes one call at a time */
} door = {.listener = -1, .files = {-1, -1, -1}};

/* ---- the connection ------------------------------------------------------------------------------------------------
 */

static _Noreturn void fail_suite(const char *what)
{
    (void)fprintf(stderr, "paldiff: %s: %s\n", what, strerror(errno));
    abort();
}

static void listen_once(void)
{
    const int buffer = RECEIVE_BUFFER;
    const int segment = SEGMENT_MAX;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(address);
    if (door.listener >= 0) {
        return;
    }
    door.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool good = door.listener >= 0 && setsockopt(door.listener, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof(buffer)) == 0 &&
                setsockopt(door.listener, IPPROTO_TCP, TCP_MAXSEG, &segment, sizeof(segment)) == 0 &&
                bind(door.listener, (struct sockaddr *)&address, sizeof(address)) == 0 &&
                listen(door.listener, 8) == 0 && getsockname(door.listener, (struct sockaddr *)&address, &len) == 0;
    if (!good) {
        fail_suite("no socket for the process door");
    }
    door.port = ntohs(address.sin_port);
}

static struct shim_text *line_call(const char *name, const struct pull_line *line)
{
    struct shim_text *call = shim_call(name);
    shim_text_add(call, " id=%u", line->id);
    return call;
}

/* line_open: false when the shim has no such sockets. */
static bool line_open(struct pull_line *line)
{
    static struct shim_words answer;
    enum pal_status status;
    if (line->socket >= 0) {
        return true;
    }
    listen_once();
    shim_text_add(line_call("send.open", line), " port=%u sndbuf=%d", door.port, SEND_BUFFER);
    if (!shim_ask(&status, &answer)) {
        return false;
    }
    struct pollfd listener = {.fd = door.listener, .events = POLLIN};
    if (status == PAL_OK && poll(&listener, 1, CLOSE_MS) == 1) {
        line->socket = accept4(door.listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    }
    if (line->socket < 0) {
        shim_fail(SHIM_GARBLED, "send.open: %s, and no connection", pal_status_name(status));
    }
    line->large = shim_word_number(&answer, "sndbuf", SEND_BUFFER) != SEND_BUFFER;
    line->closing = false;
    line->low_water = 1;
    line->lists_ended = 0;
    return true;
}

/* line_reset: what was not read is gone, and the shim meets a reset. Nothing stays behind that would keep a port. */
static void line_reset(struct pull_line *line)
{
    const struct linger hard = {.l_onoff = 1, .l_linger = 0};
    (void)setsockopt(line->socket, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
    (void)close(line->socket);
    line->socket = -1;
}

void pull_line_drop(struct pull_line *line)
{
    if (line->socket >= 0) {
        line_reset(line);
    }
}

static void tell_close(struct pull_line *line)
{
    static struct shim_words answer;
    enum pal_status status;
    if (door.asked != NULL) { /* another connection's: its answer would be taken for this one */
        pull_give_up(door.asked);
    }
    (void)line_call("send.close", line);
    if (shim_ask(&status, &answer) && status != PAL_OK) {
        shim_fail(SHIM_GARBLED, "send.close: %s", pal_status_name(status));
    }
    line->closing = true;
}

size_t pull_in_flight_max(const struct pull_line *line)
{
    return line->large ? SIZE_MAX : IN_FLIGHT_MAX;
}

/* ---- what a list stands for ----------------------------------------------------------------------------------------
 */

/* mix: SplitMix64's output function. */
static uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* fill_unit: `place` is the byte's, in the list or in its file: lists may have a file's bytes twice. */
static void fill_unit(uint8_t *out, size_t unit, uint8_t value, uint64_t place)
{
    for (size_t i = 0; i < unit; i += sizeof(uint64_t)) {
        uint64_t word = mix((place << 20) + i + value * 0x9e3779b97f4a7c15u);
        size_t left = unit - i;
        memcpy(out + i, &word, left < sizeof(word) ? left : sizeof(word));
    }
}

static const struct transport_file *file_of(const struct pal_send *send, const struct pull_part *part)
{
    const struct world_env *world = send->line->given->context;
    return &world->transport->files[part->segment.file - TRANSPORT_FILE];
}

/* there: how much of a part there is now. */
static size_t there(const struct pal_send *send, const struct pull_part *part)
{
    if (part->segment.file < 0) {
        return part->len;
    }
    size_t len = file_of(send, part)->len;
    size_t offset = (size_t)part->segment.file_offset;
    size_t left = offset < len ? len - offset : 0;
    return left < part->len ? left : part->len;
}

/* unit_of: a list for a socket that takes everything stays as long as it is, so that ports meet short segments, too. */
static size_t unit_of(const struct pal_send *send)
{
    const struct world_env *world = send->line->given->context;
    const struct transport *socket = world->transport;
    size_t stream_len = send->line->large ? STREAM_LEN_LARGE : STREAM_LEN;
    bool slow = socket->space != TRANSPORT_NEVER || socket->per_call > 0 || socket->fail_at != TRANSPORT_NEVER;
    size_t unit = slow && send->total > 0 && send->total < stream_len ? stream_len / send->total : 1;
    return unit < UNIT_MAX ? unit : UNIT_MAX;
}

static void expand(struct pal_send *send)
{
    size_t at = 0;
    bool whole = true;
    send->unit = unit_of(send);
    send->values = malloc(send->total + 1);
    send->stream = malloc(send->total * send->unit + 1);
    if (send->values == NULL || send->stream == NULL) {
        abort();
    }
    for (size_t p = 0; p < send->num_parts; p++) {
        const struct pull_part *part = &send->parts[p];
        bool file = part->segment.file >= 0;
        const uint8_t *bytes = file ? file_of(send, part)->data + part->segment.file_offset : part->segment.bytes.data;
        uint64_t place = file ? ((uint64_t)part->segment.file << 24) + part->segment.file_offset : at;
        for (size_t i = 0; i < part->len; i++) {
            send->values[at + i] = bytes[i];
            fill_unit(send->stream + (at + i) * send->unit, send->unit, bytes[i], place + i);
        }
        send->limit += whole ? there(send, part) : 0;
        whole &= there(send, part) == part->len;
        at += part->len;
    }
}

/* write_files: as long as the scripted ones, and with holes where the list has no region. */
static void write_files(const struct pal_send *send)
{
    const struct world_env *world = send->line->given->context;
    size_t at = 0;
    for (size_t f = 0; f < TRANSPORT_FILES; f++) {
        if (door.files[f] < 0) {
            door.files[f] = memfd_create("paldiff", MFD_CLOEXEC);
        }
        if (door.files[f] < 0 || ftruncate(door.files[f], 0) != 0 ||
            ftruncate(door.files[f], (off_t)(world->transport->files[f].len * send->unit)) != 0) {
            fail_suite("no file for the process door");
        }
    }
    for (size_t p = 0; p < send->num_parts; p++) {
        const struct pull_part *part = &send->parts[p];
        size_t len = part->segment.file >= 0 ? there(send, part) * send->unit : 0;
        off_t offset = (off_t)((size_t)part->segment.file_offset * send->unit);
        if (len > 0 && pwrite(door.files[part->segment.file - TRANSPORT_FILE], send->stream + at * send->unit, len,
                              offset) != (ssize_t)len) {
            fail_suite("a file of the process door cannot be written");
        }
        at += part->len;
    }
}

static void add_file(const struct pal_send *send, struct shim_text *call, const struct pull_part *part)
{
    size_t offset = (size_t)part->segment.file_offset;
    size_t size = file_of(send, part)->len;
    bool to_end = part->segment.file_len == 0 && offset + part->len == size;
    if (part->len > 0 || to_end) { /* else it ended where the file did, which then changed: there is no word for that */
        shim_text_add(call, " file=%zu:%zu:/proc/%d/fd/%d", offset * send->unit, to_end ? 0 : part->len * send->unit,
                      (int)getpid(), door.files[part->segment.file - TRANSPORT_FILE]);
    }
}

static void tell_list(struct pal_send *send)
{
    struct shim_text *call = line_call("send.list", send->line);
    size_t at = 0;
    bool files = false;
    shim_text_add(call, " way=%s blocking=%s", shim_ways[send->way], send->blocking ? "yes" : "no");
    for (size_t p = 0; p < send->num_parts; p++) {
        const struct pull_part *part = &send->parts[p];
        if (part->segment.file < 0) {
            shim_text_bytes(call, "bytes", (struct pal_view){send->stream + at * send->unit, part->len * send->unit});
        } else {
            if (!files) {
                write_files(send);
            }
            files = true;
            add_file(send, call, part);
        }
        at += part->len;
    }
    shim_tell();
}

/* ---- bytes and answers ---------------------------------------------------------------------------------------------
 */

static void hear(struct pal_send *send)
{
    static struct shim_words answer;
    bool has = shim_hear(&send->answer, &answer);
    send->state = has ? PULL_ANSWERED : PULL_OWN;
    send->line->user = has ? send : NULL;
    door.asked = NULL;
    if (!has && send->got > 0) {
        shim_fail(SHIM_GARBLED, "send.list: unsupported, and %zu bytes", send->got);
    }
    send->answer_sent = has ? shim_word_number(&answer, "sent", UINT64_MAX) : 0;
    if (has && send->answer_sent == UINT64_MAX && (send->answer == PAL_OK || send->answer == PAL_TRUNCATED)) {
        shim_fail(SHIM_GARBLED, "send.list: %s, and not how much was sent", pal_status_name(send->answer));
    }
}

void pull_ask(struct pal_send *send)
{
    if (send->state != PULL_NEW) {
        return;
    }
    if (door.asked != NULL && door.asked->line != send->line) {
        pull_give_up(door.asked);
    }
    bool asks = door.asked == NULL && send->line->user == NULL && line_open(send->line);
    expand(send);
    if (!asks) {
        send->state = PULL_OWN;
        return;
    }
    tell_list(send);
    send->state = PULL_ASKED;
    send->line->user = send;
    door.asked = send;
}

/* compare: bytes that came at `send->got`. */
static void compare(struct pal_send *send, const uint8_t *bytes, size_t len)
{
    if (memcmp(bytes, send->stream + send->got, len) == 0) {
        return;
    }
    for (size_t i = 0; i < len; i++) {
        size_t at = (send->got + i) / send->unit;
        if (bytes[i] != send->stream[send->got + i] && at >= send->wrong_end) {
            send->values[at] ^= 0x80;
            send->wrong_end = at + 1;
        }
    }
}

/* read_some: at most `len`; 0 when there are none now. Sets `ended` at the end. */
static size_t read_some(struct pal_send *send, uint8_t bytes[READ_MAX], size_t len)
{
    ssize_t num = recv(send->line->socket, bytes, len < READ_MAX ? len : READ_MAX, 0);
    bool later = num < 0 && (errno == EAGAIN || errno == EINTR);
    send->ended |= num <= 0 && !later;
    return num > 0 ? (size_t)num : 0;
}

/* wait_for_shim: for `len` bytes or about as many as the buffer holds, or the answer. True: bytes may be there, or
 * their end. */
static bool wait_for_shim(struct pal_send *send, size_t len)
{
    struct pull_line *line = send->line;
    bool answered = send->state == PULL_ANSWERED;
    int low = len < LOW_WATER_MAX ? (int)len : LOW_WATER_MAX;
    if (low != line->low_water && !send->ended) {
        (void)setsockopt(line->socket, SOL_SOCKET, SO_RCVLOWAT, &low, sizeof(low));
        line->low_water = low;
    }
    struct pollfd ends[2] = {{.fd = send->ended ? -1 : line->socket, .events = POLLIN},
                             {.fd = answered ? -1 : shim_answer_fd(), .events = POLLIN}};
    int num = poll(ends, 2, line->closing ? CLOSE_MS : LATE_MS);
    if (num > 0 && ends[0].revents == 0) {
        hear(send);
        return false;
    }
    if (num != 0 || !answered) { /* short segments fill the buffer with fewer bytes */
        return num >= 0;
    }
    if (line->closing) {
        shim_fail(SHIM_GARBLED, "send.close: ok, and the connection is open");
    }
    tell_close(line); /* all that was written comes before the end */
    return false;
}

size_t pull_up_to(struct pal_send *send, size_t want)
{
    uint8_t bytes[READ_MAX];
    pull_ask(send);
    size_t due = (want < send->limit ? want : send->limit) * send->unit;
    while (send->state != PULL_OWN && send->got < due && !send->ended) {
        if (wait_for_shim(send, due - send->got)) {
            size_t len = read_some(send, bytes, due - send->got);
            compare(send, bytes, len);
            send->got += len;
        }
    }
    if (send->state == PULL_ASKED && send->got < due) {
        hear(send);
    }
    bool whole = send->state == PULL_OWN || send->got == send->limit * send->unit;
    return whole ? send->total : send->got / send->unit;
}

void pull_answer(struct pal_send *send)
{
    uint8_t bytes[READ_MAX];
    struct pull_line *line = send->line;
    while (send->state == PULL_ASKED) {
        if (wait_for_shim(send, 1)) {
            send->extra += read_some(send, bytes, READ_MAX);
        }
    }
    line->lists_ended++;
    line->user = NULL;
    bool goes_on = send->state == PULL_ANSWERED && !send->ended && !line->closing && send->extra == 0 &&
                   (send->answer == PAL_OK || send->answer == PAL_TRUNCATED) && line->lists_ended < LISTS_PER_LINE;
    if (goes_on) {
        return;
    }
    if (!line->closing) {
        tell_close(line);
    }
    while (send->state == PULL_ANSWERED && !send->ended) {
        if (wait_for_shim(send, 1)) {
            send->extra += read_some(send, bytes, READ_MAX);
        }
    }
    line_reset(line);
}

void pull_cut(struct pal_send *send)
{
    bool closing = send->line->closing;
    line_reset(send->line);
    if (send->state == PULL_ASKED) {
        hear(send);
    }
    send->line->user = NULL;
    if (!closing) {
        tell_close(send->line);
    }
}

void pull_give_up(struct pal_send *send)
{
    if (send->state == PULL_ASKED || send->state == PULL_ANSWERED) {
        pull_cut(send);
        send->state = PULL_OWN;
    }
}

void pull_deinit(struct pal_send *send)
{
    free(send->values);
    free(send->stream);
    free(send->parts);
}

void pull_reset(void)
{
    door.asked = NULL;
}
