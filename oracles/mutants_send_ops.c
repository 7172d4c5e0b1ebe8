/* SPDX-License-Identifier: Apache-2.0
 * mutants_send_ops.c: planted bugs in resume, cancel and end: what is reported, whose turn it is, what is given up, and
 * what is left behind. Bugs in single calls are mutants_send_calls.c's.
 */
#include "mutants_send.h"

/* ---- progress --------------------------------------------------------------------------------------------------- */

static enum pal_status progress_accumulates(struct pal_send *send, uint64_t *out_progress, bool blocking)
{
    enum pal_status status = mutant_send_resume(send, out_progress, blocking);
    if (mutant_sending_of(send)->taken > *out_progress) {
        mutant_fire();
    }
    *out_progress = mutant_sending_of(send)->taken;
    return status;
}

void mutant_send_progress_accumulates(struct mutant_tables *tables)
{
    mutant_send_plant(tables, (struct mutant_send_bug){.ops.resume = progress_accumulates});
}

/* What was taken before the wait is not carried over. */
static enum pal_status progress_lost_by_wait(void *context, int socket, uint64_t deadline_ns)
{
    struct mutant_socket *at = mutant_socket_at(context);
    if (at->taken > 0) {
        mutant_fire();
        at->taken = 0;
    }
    return at->good->wait_writable(context, socket, deadline_ns);
}

static void progress_lost_by_wait_hook(struct pal_env *env)
{
    env->wait_writable = progress_lost_by_wait;
}

void mutant_send_progress_lost_by_wait(struct mutant_tables *tables)
{
    mutant_send_plant(tables, (struct mutant_send_bug){.hook = progress_lost_by_wait_hook});
}

static enum pal_status progress_in_8_bits(struct pal_send *send, uint64_t *out_progress, bool blocking)
{
    enum pal_status status = mutant_send_resume(send, out_progress, blocking);
    if (*out_progress > UINT8_MAX) {
        mutant_fire();
        *out_progress = (uint8_t)*out_progress;
    }
    return status;
}

void mutant_send_progress_in_8_bits(struct mutant_tables *tables)
{
    mutant_send_plant(tables, (struct mutant_send_bug){.ops.resume = progress_in_8_bits});
}

static enum pal_status failure_hides_progress(struct pal_send *send, uint64_t *out_progress, bool blocking)
{
    enum pal_status status = mutant_send_resume(send, out_progress, blocking);
    if (status != PAL_OK && status != PAL_WOULD_BLOCK && *out_progress > 0) {
        mutant_fire();
        *out_progress = 0;
    }
    return status;
}

void mutant_send_failure_hides_progress(struct mutant_tables *tables)
{
    mutant_send_plant(tables, (struct mutant_send_bug){.ops.resume = failure_hides_progress});
}

/* ---- what a status is taken for --------------------------------------------------------------------------------- */

static enum pal_status failure_is_would_block(struct pal_send *send, uint64_t *out_progress, bool blocking)
{
    enum pal_status status = mutant_send_resume(send, out_progress, blocking);
    if (status == PAL_RESET || status == PAL_BROKEN_PIPE) {
        mutant_fire();
        return PAL_WOULD_BLOCK;
    }
    return status;
}

void mutant_send_failure_is_would_block(struct mutant_tables *tables)
{
    mutant_send_plant(tables, (struct mutant_send_bug){.ops.resume = failure_is_would_block});
}

static enum pal_status timeout_is_temporary(struct pal_send *send, uint64_t *out_progress, bool blocking)
{
    enum pal_status status = mutant_send_resume(send, out_progress, blocking);
    if (status == PAL_TIMED_OUT) {
        mutant_fire();
        return PAL_WOULD_BLOCK;
    }
    return status;
}

void mutant_send_timeout_is_temporary(struct mutant_tables *tables)
{
    mutant_send_plant(tables, (struct mutant_send_bug){.ops.resume = timeout_is_temporary});
}

/* ENOBUFS ends the operation. */
static enum pal_status no_memory_is_final(struct pal_send *send, uint64_t *out_progress, bool blocking)
{
    enum pal_status status = mutant_send_resume(send, out_progress, blocking);
    if (status == PAL_NO_MEMORY && mutant_socket_of(send)->calls > 0) {
        mutant_fire();
        mutant_good_send->cancel(send);
    }
    return status;
}

