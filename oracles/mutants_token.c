/* SPDX-License-Identifier: Apache-2.0
 * mutants_token.c: planted bugs in token code: how tokens grow, and how they are released. Those in what a port hands
 * out are in mutants_token_calls.c.
 */
#include "mutants.h"

#include <string.h>

static enum pal_status null_release(const struct pal_env *env, struct pal_token *token)
{
    return mutant_good_token->release(env, token);
}

void mutant_token_null(struct mutant_tables *tables)
{
    tables->token.release = null_release;
}

/* ---- growth ------------------------------------------------------------------------------------------------------ */

typedef enum pal_status reserve_fn(const struct pal_env *env, struct pal_token *token, enum pal_mode mode, size_t more);

/* grown: reserves as the good port does; true when a rental was replaced by another one, *out_old as it was. */
static bool grown(const struct pal_env *env, struct pal_token *token, enum pal_mode mode, size_t more,
                  struct pal_token *out_old, enum pal_status *out_status)
{
    *out_old = *token;
    *out_status = mutant_good_token->reserve(env, token, mode, more);
    bool grew = *out_status == PAL_OK && out_old->rental.data != NULL && token->payload != out_old->payload;
    if (grew) {
        mutant_fire();
    }
    return grew;
}

/* append_through: append, by the mutant's own reserve. */
static enum pal_status append_through(reserve_fn *reserve, const struct pal_env *env, struct pal_token *token,
                                      enum pal_mode mode, struct pal_view bytes)
{
    enum pal_status status = bytes.len > 0 ? reserve(env, token, mode, bytes.len) : PAL_OK;
    return status == PAL_OK ? mutant_good_token->append(env, token, mode, bytes) : status;
}

#define GROWTH(mistake)                                                                                                \
    static enum pal_status append_##mistake(const struct pal_env *env, struct pal_token *token, enum pal_mode mode,    \
                                            struct pal_view bytes)                                                     \
    {                                                                                                                  \
        return append_through(mistake, env, token, mode, bytes);                                                       \
    }                                                                                                                  \
    void mutant_token_##mistake(struct mutant_tables *tables)                                                          \
    {                                                                                                                  \
        tables->token.reserve = mistake;                                                                               \
        tables->token.append = append_##mistake;                                                                       \
    }

/* The new memory is filled from nothing. */
static enum pal_status grow_loses_prefix(const struct pal_env *env, struct pal_token *token, enum pal_mode mode,
                                         size_t more)
{
    struct pal_token old;
    enum pal_status status;
    if (grown(env, token, mode, more, &old, &status)) {
        memset(token->payload, 0, token->len);
    }
    return status;
}

GROWTH(grow_loses_prefix)

static enum pal_status grow_loses_last_byte(const struct pal_env *env, struct pal_token *token, enum pal_mode mode,
                                            size_t more)
{
    struct pal_token old;
    enum pal_status status;
    if (grown(env, token, mode, more, &old, &status) && token->len > 0) {
        token->payload[token->len - 1] ^= 1;
    }
    return status;
}

GROWTH(grow_loses_last_byte)

/* The whole old buffer counts as content, as far as it fits. */
static enum pal_status grow_takes_whole_buffer(const struct pal_env *env, struct pal_token *token, enum pal_mode mode,
                                               size_t more)
{
    struct pal_token old;
    enum pal_status status;
    if (grown(env, token, mode, more, &old, &status) && old.cap <= token->cap - more) {
        token->len = old.cap;
    }
    return status;
}

GROWTH(grow_takes_whole_buffer)

/* The field is set to the new memory, and nobody remembers the old one. */
static enum pal_status grow_forgets_old(const struct pal_env *env, struct pal_token *token, enum pal_mode mode,
                                        size_t more)
{
    struct pal_token fresh = {.status = token->status};
    if (token->rental.data == NULL || more <= token->cap - token->len || more > PTRDIFF_MAX - token->len) {
        return mutant_good_token->reserve(env, token, mode, more);
    }
    enum pal_status status = mutant_good_token->reserve(env, &fresh, mode, token->len + more);
    if (status == PAL_OK) {
        mutant_fire();
        memcpy(fresh.payload, token->payload, token->len);
        fresh.len = token->len;
        *token = fresh;
    }
    return status;
}

GROWTH(grow_forgets_old)

/* Returned before the field is set, and once more by whoever cleans up. */
static enum pal_status grow_returns_old_twice(const struct pal_env *env, struct pal_token *token, enum pal_mode mode,
                                              size_t more)
{
    struct pal_token old;
    enum pal_status status;
    if (grown(env, token, mode, more, &old, &status)) {
        (void)env->release(env->context, &old.rental, false);
    }
    return status;
}

GROWTH(grow_returns_old_twice)

/* A pointer into the old buffer was kept. */
static enum pal_status grow_writes_to_old(const struct pal_env *env, struct pal_token *token, enum pal_mode mode,
                                          size_t more)
{
    struct pal_token old;
    enum pal_status status;
    if (grown(env, token, mode, more, &old, &status) && old.cap > 0) {
        old.payload[old.cap - 1] = 'x';
    }
    return status;
}

GROWTH(grow_writes_to_old)

