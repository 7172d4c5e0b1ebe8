/* SPDX-License-Identifier: Apache-2.0
 * shrink_steps.h: makes a scenario smaller as long as it still shows the same: fewer operations first, then values
 * nearer to their fallbacks, then fewer and plainer bytes. Deterministic; it plays nothing itself.
 */
#ifndef PALDIFF_SHRINK_STEPS_H
#define PALDIFF_SHRINK_STEPS_H

#include "scenario.h"

/* SHRINK_PLAIN: the byte that all others are made, if that changes nothing. */
#define SHRINK_PLAIN 'a'

/* shrink: `best` is the scenario to begin with and the smallest so far. */
struct shrink {
    bool (*shows)(void *context, const struct scenario *candidate); /* the same as the first one */
    bool (*is_over)(void *context);                                 /* no more time */
    void *context;
    struct scenario best;
    uint64_t num_tried;
    bool changed; /* in this round */
    struct scenario candidate;
};

/* shrink_run: until nothing gets smaller: true; or until it is over: false. */
bool shrink_run(struct shrink *shrink);

/* shrink_num_bytes: of all fields of all steps. */
size_t shrink_num_bytes(const struct scenario *scenario);

#endif
