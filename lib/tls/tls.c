/* SPDX-License-Identifier: Apache-2.0
 * tls.c: the table: checks arguments and state, then asks the shape; and what shapes share.
 * It breaks when an engine's event reaches a caller past the shape's table of statuses.
 */
#include "tls.h"

#include <string.h>

/* ---- queue ------------------------------------------------------------------------------------------------------- */

bool tls_queue_reserve(const struct pal_env *env, struct tls_queue *queue, size_t more)
{
    size_t live = queue->len - queue->at;
    uint8_t *grown;

    if (queue->at > 0 && more > queue->cap - queue->len) {
        memmove(queue->data, queue->data + queue->at, live);
        queue->at = 0;
        queue->len = live;
    }
    if (more <= queue->cap - queue->len) {
        return true;
    }
    if (more > SIZE_MAX / 2 - live) {
        return false;
    }
    grown = env->alloc(env->context, 2 * live + more);
    if (grown == NULL) {
        return false;
    }
    if (live > 0) {
        memcpy(grown, queue->data, live);
    }
    if (queue->data != NULL) {
        memset(queue->data, 0, queue->cap);
    }
    env->free(env->context, queue->data);
    queue->data = grown;
    queue->cap = 2 * live + more;
    return true;
}

bool tls_queue_append(const struct pal_env *env, struct tls_queue *queue, struct pal_view bytes)
{
    if (bytes.len == 0) {
        return true;
    }
    if (!tls_queue_reserve(env, queue, bytes.len)) {
        return false;
    }
    memcpy(queue->data + queue->len, bytes.data, bytes.len);
    queue->len += bytes.len;
    return true;
}

struct pal_view tls_queue_view(const struct tls_queue *queue)
{
    return queue->data == NULL ? (struct pal_view){NULL, 0}
                               : (struct pal_view){queue->data + queue->at, queue->len - queue->at};
}

void tls_queue_drop(struct tls_queue *queue, size_t len)
{
    queue->at += len;
    if (queue->at == queue->len) {
        queue->at = queue->len = 0;
    }
}

void tls_queue_free(const struct pal_env *env, struct tls_queue *queue)
{
    if (queue->data != NULL) {
        memset(queue->data, 0, queue->cap);
    }
    env->free(env->context, queue->data);
    *queue = (struct tls_queue){0};
}

/* ---- for the shapes
 * --------------------------------------------------------------------------------------------------- */

static size_t transport_read(void *context, uint8_t *out, size_t cap)
{
    struct pal_tls *tls = context;
    struct pal_view kept = tls_queue_view(&tls->kept);
    size_t count;

    if (kept.len > 0) {
        count = kept.len < cap ? kept.len : cap;
        memcpy(out, kept.data, count);
        tls_queue_drop(&tls->kept, count);
        return count;
    }
    count = tls->input.len < cap ? tls->input.len : cap;
    if (count > 0) {
        memcpy(out, tls->input.data, count);
        tls->input.data += count;
        tls->input.len -= count;
    }
    return count;
}

static bool transport_write(void *context, struct pal_view bytes)
{
    struct pal_tls *tls = context;

    return tls_queue_append(tls->env, &tls->output, bytes);
}

struct tls_transport tls_transport_for(struct pal_tls *tls)
{
    return (struct tls_transport){transport_read, transport_write, tls};
}

enum pal_status tls_die(struct pal_tls *tls, enum pal_status status)
{
    switch ((int)status) {
    case PAL_OK:
    case PAL_NEED_INPUT:
    case PAL_NEED_CREDENTIALS:
    case PAL_RENEGOTIATE:
    case PAL_CLOSED:
    case PAL_NO_SPACE:
    case PAL_UNSUPPORTED:
    case PAL_BAD_ARGUMENT:
    case PAL_BAD_STATE:
        return status;
    default:
        tls->dead = status;
        return status;
    }
}

enum pal_status tls_append_output(struct pal_tls *tls, struct pal_token *out)
{
    struct pal_view bytes = tls_queue_view(&tls->output);
    enum pal_status status;

    if (bytes.len == 0) {
        return PAL_OK;
    }
    status = pal_token_append(tls->env, out, tls->mode, bytes);
    if (status == PAL_OK) {
        tls_queue_drop(&tls->output, bytes.len);
    }
    return status;
}

