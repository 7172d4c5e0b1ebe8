/* SPDX-License-Identifier: Apache-2.0
 * engine_scripted.c: the double that scripted.h describes. Labelled as one in its port's name and version.
 * It breaks when it is given more to do than framing: what real engines do is played with real engines.
 */
#include "scripted.h"
#include "tls.h"

#include <string.h>

enum { HEADER = 5, SUM = 16, TRAILER = SUM + 1, BODY_MAX = SCRIPTED_PLAIN_MAX + 256 };
enum { TYPE_ALERT = 21, TYPE_HANDSHAKE = 22, TYPE_DATA = 23 };
enum { ALERT_CLOSE = 0, ALERT_BAD_RECORD = 20, ALERT_OVERFLOW = 22, KEY_UPDATE = 24 };

struct tls_engine {
    const struct pal_env *env;
    struct tls_transport transport; /* {NULL} when it keeps bytes itself */
    struct tls_queue in, out;       /* without a transport */
    struct tls_queue written;       /* output of the running call */
    struct tls_queue record;        /* what came of the next record */
    struct tls_queue plain;         /* read, not yet given out */
    struct scripted_step *steps;
    size_t num_steps;
    size_t next[SCRIPTED_NUM_CALLS]; /* first step that may still answer */
    bool server, late, identified, finished, closed, owes_update;
    uint64_t sent, received;
    uint8_t alert_sent, alert_received, phase; /* of the handshake: records sent and received */
    enum tls_event end;
};

static void queue_empty(struct tls_queue *queue)
{
    queue->at = queue->len = 0;
}

static size_t queue_take(struct tls_queue *queue, uint8_t *out, size_t cap)
{
    struct pal_view bytes = tls_queue_view(queue);
    size_t count = bytes.len < cap ? bytes.len : cap;

    if (count > 0)
        memcpy(out, bytes.data, count);
    tls_queue_drop(queue, count);
    return count;
}

/* ---- output ---------------------------------------------------------------------------------------------------- */

static bool put(struct tls_engine *engine, const void *bytes, size_t len)
{
    return tls_queue_append(engine->env, &engine->written, (struct pal_view){bytes, len});
}

/* Each word times an odd number of its own, so that they can be summed in any order, and none can change or move. */
static void sum_of(uint8_t out[SUM], uint64_t number, struct pal_view body)
{
    uint64_t sum = 14695981039346656037u ^ number, word;
    size_t at = 0;
    for (; body.len - at >= sizeof(word); at += sizeof(word)) {
        memcpy(&word, body.data + at, sizeof(word));
        sum += (word + 1) * (2 * at + 1099511628211u);
    }
    for (; at < body.len; at++)
        sum += (body.data[at] + (uint64_t)1) * (2 * at + 1099511628211u);
    for (size_t i = 0; i < SUM; i++)
        out[i] = (uint8_t)(sum >> (i % 8 * 8));
}

static bool put_record(struct tls_engine *engine, uint8_t type, struct pal_view body)
{
    size_t len = body.len + TRAILER;
    const uint8_t header[HEADER] = {TYPE_DATA, 3, 3, (uint8_t)(len >> 8), (uint8_t)len};
    uint8_t trailer[TRAILER] = {type};

    sum_of(trailer + 1, engine->sent + type, body);
    engine->sent++;
    return tls_queue_reserve(engine->env, &engine->written, HEADER + len) && put(engine, header, HEADER) &&
           put(engine, body.data, body.len) && put(engine, trailer, TRAILER);
}

static bool put_alert(struct tls_engine *engine, uint8_t level, uint8_t description)
{
    const uint8_t body[2] = {level, description};

    engine->alert_sent = level == 2 ? description : engine->alert_sent;
    return put_record(engine, TYPE_ALERT, (struct pal_view){body, 2});
}

