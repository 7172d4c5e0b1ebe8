/* SPDX-License-Identifier: Apache-2.0
 * history.h: for each compared step, the one thing in its past that is most likely to spoil a cached context there.
 * Each such class has its own rule, so that a broken step names the clause and not just a difference.
 * It reads only what was asked for and whether it failed; it knows no engine and trusts no world.
 */
#ifndef PALDIFF_HISTORY_H
#define PALDIFF_HISTORY_H

#include "trace.h"

/* history: in order of priority: a step gets the first that holds. */
enum history {
    HISTORY_NONE,           /* no output, or no message open */
    HISTORY_TAINTED,        /* not compared: an injected fault took the open message away in one world */
    HISTORY_THREAD,         /* the message before, in time, was another thread's and under another key or variant */
    HISTORY_AFTER_MISMATCH, /* the thread's last call was an open that failed */
    HISTORY_AFTER_FAILURE,  /* the thread's last call, or the first attempt at this one, failed otherwise */
    HISTORY_ABANDONED,      /* the thread had an open message */
    HISTORY_EDGE_KEY,       /* the key is empty, or longer than a block of its digest */
    HISTORY_IN_PLACE,       /* output over input */
    HISTORY_TAG_LEN,        /* a tag of other than 16 bytes, or of another length than the slot's last */
    HISTORY_NONCE,          /* a nonce that is drawn, not of 12 bytes, or of another length than the slot's last */
    HISTORY_EMPTY,          /* no text */
    HISTORY_AAD,            /* AAD in parts, or of another length than the slot's last */
    HISTORY_DIRECTION,      /* the thread's last call went through the other slot */
    HISTORY_KEY_CHANGED,    /* the key's memory was written to since its last use */
    HISTORY_ALTERNATE,      /* back to a key and variant that the slot had before, or same key and other variant */
    HISTORY_KEY_CONTENT,    /* another key than the slot's, or the same one from other memory */
    HISTORY_SAME,           /* the first message, or the same key again */
    NUM_HISTORIES
};

/* history_classify: one class per step of the pair `a`, `b` (same scenario, same number of steps). */
void history_classify(uint8_t classes[TRACE_STEPS_MAX], const struct trace *a, const struct trace *b);

/* history_is_hit: whether the step asks for the very key and variant that its slot was last used with successfully, in
 * `trace`, with nothing failed or dropped since: a cached context must serve it. */
bool history_is_hit(const struct trace *trace, size_t step);

#endif
