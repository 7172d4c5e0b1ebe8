/* SPDX-License-Identifier: Apache-2.0
 * An mbed TLS context from a pal_tls_config.
 */
#include "port.h"

#include <mbedtls/ssl_ticket.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#define CHAIN_MAX 8u
#define TICKET_SECONDS 86400u

static pthread_mutex_t ticket_lock = PTHREAD_MUTEX_INITIALIZER;
static mbedtls_ssl_ticket_context tickets; /* of all servers; keyed at the first one's set-up */
static bool tickets_ready;
static _Thread_local struct pal_tls *ticket_user;

/* ---- certificates -------------------------------------------------------------------------------------------------
 */

/* import: certificates that stand one after the other; false for anything else. */
static bool import(mbedtls_x509_crt *out, struct pal_view chain)
{
    mbedtls_x509_crt *last = out;
    for (size_t i = 0; chain.len > 0 && i < CHAIN_MAX; i++) {
        if (mbedtls_x509_crt_parse_der(out, chain.data, chain.len) != 0) {
            return false;
        }
        while (last->next != NULL) {
            last = last->next;
        }
        chain.data += last->raw.len;
        chain.len -= last->raw.len;
    }
    return chain.len == 0;
}

enum pal_status setup_identity(struct pal_tls *tls, const struct pal_tls_identity *identity)
{
    bool good = import(&tls->own, identity->chain) &&
                mbedtls_pk_parse_key(&tls->key, identity->private_key.data, identity->private_key.len, NULL, 0) == 0 &&
                mbedtls_ssl_conf_own_cert(&tls->config, &tls->own, &tls->key) == 0;
    return good ? PAL_OK : PAL_BAD_ARGUMENT;
}

static int64_t seconds_of(const mbedtls_x509_time *time)
{
    struct tm tm = {.tm_year = time->year - 1900,
                    .tm_mon = time->mon - 1,
                    .tm_mday = time->day,
                    .tm_hour = time->hour,
                    .tm_min = time->min,
                    .tm_sec = time->sec};
    return (int64_t)timegm(&tm);
}

/* verify: what the engine found of one certificate, with the environment's clock in place of its own. */
static int verify(void *pointer, mbedtls_x509_crt *certificate, int depth, uint32_t *flags)
{
    const struct pal_tls *tls = pointer;
    int64_t now = tls->env->unix_time(tls->env->context);
    (void)depth;
    *flags &= ~(uint32_t)(MBEDTLS_X509_BADCERT_EXPIRED | MBEDTLS_X509_BADCERT_FUTURE);
    *flags |= now > seconds_of(&certificate->valid_to) ? MBEDTLS_X509_BADCERT_EXPIRED : 0;
    *flags |= now < seconds_of(&certificate->valid_from) ? MBEDTLS_X509_BADCERT_FUTURE : 0;
    return 0;
}

static bool set_trust(struct pal_tls *tls, const struct pal_tls_config *config)
{
    bool verifies = config->trusted.len > 0 && (config->role == PAL_TLS_CLIENT || config->require_peer);
    mbedtls_ssl_conf_authmode(&tls->config, verifies ? MBEDTLS_SSL_VERIFY_REQUIRED : MBEDTLS_SSL_VERIFY_NONE);
    mbedtls_ssl_conf_verify(&tls->config, verify, tls);
    mbedtls_ssl_conf_ca_chain(&tls->config, &tls->trusted, NULL);
    return import(&tls->trusted, config->trusted);
}

/* ---- names --------------------------------------------------------------------------------------------------------
 */

static enum pal_status set_alpn(struct pal_tls *tls, struct pal_view alpn)
{
    static const uint8_t end = 0;
    size_t num = 0;
    for (size_t at = 0; at < alpn.len && num < ALPN_MAX; at += 1u + alpn.data[at], num++) {
        if (!bytes_add(tls->env, &tls->names, alpn.data + at + 1, alpn.data[at]) ||
            !bytes_add(tls->env, &tls->names, &end, 1)) {
            return PAL_NO_MEMORY;
        }
    }
    const char *name = (const char *)tls->names.data;
    for (size_t i = 0; i < num; i++) {
        tls->alpn[i] = name;
        name += strlen(name) + 1;
    }
    return num == 0 || mbedtls_ssl_conf_alpn_protocols(&tls->config, tls->alpn) == 0 ? PAL_OK : PAL_ENGINE;
}

static enum pal_status set_server_name(struct pal_tls *tls, struct pal_view server_name)
{
    char name[MBEDTLS_SSL_MAX_HOST_NAME_LEN + 1];
    if (server_name.len == 0 || tls->role == PAL_TLS_SERVER) {
        return PAL_OK;
    }
    if (server_name.len >= sizeof(name)) {
        return PAL_BAD_ARGUMENT;
    }
    memcpy(name, server_name.data, server_name.len);
    name[server_name.len] = '\0';
    return mbedtls_ssl_set_hostname(&tls->ssl, name) == 0 ? PAL_OK : PAL_NO_MEMORY;
}

/* ---- tickets ------------------------------------------------------------------------------------------------------
 */

