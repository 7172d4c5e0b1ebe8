/* SPDX-License-Identifier: Apache-2.0
 * serve_send.c: a port's lists over real sockets. The real environment is what it gets, but for one thing: begin would
 * refuse a region beyond the file, so it is told the length that the list says: the file has shrunk since then.
 */
#include "serve.h"

#include "env/env.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define SOCKETS_MAX 16u

/* The sockets by id, 0 for none, and the files of the list that is being begun, with their lengths. */
static int sockets[SOCKETS_MAX];
static size_t num_files;
static struct {
    int file;
    uint64_t len;
} files[SHIM_WORDS_MAX];

static enum pal_status file_size(void *context, uint64_t *out_size, int file)
{
    enum pal_status status = pal_env_real()->file_size(context, out_size, file);
    for (size_t i = 0; status == PAL_OK && i < num_files; i++) {
        if (files[i].file == file && files[i].len > *out_size) {
            *out_size = files[i].len;
        }
    }
    return status;
}

static enum pal_status open_socket(int *out, uint64_t port, int buffer)
{
    const int yes = 1;
    const struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int made = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool good = made > 0 && setsockopt(made, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof(buffer)) == 0 &&
                setsockopt(made, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes)) == 0 &&
                connect(made, (const struct sockaddr *)&address, sizeof(address)) == 0;
    if (!good) {
        (void)close(made);
        return PAL_SYSTEM;
    }
    *out = made;
    return PAL_OK;
}

/* take_file: "OFFSET:LEN:PATH". The descriptor is in `files`. */
static bool take_file(struct pal_segment *out, const char *value)
{
    char *end = NULL;
    uint64_t offset = strtoull(value, &end, 10);
    uint64_t len = *end == ':' ? strtoull(end + 1, &end, 10) : 0;
    int file = *end == ':' ? open(end + 1, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) {
        return false;
    }
    *out = (struct pal_segment){.file = file, .file_offset = offset, .file_len = len};
    files[num_files].file = file;
    files[num_files++].len = offset + len;
    return true;
}

/* take_list: false when it is no list. */
static bool take_list(struct shim_words *call, struct pal_segment segments[SHIM_WORDS_MAX], size_t *out_num)
{
    *out_num = 0;
    num_files = 0;
    for (size_t i = 0; i < call->num; i++) {
        struct pal_segment *segment = &segments[*out_num];
        if (strcmp(call->words[i].key, "bytes") == 0) {
            *segment = (struct pal_segment){.file = -1};
            if (!shim_word_bytes(call, i, &segment->bytes)) {
                return false;
            }
            ++*out_num;
        } else if (strcmp(call->words[i].key, "file") == 0) {
            if (!take_file(segment, call->words[i].value)) {
                return false;
            }
            ++*out_num;
        }
    }
    return true;
}

/* send_list: begins the list, and resumes it until there is no more to do. */
static enum pal_status send_list(const struct pal_send_ops *ops, struct shim_words *call, int socket,
                                 uint64_t *out_sent)
{
    static struct pal_segment segments[SHIM_WORDS_MAX];
    static struct pal_env env;
    const char *kind = shim_word(call, "blocking");
    bool blocking = kind == NULL || strcmp(kind, "yes") == 0;
    size_t num = 0;
    size_t bad = 0;
    struct pal_send *send = NULL;
    enum pal_status status = PAL_BAD_ARGUMENT;
    if (take_list(call, segments, &num) && fcntl(socket, F_SETFL, blocking ? 0 : O_NONBLOCK) == 0) {
        env = *pal_env_real();
        env.file_size = file_size;
        enum pal_send_way way = (enum pal_send_way)shim_row(shim_ways, PAL_SEND_NUM_WAYS, shim_word(call, "way"));
        status = ops->begin(&env, &send, &bad, way, socket, segments, num, UINT64_MAX);
    }
    bool waits = status == PAL_OK;
    while (waits) {
        uint64_t progress = 0;
        status = ops->resume(send, &progress, blocking);
        *out_sent += progress;
        waits = status == PAL_WOULD_BLOCK && env.wait_writable(NULL, socket, UINT64_MAX) == PAL_OK;
    }
    if (send != NULL) {
        ops->end(send);
    }
    for (size_t i = 0; i < num_files; i++) {
        (void)close(files[i].file);
    }
    return status;
}

bool serve_send(struct server *server, struct shim_words *call, struct shim_text *out)
{
    uint64_t id = shim_word_number(call, "id", SOCKETS_MAX);
    if (strncmp(call->name, "send.", strlen("send.")) != 0) {
        return false;
    }
    const char *name = call->name + strlen("send.");
    enum pal_status status = id < SOCKETS_MAX ? PAL_UNSUPPORTED : PAL_BAD_ARGUMENT;
    if (status == PAL_BAD_ARGUMENT || server->port->send == NULL) {
        shim_text_add(out, "%s", pal_status_name(status));
    } else if (strcmp(name, "open") == 0 && sockets[id] == 0) {
        status = open_socket(&sockets[id], shim_word_number(call, "port", 0), (int)shim_word_number(call, "sndbuf", 0));
        shim_text_add(out, "%s", pal_status_name(status));
    } else if (strcmp(name, "list") == 0 && sockets[id] > 0) {
        uint64_t sent = 0;
        status = send_list(server->port->send, call, sockets[id], &sent);
        shim_text_add(out, "%s sent=%" PRIu64, pal_status_name(status), sent);
    } else if (strcmp(name, "close") == 0 && sockets[id] > 0) {
        (void)close(sockets[id]);
        sockets[id] = 0;
        shim_text_add(out, "%s", pal_status_name(PAL_OK));
    } else {
        shim_text_add(out, "%s", pal_status_name(PAL_BAD_STATE));
    }
    return true;
}

void serve_send_reset(struct server *server)
{
    (void)server;
    for (size_t i = 0; i < SOCKETS_MAX; i++) {
        if (sockets[i] > 0) {
            (void)close(sockets[i]);
        }
        sockets[i] = 0;
    }
}
