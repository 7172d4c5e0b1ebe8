/* SPDX-License-Identifier: Apache-2.0
 * engine_own.c: everything in lib/tls that differs between OpenSSL and BoringSSL: randomness and time, what is made
 * early, keys, KeyUpdate, renegotiation, alerts on demand, sessions as bytes. It breaks when the engine's archive was
 * not prepared as ci/engines.cmake does it: then randomness is not ours.
 */
#include "engine_ssl.h"
#include "warm.h"

#include "../env/env.h"

#include <limits.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include <openssl/ec.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

/* ---- the world of the running call
 * ------------------------------------------------------------------------------------ */

static _Thread_local struct {
    const struct pal_env *env; /* NULL outside of tls_enter and tls_leave: the real one */
    bool random_failed;
} here;

void tls_enter(const struct pal_env *env)
{
    tls_own_hold();
    engine_enter(env);
    here.env = env;
    here.random_failed = false;
}

enum tls_event tls_leave(enum tls_event event)
{
    /* A failure, whatever the event is: an engine that succeeds may still have left an error or its text behind. */
    bool refused = engine_leave(PAL_ENGINE) == PAL_NO_MEMORY;
    bool random_failed = here.random_failed;

    here.env = NULL;
    tls_own_let_go(refused);
    if (random_failed)
        return TLS_NO_RANDOM;
    if (refused && (event == TLS_FAILED || event == TLS_BROKEN || event == TLS_BAD_ARGUMENT))
        return TLS_NO_MEMORY;
    return event;
}

/* BoringSSL cannot be told that its source failed, so it is given something; tls_leave then answers TLS_NO_RANDOM, and
 * nothing that was made of it is handed out. */
bool tls_random(uint8_t *out, size_t len)
{
    const struct pal_env *env = here.env != NULL ? here.env : pal_env_real();

    if (env->random(env->context, out, len) == PAL_OK)
        return true;
    memset(out, 0x5a, len);
    here.random_failed = true;
    return false;
}

/* The libraries' time(): all of them are in this object, and find this one. Named so that no header's time() clashes.
 */
time_t tls_own_time(time_t *out) __asm__("time");

time_t tls_own_time(time_t *out)
{
    const struct pal_env *env = here.env != NULL ? here.env : pal_env_real();
    time_t now = (time_t)env->unix_time(env->context);

    if (out != NULL)
        *out = now;
    return now;
}

#ifdef OPENSSL_IS_BORINGSSL

/* ---- BoringSSL
 * ---------------------------------------------------------------------------------------------------------- */

#include <sys/time.h>

/* The library's own is made weak by ci/engines.cmake. */
/* Which suites are preferred must not depend on the machine, or on the build having assembly. */
int EVP_has_aes_hardware(void)
{
    return 1;
}

void RAND_bytes_with_additional_data(uint8_t *out, size_t len, const uint8_t additional[32]);

void RAND_bytes_with_additional_data(uint8_t *out, size_t len, const uint8_t additional[32])
{
    (void)additional;
    if (len > 0)
        (void)tls_random(out, len);
}

bool tls_own_hooks(void)
{
    return true;
}

static void current_time(const SSL *ssl, struct timeval *out)
{
    (void)ssl;
    *out = (struct timeval){.tv_sec = tls_own_time(NULL)};
}

SSL_CTX *tls_own_context(void)
{
    SSL_CTX *made = SSL_CTX_new(TLS_method());

    if (made != NULL)
        SSL_CTX_set_current_time_cb(made, current_time);
    return made;
}

bool tls_own_warm(void)
{
    return tls_warm();
}

void tls_own_hold(void)
{
}

void tls_own_let_go(bool refused)
{
    (void)refused;
}

EVP_PKEY *tls_own_key(struct pal_view der)
{
    CBS bytes;
    EVP_PKEY *key;

    CBS_init(&bytes, der.data, der.len);
    key = EVP_parse_private_key(&bytes);
    if (key != NULL && CBS_len(&bytes) > 0) {
        EVP_PKEY_free(key);
        key = NULL;
    }
    return key;
}

X509 *tls_own_certificate(struct pal_view *der)
{
    const uint8_t *at = der->data;
    X509 *made = der->len > LONG_MAX ? NULL : d2i_X509(NULL, &at, (long)der->len);

    if (made != NULL) {
        der->len -= (size_t)(at - der->data);
        der->data = at;
        X509_check_purpose(made, -1, 0); /* caches its extensions, here and not under some environment */
    }
    return made;
}

