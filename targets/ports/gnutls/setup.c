/* SPDX-License-Identifier: Apache-2.0
 * A GnuTLS session from a pal_tls_config.
 */
#include "port.h"

#include <gnutls/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHAIN_MAX 8u

/* der_len: of the DER value at the start of `view`; 0 when it is none. */
static size_t der_len(struct pal_view view)
{
    if (view.len < 2 || view.data[0] != 0x30) {
        return 0;
    }
    size_t num = view.data[1] & 0x7fu;
    size_t len = num;
    if ((view.data[1] & 0x80u) != 0) {
        len = 0;
        for (size_t i = 0; i < num && i + 2 < view.len; i++) {
            len = len << 8 | view.data[2 + i];
        }
        len += num;
    }
    return len + 2 <= view.len ? len + 2 : 0;
}

/* import: certificates that stand one after the other; their number, or -1. */
static int import(gnutls_x509_crt_t out[CHAIN_MAX], struct pal_view chain)
{
    int num = 0;
    while (chain.len > 0 && num < (int)CHAIN_MAX) {
        size_t len = der_len(chain);
        const gnutls_datum_t der = {(unsigned char *)(uintptr_t)chain.data, (unsigned)len};
        if (len == 0 || gnutls_x509_crt_init(&out[num]) < 0) {
            return -1;
        }
        if (gnutls_x509_crt_import(out[num++], &der, GNUTLS_X509_FMT_DER) < 0) {
            return -1;
        }
        chain.data += len;
        chain.len -= len;
    }
    return num;
}

static void forget(gnutls_x509_crt_t list[], int num)
{
    for (int i = 0; i < num; i++) {
        gnutls_x509_crt_deinit(list[i]);
    }
}

enum pal_status setup_identity(struct pal_tls *tls, const struct pal_tls_identity *identity)
{
    gnutls_x509_crt_t chain[CHAIN_MAX];
    gnutls_x509_privkey_t key = NULL;
    const gnutls_datum_t der = {(unsigned char *)(uintptr_t)identity->private_key.data,
                                (unsigned)identity->private_key.len};
    int num = import(chain, identity->chain);
    bool good = num > 0 && gnutls_x509_privkey_init(&key) == 0 &&
                gnutls_x509_privkey_import_pkcs8(key, &der, GNUTLS_X509_FMT_DER, NULL, GNUTLS_PKCS_PLAIN) == 0 &&
                gnutls_certificate_set_x509_key(tls->certificates, chain, num, key) >= 0;
    gnutls_x509_privkey_deinit(key);
    forget(chain, num > 0 ? num : 0);
    return good ? PAL_OK : PAL_BAD_ARGUMENT;
}

static bool trust(struct pal_tls *tls, struct pal_view trusted)
{
    gnutls_x509_crt_t list[CHAIN_MAX];
    int num = import(list, trusted);
    bool good = num > 0 && gnutls_certificate_set_x509_trust(tls->certificates, list, num) == num;
    forget(list, num > 0 ? num : 0);
    return good;
}

/* give_key: what the server is asked for an identity. */
static int give_key(gnutls_session_t session, const char *identity, gnutls_datum_t *key)
{
    const struct pal_tls *tls = gnutls_session_get_ptr(session);
    (void)identity;
    key->data = gnutls_malloc(tls->psk.len);
    key->size = (unsigned)tls->psk.len;
    if (key->data != NULL) {
        memcpy(key->data, tls->psk.data, tls->psk.len);
    }
    return key->data != NULL ? 0 : -1;
}

