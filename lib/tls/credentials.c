/* SPDX-License-Identifier: Apache-2.0
 * credentials.c: a certificate authority and a leaf, made with the engine's X509 calls. The engine checks nothing here
 * that it does not check when it reads them.
 * It breaks when PAL_ENGINE_CREDENTIALS names a symbol that credentials.h does not declare.
 */
#include "credentials.h"

#include "engine_ssl.h"
#include "warm.h"

#include <string.h>

#include <openssl/ec.h>
#include <openssl/rsa.h>
#include <openssl/x509v3.h>

static EVP_PKEY *make_key(enum pal_tls_key_kind kind)
{
    bool rsa = kind == PAL_TLS_KEY_RSA2048;
    EVP_PKEY_CTX *maker = EVP_PKEY_CTX_new_id(rsa ? EVP_PKEY_RSA : EVP_PKEY_EC, NULL);
    EVP_PKEY *key = NULL;

    if (maker == NULL || EVP_PKEY_keygen_init(maker) != 1 ||
        (rsa ? EVP_PKEY_CTX_set_rsa_keygen_bits(maker, 2048)
             : EVP_PKEY_CTX_set_ec_paramgen_curve_nid(maker, NID_X9_62_prime256v1)) != 1 ||
        EVP_PKEY_keygen(maker, &key) != 1) {
        key = NULL;
    }
    EVP_PKEY_CTX_free(maker);
    return key;
}

static bool add_extension(X509 *certificate, int nid, const char *value)
{
    X509_EXTENSION *extension = X509V3_EXT_nconf_nid(NULL, NULL, nid, value);
    bool ok = extension != NULL && X509_add_ext(certificate, extension, -1) == 1;

    X509_EXTENSION_free(extension);
    return ok;
}

/* Built by hand: in the text that extensions are made from, a comma in a name would begin another one. */
static bool add_dns_name(X509 *certificate, struct pal_view name)
{
    GENERAL_NAMES *names = sk_GENERAL_NAME_new_null();
    GENERAL_NAME *entry = GENERAL_NAME_new();
    ASN1_IA5STRING *text = ASN1_IA5STRING_new();
    bool ok = false;

    if (names != NULL && entry != NULL && text != NULL && ASN1_STRING_set(text, name.data, (int)name.len) == 1) {
        GENERAL_NAME_set0_value(entry, GEN_DNS, text);
        text = NULL;
        if (sk_GENERAL_NAME_push(names, entry) != 0) {
            entry = NULL;
            ok = X509_add1_ext_i2d(certificate, NID_subject_alt_name, names, 0, X509V3_ADD_DEFAULT) == 1;
        }
    }
    ASN1_IA5STRING_free(text);
    GENERAL_NAME_free(entry);
    GENERAL_NAMES_free(names);
    return ok;
}

static bool set_subject(X509 *certificate, bool authority, struct pal_view name)
{
    uint8_t text[80] = "CA of ";
    size_t len = authority ? 6 : 0;

    memcpy(text + len, name.data, name.len);
    return X509_NAME_add_entry_by_NID(X509_get_subject_name(certificate), NID_commonName, MBSTRING_UTF8, text,
                                      (int)(len + name.len), -1, 0) == 1;
}

/* certify: a certificate for `key`, by `ca` (NULL: by itself, as an authority) and its key. */
static X509 *certify(const struct pal_tls_identity_spec *spec, EVP_PKEY *key, X509 *ca, EVP_PKEY *ca_key)
{
    X509 *made = X509_new();
    bool leaf = ca != NULL;

    if (made != NULL && X509_set_version(made, 2) == 1 &&
        ASN1_INTEGER_set(X509_get_serialNumber(made), leaf ? 2 : 1) == 1 &&
        ASN1_TIME_set(X509_getm_notBefore(made), (time_t)spec->not_before) != NULL &&
        ASN1_TIME_set(X509_getm_notAfter(made), (time_t)spec->not_after) != NULL && X509_set_pubkey(made, key) == 1 &&
        set_subject(made, !leaf, spec->name) &&
        X509_set_issuer_name(made, X509_get_subject_name(leaf ? ca : made)) == 1 &&
        add_extension(made, NID_basic_constraints, leaf ? "critical,CA:FALSE" : "critical,CA:TRUE") &&
        add_extension(made, NID_key_usage, leaf ? "critical,digitalSignature" : "critical,keyCertSign") &&
        (!leaf || add_dns_name(made, spec->name)) && X509_sign(made, ca_key, EVP_sha256()) > 0) {
        return made;
    }
    X509_free(made);
    return NULL;
}

