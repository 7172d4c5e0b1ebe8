/* SPDX-License-Identifier: Apache-2.0
 * mutants_tls.c: planted bugs in what a TLS port sends, and in how it is opened. Those in what it reads are in
 * mutants_tls_read.c.
 */
#include "mutants_tls.h"

#include "token.h"

#include <string.h>

#define SESSIONS_MAX 16u

static struct mutant_session sessions[SESSIONS_MAX];

static struct mutant_session *entry_of(const struct pal_tls *tls)
{
    for (size_t i = 0; i < SESSIONS_MAX; i++) {
        if (sessions[i].tls == tls) {
            return &sessions[i];
        }
    }
    return NULL;
}

struct mutant_session *mutant_session(const struct pal_tls *tls)
{
    static struct mutant_session stranger;
    struct mutant_session *entry = entry_of(tls);
    stranger = (struct mutant_session){0};
    return entry != NULL ? entry : &stranger;
}

struct mutant_session *mutant_session_failed(const struct mutant_session *session)
{
    for (size_t i = 0; i < SESSIONS_MAX; i++) {
        struct mutant_session *other = &sessions[i];
        if (other != session && other->tls != NULL && other->env == session->env && other->failed) {
            return other;
        }
    }
    return NULL;
}

static enum pal_status open_watched(const struct pal_env *env, struct pal_tls **out,
                                    const struct pal_tls_config *config)
{
    enum pal_status status = mutant_good_tls->open(env, out, config);
    struct mutant_session *entry = status == PAL_OK ? entry_of(NULL) : NULL;
    if (entry != NULL) {
        *entry = (struct mutant_session){.tls = *out, .env = env, .client = config->role == PAL_TLS_CLIENT};
    }
    return status;
}

static void close_watched(struct pal_tls *tls)
{
    struct mutant_session *entry = tls != NULL ? entry_of(tls) : NULL;
    if (entry != NULL) {
        *entry = (struct mutant_session){0};
    }
    mutant_good_tls->close(tls);
}

void mutant_sessions_watch(struct mutant_tables *tables)
{
    memset(sessions, 0, sizeof(sessions));
    tables->tls.open = open_watched;
    tables->tls.close = close_watched;
}

/* forget: the token's bytes never leave; its memory is used by nobody until the caller gives it back. */
static void forget(struct pal_token *token)
{
    if (token->len > 0) {
        mutant_fire();
    }
    token->len = 0;
}

/* ---- what is sent ---------------------------------------------------------------------------------------------- */

static enum pal_status null_encrypt(struct pal_tls *tls, struct pal_token *out, struct pal_view plain)
{
    return mutant_good_tls->encrypt(tls, out, plain);
}

void mutant_tls_null(struct mutant_tables *tables)
{
    tables->tls.encrypt = null_encrypt;
}

static enum pal_status tail_of_token_lost(struct pal_tls *tls, struct pal_token *out, struct pal_view plain)
{
    enum pal_status status = mutant_good_tls->encrypt(tls, out, plain);
    if (status == PAL_OK && out->len > 0) {
        mutant_fire();
        out->len--;
    }
    return status;
}

void mutant_tls_tail_of_token_lost(struct mutant_tables *tables)
{
    tables->tls.encrypt = tail_of_token_lost;
}

static enum pal_status only_one_record(struct pal_tls *tls, struct pal_token *out, struct pal_view plain)
{
    if (plain.len > 16384) {
        mutant_fire();
        plain.len = 16384;
    }
    return mutant_good_tls->encrypt(tls, out, plain);
}

void mutant_tls_only_one_record(struct mutant_tables *tables)
{
    tables->tls.encrypt = only_one_record;
}

static enum pal_status last_byte_not_written(struct pal_tls *tls, struct pal_token *out, struct pal_view plain)
{
    struct mutant_session *session = mutant_session(tls);
    if (session->done && plain.len > 1 && plain.len % 16384 != 1) {
        mutant_fire();
        plain.len--;
    }
    session->done = true;
    return mutant_good_tls->encrypt(tls, out, plain);
}

void mutant_tls_last_byte_not_written(struct mutant_tables *tables)
{
    mutant_sessions_watch(tables);
    tables->tls.encrypt = last_byte_not_written;
}

static enum pal_status large_write_lost(struct pal_tls *tls, struct pal_token *out, struct pal_view plain)
{
    enum pal_status status = mutant_good_tls->encrypt(tls, out, plain);
    if (status == PAL_OK && plain.len > 16384) {
        forget(out);
    }
    return status;
}

