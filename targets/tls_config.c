/* SPDX-License-Identifier: Apache-2.0
 * tls_config.c: the certificates' private keys come from a random source that anybody can compute: they are the same in
 * every process, and nobody's secret.
 */
#include "tls_config.h"

#include "env.h"
#include "ports.h"
#include "tls/credentials.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define NOW 1700000000
#define DAY 86400
#define LAST_SECOND                                                                                                    \
    2524607999 /* of 2049: a runtime that cannot be told the time takes its own, and later dates have another form */

static struct pal_tls_credentials credentials[2]; /* of two authorities; made once, never changed */
static pthread_once_t made = PTHREAD_ONCE_INIT;

static struct pal_view text(const char *string)
{
    return (struct pal_view){(const uint8_t *)string, strlen(string)};
}

static void make_credentials(void)
{
    static struct world_env world; /* outlives what is made through it */
    const struct pal_tls_identity_spec spec = {PAL_TLS_KEY_P256, text("peer.example"), NOW - DAY, LAST_SECOND};
    world_env_init(&world);
    for (size_t i = 0; i < 2; i++) {
        world_env_step(&world, i);
        if (pal_tls_make_identity_openssl(&world.env, &credentials[i], &spec) != PAL_OK) {
            abort();
        }
    }
}

static bool is_reference(const struct world *world)
{
    return world->port == pal_port_openssl() || world->port == pal_port_boringssl();
}

static const struct pal_port *engine_port(const struct world *world, uint32_t engine, enum tls_side side)
{
    if (side == TLS_WE && !is_reference(world)) {
        return world->port;
    }
    return engine == 0 ? pal_port_openssl() : pal_port_boringssl();
}

static void configure_versions(struct tls_terms *terms, struct pal_tls_config *client, struct pal_tls_config *server)
{
    uint32_t version = terms->number[OPEN_VERSION];
    uint16_t min = version == VERSION_1_3 ? PAL_TLS_1_3 : PAL_TLS_1_2;
    uint16_t max = version == VERSION_1_2 ? PAL_TLS_1_2 : PAL_TLS_1_3;
    client->version_min = server->version_min = min;
    client->version_max = server->version_max = max;
    terms->version = max;
    if (terms->number[OPEN_SPOIL] == SPOIL_VERSION) {
        client->version_min = client->version_max = PAL_TLS_1_2;
        server->version_min = server->version_max = PAL_TLS_1_3;
    }
}

static void configure_identities(const struct tls_terms *terms, struct pal_tls_config *client,
                                 struct pal_tls_config *server)
{
    uint32_t spoil = terms->number[OPEN_SPOIL];
    struct pal_tls_identity identity = {credentials[0].chain, credentials[0].private_key};
    if (terms->number[OPEN_AUTH] == AUTH_PSK) {
        client->psk_identity = server->psk_identity = text("somebody");
        client->psk_key = server->psk_key = text("0123456789abcdef0123456789abcdef");
        return;
    }
    server->identity = identity;
    client->trusted = credentials[spoil == SPOIL_AUTHORITY ? 1 : 0].ca;
    client->server_name = text(spoil == SPOIL_NAME ? "other.example" : "peer.example");
    if (terms->number[OPEN_AUTH] == AUTH_MUTUAL || spoil == SPOIL_CERTIFICATE) {
        server->trusted = credentials[0].ca;
        server->require_peer = true;
        if (spoil != SPOIL_CERTIFICATE) {
            client->identity = identity;
        }
    }
    server->late_identity = terms->number[OPEN_LATE] != 0;
    client->late_identity = terms->number[OPEN_LATE] != 0 && client->identity.chain.len > 0;
}

static void configure_alpn(const struct tls_terms *terms, struct pal_tls_config *client, struct pal_tls_config *server)
{
    static const char *const offered[NUM_ALPNS] = {"", "\2h2", "\3foo\2h2"};
    if (terms->number[OPEN_SPOIL] == SPOIL_PROTOCOL) {
        client->alpn = text("\2h2");
        server->alpn = text("\3foo");
        return;
    }
    client->alpn = text(offered[terms->number[OPEN_ALPN]]);
    server->alpn = text(terms->number[OPEN_ALPN] == ALPN_NONE ? "" : "\2h2");
}

/* spoil_of: what can be spoilt under these terms. */
static uint32_t spoil_of(const uint32_t fields[OPEN_FIELDS])
{
    return fields[OPEN_AUTH] == AUTH_PSK ? SPOIL_NONE : fields[OPEN_SPOIL];
}

uint32_t tls_engine_of(const struct tls_end *end, const struct tls_terms *terms)
{
    bool other = end->side == TLS_WE && !is_reference(end->link->world);
    return other ? TLS_ENGINE_OTHER : terms->number[end->side == TLS_WE ? OPEN_ENGINE : OPEN_PEER];
}

