/* SPDX-License-Identifier: Apache-2.0
 * warm.c: both versions, with certificates and with a PSK, from empty and resumed, a record and a KeyUpdate each.
 * It is no test: what a peer answers is not looked at. It breaks when an engine makes per-connection state that
 * outlives the connection: that is then found in the ledger of whoever plays it first.
 */
#include "warm.h"

#include "engine.h"

#include "../env/env.h"

#include <openssl/ec.h>
#include <openssl/objects.h>
#include <string.h>

/* move: what one has written becomes the other's input. */
static bool move(struct tls_engine *to, struct tls_engine *from)
{
    static const size_t step_max = 4096;
    uint8_t bytes[4096];
    size_t len;

    while ((len = tls_engine_produced(from)) > 0) {
        len = len < step_max ? len : step_max;
        if (!tls_engine_take(from, bytes, len) || tls_engine_feed(to, (struct pal_view){bytes, len}) != TLS_DONE) {
            return false;
        }
    }
    return true;
}

static bool talk(struct tls_engine *client, struct tls_engine *server)
{
    struct pal_view hello = {(const uint8_t *)"hello", 5};
    uint8_t got[16];
    size_t count;

    for (int i = 0; i < 2; i++) {
        (void)tls_engine_update_keys(client, true);
        if (tls_engine_write(client, hello) != TLS_DONE || !move(server, client) ||
            tls_engine_read(server, got, &count, sizeof(got)) != TLS_DONE) {
            return false;
        }
        (void)tls_engine_flush(server);
        if (tls_engine_write(server, hello) != TLS_DONE || !move(client, server) ||
            tls_engine_read(client, got, &count, sizeof(got)) != TLS_DONE) {
            return false;
        }
    }
    (void)tls_engine_renegotiate(client);
    (void)tls_engine_shutdown(client);
    (void)tls_engine_alert(server, 80);
    return true;
}

/* play: one connection; `ticket` is taken and replaced by a newer one, of `cap` bytes at most. */
static bool play(const struct pal_tls_config *configs, uint8_t *ticket, size_t *ticket_len, size_t cap)
{
    struct pal_tls_config client_config = configs[0];
    struct tls_engine *ends[2] = {NULL, NULL};
    struct pal_view session;
    bool ok = false;

    client_config.ticket = (struct pal_view){ticket, *ticket_len};
    if (tls_engine_open(pal_env_real(), &ends[0], &client_config, NULL) == TLS_DONE &&
        tls_engine_open(pal_env_real(), &ends[1], &configs[1], NULL) == TLS_DONE) {
        for (int i = 0; i < 8; i++) {
            (void)tls_engine_handshake(ends[i % 2]);
            if (!move(ends[1 - i % 2], ends[i % 2])) {
                break;
            }
        }
        ok = talk(ends[0], ends[1]);
        *ticket_len = 0;
        if (ok && tls_engine_export(ends[0], &session) == TLS_DONE && session.len <= cap) {
            memcpy(ticket, session.data, session.len);
            *ticket_len = session.len;
        }
    }
    tls_engine_close(ends[0]);
    tls_engine_close(ends[1]);
    return ok;
}

static bool play_twice(struct pal_tls_config configs[2], uint16_t version)
{
    uint8_t ticket[4096];
    size_t ticket_len = 0;

    for (int i = 0; i < 2; i++) {
        configs[i].version_min = configs[i].version_max = version;
    }
    for (int i = 0; i < 2; i++) {
        if (!play(configs, ticket, &ticket_len, sizeof(ticket))) {
            return false;
        }
    }
    return true;
}

/* A group that a peer asks for first is made then, and stays. */
static void make_groups(void)
{
    static const int groups[] = {NID_X9_62_prime256v1, NID_secp384r1, NID_secp521r1};

    for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
        EC_GROUP_free(EC_GROUP_new_by_curve_name(groups[i]));
    }
}

bool tls_warm(void)
{
    static const uint8_t name[] = "warm", protocol[] = "\4warm";
    const struct pal_env *env = pal_env_real();
    int64_t now = env->unix_time(env->context);
    const struct pal_tls_identity_spec spec = {PAL_TLS_KEY_P256, {name, 4}, now - 86400, now + 86400};
    struct pal_tls_credentials made = {0};
    struct pal_tls_config configs[2] = {{.role = PAL_TLS_CLIENT}, {.role = PAL_TLS_SERVER, .require_peer = true}};
    bool ok = tls_credentials_make(env, &made, &spec) == PAL_OK;

    make_groups();
    for (int i = 0; i < 2; i++) {
        configs[i].identity = (struct pal_tls_identity){made.chain, made.private_key};
        configs[i].trusted = made.ca;
        configs[i].server_name = (struct pal_view){name, 4};
        configs[i].alpn = (struct pal_view){protocol, 5};
    }
    ok = ok && play_twice(configs, PAL_TLS_1_2) && play_twice(configs, PAL_TLS_1_3);
    for (int i = 0; i < 2; i++) {
        configs[i] = (struct pal_tls_config){.role = configs[i].role};
        configs[i].psk_identity = configs[i].psk_key = (struct pal_view){name, 4};
    }
    ok = ok && play_twice(configs, PAL_TLS_1_2);
    /* An engine without it says so when asked to open. */
    if (ok) {
        (void)play_twice(configs, PAL_TLS_1_3);
    }
    pal_tls_credentials_release(env, &made);
    return ok;
}
