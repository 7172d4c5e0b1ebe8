/* SPDX-License-Identifier: Apache-2.0
 * tls_link.c: calls of the TLS table, each looked at, and what they made put into the other end's inbox.
 */
#include "tls_link.h"

#include "tls_alert.h"
#include "token.h"

#include <stdlib.h>
#include <string.h>

#define SHAKES_MAX 4000u
#define RECORD_ROOM 16384u
#define RECORD_HEADER 5u

struct tls_end *tls_other(struct tls_end *end)
{
    return &end->link->ends[end->side == TLS_WE ? TLS_PEER : TLS_WE];
}

bool tls_is_fatal(enum pal_status status)
{
    switch ((int)status) {
    case PAL_OK:
    case PAL_WOULD_BLOCK:
    case PAL_NEED_INPUT:
    case PAL_NEED_CREDENTIALS:
    case PAL_RENEGOTIATE:
    case PAL_CLOSED:
    case PAL_NO_SPACE:
    case PAL_UNSUPPORTED:
    case PAL_BAD_ARGUMENT:
    case PAL_BAD_STATE:
        return false;
    default:
        return true;
    }
}

/* ---- what a call answered -------------------------------------------------------------------------------------- */

/* answered: notes a status. One that ends the connection has to come again. */
static enum pal_status answered(struct tls_end *end, enum pal_status status)
{
    uint32_t *facts = end->link->trace->facts;
    if ((unsigned)status >= PAL_NUM_STATUSES) {
        token_broken(end->link->trace, TOKEN_STATUS_UNKNOWN);
        status = PAL_ENGINE;
    }
    if (end->final != PAL_OK) {
        facts[FACT_FINAL_DUE]++;
        facts[FACT_REVIVED] += status != end->final ? 1 : 0;
    } else if (tls_is_fatal(status)) {
        end->final = status;
    }
    end->status = status;
    return status;
}

static void append(struct tls_end *to, struct pal_view bytes)
{
    struct tls_link *link = to->link;
    size_t room = TLS_INBOX_MAX - to->inbox_len;
    size_t len = bytes.len < room ? bytes.len : room;
    to->touched |= len < bytes.len; /* tokens that were held may be more than fits, all at once */
    if (len == 0) {
        return;
    }
    memcpy(to->inbox + to->inbox_len, bytes.data, len);
    if (link->change && link->change_to == to->side) {
        if (link->change_at < len) {
            const struct tls_end *from = tls_other(to);
            uint8_t *place = to->inbox + to->inbox_len;
            size_t body = len > RECORD_HEADER ? (size_t)(place[3] << 8 | place[4]) : 0;
            place[link->change_at] ^= link->change_xor;
            bool in_body = link->change_at >= RECORD_HEADER && link->change_at < RECORD_HEADER + body;
            /* Behind another change it may be inside of a record that is still waited for: a length was changed. */
            to->tampered |= !to->touched && to->finished && from->finished && !link->shaking && in_body;
            to->touched = true;
            link->change = false;
        } else {
            link->change_at -= len;
        }
    }
    to->inbox_len += len;
}

/* send: the token's bytes to the other end's inbox; what we send is also kept for the trace. Returns what was sent. */
static struct pal_view send(struct tls_end *end, const struct pal_token *token, enum pal_status status)
{
    struct pal_view bytes = {token->payload, token->len};
    struct tls_wire *wire = end->link->wire;
    if (end->side == TLS_WE) {
        bytes = token_take(end->link->world, token, status, end->link->trace);
        size_t len = bytes.len < wire->cap - wire->len ? bytes.len : wire->cap - wire->len;
        if (len > 0) {
            memcpy(wire->data + wire->len, bytes.data, len);
        }
        wire->len += len;
    }
    append(tls_other(end), bytes);
    return bytes;
}

static void give_back(struct tls_end *end, struct pal_token *token)
{
    if (end->side == TLS_WE) {
        (void)token_release(end->link->world, token, end->link->trace);
    } else {
        (void)pal_token_release(&end->env->env, token);
    }
}

/* made: a call's token: sent and given back, or held. Our bytes, which are the arena's; or the peer's, only to be
 * counted. */
static struct pal_view made(struct tls_end *end, struct pal_token *token, enum pal_status status)
{
    struct tls_link *link = end->link;
    if (end->side == TLS_WE && status == PAL_NO_RANDOM) {
        link->trace->facts[FACT_RANDOM_DUE]++;
        link->trace->facts[FACT_RANDOM_BYTES] += (uint32_t)token->len;
    }
    bool held = end->side == TLS_WE && token->len > 0 && (link->hold > 0 || end->num_held > 0);
    if (held && end->num_held < TLS_HELD_MAX) {
        end->held[end->num_held++] = *token;
        link->hold -= link->hold > 0 ? 1 : 0;
        return token_take(link->world, token, status, link->trace);
    }
    if (end->num_held > 0) {
        tls_link_flush(link, false);
    }
    struct pal_view bytes = send(end, token, status);
    give_back(end, token);
    return bytes;
}

