/* SPDX-License-Identifier: Apache-2.0
 * token.c: growing and releasing a token, by allocation or by rental.
 * It knows no pool: rent and release are the environment's. It never looks at bytes past len.
 * It breaks when the old memory goes back before the new one holds the prefix: a rent may hand out what was just
 * returned.
 */
#include "token.h"

#include <assert.h>
#include <string.h>

bool pal_token_valid(const struct pal_token *token)
{
    if (token == NULL || token->len > token->cap) {
        return false;
    }
    if (token->payload == NULL && token->cap != 0) {
        return false;
    }
    if (token->rental.data == NULL) {
        return token->rental.cap == 0;
    }
    return token->payload == token->rental.data && token->cap <= token->rental.cap;
}

static bool has_pool(const struct pal_env *env)
{
    return env->rent != NULL && env->release != NULL;
}

/* Sets *out to an empty token with room for `cap` > 0 bytes. What is not enough to be written to counts as no memory: a
 * broken pool is not followed. */
static enum pal_status memory_new(const struct pal_env *env, struct pal_token *out, enum pal_mode mode, size_t cap)
{
    struct pal_buffer rental = {0};
    enum pal_status status;
    uint8_t *payload;

    if (mode == PAL_FRESH) {
        payload = env->alloc(env->context, cap);
        if (payload == NULL) {
            return PAL_NO_MEMORY;
        }
        *out = (struct pal_token){.payload = payload, .cap = cap};
        return PAL_OK;
    }
    status = env->rent(env->context, &rental, cap);
    if (status != PAL_OK) {
        return status;
    }
    if (rental.data == NULL || rental.cap < cap) {
        (void)env->release(env->context, &rental, false);
        return PAL_NO_MEMORY;
    }
    *out = (struct pal_token){.payload = rental.data, .cap = rental.cap, .rental = rental};
    return PAL_OK;
}

/* Once, and from copies: the token is the caller's to overwrite. */
static enum pal_status memory_release(const struct pal_env *env, uint8_t *payload, struct pal_buffer rental)
{
    if (rental.data != NULL) {
        return env->release(env->context, &rental, false);
    }
    if (payload != NULL) {
        env->free(env->context, payload);
    }
    return PAL_OK;
}

enum pal_status pal_token_reserve(const struct pal_env *env, struct pal_token *token, enum pal_mode mode, size_t more)
{
    struct pal_token grown = {0};
    enum pal_status status;

    assert(pal_token_valid(token));
    if (more <= token->cap - token->len) {
        return PAL_OK;
    }
    if (token->payload != NULL) {
        mode = token->rental.data != NULL ? PAL_REUSED : PAL_FRESH;
    }
    if (mode != PAL_FRESH && mode != PAL_REUSED) {
        return PAL_BAD_ARGUMENT;
    }
    if (mode == PAL_REUSED && !has_pool(env)) {
        return PAL_UNSUPPORTED;
    }
    if (token->len > PTRDIFF_MAX || more > PTRDIFF_MAX - token->len) {
        return PAL_TOO_LONG;
    }
    status = memory_new(env, &grown, mode, token->len + more);
    if (status != PAL_OK) {
        return status;
    }
    if (token->len > 0) {
        memcpy(grown.payload, token->payload, token->len);
    }
    grown.len = token->len;
    grown.status = token->status;
    /* Refused: somebody else returned it, and may have it by now. The token stays, for its owner to find out. */
    status = memory_release(env, token->payload, token->rental);
    if (status != PAL_OK) {
        (void)memory_release(env, grown.payload, grown.rental);
        return status;
    }
    *token = grown;
    assert(pal_token_valid(token));
    return PAL_OK;
}

enum pal_status pal_token_append(const struct pal_env *env, struct pal_token *token, enum pal_mode mode,
                                 struct pal_view bytes)
{
    enum pal_status status;

    if (!pal_view_valid(bytes)) {
        return PAL_BAD_ARGUMENT;
    }
    if (bytes.len == 0) {
        return PAL_OK;
    }
    status = pal_token_reserve(env, token, mode, bytes.len);
    if (status != PAL_OK) {
        return status;
    }
    memcpy(token->payload + token->len, bytes.data, bytes.len);
    token->len += bytes.len;
    return PAL_OK;
}

struct pal_view pal_token_view(const struct pal_token *token)
{
    assert(pal_token_valid(token));
    return (struct pal_view){token->payload, token->len};
}

enum pal_status pal_token_release(const struct pal_env *env, struct pal_token *token)
{
    uint8_t *payload = token->payload;
    struct pal_buffer rental = token->rental;

    if (rental.data != NULL && env->release == NULL) {
        return PAL_UNSUPPORTED;
    }
    *token = (struct pal_token){.status = token->status};
    return memory_release(env, payload, rental);
}

const struct pal_token_ops pal_token_reference = {
    .reserve = pal_token_reserve,
    .append = pal_token_append,
    .release = pal_token_release,
};