enum tls_event tls_write_all(struct pal_tls *tls, struct pal_view plain)
{
    size_t record_max = tls_engine_sizes(tls->engine).plain_max;
    enum tls_event event = TLS_DONE;

    while (plain.len > 0 && event == TLS_DONE) {
        struct pal_view record = {plain.data, plain.len < record_max ? plain.len : record_max};

        event = tls_engine_write(tls->engine, record);
        plain.data += record.len;
        plain.len -= record.len;
    }
    return event;
}

enum tls_event tls_read_all(struct pal_tls *tls, uint8_t *out, size_t *out_count, size_t cap)
{
    enum tls_event event;
    size_t total = 0;
    size_t count;

    do {
        event = tls_engine_read(tls->engine, out + total, &count, cap - total);
        total += count;
    } while (event == TLS_DONE && total < cap);
    *out_count = total;
    return total > 0 ? TLS_DONE : event; /* what ended it comes again when asked again */
}

/* ---- table
 * ------------------------------------------------------------------------------------------------------------ */

static bool alpn_valid(struct pal_view alpn)
{
    size_t at = 0;

    while (at < alpn.len && alpn.data[at] > 0) {
        at += 1u + alpn.data[at];
    }
    return at == alpn.len && alpn.len <= UINT16_MAX;
}

static bool identity_valid(const struct pal_tls_identity *identity)
{
    return pal_view_valid(identity->chain) && pal_view_valid(identity->private_key) &&
           (identity->chain.len == 0) == (identity->private_key.len == 0);
}

static bool version_valid(uint16_t version)
{
    return version == PAL_TLS_1_2 || version == PAL_TLS_1_3;
}

/* Names become C strings in both engines, so they may hold no 0. */
static bool name_valid(struct pal_view name, size_t len_max)
{
    return pal_view_valid(name) && name.len <= len_max && (name.len == 0 || memchr(name.data, 0, name.len) == NULL);
}

static bool config_valid(const struct pal_tls_config *config)
{
    return (config->role == PAL_TLS_CLIENT || config->role == PAL_TLS_SERVER) &&
           (unsigned)config->shape < PAL_TLS_NUM_SHAPES && (unsigned)config->mode < PAL_NUM_MODES &&
           version_valid(config->version_min) && version_valid(config->version_max) &&
           config->version_min <= config->version_max && identity_valid(&config->identity) &&
           pal_view_valid(config->trusted) && name_valid(config->server_name, 255) && pal_view_valid(config->alpn) &&
           alpn_valid(config->alpn) && name_valid(config->psk_identity, 128) && pal_view_valid(config->psk_key) &&
           config->psk_key.len <= 256 && (config->psk_key.len == 0) == (config->psk_identity.len == 0) &&
           pal_view_valid(config->ticket) && (config->ticket.len == 0 || config->role == PAL_TLS_CLIENT);
}

static void tls_close(struct pal_tls *tls)
{
    const struct pal_env *env;

    if (tls == NULL) {
        return;
    }
    env = tls->env;
    tls_engine_close(tls->engine);
    tls_queue_free(env, &tls->kept);
    tls_queue_free(env, &tls->output);
    env->free(env->context, tls);
}

static enum pal_status tls_open(const struct pal_env *env, struct pal_tls **out, const struct pal_tls_config *config)
{
    static const struct tls_shape *const shapes[PAL_TLS_NUM_SHAPES] = {
        [PAL_TLS_SIZED] = &tls_shape_sized,
        [PAL_TLS_DRAIN] = &tls_shape_drain,
        [PAL_TLS_CALLBACK] = &tls_shape_callback,
        [PAL_TLS_PENDING] = &tls_shape_pending,
    };
    struct pal_tls *tls;
    enum tls_event event;
    enum pal_status status;

    if (env == NULL || out == NULL || config == NULL || !config_valid(config)) {
        return PAL_BAD_ARGUMENT;
    }
    if (config->mode == PAL_REUSED && (env->rent == NULL || env->release == NULL)) {
        return PAL_UNSUPPORTED;
    }
    tls = env->alloc(env->context, sizeof(*tls));
    if (tls == NULL) {
        return PAL_NO_MEMORY;
    }
    *tls = (struct pal_tls){.env = env, .shape = shapes[config->shape], .mode = config->mode};
    event = tls->shape->open(tls, config);
    if (event == TLS_DONE) {
        *out = tls;
        return PAL_OK;
    }
    status = tls->shape->status[event];
    tls_close(tls);
    return status;
}

