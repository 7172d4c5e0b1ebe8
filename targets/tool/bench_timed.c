/* SPDX-License-Identifier: Apache-2.0
 * bench_timed.c: one function for each function of each table, in four copies, because a table's functions are not told
 * which table they are of.
 * It breaks when a table gets a function that is not listed here: it is then NULL in a timed port.
 */
#include "bench_timed.h"

#include "bench.h"

#include <stdio.h>

enum { COPIES = 4, PORTS = 8 };

static struct {
    bool on;
    unsigned depth; /* a port that calls another one is timed once */
    double start, ns, clock_ns;
    uint64_t calls;
} timer;

static void enter(void)
{
    if (timer.depth++ == 0) {
        timer.start = bench_now_ns();
    }
}

static void leave(void)
{
    if (--timer.depth == 0) {
        timer.ns += bench_now_ns() - timer.start - timer.clock_ns;
    }
    timer.calls++;
}

double timed_ns(void)
{
    return timer.ns;
}

uint64_t timed_calls(void)
{
    return timer.calls;
}

/* ---- functions -----------------------------------------------------------------------------------------------------
 */

static const struct pal_pool_ops *pool_originals[COPIES];
static const struct pal_tls_ops *tls_originals[COPIES];
static const struct pal_send_ops *send_originals[COPIES];
static const struct pal_hmac_ops *hmac_originals[COPIES];
static const struct pal_aead_ops *aead_originals[COPIES];
static const struct pal_token_ops *token_originals[COPIES];

#define TELLS(n, area, function, parameters, arguments)                                                                \
    static enum pal_status area##_##function##_##n parameters                                                          \
    {                                                                                                                  \
        enter();                                                                                                       \
        enum pal_status status = area##_originals[n]->function arguments;                                              \
        leave();                                                                                                       \
        return status;                                                                                                 \
    }
#define DOES(n, area, function, parameters, arguments)                                                                 \
    static void area##_##function##_##n parameters                                                                     \
    {                                                                                                                  \
        enter();                                                                                                       \
        area##_originals[n]->function arguments;                                                                       \
        leave();                                                                                                       \
    }
#define IN_TABLE(n, area, function, parameters, arguments) .function = area##_##function##_##n,

/* clang-format off */
#define POOL(T, D, n)                                                                                                  \
    T(n, pool, open, (const struct pal_env *env, struct pal_pool **out, const struct pal_pool_config *config), (env, out, config)) \
    D(n, pool, close, (struct pal_pool *pool), (pool))                                                                 \
    T(n, pool, rent, (struct pal_pool *pool, struct pal_buffer *out, size_t min_cap), (pool, out, min_cap))            \
    T(n, pool, release, (struct pal_pool *pool, struct pal_buffer *buffer, bool clear), (pool, buffer, clear))         \
    D(n, pool, trim, (struct pal_pool *pool), (pool))                                                                  \
    D(n, pool, stats, (struct pal_pool *pool, struct pal_pool_stats *out), (pool, out))

#define TLS(T, D, n)                                                                                                   \
    T(n, tls, open, (const struct pal_env *env, struct pal_tls **out, const struct pal_tls_config *config), (env, out, config)) \
    D(n, tls, close, (struct pal_tls *tls), (tls))                                                                     \
    T(n, tls, handshake, (struct pal_tls *tls, struct pal_token *out, size_t *consumed, struct pal_view in), (tls, out, consumed, in)) \
    T(n, tls, set_identity, (struct pal_tls *tls, const struct pal_tls_identity *identity), (tls, identity))           \
    T(n, tls, encrypt, (struct pal_tls *tls, struct pal_token *out, struct pal_view plain), (tls, out, plain))         \
    T(n, tls, decrypt, (struct pal_tls *tls, size_t *offset, size_t *count, uint8_t *data, size_t len, size_t cap),    \
      (tls, offset, count, data, len, cap))                                                                            \
    T(n, tls, update_keys, (struct pal_tls *tls, struct pal_token *out, bool request), (tls, out, request))            \
    T(n, tls, renegotiate, (struct pal_tls *tls, struct pal_token *out), (tls, out))                                   \
    T(n, tls, alert, (struct pal_tls *tls, struct pal_token *out, uint8_t description), (tls, out, description))       \
    T(n, tls, shutdown, (struct pal_tls *tls, struct pal_token *out), (tls, out))                                      \
    T(n, tls, take_pending, (struct pal_tls *tls, struct pal_token *out), (tls, out))                                  \
    T(n, tls, info, (struct pal_tls *tls, struct pal_tls_info *out), (tls, out))                                       \
    T(n, tls, export_ticket, (struct pal_tls *tls, struct pal_token *out), (tls, out))

#define SEND(T, D, n)                                                                                                  \
    T(n, send, begin, (const struct pal_env *env, struct pal_send **out, size_t *bad, enum pal_send_way way, int socket, \
      const struct pal_segment *segments, size_t num, uint64_t deadline_ns), (env, out, bad, way, socket, segments, num, deadline_ns)) \
    T(n, send, resume, (struct pal_send *send, uint64_t *progress, bool blocking), (send, progress, blocking))         \
    D(n, send, cancel, (struct pal_send *send), (send))                                                                \
    D(n, send, end, (struct pal_send *send), (send))

