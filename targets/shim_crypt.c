/* SPDX-License-Identifier: Apache-2.0
 * shim_crypt.c: hmac and aead through the process door. Each call is made to the reference, too, by the same mode's
 * table: what it refuses is malformed, which is the door's to answer, and what the shim does not have it answers. A
 * call that is well-formed gets the shim's status and bytes.
 */
#include "shim.h"

#include "env/env.h"
#include "ports.h"

#include <string.h>

/* Weak: who only asks for it here, a fuzz program of a target without engines, must not carry one: libFuzzer would
 * look at the counters of all its code after every execution (a tenth of the time). */
#pragma weak pal_port_openssl

#define NAMES_MAX 64u

/* thread: a thread as the shim sees it: a number that is new when the thread is, by scenario. */
static _Thread_local struct {
    uint64_t scenario;
    uint64_t number;
    bool skipping[PAL_NUM_MODES]; /* the open message is none of the shim's: it did not have its start */
} thread;

static uint64_t scenario = 1;
static uint64_t num_threads;
static size_t num_names;
static const uint8_t *names[NAMES_MAX]; /* where keys are kept, in the order in which they were seen */

/* outer: the environment of the call under way, for random bytes. */
static const struct pal_env *outer;
static struct pal_env inner;

static enum pal_status draw(void *context, uint8_t *out, size_t len)
{
    (void)context;
    return outer->random(outer->context, out, len);
}

/* enter: the environment that the reference plays in: faults are not passed on to it, random bytes are the caller's. */
static const struct pal_env *enter(const struct pal_env *env)
{
    outer = env;
    if (inner.alloc == NULL) {
        inner = *pal_env_real();
        inner.random = draw;
    }
    if (thread.scenario != scenario) {
        memset(&thread, 0, sizeof(thread));
        thread.scenario = scenario;
        thread.number = num_threads++;
    }
    return &inner;
}

void shim_crypt_reset(void)
{
    scenario++;
    num_threads = 0;
    num_names = 0;
}

/* ---- words ---------------------------------------------------------------------------------------------------------
 */

static size_t name_of(struct pal_view key)
{
    size_t name = 0;
    while (name < num_names && names[name] != key.data) {
        name++;
    }
    if (name == num_names && num_names < NAMES_MAX) {
        names[num_names++] = key.data;
    }
    return name;
}

static struct shim_text *begin(const char *call, enum pal_mode mode)
{
    struct shim_text *text = shim_call(call);
    shim_text_add(text, " mode=%s thread=%u", shim_modes[mode], (unsigned)thread.number);
    return text;
}

static void add_key(struct shim_text *text, const char *alg, struct pal_view key)
{
    shim_text_add(text, " alg=%s name=%zu", alg, name_of(key));
    shim_text_bytes(text, "key", key);
}

/* readable: a length above what the contract takes is refused, and may be a lie. */
static bool readable(const struct pal_view *views, size_t num)
{
    bool good = views != NULL || num == 0;
    for (size_t i = 0; good && i < num; i++) {
        good = pal_view_valid(views[i]) && views[i].len <= PAL_TEXT_LEN_MAX;
    }
    return good;
}

static void add_parts(struct shim_text *text, const char *key, const struct pal_view *parts, size_t num)
{
    for (size_t i = 0; i < num; i++) {
        shim_text_bytes(text, key, parts[i]);
    }
}

/* replace: the shim's bytes in the reference's place. */
static void replace(uint8_t *out, size_t cap, size_t *len, struct pal_view bytes)
{
    size_t fits = bytes.len < cap ? bytes.len : cap;
    if (fits > 0) {
        memcpy(out, bytes.data, fits);
    }
    *len = bytes.len;
}

static struct shim_words answer;

/* ask: the shim's status, and its bytes in the reference's place; `status` is the reference's, where that is to answer.
 */
static enum pal_status ask(enum pal_status status, uint8_t *out, size_t cap, size_t *len)
{
    enum pal_status asked = PAL_OK;
    if (!shim_ask(&asked, &answer)) {
        return status;
    }
    if (asked == PAL_OK) {
        replace(out, cap, len, shim_bytes(&answer, "out"));
    }
    return asked;
}

/* ---- hmac ----------------------------------------------------------------------------------------------------------
 */

static const struct pal_hmac_ops *hmac_of(enum pal_mode mode)
{
    return pal_port_openssl()->hmac[mode];
}

static enum pal_status digest(enum pal_mode mode, const struct pal_env *env, uint8_t *out, size_t out_cap,
                              size_t *out_len, enum pal_digest alg, struct pal_view key, const struct pal_view *parts,
                              size_t num_parts)
{
    const struct pal_env *quiet = enter(env);
    enum pal_status status = hmac_of(mode)->digest(quiet, out, out_cap, out_len, alg, key, parts, num_parts);
    thread.skipping[mode] = false;
    if (status != PAL_OK) {
        return status;
    }
    struct shim_text *text = begin("hmac.digest", mode);
    add_key(text, shim_digests[alg], key);
    add_parts(text, "part", parts, num_parts);
    return ask(status, out, out_cap, out_len);
}