void mutant_send_no_memory_is_final(struct mutant_tables *tables)
{
    mutant_send_plant(tables, (struct mutant_send_bug){.ops.resume = no_memory_is_final});
}

/* Queued is reported as sent. */
static enum pal_status queued_is_done(struct pal_send *send, uint64_t *out_progress, bool blocking)
{
    enum pal_status status = mutant_send_resume(send, out_progress, blocking);
    if (status == PAL_WOULD_BLOCK && mutant_socket_of(send)->calls == 0) {
        mutant_fire();
        return PAL_OK;
    }
    return status;
}

void mutant_send_queued_is_done(struct mutant_tables *tables)
{
    mutant_send_plant(tables, (struct mutant_send_bug){.ops.resume = queued_is_done});
}

/* ---- what is given up ------------------------------------------------------------------------------------------- */

/* Nobody asks to be told when the socket takes bytes again. */
static enum pal_status tail_not_armed(struct pal_send *send, uint64_t *out_progress, bool blocking)
{
    struct mutant_sending *sending = mutant_sending_of(send);
    if (sending->status == PAL_WOULD_BLOCK && sending->taken > 0) {
        mutant_fire();
        *out_progress = 0;
        return PAL_WOULD_BLOCK;
    }
    return mutant_send_resume(send, out_progress, blocking);
}

void mutant_send_tail_not_armed(struct mutant_tables *tables)
{
    mutant_send_plant(tables, (struct mutant_send_bug){.ops.resume = tail_not_armed});
}

/* One try is made, even when there is time to wait. */
static enum pal_status no_loop(struct pal_send *send, uint64_t *out_progress, bool blocking)
{
    enum pal_status status = mutant_send_resume(send, out_progress, false);
    if (blocking && status == PAL_WOULD_BLOCK && *out_progress > 0) {
        mutant_fire();
        mutant_good_send->cancel(send);
        return PAL_OK;
    }
    return status;
}

void mutant_send_no_loop(struct mutant_tables *tables)
{
    mutant_send_plant(tables, (struct mutant_send_bug){.ops.resume = no_loop});
}

static enum pal_status drop_tail_on_short(struct pal_send *send, uint64_t *out_progress, bool blocking)
{
    enum pal_status status = mutant_send_resume(send, out_progress, blocking);
    if (status == PAL_WOULD_BLOCK && *out_progress > 0) {
        mutant_fire();
        mutant_good_send->cancel(send);
        return PAL_OK;
    }
    return status;
}

void mutant_send_drop_tail_on_short(struct mutant_tables *tables)
{
    mutant_send_plant(tables, (struct mutant_send_bug){.ops.resume = drop_tail_on_short});
}
void mutant_packets_drop_tail_on_short(struct mutant_tables *tables)
{
    mutant_send_plant(tables, (struct mutant_send_bug){.ops.resume = drop_tail_on_short});
}

/* ---- turns ------------------------------------------------------------------------------------------------------ */

/* Nothing holds the operations on one socket together. */
static enum pal_status no_queue(struct pal_send *send, uint64_t *out_progress, bool blocking)
{
    if (mutant_socket_of(send)->num_open > 1) {
        mutant_fire();
    }
    return mutant_send_resume(send, out_progress, blocking);
}

void mutant_send_no_queue(struct mutant_tables *tables)
{
    mutant_send_plant(tables, (struct mutant_send_bug){.apart = true, .ops.resume = no_queue});
}
void mutant_packets_no_queue(struct mutant_tables *tables)
{
    mutant_send_plant(tables, (struct mutant_send_bug){.apart = true, .ops.resume = no_queue});
}

/* A cancelled operation stays at the head of the queue. */
static void cancelled_keeps_turn_cancel(struct pal_send *send)
{
    mutant_fire();
    mutant_sending_of(send)->hit = true;
}

static enum pal_status cancelled_keeps_turn(struct pal_send *send, uint64_t *out_progress, bool blocking)
{
    *out_progress = 0;
    if (mutant_sending_of(send)->hit) {
        mutant_good_send->cancel(send);
        return PAL_CANCELLED;
    }
    return mutant_send_resume(send, out_progress, blocking);
}

