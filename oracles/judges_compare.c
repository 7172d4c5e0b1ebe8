/* SPDX-License-Identifier: Apache-2.0
 * judges_compare.c: rules that hold two worlds against each other: same acceptance, same bytes.
 * Which step belongs to which rule is history.c's; a step belongs to at most one class.
 */
#include "judges.h"

/* is_refusal: the request itself was wrong, as opposed to the message, the engine or the machine. */
static bool is_refusal(enum pal_status status)
{
    return status == PAL_UNSUPPORTED || status == PAL_BAD_ARGUMENT || status == PAL_TOO_LONG ||
           status == PAL_NO_SPACE || status == PAL_BAD_STATE || status == PAL_NO_RANDOM;
}

static struct pal_view output(const struct trace_step *step)
{
    size_t len = step->out_len < step->out.len ? step->out_len : step->out.len;
    return (struct pal_view){step->out.data, len};
}

/* compare_step: `got` against `want` where no request was refused. */
static void compare_step(struct verdict *out, const struct trace *got_world, size_t index, const struct trace_step *got,
                         const struct trace_step *want)
{
    if (is_refusal(got->status) || is_refusal(want->status)) {
        return; /* error_parity's */
    }
    if (got->status != want->status) {
        verdict_broken_status(out, got_world, index, got->status, want->status);
    } else if (got->status != PAL_OK) {
        verdict_held(out);
    } else if (got->out_len != want->out_len) {
        verdict_broken_numbers(out, got_world, index, "bytes of output", got->out_len, want->out_len);
    } else if (!views_equal(output(got), output(want))) {
        verdict_broken_bytes(out, got_world, index, output(got), output(want));
    } else {
        verdict_held(out);
    }
}

void judge_class(struct verdict *out, const struct evidence *evidence, uint32_t argument)
{
    for (size_t p = 0; p < evidence->num_pairs; p++) {
        const struct pair *pair = &evidence->pairs[p];
        for (size_t i = 0; i < pair->fresh->num_steps; i++) {
            if (pair->classes[i] == argument && trace_step_has_output(&pair->fresh->steps[i])) {
                compare_step(out, pair->reused, i, &pair->reused->steps[i], &pair->fresh->steps[i]);
            }
        }
    }
}

void judge_cross_engine(struct verdict *out, const struct evidence *evidence, uint32_t argument)
{
    (void)argument;
    if (evidence->num_pairs < PAIRS_MAX) {
        return;
    }
    const struct trace *a = evidence->pairs[0].fresh;
    const struct trace *b = evidence->pairs[1].fresh;
    for (size_t i = 0; i < a->num_steps; i++) {
        if (trace_step_has_output(&a->steps[i]) && evidence->cross_classes[i] != HISTORY_TAINTED) {
            compare_step(out, a, i, &a->steps[i], &b->steps[i]);
        }
    }
}

/* parity_step: one refuses, or neither has an output to compare. */
static void parity_step(struct verdict *out, const struct trace *a, const struct trace *b, size_t index)
{
    enum pal_status got = a->steps[index].status;
    enum pal_status want = b->steps[index].status;
    bool compared = trace_step_has_output(&a->steps[index]) && !is_refusal(got) && !is_refusal(want);
    if (compared || a->steps[index].role == ROLE_OTHER || a->steps[index].role == ROLE_END) {
        return;
    }
    if (got != want) {
        verdict_broken_status(out, a, index, got, want);
    } else if (got != PAL_OK) {
        verdict_held(out);
    }
}

/* attempt: a faulted attempt may be refused for lack of memory, and for nothing else; or the port did without. */
static void judge_attempt(struct verdict *out, const struct trace *world, size_t index)
{
    const uint32_t *facts = world->steps[index].facts;
    enum pal_status status = (enum pal_status)facts[FACT_ATTEMPT_STATUS];
    bool refused_anyway = status == world->steps[index].status;
    if (facts[FACT_FAULTED] != 0 && status != PAL_OK && status != PAL_NO_MEMORY && !refused_anyway) {
        verdict_broken_status(out, world, index, status, PAL_NO_MEMORY);
    }
}

void judge_error_parity(struct verdict *out, const struct evidence *evidence, uint32_t argument)
{
    (void)argument;
    for (size_t p = 0; p < evidence->num_pairs; p++) {
        const struct pair *pair = &evidence->pairs[p];
        for (size_t i = 0; i < pair->fresh->num_steps; i++) {
            if (pair->classes[i] != HISTORY_TAINTED) {
                parity_step(out, pair->reused, pair->fresh, i);
            }
            judge_attempt(out, pair->fresh, i);
            judge_attempt(out, pair->reused, i);
        }
    }
    for (size_t i = 0; evidence->num_pairs == PAIRS_MAX && i < evidence->pairs[0].fresh->num_steps; i++) {
        if (evidence->cross_classes[i] != HISTORY_TAINTED) {
            parity_step(out, evidence->pairs[0].fresh, evidence->pairs[1].fresh, i);
        }
    }
}