/* Apart, so that the calls that put nothing have no room on the stack for it. */
__attribute__((noinline)) static bool put_pattern(struct tls_engine *engine, const struct scripted_step *step)
{
    uint8_t body[1024];
    uint8_t value = step->fill;
    uint32_t left = step->emit_len < SCRIPTED_EMIT_MAX ? step->emit_len : SCRIPTED_EMIT_MAX;
    bool ok = true;

    while (ok && left > 0) {
        size_t len = left < sizeof(body) ? left : sizeof(body);

        for (size_t i = 0; i < len; i++)
            body[i] = value++;
        ok = step->flags & SCRIPTED_RAW ? put(engine, body, len)
                                        : put_record(engine, step->type, (struct pal_view){body, len});
        left -= (uint32_t)len;
    }
    return ok;
}

/* deliver: what the call has put, in num_chunks writes. */
static bool deliver(struct tls_engine *engine, size_t num_chunks)
{
    struct pal_view rest = tls_queue_view(&engine->written);
    size_t chunk = num_chunks > 1 ? rest.len / num_chunks : rest.len;
    bool ok = true;

    while (ok && rest.len > 0) {
        struct pal_view bytes = {rest.data, num_chunks > 1 && chunk > 0 ? chunk : rest.len};
        num_chunks -= num_chunks > 1 ? 1 : 0;
        ok = engine->transport.write != NULL ? engine->transport.write(engine->transport.context, bytes)
                                             : tls_queue_append(engine->env, &engine->out, bytes);
        rest.data += bytes.len;
        rest.len -= bytes.len;
    }
    queue_empty(&engine->written);
    return ok;
}

/* ---- script ---------------------------------------------------------------------------------------------------- */

static const struct scripted_step *next_step(struct tls_engine *engine, enum scripted_call call)
{
    static const struct scripted_step none = {.event = TLS_DONE, .num_chunks = 1};
    size_t *next = &engine->next[call];

    while (*next < engine->num_steps && engine->steps[*next].call != call)
        ++*next;
    return *next < engine->num_steps ? &engine->steps[(*next)++] : &none;
}

static enum tls_event finish(struct tls_engine *engine, const struct scripted_step *step, enum tls_event event)
{
    if (!deliver(engine, step->num_chunks))
        event = TLS_NO_MEMORY;
    if (event == TLS_FAILED || event == TLS_BROKEN || event == TLS_NO_MEMORY || event == TLS_NO_RANDOM)
        engine->end = event;
    return event;
}

/* begin: plays the next step; TLS_DONE with *out_more when the call's own work is to be done. */
static enum tls_event begin(struct tls_engine *engine, enum scripted_call call, const struct scripted_step **out_step,
                            bool *out_more)
{
    const struct scripted_step *step = next_step(engine, call);
    enum tls_event event = step->event < TLS_NUM_EVENTS ? (enum tls_event)step->event : TLS_BROKEN;

    *out_step = step;
    *out_more = false;
    if (engine->end != TLS_DONE)
        return engine->end;
    if (step->emit_len > 0 && !put_pattern(engine, step))
        return TLS_NO_MEMORY;
    *out_more = event == TLS_DONE && (step->flags & SCRIPTED_INSTEAD) == 0;
    return event;
}

/* ---- input ----------------------------------------------------------------------------------------------------- */

/* fill: `len` bytes of the record at hand. TLS_WANT_READ keeps what came. */
static enum tls_event fill(struct tls_engine *engine, size_t len)
{
    const struct tls_transport *transport = &engine->transport;
    uint8_t bytes[2048];

    while (tls_queue_view(&engine->record).len < len) {
        size_t cap = len - tls_queue_view(&engine->record).len;
        size_t count;
        cap = cap < sizeof(bytes) ? cap : sizeof(bytes);
        count = transport->read != NULL ? transport->read(transport->context, bytes, cap)
                                        : queue_take(&engine->in, bytes, cap);
        if (count == 0)
            return TLS_WANT_READ;
        if (!tls_queue_append(engine->env, &engine->record, (struct pal_view){bytes, count}))
            return TLS_NO_MEMORY;
    }
    return TLS_DONE;
}

