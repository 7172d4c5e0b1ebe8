/* SPDX-License-Identifier: Apache-2.0
 * judges_tls.c: rules on TLS connections. What has to come of a step was worked out by the world, from what was asked
 * for; the rules count in how many steps it did.
 */
#include "judges.h"

void judge_due(struct verdict *out, const struct evidence *evidence, uint32_t argument)
{
    enum trace_fact due = (enum trace_fact)(argument >> 16);
    enum trace_fact bad = (enum trace_fact)(argument & UINT16_MAX);
    for (size_t w = 0; w < evidence->num_traces; w++) {
        const struct trace *world = evidence->traces[w];
        for (size_t i = 0; i < world->num_steps; i++) {
            const uint32_t *facts = world->steps[i].facts;
            if (facts[bad] != 0) {
                verdict_broken_numbers(out, world, i, trace_fact_name(bad), facts[bad], 0);
            } else if (facts[due] != 0) {
                verdict_held(out);
            }
        }
    }
}

/* judge_plain: plaintext of the class `argument`, and that it could be sent and read. */
void judge_plain(struct verdict *out, const struct evidence *evidence, uint32_t argument)
{
    for (size_t w = 0; w < evidence->num_traces; w++) {
        const struct trace *world = evidence->traces[w];
        for (size_t i = 0; i < world->num_steps; i++) {
            const uint32_t *facts = world->steps[i].facts;
            if (facts[FACT_TLS_CLASS] != argument || facts[FACT_TAINTED] != 0) {
                continue;
            }
            if (facts[FACT_PLAIN_WRONG] != 0) {
                verdict_broken_numbers(out, world, i, "wrong bytes of plaintext", facts[FACT_PLAIN_WRONG], 0);
            } else if (facts[FACT_PLAIN_MISSING] != 0) {
                verdict_broken_numbers(out, world, i, "missing bytes of plaintext", facts[FACT_PLAIN_MISSING], 0);
            } else if (facts[FACT_EXPECTED] == PAL_OK + 1 && world->steps[i].status != PAL_OK) {
                verdict_broken_status(out, world, i, world->steps[i].status, PAL_OK);
            } else if (facts[FACT_PLAIN_DUE] != 0) {
                verdict_held(out);
            }
        }
    }
}

void judge_tampered(struct verdict *out, const struct evidence *evidence, uint32_t argument)
{
    (void)argument;
    judge_due(out, evidence, JUDGE_DUE(FACT_TAMPER_DUE, FACT_TAMPER_PASSED));
    for (size_t w = 0; w < evidence->num_traces; w++) {
        const struct trace *world = evidence->traces[w];
        for (size_t i = 0; i < world->num_steps; i++) {
            const uint32_t *facts = world->steps[i].facts;
            bool changed = facts[FACT_TLS_CLASS] == TLS_CLASS_CHANGED || facts[FACT_TAINTED] != 0;
            if (changed && facts[FACT_PLAIN_WRONG] != 0) {
                verdict_broken_numbers(out, world, i, "wrong bytes of plaintext", facts[FACT_PLAIN_WRONG], 0);
            }
        }
    }
}

/* judge_tls_parity: all worlds as the first one, and as expected. */
void judge_tls_parity(struct verdict *out, const struct evidence *evidence, uint32_t argument)
{
    const struct trace *first = evidence->traces[0];
    (void)argument;
    for (size_t w = 0; w < evidence->num_traces; w++) {
        const struct trace *world = evidence->traces[w];
        for (size_t i = 0; i < world->num_steps; i++) {
            const struct trace_step *step = &world->steps[i];
            uint32_t expected = step->facts[FACT_EXPECTED];
            if (step->facts[FACT_TAINTED] != 0) {
                continue;
            }
            if (expected != 0 && step->status != (enum pal_status)(expected - 1)) {
                verdict_broken_status(out, world, i, step->status, (enum pal_status)(expected - 1));
            } else if (step->status != first->steps[i].status) {
                verdict_broken_status(out, world, i, step->status, first->steps[i].status);
            } else if (expected != 0 || step->status != PAL_OK) {
                verdict_held(out);
            }
        }
    }
}