void tls_link_flush(struct tls_link *link, bool backwards)
{
    struct tls_end *end = &link->ends[TLS_WE];
    size_t num = end->num_held;
    link->hold = 0;
    end->num_held = 0;
    for (size_t i = 0; i < num; i++) {
        (void)send(end, &end->held[i], end->held[i].status);
        if (!backwards) {
            give_back(end, &end->held[i]);
        }
    }
    for (size_t i = num; backwards && i-- > 0;) {
        give_back(end, &end->held[i]);
    }
}

/* ---- open and close -------------------------------------------------------------------------------------------- */

static enum pal_status open_end(struct tls_link *link, enum tls_side side)
{
    struct tls_end *end = &link->ends[side];
    end->inbox = arena_take(&link->world->arena, TLS_INBOX_MAX, 0);
    end->status = end->ops->open(&end->env->env, &end->tls, &end->config);
    if ((unsigned)end->status >= PAL_NUM_STATUSES) {
        token_broken(link->trace, TOKEN_STATUS_UNKNOWN);
        end->status = PAL_ENGINE;
    }
    return end->status;
}

enum pal_status tls_link_open(struct tls_link *link)
{
    enum pal_status status = open_end(link, TLS_WE);
    if (status != PAL_OK) {
        return status;
    }
    status = open_end(link, TLS_PEER);
    if (status != PAL_OK) {
        link->ends[TLS_WE].ops->close(link->ends[TLS_WE].tls);
        return status;
    }
    link->open = true;
    return PAL_OK;
}

void tls_link_close(struct tls_link *link)
{
    if (!link->open) {
        return;
    }
    struct tls_end *we = &link->ends[TLS_WE];
    for (size_t i = 0; i < we->num_held; i++) {
        give_back(we, &we->held[i]);
    }
    we->num_held = 0;
    for (size_t i = 0; i < TLS_SIDES; i++) {
        link->ends[i].ops->close(link->ends[i].tls);
        link->ends[i].tls = NULL;
    }
    link->open = false;
}

/* ---- handshake ------------------------------------------------------------------------------------------------- */

/* piece_of: bytes of the inbox that a reader gets now; `turn` counts from 0. */
static size_t piece_of(const struct tls_end *end, size_t turn)
{
    const struct tls_link *link = end->link;
    bool cut = link->piece > 0 && (turn == 0 || (link->pieces && turn < TLS_PIECES_MAX));
    return cut && link->piece < end->inbox_len ? link->piece : end->inbox_len;
}

static void consume(struct tls_end *end, size_t len)
{
    memmove(end->inbox, end->inbox + len, end->inbox_len - len);
    end->inbox_len -= len;
}

/* shake_once: whether anything moved. */
static bool shake_once(struct tls_end *end, size_t turn)
{
    struct pal_token token = {0};
    size_t len = piece_of(end, turn);
    size_t consumed = len + 1;
    uint8_t *input = malloc(len > 0 ? len : 1); /* exact, so that a read past it is seen */
    if (input == NULL) {
        abort();
    }
    memcpy(input, end->inbox, len);
    end->link->framed |= len < end->inbox_len;
    enum pal_status status = end->ops->handshake(end->tls, &token, &consumed, (struct pal_view){input, len});
    free(input);
    if (consumed > len) {
        token_broken(end->link->trace, TOKEN_COUNTS);
        consumed = len;
    }
    bool failed_before = end->final != PAL_OK;
    status = answered(end, status);
    consume(end, failed_before ? end->inbox_len : consumed);
    size_t sent = made(end, &token, status).len;
    end->finished |= status == PAL_OK;
    if (status == PAL_NEED_CREDENTIALS) {
        enum pal_status set = end->ops->set_identity(end->tls, &end->config.identity);
        end->status = set == PAL_OK ? PAL_NEED_INPUT : answered(end, set);
        return set == PAL_OK;
    }
    return sent > 0 || consumed > 0;
}

void tls_link_shake(struct tls_link *link)
{
    size_t turns[TLS_SIDES] = {0, 0};
    bool moved = true;
    link->ends[TLS_WE].status = link->ends[TLS_PEER].status = PAL_NEED_INPUT;
    for (size_t round = 0; moved && round < SHAKES_MAX; round++) {
        moved = false;
        for (size_t i = 0; i < TLS_SIDES; i++) {
            struct tls_end *end = &link->ends[i];
            if (end->status == PAL_NEED_INPUT && link->trace->facts[FACT_CONTRACT] == 0) {
                size_t before = end->inbox_len;
                moved = shake_once(end, turns[i]) || moved;
                turns[i] += before > 0 ? 1 : 0;
            }
        }
    }
}

