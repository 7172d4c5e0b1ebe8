/* SPDX-License-Identifier: Apache-2.0
 * shim_tls.c: TLS through the process door: one call of the table is one line. The shim's bytes become tokens of the
 * caller's memory here; plaintext that does not fit, and bytes that are owed after reading, wait here for who asks.
 * It breaks when an answer's views are used after the next call: they are the line's.
 */
#include "shim.h"

#include "tls_link.h"
#include "token.h"

#include <inttypes.h>
#include <string.h>

#define CONNECTIONS_MAX 16u

/* pal_tls: its place in the table is its id. Not the port's memory: nothing of it is asked of an environment. */
struct pal_tls {
    const struct pal_env *env; /* NULL: the place is free */
    enum pal_mode mode;
    enum pal_status final; /* PAL_OK while it lives */
    struct shim_text owed; /* to be sent, in no token yet */
    struct shim_text plain;
    size_t plain_at;        /* bytes before are handed out */
    bool answered;          /* decrypt has an answer that is not all handed out */
    enum pal_status answer; /* what it ends with */
    struct shim_text told;  /* what the views of the last info are of */
};

static struct pal_tls connections[CONNECTIONS_MAX];
static bool has_1_3; /* a connection of no other version was opened */
static struct shim_words answer;

static const char *const versions[] = {"1.2", "1.3"};

void shim_tls_reset(void)
{
    for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
        connections[i].env = NULL;
    }
}

/* ---- calls and answers ---------------------------------------------------------------------------------------------
 */

static struct shim_text *begin(const struct pal_tls *tls, const char *call)
{
    struct shim_text *text = shim_call(call);
    shim_text_add(text, " id=%td", tls - connections);
    return text;
}

static void add_bytes(struct shim_text *text, const char *key, struct pal_view bytes)
{
    if (bytes.len > 0) {
        shim_text_bytes(text, key, bytes);
    }
}

static void append(struct shim_text *text, struct pal_view bytes)
{
    if (bytes.len > 0) {
        memcpy(shim_text_room(text, bytes.len), bytes.data, bytes.len);
        text->len += bytes.len;
    }
}

/* ask: the status of the call that was written. One that ends the connection is kept: what the shim does not have it
 * need not have for a dead one. */
static enum pal_status ask(struct pal_tls *tls)
{
    enum pal_status status = PAL_OK;
    if (!shim_ask(&status, &answer)) {
        answer.num = 0;
        return tls->final != PAL_OK ? tls->final : PAL_UNSUPPORTED;
    }
    if (tls_is_fatal(status)) {
        tls->final = status;
    }
    return status;
}

/* grant: PAL_UNSUPPORTED was the right answer to the last call. */
static void grant(bool right)
{
    if (right) {
        shim_granted();
    }
}

static bool is_empty(const struct pal_token *out)
{
    return out != NULL && out->payload == NULL && out->len == 0 && out->cap == 0;
}

/* hand_out: the bytes, as the call's token. */
static enum pal_status hand_out(struct pal_tls *tls, struct pal_token *out, enum pal_status status,
                                struct pal_view bytes)
{
    enum pal_status made = bytes.len > 0 ? pal_token_append(tls->env, out, tls->mode, bytes) : PAL_OK;
    return out->status = made == PAL_OK ? status : (tls->final = made);
}

static enum pal_status hand_out_owed(struct pal_tls *tls, struct pal_token *out, enum pal_status status)
{
    status = hand_out(tls, out, status, (struct pal_view){(const uint8_t *)tls->owed.data, tls->owed.len});
    tls->owed.len = 0;
    return status;
}

/* give: asks, and hands out what the answer brought, behind what is owed. */
static enum pal_status give(struct pal_tls *tls, struct pal_token *out)
{
    enum pal_status status = ask(tls);
    append(&tls->owed, shim_bytes(&answer, "token"));
    return hand_out_owed(tls, out, status);
}

/* ---- open and close ------------------------------------------------------------------------------------------------
 */

