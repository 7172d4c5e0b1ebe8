/* SPDX-License-Identifier: Apache-2.0
 * mutants_tls_read.c: planted bugs in what a TLS port reads: input cut in the wrong place, plaintext that is lost,
 * statuses that are not kept.
 */
#include "mutants_tls.h"

#define HEADER 5u

size_t mutant_frame_len(const uint8_t *data, size_t len)
{
    size_t frame = len >= HEADER ? HEADER + ((size_t)data[3] << 8 | data[4]) : len;
    return frame < len ? frame : len;
}

static enum pal_status good_decrypt(struct pal_tls *tls, size_t *out_offset, size_t *out_count, uint8_t *data,
                                    size_t len, size_t cap)
{
    return mutant_good_tls->decrypt(tls, out_offset, out_count, data, len, cap);
}

static enum pal_status failure_forgotten(struct pal_tls *tls, size_t *out_offset, size_t *out_count, uint8_t *data,
                                         size_t len, size_t cap)
{
    struct mutant_session *session = mutant_session(tls);
    enum pal_status status = good_decrypt(tls, out_offset, out_count, data, len, cap);
    if (status == PAL_PROTOCOL && session->failed) {
        mutant_fire();
        return PAL_NEED_INPUT;
    }
    session->failed |= status == PAL_PROTOCOL;
    return status;
}

void mutant_tls_failure_forgotten(struct mutant_tables *tables)
{
    mutant_sessions_watch(tables);
    tables->tls.decrypt = failure_forgotten;
}

static enum pal_status short_input_dropped(struct pal_tls *tls, size_t *out_offset, size_t *out_count, uint8_t *data,
                                           size_t len, size_t cap)
{
    if (len > 0 && len <= HEADER) {
        mutant_fire();
        return PAL_NEED_INPUT;
    }
    return good_decrypt(tls, out_offset, out_count, data, len, cap);
}

void mutant_tls_short_input_dropped(struct mutant_tables *tables)
{
    tables->tls.decrypt = short_input_dropped;
}

static enum pal_status second_frame_dropped(struct pal_tls *tls, size_t *out_offset, size_t *out_count, uint8_t *data,
                                            size_t len, size_t cap)
{
    size_t first = mutant_frame_len(data, len);
    if (first < len) {
        mutant_fire();
    }
    return good_decrypt(tls, out_offset, out_count, data, first, cap);
}

void mutant_tls_second_frame_dropped(struct mutant_tables *tables)
{
    tables->tls.decrypt = second_frame_dropped;
}

static enum pal_status update_noted(struct pal_tls *tls, struct pal_token *out, bool request_peer)
{
    enum pal_status status = mutant_good_tls->update_keys(tls, out, request_peer);
    mutant_session(tls)->updated |= status == PAL_OK;
    return status;
}

/* swallow: the next plaintext that comes is nobody's, once. */
static enum pal_status swallow(struct pal_tls *tls, size_t *out_offset, size_t *out_count, uint8_t *data, size_t len,
                               size_t cap)
{
    struct mutant_session *session = mutant_session(tls);
    size_t offset = 0;
    size_t count = 0;
    if (session->done || !(session->updated || session->renegotiated)) {
        return good_decrypt(tls, out_offset, out_count, data, len, cap);
    }
    enum pal_status status = good_decrypt(tls, &offset, &count, data, len, cap);
    if (status != PAL_OK) {
        return status;
    }
    mutant_fire();
    session->done = true;
    return good_decrypt(tls, out_offset, out_count, data, 0, cap);
}

void mutant_tls_plaintext_lost_at_update(struct mutant_tables *tables)
{
    mutant_sessions_watch(tables);
    tables->tls.update_keys = update_noted;
    tables->tls.decrypt = swallow;
}

static enum pal_status renegotiation_noted(struct pal_tls *tls, struct pal_token *out)
{
    enum pal_status status = mutant_good_tls->renegotiate(tls, out);
    mutant_session(tls)->renegotiated |= status == PAL_OK;
    return status;
}

void mutant_tls_plaintext_lost_at_renegotiation(struct mutant_tables *tables)
{
    mutant_sessions_watch(tables);
    tables->tls.renegotiate = renegotiation_noted;
    tables->tls.decrypt = swallow;
}

static enum pal_status error_of_another(struct pal_tls *tls, size_t *out_offset, size_t *out_count, uint8_t *data,
                                        size_t len, size_t cap)
{
    struct mutant_session *session = mutant_session(tls);
    struct mutant_session *failed = mutant_session_failed(session);
    if (failed != NULL) {
        mutant_fire();
        failed->failed = false;
        return PAL_BAD_STATE;
    }
    enum pal_status status = good_decrypt(tls, out_offset, out_count, data, len, cap);
    session->failed |= status == PAL_PROTOCOL;
    return status;
}

void mutant_tls_error_of_another(struct mutant_tables *tables)
{
    mutant_sessions_watch(tables);
    tables->tls.decrypt = error_of_another;
}

static enum pal_status close_not_heard(struct pal_tls *tls, size_t *out_offset, size_t *out_count, uint8_t *data,
                                       size_t len, size_t cap)
{
    enum pal_status status = good_decrypt(tls, out_offset, out_count, data, len, cap);
    if (status == PAL_CLOSED) {
        mutant_fire();
        return PAL_NEED_INPUT;
    }
    return status;
}

