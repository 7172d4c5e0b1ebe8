/* SPDX-License-Identifier: Apache-2.0
 * mutants_token_calls.c: planted bugs in what the calls of a TLS table hand out: tokens with the wrong bytes, with the
 * bytes of somebody else, or that lie about themselves. Those of token code itself are in mutants_token.c.
 */
#include "mutants_tls.h"

#include "tls/scripted.h"
#include "token.h"

#include <string.h>

#define KEPT_MAX 512u

/* kept: bytes that somebody forgot to send, or to forget. */
static struct {
    const struct pal_env *env;
    enum pal_mode mode;
    size_t len;
    uint8_t bytes[KEPT_MAX];
} kept;

static bool is_pooled(const struct pal_token *token)
{
    return token->rental.data != NULL;
}

static void keep(const struct mutant_session *session, const struct pal_token *token)
{
    kept.env = session->env;
    kept.mode = is_pooled(token) ? PAL_REUSED : PAL_FRESH;
    kept.len = token->len < KEPT_MAX ? token->len : KEPT_MAX;
    if (kept.len > 0) {
        memcpy(kept.bytes, token->payload, kept.len);
    }
}

/* deliver_kept: behind what the token has. */
static void deliver_kept(const struct mutant_session *session, struct pal_token *out)
{
    if (kept.len > 0 && session->env != NULL && session->env == kept.env &&
        pal_token_append(session->env, out, kept.mode, (struct pal_view){kept.bytes, kept.len}) == PAL_OK) {
        mutant_fire();
    }
    kept.len = 0;
}

static void watched(struct mutant_tables *tables)
{
    mutant_sessions_watch(tables);
    kept.len = 0;
}

/* ---- bytes ------------------------------------------------------------------------------------------------------- */

/* Who sends the buffer whole sends what was in it before. */
static enum pal_status length_is_capacity(struct pal_tls *tls, struct pal_token *out, struct pal_view plain)
{
    enum pal_status status = mutant_good_tls->encrypt(tls, out, plain);
    if (out->len > 0 && out->len < out->cap) {
        mutant_fire();
        out->len = out->cap;
    }
    return status;
}

void mutant_token_length_is_capacity(struct mutant_tables *tables)
{
    tables->tls.encrypt = length_is_capacity;
}

/* As many bytes as were reserved, though less was made. */
static enum pal_status length_as_reserved(struct pal_tls *tls, struct pal_token *out, uint8_t description)
{
    enum pal_status status = mutant_good_tls->alert(tls, out, description);
    if (is_pooled(out) && out->cap >= out->len + 8) {
        mutant_fire();
        out->len += 8;
    }
    return status;
}

void mutant_token_length_as_reserved(struct mutant_tables *tables)
{
    tables->tls.alert = length_as_reserved;
}

/* The trailer is guessed a byte too small. */
static enum pal_status trailer_too_small(struct pal_tls *tls, struct pal_token *out, struct pal_view plain)
{
    enum pal_status status = mutant_good_tls->encrypt(tls, out, plain);
    if (out->len > 0) {
        mutant_fire();
        out->len--;
    }
    return status;
}

void mutant_token_trailer_too_small(struct mutant_tables *tables)
{
    tables->tls.encrypt = trailer_too_small;
}

static enum pal_status second_record_lost(struct pal_tls *tls, struct pal_token *out, struct pal_view plain)
{
    enum pal_status status = mutant_good_tls->encrypt(tls, out, plain);
    if (status == PAL_OK && plain.len > SCRIPTED_PLAIN_MAX && out->len > SCRIPTED_PLAIN_MAX + 22) {
        mutant_fire();
        out->len = SCRIPTED_PLAIN_MAX + 22;
    }
    return status;
}

void mutant_token_second_record_lost(struct mutant_tables *tables)
{
    tables->tls.encrypt = second_record_lost;
}

/* In pooled memory the text is put one byte too far. */
static enum pal_status text_at_wrong_offset(struct pal_tls *tls, struct pal_token *out, struct pal_view plain)
{
    enum pal_status status = mutant_good_tls->encrypt(tls, out, plain);
    if (status == PAL_OK && is_pooled(out) && plain.len > 16 && out->len > 22) {
        mutant_fire();
        memmove(out->payload + 6, out->payload + 5, 15);
    }
    return status;
}

void mutant_token_text_at_wrong_offset(struct mutant_tables *tables)
{
    tables->tls.encrypt = text_at_wrong_offset;
}

/* What was drained is still there for the next one. */
static enum pal_status drained_once(struct pal_tls *tls, struct pal_token *out, struct pal_view plain)
{
    enum pal_status status = mutant_good_tls->encrypt(tls, out, plain);
    keep(mutant_session(tls), out);
    return status;
}

static enum pal_status drained_twice(struct pal_tls *tls, struct pal_token *out)
{
    enum pal_status status = mutant_good_tls->take_pending(tls, out);
    if (status == PAL_OK) {
        deliver_kept(mutant_session(tls), out);
    }
    return status;
}