/* add_name: as text, which a space or the end of a line would cut. */
static bool add_name(struct shim_text *text, struct pal_view name)
{
    for (size_t i = 0; i < name.len; i++) {
        if (name.data[i] <= ' ' || name.data[i] > '~') {
            return false;
        }
    }
    if (name.len > 0) {
        shim_text_add(text, " server-name=%.*s", (int)name.len, (const char *)name.data);
    }
    return true;
}

static bool add_config(struct shim_text *text, const struct pal_tls_config *config)
{
    unsigned min = config->version_min - PAL_TLS_1_2;
    unsigned max = config->version_max - PAL_TLS_1_2;
    if (min > 1 || max > 1 || (unsigned)config->mode >= PAL_NUM_MODES ||
        (unsigned)config->shape >= PAL_TLS_NUM_SHAPES) {
        return false;
    }
    shim_text_add(text, " role=%s version-min=%s version-max=%s mode=%s shape=%s",
                  config->role == PAL_TLS_CLIENT ? "client" : "server", versions[min], versions[max],
                  shim_modes[config->mode], shim_shapes[config->shape]);
    add_bytes(text, "chain", config->identity.chain);
    add_bytes(text, "private-key", config->identity.private_key);
    add_bytes(text, "trusted", config->trusted);
    add_bytes(text, "alpn", config->alpn);
    add_bytes(text, "psk-identity", config->psk_identity);
    add_bytes(text, "psk-key", config->psk_key);
    add_bytes(text, "ticket", config->ticket);
    shim_text_add(text, "%s%s", config->late_identity ? " late-identity=yes" : "",
                  config->require_peer ? " require-peer=yes" : "");
    return add_name(text, config->server_name);
}

static enum pal_status tls_open(const struct pal_env *env, struct pal_tls **out, const struct pal_tls_config *config)
{
    struct pal_tls *tls = connections;
    if (env == NULL || out == NULL || config == NULL) {
        return PAL_BAD_ARGUMENT;
    }
    if (config->mode == PAL_REUSED && (env->rent == NULL || env->release == NULL)) {
        return PAL_UNSUPPORTED;
    }
    while (tls < connections + CONNECTIONS_MAX && tls->env != NULL) {
        tls++;
    }
    if (tls == connections + CONNECTIONS_MAX) {
        return PAL_NO_MEMORY;
    }
    struct shim_text *text = begin(tls, "tls.open");
    shim_text_add(text, " time=%" PRId64, env->unix_time(env->context));
    if (!add_config(text, config)) {
        return PAL_BAD_ARGUMENT;
    }
    tls->mode = config->mode;
    tls->final = PAL_OK;
    tls->owed.len = tls->plain.len = tls->plain_at = 0;
    tls->answered = false;
    enum pal_status status = ask(tls);
    if (status == PAL_OK) {
        tls->env = env;
        *out = tls;
    }
    if (config->version_min == PAL_TLS_1_3) { /* which a runtime may lack as a whole: the next one is of TLS 1.2 */
        has_1_3 |= status == PAL_OK;
        grant(status == PAL_UNSUPPORTED && !has_1_3 && config->psk_key.len == 0 && !config->late_identity);
    }
    return status;
}

static void tls_close(struct pal_tls *tls)
{
    enum pal_status status = PAL_OK;
    if (tls == NULL) {
        return;
    }
    tls->env = NULL;
    (void)begin(tls, "tls.close");
    if (shim_ask(&status, &answer) && status != PAL_OK) {
        shim_fail(SHIM_GARBLED, "tls.close answers \"%s\"", answer.name);
    }
}

/* ---- handshake and traffic -----------------------------------------------------------------------------------------
 */

static enum pal_status tls_handshake(struct pal_tls *tls, struct pal_token *out, size_t *out_consumed,
                                     struct pal_view input)
{
    if (tls == NULL || !is_empty(out) || out_consumed == NULL || !pal_view_valid(input)) {
        return PAL_BAD_ARGUMENT;
    }
    shim_text_bytes(begin(tls, "tls.handshake"), "input", input);
    enum pal_status status = give(tls, out);
    uint64_t consumed = shim_word_number(&answer, "consumed", status == PAL_UNSUPPORTED ? 0 : input.len);
    if (consumed > input.len) {
        shim_fail(SHIM_GARBLED, "tls.handshake consumed %" PRIu64 " of %zu bytes", consumed, input.len);
    }
    *out_consumed = (size_t)consumed;
    return status;
}

