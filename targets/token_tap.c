/* SPDX-License-Identifier: Apache-2.0
 * token_tap.c: the plain way to speak TLS: every call goes to the engine, and all that the engine then has goes into
 * one fresh allocation. It knows the contract's rules on states and nothing of shapes. It breaks when it is made
 * clever.
 */
#include "token_world.h"

#include <string.h>

/* The port's own, as every port has one. */
struct pal_tls {
    const struct pal_env *env;
    struct tls_engine *engine;
    enum pal_status dead;
    bool open;
    bool shut;
};

static const enum pal_status statuses[TLS_NUM_EVENTS] = {
    [TLS_DONE] = PAL_OK,
    [TLS_WANT_READ] = PAL_NEED_INPUT,
    [TLS_WANT_CREDENTIALS] = PAL_NEED_CREDENTIALS,
    [TLS_RENEGOTIATING] = PAL_RENEGOTIATE,
    [TLS_CLOSED] = PAL_CLOSED,
    [TLS_NO_SPACE] = PAL_NO_SPACE,
    [TLS_FAILED] = PAL_PROTOCOL,
    [TLS_NO_MEMORY] = PAL_NO_MEMORY,
    [TLS_NO_RANDOM] = PAL_NO_RANDOM,
    [TLS_UNSUPPORTED] = PAL_UNSUPPORTED,
    [TLS_BAD_STATE] = PAL_BAD_STATE,
    [TLS_BAD_ARGUMENT] = PAL_BAD_ARGUMENT,
    [TLS_BROKEN] = PAL_ENGINE,
};

static bool is_final(enum tls_event event)
{
    return event == TLS_FAILED || event == TLS_NO_MEMORY || event == TLS_NO_RANDOM || event == TLS_BROKEN;
}

static enum pal_status tap_open(const struct pal_env *env, struct pal_tls **out, const struct pal_tls_config *config)
{
    struct pal_tls *tls = env->alloc(env->context, sizeof(*tls));
    if (tls == NULL) {
        return PAL_NO_MEMORY;
    }
    *tls = (struct pal_tls){.env = env};
    enum tls_event event = tls_engine_open(env, &tls->engine, config, NULL);
    if (event != TLS_DONE) {
        env->free(env->context, tls);
        return statuses[event];
    }
    *out = tls;
    return PAL_OK;
}

static void tap_close(struct pal_tls *tls)
{
    tls_engine_close(tls->engine);
    tls->env->free(tls->env->context, tls);
}

static enum pal_status said(struct pal_token *out, enum pal_status status)
{
    out->status = status;
    return status;
}

/* give: all that the engine has, and the status of `event`. Without randomness nothing leaves. */
static enum pal_status give(struct pal_tls *tls, struct pal_token *out, enum tls_event event)
{
    size_t len = tls_engine_produced(tls->engine);
    if (event != TLS_NO_RANDOM && len > 0) {
        uint8_t *payload = tls->env->alloc(tls->env->context, len);
        if (payload == NULL) {
            tls->dead = PAL_NO_MEMORY;
            return said(out, PAL_NO_MEMORY);
        }
        (void)tls_engine_take(tls->engine, payload, len);
        *out = (struct pal_token){.payload = payload, .len = len, .cap = len};
    }
    tls->dead = is_final(event) ? statuses[event] : tls->dead;
    return said(out, statuses[event]);
}

static enum pal_status tap_handshake(struct pal_tls *tls, struct pal_token *out, size_t *out_consumed,
                                     struct pal_view input)
{
    *out_consumed = 0;
    if (tls->dead != PAL_OK) {
        return said(out, tls->dead);
    }
    enum tls_event event = tls_engine_feed(tls->engine, input);
    if (event == TLS_DONE) {
        event = tls_engine_handshake(tls->engine);
        size_t unread = tls_engine_unread(tls->engine);
        unread = unread < input.len ? unread : input.len; /* the rest is of an earlier decrypt */
        *out_consumed = input.len - unread;
        event = tls_engine_discard(tls->engine, unread) == TLS_DONE ? event : TLS_NO_MEMORY;
    }
    tls->open |= event == TLS_DONE;
    return give(tls, out, event);
}

