/* SPDX-License-Identifier: Apache-2.0
 * mutants_send_waits.c: planted bugs around the calls to the socket: other flags, more calls or waits than needed, and
 * what is made of a failure. The bytes are mutants_send_calls.c's.
 */
#include "mutants_send.h"

#include <sys/socket.h>

#define SPINS 3u

/* ---- flags ------------------------------------------------------------------------------------------------------ */

/* One flag is assigned where it should be added. */
static enum pal_status more_replaces_flags(SENDMSG_PARAMETERS)
{
    if ((flags & MSG_MORE) != 0) {
        mutant_fire();
        flags = MSG_MORE;
    }
    return mutant_send_call(context, out_sent, socket, segments, num_segments, flags);
}

static void more_replaces_flags_hook(struct pal_env *env)
{
    env->sendmsg = more_replaces_flags;
}

void mutant_send_more_replaces_flags(struct mutant_tables *tables)
{
    mutant_send_plant(tables, (struct mutant_send_bug){.hook = more_replaces_flags_hook});
}

static enum pal_status more_on_last(SENDMSG_PARAMETERS)
{
    mutant_fire();
    return mutant_send_call(context, out_sent, socket, segments, num_segments, flags | MSG_MORE);
}

static void more_on_last_hook(struct pal_env *env)
{
    env->sendmsg = more_on_last;
}

void mutant_send_more_on_last(struct mutant_tables *tables)
{
    mutant_send_plant(tables, (struct mutant_send_bug){.hook = more_on_last_hook});
}

/* Whether this call is the last is found out for the first call only. */
static enum pal_status flags_of_first_call(SENDMSG_PARAMETERS)
{
    struct mutant_sending *current = mutant_socket_at(context)->current;
    uint64_t first = current->hit ? current->note : (uint64_t)flags;
    enum pal_status status = mutant_send_call(context, out_sent, socket, segments, num_segments, (int)first);
    if (first != (uint64_t)flags) {
        mutant_fire();
    }
    current->hit = current->hit || status == PAL_OK;
    current->note = first;
    return status;
}

static void flags_of_first_call_hook(struct pal_env *env)
{
    env->sendmsg = flags_of_first_call;
}

void mutant_send_flags_of_first_call(struct mutant_tables *tables)
{
    mutant_send_plant(tables, (struct mutant_send_bug){.hook = flags_of_first_call_hook});
}

/* ---- more calls and waits than needed --------------------------------------------------------------------------- */

static enum pal_status wait_before_call(SENDMSG_PARAMETERS)
{
    struct mutant_socket *at = mutant_socket_at(context);
    mutant_fire();
    (void)at->good->wait_writable(context, socket, at->good->now_ns(context) + 1);
    return mutant_send_call(context, out_sent, socket, segments, num_segments, flags);
}

static void wait_before_call_hook(struct pal_env *env)
{
    env->sendmsg = wait_before_call;
}

void mutant_send_wait_before_call(struct mutant_tables *tables)
{
    mutant_send_plant(tables, (struct mutant_send_bug){.hook = wait_before_call_hook});
}

static enum pal_status spins_when_blocked(SENDMSG_PARAMETERS)
{
    enum pal_status status = mutant_send_call(context, out_sent, socket, segments, num_segments, flags);
    for (size_t i = 0; i < SPINS && status == PAL_WOULD_BLOCK; i++) {
        mutant_fire();
        status = mutant_send_call(context, out_sent, socket, segments, num_segments, flags);
    }
    return status;
}

static void spins_when_blocked_hook(struct pal_env *env)
{
    env->sendmsg = spins_when_blocked;
}

void mutant_send_spins_when_blocked(struct mutant_tables *tables)
{
    mutant_send_plant(tables, (struct mutant_send_bug){.hook = spins_when_blocked_hook});
}