/* Its TLS 1.3 has PSKs of its own tickets only (ssl.h, SSL_CTX_set_psk_client_callback: "TLS 1.2 and earlier"). */
uint16_t tls_own_psk_version_max(void)
{
    return PAL_TLS_1_2;
}

/* A write of nothing sends what waits for the next record, and no record. */
enum tls_event tls_own_flush(SSL *ssl)
{
    int result;

    if (SSL_in_init(ssl) || SSL_version(ssl) != TLS1_3_VERSION)
        return TLS_DONE;
    result = SSL_write(ssl, "", 0);
    return result == 0 ? TLS_DONE : TLS_BROKEN;
}

enum tls_event tls_own_update_keys(SSL *ssl, bool request_peer)
{
    if (SSL_key_update(ssl, request_peer ? SSL_KEY_UPDATE_REQUESTED : SSL_KEY_UPDATE_NOT_REQUESTED) != 1)
        return TLS_BROKEN;
    return tls_own_flush(ssl);
}

/* A client follows a server's request; neither side can make one (ssl.h, SSL_renegotiate: "a deferred renegotiation").
 */
enum tls_event tls_own_renegotiate(SSL *ssl)
{
    (void)ssl;
    return TLS_UNSUPPORTED;
}

void tls_own_allow_renegotiation(SSL *ssl)
{
    SSL_set_renegotiate_mode(ssl, ssl_renegotiate_freely);
}

enum tls_event tls_own_alert(SSL *ssl, uint8_t description)
{
    return SSL_send_fatal_alert(ssl, description) > 0 ? TLS_DONE : TLS_BROKEN;
}

size_t tls_own_export(SSL_SESSION *session, uint8_t **out)
{
    size_t len = 0;

    return SSL_SESSION_to_bytes(session, out, &len) == 1 ? len : 0;
}

SSL_SESSION *tls_own_import(struct pal_view bytes)
{
    return SSL_SESSION_from_bytes(bytes.data, bytes.len, tls_setup_context());
}

#else

/* ---- OpenSSL 3
 * ---------------------------------------------------------------------------------------------------------- */

#include <openssl/kdf.h>

static int random_bytes(uint8_t *out, int len)
{
    return len <= 0 || tls_random(out, (size_t)len) ? 1 : 0;
}

static int random_status(void)
{
    return 1;
}

bool tls_own_hooks(void)
{
    static const RAND_METHOD method = {.bytes = random_bytes, .pseudorand = random_bytes, .status = random_status};

    return OPENSSL_init_ssl(OPENSSL_INIT_NO_ATEXIT | OPENSSL_INIT_NO_LOAD_CONFIG, NULL) == 1 &&
           RAND_set_rand_method(&method) == 1;
}

SSL_CTX *tls_own_context(void)
{
    /* In BoringSSL's order, and with the hash of an external PSK first (RFC 8446 4.2.11). */
    static const char suites[] = "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256";
    SSL_CTX *made = SSL_CTX_new(TLS_method());

    if (made == NULL)
        return NULL;
    SSL_CTX_set_options(made, SSL_OP_ALLOW_CLIENT_RENEGOTIATION);
    if (SSL_CTX_set_ciphersuites(made, suites) == 1)
        return made;
    SSL_CTX_free(made);
    return NULL;
}

/* Each fetch puts what it found into a cache of the process, so what TLS uses is fetched here first. */
#define FETCH(kind, name) kind##_free(kind##_fetch(NULL, name, NULL))

static void fetch_all(void)
{
    FETCH(EVP_MD, "MD5");
    FETCH(EVP_MD, "SHA1");
    FETCH(EVP_MD, "SHA2-256");
    FETCH(EVP_MD, "SHA2-384");
    FETCH(EVP_MD, "SHA2-512");
    FETCH(EVP_CIPHER, "AES-128-GCM");
    FETCH(EVP_CIPHER, "AES-256-GCM");
    FETCH(EVP_CIPHER, "AES-128-CBC");
    FETCH(EVP_CIPHER, "ChaCha20-Poly1305");
    FETCH(EVP_MAC, "HMAC");
    FETCH(EVP_KDF, "HKDF");
    FETCH(EVP_KDF, "TLS1-PRF");
    FETCH(EVP_KDF, "TLS13-KDF");
    FETCH(EVP_KEYMGMT, "EC");
    FETCH(EVP_KEYMGMT, "RSA");
    FETCH(EVP_KEYMGMT, "RSA-PSS");
    FETCH(EVP_KEYMGMT, "DH");
    FETCH(EVP_KEYMGMT, "X25519");
    FETCH(EVP_KEYMGMT, "ED25519");
    FETCH(EVP_KEYMGMT, "HMAC");
    FETCH(EVP_KEYEXCH, "ECDH");
    FETCH(EVP_KEYEXCH, "DH");
    FETCH(EVP_KEYEXCH, "X25519");
    FETCH(EVP_SIGNATURE, "ECDSA");
    FETCH(EVP_SIGNATURE, "RSA");
    FETCH(EVP_SIGNATURE, "HMAC");
    ERR_clear_error();
}

