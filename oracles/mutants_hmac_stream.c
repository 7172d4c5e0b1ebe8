/* SPDX-License-Identifier: Apache-2.0
 * mutants_hmac_stream.c: planted bugs in HMAC messages: their parts, their order, and what is left of one when the next
 * begins.
 */
#include "mutants_hmac.h"

#include <string.h>

/* ---- re-initialisation ------------------------------------------------------------------------------------------ */

/* recorded_update, recorded_finish: good, and remember what the message has so far, and that it is open. */
static enum pal_status recorded_update(const struct pal_env *env, struct pal_view part)
{
    enum pal_status status = hmac_good()->update(env, part);
    if (status == PAL_OK) {
        (void)mutant_add(&mutant_memory.message, part);
    }
    return status;
}

static enum pal_status recorded_finish(const struct pal_env *env, uint8_t *out, size_t out_cap, size_t *out_len)
{
    enum pal_status status = hmac_good()->finish(env, out, out_cap, out_len);
    mutant_memory.flag = mutant_memory.flag && status != PAL_OK;
    return status;
}

/* start_on: opens a message on top of the last one, if that had the same key and still `was_open`, or not. */
static enum pal_status start_on(const struct pal_env *env, enum pal_digest digest, struct pal_view key, bool was_open)
{
    struct mutant_memory *memory = &mutant_memory;
    bool same = mutant_is_kept(&memory->key, key) && memory->number == (size_t)digest;
    enum pal_status status = hmac_good()->start(env, digest, key);
    if (status == PAL_OK && same && memory->flag == was_open && memory->message.len > 0) {
        mutant_fire();
        status = hmac_good()->update(env, mutant_kept(&memory->message));
    } else {
        memory->message.len = 0;
    }
    memory->flag = status == PAL_OK;
    memory->number = digest;
    mutant_keep(&memory->key, key);
    return status;
}

static enum pal_status start_on_abandoned(const struct pal_env *env, enum pal_digest digest, struct pal_view key)
{
    return start_on(env, digest, key, true);
}

void mutant_hmac_skip_reinit_when_abandoned(struct mutant_tables *tables)
{
    mutant_hmac_wrap(tables, (struct pal_hmac_ops){
                                 .start = start_on_abandoned, .update = recorded_update, .finish = recorded_finish});
}

static enum pal_status start_on_finished(const struct pal_env *env, enum pal_digest digest, struct pal_view key)
{
    return start_on(env, digest, key, false);
}

static enum pal_status digest_on_finished(DIGEST_PARAMETERS)
{
    enum pal_status status = hmac_good()->digest(DIGEST_ARGUMENTS);
    if (status != PAL_OK || mutant_memory.flag || mutant_memory.message.len == 0) {
        return status;
    }
    status = start_on_finished(env, digest, key);
    for (size_t i = 0; status == PAL_OK && i < num_parts; i++) {
        status = recorded_update(env, parts[i]);
    }
    return status == PAL_OK ? recorded_finish(env, out, out_cap, out_len) : status;
}

void mutant_hmac_skip_reinit_after_finish(struct mutant_tables *tables)
{
    mutant_hmac_wrap(tables, (struct pal_hmac_ops){.digest = digest_on_finished,
                                                   .start = start_on_finished,
                                                   .update = recorded_update,
                                                   .finish = recorded_finish});
}

static enum pal_status start_marked(const struct pal_env *env, enum pal_digest digest, struct pal_view key)
{
    enum pal_status status = hmac_good()->start(env, digest, key);
    mutant_memory.flag = status == PAL_OK;
    mutant_keep(&mutant_memory.key, key);
    return status;
}

static enum pal_status digest_under_open_key(DIGEST_PARAMETERS)
{
    if (mutant_memory.flag && !mutant_is_kept(&mutant_memory.key, key)) {
        mutant_fire();
        key = mutant_kept(&mutant_memory.key);
    }
    mutant_memory.flag = false;
    return hmac_good()->digest(DIGEST_ARGUMENTS);
}

void mutant_hmac_abandoned_key_kept(struct mutant_tables *tables)
{
    mutant_hmac_wrap(tables, (struct pal_hmac_ops){
                                 .digest = digest_under_open_key, .start = start_marked, .finish = recorded_finish});
}

/* ---- order of calls --------------------------------------------------------------------------------------------- */