#define HMAC(T, D, n)                                                                                                  \
    T(n, hmac, digest, (const struct pal_env *env, uint8_t *out, size_t cap, size_t *len, enum pal_digest digest,      \
      struct pal_view key, const struct pal_view *parts, size_t num), (env, out, cap, len, digest, key, parts, num))   \
    T(n, hmac, start, (const struct pal_env *env, enum pal_digest digest, struct pal_view key), (env, digest, key))    \
    T(n, hmac, update, (const struct pal_env *env, struct pal_view part), (env, part))                                 \
    T(n, hmac, finish, (const struct pal_env *env, uint8_t *out, size_t cap, size_t *len), (env, out, cap, len))       \
    D(n, hmac, drop, (const struct pal_env *env), (env))                                                               \
    D(n, hmac, stats, (const struct pal_env *env, struct pal_slot_stats *out), (env, out))

#define AEAD_CALL (const struct pal_env *env, uint8_t *out, size_t cap, size_t *len, const struct pal_aead_job *job, struct pal_view text)
#define AEAD(T, D, n)                                                                                                  \
    T(n, aead, seal, AEAD_CALL, (env, out, cap, len, job, text))                                                       \
    T(n, aead, open, AEAD_CALL, (env, out, cap, len, job, text))                                                       \
    T(n, aead, seal_fresh, AEAD_CALL, (env, out, cap, len, job, text))                                                 \
    D(n, aead, drop, (const struct pal_env *env), (env))                                                               \
    D(n, aead, stats, (const struct pal_env *env, struct pal_slot_stats *out), (env, out))

#define TOKEN(T, D, n)                                                                                                 \
    T(n, token, reserve, (const struct pal_env *env, struct pal_token *token, enum pal_mode mode, size_t more), (env, token, mode, more)) \
    T(n, token, append, (const struct pal_env *env, struct pal_token *token, enum pal_mode mode, struct pal_view bytes), \
      (env, token, mode, bytes))                                                                                       \
    T(n, token, release, (const struct pal_env *env, struct pal_token *token), (env, token))

#define COPY(n) TOKEN(TELLS, DOES, n) POOL(TELLS, DOES, n) TLS(TELLS, DOES, n) SEND(TELLS, DOES, n) HMAC(TELLS, DOES, n) AEAD(TELLS, DOES, n)
COPY(0) COPY(1) COPY(2) COPY(3)

#define ROW(AREA, n) {AREA(IN_TABLE, IN_TABLE, n)}
#define ROWS(AREA) {ROW(AREA, 0), ROW(AREA, 1), ROW(AREA, 2), ROW(AREA, 3)}
static const struct pal_pool_ops pool_timed[COPIES] = ROWS(POOL);
static const struct pal_tls_ops tls_timed[COPIES] = ROWS(TLS);
static const struct pal_send_ops send_timed[COPIES] = ROWS(SEND);
static const struct pal_hmac_ops hmac_timed[COPIES] = ROWS(HMAC);
static const struct pal_aead_ops aead_timed[COPIES] = ROWS(AEAD);
static const struct pal_token_ops token_timed[COPIES] = ROWS(TOKEN);
/* clang-format on */

/* ---- ports ---------------------------------------------------------------------------------------------------------
 */

/* Which copy of an area's functions is this table's; COPIES when none is left. */
#define COPY_OF(originals, table) copy_of((const void *const *)(originals), (table))

static size_t copy_of(const void *const *originals, const void *table)
{
    size_t n = 0;
    while (n < COPIES && originals[n] != NULL && originals[n] != table) {
        n++;
    }
    if (n == COPIES) {
        (void)fputs("paldiff: more tables than can be timed: a harness factor is too high\n", stderr);
    }
    return n;
}

#define REPLACE(area, slot)                                                                                            \
    do {                                                                                                               \
        size_t n = (slot) == NULL ? COPIES : COPY_OF(area##_originals, (slot));                                        \
        if (n < COPIES) {                                                                                              \
            area##_originals[n] = (slot);                                                                              \
            (slot) = &area##_timed[n];                                                                                 \
        }                                                                                                              \
    } while (false)

void timed_switch(bool on)
{
    timer.on = on;
}

const struct pal_port *timed_port(const struct pal_port *port)
{
    static struct {
        const struct pal_port *original;
        struct pal_port timed;
    } ports[PORTS];
    size_t at = 0;
    if (!timer.on || port == NULL) {
        return port;
    }
    while (at < PORTS && ports[at].original != NULL) {
        if (ports[at].original == port || &ports[at].timed == port) {
            return &ports[at].timed;
        }
        at++;
    }
    if (at == PORTS) {
        (void)fputs("paldiff: more ports than can be timed: a harness factor is too high\n", stderr);
        return port;
    }
    timer.clock_ns = bench_clock_ns();
    ports[at].original = port;
    ports[at].timed = *port;
    REPLACE(pool, ports[at].timed.pool);
    REPLACE(tls, ports[at].timed.tls);
    REPLACE(send, ports[at].timed.send);
    REPLACE(token, ports[at].timed.token);
    for (size_t mode = 0; mode < PAL_NUM_MODES; mode++) {
        REPLACE(hmac, ports[at].timed.hmac[mode]);
        REPLACE(aead, ports[at].timed.aead[mode]);
    }
    return &ports[at].timed;
}

/* The linker's --wrap: who asks for NAME gets __wrap_NAME, and __real_NAME is what he meant. */
#define WRAP(name)                                                                                                     \
    pal_port_get_fn __real_##name, __wrap_##name;                                                                      \
    const struct pal_port *__wrap_##name(void)                                                                         \
    {                                                                                                                  \
        return timed_port(__real_##name());                                                                            \
    }
WRAP(pal_port_openssl)
WRAP(pal_port_boringssl)
WRAP(pal_port_scripted)
WRAP(pal_port_reference)
