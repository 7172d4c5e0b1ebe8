/* SPDX-License-Identifier: Apache-2.0
 * mutants_send_lists.c: planted bugs in begin and in what it keeps: what is refused and for which segment, empty
 * segments and lists, and the caller's list.
 */
#include "mutants_send.h"

#include <assert.h>
#include <sys/socket.h>

/* ---- what begin answers ----------------------------------------------------------------------------------------- */

static enum pal_status next_segment_blamed_begin(BEGIN_PARAMETERS)
{
    enum pal_status status = mutant_send_begin(BEGIN_ARGUMENTS);
    if (status == PAL_BAD_ARGUMENT || status == PAL_TOO_LONG) {
        mutant_fire();
        ++*out_bad_segment;
    }
    return status;
}

void mutant_send_next_segment_blamed(struct mutant_tables *tables)
{
    mutant_send_plant(tables, (struct mutant_send_bug){.ops.begin = next_segment_blamed_begin});
}

static enum pal_status nobody_blamed_begin(BEGIN_PARAMETERS)
{
    size_t bad = *out_bad_segment;
    enum pal_status status = mutant_send_begin(BEGIN_ARGUMENTS);
    if (status != PAL_OK && *out_bad_segment != bad) {
        mutant_fire();
        *out_bad_segment = bad;
    }
    return status;
}

void mutant_send_nobody_blamed(struct mutant_tables *tables)
{
    mutant_send_plant(tables, (struct mutant_send_bug){.ops.begin = nobody_blamed_begin});
}

static enum pal_status overflow_is_no_memory_begin(BEGIN_PARAMETERS)
{
    enum pal_status status = mutant_send_begin(BEGIN_ARGUMENTS);
    if (status == PAL_TOO_LONG) {
        mutant_fire();
        return PAL_NO_MEMORY;
    }
    return status;
}

void mutant_send_overflow_is_no_memory(struct mutant_tables *tables)
{
    mutant_send_plant(tables, (struct mutant_send_bug){.ops.begin = overflow_is_no_memory_begin});
}

static enum pal_status empty_list_refused_begin(BEGIN_PARAMETERS)
{
    if (num_segments == 0) {
        mutant_fire();
        return PAL_BAD_ARGUMENT;
    }
    return mutant_send_begin(BEGIN_ARGUMENTS);
}

void mutant_send_empty_list_refused(struct mutant_tables *tables)
{
    mutant_send_plant(tables, (struct mutant_send_bug){.ops.begin = empty_list_refused_begin});
}

/* begin sends what it can. */
static enum pal_status begin_sends_begin(BEGIN_PARAMETERS)
{
    uint64_t progress = 0;
    enum pal_status status = mutant_send_begin(BEGIN_ARGUMENTS);
    if (status == PAL_OK) {
        (void)mutant_send_resume(*out, &progress, false);
    }
    if (progress > 0) {
        mutant_fire();
    }
    return status;
}

void mutant_send_begin_sends(struct mutant_tables *tables)
{
    mutant_send_plant(tables, (struct mutant_send_bug){.ops.begin = begin_sends_begin});
}

/* No memory is no bytes, whatever the length says. */
static enum pal_status null_is_empty_begin(BEGIN_PARAMETERS)
{
    struct pal_segment list[MUTANT_SEGMENTS_MAX];
    assert(num_segments <= MUTANT_SEGMENTS_MAX);
    for (size_t i = 0; i < num_segments; i++) {
        list[i] = segments[i];
        if (list[i].bytes.data == NULL && list[i].bytes.len > 0) {
            mutant_fire();
            list[i].bytes.len = 0;
        }
    }
    return mutant_send_begin(env, out, out_bad_segment, way, socket, list, num_segments, deadline_ns);
}

void mutant_send_null_is_empty(struct mutant_tables *tables)
{
    mutant_send_plant(tables, (struct mutant_send_bug){.ops.begin = null_is_empty_begin});
}

/* The sum of the lengths wraps to what is left of it. */
static enum pal_status sum_wraps_begin(BEGIN_PARAMETERS)
{
    enum pal_status status = mutant_send_begin(BEGIN_ARGUMENTS);
    if (status == PAL_TOO_LONG) {
        mutant_fire();
        return mutant_send_begin(env, out, out_bad_segment, way, socket, NULL, 0, deadline_ns);
    }
    return status;
}