bool tls_own_warm(void)
{
    fetch_all();
    return tls_warm();
}

/* Calls hold it for reading, so that none finds the cache empty. */
static pthread_rwlock_t calls = PTHREAD_RWLOCK_INITIALIZER;

void tls_own_hold(void)
{
    pthread_rwlock_rdlock(&calls);
}

/* A fetch that cannot have memory to look its name up searches the providers instead, succeeds, and replaces the entry
 * in the cache of the process by one from the environment (evp_fetch.c, inner_evp_generic_fetch). Setting the default
 * properties to what they are empties that cache. */
void tls_own_let_go(bool refused)
{
    pthread_rwlock_unlock(&calls);
    if (!refused)
        return;
    pthread_rwlock_wrlock(&calls);
    (void)EVP_set_default_properties(NULL, "");
    fetch_all();
    pthread_rwlock_unlock(&calls);
}

/* Without OSSL_DECODER, which takes 400 us (1.1 ms under ASan) for one key: it tries every decoder that there is. */
EVP_PKEY *tls_own_key(struct pal_view der)
{
    const uint8_t *at = der.data;
    PKCS8_PRIV_KEY_INFO *info = der.len > LONG_MAX ? NULL : d2i_PKCS8_PRIV_KEY_INFO(NULL, &at, (long)der.len);
    const ASN1_OBJECT *name = NULL;
    const X509_ALGOR *algorithm = NULL;
    const uint8_t *inner = NULL;
    int inner_len = 0;
    const void *parameter = NULL;
    int parameter_type = 0;
    EVP_PKEY *key = EVP_PKEY_new();
    EC_KEY *ec = NULL;
    RSA *rsa = NULL;
    bool ok = false;

    if (key == NULL || info == NULL || at != der.data + der.len ||
        PKCS8_pkey_get0(&name, &inner, &inner_len, &algorithm, info) != 1)
        goto done;
    X509_ALGOR_get0(NULL, &parameter_type, &parameter, algorithm);
    if (OBJ_obj2nid(name) == NID_X9_62_id_ecPublicKey && parameter_type == V_ASN1_OBJECT) {
        ec = EC_KEY_new_by_curve_name(OBJ_obj2nid(parameter));
        ok = ec != NULL && d2i_ECPrivateKey(&ec, &inner, inner_len) != NULL && EVP_PKEY_assign_EC_KEY(key, ec) == 1;
        ec = ok ? NULL : ec;
    } else if (OBJ_obj2nid(name) == NID_rsaEncryption) {
        rsa = d2i_RSAPrivateKey(NULL, &inner, inner_len);
        ok = rsa != NULL && EVP_PKEY_assign_RSA(key, rsa) == 1;
        rsa = ok ? NULL : rsa;
    }
done:
    EC_KEY_free(ec);
    RSA_free(rsa);
    PKCS8_PRIV_KEY_INFO_free(info);
    if (!ok) {
        EVP_PKEY_free(key);
        key = NULL;
    }
    return key;
}

/* Reading a certificate takes 220 us (500 us under ASan), again for the decoders, so the last few stay. Nothing of a
 * connection is in them. They are compared by content. */
enum { NUM_KNOWN = 16 };

static pthread_mutex_t known_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    uint8_t *der;
    size_t len;
    X509 *certificate;
} known[NUM_KNOWN];
static size_t known_next;

/* All that the library would add to it later: extensions, and the Montgomery context of an RSA key. */
static void complete(X509 *certificate)
{
    X509_check_purpose(certificate, -1, 0);
    (void)X509_verify(certificate, X509_get0_pubkey(certificate));
    ERR_clear_error();
}

