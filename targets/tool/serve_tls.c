/* SPDX-License-Identifier: Apache-2.0
 * serve_tls.c: TLS calls of the process door, each a call of the port's table. All plaintext that came is read, and
 * what is owed for it is taken, before a decrypt is answered.
 */
#include "serve.h"

#include "tls_link.h"
#include "token.h"

#include <stdlib.h>
#include <string.h>

#define CONNECTIONS_MAX 16u
#define ROOM 17000u
#define READS_MAX 100000u

/* connection: by id; `tls` NULL: none. */
struct connection {
    struct pal_tls *tls;
    const struct pal_env *env;
};

static struct connection connections[CONNECTIONS_MAX];

/* call: one call and what answers it. */
struct call {
    const struct pal_tls_ops *ops;
    const struct pal_token_ops *tokens;
    struct connection *connection;
    struct shim_words *words;
    struct shim_text *out;
};

typedef void call_fn(struct call *call);

void serve_tls_reset(struct server *server)
{
    for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
        if (connections[i].tls != NULL) {
            server->port->tls->close(connections[i].tls);
            connections[i].tls = NULL;
        }
    }
}

/* ---- words ---------------------------------------------------------------------------------------------------------
 */

static void say(struct call *call, enum pal_status status)
{
    shim_text_add(call->out, "%s", pal_status_name(status));
}

/* bytes: of a key; nothing for what is not hex. */
static struct pal_view bytes(struct call *call, const char *key)
{
    struct pal_view out;
    return shim_words_bytes(call->words, key, &out) ? out : (struct pal_view){NULL, 0};
}

static bool is_yes(struct call *call, const char *key)
{
    const char *value = shim_word(call->words, key);
    return value != NULL && strcmp(value, "yes") == 0;
}

/* give: the token's bytes, which go back. */
static void give(struct call *call, const char *key, struct pal_token *token)
{
    shim_text_bytes(call->out, key, (struct pal_view){token->payload, token->len});
    (void)call->tokens->release(call->connection->env, token);
}

/* ---- open ----------------------------------------------------------------------------------------------------------
 */

static uint16_t version_of(struct call *call, const char *key)
{
    const char *value = shim_word(call->words, key);
    return value != NULL && strcmp(value, "1.2") == 0 ? PAL_TLS_1_2 : PAL_TLS_1_3;
}

static void read_config(struct call *call, struct pal_tls_config *out)
{
    const char *role = shim_word(call->words, "role");
    const char *name = shim_word(call->words, "server-name");
    *out = (struct pal_tls_config){
        .role = role != NULL && strcmp(role, "server") == 0 ? PAL_TLS_SERVER : PAL_TLS_CLIENT,
        .shape = (enum pal_tls_shape)shim_row(shim_shapes, PAL_TLS_NUM_SHAPES, shim_word(call->words, "shape")),
        .mode = (enum pal_mode)shim_row(shim_modes, PAL_NUM_MODES, shim_word(call->words, "mode")),
        .version_min = version_of(call, "version-min"),
        .version_max = version_of(call, "version-max"),
        .identity = {bytes(call, "chain"), bytes(call, "private-key")},
        .late_identity = is_yes(call, "late-identity"),
        .trusted = bytes(call, "trusted"),
        .require_peer = is_yes(call, "require-peer"),
        .server_name = {(const uint8_t *)name, name != NULL ? strlen(name) : 0},
        .alpn = bytes(call, "alpn"),
        .psk_identity = bytes(call, "psk-identity"),
        .psk_key = bytes(call, "psk-key"),
        .ticket = bytes(call, "ticket"),
    };
}

static void call_open(struct server *server, struct call *call)
{
    struct pal_tls_config config;
    read_config(call, &config);
    if (call->connection->tls != NULL || (unsigned)config.mode >= PAL_NUM_MODES) {
        say(call, PAL_BAD_ARGUMENT);
        return;
    }
    call->connection->env = &server->env[config.mode].env;
    say(call, call->ops->open(call->connection->env, &call->connection->tls, &config));
}

static void call_close(struct call *call)
{
    call->ops->close(call->connection->tls);
    call->connection->tls = NULL;
    say(call, PAL_OK);
}

/* ---- handshake and traffic -----------------------------------------------------------------------------------------
 */

static void call_handshake(struct call *call)
{
    struct pal_token token = {0};
    size_t consumed = 0;
    say(call, call->ops->handshake(call->connection->tls, &token, &consumed, bytes(call, "input")));
    shim_text_add(call->out, " consumed=%zu", consumed);
    give(call, "token", &token);
}

static void call_set_identity(struct call *call)
{
    const struct pal_tls_identity identity = {bytes(call, "chain"), bytes(call, "private-key")};
    say(call, call->ops->set_identity(call->connection->tls, &identity));
}

static void call_encrypt(struct call *call)
{
    struct pal_token token = {0};
    say(call, call->ops->encrypt(call->connection->tls, &token, bytes(call, "plain")));
    give(call, "token", &token);
}