void mutant_send_sum_wraps(struct mutant_tables *tables)
{
    mutant_send_plant(tables, (struct mutant_send_bug){.ops.begin = sum_wraps_begin});
}

/* A list that is refused is consumed all the same. */
static enum pal_status refused_list_consumed_begin(BEGIN_PARAMETERS)
{
    enum pal_status status = mutant_send_begin(BEGIN_ARGUMENTS);
    if (status == PAL_BAD_ARGUMENT && num_segments > 0) {
        mutant_fire();
        ((struct pal_segment *)(uintptr_t)segments)[0].bytes = (struct pal_view){NULL, 0};
    }
    return status;
}

void mutant_send_refused_list_consumed(struct mutant_tables *tables)
{
    mutant_send_plant(tables, (struct mutant_send_bug){.ops.begin = refused_list_consumed_begin});
}

/* ---- the caller's list ------------------------------------------------------------------------------------------ */

/* What was sent is taken off the caller's list. */
static enum pal_status list_consumed(struct pal_send *send, uint64_t *out_progress, bool blocking)
{
    struct mutant_sending *sending = mutant_sending_of(send);
    enum pal_status status = mutant_send_resume(send, out_progress, blocking);
    if (*out_progress > 0) {
        mutant_fire();
        ((struct pal_segment *)(uintptr_t)sending->list)[0].bytes = (struct pal_view){NULL, 0};
    }
    return status;
}

void mutant_send_list_consumed(struct mutant_tables *tables)
{
    mutant_send_plant(tables, (struct mutant_send_bug){.ops.resume = list_consumed});
}

/* Empty segments are taken off the caller's list. */
static enum pal_status list_compacted_begin(BEGIN_PARAMETERS)
{
    struct pal_segment *list = (struct pal_segment *)(uintptr_t)segments;
    size_t num = 0;
    for (size_t i = 0; i < num_segments; i++) {
        if (list[i].file >= 0 || list[i].bytes.len > 0) {
            if (num < i) {
                mutant_fire();
            }
            list[num++] = list[i];
        }
    }
    return mutant_send_begin(env, out, out_bad_segment, way, socket, segments, num, deadline_ns);
}

void mutant_send_list_compacted(struct mutant_tables *tables)
{
    mutant_send_plant(tables, (struct mutant_send_bug){.ops.begin = list_compacted_begin});
}

/* list_changed: the caller wrote to its list. Reading on would leave the memory that begin was given. */
static bool list_changed(const struct mutant_sending *sending)
{
    return sending->num_segments > 0 && sending->list[0].file != sending->kept[0].file;
}

static enum pal_status list_not_copied(struct pal_send *send, uint64_t *out_progress, bool blocking)
{
    if (list_changed(mutant_sending_of(send))) {
        mutant_fire();
        mutant_good_send->cancel(send);
        *out_progress = 0;
        return PAL_BAD_ARGUMENT;
    }
    return mutant_send_resume(send, out_progress, blocking);
}

void mutant_send_list_not_copied(struct mutant_tables *tables)
{
    mutant_send_plant(tables, (struct mutant_send_bug){.ops.resume = list_not_copied});
}

/* The list is read again after a short write. */
static enum pal_status list_read_again(struct pal_send *send, uint64_t *out_progress, bool blocking)
{
    const struct mutant_sending *sending = mutant_sending_of(send);
    if (sending->taken > 0 && sending->status == PAL_WOULD_BLOCK && list_changed(sending)) {
        mutant_fire();
        mutant_good_send->cancel(send);
        *out_progress = 0;
        return PAL_BAD_ARGUMENT;
    }
    return mutant_send_resume(send, out_progress, blocking);
}

void mutant_send_list_read_again(struct mutant_tables *tables)
{
    mutant_send_plant(tables, (struct mutant_send_bug){.ops.resume = list_read_again});
}

/* ---- empty segments and lists ----------------------------------------------------------------------------------- */

static void empty_segment_ends_list_edit(const struct pal_env *env, struct pal_segment *list, size_t *num)
{
    (void)env;
    for (size_t i = 0; i < *num; i++) {
        if (list[i].file == -1 && list[i].bytes.len == 0) {
            mutant_fire();
            *num = i;
        }
    }
}