void mutant_token_drained_twice(struct mutant_tables *tables)
{
    watched(tables);
    tables->tls.encrypt = drained_once;
    tables->tls.take_pending = drained_twice;
}

/* A failure returns before the drain, and what was written is lost. */
static enum pal_status pending_lost(struct pal_tls *tls, struct pal_token *out)
{
    enum pal_status status = mutant_good_tls->take_pending(tls, out);
    if (out->len > 0) {
        mutant_fire();
    }
    out->len = 0;
    return status;
}

static enum pal_status flight_lost(struct pal_tls *tls, struct pal_token *out, size_t *out_consumed,
                                   struct pal_view input)
{
    enum pal_status status = mutant_good_tls->handshake(tls, out, out_consumed, input);
    if (status == PAL_PROTOCOL && out->len > 0) {
        mutant_fire();
        out->len = 0;
    }
    return status;
}

void mutant_token_alert_lost_on_failure(struct mutant_tables *tables)
{
    tables->tls.take_pending = pending_lost;
    tables->tls.handshake = flight_lost;
}

/* Or it stays in a side buffer, and leaves with somebody else's token. */
static void set_aside(struct mutant_session *session, struct pal_token *out)
{
    if (session->failed && out->len > 0) {
        mutant_fire();
        keep(session, out);
        out->len = 0;
    }
}

static enum pal_status pending_kept(struct pal_tls *tls, struct pal_token *out)
{
    enum pal_status status = mutant_good_tls->take_pending(tls, out);
    set_aside(mutant_session(tls), out);
    return status;
}

static enum pal_status kept_for_next(struct pal_tls *tls, struct pal_token *out, struct pal_view plain)
{
    enum pal_status status = mutant_good_tls->encrypt(tls, out, plain);
    mutant_session(tls)->failed |= status == PAL_PROTOCOL;
    set_aside(mutant_session(tls), out);
    if (status == PAL_OK) {
        deliver_kept(mutant_session(tls), out);
    }
    return status;
}

void mutant_token_kept_for_next_token(struct mutant_tables *tables)
{
    watched(tables);
    tables->tls.take_pending = pending_kept;
    tables->tls.encrypt = kept_for_next;
}

static enum pal_status shut_is_fine(struct pal_tls *tls, struct pal_token *out, struct pal_view plain)
{
    enum pal_status status = mutant_good_tls->encrypt(tls, out, plain);
    if (status == PAL_BAD_STATE) {
        mutant_fire();
        out->status = PAL_OK;
        return PAL_OK;
    }
    return status;
}

