/* SPDX-License-Identifier: Apache-2.0
 * mutants_packets.c: planted bugs in sending regions of files: where they begin and end, what a short call and the end
 * of the file mean, and their place among byte segments. Bugs with bytes alone are mutants_send_*.c's.
 */
#include "mutants_send.h"

#include <assert.h>
#include <string.h>
#include <sys/socket.h>

#define ALIGNMENT 16u
#define SPINS 3u
#define TRIES 8u

static bool is_region(const struct pal_segment *segment)
{
    return segment->file >= 0;
}

static bool is_empty_file(const struct pal_env *env, const struct pal_segment *segment)
{
    uint64_t size = 0;
    return is_region(segment) && segment->file_len == 0 &&
           env->file_size(env->context, &size, segment->file) == PAL_OK && size == segment->file_offset;
}

/* ---- where a region is ------------------------------------------------------------------------------------------ */

static enum pal_status offset_ignored(SENDFILE_PARAMETERS)
{
    if (offset > 0) {
        mutant_fire();
    }
    return mutant_send_file(context, out_sent, socket, file, 0, len);
}

static void offset_ignored_hook(struct pal_env *env)
{
    env->sendfile = offset_ignored;
}

void mutant_packets_offset_ignored(struct mutant_tables *tables)
{
    mutant_send_plant(tables, (struct mutant_send_bug){.hook = offset_ignored_hook});
}

/* After a short call the region's own offset is used again. */
static enum pal_status offset_of_region_again(SENDFILE_PARAMETERS)
{
    struct mutant_sending *current = mutant_socket_at(context)->current;
    uint64_t start = current->hit ? current->note : offset;
    enum pal_status status = mutant_send_file(context, out_sent, socket, file, start, len);
    if (start != offset) {
        mutant_fire();
    }
    current->hit = status == PAL_WOULD_BLOCK || (status == PAL_OK && *out_sent < len);
    current->note = start;
    return status;
}

static void offset_of_region_again_hook(struct pal_env *env)
{
    env->sendfile = offset_of_region_again;
}

void mutant_packets_offset_of_region_again(struct mutant_tables *tables)
{
    mutant_send_plant(tables, (struct mutant_send_bug){.hook = offset_of_region_again_hook});
}

static enum pal_status region_in_8_bits(SENDFILE_PARAMETERS)
{
    size_t lost = len % 256 > 0 ? len / 256 * 256 : 0;
    enum pal_status status = mutant_send_file(context, out_sent, socket, file, offset, len - lost);
    if (lost > 0 && status == PAL_OK && *out_sent == len - lost) {
        mutant_fire();
        *out_sent = len;
    }
    return status;
}

static void region_in_8_bits_hook(struct pal_env *env)
{
    env->sendfile = region_in_8_bits;
}

void mutant_packets_region_in_8_bits(struct mutant_tables *tables)
{
    mutant_send_plant(tables, (struct mutant_send_bug){.hook = region_in_8_bits_hook});
}