static enum pal_status tls_set_identity(struct pal_tls *tls, const struct pal_tls_identity *identity)
{
    if (tls == NULL || identity == NULL || !pal_view_valid(identity->chain) || !pal_view_valid(identity->private_key)) {
        return PAL_BAD_ARGUMENT;
    }
    struct shim_text *text = begin(tls, "tls.set-identity");
    shim_text_bytes(text, "chain", identity->chain);
    shim_text_bytes(text, "private-key", identity->private_key);
    return ask(tls);
}

static enum pal_status tls_encrypt(struct pal_tls *tls, struct pal_token *out, struct pal_view plain)
{
    if (tls == NULL || !is_empty(out) || !pal_view_valid(plain)) {
        return PAL_BAD_ARGUMENT;
    }
    shim_text_bytes(begin(tls, "tls.encrypt"), "plain", plain);
    if (plain.len == 0) { /* which makes no bytes: those that are owed go on waiting */
        enum pal_status status = ask(tls);
        return hand_out(tls, out, status, shim_bytes(&answer, "token"));
    }
    return give(tls, out);
}

/* tls_decrypt: the shim gives all plaintext at once; it is handed out as there is room, and then how the answer ended.
 */
static enum pal_status tls_decrypt(struct pal_tls *tls, size_t *out_offset, size_t *out_count, uint8_t *data,
                                   size_t len, size_t cap)
{
    if (tls == NULL || out_offset == NULL || out_count == NULL || (data == NULL && cap > 0) || cap < len) {
        return PAL_BAD_ARGUMENT;
    }
    if (len > 0 || !tls->answered) {
        shim_text_bytes(begin(tls, "tls.decrypt"), "input", (struct pal_view){data, len});
        enum pal_status status = ask(tls);
        append(&tls->plain, shim_bytes(&answer, "plain"));
        append(&tls->owed, shim_bytes(&answer, "token"));
        tls->answer = status == PAL_OK ? PAL_NEED_INPUT : status;
        tls->answered = true;
    }
    size_t left = tls->plain.len - tls->plain_at;
    if (left == 0) {
        tls->plain.len = tls->plain_at = 0;
        tls->answered = false;
        return tls->answer;
    }
    if (cap == 0) {
        return PAL_NO_SPACE;
    }
    *out_offset = 0;
    *out_count = left < cap ? left : cap;
    memcpy(data, tls->plain.data + tls->plain_at, *out_count);
    tls->plain_at += *out_count;
    return PAL_OK;
}

/* ---- what is known -------------------------------------------------------------------------------------------------
 */

/* record_overhead: what a record of an AEAD suite adds: its header, an explicit nonce (RFC 5288), a tag, and TLS 1.3's
 * inner type; 0 for any other suite, whose records differ. */
static size_t record_overhead(uint16_t version, uint16_t suite)
{
    if (version == PAL_TLS_1_3) {
        return suite >= 0x1301 && suite <= 0x1304 ? 5 + 16 + 1 : 0;
    }
    bool gcm = (suite >= 0x009c && suite <= 0x00ad) || (suite >= 0xc02b && suite <= 0xc032);
    bool chacha = suite >= 0xcca8 && suite <= 0xccae;
    return gcm ? 5 + 8 + 16 : chacha ? 5 + 16 : 0;
}

static uint8_t alert_of(const char *key)
{
    uint64_t number = shim_word_number(&answer, key, TLS_ALERT_NONE);
    return number < TLS_ALERT_NONE ? (uint8_t)number : TLS_ALERT_NONE;
}

