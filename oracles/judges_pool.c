/* SPDX-License-Identifier: Apache-2.0
 * judges_pool.c: rules on rentals. Most hold in every world by itself; what a world should have answered comes from the
 * scenario's own bookkeeping of who holds what, which no pool had a part in.
 */
#include "judges.h"

/* judge_zero: the fact `argument` is 0 in every rent. */
void judge_zero(struct verdict *out, const struct evidence *evidence, uint32_t argument)
{
    for (size_t w = 0; w < evidence->num_traces; w++) {
        const struct trace *world = evidence->traces[w];
        for (size_t i = 0; i < world->num_steps; i++) {
            const struct trace_step *step = &world->steps[i];
            if (step->facts[argument] != 0) {
                verdict_broken_numbers(out, world, i, trace_fact_name((enum trace_fact)argument), step->facts[argument],
                                       0);
            } else if (step->role == ROLE_MESSAGE && step->status == PAL_OK) {
                verdict_held(out);
            }
        }
    }
}

void judge_exclusive(struct verdict *out, const struct evidence *evidence, uint32_t argument)
{
    (void)argument;
    judge_zero(out, evidence, FACT_OVERLAPS);
    judge_zero(out, evidence, FACT_DAMAGE);
}

/* judge_release: releases of the kind `argument` are answered as expected; with RELEASE_OWN rents as well. */
void judge_release(struct verdict *out, const struct evidence *evidence, uint32_t argument)
{
    for (size_t w = 0; w < evidence->num_traces; w++) {
        const struct trace *world = evidence->traces[w];
        for (size_t i = 0; i < world->num_steps; i++) {
            const struct trace_step *step = &world->steps[i];
            bool rent = argument == RELEASE_OWN && step->role == ROLE_MESSAGE;
            if (!rent && (step->facts[FACT_RELEASE_KIND] != argument)) {
                continue;
            }
            enum pal_status expected = (enum pal_status)step->facts[FACT_EXPECTED];
            if (step->status != expected) {
                verdict_broken_status(out, world, i, step->status, expected);
            } else {
                verdict_held(out);
            }
        }
    }
}

void judge_clear(struct verdict *out, const struct evidence *evidence, uint32_t argument)
{
    (void)argument;
    for (size_t w = 0; w < evidence->num_traces; w++) {
        const struct trace *world = evidence->traces[w];
        for (size_t i = 0; i < world->num_steps; i++) {
            const struct trace_step *step = &world->steps[i];
            uint64_t left = (uint64_t)step->facts[FACT_FREED_KEYS] + step->facts[FACT_STALE_KEYS];
            if (step->facts[FACT_CLEARED] == 0) {
                continue;
            }
            if (left != 0) {
                verdict_broken_numbers(out, world, i, "blocks with bytes of the rental", left, 0);
            } else {
                verdict_held(out);
            }
        }
    }
}

void judge_pool_balance(struct verdict *out, const struct evidence *evidence, uint32_t argument)
{
    (void)argument;
    judge_zero(out, evidence, FACT_MISCOUNTED);
    judge_balance(out, evidence, 0);
}

void judge_reuse(struct verdict *out, const struct evidence *evidence, uint32_t argument)
{
    (void)argument;
    for (size_t w = 0; w < evidence->num_traces; w++) {
        const struct trace *world = evidence->traces[w];
        for (size_t i = 0; i < world->num_steps; i++) {
            const struct trace_step *step = &world->steps[i];
            if (step->facts[FACT_WARM] == 0 || step->status != PAL_OK || step->facts[FACT_FAULTED] != 0) {
                continue;
            }
            if (step->facts[FACT_ALLOCATIONS] != 0) {
                verdict_broken_numbers(out, world, i, "allocations", step->facts[FACT_ALLOCATIONS], 0);
            } else {
                verdict_held(out);
            }
        }
    }
}