void mutant_send_empty_segment_ends_list(struct mutant_tables *tables)
{
    mutant_send_plant(tables, (struct mutant_send_bug){.edit = empty_segment_ends_list_edit});
}

/* No bytes in the first segment: nothing to send. */
static void empty_head_is_end_edit(const struct pal_env *env, struct pal_segment *list, size_t *num)
{
    (void)env;
    if (*num > 0 && list[0].file == -1 && list[0].bytes.len == 0) {
        mutant_fire();
        *num = 0;
    }
}

void mutant_send_empty_head_is_end(struct mutant_tables *tables)
{
    mutant_send_plant(tables, (struct mutant_send_bug){.edit = empty_head_is_end_edit});
}

/* nothing_to_send: whether a list of byte segments is all empty. */
static bool nothing_to_send(const struct mutant_sending *sending)
{
    size_t len = 0;
    for (size_t i = 0; i < sending->num_segments; i++) {
        len += sending->kept[i].bytes.len;
    }
    return len == 0;
}

/* Only a call that takes bytes completes. */
static enum pal_status no_bytes_never_done(struct pal_send *send, uint64_t *out_progress, bool blocking)
{
    enum pal_status status = mutant_send_resume(send, out_progress, blocking);
    if (status == PAL_OK && nothing_to_send(mutant_sending_of(send))) {
        mutant_fire();
        return PAL_WOULD_BLOCK;
    }
    return status;
}

void mutant_send_no_bytes_never_done(struct mutant_tables *tables)
{
    mutant_send_plant(tables, (struct mutant_send_bug){.ops.resume = no_bytes_never_done});
}

/* No bytes taken: the socket is broken. */
static enum pal_status no_bytes_is_error(struct pal_send *send, uint64_t *out_progress, bool blocking)
{
    enum pal_status status = mutant_send_resume(send, out_progress, blocking);
    if (status == PAL_OK && nothing_to_send(mutant_sending_of(send))) {
        mutant_fire();
        return PAL_SYSTEM;
    }
    return status;
}

void mutant_send_no_bytes_is_error(struct mutant_tables *tables)
{
    mutant_send_plant(tables, (struct mutant_send_bug){.ops.resume = no_bytes_is_error});
}

static void call_with_nothing(const struct pal_env *env, int socket)
{
    uint8_t byte = 0;
    size_t sent = 0;
    struct iovec nothing = {&byte, 0};
    mutant_fire();
    (void)env->sendmsg(env->context, &sent, socket, &nothing, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Empty segments at the end get a call of their own. */
static enum pal_status call_for_empty_tail(SENDMSG_PARAMETERS)
{
    const struct mutant_socket *at = mutant_socket_at(context);
    const struct mutant_sending *current = at->current;
    enum pal_status status = mutant_send_call(context, out_sent, socket, segments, num_segments, flags);
    bool last = (flags & MSG_MORE) == 0 && status == PAL_OK && *out_sent == mutant_segments_len(segments, num_segments);
    if (last && current->kept[current->num_segments - 1].bytes.len == 0) {
        call_with_nothing(at->good, socket);
    }
    return status;
}

static void call_for_empty_tail_hook(struct pal_env *env)
{
    env->sendmsg = call_for_empty_tail;
}

void mutant_send_call_for_empty_tail(struct mutant_tables *tables)
{
    mutant_send_plant(tables, (struct mutant_send_bug){.hook = call_for_empty_tail_hook});
}

/* Empty segments are skipped after a call that took bytes, not after one that failed. */
static enum pal_status empty_left_by_failure(SENDMSG_PARAMETERS)
{
    const struct mutant_socket *at = mutant_socket_at(context);
    struct mutant_sending *current = at->current;
    if (current->hit) {
        call_with_nothing(at->good, socket);
    }
    enum pal_status status = mutant_send_call(context, out_sent, socket, segments, num_segments, flags);
    current->hit = status == PAL_WOULD_BLOCK && current->kept[0].bytes.len == 0 && current->kept[0].file == -1;
    return status;
}

static void empty_left_by_failure_hook(struct pal_env *env)
{
    env->sendmsg = empty_left_by_failure;
}

void mutant_send_empty_left_by_failure(struct mutant_tables *tables)
{
    mutant_send_plant(tables, (struct mutant_send_bug){.hook = empty_left_by_failure_hook});
}