static void configure_ticket(struct tls_terms *terms, struct pal_tls_config *client, struct tls_link *link,
                             const struct tls_ticket *ticket)
{
    const uint32_t *number = terms->number;
    uint32_t client_engine = tls_engine_of(&link->ends[terms->client], terms);
    uint32_t server_engine = tls_engine_of(tls_other(&link->ends[terms->client]), terms);
    if (number[OPEN_TICKET] == 0 || ticket->bytes.len == 0 || number[OPEN_SPOIL] != SPOIL_NONE ||
        ticket->client != client_engine || number[OPEN_AUTH] == AUTH_PSK) {
        return;
    }
    client->ticket = ticket->bytes;
    terms->offers = true;
    terms->resumes = ticket->server == server_engine && ticket->version == terms->version &&
                     ticket->auth == number[OPEN_AUTH] && ticket->alpn == number[OPEN_ALPN];
}

void tls_configure(struct tls_terms *out, struct tls_link *link, const uint32_t fields[OPEN_FIELDS],
                   const struct tls_ticket *ticket)
{
    struct tls_end *we = &link->ends[TLS_WE];
    struct tls_end *peer = &link->ends[TLS_PEER];
    uint32_t shift = link->world->mode == PAL_FRESH ? fields[OPEN_AGAINST] : 0;
    (void)pthread_once(&made, make_credentials);
    memset(out, 0, sizeof(*out));
    memcpy(out->number, fields, sizeof(out->number));
    out->number[OPEN_ENGINE] = is_reference(link->world) ? fields[OPEN_ENGINE] : 0; /* any other port is one engine */
    out->number[OPEN_SPOIL] = spoil_of(fields);
    out->client = fields[OPEN_ROLE] == 0 ? TLS_WE : TLS_PEER;
    struct pal_tls_config client = {.role = PAL_TLS_CLIENT, .mode = link->world->mode};
    struct pal_tls_config server = {.role = PAL_TLS_SERVER, .mode = link->world->mode};
    configure_versions(out, &client, &server);
    configure_identities(out, &client, &server);
    configure_alpn(out, &client, &server);
    configure_ticket(out, &client, link, ticket);
    bool client_finds = out->number[OPEN_SPOIL] == SPOIL_AUTHORITY || out->number[OPEN_SPOIL] == SPOIL_NAME;
    out->finder = client_finds == (out->client == TLS_WE) ? TLS_WE : TLS_PEER;
    we->ops = engine_port(link->world, fields[OPEN_ENGINE], TLS_WE)->tls;
    peer->ops = engine_port(link->world, fields[OPEN_PEER], TLS_PEER)->tls;
    we->config = out->client == TLS_WE ? client : server;
    peer->config = out->client == TLS_WE ? server : client;
    we->config.shape = (enum pal_tls_shape)((fields[OPEN_SHAPE] + shift) % PAL_TLS_NUM_SHAPES);
    peer->config.shape = (enum pal_tls_shape)fields[OPEN_PEER_SHAPE];
    /* BoringSSL has no external PSK of TLS 1.3. */
    if (fields[OPEN_AUTH] == AUTH_PSK && (out->number[OPEN_ENGINE] != 0 || fields[OPEN_PEER] != 0)) {
        out->version = PAL_TLS_1_2;
    }
}

uint32_t tls_disagreements(const struct tls_link *link, const struct tls_terms *terms)
{
    const struct tls_end *client = &link->ends[terms->client];
    const struct tls_end *server = &link->ends[terms->client == TLS_WE ? TLS_PEER : TLS_WE];
    /* Views of an info die with the next call on its object, and the two are of different objects. */
    struct pal_tls_info a = tls_end_info(client);
    struct pal_tls_info b = tls_end_info(server);
    struct pal_view alpn = terms->number[OPEN_ALPN] == ALPN_NONE ? (struct pal_view){NULL, 0} : text("h2");
    bool certified = terms->number[OPEN_AUTH] != AUTH_PSK;
    bool mutual = terms->number[OPEN_AUTH] == AUTH_MUTUAL;
    struct pal_view chain = credentials[0].chain;
    uint32_t off = 0;
    off += a.version != terms->version || b.version != terms->version ? 1 : 0;
    off += a.cipher_suite != b.cipher_suite || a.cipher_suite == 0 ? 1 : 0;
    off += !views_equal(a.alpn, alpn) || !views_equal(b.alpn, alpn) ? 1 : 0;
    /* An engine may count an external PSK of TLS 1.3 as a resumption, as OpenSSL does, or not, as GnuTLS (RFC 8446 2.2
     * uses one message for both). */
    bool known = certified && (!terms->offers || terms->resumes);
    off += (certified && a.resumed != b.resumed) || (known && a.resumed != terms->resumes) ? 1 : 0;
    off += !a.resumed && certified && !views_equal(a.peer_certificate, chain) ? 1 : 0;
    off += !a.resumed && mutual && !views_equal(b.peer_certificate, chain) ? 1 : 0;
    return off;
}