void mutant_tls_large_write_lost(struct mutant_tables *tables)
{
    tables->tls.encrypt = large_write_lost;
}

static enum pal_status update_lost(struct pal_tls *tls, struct pal_token *out, bool request_peer)
{
    enum pal_status status = mutant_good_tls->update_keys(tls, out, request_peer);
    forget(out);
    return status;
}

void mutant_tls_update_lost(struct mutant_tables *tables)
{
    tables->tls.update_keys = update_lost;
}

static enum pal_status answer_lost(struct pal_tls *tls, struct pal_token *out)
{
    enum pal_status status = mutant_good_tls->take_pending(tls, out);
    if (status == PAL_OK && !mutant_session(tls)->failed) {
        forget(out);
    }
    return status;
}

static enum pal_status failing_decrypt(struct pal_tls *tls, size_t *out_offset, size_t *out_count, uint8_t *data,
                                       size_t len, size_t cap)
{
    enum pal_status status = mutant_good_tls->decrypt(tls, out_offset, out_count, data, len, cap);
    mutant_session(tls)->failed |= status == PAL_PROTOCOL;
    return status;
}

void mutant_tls_answer_lost(struct mutant_tables *tables)
{
    mutant_sessions_watch(tables);
    tables->tls.decrypt = failing_decrypt;
    tables->tls.take_pending = answer_lost;
}

static enum pal_status empty_write_sends(struct pal_tls *tls, struct pal_token *out, struct pal_view plain)
{
    const uint8_t nothing = 0;
    if (plain.len == 0) {
        mutant_fire();
        plain = (struct pal_view){&nothing, 1};
    }
    return mutant_good_tls->encrypt(tls, out, plain);
}

void mutant_tls_empty_write_sends(struct mutant_tables *tables)
{
    tables->tls.encrypt = empty_write_sends;
}

static enum pal_status empty_write_fails(struct pal_tls *tls, struct pal_token *out, struct pal_view plain)
{
    enum pal_status status = mutant_good_tls->encrypt(tls, out, plain);
    if (status == PAL_OK && plain.len == 0) {
        mutant_fire();
        status = out->status = PAL_NEED_INPUT;
    }
    return status;
}

void mutant_tls_empty_write_fails(struct mutant_tables *tables)
{
    tables->tls.encrypt = empty_write_fails;
}

/* ---- what a failure is told with ------------------------------------------------------------------------------- */

static enum pal_status alert_lost_handshake(struct pal_tls *tls, struct pal_token *out, size_t *out_consumed,
                                            struct pal_view input)
{
    enum pal_status status = mutant_good_tls->handshake(tls, out, out_consumed, input);
    if (status == PAL_PROTOCOL) {
        mutant_session(tls)->failed = true;
        forget(out);
    }
    return status;
}

static enum pal_status alert_lost_pending(struct pal_tls *tls, struct pal_token *out)
{
    enum pal_status status = mutant_good_tls->take_pending(tls, out);
    if (mutant_session(tls)->failed) {
        forget(out);
    }
    return status;
}

void mutant_tls_alert_lost(struct mutant_tables *tables)
{
    mutant_sessions_watch(tables);
    tables->tls.handshake = alert_lost_handshake;
    tables->tls.decrypt = failing_decrypt;
    tables->tls.take_pending = alert_lost_pending;
}

static enum pal_status alert_after_no_random(struct pal_tls *tls, struct pal_token *out, size_t *out_consumed,
                                             struct pal_view input)
{
    static const uint8_t alert[] = {21, 3, 3, 0, 2, 2, 80};
    struct mutant_session *session = mutant_session(tls);
    enum pal_status status = mutant_good_tls->handshake(tls, out, out_consumed, input);
    if (status == PAL_NO_RANDOM && session->env != NULL) {
        mutant_fire();
        enum pal_mode mode = session->env->rent != NULL && session->updated ? PAL_REUSED : PAL_FRESH;
        if (pal_token_append(session->env, out, mode, (struct pal_view){alert, sizeof(alert)}) != PAL_OK) {
            return out->status = PAL_NO_MEMORY;
        }
        out->status = status;
    }
    return status;
}

static enum pal_status open_with_mode(const struct pal_env *env, struct pal_tls **out,
                                      const struct pal_tls_config *config)
{
    enum pal_status status = open_watched(env, out, config);
    if (status == PAL_OK) {
        mutant_session(*out)->updated = config->mode == PAL_REUSED;
    }
    return status;
}

void mutant_tls_alert_after_no_random(struct mutant_tables *tables)
{
    mutant_sessions_watch(tables);
    tables->tls.open = open_with_mode;
    tables->tls.handshake = alert_after_no_random;
}