/* state: what is answered before the engine is asked. */
static enum pal_status state(const struct pal_tls *tls)
{
    return tls->dead != PAL_OK ? tls->dead : !tls->open || tls->shut ? PAL_BAD_STATE : PAL_OK;
}

static enum pal_status tap_encrypt(struct pal_tls *tls, struct pal_token *out, struct pal_view plain)
{
    size_t most = tls_engine_sizes(tls->engine).plain_max;
    enum tls_event event = TLS_DONE;
    if (state(tls) != PAL_OK || plain.len == 0) {
        return said(out, state(tls));
    }
    while (event == TLS_DONE && plain.len > 0) {
        struct pal_view record = {plain.data, plain.len < most ? plain.len : most};
        event = tls_engine_write(tls->engine, record);
        plain.data += record.len;
        plain.len -= record.len;
    }
    return give(tls, out, event);
}

static enum pal_status tap_decrypt(struct pal_tls *tls, size_t *out_offset, size_t *out_count, uint8_t *data,
                                   size_t len, size_t cap)
{
    if (tls->dead != PAL_OK || !tls->open) {
        return tls->dead != PAL_OK ? tls->dead : PAL_BAD_STATE;
    }
    size_t count = 0;
    enum tls_event event = tls_engine_feed(tls->engine, (struct pal_view){data, len});
    if (event == TLS_DONE) {
        event = tls_engine_read(tls->engine, data, &count, cap);
    }
    if (event == TLS_DONE) {
        *out_offset = 0;
        *out_count = count;
    }
    tls->dead = is_final(event) ? statuses[event] : PAL_OK;
    return statuses[event];
}

static enum pal_status tap_update_keys(struct pal_tls *tls, struct pal_token *out, bool request_peer)
{
    enum pal_status status = state(tls);
    return status != PAL_OK ? said(out, status) : give(tls, out, tls_engine_update_keys(tls->engine, request_peer));
}

static enum pal_status tap_alert(struct pal_tls *tls, struct pal_token *out, uint8_t description)
{
    if (tls->dead != PAL_OK || tls->shut) {
        return said(out, tls->dead != PAL_OK ? tls->dead : PAL_BAD_STATE);
    }
    enum pal_status status = give(tls, out, tls_engine_alert(tls->engine, description));
    tls->dead = status == PAL_OK ? PAL_BAD_STATE : tls->dead;
    return status;
}

static enum pal_status tap_shutdown(struct pal_tls *tls, struct pal_token *out)
{
    if (tls->dead == PAL_OK && tls->shut) {
        return said(out, PAL_OK);
    }
    if (state(tls) != PAL_OK) {
        return said(out, state(tls));
    }
    enum pal_status status = give(tls, out, tls_engine_shutdown(tls->engine));
    tls->shut = status == PAL_OK;
    return status;
}

static enum pal_status tap_take_pending(struct pal_tls *tls, struct pal_token *out)
{
    if (tls->dead == PAL_NO_RANDOM) {
        return said(out, PAL_NO_RANDOM);
    }
    return give(tls, out, state(tls) != PAL_OK ? TLS_DONE : tls_engine_flush(tls->engine));
}

const struct pal_port *token_tap_port(void)
{
    static const struct pal_tls_ops tls = {
        .open = tap_open,
        .close = tap_close,
        .handshake = tap_handshake,
        .encrypt = tap_encrypt,
        .decrypt = tap_decrypt,
        .update_keys = tap_update_keys,
        .alert = tap_alert,
        .shutdown = tap_shutdown,
        .take_pending = tap_take_pending,
    };
    static const struct pal_port port = {
        .abi = PAL_ABI_VERSION, .name = "tap", .version = "1", .env_random = true, .env_clock = true, .tls = &tls};
    return &port;
}
