/* SPDX-License-Identifier: Apache-2.0
 * judges_memory.c: rules on what the environment saw of a world's memory, and on the port's own counts.
 */
#include "judges.h"

void judge_key_wiped(struct verdict *out, const struct evidence *evidence, uint32_t argument)
{
    (void)argument;
    for (size_t w = 0; w < evidence->num_traces; w++) {
        const struct trace *world = evidence->traces[w];
        for (size_t i = 0; i < world->num_steps; i++) {
            const struct trace_step *step = &world->steps[i];
            if (step->facts[FACT_FREED_KEYS] != 0) {
                verdict_broken_numbers(out, world, i, "blocks freed with a key in them", step->facts[FACT_FREED_KEYS],
                                       0);
            } else if (step->facts[FACT_STALE_KEYS] != 0) {
                verdict_broken_numbers(out, world, i, "blocks that keep a replaced key", step->facts[FACT_STALE_KEYS],
                                       0);
            } else if (step->role == ROLE_END || trace_step_has_output(step)) {
                verdict_held(out);
            }
        }
    }
}

void judge_no_alloc(struct verdict *out, const struct evidence *evidence, uint32_t argument)
{
    (void)argument;
    for (size_t w = 0; w < evidence->num_traces; w++) {
        const struct trace *world = evidence->traces[w];
        for (size_t i = 0; world->mode == PAL_REUSED && i < world->num_steps; i++) {
            const struct trace_step *step = &world->steps[i];
            bool keyed = step->role == ROLE_MESSAGE || step->role == ROLE_START;
            if (!keyed || step->status != PAL_OK || !history_is_hit(world, i)) {
                continue;
            }
            if (step->facts[FACT_ALLOCATIONS] != 0) {
                verdict_broken_numbers(out, world, i, "allocations under the slot's key", step->facts[FACT_ALLOCATIONS],
                                       0);
            } else {
                verdict_held(out);
            }
        }
    }
}

void judge_one_setup(struct verdict *out, const struct evidence *evidence, uint32_t argument)
{
    (void)argument;
    for (size_t w = 0; w < evidence->num_traces; w++) {
        const struct trace *world = evidence->traces[w];
        for (size_t i = 0; i < world->num_steps; i++) {
            const struct trace_step *step = &world->steps[i];
            bool keyed = step->role == ROLE_MESSAGE || step->role == ROLE_START;
            if (!keyed || step->status != PAL_OK || step->facts[FACT_FAULTED] != 0) {
                continue;
            }
            bool hit = world->mode == PAL_REUSED && history_is_hit(world, i);
            /* Not a hit may still be served by a slot that survived a failure: at most one set-up then. */
            if (step->facts[FACT_SETUPS] > (hit ? 0u : 1u)) {
                verdict_broken_numbers(out, world, i, "key set-ups", step->facts[FACT_SETUPS], hit ? 0 : 1);
            } else if (hit) {
                verdict_held(out);
            }
        }
    }
}

void judge_balance(struct verdict *out, const struct evidence *evidence, uint32_t argument)
{
    (void)argument;
    for (size_t w = 0; w < evidence->num_traces; w++) {
        const struct trace *world = evidence->traces[w];
        const struct trace_step *end = &world->steps[world->num_steps - 1];
        if (end->facts[FACT_LIVE_BLOCKS] != 0) {
            verdict_broken_numbers(out, world, world->num_steps - 1, "blocks never given back",
                                   end->facts[FACT_LIVE_BLOCKS], 0);
        } else {
            verdict_held(out);
        }
    }
}