static enum pal_status region_past_end(SENDFILE_PARAMETERS)
{
    size_t more = (len + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    enum pal_status status = mutant_send_file(context, out_sent, socket, file, offset, more);
    if (status == PAL_OK && *out_sent > len) {
        mutant_fire();
        *out_sent = len;
    }
    return status;
}

static void region_past_end_hook(struct pal_env *env)
{
    env->sendfile = region_past_end;
}

void mutant_packets_region_past_end(struct mutant_tables *tables)
{
    mutant_send_plant(tables, (struct mutant_send_bug){.hook = region_past_end_hook});
}

static enum pal_status first_file_for_all(SENDFILE_PARAMETERS)
{
    struct mutant_sending *current = mutant_socket_at(context)->current;
    current->note = current->hit ? current->note : (uint64_t)file;
    current->hit = true;
    if (file != (int)current->note) {
        mutant_fire();
    }
    return mutant_send_file(context, out_sent, socket, (int)current->note, offset, len);
}

static void first_file_for_all_hook(struct pal_env *env)
{
    env->sendfile = first_file_for_all;
}

void mutant_packets_first_file_for_all(struct mutant_tables *tables)
{
    mutant_send_plant(tables, (struct mutant_send_bug){.hook = first_file_for_all_hook});
}

/* No length is no bytes, not all of the file. */
static void no_length_is_nothing_edit(const struct pal_env *env, struct pal_segment *list, size_t *num)
{
    size_t kept = 0;
    for (size_t i = 0; i < *num; i++) {
        if (is_region(&list[i]) && list[i].file_len == 0 && !is_empty_file(env, &list[i])) {
            mutant_fire();
        } else {
            list[kept++] = list[i];
        }
    }
    *num = kept;
}

void mutant_packets_no_length_is_nothing(struct mutant_tables *tables)
{
    mutant_send_plant(tables, (struct mutant_send_bug){.edit = no_length_is_nothing_edit});
}

/* A region that ends beyond the file is cut in place of being refused. */
static enum pal_status region_cut_to_file_begin(BEGIN_PARAMETERS)
{
    struct pal_segment list[MUTANT_SEGMENTS_MAX];
    assert(num_segments <= MUTANT_SEGMENTS_MAX);
    for (size_t i = 0; i < num_segments; i++) {
        uint64_t size = 0;
        list[i] = segments[i];
        bool known = is_region(&list[i]) && env->file_size(env->context, &size, list[i].file) == PAL_OK;
        if (known && list[i].file_offset < size && list[i].file_len > size - list[i].file_offset) {
            mutant_fire();
            list[i].file_len = size - list[i].file_offset;
        }
    }
    return mutant_send_begin(env, out, out_bad_segment, way, socket, list, num_segments, deadline_ns);
}

void mutant_packets_region_cut_to_file(struct mutant_tables *tables)
{
    mutant_send_plant(tables, (struct mutant_send_bug){.ops.begin = region_cut_to_file_begin});
}

/* ---- its place among the others --------------------------------------------------------------------------------- */

/* Byte segments do not wait for the file before them. */
static void bytes_before_files_edit(const struct pal_env *env, struct pal_segment *list, size_t *num)
{
    struct pal_segment sorted[MUTANT_SEGMENTS_MAX];
    size_t at = 0;
    (void)env;
    for (int files = 0; files < 2; files++) {
        for (size_t i = 0; i < *num; i++) {
            if (is_region(&list[i]) == (files != 0)) {
                sorted[at++] = list[i];
            }
        }
    }
    if (at > 0 && list[0].file != sorted[0].file) {
        mutant_fire();
    }
    memcpy(list, sorted, at * sizeof(*list));
}

void mutant_packets_bytes_before_files(struct mutant_tables *tables)
{
    mutant_send_plant(tables, (struct mutant_send_bug){.edit = bytes_before_files_edit});
}

static void empty_file_ends_list_edit(const struct pal_env *env, struct pal_segment *list, size_t *num)
{
    for (size_t i = 0; i < *num; i++) {
        if (is_empty_file(env, &list[i])) {
            mutant_fire();
            *num = i;
        }
    }
}

void mutant_packets_empty_file_ends_list(struct mutant_tables *tables)
{
    mutant_send_plant(tables, (struct mutant_send_bug){.edit = empty_file_ends_list_edit});
}

/* Whether a region is done is asked after a call only, and a call for no bytes takes none. */
static enum pal_status empty_file_spins(struct pal_send *send, uint64_t *out_progress, bool blocking)
{
    const struct pal_env *env = mutant_socket_of(send)->good;
    const struct mutant_sending *sending = mutant_sending_of(send);
    for (size_t i = 0; i < sending->num_segments; i++) {
        const struct pal_segment *segment = &sending->kept[i];
        for (size_t n = 0; n < SPINS && is_empty_file(env, segment); n++) {
            size_t sent = 0;
            mutant_fire();
            (void)env->sendfile(env->context, &sent, sending->socket, segment->file, segment->file_offset, 0);
        }
    }
    return mutant_send_resume(send, out_progress, blocking);
}

void mutant_packets_empty_file_spins(struct mutant_tables *tables)
{
    mutant_send_plant(tables, (struct mutant_send_bug){.ops.resume = empty_file_spins});
}

/* ---- what a short call means ------------------------------------------------------------------------------------ */

/* One call per file: what it did not take is passed over. */
static enum pal_status rest_of_file_skipped(SENDFILE_PARAMETERS)
{
    enum pal_status status = mutant_send_file(context, out_sent, socket, file, offset, len);
    if (status == PAL_OK && *out_sent > 0 && *out_sent < len) {
        mutant_fire();
        *out_sent = len;
    }
    return status;
}

static void rest_of_file_skipped_hook(struct pal_env *env)
{
    env->sendfile = rest_of_file_skipped;
}

void mutant_packets_rest_of_file_skipped(struct mutant_tables *tables)
{
    mutant_send_plant(tables, (struct mutant_send_bug){.hook = rest_of_file_skipped_hook});
}

/* A call that fails, and says with it how much it took: that is not looked at. */
static enum pal_status count_of_failure_ignored(SENDFILE_PARAMETERS)
{
    enum pal_status status = mutant_send_file(context, out_sent, socket, file, offset, len);
    if (status == PAL_OK && *out_sent > 0 && *out_sent < len) {
        mutant_fire();
        return PAL_WOULD_BLOCK;
    }
    return status;
}

static void count_of_failure_ignored_hook(struct pal_env *env)
{
    env->sendfile = count_of_failure_ignored;
}

void mutant_packets_count_of_failure_ignored(struct mutant_tables *tables)
{
    mutant_send_plant(tables, (struct mutant_send_bug){.hook = count_of_failure_ignored_hook});
}

/* ---- what the end of the file means ----------------------------------------------------------------------------- */

static bool at_end(enum pal_status status, size_t sent, size_t len)
{
    return status == PAL_OK && sent == 0 && len > 0;
}

static enum pal_status end_of_file_is_done(SENDFILE_PARAMETERS)
{
    enum pal_status status = mutant_send_file(context, out_sent, socket, file, offset, len);
    if (at_end(status, *out_sent, len)) {
        mutant_fire();
        *out_sent = len;
    }
    return status;
}

static void end_of_file_is_done_hook(struct pal_env *env)
{
    env->sendfile = end_of_file_is_done;
}

void mutant_packets_end_of_file_is_done(struct mutant_tables *tables)
{
    mutant_send_plant(tables, (struct mutant_send_bug){.hook = end_of_file_is_done_hook});
}

/* Nothing taken: the socket must be full. Gives up after some tries, so that a scenario ends. */
static enum pal_status end_of_file_is_would_block(SENDFILE_PARAMETERS)
{
    struct mutant_sending *current = mutant_socket_at(context)->current;
    enum pal_status status = mutant_send_file(context, out_sent, socket, file, offset, len);
    if (at_end(status, *out_sent, len) && current->note++ < TRIES) {
        mutant_fire();
        return PAL_WOULD_BLOCK;
    }
    return status;
}

static void end_of_file_is_would_block_hook(struct pal_env *env)
{
    env->sendfile = end_of_file_is_would_block;
}

void mutant_packets_end_of_file_is_would_block(struct mutant_tables *tables)
{
    mutant_send_plant(tables, (struct mutant_send_bug){.hook = end_of_file_is_would_block_hook});
}

static enum pal_status end_of_file_is_zeros(SENDFILE_PARAMETERS)
{
    static uint8_t zeros[64];
    enum pal_status status = mutant_send_file(context, out_sent, socket, file, offset, len);
    if (!at_end(status, *out_sent, len)) {
        return status;
    }
    mutant_fire();
    struct iovec padding = {zeros, len < sizeof(zeros) ? len : sizeof(zeros)};
    return mutant_send_call(context, out_sent, socket, &padding, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void end_of_file_is_zeros_hook(struct pal_env *env)
{
    env->sendfile = end_of_file_is_zeros;
}

void mutant_packets_end_of_file_is_zeros(struct mutant_tables *tables)
{
    mutant_send_plant(tables, (struct mutant_send_bug){.hook = end_of_file_is_zeros_hook});
}

static enum pal_status truncation_hides_progress(struct pal_send *send, uint64_t *out_progress, bool blocking)
{
    enum pal_status status = mutant_send_resume(send, out_progress, blocking);
    if (status == PAL_TRUNCATED && *out_progress > 0) {
        mutant_fire();
        *out_progress = 0;
    }
    return status;
}

void mutant_packets_truncation_hides_progress(struct mutant_tables *tables)
{
    mutant_send_plant(tables, (struct mutant_send_bug){.ops.resume = truncation_hides_progress});
}

static enum pal_status truncation_is_reset(struct pal_send *send, uint64_t *out_progress, bool blocking)
{
    enum pal_status status = mutant_send_resume(send, out_progress, blocking);
    if (status == PAL_TRUNCATED) {
        mutant_fire();
        return PAL_RESET;
    }
    return status;
}

void mutant_packets_truncation_is_reset(struct mutant_tables *tables)
{
    mutant_send_plant(tables, (struct mutant_send_bug){.ops.resume = truncation_is_reset});
}
