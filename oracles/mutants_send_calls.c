/* SPDX-License-Identifier: Apache-2.0
 * mutants_send_calls.c: planted bugs in what the calls to the socket are given. Each is the good port in an environment
 * whose sendmsg does what the bug would do, and claims what the bug would believe. Flags, counts of calls, and failures
 * are mutants_send_waits.c's.
 */
#include "mutants_send.h"

#include <string.h>

#define CAP 16u
#define BUDGET 64u

static size_t less_of(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* ---- going on after a short write ------------------------------------------------------------------------------- */

/* What was taken is kept in place of what was not. */
static enum pal_status prefix_kept(SENDMSG_PARAMETERS)
{
    struct mutant_socket *at = mutant_socket_at(context);
    size_t taken = mutant_segment_taken(at, segments);
    struct iovec *copy = mutant_segments_copy(at, segments, num_segments);
    if (taken > 0) {
        mutant_fire();
        copy[0].iov_base = (uint8_t *)copy[0].iov_base - taken;
    }
    return mutant_send_call(context, out_sent, socket, copy, num_segments, flags);
}

static void prefix_kept_hook(struct pal_env *env)
{
    env->sendmsg = prefix_kept;
}

void mutant_send_prefix_kept(struct mutant_tables *tables)
{
    mutant_send_plant(tables, (struct mutant_send_bug){.hook = prefix_kept_hook});
}

/* Whole segments are skipped, not bytes. */
static enum pal_status segment_again(SENDMSG_PARAMETERS)
{
    struct mutant_socket *at = mutant_socket_at(context);
    size_t taken = mutant_segment_taken(at, segments);
    struct iovec *copy = mutant_segments_copy(at, segments, num_segments);
    copy[0].iov_base = (uint8_t *)copy[0].iov_base - taken;
    copy[0].iov_len += taken;
    enum pal_status status = mutant_send_call(context, out_sent, socket, copy, num_segments, flags);
    if (taken > 0) {
        mutant_fire();
        *out_sent = less_of(*out_sent, mutant_segments_len(segments, num_segments));
    }
    return status;
}

static void segment_again_hook(struct pal_env *env)
{
    env->sendmsg = segment_again;
}

void mutant_send_segment_again(struct mutant_tables *tables)
{
    mutant_send_plant(tables, (struct mutant_send_bug){.hook = segment_again_hook});
}

/* The rest's length is the taken one's. */
static enum pal_status remainder_reversed(SENDMSG_PARAMETERS)
{
    struct mutant_socket *at = mutant_socket_at(context);
    size_t taken = mutant_segment_taken(at, segments);
    struct iovec *copy = mutant_segments_copy(at, segments, num_segments);
    if (taken == 0 || taken >= copy[0].iov_len) {
        return mutant_send_call(context, out_sent, socket, segments, num_segments, flags);
    }
    mutant_fire();
    copy[0].iov_len = taken;
    enum pal_status status = mutant_send_call(context, out_sent, socket, copy, num_segments, flags);
    *out_sent += status == PAL_OK && *out_sent >= taken ? segments[0].iov_len - taken : 0;
    return status;
}

static void remainder_reversed_hook(struct pal_env *env)
{
    env->sendmsg = remainder_reversed;
}

void mutant_send_remainder_reversed(struct mutant_tables *tables)
{
    mutant_send_plant(tables, (struct mutant_send_bug){.hook = remainder_reversed_hook});
}

static enum pal_status byte_skipped(SENDMSG_PARAMETERS)
{
    struct mutant_socket *at = mutant_socket_at(context);
    struct iovec *copy = mutant_segments_copy(at, segments, num_segments);
    bool skips = mutant_segment_taken(at, segments) > 0 && copy[0].iov_len > 1;
    if (skips) {
        mutant_fire();
        copy[0].iov_base = (uint8_t *)copy[0].iov_base + 1;
        copy[0].iov_len--;
    }
    enum pal_status status = mutant_send_call(context, out_sent, socket, copy, num_segments, flags);
    *out_sent += skips && status == PAL_OK ? 1 : 0;
    return status;
}

static void byte_skipped_hook(struct pal_env *env)
{
    env->sendmsg = byte_skipped;
}

void mutant_send_byte_skipped(struct mutant_tables *tables)
{
    mutant_send_plant(tables, (struct mutant_send_bug){.hook = byte_skipped_hook});
}

/* The next segment goes out before the rest of this one. */
static enum pal_status next_before_rest(SENDMSG_PARAMETERS)
{
    struct mutant_socket *at = mutant_socket_at(context);
    struct iovec *copy = mutant_segments_copy(at, segments, num_segments);
    if (mutant_segment_taken(at, segments) > 0 && num_segments > 1) {
        mutant_fire();
        copy[0] = segments[1];
        copy[1] = segments[0];
    }
    return mutant_send_call(context, out_sent, socket, copy, num_segments, flags);
}

static void next_before_rest_hook(struct pal_env *env)
{
    env->sendmsg = next_before_rest;
}

void mutant_send_next_before_rest(struct mutant_tables *tables)
{
    mutant_send_plant(tables, (struct mutant_send_bug){.hook = next_before_rest_hook});
}

/* The array of the call before is used as it was, old positions and all. */
static enum pal_status old_positions(SENDMSG_PARAMETERS)
{
    struct mutant_socket *at = mutant_socket_at(context);
    size_t offered = mutant_segments_len(segments, num_segments);
    if (at->num_last == 0 || at->last[0].iov_base == segments[0].iov_base) {
        return mutant_send_call(context, out_sent, socket, segments, num_segments, flags);
    }
    mutant_fire();
    struct iovec *copy = mutant_segments_copy(at, at->last, at->num_last);
    enum pal_status status = mutant_send_call(context, out_sent, socket, copy, at->num_last, flags);
    *out_sent = status == PAL_OK ? less_of(*out_sent, offered) : 0;
    return status;
}

static void old_positions_hook(struct pal_env *env)
{
    env->sendmsg = old_positions;
}

void mutant_send_old_positions(struct mutant_tables *tables)
{
    mutant_send_plant(tables, (struct mutant_send_bug){.hook = old_positions_hook});
}

/* The first segment leaves the list before the call that then takes nothing. */
static enum pal_status popped_before_call(SENDMSG_PARAMETERS)
{
    struct mutant_socket *at = mutant_socket_at(context);
    if (at->current->note > 0) {
        mutant_fire();
        *out_sent = (size_t)at->current->note;
        at->current->note = 0;
        return PAL_OK;
    }
    enum pal_status status = mutant_send_call(context, out_sent, socket, segments, num_segments, flags);
    at->current->note = status == PAL_WOULD_BLOCK ? segments[0].iov_len : 0;
    return status;
}

static void popped_before_call_hook(struct pal_env *env)
{
    env->sendmsg = popped_before_call;
}

void mutant_send_popped_before_call(struct mutant_tables *tables)
{
    mutant_send_plant(tables, (struct mutant_send_bug){.hook = popped_before_call_hook});
}

/* The copy is given back, and used by somebody else, before all of it is sent. */
static enum pal_status copy_reused_early(SENDMSG_PARAMETERS)
{
    struct mutant_socket *at = mutant_socket_at(context);
    enum pal_status status = mutant_send_call(context, out_sent, socket, segments, num_segments, flags);
    if (at->current->hit && status == PAL_OK && *out_sent < segments[0].iov_len) {
        mutant_fire();
        memset((uint8_t *)segments[0].iov_base + *out_sent, 0xdd, segments[0].iov_len - *out_sent);
    }
    return status;
}

static enum pal_status copy_reused_early_rent(void *context, struct pal_buffer *out, size_t min_cap)
{
    struct mutant_socket *at = mutant_socket_at(context);
    enum pal_status status = at->good->rent(context, out, min_cap);
    at->current->hit = status == PAL_OK;
    return status;
}

static void copy_reused_early_hook(struct pal_env *env)
{
    env->sendmsg = copy_reused_early;
    env->rent = copy_reused_early_rent;
}

void mutant_send_copy_reused_early(struct mutant_tables *tables)
{
    mutant_send_plant(tables, (struct mutant_send_bug){.hook = copy_reused_early_hook});
}

/* ---- what one call is given ------------------------------------------------------------------------------------- */

/* A short write of one segment does not keep the next from being written. */
static enum pal_status hole_after_short(SENDMSG_PARAMETERS)
{
    size_t sum = 0;
    enum pal_status status = PAL_OK;
    bool holes = false;
    for (size_t i = 0; i < num_segments && status == PAL_OK; i++) {
        size_t sent = 0;
        status = mutant_send_call(context, &sent, socket, &segments[i], 1, flags);
        if (holes && sent > 0) {
            mutant_fire();
        }
        holes = holes || sent < segments[i].iov_len;
        sum += sent;
    }
    *out_sent = sum;
    return sum > 0 ? PAL_OK : status;
}

static void hole_after_short_hook(struct pal_env *env)
{
    env->sendmsg = hole_after_short;
}

void mutant_send_hole_after_short(struct mutant_tables *tables)
{
    mutant_send_plant(tables, (struct mutant_send_bug){.hook = hole_after_short_hook});
}

/* A segment that does not fit into the call is passed over, a smaller one behind it is not. */
static enum pal_status small_ones_first(SENDMSG_PARAMETERS)
{
    struct mutant_socket *at = mutant_socket_at(context);
    struct iovec *copy = mutant_segments_copy(at, segments, num_segments);
    size_t num = 0;
    size_t len = 0;
    for (size_t i = 0; i < num_segments; i++) {
        if (len + segments[i].iov_len <= BUDGET) {
            len += segments[i].iov_len;
            if (num < i) {
                mutant_fire();
            }
            copy[num++] = segments[i];
        }
    }
    return mutant_send_call(context, out_sent, socket, num > 0 ? copy : segments, num > 0 ? num : num_segments, flags);
}

static void small_ones_first_hook(struct pal_env *env)
{
    env->sendmsg = small_ones_first;
}

void mutant_send_small_ones_first(struct mutant_tables *tables)
{
    mutant_send_plant(tables, (struct mutant_send_bug){.hook = small_ones_first_hook});
}

static enum pal_status first_two_swapped(SENDMSG_PARAMETERS)
{
    struct iovec *copy = mutant_segments_copy(mutant_socket_at(context), segments, num_segments);
    if (num_segments > 1) {
        mutant_fire();
        copy[0] = segments[1];
        copy[1] = segments[0];
    }
    return mutant_send_call(context, out_sent, socket, copy, num_segments, flags);
}

static void first_two_swapped_hook(struct pal_env *env)
{
    env->sendmsg = first_two_swapped;
}

void mutant_send_first_two_swapped(struct mutant_tables *tables)
{
    mutant_send_plant(tables, (struct mutant_send_bug){.hook = first_two_swapped_hook});
}

/* A call is capped, and what is above the cap taken for sent with it. */
static enum pal_status above_cap_dropped(SENDMSG_PARAMETERS)
{
    size_t num = less_of(num_segments, CAP);
    enum pal_status status = mutant_send_call(context, out_sent, socket, segments, num, flags);
    if (num < num_segments && status == PAL_OK && *out_sent == mutant_segments_len(segments, num)) {
        mutant_fire();
        *out_sent = mutant_segments_len(segments, num_segments);
    }
    return status;
}

static void above_cap_dropped_hook(struct pal_env *env)
{
    env->sendmsg = above_cap_dropped;
}

void mutant_send_above_cap_dropped(struct mutant_tables *tables)
{
    mutant_send_plant(tables, (struct mutant_send_bug){.hook = above_cap_dropped_hook});
}

static enum pal_status length_in_8_bits(SENDMSG_PARAMETERS)
{
    struct iovec *copy = mutant_segments_copy(mutant_socket_at(context), segments, num_segments);
    size_t lost = copy[0].iov_len % 256 > 0 ? copy[0].iov_len / 256 * 256 : 0;
    copy[0].iov_len -= lost;
    enum pal_status status = mutant_send_call(context, out_sent, socket, copy, num_segments, flags);
    if (lost > 0 && status == PAL_OK && *out_sent >= copy[0].iov_len) {
        mutant_fire();
        *out_sent += lost;
    }
    return status;
}

static void length_in_8_bits_hook(struct pal_env *env)
{
    env->sendmsg = length_in_8_bits;
}

void mutant_send_length_in_8_bits(struct mutant_tables *tables)
{
    mutant_send_plant(tables, (struct mutant_send_bug){.hook = length_in_8_bits_hook});
}

static enum pal_status one_segment_per_call(SENDMSG_PARAMETERS)
{
    if (num_segments > 1) {
        mutant_fire();
    }
    return mutant_send_call(context, out_sent, socket, segments, 1, flags);
}

static void one_segment_per_call_hook(struct pal_env *env)
{
    env->sendmsg = one_segment_per_call;
}

void mutant_send_one_segment_per_call(struct mutant_tables *tables)
{
    mutant_send_plant(tables, (struct mutant_send_bug){.hook = one_segment_per_call_hook});
}