/* read_all: the status that ended it. */
static enum pal_status read_all(struct call *call, struct pal_view input, struct shim_text *plain)
{
    size_t cap = input.len + ROOM;
    size_t len = input.len;
    uint8_t *data = malloc(cap);
    enum pal_status status = data != NULL ? PAL_OK : PAL_NO_MEMORY;
    if (data != NULL && len > 0) {
        memcpy(data, input.data, len);
    }
    for (size_t i = 0; status == PAL_OK && i < READS_MAX; i++) {
        size_t offset = 0;
        size_t count = 0;
        status = call->ops->decrypt(call->connection->tls, &offset, &count, data, len, cap);
        len = 0;
        if (status == PAL_OK && offset <= cap && count <= cap - offset) {
            memcpy(shim_text_room(plain, count), data + offset, count);
            plain->len += count;
        }
    }
    free(data);
    return status;
}

static void call_decrypt(struct call *call)
{
    static struct shim_text plain;
    struct pal_token token = {0};
    plain.len = 0;
    say(call, read_all(call, bytes(call, "input"), &plain));
    shim_text_bytes(call->out, "plain", (struct pal_view){(const uint8_t *)plain.data, plain.len});
    (void)call->ops->take_pending(call->connection->tls, &token);
    give(call, "token", &token);
}

/* ---- control -------------------------------------------------------------------------------------------------------
 */

static void call_update_keys(struct call *call)
{
    struct pal_token token = {0};
    say(call, call->ops->update_keys(call->connection->tls, &token, is_yes(call, "request-peer")));
    give(call, "token", &token);
}

static void call_renegotiate(struct call *call)
{
    struct pal_token token = {0};
    say(call, call->ops->renegotiate(call->connection->tls, &token));
    give(call, "token", &token);
}

static void call_alert(struct call *call)
{
    struct pal_token token = {0};
    uint8_t description = (uint8_t)shim_word_number(call->words, "description", 0);
    say(call, call->ops->alert(call->connection->tls, &token, description));
    give(call, "token", &token);
}

static void call_shutdown(struct call *call)
{
    struct pal_token token = {0};
    say(call, call->ops->shutdown(call->connection->tls, &token));
    give(call, "token", &token);
}

static void call_export_ticket(struct call *call)
{
    struct pal_token token = {0};
    say(call, call->ops->export_ticket(call->connection->tls, &token));
    give(call, "ticket", &token);
}

static void call_info(struct call *call)
{
    struct pal_tls_info info = {.alert_sent = TLS_ALERT_NONE, .alert_received = TLS_ALERT_NONE};
    enum pal_status status = call->ops->info(call->connection->tls, &info);
    say(call, status);
    if (status != PAL_OK) {
        return;
    }
    shim_text_add(call->out, "%s cipher-suite=%u resumed=%s alert-sent=%u alert-received=%u",
                  info.version == PAL_TLS_1_3   ? " version=1.3"
                  : info.version == PAL_TLS_1_2 ? " version=1.2"
                                                : "",
                  info.cipher_suite, info.resumed ? "yes" : "no", info.alert_sent, info.alert_received);
    shim_text_bytes(call->out, "alpn", info.alpn);
    shim_text_bytes(call->out, "peer-certificate", info.peer_certificate);
}

bool serve_tls(struct server *server, struct shim_words *words, struct shim_text *out)
{
    static const struct {
        const char *name;
        call_fn *answer;
    } rows[] = {
        {"tls.handshake", call_handshake},
        {"tls.encrypt", call_encrypt},
        {"tls.decrypt", call_decrypt},
        {"tls.update-keys", call_update_keys},
        {"tls.renegotiate", call_renegotiate},
        {"tls.alert", call_alert},
        {"tls.shutdown", call_shutdown},
        {"tls.set-identity", call_set_identity},
        {"tls.export-ticket", call_export_ticket},
        {"tls.info", call_info},
        {"tls.close", call_close},
    };
    uint64_t id = shim_word_number(words, "id", CONNECTIONS_MAX);
    if (strncmp(words->name, "tls.", strlen("tls.")) != 0) {
        return false;
    }
    struct call call = {.ops = server->port->tls,
                        .tokens = server->port->token != NULL ? server->port->token : &pal_token_reference,
                        .words = words,
                        .out = out};
    if (call.ops == NULL || id >= CONNECTIONS_MAX) {
        say(&call, call.ops == NULL ? PAL_UNSUPPORTED : PAL_BAD_ARGUMENT);
        return true;
    }
    call.connection = &connections[id];
    if (strcmp(words->name, "tls.open") == 0) {
        call_open(server, &call);
        return true;
    }
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (strcmp(words->name, rows[i].name) == 0 && call.connection->tls != NULL) {
            rows[i].answer(&call);
            return true;
        }
    }
    say(&call, call.connection->tls != NULL ? PAL_UNSUPPORTED : PAL_BAD_ARGUMENT);
    return true;
}
