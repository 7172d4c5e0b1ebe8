/* SPDX-License-Identifier: Apache-2.0
 * judges_send.c: rules on sending. Every way meets the same socket at the same places of the stream, so status,
 * progress and bytes of each resume have to be the same; and each world's bytes have to be its own list's.
 */
#include "judges.h"

/* comparable: neither world was lied to so far. What a socket did not take cannot be compared. */
static bool comparable(const struct trace_step *a, const struct trace_step *b)
{
    return a->facts[FACT_LIED] == 0 && b->facts[FACT_LIED] == 0;
}

void judge_begin(struct verdict *out, const struct evidence *evidence, uint32_t argument)
{
    (void)argument;
    const struct trace *first = evidence->traces[0];
    for (size_t w = 1; w < evidence->num_traces; w++) {
        const struct trace *world = evidence->traces[w];
        for (size_t i = 0; i < world->num_steps; i++) {
            const struct trace_step *got = &world->steps[i];
            const struct trace_step *want = &first->steps[i];
            if (got->facts[FACT_SEND_KIND] != SEND_BEGIN) {
                continue;
            }
            if (got->status != want->status) {
                verdict_broken_status(out, world, i, got->status, want->status);
            } else if (got->facts[FACT_BAD_SEGMENT] != want->facts[FACT_BAD_SEGMENT]) {
                verdict_broken_numbers(out, world, i, "is the bad segment, + 1", got->facts[FACT_BAD_SEGMENT],
                                       want->facts[FACT_BAD_SEGMENT]);
            } else if (got->facts[FACT_TAKEN] != 0) {
                verdict_broken_numbers(out, world, i, "bytes sent by begin", got->facts[FACT_TAKEN], 0);
            } else {
                verdict_held(out);
            }
        }
    }
}

void judge_order(struct verdict *out, const struct evidence *evidence, uint32_t argument)
{
    (void)argument;
    for (size_t w = 0; w < evidence->num_traces; w++) {
        const struct trace *world = evidence->traces[w];
        for (size_t i = 0; i < world->num_steps; i++) {
            const struct trace_step *step = &world->steps[i];
            if (step->facts[FACT_SEND_KIND] != SEND_QUEUED) {
                continue;
            }
            /* A deadline holds for the whole operation, its wait for others included; when to notice is the port's. */
            bool timed_out = step->status == PAL_TIMED_OUT && step->facts[FACT_EXPECTED] == PAL_TIMED_OUT;
            if (step->facts[FACT_TAKEN] != 0) {
                verdict_broken_numbers(out, world, i, "bytes sent out of turn", step->facts[FACT_TAKEN], 0);
            } else if (step->status != PAL_WOULD_BLOCK && !timed_out) {
                verdict_broken_status(out, world, i, step->status, PAL_WOULD_BLOCK);
            } else {
                verdict_held(out);
            }
        }
    }
}

void judge_progress(struct verdict *out, const struct evidence *evidence, uint32_t argument)
{
    (void)argument;
    for (size_t w = 0; w < evidence->num_traces; w++) {
        const struct trace *world = evidence->traces[w];
        for (size_t i = 0; i < world->num_steps; i++) {
            const struct trace_step *step = &world->steps[i];
            bool resumed = step->facts[FACT_SEND_KIND] == SEND_RESUME || step->facts[FACT_SEND_KIND] == SEND_QUEUED;
            if (!resumed || step->facts[FACT_LIED] != 0) {
                continue;
            }
            if (step->facts[FACT_PROGRESS] != step->facts[FACT_TAKEN]) {
                verdict_broken_numbers(out, world, i, "bytes of progress", step->facts[FACT_PROGRESS],
                                       step->facts[FACT_TAKEN]);
            } else if (step->facts[FACT_TAKEN] > 0) {
                verdict_held(out);
            }
        }
    }
}

void judge_send(struct verdict *out, const struct evidence *evidence, uint32_t argument)
{
    const struct trace *first = evidence->traces[0];
    for (size_t w = 0; w < evidence->num_traces; w++) {
        const struct trace *world = evidence->traces[w];
        for (size_t i = 0; i < world->num_steps; i++) {
            const struct trace_step *got = &world->steps[i];
            const struct trace_step *want = &first->steps[i];
            if (got->facts[FACT_SEND_CLASS] != argument || got->facts[FACT_SEND_KIND] != SEND_RESUME) {
                continue;
            }
            if (got->facts[FACT_WRONG_BYTES] != 0) {
                verdict_broken_numbers(out, world, i, "bytes that are not the list's", got->facts[FACT_WRONG_BYTES], 0);
            } else if (!comparable(got, want)) {
                if (got->facts[FACT_LIED] == 1 && got->status != PAL_SYSTEM) {
                    verdict_broken_status(out, world, i, got->status, PAL_SYSTEM);
                } else {
                    verdict_held(out);
                }
            } else if (got->status != want->status) {
                verdict_broken_status(out, world, i, got->status, want->status);
            } else if (got->facts[FACT_TAKEN] != want->facts[FACT_TAKEN]) {
                verdict_broken_numbers(out, world, i, "bytes taken", got->facts[FACT_TAKEN], want->facts[FACT_TAKEN]);
            } else {
                verdict_held(out);
            }
        }
    }
}

void judge_bounded(struct verdict *out, const struct evidence *evidence, uint32_t argument)
{
    (void)argument;
    for (size_t w = 0; w < evidence->num_traces; w++) {
        const struct trace *world = evidence->traces[w];
        for (size_t i = 0; i < world->num_steps; i++) {
            const uint32_t *facts = world->steps[i].facts;
            if (facts[FACT_IDLE_CALLS] != 0) {
                verdict_broken_numbers(out, world, i, "calls with nothing to do", facts[FACT_IDLE_CALLS], 0);
            } else if (facts[FACT_IDLE_WAITS] != 0) {
                verdict_broken_numbers(out, world, i, "waits that nothing called for", facts[FACT_IDLE_WAITS], 0);
            } else if (facts[FACT_CALLS_DUE] != 0 && facts[FACT_CALLS] != facts[FACT_CALLS_DUE]) {
                verdict_broken_numbers(out, world, i, "calls", facts[FACT_CALLS], facts[FACT_CALLS_DUE]);
            } else if (facts[FACT_CALLS_DUE] != 0) {
                verdict_held(out);
            }
        }
    }
}

void judge_no_heap(struct verdict *out, const struct evidence *evidence, uint32_t argument)
{
    (void)argument;
    for (size_t w = 0; w < evidence->num_traces; w++) {
        const struct trace *world = evidence->traces[w];
        for (size_t i = 0; i < world->num_steps; i++) {
            const struct trace_step *step = &world->steps[i];
            uint32_t kind = step->facts[FACT_SEND_KIND];
            uint32_t due = kind == SEND_BEGIN ? 1 : 0;
            if (kind == SEND_NONE) {
                continue;
            }
            if (step->facts[FACT_ALLOCATIONS] > due) {
                verdict_broken_numbers(out, world, i, "allocations", step->facts[FACT_ALLOCATIONS], due);
            } else {
                verdict_held(out);
            }
        }
    }
}