static enum pal_status tls_info(struct pal_tls *tls, struct pal_tls_info *out)
{
    enum pal_status status = PAL_OK;
    if (tls == NULL || out == NULL) {
        return PAL_BAD_ARGUMENT;
    }
    (void)begin(tls, "tls.info");
    if (!shim_ask(&status, &answer)) {
        return PAL_UNSUPPORTED;
    }
    if (status != PAL_OK) {
        return status;
    }
    struct pal_tls_info info = {.alert_sent = alert_of("alert-sent"), .alert_received = alert_of("alert-received")};
    struct pal_view alpn = shim_bytes(&answer, "alpn");
    struct pal_view certificate = shim_bytes(&answer, "peer-certificate");
    const char *resumed = shim_word(&answer, "resumed");
    size_t version = shim_row(versions, 2, shim_word(&answer, "version"));
    info.version = version < 2 ? (uint16_t)(PAL_TLS_1_2 + version) : 0;
    info.cipher_suite = (uint16_t)shim_word_number(&answer, "cipher-suite", 0);
    info.resumed = resumed != NULL && strcmp(resumed, "yes") == 0;
    info.record_overhead = record_overhead(info.version, info.cipher_suite);
    info.record_plain_max = info.record_overhead > 0 ? 16384 : 0;
    tls->told.len = 0;
    (void)shim_text_room(&tls->told, 0); /* nothing, too, has a place */
    append(&tls->told, alpn);
    append(&tls->told, certificate);
    info.alpn = (struct pal_view){(const uint8_t *)tls->told.data, alpn.len};
    info.peer_certificate = (struct pal_view){(const uint8_t *)tls->told.data + alpn.len, certificate.len};
    *out = info;
    return PAL_OK;
}

/* is_of: the version, which has no such thing as was asked for. */
static bool is_of(struct pal_tls *tls, uint16_t version)
{
    struct pal_tls_info info;
    return tls_info(tls, &info) == PAL_OK && info.version == version;
}

/* ---- control -------------------------------------------------------------------------------------------------------
 */

static enum pal_status tls_update_keys(struct pal_tls *tls, struct pal_token *out, bool request_peer)
{
    if (tls == NULL || !is_empty(out)) {
        return PAL_BAD_ARGUMENT;
    }
    shim_text_add(begin(tls, "tls.update-keys"), " request-peer=%s", request_peer ? "yes" : "no");
    enum pal_status status = give(tls, out);
    grant(status == PAL_UNSUPPORTED && is_of(tls, PAL_TLS_1_2));
    return status;
}

static enum pal_status tls_renegotiate(struct pal_tls *tls, struct pal_token *out)
{
    if (tls == NULL || !is_empty(out)) {
        return PAL_BAD_ARGUMENT;
    }
    (void)begin(tls, "tls.renegotiate");
    enum pal_status status = give(tls, out);
    grant(status == PAL_UNSUPPORTED && is_of(tls, PAL_TLS_1_3));
    return status;
}

static enum pal_status tls_alert(struct pal_tls *tls, struct pal_token *out, uint8_t description)
{
    if (tls == NULL || !is_empty(out) || description == 0) {
        return PAL_BAD_ARGUMENT;
    }
    shim_text_add(begin(tls, "tls.alert"), " description=%u", description);
    enum pal_status status = give(tls, out);
    grant(status == PAL_UNSUPPORTED); /* for any alert it may be the right answer */
    tls->final = status == PAL_OK ? PAL_BAD_STATE : tls->final;
    return status;
}

static enum pal_status tls_shutdown(struct pal_tls *tls, struct pal_token *out)
{
    if (tls == NULL || !is_empty(out)) {
        return PAL_BAD_ARGUMENT;
    }
    (void)begin(tls, "tls.shutdown");
    return give(tls, out);
}

static enum pal_status tls_take_pending(struct pal_tls *tls, struct pal_token *out)
{
    return tls == NULL || !is_empty(out) ? PAL_BAD_ARGUMENT : hand_out_owed(tls, out, PAL_OK);
}

static enum pal_status tls_export_ticket(struct pal_tls *tls, struct pal_token *out)
{
    if (tls == NULL || !is_empty(out)) {
        return PAL_BAD_ARGUMENT;
    }
    (void)begin(tls, "tls.export-ticket");
    enum pal_status status = ask(tls);
    struct pal_view ticket = shim_bytes(&answer, "ticket");
    return hand_out(tls, out, status, ticket);
}

const struct pal_tls_ops shim_tls = {
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