void mutant_tls_close_not_heard(struct mutant_tables *tables)
{
    tables->tls.decrypt = close_not_heard;
}

static enum pal_status end_taken_for_close(struct pal_tls *tls, size_t *out_offset, size_t *out_count, uint8_t *data,
                                           size_t len, size_t cap)
{
    bool torn = len > 0 && mutant_frame_len(data, len) == len && len > HEADER &&
                HEADER + ((size_t)data[3] << 8 | data[4]) > len;
    enum pal_status status = good_decrypt(tls, out_offset, out_count, data, len, cap);
    if (status == PAL_NEED_INPUT && torn) {
        mutant_fire();
        return PAL_CLOSED;
    }
    return status;
}

void mutant_tls_end_taken_for_close(struct mutant_tables *tables)
{
    tables->tls.decrypt = end_taken_for_close;
}

static enum pal_status bad_record_skipped(struct pal_tls *tls, size_t *out_offset, size_t *out_count, uint8_t *data,
                                          size_t len, size_t cap)
{
    enum pal_status status = good_decrypt(tls, out_offset, out_count, data, len, cap);
    if (status == PAL_PROTOCOL) {
        mutant_fire();
        return PAL_NEED_INPUT;
    }
    return status;
}

void mutant_tls_bad_record_skipped(struct mutant_tables *tables)
{
    tables->tls.decrypt = bad_record_skipped;
}

static enum pal_status bad_record_read(struct pal_tls *tls, size_t *out_offset, size_t *out_count, uint8_t *data,
                                       size_t len, size_t cap)
{
    struct mutant_session *session = mutant_session(tls);
    enum pal_status status = good_decrypt(tls, out_offset, out_count, data, len, cap);
    if (status == PAL_PROTOCOL && !session->done && len > HEADER) {
        mutant_fire();
        session->done = true;
        *out_offset = 0;
        *out_count = HEADER;
        return PAL_OK;
    }
    return status;
}

void mutant_tls_bad_record_read(struct mutant_tables *tables)
{
    mutant_sessions_watch(tables);
    tables->tls.decrypt = bad_record_read;
}

static enum pal_status offset_off_by_one(struct pal_tls *tls, size_t *out_offset, size_t *out_count, uint8_t *data,
                                         size_t len, size_t cap)
{
    enum pal_status status = good_decrypt(tls, out_offset, out_count, data, len, cap);
    if (status == PAL_OK && *out_count < cap - *out_offset) {
        mutant_fire();
        *out_offset += 1;
    }
    return status;
}

void mutant_tls_offset_off_by_one(struct mutant_tables *tables)
{
    tables->tls.decrypt = offset_off_by_one;
}

static enum pal_status leftovers_lost(struct pal_tls *tls, size_t *out_offset, size_t *out_count, uint8_t *data,
                                      size_t len, size_t cap)
{
    enum pal_status status = good_decrypt(tls, out_offset, out_count, data, len, cap);
    if (status != PAL_OK || *out_count + *out_offset < cap) {
        return status;
    }
    uint8_t rest[64];
    size_t offset = 0;
    size_t count = 0;
    while (good_decrypt(tls, &offset, &count, rest, 0, sizeof(rest)) == PAL_OK) {
        mutant_fire();
    }
    return status;
}

void mutant_tls_leftovers_lost(struct mutant_tables *tables)
{
    tables->tls.decrypt = leftovers_lost;
}

/* As many records of tickets as one engine's server sends are expected to have no plaintext. */
static enum pal_status two_tickets_expected(struct pal_tls *tls, size_t *out_offset, size_t *out_count, uint8_t *data,
                                            size_t len, size_t cap)
{
    struct mutant_session *session = mutant_session(tls);
    size_t at = 0;
    for (; session->client && session->frames < 2 && at < len; session->frames++) {
        size_t frame = mutant_frame_len(data + at, len - at);
        size_t offset;
        size_t count;
        while (good_decrypt(tls, &offset, &count, data + at, frame, cap - at) == PAL_OK) {
            mutant_fire();
            at += frame;
            frame = 0;
        }
        at += frame;
    }
    enum pal_status status = good_decrypt(tls, out_offset, out_count, data + at, len - at, cap - at);
    *out_offset += status == PAL_OK ? at : 0;
    return status;
}

void mutant_tls_two_tickets_expected(struct mutant_tables *tables)
{
    mutant_sessions_watch(tables);
    tables->tls.decrypt = two_tickets_expected;
}

static enum pal_status count_above_room(struct pal_tls *tls, size_t *out_offset, size_t *out_count, uint8_t *data,
                                        size_t len, size_t cap)
{
    enum pal_status status = good_decrypt(tls, out_offset, out_count, data, len, cap);
    if (status == PAL_OK) {
        mutant_fire();
        *out_count += cap;
    }
    return status;
}

void mutant_tls_count_above_room(struct mutant_tables *tables)
{
    tables->tls.decrypt = count_above_room;
}

static enum pal_status more_consumed_than_given(struct pal_tls *tls, struct pal_token *out, size_t *out_consumed,
                                                struct pal_view input)
{
    enum pal_status status = mutant_good_tls->handshake(tls, out, out_consumed, input);
    if (input.len > 0) {
        mutant_fire();
        *out_consumed = input.len + 1;
    }
    return status;
}

void mutant_tls_more_consumed_than_given(struct mutant_tables *tables)
{
    tables->tls.handshake = more_consumed_than_given;
}