static enum pal_status start(enum pal_mode mode, const struct pal_env *env, enum pal_digest alg, struct pal_view key)
{
    enum pal_status asked = PAL_OK;
    const struct pal_env *quiet = enter(env);
    enum pal_status status = hmac_of(mode)->start(quiet, alg, key);
    thread.skipping[mode] = false;
    if (status != PAL_OK) {
        return status;
    }
    add_key(begin("hmac.start", mode), shim_digests[alg], key);
    uint64_t before = shim_unsupported();
    if (!shim_ask(&asked, &answer)) {
        thread.skipping[mode] = shim_unsupported() > before;
        return status;
    }
    return asked;
}

static enum pal_status update(enum pal_mode mode, const struct pal_env *env, struct pal_view part)
{
    enum pal_status asked = PAL_OK;
    enum pal_status status = hmac_of(mode)->update(enter(env), part);
    if (status != PAL_OK) {
        return status;
    }
    shim_text_bytes(begin("hmac.update", mode), "part", part);
    return shim_ask(&asked, &answer) && !thread.skipping[mode] ? asked : status;
}

static enum pal_status finish(enum pal_mode mode, const struct pal_env *env, uint8_t *out, size_t out_cap,
                              size_t *out_len)
{
    enum pal_status asked = PAL_OK;
    enum pal_status status = hmac_of(mode)->finish(enter(env), out, out_cap, out_len);
    if (status != PAL_OK) {
        return status;
    }
    (void)begin("hmac.finish", mode);
    if (!shim_ask(&asked, &answer) || thread.skipping[mode]) {
        return status;
    }
    if (asked == PAL_OK) {
        replace(out, out_cap, out_len, shim_bytes(&answer, "out"));
    }
    return asked;
}

/* forget: a slot is dropped on both sides. */
static void forget(const char *call, enum pal_mode mode)
{
    enum pal_status asked = PAL_OK;
    (void)begin(call, mode);
    if (shim_ask(&asked, &answer) && asked != PAL_OK) {
        shim_fail(SHIM_GARBLED, "%s answers \"%s\"", call, answer.name);
    }
}

static void drop_hmac(enum pal_mode mode, const struct pal_env *env)
{
    hmac_of(mode)->drop(enter(env));
    thread.skipping[mode] = false;
    forget("hmac.drop", mode);
}

/* no_stats: what a cache does inside is not seen from here. */
static void no_stats(const struct pal_env *env, struct pal_slot_stats *out)
{
    (void)env;
    *out = (struct pal_slot_stats){0};
}

/* ---- aead ----------------------------------------------------------------------------------------------------------
 */

static const struct pal_aead_ops *aead_of(enum pal_mode mode)
{
    return pal_port_openssl()->aead[mode];
}

/* add_job: false when there is something in it that cannot be read; the call is refused then. */
static bool add_job(const char *call, enum pal_mode mode, const struct pal_aead_job *job, bool nonce,
                    const uint8_t *out, struct pal_view text, const char *text_key)
{
    if (job == NULL || (unsigned)job->cipher >= PAL_NUM_AEADS || !readable(&job->key, 1) ||
        !readable(&job->nonce, nonce ? 1 : 0) || !readable(job->aad, job->num_aad) || !readable(&text, 1)) {
        return false;
    }
    struct shim_text *line = begin(call, mode);
    add_key(line, shim_aeads[job->cipher], job->key);
    shim_text_add(line, " tag-len=%zu in-place=%s", job->tag_len, out == text.data && text.len > 0 ? "yes" : "no");
    add_parts(line, "aad", job->aad, job->num_aad);
    shim_text_bytes(line, text_key, text);
    if (nonce) {
        shim_text_bytes(line, "nonce", job->nonce);
    }
    return true;
}

static enum pal_status seal(enum pal_mode mode, const struct pal_env *env, uint8_t *out, size_t out_cap,
                            size_t *out_len, const struct pal_aead_job *job, struct pal_view plain)
{
    const struct pal_env *quiet = enter(env);
    bool good = add_job("aead.seal", mode, job, true, out, plain, "plain"); /* before its text may be overwritten */
    enum pal_status status = aead_of(mode)->seal(quiet, out, out_cap, out_len, job, plain);
    return good && status == PAL_OK ? ask(status, out, out_cap, out_len) : status;
}

/* open_sealed: PAL_BAD_TAG wipes the output, which a shim does not have: the reference has done it, or it is done here.
 */