/* read_record: the next record, verified; *out_body lives until the record is dropped. */
static enum tls_event read_record(struct tls_engine *engine, uint8_t *out_type, struct pal_view *out_body)
{
    enum tls_event event = fill(engine, HEADER);
    struct pal_view record;
    uint8_t sum[SUM];
    size_t len;

    if (event != TLS_DONE)
        return event;
    record = tls_queue_view(&engine->record);
    len = ((size_t)record.data[3] << 8) | record.data[4];
    if (record.data[0] != TYPE_DATA || record.data[1] != 3 || record.data[2] != 3 || len > BODY_MAX || len < TRAILER)
        return put_alert(engine, 2, ALERT_OVERFLOW) ? TLS_FAILED : TLS_NO_MEMORY;
    event = fill(engine, HEADER + len);
    if (event != TLS_DONE)
        return event;
    record = tls_queue_view(&engine->record);
    *out_body = (struct pal_view){record.data + HEADER, len - TRAILER};
    *out_type = record.data[HEADER + len - TRAILER];
    sum_of(sum, engine->received + *out_type, *out_body);
    engine->received++;
    if (memcmp(sum, record.data + HEADER + len - SUM, SUM) != 0)
        return put_alert(engine, 2, ALERT_BAD_RECORD) ? TLS_FAILED : TLS_NO_MEMORY;
    return TLS_DONE;
}

/* note: a record that is no data. */
static enum tls_event note(struct tls_engine *engine, uint8_t type, struct pal_view body)
{
    if (type == TYPE_ALERT && body.len == 2) {
        engine->closed = body.data[1] == ALERT_CLOSE;
        engine->alert_received = engine->closed ? engine->alert_received : body.data[1];
        return engine->closed ? TLS_CLOSED : TLS_FAILED;
    }
    if (type == TYPE_HANDSHAKE)
        engine->owes_update = engine->owes_update || (body.len == 5 && body.data[0] == KEY_UPDATE && body.data[4] == 1);
    return TLS_DONE;
}

/* ---- the seam -------------------------------------------------------------------------------------------------- */

enum tls_event tls_engine_open(const struct pal_env *env, struct tls_engine **out, const struct pal_tls_config *config,
                               const struct tls_transport *transport)
{
    size_t num_steps = config->trusted.len / sizeof(struct scripted_step);
    struct tls_engine *engine = env->alloc(env->context, sizeof(*engine));

    if (engine == NULL)
        return TLS_NO_MEMORY;
    *engine = (struct tls_engine){.env = env,
                                  .server = config->role == PAL_TLS_SERVER,
                                  .late = config->late_identity,
                                  .alert_sent = 255,
                                  .alert_received = 255};
    if (transport != NULL)
        engine->transport = *transport;
    if (num_steps > 0) {
        engine->steps = env->alloc(env->context, num_steps * sizeof(*engine->steps));
        if (engine->steps == NULL) {
            tls_engine_close(engine);
            return TLS_NO_MEMORY;
        }
        memcpy(engine->steps, config->trusted.data, num_steps * sizeof(*engine->steps));
        engine->num_steps = num_steps;
    }
    *out = engine;
    return TLS_DONE;
}

void tls_engine_close(struct tls_engine *engine)
{
    const struct pal_env *env;

    if (engine == NULL)
        return;
    env = engine->env;
    tls_queue_free(env, &engine->in);
    tls_queue_free(env, &engine->out);
    tls_queue_free(env, &engine->written);
    tls_queue_free(env, &engine->record);
    tls_queue_free(env, &engine->plain);
    env->free(env->context, engine->steps);
    env->free(env->context, engine);
}

enum tls_event tls_engine_set_identity(struct tls_engine *engine, const struct pal_tls_identity *identity)
{
    bool wanted = engine->late && !engine->identified;