/* ticket_random: from the environment of the server that a ticket is made for. */
static int ticket_random(void *unused, unsigned char *out, size_t len)
{
    (void)unused;
    return random_bytes(ticket_user, out, len);
}

static int ticket_write(void *pointer, const mbedtls_ssl_session *session, unsigned char *start,
                        const unsigned char *end, size_t *out_len, uint32_t *out_lifetime)
{
    ticket_user = pointer;
    return mbedtls_ssl_ticket_write(&tickets, session, start, end, out_len, out_lifetime);
}

static int ticket_parse(void *pointer, mbedtls_ssl_session *session, unsigned char *ticket, size_t len)
{
    ticket_user = pointer;
    return mbedtls_ssl_ticket_parse(&tickets, session, ticket, len);
}

static bool set_tickets(struct pal_tls *tls)
{
    ticket_user = tls;
    (void)pthread_mutex_lock(&ticket_lock);
    if (!tickets_ready) {
        mbedtls_ssl_ticket_init(&tickets);
        tickets_ready =
            mbedtls_ssl_ticket_setup(&tickets, ticket_random, NULL, MBEDTLS_CIPHER_AES_256_GCM, TICKET_SECONDS) == 0;
        if (!tickets_ready) {
            mbedtls_ssl_ticket_free(&tickets);
        }
    }
    bool ready = tickets_ready;
    (void)pthread_mutex_unlock(&ticket_lock);
    mbedtls_ssl_conf_session_tickets_cb(&tls->config, ticket_write, ticket_parse, tls);
    return ready;
}

/* ---- all of it ----------------------------------------------------------------------------------------------------
 */

/* groups: in the order of today's clients; mbed TLS's own begins with secp521r1. */
static const mbedtls_ecp_group_id groups[] = {MBEDTLS_ECP_DP_CURVE25519, MBEDTLS_ECP_DP_SECP256R1,
                                              MBEDTLS_ECP_DP_SECP384R1, MBEDTLS_ECP_DP_SECP521R1, MBEDTLS_ECP_DP_NONE};

static bool set_psk(struct pal_tls *tls, const struct pal_tls_config *config)
{
    return config->psk_key.len == 0 || mbedtls_ssl_conf_psk(&tls->config, config->psk_key.data, config->psk_key.len,
                                                            config->psk_identity.data, config->psk_identity.len) == 0;
}

/* offer: a session to go on with. One that cannot be read is not offered. */
static void offer(struct pal_tls *tls, struct pal_view ticket)
{
    mbedtls_ssl_session session;
    mbedtls_ssl_session_init(&session);
    if (ticket.len > 0 && mbedtls_ssl_session_load(&session, ticket.data, ticket.len) == 0) {
        (void)mbedtls_ssl_set_session(&tls->ssl, &session);
    }
    mbedtls_ssl_session_free(&session);
}

enum pal_status setup(struct pal_tls *tls, const struct pal_tls_config *config)
{
    int endpoint = tls->role == PAL_TLS_CLIENT ? MBEDTLS_SSL_IS_CLIENT : MBEDTLS_SSL_IS_SERVER;
    if (mbedtls_ssl_config_defaults(&tls->config, endpoint, MBEDTLS_SSL_TRANSPORT_STREAM, MBEDTLS_SSL_PRESET_DEFAULT) !=
        0) {
        return PAL_NO_MEMORY;
    }
    mbedtls_ssl_conf_rng(&tls->config, random_bytes, tls);
    mbedtls_ssl_conf_min_version(&tls->config, MBEDTLS_SSL_MAJOR_VERSION_3, MBEDTLS_SSL_MINOR_VERSION_3);
    mbedtls_ssl_conf_max_version(&tls->config, MBEDTLS_SSL_MAJOR_VERSION_3, MBEDTLS_SSL_MINOR_VERSION_3);
    mbedtls_ssl_conf_curves(&tls->config, groups);
    mbedtls_ssl_conf_renegotiation(&tls->config, MBEDTLS_SSL_RENEGOTIATION_ENABLED);
    mbedtls_ssl_conf_renegotiation_enforced(&tls->config, MBEDTLS_SSL_RENEGOTIATION_NOT_ENFORCED);
    if (!set_trust(tls, config)) {
        return PAL_BAD_ARGUMENT;
    }
    enum pal_status status = set_alpn(tls, config->alpn);
    if (status == PAL_OK && !set_psk(tls, config)) {
        status = PAL_NO_MEMORY;
    }
    tls->late = config->late_identity;
    if (status == PAL_OK && config->identity.chain.len > 0 && !tls->late) {
        status = setup_identity(tls, &config->identity);
    }
    if (status == PAL_OK && tls->role == PAL_TLS_SERVER && !set_tickets(tls)) {
        status = tls->no_random ? PAL_NO_RANDOM : PAL_ENGINE;
    }
    if (status == PAL_OK && mbedtls_ssl_setup(&tls->ssl, &tls->config) != 0) {
        status = PAL_NO_MEMORY;
    }
    status = status == PAL_OK ? set_server_name(tls, config->server_name) : status;
    if (status == PAL_OK && tls->role == PAL_TLS_CLIENT) {
        offer(tls, config->ticket);
    }
    return status;
}
