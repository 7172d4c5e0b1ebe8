/* SPDX-License-Identifier: Apache-2.0
 * A port with one area, tokens. Copy this folder and put your own code in its place; pal.h says what each does. */
#include <pal.h>
#include <string.h>

static enum pal_status take(const struct pal_env *env, struct pal_token *out, enum pal_mode mode, size_t cap)
{
    if (mode == PAL_REUSED) {
        struct pal_buffer rental = {0};
        enum pal_status status = env->rent(env->context, &rental, cap);
        *out = (struct pal_token){.payload = rental.data, .cap = rental.cap, .rental = rental};
        return status;
    }
    *out = (struct pal_token){.payload = env->alloc(env->context, cap), .cap = cap};
    return out->payload != NULL ? PAL_OK : PAL_NO_MEMORY;
}

static enum pal_status release(const struct pal_env *env, struct pal_token *token)
{
    struct pal_token old = *token;
    *token = (struct pal_token){.status = old.status};
    if (old.rental.data == NULL) {
        env->free(env->context, old.payload);
        return PAL_OK;
    }
    return env->release(env->context, &old.rental, false);
}

static enum pal_status reserve(const struct pal_env *env, struct pal_token *token, enum pal_mode mode, size_t more)
{
    struct pal_token grown;
    if (more <= token->cap - token->len) {
        return PAL_OK;
    }
    if (more > PTRDIFF_MAX - token->len) {
        return PAL_TOO_LONG;
    }
    if (token->payload != NULL) {
        mode = token->rental.data != NULL ? PAL_REUSED : PAL_FRESH;
    }
    if (mode == PAL_REUSED && env->rent == NULL) {
        return PAL_UNSUPPORTED;
    }
    enum pal_status status = take(env, &grown, mode, token->len + more);
    if (status != PAL_OK) {
        return status;
    }
    if (token->len > 0 && token->payload != NULL) {
        memcpy(grown.payload, token->payload, token->len);
    }
    grown.len = token->len;
    grown.status = token->status;
    struct pal_token old = *token;
    status = release(env, &old);
    if (status == PAL_OK) {
        *token = grown;
    } else { /* somebody returned it already */
        (void)release(env, &grown);
    }
    return status;
}

static enum pal_status append(const struct pal_env *env, struct pal_token *token, enum pal_mode mode,
                              struct pal_view bytes)
{
    enum pal_status status = pal_view_valid(bytes) ? reserve(env, token, mode, bytes.len) : PAL_BAD_ARGUMENT;
    if (status == PAL_OK && bytes.len > 0) {
        memcpy(token->payload + token->len, bytes.data, bytes.len);
        token->len += bytes.len;
    }
    return status;
}

const struct pal_port *pal_port_get(void)
{
    static const struct pal_token_ops token = {.reserve = reserve, .append = append, .release = release};
    static const struct pal_port port = {.abi = PAL_ABI_VERSION, .name = "sample", .version = "1", .token = &token};
    return &port;
}
