/* SPDX-License-Identifier: Apache-2.0
 * history.c: one pass over a pair of traces with a little memory per thread and slot.
 */
#include "history.h"

#include <string.h>

#define NO_STEP SIZE_MAX
#define BLOCK_LEN_SMALL 64u  /* SHA-1, SHA-256 (FIPS 180-4) */
#define BLOCK_LEN_LARGE 128u /* SHA-384, SHA-512 */

/* past: step numbers, NO_STEP for none since the last drop. */
struct past {
    size_t last_of_slot[TRACE_THREADS_MAX][TRACE_SLOTS_MAX];
    size_t last_of_thread[TRACE_THREADS_MAX];
    size_t open[TRACE_THREADS_MAX];
    bool tainted[TRACE_THREADS_MAX]; /* the open message was lost to an injected fault in one of the worlds */
    size_t last;
};

static void forget_thread(struct past *past, uint32_t thread)
{
    for (size_t slot = 0; slot < TRACE_SLOTS_MAX; slot++) {
        past->last_of_slot[thread][slot] = NO_STEP;
    }
    past->last_of_thread[thread] = NO_STEP;
    past->open[thread] = NO_STEP;
    past->tainted[thread] = false;
}

static bool same_use(const struct trace_step *a, const struct trace_step *b)
{
    return a->facts[FACT_VARIANT] == b->facts[FACT_VARIANT] && views_equal(a->key, b->key);
}

static bool failed(const struct trace *a, const struct trace *b, size_t step)
{
    return a->steps[step].status != PAL_OK || b->steps[step].status != PAL_OK ||
           a->steps[step].facts[FACT_FAULTED] != 0 || b->steps[step].facts[FACT_FAULTED] != 0;
}

static bool edge_key(const struct trace_step *step)
{
    bool large = step->facts[FACT_VARIANT] == PAL_SHA384 || step->facts[FACT_VARIANT] == PAL_SHA512;
    return step->key.len == 0 || step->key.len > (large ? BLOCK_LEN_LARGE : BLOCK_LEN_SMALL);
}

static bool used_before(const struct trace *trace, const struct trace_step *step, size_t before)
{
    for (size_t i = 0; i < before; i++) {
        const struct trace_step *other = &trace->steps[i];
        bool keyed = other->role == ROLE_MESSAGE || other->role == ROLE_START;
        if (keyed && other->thread == step->thread && other->facts[FACT_SLOT] == step->facts[FACT_SLOT] &&
            same_use(other, step)) {
            return true;
        }
    }
    return false;
}

/* key_class: what the key itself, against the slot's last use, makes of a step. */
static enum history key_class(const struct trace *trace, const struct trace_step *step, size_t last)
{
    if (step->facts[FACT_KEY_POKED] != 0) {
        return HISTORY_KEY_CHANGED;
    }
    if (last == NO_STEP) {
        return HISTORY_SAME;
    }
    const struct trace_step *before = &trace->steps[last];
    if (same_use(before, step)) {
        bool same_memory = before->facts[FACT_KEY_REGISTER] == step->facts[FACT_KEY_REGISTER];
        return same_memory ? HISTORY_SAME : HISTORY_KEY_CONTENT;
    }
    if (views_equal(before->key, step->key) || used_before(trace, step, last)) {
        return HISTORY_ALTERNATE;
    }
    return HISTORY_KEY_CONTENT;
}

/* message_class: what the message, against the slot's last use, makes of a step. HISTORY_NONE: nothing special. */
static enum history message_class(const struct trace *trace, const struct trace_step *step, size_t last)
{
    const uint32_t *facts = step->facts;
    const uint32_t *before = last == NO_STEP ? facts : trace->steps[last].facts;
    if (facts[FACT_TAG_LEN] == 0) {
        return edge_key(step) ? HISTORY_EDGE_KEY : HISTORY_NONE; /* no tag: HMAC */
    }
    if (facts[FACT_IN_PLACE] != 0) {
        return HISTORY_IN_PLACE;
    }
    if (facts[FACT_TAG_LEN] != PAL_TAG_LEN_MAX || before[FACT_TAG_LEN] != facts[FACT_TAG_LEN]) {
        return HISTORY_TAG_LEN;
    }
    if (facts[FACT_NONCE_DRAWN] != 0 || facts[FACT_NONCE_LEN] != PAL_NONCE_LEN ||
        before[FACT_NONCE_LEN] != facts[FACT_NONCE_LEN]) {
        return HISTORY_NONCE;
    }
    if (facts[FACT_TEXT_LEN] == 0) {
        return HISTORY_EMPTY;
    }
    if (facts[FACT_NUM_AAD] > 1 || before[FACT_AAD_LEN] != facts[FACT_AAD_LEN]) {
        return HISTORY_AAD;
    }
    return HISTORY_NONE;
}