/* A short count says nothing about the next call. */
static enum pal_status short_means_blocked(SENDMSG_PARAMETERS)
{
    struct mutant_socket *at = mutant_socket_at(context);
    enum pal_status status = mutant_send_call(context, out_sent, socket, segments, num_segments, flags);
    if (at->blocking && status == PAL_OK && *out_sent < mutant_segments_len(segments, num_segments)) {
        mutant_fire();
        (void)at->good->wait_writable(context, socket, UINT64_MAX);
    }
    return status;
}

static void short_means_blocked_hook(struct pal_env *env)
{
    env->sendmsg = short_means_blocked;
}

void mutant_send_short_means_blocked(struct mutant_tables *tables)
{
    mutant_send_plant(tables, (struct mutant_send_bug){.hook = short_means_blocked_hook});
}

/* ---- refusals and failures -------------------------------------------------------------------------------------- */

static enum pal_status too_many_is_fatal(SENDMSG_PARAMETERS)
{
    enum pal_status status = mutant_send_call(context, out_sent, socket, segments, num_segments, flags);
    if (status == PAL_TOO_LONG) {
        mutant_fire();
        return PAL_SYSTEM;
    }
    return status;
}

static void too_many_is_fatal_hook(struct pal_env *env)
{
    env->sendmsg = too_many_is_fatal;
}

void mutant_send_too_many_is_fatal(struct mutant_tables *tables)
{
    mutant_send_plant(tables, (struct mutant_send_bug){.hook = too_many_is_fatal_hook});
}

/* More was claimed than was given: all of it, then. */
static enum pal_status lie_believed(SENDMSG_PARAMETERS)
{
    size_t offered = mutant_segments_len(segments, num_segments);
    enum pal_status status = mutant_send_call(context, out_sent, socket, segments, num_segments, flags);
    if (status == PAL_OK && *out_sent > offered) {
        mutant_fire();
        *out_sent = offered;
    }
    return status;
}

static void lie_believed_hook(struct pal_env *env)
{
    env->sendmsg = lie_believed;
}

void mutant_send_lie_believed(struct mutant_tables *tables)
{
    mutant_send_plant(tables, (struct mutant_send_bug){.hook = lie_believed_hook});
}

static enum pal_status tries_again_after_reset(SENDMSG_PARAMETERS)
{
    enum pal_status status = mutant_send_call(context, out_sent, socket, segments, num_segments, flags);
    if (status == PAL_RESET || status == PAL_BROKEN_PIPE) {
        mutant_fire();
        return mutant_send_call(context, out_sent, socket, segments, num_segments, flags);
    }
    return status;
}

static void tries_again_after_reset_hook(struct pal_env *env)
{
    env->sendmsg = tries_again_after_reset;
}

void mutant_send_tries_again_after_reset(struct mutant_tables *tables)
{
    mutant_send_plant(tables, (struct mutant_send_bug){.hook = tries_again_after_reset_hook});
}

/* The time allowed starts anew with every wait. */
static enum pal_status deadline_per_wait_begin(BEGIN_PARAMETERS)
{
    enum pal_status status =
        mutant_send_begin(env, out, out_bad_segment, way, socket, segments, num_segments, UINT64_MAX);
    if (status == PAL_OK && deadline_ns != UINT64_MAX) {
        mutant_sending_of(*out)->note = deadline_ns - env->now_ns(env->context);
    }
    return status;
}

static enum pal_status deadline_per_wait(void *context, int socket, uint64_t deadline_ns)
{
    struct mutant_socket *at = mutant_socket_at(context);
    if (at->current->note > 0) {
        mutant_fire();
        deadline_ns = at->good->now_ns(context) + at->current->note;
    }
    return at->good->wait_writable(context, socket, deadline_ns);
}

static void deadline_per_wait_hook(struct pal_env *env)
{
    env->wait_writable = deadline_per_wait;
}

void mutant_send_deadline_per_wait(struct mutant_tables *tables)
{
    mutant_send_plant(tables,
                      (struct mutant_send_bug){.hook = deadline_per_wait_hook, .ops.begin = deadline_per_wait_begin});
}