static X509 *known_find(struct pal_view der, size_t *out_len)
{
    for (size_t i = 0; i < NUM_KNOWN; i++) {
        if (known[i].certificate != NULL && known[i].len <= der.len &&
            memcmp(known[i].der, der.data, known[i].len) == 0) {
            X509_up_ref(known[i].certificate);
            *out_len = known[i].len;
            return known[i].certificate;
        }
    }
    return NULL;
}

static void known_keep(X509 *certificate, struct pal_view der)
{
    uint8_t *copy = OPENSSL_memdup(der.data, der.len);

    if (copy == NULL)
        return;
    OPENSSL_free(known[known_next].der);
    X509_free(known[known_next].certificate);
    X509_up_ref(certificate);
    known[known_next].der = copy;
    known[known_next].len = der.len;
    known[known_next].certificate = certificate;
    known_next = (known_next + 1) % NUM_KNOWN;
}

X509 *tls_own_certificate(struct pal_view *der)
{
    const uint8_t *at = der->data;
    size_t len = 0;
    X509 *made;

    pthread_mutex_lock(&known_lock);
    made = known_find(*der, &len);
    at += len;
    if (made == NULL) {
        made = der->len > LONG_MAX ? NULL : d2i_X509(NULL, &at, (long)der->len);
        if (made != NULL) {
            complete(made);
            known_keep(made, (struct pal_view){der->data, (size_t)(at - der->data)});
        }
    }
    pthread_mutex_unlock(&known_lock);
    der->len -= (size_t)(at - der->data);
    der->data = at;
    return made;
}

uint16_t tls_own_psk_version_max(void)
{
    return PAL_TLS_1_3;
}

/* An answer to KeyUpdate waits for the next record; asking for it again as an update of our own sends it now. */
enum tls_event tls_own_flush(SSL *ssl)
{
    if (SSL_version(ssl) != TLS1_3_VERSION || SSL_get_key_update_type(ssl) == SSL_KEY_UPDATE_NONE)
        return TLS_DONE;
    return tls_own_update_keys(ssl, SSL_get_key_update_type(ssl) == SSL_KEY_UPDATE_REQUESTED);
}

enum tls_event tls_own_update_keys(SSL *ssl, bool request_peer)
{
    if (SSL_key_update(ssl, request_peer ? SSL_KEY_UPDATE_REQUESTED : SSL_KEY_UPDATE_NOT_REQUESTED) != 1)
        return TLS_BROKEN;
    return SSL_do_handshake(ssl) == 1 ? TLS_DONE : TLS_BROKEN;
}

/* A client begins and waits for the answer; a server asks, and is done until the client begins. */
enum tls_event tls_own_renegotiate(SSL *ssl)
{
    int result;

    if (SSL_renegotiate(ssl) != 1)
        return TLS_BROKEN;
    result = SSL_do_handshake(ssl);
    return result == 1 || SSL_get_error(ssl, result) == SSL_ERROR_WANT_READ ? TLS_DONE : TLS_BROKEN;
}

void tls_own_allow_renegotiation(SSL *ssl)
{
    (void)ssl; /* SSL_OP_ALLOW_CLIENT_RENEGOTIATION, in the context */
}

/* OpenSSL has no public call for it. Its own one can be had in a static library, with this signature up to 3.1. */
#if OPENSSL_VERSION_NUMBER < 0x30200000L
int ssl3_send_alert(SSL *ssl, int level, int description) __attribute__((weak));

enum tls_event tls_own_alert(SSL *ssl, uint8_t description)
{
    if (ssl3_send_alert != NULL && ssl3_send_alert(ssl, SSL3_AL_FATAL, description) > 0)
        return TLS_DONE;
    return ERR_peek_error() == 0 ? TLS_UNSUPPORTED : TLS_BROKEN; /* none: it has no such alert */
}
#else
enum tls_event tls_own_alert(SSL *ssl, uint8_t description)
{
    (void)ssl, (void)description;
    return TLS_UNSUPPORTED;
}
#endif

size_t tls_own_export(SSL_SESSION *session, uint8_t **out)
{
    int len = i2d_SSL_SESSION(session, NULL);
    uint8_t *at;

    if (len <= 0)
        return 0;
    *out = at = OPENSSL_malloc((size_t)len);
    return *out != NULL && i2d_SSL_SESSION(session, &at) == len ? (size_t)len : 0;
}

SSL_SESSION *tls_own_import(struct pal_view bytes)
{
    const uint8_t *at = bytes.data;

    return bytes.len > LONG_MAX ? NULL : d2i_SSL_SESSION(NULL, &at, (long)bytes.len);
}

#endif