static enum history classify(const struct past *past, const struct trace *a, const struct trace *b, size_t index)
{
    const struct trace_step *step = &a->steps[index];
    size_t thread = step->thread;
    size_t before = past->last_of_thread[thread];
    if (past->last != NO_STEP && a->steps[past->last].thread != thread && !same_use(&a->steps[past->last], step)) {
        return HISTORY_THREAD;
    }
    if (before != NO_STEP && (a->steps[before].status == PAL_BAD_TAG || b->steps[before].status == PAL_BAD_TAG)) {
        return HISTORY_AFTER_MISMATCH;
    }
    if (a->steps[index].facts[FACT_FAULTED] != 0 || b->steps[index].facts[FACT_FAULTED] != 0 ||
        (before != NO_STEP && failed(a, b, before))) {
        return HISTORY_AFTER_FAILURE;
    }
    if (past->open[thread] != NO_STEP) {
        return HISTORY_ABANDONED;
    }
    size_t last = past->last_of_slot[thread][step->facts[FACT_SLOT]];
    enum history class = message_class(a, step, last);
    if (class != HISTORY_NONE) {
        return class;
    }
    if (before != NO_STEP && a->steps[before].facts[FACT_SLOT] != step->facts[FACT_SLOT]) {
        return HISTORY_DIRECTION;
    }
    return key_class(a, step, last);
}

static void remember(struct past *past, const struct trace_step *step, size_t index)
{
    past->last_of_thread[step->thread] = index;
    if (step->role == ROLE_MESSAGE || step->role == ROLE_START) {
        past->last_of_slot[step->thread][step->facts[FACT_SLOT]] = index;
        past->last = index;
        past->tainted[step->thread] = false;
        past->open[step->thread] = step->role == ROLE_START ? index : NO_STEP;
    }
}

void history_classify(uint8_t classes[TRACE_STEPS_MAX], const struct trace *a, const struct trace *b)
{
    struct past past = {.last = NO_STEP};
    for (uint32_t thread = 0; thread < TRACE_THREADS_MAX; thread++) {
        forget_thread(&past, thread);
    }
    for (size_t i = 0; i < a->num_steps; i++) {
        const struct trace_step *step = &a->steps[i];
        bool lost = a->steps[i].facts[FACT_FAULTED] != 0 || b->steps[i].facts[FACT_FAULTED] != 0;
        size_t open = past.open[step->thread];
        classes[i] = HISTORY_NONE;
        switch (step->role) {
        case ROLE_START:
            classes[i] = (uint8_t)classify(&past, a, b, i);
            remember(&past, step, i);
            break;
        case ROLE_MESSAGE:
            classes[i] = (uint8_t)classify(&past, a, b, i);
            remember(&past, step, i);
            break;
        case ROLE_UPDATE:
            past.tainted[step->thread] |= lost;
            classes[i] = past.tainted[step->thread] ? HISTORY_TAINTED : HISTORY_NONE;
            remember(&past, step, i);
            break;
        case ROLE_FINISH:
            past.tainted[step->thread] |= lost;
            if (past.tainted[step->thread]) {
                classes[i] = HISTORY_TAINTED;
            } else if (open != NO_STEP) {
                bool crossed = past.last != open && a->steps[past.last].thread != step->thread &&
                               !same_use(&a->steps[past.last], &a->steps[open]);
                classes[i] = crossed ? HISTORY_THREAD : classes[open];
            }
            past.open[step->thread] = step->status == PAL_OK ? NO_STEP : open;
            remember(&past, step, i);
            break;
        case ROLE_DROP:
            forget_thread(&past, step->thread);
            break;
        case ROLE_OTHER:
        case ROLE_END:
            break;
        }
    }
}

bool history_is_hit(const struct trace *trace, size_t index)
{
    const struct trace_step *step = &trace->steps[index];
    for (size_t i = index; i-- > 0;) {
        const struct trace_step *before = &trace->steps[i];
        if (before->role == ROLE_OTHER || before->thread != step->thread) {
            continue;
        }
        if (before->role == ROLE_DROP || before->status != PAL_OK || before->facts[FACT_FAULTED] != 0) {
            return false;
        }
        bool keyed = before->role == ROLE_MESSAGE || before->role == ROLE_START;
        if (keyed && before->facts[FACT_SLOT] == step->facts[FACT_SLOT]) {
            return same_use(before, step);
        }
    }
    return false;
}
