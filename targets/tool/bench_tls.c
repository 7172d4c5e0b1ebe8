/* SPDX-License-Identifier: Apache-2.0
 * bench_tls.c: a handshake and traffic between two ports over a socket.
 * It breaks when a port keeps part of its input in a handshake without saying so: the rest is counted here.
 */
#include "bench_tls.h"

#include "env.h"
#include "token.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

enum { OVERHEAD = 29 }; /* of a TLS 1.2 record with AES-GCM: header 5, nonce 8, tag 16 */

static const char name[] = "peer.example";

bool tls_world_init(struct tls_world *world)
{
    int64_t now = pal_env_real()->unix_time(NULL);
    const struct pal_tls_identity_spec spec = {
        PAL_TLS_KEY_P256, {(const uint8_t *)name, sizeof(name) - 1}, now - 86400, now + 86400};
    if (!bench_env_init(&world->env)) {
        return false;
    }
    if (pal_tls_make_identity_openssl(pal_env_real(), &world->identity, &spec) != PAL_OK) {
        (void)fputs("paldiff: no certificate can be made\n", stderr);
        return false;
    }
    return true;
}

void tls_world_deinit(struct tls_world *world)
{
    if (world->identity.memory != NULL) {
        pal_tls_credentials_release(pal_env_real(), &world->identity);
    }
    bench_env_deinit(&world->env);
}

/* Sends a token's bytes to the peer of ends[from], and gives the token back. */
static bool send_token(struct tls_world *world, struct tls_pair *pair, size_t from, struct pal_token *token,
                       struct tls_slack *slack)
{
    bool good = true;
    for (size_t at = 0; good && at < token->len;) {
        ssize_t sent = send(pair->sockets[from], token->payload + at, token->len - at, MSG_NOSIGNAL);
        world->env.counts.calls++;
        good = sent > 0 || errno == EINTR;
        at += sent > 0 ? (size_t)sent : 0;
    }
    pair->ends[1 - from].in_flight += token->len;
    atomic_fetch_add_explicit(&slack->cap, token->rental.cap, memory_order_relaxed);
    atomic_fetch_add_explicit(&slack->len, token->rental.data != NULL ? token->len : 0, memory_order_relaxed);
    return pal_token_release(world->env.env, token) == PAL_OK && good;
}

/* Receives all that is on its way to ends[to]. */
static bool receive(struct tls_pair *pair, size_t to, uint8_t *out, size_t cap)
{
    struct tls_end *end = &pair->ends[to];
    size_t len = 0;
    while (len < end->in_flight && end->in_flight <= cap) {
        ssize_t got = recv(pair->sockets[to], out + len, end->in_flight - len, MSG_WAITALL);
        if (got == 0 || (got < 0 && errno != EINTR)) {
            return false;
        }
        len += got > 0 ? (size_t)got : 0;
    }
    return len == end->in_flight;
}

/* ---- handshake -----------------------------------------------------------------------------------------------------
 */

static bool open_end(const struct tls_world *world, struct tls_pair *pair, size_t index, bool mutual)
{
    const struct pal_tls_identity identity = {world->identity.chain, world->identity.private_key};
    bool server = index == 1;
    struct pal_tls_config config = {.role = server ? PAL_TLS_SERVER : PAL_TLS_CLIENT,
                                    .shape = pair->kind->shape,
                                    .mode = pair->kind->mode,
                                    .version_min = PAL_TLS_1_2,
                                    .version_max = PAL_TLS_1_2};
    if (server || mutual) {
        config.identity = identity;
    }
    if (!server || mutual) {
        config.trusted = world->identity.ca;
    }
    if (!server) {
        config.server_name = (struct pal_view){(const uint8_t *)name, sizeof(name) - 1};
    }
    config.require_peer = server && mutual;
    return pair->kind->port->tls->open(world->env.env, &pair->ends[index].tls, &config) == PAL_OK;
}

/* One call of handshake. */
static bool shake_once(struct tls_world *world, struct tls_pair *pair, size_t index, enum pal_status *out_status,
                       struct tls_slack *slack)
{
    struct tls_end *end = &pair->ends[index];
    struct pal_token token = {0};
    size_t consumed = 0;
    if (!receive(pair, index, end->inbox + end->inbox_len, sizeof(end->inbox) - end->inbox_len)) {
        return false;
    }
    end->inbox_len += end->in_flight;
    end->in_flight = 0;
    *out_status =
        pair->kind->port->tls->handshake(end->tls, &token, &consumed, (struct pal_view){end->inbox, end->inbox_len});
    end->inbox_len -= consumed;
    memmove(end->inbox, end->inbox + consumed, end->inbox_len);
    return send_token(world, pair, index, &token, slack) && (*out_status == PAL_OK || *out_status == PAL_NEED_INPUT);
}

bool tls_pair_open(struct tls_world *world, struct tls_pair *pair, const struct tls_kind *kind, bool mutual,
                   struct tls_slack *slack)
{
    enum pal_status statuses[2] = {PAL_NEED_INPUT, PAL_NEED_INPUT};
    struct pal_tls_info info = {0};
    pair->kind = kind;
    bool good = open_end(world, pair, 0, mutual) && open_end(world, pair, 1, mutual);
    for (size_t turn = 0; good && (statuses[0] != PAL_OK || statuses[1] != PAL_OK); turn++) {
        size_t index = turn % 2;
        good = turn < 32 && (statuses[index] == PAL_OK || shake_once(world, pair, index, &statuses[index], slack));
    }
    good = good && kind->port->tls->info(pair->ends[0].tls, &info) == PAL_OK && info.record_overhead == OVERHEAD &&
           pair->ends[0].inbox_len == 0 && pair->ends[1].inbox_len == 0;
    if (!good) {
        tls_pair_close(pair);
    }
    return good;
}

void tls_pair_close(struct tls_pair *pair)
{
    for (size_t i = 0; i < 2; i++) {
        if (pair->ends[i].tls != NULL) {
            pair->kind->port->tls->close(pair->ends[i].tls);
        }
        pair->ends[i].tls = NULL;
        pair->ends[i].inbox_len = pair->ends[i].in_flight = 0;
    }
}

/* ---- traffic -------------------------------------------------------------------------------------------------------
 */

bool tls_pair_carry(struct tls_world *world, struct tls_pair *pair, size_t from, size_t len, struct tls_slack *slack)
{
    static const uint8_t plain[TLS_PLAIN_MAX] = {42};
    const struct pal_tls_ops *ops = pair->kind->port->tls;
    struct tls_end *to = &pair->ends[1 - from];
    struct pal_token token = {0};
    enum pal_status status = ops->encrypt(pair->ends[from].tls, &token, (struct pal_view){plain, len});
    size_t num_read = 0;
    bool good = send_token(world, pair, from, &token, slack) && status == PAL_OK &&
                receive(pair, 1 - from, world->wire, sizeof(world->wire));
    size_t input = to->in_flight;
    to->in_flight = 0;
    while (good && num_read < len) {
        size_t offset = 0;
        size_t count = 0;
        good = ops->decrypt(to->tls, &offset, &count, world->wire, input, sizeof(world->wire)) == PAL_OK;
        num_read += good ? count : 0;
        input = 0;
    }
    return good && num_read == len;
}
