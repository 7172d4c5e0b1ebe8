/* SPDX-License-Identifier: Apache-2.0
 * tool_serve.c: `paldiff serve`: answers the process door's requests (targets/ports/PROTOCOL.md) with a port in C.
 */
#include "conform.h"
#include "serve.h"
#include "tool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define KEY_PORT 'p'

struct options {
    const char *port;
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct options *options = state->input;
    switch (key) {
    case KEY_PORT:
        options->port = argument;
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "too many arguments");
        return EINVAL;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* greet: says what the port has. A version's spaces would end the word. */
static void greet(const struct pal_port *port)
{
    struct shim_text line = {0};
    shim_text_add(&line, "shim 1 name=%s version=%s", port->name, port->version);
    for (size_t i = strlen("shim 1 name="); i < line.len; i++) {
        bool ours = strncmp(line.data + i, " version=", strlen(" version=")) == 0;
        line.data[i] = line.data[i] == ' ' && !ours ? '_' : line.data[i];
    }
    const char *before = " areas=";
    for (size_t mode = 0; mode < PAL_NUM_MODES; mode++) {
        if (port->hmac[mode] != NULL) {
            shim_text_add(&line, "%shmac.%s", before, shim_modes[mode]);
            before = ",";
        }
        if (port->aead[mode] != NULL) {
            shim_text_add(&line, "%saead.%s", before, shim_modes[mode]);
            before = ",";
        }
    }
    for (size_t way = 0; port->send != NULL && way < PAL_SEND_NUM_WAYS; way++) {
        shim_text_add(&line, "%ssend.%s", before, shim_ways[way]);
        before = ",";
    }
    if (port->tls != NULL) {
        shim_text_add(&line, "%stls", before);
    }
    (void)printf("%s\n", line.data);
    (void)fflush(stdout);
    shim_text_free(&line);
}

static void reset(struct server *server)
{
    serve_crypt_reset(server);
    serve_send_reset(server);
    serve_tls_reset(server);
    for (size_t mode = 0; mode < PAL_NUM_MODES; mode++) {
        world_env_reset(&server->env[mode]);
        world_env_lend(&server->env[mode]);
    }
}

/* answer: one call, in its line. */
static void answer(struct server *server, char *line)
{
    static struct shim_words words;
    static struct shim_text out;
    out.len = 0;
    line[strcspn(line, "\n")] = '\0';
    if (!shim_words_parse(&words, line)) {
        shim_text_add(&out, "%s", pal_status_name(PAL_BAD_ARGUMENT));
    } else if (!serve_crypt(server, &words, &out) && !serve_send(server, &words, &out) &&
               !serve_tls(server, &words, &out)) {
        shim_text_add(&out, "%s", pal_status_name(PAL_UNSUPPORTED));
    }
    (void)printf("%s\n", out.data);
}

/* serve: until the input ends. False when it is not of the protocol. */
static bool serve(struct server *server)
{
    char *line = NULL;
    size_t cap = 0;
    size_t due = 0; /* calls of the request that are still to come */
    bool good = getline(&line, &cap, stdin) > 0 && strcmp(line, "paldiff 1\n") == 0;
    if (good) {
        greet(server->port);
    }
    while (good && getline(&line, &cap, stdin) > 0) {
        if (due > 0) {
            answer(server, line);
            due--;
        } else if (strcmp(line, "scenario\n") == 0) {
            reset(server);
        } else {
            char *end = line;
            due = strncmp(line, "calls ", strlen("calls ")) == 0 ? strtoull(line + strlen("calls "), &end, 10) : 0;
            good = due > 0 && *end == '\n';
        }
        if (due == 0) {
            good = fflush(stdout) == 0 && good;
        }
    }
    reset(server);
    free(line);
    return good;
}

int tool_serve(int argc, char **argv)
{
    static const struct argp_option rows[] = {
        {"port", KEY_PORT, "FILE", 0, "the port: a shared object that exports pal_port_get", 0}, {0}};
    static const struct argp argp = {
        .options = rows,
        .parser = parse,
        .doc =
            "Answers requests of the process door on standard input with a port in C: a shim to compare others with. "
            "Example: paldiff serve --port ./libmyport.so (as the COMMAND of paldiff conform --shim)"};
    static struct server server;
    struct options options = {0};
    char error[CONFORM_TEXT_MAX] = "";
    (void)tool_parse(&argp, argc, argv, &options);
    if (options.port == NULL) {
        return tool_usage("serve needs --port FILE");
    }
    char *file = realpath(options.port, NULL);
    if (file == NULL) {
        return tool_usage("%s cannot be read: %s", options.port, strerror(errno));
    }
    const struct conform_source source = {.file = file};
    server.port = conform_port_open(&source, NULL, error);
    free(file);
    if (server.port == NULL || server.port->abi != PAL_ABI_VERSION) {
        (void)fprintf(stderr, "paldiff: %s\n", server.port == NULL ? error : "the port is of another ABI version");
        return EXIT_SUITE;
    }
    for (size_t i = 0; i < SERVE_ACTORS; i++) {
        actors_init(&server.actors[i]);
    }
    for (size_t mode = 0; mode < PAL_NUM_MODES; mode++) {
        world_env_init(&server.env[mode]);
    }
    bool good = serve(&server);
    for (size_t mode = 0; mode < PAL_NUM_MODES; mode++) {
        world_env_deinit(&server.env[mode]);
    }
    for (size_t i = 0; i < SERVE_ACTORS; i++) {
        actors_deinit(&server.actors[i]);
    }
    return good ? EXIT_HELD : EXIT_USAGE;
}