static enum pal_status finish_twice(const struct pal_env *env, uint8_t *out, size_t out_cap, size_t *out_len)
{
    enum pal_status status = hmac_good()->finish(env, out, out_cap, out_len);
    struct pal_view last = mutant_kept(&mutant_memory.message);
    if (status == PAL_OK) {
        mutant_keep(&mutant_memory.message, (struct pal_view){out, *out_len});
    } else if (status == PAL_BAD_STATE && last.len > 0 && last.len <= out_cap) {
        mutant_fire();
        memcpy(out, last.data, last.len);
        *out_len = last.len;
        status = PAL_OK;
    }
    return status;
}

void mutant_hmac_finish_twice(struct mutant_tables *tables)
{
    mutant_hmac_wrap(tables, (struct pal_hmac_ops){.finish = finish_twice});
}

static enum pal_status update_without_message(const struct pal_env *env, struct pal_view part)
{
    enum pal_status status = hmac_good()->update(env, part);
    if (status == PAL_BAD_STATE) {
        mutant_fire();
        status = PAL_OK;
    }
    return status;
}

void mutant_hmac_update_without_message(struct mutant_tables *tables)
{
    mutant_hmac_wrap(tables, (struct pal_hmac_ops){.update = update_without_message});
}

/* close_message: the good port knows no other end than a result. */
static void close_message(const struct pal_env *env)
{
    uint8_t unseen[PAL_DIGEST_LEN_MAX];
    size_t unseen_len = 0;
    if (hmac_good()->finish(env, unseen, sizeof(unseen), &unseen_len) == PAL_OK) {
        mutant_fire();
    }
}

static enum pal_status no_space_closes_message(const struct pal_env *env, uint8_t *out, size_t out_cap, size_t *out_len)
{
    enum pal_status status = hmac_good()->finish(env, out, out_cap, out_len);
    if (status == PAL_NO_SPACE) {
        close_message(env);
    }
    return status;
}

void mutant_hmac_no_space_closes_message(struct mutant_tables *tables)
{
    mutant_hmac_wrap(tables, (struct pal_hmac_ops){.finish = no_space_closes_message});
}

static enum pal_status bad_part_closes_message(const struct pal_env *env, struct pal_view part)
{
    enum pal_status status = hmac_good()->update(env, part);
    if (status == PAL_BAD_ARGUMENT) {
        close_message(env);
    }
    return status;
}

void mutant_hmac_bad_part_closes_message(struct mutant_tables *tables)
{
    mutant_hmac_wrap(tables, (struct pal_hmac_ops){.update = bad_part_closes_message});
}

static enum pal_status null_part_is_empty(const struct pal_env *env, struct pal_view part)
{
    if (part.data == NULL && part.len > 0) {
        mutant_fire();
        part.len = 0;
    }
    return hmac_good()->update(env, part);
}

void mutant_hmac_null_part_is_empty(struct mutant_tables *tables)
{
    mutant_hmac_wrap(tables, (struct pal_hmac_ops){.update = null_part_is_empty});
}

static enum pal_status unknown_digest_is_default(DIGEST_PARAMETERS)
{
    if (digest >= PAL_NUM_DIGESTS) {
        mutant_fire();
        digest = PAL_SHA1;
    }
    return hmac_good()->digest(DIGEST_ARGUMENTS);
}

void mutant_hmac_unknown_digest_is_default(struct mutant_tables *tables)
{
    mutant_hmac_wrap(tables, (struct pal_hmac_ops){.digest = unknown_digest_is_default});
}

/* ---- parts ------------------------------------------------------------------------------------------------------ */

/* text_from: bytes in the parts from number `from` on. */
static size_t text_from(const struct pal_view *parts, size_t num_parts, size_t from)
{
    size_t len = 0;
    for (size_t i = from; i < num_parts; i++) {
        len += parts[i].data != NULL ? parts[i].len : 0;
    }
    return len;
}

static enum pal_status empty_part_ends_message(DIGEST_PARAMETERS)
{
    size_t end = 0;
    while (end < num_parts && parts[end].len > 0) {
        end++;
    }
    if (text_from(parts, num_parts, end) > 0) {
        mutant_fire();
        num_parts = end;
    }
    return hmac_good()->digest(DIGEST_ARGUMENTS);
}