void mutant_send_cancelled_keeps_turn(struct mutant_tables *tables)
{
    mutant_send_plant(tables, (struct mutant_send_bug){.ops.resume = cancelled_keeps_turn,
                                                       .ops.cancel = cancelled_keeps_turn_cancel});
}

static void cancel_ignored(struct pal_send *send)
{
    (void)send;
    mutant_fire();
}

void mutant_send_cancel_ignored(struct mutant_tables *tables)
{
    mutant_send_plant(tables, (struct mutant_send_bug){.ops.cancel = cancel_ignored});
}

/* An operation for which there was no memory is waited for all the same. */
static enum pal_status failed_begin_counted_begin(BEGIN_PARAMETERS)
{
    enum pal_status status = mutant_send_begin(BEGIN_ARGUMENTS);
    struct mutant_socket *at = mutant_socket_at(env->context);
    at->owes = at->owes || status == PAL_NO_MEMORY;
    return status;
}

static enum pal_status failed_begin_counted(struct pal_send *send, uint64_t *out_progress, bool blocking)
{
    if (mutant_socket_of(send)->owes) {
        mutant_fire();
        *out_progress = 0;
        return PAL_WOULD_BLOCK;
    }
    return mutant_send_resume(send, out_progress, blocking);
}

void mutant_send_failed_begin_counted(struct mutant_tables *tables)
{
    mutant_send_plant(
        tables, (struct mutant_send_bug){.ops.begin = failed_begin_counted_begin, .ops.resume = failed_begin_counted});
}

/* ---- memory ----------------------------------------------------------------------------------------------------- */

static enum pal_status allocates_on_resume(struct pal_send *send, uint64_t *out_progress, bool blocking)
{
    const struct pal_env *env = mutant_socket_of(send)->good;
    mutant_fire();
    env->free(env->context, env->alloc(env->context, 64));
    return mutant_send_resume(send, out_progress, blocking);
}

void mutant_send_allocates_on_resume(struct mutant_tables *tables)
{
    mutant_send_plant(tables, (struct mutant_send_bug){.ops.resume = allocates_on_resume});
}

static enum pal_status second_block_begin(BEGIN_PARAMETERS)
{
    void *block = env->alloc(env->context, 64);
    enum pal_status status = block != NULL ? mutant_send_begin(BEGIN_ARGUMENTS) : PAL_NO_MEMORY;
    mutant_fire();
    env->free(env->context, block);
    return status;
}

void mutant_send_second_block(struct mutant_tables *tables)
{
    mutant_send_plant(tables, (struct mutant_send_bug){.ops.begin = second_block_begin});
}

/* Only what begin gave out is freed. */
static void leak_on_refusal(void *context, void *memory)
{
    const struct mutant_socket *at = mutant_socket_at(context);
    bool refused = memory != NULL;
    for (size_t i = 0; i < MUTANT_SENDINGS_MAX; i++) {
        refused = refused && at->sendings[i].send != memory;
    }
    if (refused) {
        mutant_fire();
        return;
    }
    at->good->free(context, memory);
}

static void leak_on_refusal_hook(struct pal_env *env)
{
    env->free = leak_on_refusal;
}

void mutant_send_leak_on_refusal(struct mutant_tables *tables)
{
    mutant_send_plant(tables, (struct mutant_send_bug){.hook = leak_on_refusal_hook});
}

/* The copy of an operation that failed is given back by nobody. */
static enum pal_status leak_on_failure(void *context, struct pal_buffer *buffer, bool clear)
{
    const struct mutant_socket *at = mutant_socket_at(context);
    if (at->current != NULL && at->current->hit) {
        mutant_fire();
        return PAL_OK;
    }
    return at->good->release(context, buffer, clear);
}

static enum pal_status leak_on_failure_call(SENDMSG_PARAMETERS)
{
    enum pal_status status = mutant_send_call(context, out_sent, socket, segments, num_segments, flags);
    mutant_socket_at(context)->current->hit = status == PAL_RESET || status == PAL_BROKEN_PIPE;
    return status;
}

static void leak_on_failure_hook(struct pal_env *env)
{
    env->release = leak_on_failure;
    env->sendmsg = leak_on_failure_call;
}

void mutant_send_leak_on_failure(struct mutant_tables *tables)
{
    mutant_send_plant(tables, (struct mutant_send_bug){.hook = leak_on_failure_hook});
}