/* ---- plaintext ------------------------------------------------------------------------------------------------- */

static uint8_t plain_byte(const struct tls_end *from, uint64_t at)
{
    return (uint8_t)(at * 167u + (at >> 8) * 59u + from->side * 101u + from->link->number * 13u + 7u);
}

/* note_records: what the token of `len` bytes of plaintext has to be. Bytes of the handshake and answers to KeyUpdate
 * may go in front of it. */
static void note_records(struct tls_end *end, struct pal_view bytes, size_t len)
{
    uint32_t *facts = end->link->trace->facts;
    struct pal_tls_info info = tls_end_info(end);
    bool whole = true;
    facts[FACT_RECORDS] = token_records(&whole, bytes);
    facts[FACT_TORN] += whole ? 0 : 1;
    bool known = end->wrote && !end->owes && !end->link->shaking && info.record_plain_max > 0;
    size_t due = known ? (len + info.record_plain_max - 1) / info.record_plain_max : 0;
    facts[FACT_RECORDS_DUE] = known ? (uint32_t)due + 1 : 0;
    facts[FACT_OVERHEAD_DUE] += known ? 1 : 0;
    facts[FACT_OVERHEAD_OFF] += known && bytes.len != len + due * info.record_overhead ? 1 : 0;
}

enum pal_status tls_end_write(struct tls_end *end, size_t len)
{
    struct pal_token token = {0};
    uint32_t *facts = end->link->trace->facts;
    uint8_t *plain = malloc(len > 0 ? len : 1);
    if (plain == NULL) {
        abort();
    }
    for (size_t i = 0; i < len; i++) {
        plain[i] = plain_byte(end, end->said + i);
    }
    enum pal_status status = end->ops->encrypt(end->tls, &token, (struct pal_view){plain, len});
    free(plain);
    status = answered(end, status);
    if (end->side == TLS_WE && len == 0 && end->finished && end->final == PAL_OK && !end->shut && !end->link->shaking) {
        facts[FACT_EMPTY_WRITE]++;
        facts[FACT_EMPTY_OFF] += status != PAL_OK || token.len > 0 ? 1 : 0;
    }
    if (end->side == TLS_WE && status == PAL_OK && len > 0) {
        facts[FACT_WRITTEN]++;
        facts[FACT_SILENT] += token.len == 0 ? 1 : 0;
    }
    struct pal_view bytes = made(end, &token, status);
    if (end->side == TLS_WE && status == PAL_OK && len > 0 && bytes.len > 0) {
        note_records(end, bytes, len);
    }
    if (status == PAL_OK && len > 0) {
        end->said += len;
        tls_other(end)->arrivals++;
        end->wrote = true;
        end->owes = false;
    }
    return status;
}

/* read_once: the next `len` bytes of the inbox, in memory of exactly `cap` bytes. */
static enum pal_status read_once(struct tls_end *end, size_t len, size_t cap)
{
    uint32_t *facts = end->link->trace->facts;
    size_t offset = SIZE_MAX;
    size_t count = SIZE_MAX;
    uint8_t *data = malloc(cap > 0 ? cap : 1);
    if (data == NULL) {
        abort();
    }
    memcpy(data, end->inbox, len);
    consume(end, len);
    enum pal_status status = answered(end, end->ops->decrypt(end->tls, &offset, &count, data, len, cap));
    bool right = status == PAL_OK ? offset <= cap && count <= cap - offset : offset == SIZE_MAX && count == SIZE_MAX;
    if (!right) {
        token_broken(end->link->trace, TOKEN_COUNTS);
    } else if (status == PAL_OK) {
        for (size_t i = 0; i < count; i++) {
            facts[FACT_PLAIN_WRONG] += data[offset + i] != plain_byte(tls_other(end), end->heard + i) ? 1 : 0;
        }
        end->heard += count;
    }
    free(data);
    return status;
}

enum pal_status tls_end_read(struct tls_end *end, size_t room)
{
    struct tls_link *link = end->link;
    enum pal_status status = PAL_NEED_INPUT;
    size_t turn = 0;
    link->framed |= end->arrivals > 1;
    end->arrivals = 0;
    do {
        size_t len = piece_of(end, turn++);
        link->framed |= len < end->inbox_len;
        status = read_once(end, len, len > room ? len : room);
        for (size_t i = 0; status == PAL_OK && link->trace->facts[FACT_CONTRACT] == 0 && i < TLS_INBOX_MAX; i++) {
            status = read_once(end, 0, room > 0 ? room : RECORD_ROOM);
        }
    } while (status == PAL_NEED_INPUT && end->inbox_len > 0);
    end->owes |= link->updated;
    end->heard_shut |= status == PAL_CLOSED;
    return status;
}