void mutant_hmac_empty_part_ends_message(struct mutant_tables *tables)
{
    mutant_hmac_wrap(tables, (struct pal_hmac_ops){.digest = empty_part_ends_message});
}

static enum pal_status parts_beyond_8_dropped(DIGEST_PARAMETERS)
{
    if (num_parts > 8) {
        mutant_fire();
        num_parts = 8;
    }
    return hmac_good()->digest(DIGEST_ARGUMENTS);
}

void mutant_hmac_parts_beyond_8_dropped(struct mutant_tables *tables)
{
    mutant_hmac_wrap(tables, (struct pal_hmac_ops){.digest = parts_beyond_8_dropped});
}

static enum pal_status empty_message_gives_last_digest(DIGEST_PARAMETERS)
{
    enum pal_status status = hmac_good()->digest(DIGEST_ARGUMENTS);
    const struct mutant_bytes *last = &mutant_memory.message;
    if (status != PAL_OK) {
        return status;
    }
    if (text_from(parts, num_parts, 0) == 0 && last->len == *out_len) {
        mutant_fire();
        memcpy(out, last->data, last->len);
    }
    mutant_keep(&mutant_memory.message, (struct pal_view){out, *out_len});
    return status;
}

void mutant_hmac_empty_message_gives_last_digest(struct mutant_tables *tables)
{
    mutant_hmac_wrap(tables, (struct pal_hmac_ops){.digest = empty_message_gives_last_digest});
}

static enum pal_status unusable_after_first(DIGEST_PARAMETERS)
{
    if (mutant_is_kept(&mutant_memory.key, key)) {
        mutant_fire();
        return PAL_ENGINE;
    }
    mutant_keep(&mutant_memory.key, key);
    return hmac_good()->digest(DIGEST_ARGUMENTS);
}

void mutant_hmac_unusable_after_first(struct mutant_tables *tables)
{
    mutant_hmac_wrap(tables, (struct pal_hmac_ops){.digest = unusable_after_first});
}

static enum pal_status copy_unsupported(DIGEST_PARAMETERS)
{
    if (mutant_is_kept(&mutant_memory.key, key)) {
        mutant_fire();
        return PAL_UNSUPPORTED;
    }
    mutant_keep(&mutant_memory.key, key);
    return hmac_good()->digest(DIGEST_ARGUMENTS);
}

void mutant_hmac_copy_unsupported(struct mutant_tables *tables)
{
    mutant_hmac_wrap(tables, (struct pal_hmac_ops){.digest = copy_unsupported});
}

/* ---- one message for all threads -------------------------------------------------------------------------------- */

static enum pal_status shared_start(const struct pal_env *env, enum pal_digest digest, struct pal_view key)
{
    mutant_memory.message.len = 0;
    mutant_shared.message.len = 0;
    mutant_shared.number = digest;
    mutant_shared.address = (const uint8_t *)&mutant_memory;
    mutant_keep(&mutant_shared.key, key);
    return hmac_good()->start(env, digest, key);
}

static enum pal_status shared_update(const struct pal_env *env, struct pal_view part)
{
    enum pal_status status = hmac_good()->update(env, part);
    if (status == PAL_OK && mutant_add(&mutant_memory.message, part) == part.len) {
        (void)mutant_add(&mutant_shared.message, part);
    }
    return status;
}

/* Whoever ends the message gets the key of who opened last, and all that anyone added since. */
static enum pal_status shared_finish(const struct pal_env *env, uint8_t *out, size_t out_cap, size_t *out_len)
{
    const struct mutant_memory *shared = &mutant_shared;
    bool alone = shared->address == (const uint8_t *)&mutant_memory && shared->message.len == mutant_memory.message.len;
    if (!alone && shared->key.held && hmac_good()->update(env, (struct pal_view){0}) == PAL_OK) {
        mutant_fire();
        enum pal_status status = hmac_good()->start(env, (enum pal_digest)shared->number, mutant_kept(&shared->key));
        status = status == PAL_OK ? hmac_good()->update(env, mutant_kept(&shared->message)) : status;
        if (status != PAL_OK) {
            return status;
        }
    }
    return hmac_good()->finish(env, out, out_cap, out_len);
}

void mutant_hmac_message_shared_by_threads(struct mutant_tables *tables)
{
    mutant_hmac_wrap(tables,
                     (struct pal_hmac_ops){.start = shared_start, .update = shared_update, .finish = shared_finish});
}
