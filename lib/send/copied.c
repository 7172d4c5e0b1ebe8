/* SPDX-License-Identifier: Apache-2.0
 * copied.c: all bytes into one rented buffer, then out of that.
 * The copy is made when the operation's turn has come, not by begin, and lives until its last byte was taken.
 * It breaks on a list larger than memory: PAL_NO_MEMORY, where the other ways go on.
 */
#include "way.h"

#include <assert.h>
#include <string.h>

static bool has_pool(const struct pal_env *env)
{
    return env->rent != NULL && env->release != NULL;
}

static enum pal_status make_room(const struct pal_env *env, struct pal_buffer *out, size_t len)
{
    if (has_pool(env)) {
        return env->rent(env->context, out, len);
    }
    out->data = env->alloc(env->context, len);
    out->cap = len;
    return out->data == NULL ? PAL_NO_MEMORY : PAL_OK;
}

static enum pal_status start(struct pal_send *send)
{
    enum pal_status status = send->left > SIZE_MAX ? PAL_TOO_LONG : PAL_OK;
    uint8_t *to;

    if (status == PAL_OK) {
        status = make_room(send->env, &send->copy, (size_t)send->left);
    }
    if (status != PAL_OK) {
        return status;
    }
    assert(send->copy.cap >= send->left);
    to = send->copy.data;
    for (size_t i = 0; i < send->num_pieces; i++) {
        memcpy(to, send->pieces[i].iov_base, send->pieces[i].iov_len);
        to += send->pieces[i].iov_len;
    }
    send->pieces[0] = (struct iovec){send->copy.data, (size_t)send->left};
    send->num_pieces = 1;
    return PAL_OK;
}

/* The buffer is not wiped: its bytes went to the wire, and who rents it next gets contents that are undefined. */
static void stop(struct pal_send *send)
{
    const struct pal_env *env = send->env;

    if (send->copy.data == NULL) {
        return;
    }
    if (has_pool(env)) {
        (void)env->release(env->context, &send->copy, false);
    } else {
        env->free(env->context, send->copy.data);
    }
    send->copy = (struct pal_buffer){0};
}

static enum pal_status step(struct pal_send *send, uint64_t *out_taken)
{
    return send_bytes(send, out_taken, 1);
}

const struct send_way send_copied = {.start = start, .stop = stop, .step = step};