static enum pal_status grow_clears_status(const struct pal_env *env, struct pal_token *token, enum pal_mode mode,
                                          size_t more)
{
    struct pal_token old;
    enum pal_status status;
    if (grown(env, token, mode, more, &old, &status) && token->status != PAL_OK) {
        token->status = PAL_OK;
    }
    return status;
}

GROWTH(grow_clears_status)

/* More than can be counted becomes a little. */
static enum pal_status size_wraps(const struct pal_env *env, struct pal_token *token, enum pal_mode mode, size_t more)
{
    if (more > SIZE_MAX / 2) {
        mutant_fire();
        more += token->len;
        return more < token->len ? PAL_OK : mutant_good_token->reserve(env, token, mode, 1);
    }
    return mutant_good_token->reserve(env, token, mode, more);
}

void mutant_token_size_wraps(struct mutant_tables *tables)
{
    tables->token.reserve = size_wraps;
}

/* Whether to rent is asked again for each buffer, and answered otherwise. */
static enum pal_status rented_or_not(const struct pal_env *env, struct pal_token *token, enum pal_mode mode,
                                     size_t more)
{
    if (mode == PAL_REUSED && token->payload == NULL && more > 16) {
        mutant_fire();
        mode = PAL_FRESH;
    }
    return mutant_good_token->reserve(env, token, mode, more);
}

GROWTH(rented_or_not)

static enum pal_status room_of_last_request(const struct pal_env *env, struct pal_token *token, enum pal_mode mode,
                                            size_t more)
{
    if (token->len > 0 && more > token->cap - token->len && more <= token->cap) {
        mutant_fire(); /* compared with cap, not with what is left of it */
        return PAL_OK;
    }
    return mutant_good_token->reserve(env, token, mode, more);
}

void mutant_token_room_of_last_request(struct mutant_tables *tables)
{
    tables->token.reserve = room_of_last_request;
}

/* ---- release ----------------------------------------------------------------------------------------------------- */

static enum pal_status release_twice(const struct pal_env *env, struct pal_token *token)
{
    struct pal_buffer copy = token->rental;
    enum pal_status status = mutant_good_token->release(env, token);
    if (copy.data != NULL) {
        mutant_fire();
        (void)env->release(env->context, &copy, false);
    }
    return status;
}

void mutant_token_release_twice(struct mutant_tables *tables)
{
    tables->token.release = release_twice;
}

/* forget: reset without a return. */
static enum pal_status forget(struct pal_token *token)
{
    mutant_fire();
    *token = (struct pal_token){.status = token->status};
    return PAL_OK;
}

static enum pal_status release_forgets_rental(const struct pal_env *env, struct pal_token *token)
{
    bool good = token->status == PAL_OK && token->rental.data != NULL;
    return good ? forget(token) : mutant_good_token->release(env, token);
}

void mutant_token_release_forgets_rental(struct mutant_tables *tables)
{
    tables->token.release = release_forgets_rental;
}

static enum pal_status release_on_success_only(const struct pal_env *env, struct pal_token *token)
{
    bool failed = token->status == PAL_PROTOCOL && token->rental.data != NULL;
    return failed ? forget(token) : mutant_good_token->release(env, token);
}

void mutant_token_release_on_success_only(struct mutant_tables *tables)
{
    tables->token.release = release_on_success_only;
}

static enum pal_status release_clears_status(const struct pal_env *env, struct pal_token *token)
{
    enum pal_status status = mutant_good_token->release(env, token);
    if (token->status != PAL_OK) {
        mutant_fire();
        token->status = PAL_OK;
    }
    return status;
}

void mutant_token_release_clears_status(struct mutant_tables *tables)
{
    tables->token.release = release_clears_status;
}

static enum pal_status release_keeps_length(const struct pal_env *env, struct pal_token *token)
{
    size_t len = token->len;
    enum pal_status status = mutant_good_token->release(env, token);
    if (len > 0) {
        mutant_fire();
        token->len = len;
    }
    return status;
}

void mutant_token_release_keeps_length(struct mutant_tables *tables)
{
    tables->token.release = release_keeps_length;
}

static enum pal_status second_release_refused(const struct pal_env *env, struct pal_token *token)
{
    if (token->payload == NULL) {
        mutant_fire();
        return PAL_BAD_STATE;
    }
    return mutant_good_token->release(env, token);
}

void mutant_token_second_release_refused(struct mutant_tables *tables)
{
    tables->token.release = second_release_refused;
}

static enum pal_status refusal_swallowed(const struct pal_env *env, struct pal_token *token)
{
    enum pal_status status = mutant_good_token->release(env, token);
    if (status == PAL_REFUSED) {
        mutant_fire();
        return PAL_OK;
    }
    return status;
}

void mutant_token_refusal_swallowed(struct mutant_tables *tables)
{
    tables->token.release = refusal_swallowed;
}

static enum pal_status written_after_return(const struct pal_env *env, struct pal_token *token)
{
    uint8_t *payload = token->rental.data;
    enum pal_status status = mutant_good_token->release(env, token);
    if (payload != NULL && status == PAL_OK) {
        mutant_fire();
        payload[0] = 'x';
    }
    return status;
}

void mutant_token_written_after_return(struct mutant_tables *tables)
{
    tables->token.release = written_after_return;
}