    (void)identity;
    engine->identified = engine->identified || wanted;
    return wanted ? TLS_DONE : TLS_BAD_STATE;
}

/* Turns: a client sends 1, receives 3, sends 1; a server receives 1, sends 3, receives 1. */
static enum tls_event shake_on(struct tls_engine *engine)
{
    static const uint8_t flight[1200] = {1};
    static const size_t lens[5] = {200, 90, 1200, 300, 36};
    enum tls_event event = TLS_DONE;
    struct pal_view body;
    uint8_t type;

    while (event == TLS_DONE && engine->phase < 5) {
        bool mine = (engine->phase >= 1 && engine->phase <= 3) == engine->server;

        if (mine && engine->server && engine->late && !engine->identified)
            return TLS_WANT_CREDENTIALS;
        if (mine) {
            event = put_record(engine, TYPE_HANDSHAKE, (struct pal_view){flight, lens[engine->phase]}) ? TLS_DONE
                                                                                                       : TLS_NO_MEMORY;
        } else {
            event = read_record(engine, &type, &body);
            if (event == TLS_DONE && type != TYPE_HANDSHAKE) {
                (void)note(engine, type, body);
                event = TLS_FAILED;
            }
            if (event != TLS_WANT_READ)
                queue_empty(&engine->record);
        }
        engine->phase = (uint8_t)(engine->phase + (event == TLS_DONE));
    }
    engine->finished = engine->phase == 5;
    return event;
}

enum tls_event tls_engine_handshake(struct tls_engine *engine)
{
    const struct scripted_step *step;
    bool more;
    enum tls_event event = begin(engine, SCRIPTED_HANDSHAKE, &step, &more);

    if (more)
        event = shake_on(engine);
    engine->finished = engine->finished || event == TLS_DONE;
    return finish(engine, step, event);
}

static bool put_update(struct tls_engine *engine, bool request_peer)
{
    const uint8_t body[5] = {KEY_UPDATE, 0, 0, 1, request_peer ? 1 : 0};

    return put_record(engine, TYPE_HANDSHAKE, (struct pal_view){body, sizeof(body)});
}

static bool put_owed(struct tls_engine *engine)
{
    bool owed = engine->owes_update;

    engine->owes_update = false;
    return !owed || put_update(engine, false);
}

enum tls_event tls_engine_write(struct tls_engine *engine, struct pal_view plain)
{
    const struct scripted_step *step;
    bool more;
    enum tls_event event = begin(engine, SCRIPTED_WRITE, &step, &more);

    if (more && (!put_owed(engine) || !put_record(engine, TYPE_DATA, plain)))
        event = TLS_NO_MEMORY;
    return finish(engine, step, event);
}

/* read_on: until there is plaintext. */
static enum tls_event read_on(struct tls_engine *engine)
{
    enum tls_event event = engine->closed ? TLS_CLOSED : TLS_DONE;
    struct pal_view body;
    uint8_t type;

    while (event == TLS_DONE && tls_queue_view(&engine->plain).len == 0) {
        event = read_record(engine, &type, &body);
        if (event == TLS_WANT_READ)
            return event;
        if (event == TLS_DONE && type != TYPE_DATA)
            event = note(engine, type, body);
        else if (event == TLS_DONE && !tls_queue_append(engine->env, &engine->plain, body))
            event = TLS_NO_MEMORY;
        queue_empty(&engine->record);
    }
    return event;
}

enum tls_event tls_engine_read(struct tls_engine *engine, uint8_t *out, size_t *out_count, size_t cap)
{
    const struct scripted_step *step;
    bool more;
    enum tls_event event = begin(engine, SCRIPTED_READ, &step, &more);

