/* SPDX-License-Identifier: Apache-2.0
 * bind.c: an environment that has a pool: its own rent and release, everything else passed on.
 * It keeps nothing. It breaks when pal_env gets a function that is not passed on here: then that one is NULL.
 */
#include "state.h"

static const struct pal_env *base_of(void *context)
{
    return ((struct pal_pool_bound *)context)->base;
}

static void *bound_alloc(void *context, size_t len)
{
    const struct pal_env *base = base_of(context);

    return base->alloc(base->context, len);
}

static void bound_free(void *context, void *memory)
{
    const struct pal_env *base = base_of(context);

    base->free(base->context, memory);
}

static enum pal_status bound_rent(void *context, struct pal_buffer *out, size_t min_cap)
{
    return pool_rent(((struct pal_pool_bound *)context)->pool, out, min_cap, __builtin_return_address(0));
}

static enum pal_status bound_release(void *context, struct pal_buffer *buffer, bool clear)
{
    return pool_release(((struct pal_pool_bound *)context)->pool, buffer, clear, __builtin_return_address(0));
}

static enum pal_status bound_random(void *context, uint8_t *out, size_t len)
{
    const struct pal_env *base = base_of(context);

    return base->random(base->context, out, len);
}

static uint64_t bound_now_ns(void *context)
{
    const struct pal_env *base = base_of(context);

    return base->now_ns(base->context);
}

static int64_t bound_unix_time(void *context)
{
    const struct pal_env *base = base_of(context);

    return base->unix_time(base->context);
}

static enum pal_status bound_sendmsg(void *context, size_t *out_sent, int socket, const struct iovec *segments,
                                     size_t num_segments, int flags)
{
    const struct pal_env *base = base_of(context);

    return base->sendmsg(base->context, out_sent, socket, segments, num_segments, flags);
}

static enum pal_status bound_sendfile(void *context, size_t *out_sent, int socket, int file, uint64_t offset,
                                      size_t len)
{
    const struct pal_env *base = base_of(context);

    return base->sendfile(base->context, out_sent, socket, file, offset, len);
}

static enum pal_status bound_file_size(void *context, uint64_t *out_size, int file)
{
    const struct pal_env *base = base_of(context);

    return base->file_size(base->context, out_size, file);
}

static enum pal_status bound_wait_writable(void *context, int socket, uint64_t deadline_ns)
{
    const struct pal_env *base = base_of(context);

    return base->wait_writable(base->context, socket, deadline_ns);
}

void pal_pool_bind(struct pal_pool_bound *out, const struct pal_env *base, struct pal_pool *pool)
{
    *out = (struct pal_pool_bound){.base = base, .pool = pool};
    out->env = (struct pal_env){
        .context = out,
        .alloc = base->alloc != NULL ? bound_alloc : NULL,
        .free = base->free != NULL ? bound_free : NULL,
        .rent = bound_rent,
        .release = bound_release,
        .random = base->random != NULL ? bound_random : NULL,
        .now_ns = base->now_ns != NULL ? bound_now_ns : NULL,
        .unix_time = base->unix_time != NULL ? bound_unix_time : NULL,
        .sendmsg = base->sendmsg != NULL ? bound_sendmsg : NULL,
        .sendfile = base->sendfile != NULL ? bound_sendfile : NULL,
        .file_size = base->file_size != NULL ? bound_file_size : NULL,
        .wait_writable = base->wait_writable != NULL ? bound_wait_writable : NULL,
    };
}