static bool use_psk(struct pal_tls *tls, const struct pal_tls_config *config)
{
    char name[256];
    const gnutls_datum_t key = {(unsigned char *)(uintptr_t)config->psk_key.data, (unsigned)config->psk_key.len};
    if (config->psk_identity.len >= sizeof(name) ||
        !bytes_add(tls->env, &tls->psk, config->psk_key.data, config->psk_key.len)) {
        return false;
    }
    memcpy(name, config->psk_identity.data, config->psk_identity.len);
    name[config->psk_identity.len] = '\0';
    if (tls->role == PAL_TLS_CLIENT) {
        return gnutls_psk_allocate_client_credentials(&tls->psk_client) == 0 &&
               gnutls_psk_set_client_credentials(tls->psk_client, name, &key, GNUTLS_PSK_KEY_RAW) == 0 &&
               gnutls_credentials_set(tls->session, GNUTLS_CRD_PSK, tls->psk_client) == 0;
    }
    if (gnutls_psk_allocate_server_credentials(&tls->psk_server) != 0) {
        return false;
    }
    gnutls_psk_set_server_credentials_function(tls->psk_server, give_key);
    return gnutls_credentials_set(tls->session, GNUTLS_CRD_PSK, tls->psk_server) == 0;
}

static bool set_priorities(struct pal_tls *tls, const struct pal_tls_config *config)
{
    const char *versions = config->version_max < PAL_TLS_1_3   ? "-VERS-TLS1.3"
                           : config->version_min > PAL_TLS_1_2 ? "-VERS-TLS1.2"
                                                               : "+VERS-TLS1.3";
    char text[256];
    (void)snprintf(text, sizeof(text), "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:%s%s", versions,
                   config->psk_key.len > 0 ? ":-KX-ALL:+ECDHE-PSK:+DHE-PSK:+PSK" : "");
    return gnutls_priority_set_direct(tls->session, text, NULL) == 0;
}

static bool set_alpn(struct pal_tls *tls, struct pal_view alpn)
{
    gnutls_datum_t names[8];
    unsigned num = 0;
    for (size_t at = 0; at < alpn.len && num < 8; at += 1u + alpn.data[at]) {
        names[num++] = (gnutls_datum_t){(unsigned char *)(uintptr_t)alpn.data + at + 1, alpn.data[at]};
    }
    return num == 0 || gnutls_alpn_set_protocols(tls->session, names, num, GNUTLS_ALPN_MANDATORY) == 0;
}

static bool set_name(struct pal_tls *tls, struct pal_view name)
{
    static const uint8_t end = 0;
    return name.len == 0 || tls->role == PAL_TLS_SERVER ||
           (gnutls_server_name_set(tls->session, GNUTLS_NAME_DNS, name.data, name.len) == 0 &&
            bytes_add(tls->env, &tls->name, name.data, name.len) && bytes_add(tls->env, &tls->name, &end, 1));
}

enum pal_status setup(struct pal_tls *tls, const struct pal_tls_config *config)
{
    unsigned role = tls->role == PAL_TLS_CLIENT ? GNUTLS_CLIENT : GNUTLS_SERVER;
    if (gnutls_init(&tls->session, role | GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL) != 0 ||
        gnutls_certificate_allocate_credentials(&tls->certificates) != 0) {
        return PAL_NO_MEMORY;
    }
    gnutls_session_set_ptr(tls->session, tls);
    if (!set_priorities(tls, config) || !set_alpn(tls, config->alpn)) {
        return PAL_ENGINE;
    }
    if (!set_name(tls, config->server_name)) {
        return PAL_NO_MEMORY;
    }
    if (config->psk_key.len > 0) {
        return use_psk(tls, config) ? PAL_OK : PAL_NO_MEMORY;
    }
    tls->verifies = config->trusted.len > 0;
    if (tls->verifies && !trust(tls, config->trusted)) {
        return PAL_BAD_ARGUMENT;
    }
    if (config->require_peer) {
        gnutls_certificate_server_set_request(tls->session, GNUTLS_CERT_REQUIRE);
    }
    if (gnutls_credentials_set(tls->session, GNUTLS_CRD_CERTIFICATE, tls->certificates) != 0) {
        return PAL_ENGINE;
    }
    tls->late = config->late_identity && tls->role == PAL_TLS_SERVER;
    return config->identity.chain.len > 0 && !tls->late ? setup_identity(tls, &config->identity) : PAL_OK;
}