    *out_count = 0;
    if (more)
        event = read_on(engine);
    if (event == TLS_DONE && cap == 0) {
        event = more || step->plain_len > 0 ? TLS_NO_SPACE : TLS_WANT_READ;
    } else if (event == TLS_DONE && more) {
        *out_count = queue_take(&engine->plain, out, cap);
    } else if (event == TLS_DONE) {
        *out_count = step->plain_len < cap ? step->plain_len : cap;
        for (size_t i = 0; i < *out_count; i++)
            out[i] = (uint8_t)(step->fill + i);
        event = *out_count > 0 ? TLS_DONE : TLS_WANT_READ;
    }
    event = finish(engine, step, event);
    *out_count = event == TLS_DONE ? *out_count : 0;
    return event;
}

/* The calls that only write; `argument` is request_peer or the alert's description. */
enum control { FLUSH, UPDATE_KEYS, RENEGOTIATE, ALERT, SHUTDOWN };

static enum tls_event control(struct tls_engine *engine, enum control what, uint8_t argument)
{
    const struct scripted_step *step;
    bool more;
    enum tls_event event = begin(engine, SCRIPTED_CONTROL, &step, &more);
    bool ok = true;

    if (more && what == FLUSH)
        ok = put_owed(engine);
    else if (more && what == UPDATE_KEYS)
        ok = put_update(engine, argument != 0);
    else if (more && what == ALERT)
        ok = put_alert(engine, 2, argument);
    else if (more && what == SHUTDOWN)
        ok = put_alert(engine, 1, ALERT_CLOSE);
    else if (more)
        event = TLS_UNSUPPORTED;
    return finish(engine, step, ok ? event : TLS_NO_MEMORY);
}

enum tls_event tls_engine_flush(struct tls_engine *engine)
{
    return control(engine, FLUSH, 0);
}

enum tls_event tls_engine_update_keys(struct tls_engine *engine, bool request_peer)
{
    return control(engine, UPDATE_KEYS, request_peer ? 1 : 0);
}

enum tls_event tls_engine_renegotiate(struct tls_engine *engine)
{
    return control(engine, RENEGOTIATE, 0);
}

enum tls_event tls_engine_alert(struct tls_engine *engine, uint8_t description)
{
    return control(engine, ALERT, description);
}

enum tls_event tls_engine_shutdown(struct tls_engine *engine)
{
    return control(engine, SHUTDOWN, 0);
}

enum tls_event tls_engine_info(struct tls_engine *engine, struct pal_tls_info *out)
{
    out->version = engine->finished ? PAL_TLS_1_3 : 0;
    out->alert_sent = engine->alert_sent;
    out->alert_received = engine->alert_received;
    return TLS_DONE;
}

struct tls_sizes tls_engine_sizes(const struct tls_engine *engine)
{
    (void)engine;
    return (struct tls_sizes){SCRIPTED_PLAIN_MAX, HEADER, TRAILER};
}

enum tls_event tls_engine_export(struct tls_engine *engine, struct pal_view *out)
{
    (void)engine, (void)out;
    return TLS_BAD_STATE;
}

enum tls_event tls_engine_feed(struct tls_engine *engine, struct pal_view bytes)
{
    return tls_queue_append(engine->env, &engine->in, bytes) ? TLS_DONE : TLS_NO_MEMORY;
}

size_t tls_engine_unread(const struct tls_engine *engine)
{
    return tls_queue_view(&engine->in).len;
}

enum tls_event tls_engine_discard(struct tls_engine *engine, size_t len)
{
    engine->in.len -= len;
    return TLS_DONE;
}

size_t tls_engine_produced(const struct tls_engine *engine)
{
    return tls_queue_view(&engine->out).len;
}

bool tls_engine_take(struct tls_engine *engine, uint8_t *out, size_t len)
{
    return queue_take(&engine->out, out, len) == len;
}

const struct pal_port *pal_port_scripted(void)
{
    static const struct pal_port port = {.abi = PAL_ABI_VERSION,
                                         .name = "scripted",
                                         .version = "double, no cryptography",
                                         .env_random = true,
                                         .env_clock = true,
                                         .tls = &pal_tls_table,
                                         .token = &pal_token_reference};
    return &port;
}