void tls_end_drop(struct tls_end *end, size_t len)
{
    if (len < end->inbox_len) {
        end->inbox_len = len;
        end->touched = true;
    }
}

/* ---- control --------------------------------------------------------------------------------------------------- */

static enum pal_status call_control(struct tls_end *end, struct pal_token *token, enum tls_control control,
                                    uint8_t alert)
{
    switch (control) {
    case TLS_UPDATE:
        return end->ops->update_keys(end->tls, token, false);
    case TLS_UPDATE_BOTH:
        return end->ops->update_keys(end->tls, token, true);
    case TLS_RENEGOTIATE:
        return end->ops->renegotiate(end->tls, token);
    case TLS_ALERT:
        return end->ops->alert(end->tls, token, alert);
    case TLS_SHUTDOWN:
        return end->ops->shutdown(end->tls, token);
    case TLS_PENDING:
    default:
        return end->ops->take_pending(end->tls, token);
    }
}

enum pal_status tls_end_control(struct tls_end *end, enum tls_control control, uint8_t alert)
{
    struct pal_token token = {0};
    uint32_t *facts = end->link->trace->facts;
    enum pal_status status = call_control(end, &token, control, alert);
    if (control == TLS_PENDING) { /* an end that failed may still have its alert to send */
        end->status = status;
        if ((unsigned)status >= PAL_NUM_STATUSES) {
            token_broken(end->link->trace, TOKEN_STATUS_UNKNOWN);
        }
        end->owes = false;
    } else {
        status = answered(end, status);
    }
    if (end->side == TLS_WE && status == PAL_OK && control != TLS_PENDING && !end->shut) {
        facts[FACT_WRITTEN]++;
        facts[FACT_SILENT] += token.len == 0 ? 1 : 0;
    }
    (void)made(end, &token, status);
    if (status == PAL_OK) {
        end->shut |= control == TLS_SHUTDOWN;
        end->link->updated |= control == TLS_UPDATE || control == TLS_UPDATE_BOTH;
        end->link->shaking |= control == TLS_RENEGOTIATE;
        if (control == TLS_ALERT) {
            end->final = PAL_BAD_STATE;
        }
    }
    return status;
}

struct pal_tls_info tls_end_info(const struct tls_end *end)
{
    struct pal_tls_info info = {.alert_sent = TLS_ALERT_NONE, .alert_received = TLS_ALERT_NONE};
    if (end->ops->info(end->tls, &info) != PAL_OK) {
        info = (struct pal_tls_info){.alert_sent = TLS_ALERT_NONE, .alert_received = TLS_ALERT_NONE};
    }
    return info;
}

struct pal_view tls_end_export(struct tls_end *end)
{
    struct pal_token token = {0};
    enum pal_status status = answered(end, end->ops->export_ticket(end->tls, &token));
    struct pal_view out = {NULL, 0};
    if (end->side == TLS_WE) {
        out = token_take(end->link->world, &token, status, end->link->trace);
    } else if (token.len > 0) {
        uint8_t *copy = arena_take(&end->link->world->arena, token.len, 0);
        memcpy(copy, token.payload, token.len);
        out = (struct pal_view){copy, token.len};
    }
    give_back(end, &token);
    return out;
}

/* ---- failure --------------------------------------------------------------------------------------------------- */

/* hear: the other end reads until it fails, too, or has no more. */
static void hear(struct tls_end *end)
{
    if (end->final != PAL_OK) {
        return;
    }
    if (end->finished && !end->link->shaking) {
        (void)tls_end_read(end, RECORD_ROOM);
    } else {
        for (size_t i = 0; i < SHAKES_MAX && end->final == PAL_OK && end->inbox_len > 0; i++) {
            size_t before = end->inbox_len;
            (void)shake_once(end, TLS_PIECES_MAX);
            if (end->inbox_len == before) {
                break;
            }
        }
    }
}

void tls_link_failed(struct tls_link *link, bool due)
{
    for (size_t i = 0; i < TLS_SIDES; i++) {
        struct tls_end *end = &link->ends[i];
        struct tls_end *other = tls_other(end);
        if (end->final == PAL_OK || end->final == PAL_BAD_STATE || other->final != PAL_OK) {
            continue;
        }
        (void)tls_end_control(end, TLS_PENDING, 0);
        tls_link_flush(link, false);
        hear(other);
        struct pal_tls_info info = tls_end_info(end);
        if (due && !end->shut && !other->touched && end->final == PAL_PROTOCOL &&
            info.alert_received == TLS_ALERT_NONE) {
            tls_note_alert(other, info.alert_sent);
        }
        break; /* the other one's failure is the answer */
    }
}