static enum pal_status no_memory_told_as_protocol(struct pal_tls *tls, struct pal_token *out, size_t *out_consumed,
                                                  struct pal_view input)
{
    enum pal_status status = mutant_good_tls->handshake(tls, out, out_consumed, input);
    if (status == PAL_NO_MEMORY) {
        mutant_fire();
        status = out->status = PAL_PROTOCOL;
    }
    return status;
}

void mutant_tls_no_memory_told_as_protocol(struct mutant_tables *tables)
{
    tables->tls.handshake = no_memory_told_as_protocol;
}

static enum pal_status update_told_as_bad_state(struct pal_tls *tls, struct pal_token *out, bool request_peer)
{
    enum pal_status status = mutant_good_tls->update_keys(tls, out, request_peer);
    if (status == PAL_UNSUPPORTED) {
        mutant_fire();
        status = out->status = PAL_BAD_STATE;
    }
    return status;
}

void mutant_tls_update_told_as_bad_state(struct mutant_tables *tables)
{
    tables->tls.update_keys = update_told_as_bad_state;
}

/* ---- how it is opened ------------------------------------------------------------------------------------------ */

static enum pal_status protocols_dropped(const struct pal_env *env, struct pal_tls **out,
                                         const struct pal_tls_config *config)
{
    struct pal_tls_config other = *config;
    other.alpn = (struct pal_view){NULL, 0};
    mutant_fire();
    return mutant_good_tls->open(env, out, &other);
}

void mutant_tls_protocols_dropped(struct mutant_tables *tables)
{
    tables->tls.open = protocols_dropped;
}

static enum pal_status authority_not_checked(const struct pal_env *env, struct pal_tls **out,
                                             const struct pal_tls_config *config)
{
    struct pal_tls_config other = *config;
    if (other.role == PAL_TLS_CLIENT) {
        other.trusted = (struct pal_view){NULL, 0};
        mutant_fire();
    }
    return mutant_good_tls->open(env, out, &other);
}

void mutant_tls_authority_not_checked(struct mutant_tables *tables)
{
    tables->tls.open = authority_not_checked;
}

static enum pal_status name_not_checked(const struct pal_env *env, struct pal_tls **out,
                                        const struct pal_tls_config *config)
{
    struct pal_tls_config other = *config;
    other.server_name = (struct pal_view){NULL, 0};
    mutant_fire();
    return mutant_good_tls->open(env, out, &other);
}

void mutant_tls_name_not_checked(struct mutant_tables *tables)
{
    tables->tls.open = name_not_checked;
}

static enum pal_status certificate_not_insisted_on(const struct pal_env *env, struct pal_tls **out,
                                                   const struct pal_tls_config *config)
{
    struct pal_tls_config other = *config;
    if (other.require_peer) {
        other.require_peer = false;
        mutant_fire();
    }
    return mutant_good_tls->open(env, out, &other);
}

void mutant_tls_certificate_not_insisted_on(struct mutant_tables *tables)
{
    tables->tls.open = certificate_not_insisted_on;
}

static enum pal_status ticket_not_offered(const struct pal_env *env, struct pal_tls **out,
                                          const struct pal_tls_config *config)
{
    struct pal_tls_config other = *config;
    if (other.ticket.len > 0) {
        other.ticket = (struct pal_view){NULL, 0};
        mutant_fire();
    }
    return mutant_good_tls->open(env, out, &other);
}

void mutant_tls_ticket_not_offered(struct mutant_tables *tables)
{
    tables->tls.open = ticket_not_offered;
}

static enum pal_status shared_key_refused(const struct pal_env *env, struct pal_tls **out,
                                          const struct pal_tls_config *config)
{
    if (config->psk_key.len > 0) {
        mutant_fire();
        return PAL_ENGINE;
    }
    return mutant_good_tls->open(env, out, config);
}

void mutant_tls_shared_key_refused(struct mutant_tables *tables)
{
    tables->tls.open = shared_key_refused;
}

static enum pal_status one_shape_draws_more(const struct pal_env *env, struct pal_tls **out,
                                            const struct pal_tls_config *config)
{
    uint8_t drawn;
    if (config->shape == PAL_TLS_CALLBACK && env->random(env->context, &drawn, 1) == PAL_OK) {
        mutant_fire();
    }
    return mutant_good_tls->open(env, out, config);
}

void mutant_tls_one_shape_draws_more(struct mutant_tables *tables)
{
    tables->tls.open = one_shape_draws_more;
}
