/* SPDX-License-Identifier: Apache-2.0
 * tls_steps.c: operations of a TLS scenario. Nothing is due from a connection of which bytes were changed or lost on
 * the way, or whose renegotiation the other end does not follow, but that no wrong plaintext comes.
 */
#include "tls_steps.h"

#include "tls_alert.h"

#include <string.h>

#define ROOM_ALL 17000u

const char *const tls_len_names[TLS_LENS] = {"100",  "0",    "1",     "15",    "16",    "229",   "994",   "1024",
                                             "4075", "4096", "16355", "16383", "16384", "16385", "32768", "40000"};
const size_t tls_lens[TLS_LENS] = {100,  0,    1,     15,    16,    229,   994,   1024,
                                   4075, 4096, 16355, 16383, 16384, 16385, 32768, 40000};

struct tls_link *tls_current(struct tls_world *world)
{
    return &world->links[world->current];
}

/* alive: nothing has ended it on either side, and nothing is left of a handshake. */
bool tls_alive(const struct tls_link *link)
{
    const struct tls_end *we = &link->ends[TLS_WE];
    const struct tls_end *peer = &link->ends[TLS_PEER];
    return link->open && we->finished && peer->finished && we->final == PAL_OK && peer->final == PAL_OK &&
           !link->shaking && !we->shut && !peer->shut;
}

bool tls_clean(const struct tls_link *link)
{
    return !link->ends[TLS_WE].touched && !link->ends[TLS_PEER].touched;
}

/* ---- reading --------------------------------------------------------------------------------------------------- */

/* note_read: after all of the inbox was read. */
static void note_read(struct tls_end *end, enum pal_status status, bool was_alive)
{
    uint32_t *facts = end->link->trace->facts;
    const struct tls_end *from = tls_other(end);
    if (end->tampered && end->inbox_len == 0) {
        facts[FACT_TAMPER_DUE]++;
        facts[FACT_TAMPER_PASSED] += tls_is_fatal(status) || end->final != PAL_OK ? 0 : 1;
        end->tampered = false;
    }
    facts[FACT_CLOSE_OFF] += end->heard_shut && !from->shut ? 1 : 0;
    if (end->touched || !was_alive || end->link->armed || end->link->ends[TLS_WE].num_held > 0) {
        return;
    }
    if (status == PAL_NEED_INPUT || status == PAL_CLOSED) {
        facts[FACT_PLAIN_MISSING] += (uint32_t)(from->said - end->heard);
    }
    facts[FACT_PLAIN_DUE]++;
    if (from->shut) {
        facts[FACT_CLOSE_DUE]++;
        facts[FACT_CLOSE_OFF] += status != PAL_CLOSED ? 1 : 0;
    }
}

static enum pal_status read_all(struct tls_end *end, size_t room)
{
    bool was_alive =
        end->finished && end->final == PAL_OK && tls_other(end)->finished && !end->heard_shut && !end->link->shaking;
    enum pal_status status = tls_end_read(end, room);
    note_read(end, status, was_alive);
    return status;
}

/* exchange: `len` bytes from one end to the other, and what that one owes back. */
static enum pal_status exchange(struct tls_end *from, size_t len)
{
    struct tls_end *to = tls_other(from);
    tls_link_flush(from->link, false);
    enum pal_status status = tls_end_write(from, len);
    if (status != PAL_OK) {
        return status;
    }
    status = read_all(to, ROOM_ALL);
    if (status != PAL_NEED_INPUT) {
        return status;
    }
    status = tls_end_control(to, TLS_PENDING, 0);
    if (status == PAL_OK && from->inbox_len > 0) {
        status = read_all(from, ROOM_ALL);
        status = status == PAL_NEED_INPUT ? PAL_OK : status;
    }
    return status;
}

/* ---- opening --------------------------------------------------------------------------------------------------- */

/* alert_is_readable: OpenSSL's client has no keys installed when it finds fault with a TLS 1.3 server, and tells in the
 * clear; BoringSSL's server does not read that. */
