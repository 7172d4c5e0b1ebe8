/* SPDX-License-Identifier: Apache-2.0
 * serve_crypt.c: calls of hmac and aead, each on the thread that it names: slots of a port in C are a thread's own.
 */
#include "serve.h"

#include <stdlib.h>
#include <string.h>

#define PARTS_MAX SHIM_WORDS_MAX

/* call: one call on its way to its thread, and back. */
struct call {
    struct server *server;
    struct shim_words *words;
    struct shim_text *out;
    enum pal_mode mode;
    struct pal_view parts[PARTS_MAX];
    size_t num_parts;
};

/* take_parts: all words of a key; false when one is not hex. */
static bool take_parts(struct call *call, const char *key)
{
    call->num_parts = 0;
    for (size_t i = shim_word_find(call->words, key, 0); i < call->words->num;
         i = shim_word_find(call->words, key, i + 1)) {
        if (!shim_word_bytes(call->words, i, &call->parts[call->num_parts++])) {
            return false;
        }
    }
    return true;
}

static void say(struct call *call, enum pal_status status, const uint8_t *data, size_t len)
{
    shim_text_add(call->out, "%s", pal_status_name(status));
    if (status == PAL_OK && data != NULL) {
        shim_text_bytes(call->out, "out", (struct pal_view){data, len});
    }
}

static void call_hmac(void *argument)
{
    struct call *call = argument;
    const struct pal_hmac_ops *ops = call->server->port->hmac[call->mode];
    const struct pal_env *env = &call->server->env[call->mode].env;
    const char *name = call->words->name + strlen("hmac.");
    enum pal_digest alg = (enum pal_digest)shim_row(shim_digests, PAL_NUM_DIGESTS, shim_word(call->words, "alg"));
    uint8_t out[PAL_DIGEST_LEN_MAX];
    size_t len = 0;
    struct pal_view key;
    bool good = shim_words_bytes(call->words, "key", &key) && take_parts(call, "part");
    if (!good || ops == NULL) {
        say(call, good ? PAL_UNSUPPORTED : PAL_BAD_ARGUMENT, NULL, 0);
    } else if (strcmp(name, "digest") == 0) {
        enum pal_status status = ops->digest(env, out, sizeof(out), &len, alg, key, call->parts, call->num_parts);
        say(call, status, out, len);
    } else if (strcmp(name, "start") == 0) {
        say(call, ops->start(env, alg, key), NULL, 0);
    } else if (strcmp(name, "update") == 0 && call->num_parts == 1) {
        say(call, ops->update(env, call->parts[0]), NULL, 0);
    } else if (strcmp(name, "finish") == 0) {
        enum pal_status status = ops->finish(env, out, sizeof(out), &len);
        say(call, status, out, len);
    } else if (strcmp(name, "drop") == 0) {
        ops->drop(env);
        say(call, PAL_OK, NULL, 0);
    } else {
        say(call, PAL_UNSUPPORTED, NULL, 0);
    }
}

static void call_aead(void *argument)
{
    struct call *call = argument;
    const struct pal_aead_ops *ops = call->server->port->aead[call->mode];
    const struct pal_env *env = &call->server->env[call->mode].env;
    bool seals = strcmp(call->words->name, "aead.seal") == 0;
    struct pal_aead_job job = {.cipher =
                                   (enum pal_aead)shim_row(shim_aeads, PAL_NUM_AEADS, shim_word(call->words, "alg")),
                               .tag_len = shim_word_number(call->words, "tag-len", 0)};
    const char *place = shim_word(call->words, "in-place");
    struct pal_view text;
    if (ops == NULL || strcmp(call->words->name, "aead.drop") == 0) {
        if (ops != NULL) {
            ops->drop(env);
        }
        say(call, ops != NULL ? PAL_OK : PAL_UNSUPPORTED, NULL, 0);
        return;
    }
    bool good = shim_words_bytes(call->words, "key", &job.key) && shim_words_bytes(call->words, "nonce", &job.nonce) &&
                shim_words_bytes(call->words, seals ? "plain" : "sealed", &text) && take_parts(call, "aad");
    job.aad = call->parts;
    job.num_aad = call->num_parts;
    size_t cap = good ? text.len + (seals ? PAL_TAG_LEN_MAX : 0) : 0;
    size_t len = 0;
    uint8_t *out = malloc(cap > 0 ? cap : 1);
    if (out == NULL || !good) {
        say(call, good ? PAL_NO_MEMORY : PAL_BAD_ARGUMENT, NULL, 0);
        free(out);
        return;
    }
    if (place != NULL && strcmp(place, "yes") == 0 && text.len > 0) {
        memcpy(out, text.data, text.len);
        text.data = out;
    }
    enum pal_status status =
        seals ? ops->seal(env, out, cap, &len, &job, text) : ops->open(env, out, cap, &len, &job, text);
    say(call, status, out, len);
    free(out);
}

bool serve_crypt(struct server *server, struct shim_words *words, struct shim_text *out)
{
    static struct call call;
    bool hmac = strncmp(words->name, "hmac.", 5) == 0;
    uint64_t thread = shim_word_number(words, "thread", 0);
    size_t mode = shim_row(shim_modes, PAL_NUM_MODES, shim_word(words, "mode"));
    if (!hmac && strncmp(words->name, "aead.", 5) != 0) {
        return false;
    }
    call = (struct call){.server = server, .words = words, .out = out, .mode = (enum pal_mode)mode};
    if (mode == PAL_NUM_MODES || thread >= SERVE_THREADS_MAX) {
        say(&call, PAL_BAD_ARGUMENT, NULL, 0);
        return true;
    }
    actors_run(&server->actors[thread / (TRACE_THREADS_MAX - 1)], 1 + thread % (TRACE_THREADS_MAX - 1),
               hmac ? call_hmac : call_aead, &call);
    return true;
}

/* drop: a thread's slots. */
static void drop(void *argument)
{
    struct server *server = argument;
    for (size_t mode = 0; mode < PAL_NUM_MODES; mode++) {
        if (server->port->hmac[mode] != NULL) {
            server->port->hmac[mode]->drop(&server->env[mode].env);
        }
        if (server->port->aead[mode] != NULL) {
            server->port->aead[mode]->drop(&server->env[mode].env);
        }
    }
}

void serve_crypt_reset(struct server *server)
{
    for (size_t i = 0; i < SERVE_ACTORS; i++) {
        for (size_t a = 1; a < TRACE_THREADS_MAX; a++) {
            if (server->actors[i].actor[a].running) {
                actors_run(&server->actors[i], a, drop, server);
            }
        }
    }
}