/* A token is handed in empty, so that its memory cannot be lost, and its status is the call's. */
static bool token_empty(const struct pal_token *out)
{
    return out != NULL && out->payload == NULL && out->len == 0 && out->cap == 0;
}

/* answer: a call's status, also in its token. Without randomness nothing may leave, alerts included: BoringSSL cannot
 * be told of the failure and goes on with bytes that anybody could know. */
static enum pal_status answer(struct pal_tls *tls, struct pal_token *out, enum pal_status status)
{
    if (tls_die(tls, status) == PAL_NO_RANDOM) {
        (void)pal_token_release(tls->env, out);
    }
    return out->status = status;
}

static enum pal_status tls_handshake(struct pal_tls *tls, struct pal_token *out, size_t *out_consumed,
                                     struct pal_view input)
{
    enum pal_status status;

    if (tls == NULL || !token_empty(out) || out_consumed == NULL || !pal_view_valid(input)) {
        return PAL_BAD_ARGUMENT;
    }
    *out_consumed = 0;
    if (tls->dead != PAL_OK) {
        return out->status = tls->dead;
    }
    status = tls->shape->handshake(tls, out, out_consumed, input);
    if (status == PAL_OK) {
        tls->open = true;
    }
    return answer(tls, out, status);
}

static enum pal_status tls_set_identity(struct pal_tls *tls, const struct pal_tls_identity *identity)
{
    if (tls == NULL || identity == NULL || !identity_valid(identity)) {
        return PAL_BAD_ARGUMENT;
    }
    if (tls->dead != PAL_OK) {
        return tls->dead;
    }
    if (tls->open) {
        return PAL_BAD_STATE;
    }
    return tls_die(tls, tls->shape->status[tls_engine_set_identity(tls->engine, identity)]);
}

static enum pal_status tls_encrypt(struct pal_tls *tls, struct pal_token *out, struct pal_view plain)
{
    if (tls == NULL || !token_empty(out) || !pal_view_valid(plain)) {
        return PAL_BAD_ARGUMENT;
    }
    if (tls->dead != PAL_OK) {
        return out->status = tls->dead;
    }
    if (!tls->open || tls->shut) {
        return out->status = PAL_BAD_STATE;
    }
    if (plain.len == 0) { /* SSL_write of nothing is not defined, and its answer ambiguous */
        return out->status = PAL_OK;
    }
    return answer(tls, out, tls->shape->encrypt(tls, out, plain));
}

static enum pal_status tls_decrypt(struct pal_tls *tls, size_t *out_offset, size_t *out_count, uint8_t *data,
                                   size_t len, size_t cap)
{
    uint8_t nothing; /* stands for no memory, to which not even 0 may be added */
    size_t offset = 0;
    size_t count = 0;
    enum pal_status status;

    if (tls == NULL || out_offset == NULL || out_count == NULL || (data == NULL && cap > 0) || cap < len) {
        return PAL_BAD_ARGUMENT;
    }
    if (tls->dead != PAL_OK) {
        return tls->dead;
    }
    if (!tls->open) {
        return PAL_BAD_STATE;
    }
    status = tls->shape->decrypt(tls, &offset, &count, (struct tls_span){data != NULL ? data : &nothing, len, cap});
    if (status == PAL_OK) {
        *out_offset = offset;
        *out_count = count;
    }
    return tls_die(tls, status);
}

/* What is left of a call that makes bytes and takes none: collect, and answer. */
static enum pal_status control(struct pal_tls *tls, struct pal_token *out, enum tls_event event)
{
    enum pal_status collected = tls->shape->collect(tls, out);
    enum pal_status status = tls->shape->status[event];

    return answer(tls, out, status == PAL_OK ? collected : status);
}

/* control_state: PAL_OK when a call that makes bytes is allowed now. */
static enum pal_status control_state(const struct pal_tls *tls, struct pal_token *out)
{
    if (tls == NULL || !token_empty(out)) {
        return PAL_BAD_ARGUMENT;
    }
    if (tls->dead != PAL_OK) {
        return out->status = tls->dead;
    }
    return out->status = !tls->open || tls->shut ? PAL_BAD_STATE : PAL_OK;
}