static bool alert_is_readable(const struct tls_terms *terms)
{
    uint32_t we = terms->number[OPEN_ENGINE];
    uint32_t peer = terms->number[OPEN_PEER];
    uint32_t client = terms->client == TLS_WE ? we : peer;
    uint32_t server = terms->client == TLS_WE ? peer : we;
    return terms->version != PAL_TLS_1_3 || terms->finder != terms->client || client != 0 || server == 0;
}

static void note_handshake(struct tls_world *world, struct tls_link *link)
{
    const struct tls_terms *terms = &world->terms[world->current];
    struct tls_end *we = &link->ends[TLS_WE];
    struct tls_end *peer = &link->ends[TLS_PEER];
    uint32_t *facts = link->trace->facts;
    if (world->fail_alloc > 0 || world->fail_random > 0 || !tls_clean(link)) {
        tls_link_failed(link, false);
        return;
    }
    bool spoilt = terms->number[OPEN_SPOIL] != SPOIL_NONE;
    tls_link_flush(link, false);
    tls_link_failed(link, spoilt && alert_is_readable(terms));
    facts[FACT_AGREED_DUE] = 1;
    if (spoilt) {
        const struct tls_end *finder = &link->ends[terms->finder];
        facts[FACT_DISAGREED] = finder->final == PAL_PROTOCOL ? 0 : 1;
    } else if (we->finished && peer->finished && we->final == PAL_OK && peer->final == PAL_OK) {
        facts[FACT_DISAGREED] = tls_disagreements(link, terms);
    } else {
        facts[FACT_DISAGREED] = 1;
    }
}

static enum pal_status open_link(struct tls_world *world, const uint32_t fields[OPEN_FIELDS], struct trace_step *trace)
{
    struct tls_link *link = tls_current(world);
    if (world->opens == TLS_OPENS_MAX) {
        return PAL_OK;
    }
    tls_link_close(link);
    memset(link, 0, sizeof(*link));
    link->world = world->player.world;
    link->wire = &world->wire;
    link->trace = trace;
    link->number = world->opens++;
    for (size_t i = 0; i < TLS_SIDES; i++) {
        link->ends[i].link = link;
        link->ends[i].side = (enum tls_side)i;
        link->ends[i].env = i == TLS_WE ? &world->player.world->env : &world->peer_env;
    }
    tls_configure(&world->terms[world->current], link, fields, &world->ticket);
    enum pal_status status = tls_link_open(link);
    if (status != PAL_OK) {
        bool excused = status == PAL_UNSUPPORTED || world->fail_alloc > 0 || world->fail_random > 0;
        trace->facts[FACT_AGREED_DUE] = trace->facts[FACT_DISAGREED] = excused ? 0 : 1;
        return status;
    }
    link->armed = world->fail_alloc > 0 || world->fail_random > 0;
    link->hold = world->hold;
    link->piece = world->piece;
    link->pieces = world->pieces;
    tls_link_shake(link);
    note_handshake(world, link);
    return link->ends[TLS_WE].status == PAL_NEED_INPUT ? PAL_OK : link->ends[TLS_WE].status;
}

static const uint32_t plain_open[OPEN_FIELDS] = {[OPEN_PEER] = 1};
static const uint32_t plain_open_1_2[OPEN_FIELDS] = {[OPEN_PEER] = 1, [OPEN_VERSION] = VERSION_1_2};

/* ---- steps ----------------------------------------------------------------------------------------------------- */

static struct tls_end *side(struct tls_link *link, uint32_t number)
{
    return &link->ends[number == 0 ? TLS_WE : TLS_PEER];
}

static bool fits(const struct tls_end *from, size_t len)
{
    return tls_other((struct tls_end *)(uintptr_t)from)->inbox_len + len + 8192 < TLS_INBOX_MAX &&
           from->link->wire->len + len + 8192 < TLS_WIRE_MAX;
}