static enum pal_status open_sealed(enum pal_mode mode, const struct pal_env *env, uint8_t *out, size_t out_cap,
                                   size_t *out_len, const struct pal_aead_job *job, struct pal_view sealed)
{
    const struct pal_env *quiet = enter(env);
    bool good = add_job("aead.open", mode, job, true, out, sealed, "sealed");
    enum pal_status status = aead_of(mode)->open(quiet, out, out_cap, out_len, job, sealed);
    if (!good || (status != PAL_OK && status != PAL_BAD_TAG) || sealed.len < job->tag_len) {
        return status;
    }
    enum pal_status asked = ask(status, out, out_cap, out_len);
    if (asked == PAL_BAD_TAG && status == PAL_OK) {
        memset(out, 0, *out_len);
    }
    return asked;
}

/* seal_drawn: the nonce is drawn here, from the environment; what is asked of the shim is to seal with it. */
static enum pal_status seal_drawn(enum pal_mode mode, const struct pal_env *env, uint8_t *out, size_t out_cap,
                                  size_t *out_len, const struct pal_aead_job *job, struct pal_view plain)
{
    const struct pal_env *quiet = enter(env);
    bool good = add_job("aead.seal", mode, job, false, out, plain, "plain");
    enum pal_status status = aead_of(mode)->seal_fresh(quiet, out, out_cap, out_len, job, plain);
    if (!good || status != PAL_OK) {
        return status;
    }
    shim_text_bytes(shim_call_more(), "nonce", (struct pal_view){out, PAL_NONCE_LEN});
    size_t sealed_len = *out_len - PAL_NONCE_LEN;
    enum pal_status asked = ask(status, out + PAL_NONCE_LEN, out_cap - PAL_NONCE_LEN, &sealed_len);
    if (asked == PAL_OK) {
        *out_len = PAL_NONCE_LEN + sealed_len;
    }
    return asked;
}

static void drop_aead(enum pal_mode mode, const struct pal_env *env)
{
    aead_of(mode)->drop(enter(env));
    forget("aead.drop", mode);
}

/* ---- tables --------------------------------------------------------------------------------------------------------
 */

#define TABLES(mode, name)                                                                                             \
    static enum pal_status digest_##name(const struct pal_env *env, uint8_t *out, size_t out_cap, size_t *out_len,     \
                                         enum pal_digest alg, struct pal_view key, const struct pal_view *parts,       \
                                         size_t num_parts)                                                             \
    {                                                                                                                  \
        return digest(mode, env, out, out_cap, out_len, alg, key, parts, num_parts);                                   \
    }                                                                                                                  \
    static enum pal_status start_##name(const struct pal_env *env, enum pal_digest alg, struct pal_view key)           \
    {                                                                                                                  \
        return start(mode, env, alg, key);                                                                             \
    }                                                                                                                  \
    static enum pal_status update_##name(const struct pal_env *env, struct pal_view part)                              \
    {                                                                                                                  \
        return update(mode, env, part);                                                                                \
    }                                                                                                                  \
    static enum pal_status finish_##name(const struct pal_env *env, uint8_t *out, size_t out_cap, size_t *out_len)     \
    {                                                                                                                  \
        return finish(mode, env, out, out_cap, out_len);                                                               \
    }                                                                                                                  \
    static void drop_hmac_##name(const struct pal_env *env)                                                            \
    {                                                                                                                  \
        drop_hmac(mode, env);                                                                                          \
    }                                                                                                                  \
    static enum pal_status seal_##name(const struct pal_env *env, uint8_t *out, size_t out_cap, size_t *out_len,       \
                                       const struct pal_aead_job *job, struct pal_view plain)                          \
    {                                                                                                                  \
        return seal(mode, env, out, out_cap, out_len, job, plain);                                                     \
    }                                                                                                                  \
    static enum pal_status open_##name(const struct pal_env *env, uint8_t *out, size_t out_cap, size_t *out_len,       \
                                       const struct pal_aead_job *job, struct pal_view sealed)                         \
    {                                                                                                                  \
        return open_sealed(mode, env, out, out_cap, out_len, job, sealed);                                             \
    }                                                                                                                  \
    static enum pal_status seal_fresh_##name(const struct pal_env *env, uint8_t *out, size_t out_cap, size_t *out_len, \
                                             const struct pal_aead_job *job, struct pal_view plain)                    \
    {                                                                                                                  \
        return seal_drawn(mode, env, out, out_cap, out_len, job, plain);                                               \
    }                                                                                                                  \
    static void drop_aead_##name(const struct pal_env *env)                                                            \
    {                                                                                                                  \
        drop_aead(mode, env);                                                                                          \
    }                                                                                                                  \
    const struct pal_hmac_ops shim_hmac_##name = {digest_##name, start_##name,     update_##name,                      \
                                                  finish_##name, drop_hmac_##name, no_stats};                          \
    const struct pal_aead_ops shim_aead_##name = {seal_##name, open_##name, seal_fresh_##name, drop_aead_##name,       \
                                                  no_stats};

TABLES(PAL_FRESH, fresh)
TABLES(PAL_REUSED, reused)