/* der: the three encodings, from OPENSSL_malloc. */
struct der {
    uint8_t *data[3];
    int len[3];
};

static bool make(struct der *out, const struct pal_tls_identity_spec *spec)
{
    EVP_PKEY *ca_key = make_key(spec->kind);
    EVP_PKEY *key = make_key(spec->kind);
    X509 *ca = ca_key == NULL ? NULL : certify(spec, ca_key, NULL, ca_key);
    X509 *leaf = ca == NULL || key == NULL ? NULL : certify(spec, key, ca, ca_key);
    PKCS8_PRIV_KEY_INFO *info = leaf == NULL ? NULL : EVP_PKEY2PKCS8(key);
    bool ok = false;

    if (info != NULL) {
        out->len[0] = i2d_X509(ca, &out->data[0]);
        out->len[1] = i2d_X509(leaf, &out->data[1]);
        out->len[2] = i2d_PKCS8_PRIV_KEY_INFO(info, &out->data[2]);
        ok = out->len[0] > 0 && out->len[1] > 0 && out->len[2] > 0;
    }
    PKCS8_PRIV_KEY_INFO_free(info);
    X509_free(leaf);
    X509_free(ca);
    EVP_PKEY_free(key);
    EVP_PKEY_free(ca_key);
    return ok;
}

static enum pal_status pack(const struct pal_env *env, struct pal_tls_credentials *out, const struct der *der)
{
    struct pal_view views[3];
    size_t len = 0;
    uint8_t *memory;

    for (int i = 0; i < 3; i++) {
        len += (size_t)der->len[i];
    }
    memory = env->alloc(env->context, len);
    if (memory == NULL) {
        return PAL_NO_MEMORY;
    }
    len = 0;
    for (int i = 0; i < 3; i++) {
        if (der->data[i] != NULL) { /* always: there is a length */
            memcpy(memory + len, der->data[i], (size_t)der->len[i]);
        }
        views[i] = (struct pal_view){memory + len, (size_t)der->len[i]};
        len += views[i].len;
    }
    *out = (struct pal_tls_credentials){views[0], views[1], views[2], memory, len};
    return PAL_OK;
}

enum pal_status tls_credentials_make(const struct pal_env *env, struct pal_tls_credentials *out,
                                     const struct pal_tls_identity_spec *spec)
{
    struct der der = {{NULL}, {0}};
    enum tls_event event;
    enum pal_status status = PAL_ENGINE;

    tls_enter(env);
    event = tls_leave(make(&der, spec) ? TLS_DONE : TLS_BROKEN);
    if (event == TLS_DONE) {
        status = pack(env, out, &der);
    } else if (event != TLS_BROKEN) {
        status = event == TLS_NO_RANDOM ? PAL_NO_RANDOM : PAL_NO_MEMORY;
    }
    tls_enter(env);
    for (int i = 0; i < 3; i++) {
        OPENSSL_free(der.data[i]);
    }
    (void)tls_leave(TLS_DONE);
    return status;
}

enum pal_status PAL_ENGINE_CREDENTIALS(const struct pal_env *env, struct pal_tls_credentials *out,
                                       const struct pal_tls_identity_spec *spec)
{
    if (env == NULL || out == NULL || spec == NULL || (unsigned)spec->kind >= PAL_TLS_NUM_KEY_KINDS ||
        spec->name.data == NULL || spec->name.len == 0 || spec->name.len > 64 ||
        memchr(spec->name.data, 0, spec->name.len) != NULL) {
        return PAL_BAD_ARGUMENT;
    }
    return engine_start() ? tls_credentials_make(env, out, spec) : PAL_ENGINE;
}