static enum pal_status step_exchange(struct tls_world *world, const struct step *step, struct trace_step *trace)
{
    size_t len = tls_lens[step->number[1]];
    if (!tls_current(world)->open) {
        enum pal_status status = open_link(world, plain_open, trace);
        if (status == PAL_UNSUPPORTED) { /* a port without TLS 1.3 */
            status = open_link(world, plain_open_1_2, trace);
        }
        if (status != PAL_OK) {
            return status;
        }
    }
    struct tls_link *link = tls_current(world);
    struct tls_end *from = side(link, step->number[0]);
    if (!link->open || link->shaking || !fits(from, len)) {
        return PAL_OK;
    }
    trace->role = ROLE_MESSAGE;
    return exchange(from, len);
}

static enum pal_status renegotiate(struct tls_link *link, uint32_t who)
{
    struct tls_end *asks = side(link, who);
    struct tls_end *other = tls_other(asks);
    tls_link_flush(link, false);
    enum pal_status asked = tls_end_control(asks, TLS_RENEGOTIATE, 0);
    if (asked != PAL_OK) {
        return asked;
    }
    tls_link_flush(link, false);
    link->renegotiated = true;
    enum pal_status status = tls_end_read(other, ROOM_ALL);
    if (status == PAL_RENEGOTIATE) {
        (void)tls_end_control(other, TLS_PENDING, 0);
        tls_link_flush(link, false);
        if (other->config.role == PAL_TLS_CLIENT) {
            (void)tls_end_read(asks, ROOM_ALL);
        }
        tls_link_shake(link);
        tls_link_flush(link, false);
    }
    link->shaking = link->ends[TLS_WE].status != PAL_OK || link->ends[TLS_PEER].status != PAL_OK;
    if (link->shaking) { /* one that does not follow: nothing is due */
        link->ends[TLS_WE].touched = link->ends[TLS_PEER].touched = true;
    }
    return link->ends[TLS_WE].status == PAL_NEED_INPUT ? PAL_OK : link->ends[TLS_WE].status;
}

static void take_ticket(struct tls_world *world, struct tls_link *link)
{
    const struct tls_terms *terms = &world->terms[world->current];
    struct tls_end *client = &link->ends[terms->client];
    struct pal_view bytes = tls_end_export(client);
    if (bytes.len > 0) {
        world->ticket = (struct tls_ticket){.bytes = bytes,
                                            .client = tls_engine_of(client, terms),
                                            .server = tls_engine_of(tls_other(client), terms),
                                            .version = terms->version,
                                            .auth = terms->number[OPEN_AUTH],
                                            .alpn = terms->number[OPEN_ALPN]};
    }
}

static enum pal_status shut_down(struct tls_link *link, uint32_t who)
{
    struct tls_end *end = side(link, who);
    tls_link_flush(link, false);
    enum pal_status status = tls_end_control(end, TLS_SHUTDOWN, 0);
    tls_link_flush(link, false);
    if (status == PAL_OK && !link->shaking && tls_other(end)->finished) {
        (void)read_all(tls_other(end), ROOM_ALL);
    }
    return status;
}

static enum pal_status alert(struct tls_link *link, const struct step *step)
{
    struct tls_end *end = side(link, step->number[0]);
    struct tls_end *other = tls_other(end);
    bool due = tls_alive(link) && !link->armed;
    tls_link_flush(link, false);
    enum pal_status status = tls_end_control(end, TLS_ALERT, (uint8_t)step->number[1]);
    tls_link_flush(link, false);
    if (status == PAL_OK && other->finished && !link->shaking) {
        (void)tls_end_read(other, ROOM_ALL);
        if (due && !other->touched) {
            tls_note_alert(other, (uint8_t)step->number[1]);
        }
    }
    return status;
}