static enum pal_status tls_update_keys(struct pal_tls *tls, struct pal_token *out, bool request_peer)
{
    enum pal_status status = control_state(tls, out);

    return status != PAL_OK ? status : control(tls, out, tls_engine_update_keys(tls->engine, request_peer));
}

static enum pal_status tls_renegotiate(struct pal_tls *tls, struct pal_token *out)
{
    enum pal_status status = control_state(tls, out);

    return status != PAL_OK ? status : control(tls, out, tls_engine_renegotiate(tls->engine));
}

/* alert: also in mid-handshake; it ends the connection. */
static enum pal_status tls_alert(struct pal_tls *tls, struct pal_token *out, uint8_t description)
{
    enum pal_status status;

    if (tls == NULL || !token_empty(out) || description == 0) {
        return PAL_BAD_ARGUMENT;
    }
    if (tls->dead != PAL_OK || tls->shut) {
        return out->status = tls->dead != PAL_OK ? tls->dead : PAL_BAD_STATE;
    }
    status = control(tls, out, tls_engine_alert(tls->engine, description));
    if (status == PAL_OK) {
        tls->dead = PAL_BAD_STATE;
    }
    return status;
}

static enum pal_status tls_shutdown(struct pal_tls *tls, struct pal_token *out)
{
    enum pal_status status = control_state(tls, out);

    if (tls != NULL && tls->shut && status == PAL_BAD_STATE) {
        return out->status = PAL_OK; /* said already */
    }
    if (status == PAL_OK) {
        status = control(tls, out, tls_engine_shutdown(tls->engine));
    }
    if (status == PAL_OK) {
        tls->shut = true;
    }
    return status;
}

/* take_pending: also from a dead object, whose alert is still to be sent. */
static enum pal_status tls_take_pending(struct pal_tls *tls, struct pal_token *out)
{
    if (tls == NULL || !token_empty(out)) {
        return PAL_BAD_ARGUMENT;
    }
    if (tls->dead == PAL_NO_RANDOM) {
        return out->status = PAL_NO_RANDOM;
    }
    if (tls->dead != PAL_OK || tls->shut || !tls->open) {
        return out->status = tls->shape->collect(tls, out);
    }
    return control(tls, out, tls_engine_flush(tls->engine));
}

static enum pal_status tls_info(struct pal_tls *tls, struct pal_tls_info *out)
{
    struct pal_tls_info info = {.alert_sent = 255, .alert_received = 255};
    struct tls_sizes sizes;
    enum pal_status status;

    if (tls == NULL || out == NULL) {
        return PAL_BAD_ARGUMENT;
    }
    status = tls->shape->status[tls_engine_info(tls->engine, &info)];
    if (status == PAL_OK) {
        sizes = tls_engine_sizes(tls->engine);
        info.record_plain_max = sizes.plain_max;
        info.record_overhead = sizes.header + sizes.trailer;
        *out = info;
    }
    return status;
}

static enum pal_status tls_export_ticket(struct pal_tls *tls, struct pal_token *out)
{
    struct pal_view session;
    enum pal_status status;

    if (tls == NULL || !token_empty(out)) {
        return PAL_BAD_ARGUMENT;
    }
    if (tls->dead != PAL_OK) { /* RFC 5246 7.2.2: what failed is not resumed */
        return out->status = tls->dead;
    }
    status = tls->shape->status[tls_engine_export(tls->engine, &session)];
    if (status == PAL_OK) {
        status = pal_token_append(tls->env, out, tls->mode, session);
    }
    return out->status = status;
}

const struct pal_tls_ops pal_tls_table = {
    .open = tls_open,
    .close = tls_close,
    .handshake = tls_handshake,
    .set_identity = tls_set_identity,
    .encrypt = tls_encrypt,
    .decrypt = tls_decrypt,
    .update_keys = tls_update_keys,
    .renegotiate = tls_renegotiate,
    .alert = tls_alert,
    .shutdown = tls_shutdown,
    .take_pending = tls_take_pending,
    .info = tls_info,
    .export_ticket = tls_export_ticket,
};