void mutant_token_shut_is_fine(struct mutant_tables *tables)
{
    tables->tls.encrypt = shut_is_fine;
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static enum pal_status returned_before_sent(struct pal_tls *tls, struct pal_token *out, struct pal_view plain)
{
    enum pal_status status = mutant_good_tls->encrypt(tls, out, plain);
    struct pal_buffer rental = out->rental;
    const struct pal_env *env = mutant_session(tls)->env;
    if (rental.data != NULL && env != NULL) {
        mutant_fire();
        (void)env->release(env->context, &rental, false);
    }
    return status;
}

void mutant_token_returned_before_sent(struct mutant_tables *tables)
{
    watched(tables);
    tables->tls.encrypt = returned_before_sent;
}

/* The buffer of the last token is taken for the port's own. */
static enum pal_status last_token_reused(struct pal_tls *tls, struct pal_token *out, struct pal_view plain)
{
    static uint8_t *last;
    struct mutant_session *session = mutant_session(tls);
    if (session->done && last != NULL) {
        mutant_fire();
        last[0] ^= 1;
    }
    enum pal_status status = mutant_good_tls->encrypt(tls, out, plain);
    session->done = session->env != NULL;
    last = out->rental.data;
    return status;
}

void mutant_token_last_token_reused(struct mutant_tables *tables)
{
    watched(tables);
    tables->tls.encrypt = last_token_reused;
}

/* A buffer for the alert, which nobody returns. */
static enum pal_status leak_on_failure(struct pal_tls *tls, struct pal_token *out, size_t *out_consumed,
                                       struct pal_view input)
{
    struct pal_buffer lost = {0};
    enum pal_status status = mutant_good_tls->handshake(tls, out, out_consumed, input);
    const struct pal_env *env = mutant_session(tls)->env;
    if (status == PAL_PROTOCOL && env != NULL && env->rent(env->context, &lost, 64) == PAL_OK) {
        mutant_fire();
    }
    return status;
}

void mutant_token_leak_on_failure(struct mutant_tables *tables)
{
    watched(tables);
    tables->tls.handshake = leak_on_failure;
}

static enum pal_status leak_on_shutdown(struct pal_tls *tls, struct pal_token *out)
{
    enum pal_status status = mutant_good_tls->shutdown(tls, out);
    const struct pal_env *env = mutant_session(tls)->env;
    if (status == PAL_OK && env != NULL && env->alloc(env->context, 64) != NULL) {
        mutant_fire();
    }
    return status;
}

void mutant_token_leak_on_shutdown(struct mutant_tables *tables)
{
    watched(tables);
    tables->tls.shutdown = leak_on_shutdown;
}

/* ---- lies -------------------------------------------------------------------------------------------------------- */

static enum pal_status length_above_capacity(struct pal_tls *tls, struct pal_token *out, struct pal_view plain)
{
    enum pal_status status = mutant_good_tls->encrypt(tls, out, plain);
    if (out->payload != NULL) {
        mutant_fire();
        out->len = out->cap + 1;
    }
    return status;
}

void mutant_token_length_above_capacity(struct mutant_tables *tables)
{
    tables->tls.encrypt = length_above_capacity;
}

/* len and cap fit each other, and neither fits the memory. */
static enum pal_status capacity_above_memory(struct pal_tls *tls, struct pal_token *out, struct pal_view plain)
{
    enum pal_status status = mutant_good_tls->encrypt(tls, out, plain);
    if (out->payload != NULL) {
        mutant_fire();
        out->rental.cap += is_pooled(out) ? 4096 : 0;
        out->len = out->cap += 4096;
    }
    return status;
}

void mutant_token_capacity_above_memory(struct mutant_tables *tables)
{
    tables->tls.encrypt = capacity_above_memory;
}

static enum pal_status null_with_length(struct pal_tls *tls, struct pal_token *out, struct pal_view plain)
{
    enum pal_status status = mutant_good_tls->encrypt(tls, out, plain);
    if (out->payload == NULL) {
        mutant_fire();
        out->len = 5;
    }
    return status;
}

void mutant_token_null_with_length(struct mutant_tables *tables)
{
    tables->tls.encrypt = null_with_length;
}

static enum pal_status interior_payload(struct pal_tls *tls, struct pal_token *out, struct pal_view plain)
{
    enum pal_status status = mutant_good_tls->encrypt(tls, out, plain);
    if (out->len > 5) {
        mutant_fire();
        out->payload += 5;
        out->len -= 5;
        out->cap -= 5;
    }
    return status;
}

void mutant_token_interior_payload(struct mutant_tables *tables)
{
    tables->tls.encrypt = interior_payload;
}

static enum pal_status more_consumed_than_given(struct pal_tls *tls, struct pal_token *out, size_t *out_consumed,
                                                struct pal_view input)
{
    enum pal_status status = mutant_good_tls->handshake(tls, out, out_consumed, input);
    mutant_fire();
    *out_consumed = input.len + 1;
    return status;
}

void mutant_token_more_consumed_than_given(struct mutant_tables *tables)
{
    tables->tls.handshake = more_consumed_than_given;
}

static enum pal_status status_outside_table(struct pal_tls *tls, struct pal_token *out, struct pal_view plain)
{
    const enum pal_status unknown = (enum pal_status)(PAL_NUM_STATUSES + 1);
    enum pal_status status = mutant_good_tls->encrypt(tls, out, plain);
    if (plain.len > 0) {
        return status;
    }
    mutant_fire();
    out->status = unknown;
    return unknown;
}

void mutant_token_status_outside_table(struct mutant_tables *tables)
{
    tables->tls.encrypt = status_outside_table;
}

static enum pal_status status_not_set(struct pal_tls *tls, struct pal_token *out, struct pal_view plain)
{
    enum pal_status status = mutant_good_tls->encrypt(tls, out, plain);
    if (status != PAL_OK) {
        mutant_fire();
        out->status = PAL_OK;
    }
    return status;
}

void mutant_token_status_not_set(struct mutant_tables *tables)
{
    tables->tls.encrypt = status_not_set;
}

static enum pal_status plain_beyond_room(struct pal_tls *tls, size_t *out_offset, size_t *out_count, uint8_t *data,
                                         size_t len, size_t cap)
{
    enum pal_status status = mutant_good_tls->decrypt(tls, out_offset, out_count, data, len, cap);
    if (status == PAL_OK) {
        mutant_fire();
        *out_offset = cap - *out_count + 1;
    }
    return status;
}

void mutant_token_plain_beyond_room(struct mutant_tables *tables)
{
    tables->tls.decrypt = plain_beyond_room;
}

static enum pal_status count_set_on_failure(struct pal_tls *tls, size_t *out_offset, size_t *out_count, uint8_t *data,
                                            size_t len, size_t cap)
{
    enum pal_status status = mutant_good_tls->decrypt(tls, out_offset, out_count, data, len, cap);
    if (status != PAL_OK) {
        mutant_fire();
        *out_count = 0;
    }
    return status;
}

void mutant_token_count_set_on_failure(struct mutant_tables *tables)
{
    tables->tls.decrypt = count_set_on_failure;
}
