/* SPDX-License-Identifier: Apache-2.0
 * judges_output.c: rules on one world's output buffers alone: what must not be there, whatever the other worlds did.
 */
#include "judges.h"

void judge_untouched(struct verdict *out, const struct evidence *evidence, uint32_t argument)
{
    (void)argument;
    for (size_t w = 0; w < evidence->num_traces; w++) {
        const struct trace *world = evidence->traces[w];
        for (size_t i = 0; i < world->num_steps; i++) {
            const struct trace_step *step = &world->steps[i];
            uint64_t dirt = (uint64_t)step->facts[FACT_DIRT] + step->facts[FACT_ATTEMPT_DIRT];
            if (dirt != 0) {
                verdict_broken_numbers(out, world, i, "bytes changed that are not the call's", dirt, 0);
            } else if (trace_step_has_output(step)) {
                verdict_held(out);
            }
        }
    }
}

void judge_mismatch_wipes(struct verdict *out, const struct evidence *evidence, uint32_t argument)
{
    (void)argument;
    for (size_t w = 0; w < evidence->num_traces; w++) {
        const struct trace *world = evidence->traces[w];
        for (size_t i = 0; i < world->num_steps; i++) {
            const struct trace_step *step = &world->steps[i];
            if (step->status != PAL_BAD_TAG) {
                continue;
            }
            size_t left = 0;
            for (size_t at = 0; at < step->facts[FACT_WIPE_LEN] && at < step->out.len; at++) {
                left += step->out.data[at] != 0 ? 1 : 0;
            }
            if (left != 0) {
                verdict_broken_numbers(out, world, i, "bytes of output that are not 0", left, 0);
            } else {
                verdict_held(out);
            }
        }
    }
}
