/* SPDX-License-Identifier: Apache-2.0
 * judges_token.c: rules on tokens. Most look at one world alone; the others hold a pooled world against the fresh one
 * of its engine, and every world against what the engine emitted.
 */
#include "judges.h"

static bool has_token(const struct trace_step *step)
{
    return step->facts[FACT_TOKENS] != 0;
}

void judge_contract(struct verdict *out, const struct evidence *evidence, uint32_t argument)
{
    static const char *const clauses[TOKEN_NUM_CLAUSES] = {
        [TOKEN_SOUND] = "sound tokens",
        [TOKEN_STATUS_UNKNOWN] = "status outside the table",
        [TOKEN_STATUS_DIFFERS] = "token with another status than the call",
        [TOKEN_MALFORMED] = "token whose payload, len, cap and rental do not fit",
        [TOKEN_NOT_RENTED] = "pooled token of no live rental",
        [TOKEN_NOT_ALLOCATED] = "fresh token of no live allocation",
        [TOKEN_COUNTS] = "count that does not fit its buffer, or a write beyond it",
    };
    (void)argument;
    for (size_t w = 0; w < evidence->num_traces; w++) {
        const struct trace *world = evidence->traces[w];
        for (size_t i = 0; i < world->num_steps; i++) {
            uint32_t clause = world->steps[i].facts[FACT_CONTRACT];
            if (clause != TOKEN_SOUND) {
                verdict_broken_numbers(out, world, i, clauses[clause < TOKEN_NUM_CLAUSES ? clause : 0], 1, 0);
            } else if (has_token(&world->steps[i])) {
                verdict_held(out);
            }
        }
    }
}

/* judge_token_zero: the fact `argument` is 0 in every step; those with a token count. */
void judge_token_zero(struct verdict *out, const struct evidence *evidence, uint32_t argument)
{
    for (size_t w = 0; w < evidence->num_traces; w++) {
        const struct trace *world = evidence->traces[w];
        for (size_t i = 0; i < world->num_steps; i++) {
            uint32_t got = world->steps[i].facts[argument];
            if (got != 0) {
                verdict_broken_numbers(out, world, i, trace_fact_name((enum trace_fact)argument), got, 0);
            } else if (has_token(&world->steps[i])) {
                verdict_held(out);
            }
        }
    }
}

void judge_size(struct verdict *out, const struct evidence *evidence, uint32_t argument)
{
    (void)argument;
    for (size_t w = 0; w < evidence->num_traces; w++) {
        const struct trace *world = evidence->traces[w];
        for (size_t i = 0; i < world->num_steps; i++) {
            const uint32_t *facts = world->steps[i].facts;
            uint32_t due = facts[FACT_RECORDS_DUE];
            if (facts[FACT_TORN] != 0) {
                verdict_broken_numbers(out, world, i, "torn record", facts[FACT_TORN], 0);
            } else if (due != 0 && facts[FACT_RECORDS] != due - 1) {
                verdict_broken_numbers(out, world, i, "records", facts[FACT_RECORDS], due - 1);
            } else if (due != 0) {
                verdict_held(out);
            }
        }
    }
}

/* compare: `got` and `want` are of the same step. Where a fault was armed only what both call good is comparable. */
static void compare(struct verdict *out, const struct trace *world, size_t index, const struct trace_step *want)
{
    const struct trace_step *got = &world->steps[index];
    bool both_good = got->status == PAL_OK && want->status == PAL_OK;
    bool tainted = got->facts[FACT_TAINTED] != 0 || want->facts[FACT_TAINTED] != 0;
    if (tainted && !both_good) {
        return;
    }
    if (got->status != want->status) {
        verdict_broken_status(out, world, index, got->status, want->status);
    } else if (!views_equal(got->out, want->out)) {
        verdict_broken_bytes(out, world, index, got->out, want->out);
    } else {
        verdict_held(out);
    }
}

static enum token_class class_of(const struct trace_step *step)
{
    if (step->facts[FACT_OTHER_SHAPE] != 0) {
        return TOKEN_CLASS_SHAPE;
    }
    return step->facts[FACT_RENTS] > step->facts[FACT_TOKENS] ? TOKEN_CLASS_GREW : TOKEN_CLASS_PLAIN;
}

void judge_token(struct verdict *out, const struct evidence *evidence, uint32_t argument)
{
    const struct trace *fresh = NULL;
    for (size_t w = 0; w < evidence->num_traces; w++) {
        const struct trace *world = evidence->traces[w];
        if (world->mode != PAL_REUSED) {
            continue;
        }
        for (size_t f = 0; f < evidence->num_traces; f++) {
            const struct trace *other = evidence->traces[f];
            fresh = other->mode == PAL_FRESH && other->engine == world->engine ? other : fresh;
        }
        for (size_t i = 0; fresh != NULL && i < world->num_steps; i++) {
            if (has_token(&world->steps[i]) && argument == (uint32_t)class_of(&world->steps[i])) {
                compare(out, world, i, &fresh->steps[i]);
            }
        }
    }
}

/* judge_tap: tokens and plaintext, against the first world, which takes from the engine without a shape in between. */
void judge_tap(struct verdict *out, const struct evidence *evidence, uint32_t argument)
{
    const struct trace *tap = evidence->traces[0];
    (void)argument;
    for (size_t w = 1; w < evidence->num_traces; w++) {
        const struct trace *world = evidence->traces[w];
        for (size_t i = 0; i < world->num_steps; i++) {
            if (has_token(&world->steps[i]) || world->steps[i].role == ROLE_MESSAGE) {
                compare(out, world, i, &tap->steps[i]);
            }
        }
    }
}

void judge_released_on_error(struct verdict *out, const struct evidence *evidence, uint32_t argument)
{
    (void)argument;
    for (size_t w = 0; w < evidence->num_traces; w++) {
        const struct trace *world = evidence->traces[w];
        for (size_t i = 0; world->mode == PAL_REUSED && i < world->num_steps; i++) {
            const struct trace_step *step = &world->steps[i];
            if (step->status == PAL_OK || !has_token(step)) {
                continue;
            }
            if (step->facts[FACT_LIVE_RENTALS] != 0) {
                verdict_broken_numbers(out, world, i, "rentals that nobody holds", step->facts[FACT_LIVE_RENTALS], 0);
            } else {
                verdict_held(out);
            }
        }
    }
}

void judge_late(struct verdict *out, const struct evidence *evidence, uint32_t argument)
{
    (void)argument;
    judge_token_zero(out, evidence, FACT_TOKEN_LEFT);
    judge_token_zero(out, evidence, FACT_LATE_WRITES);
}