/* call: an operation on an open connection. */
static enum pal_status call(struct tls_world *world, const struct step *step, struct trace_step *trace)
{
    static const size_t rooms[3] = {ROOM_ALL, 0, 64};
    struct tls_link *link = tls_current(world);
    struct tls_end *end = side(link, step->number[0]);
    switch (step->op) {
    case TLS_OP_WRITE:
        trace->role = ROLE_MESSAGE;
        return fits(end, tls_lens[step->number[1]]) ? tls_end_write(end, tls_lens[step->number[1]]) : PAL_OK;
    case TLS_OP_READ: {
        enum pal_status status = read_all(end, rooms[step->number[1]]);
        return status == PAL_NEED_INPUT ? PAL_OK : status;
    }
    case TLS_OP_UPDATE:
        trace->role = ROLE_MESSAGE;
        return tls_end_control(end, step->number[1] != 0 ? TLS_UPDATE_BOTH : TLS_UPDATE, 0);
    case TLS_OP_RENEGOTIATE:
        return tls_alive(link) ? renegotiate(link, step->number[0]) : PAL_OK;
    case TLS_OP_ALERT:
        return alert(link, step);
    case TLS_OP_SHUTDOWN:
        return shut_down(link, step->number[0]);
    case TLS_OP_PENDING:
        return tls_end_control(end, TLS_PENDING, 0);
    default:
        take_ticket(world, link);
        return PAL_OK;
    }
}

static void set_change(struct tls_link *link, const struct step *step)
{
    link->change = true;
    link->change_to = step->number[0] == 0 ? TLS_PEER : TLS_WE;
    link->change_at = step->number[1];
    link->change_xor = (uint8_t)(step->number[2] > 0 ? step->number[2] : 1);
}

static void rent_others(struct tls_world *world, uint32_t size)
{
    struct pal_env *env = &world->player.world->env.env;
    if (world->num_others == TLS_OTHERS_MAX) {
        return;
    }
    struct other_renter *other = &world->others[world->num_others];
    if (env->rent(env->context, &other->buffer, tls_lens[size]) == PAL_OK) {
        other->fill = (uint8_t)(0x30 + world->num_others++);
        memset(other->buffer.data, other->fill, other->buffer.cap);
    }
}

/* others_damage: bytes of other renters that are not theirs; the rentals go back. */
uint32_t tls_others_damage(struct tls_world *world)
{
    struct pal_env *env = &world->player.world->env.env;
    uint32_t damage = 0;
    for (size_t i = 0; i < world->num_others; i++) {
        struct other_renter *other = &world->others[i];
        for (size_t at = 0; at < other->buffer.cap; at++) {
            damage += other->buffer.data[at] != other->fill ? 1 : 0;
        }
        (void)env->release(env->context, &other->buffer, false);
    }
    world->num_others = 0;
    return damage;
}

/* prepare: an operation that calls no port. False for any other. */
bool tls_prepare(struct tls_world *world, const struct step *step)
{
    struct tls_link *link = tls_current(world);
    switch (step->op) {
    case TLS_OP_USE:
        world->current = step->number[0];
        return true;
    case TLS_OP_CUT:
        world->piece = link->piece = step->number[0];
        world->pieces = link->pieces = step->number[1] != 0;
        return true;
    case TLS_OP_CHANGE:
        set_change(link, step);
        return true;
    case TLS_OP_LOSE:
        if (link->open) {
            tls_end_drop(side(link, step->number[0]), step->number[1]);
        }
        return true;
    case TLS_OP_HOLD:
        world->hold = link->hold = step->number[0];
        return true;
    case TLS_OP_OTHERS:
        rent_others(world, step->number[0]);
        return true;
    case TLS_OP_FAIL_ALLOC:
        world->fail_alloc = step->number[0];
        return true;
    case TLS_OP_FAIL_RANDOM:
        world->fail_random = step->number[0];
        return true;
    default:
        return false;
    }
}

/* play_call: an operation that calls the port. */
enum pal_status tls_play_call(struct tls_world *world, const struct step *step, struct trace_step *trace)
{
    switch (step->op) {
    case TLS_OP_OPEN:
        trace->role = ROLE_MESSAGE;
        return open_link(world, step->number, trace);
    case TLS_OP_EXCHANGE:
        return step_exchange(world, step, trace);
    case TLS_OP_FLUSH:
        tls_link_flush(tls_current(world), step->number[0] != 0);
        return PAL_OK;
    case TLS_OP_CLOSE:
        tls_link_close(tls_current(world));
        return PAL_OK;
    default:
        return tls_current(world)->open ? call(world, step, trace) : PAL_OK;
    }
}
