/* SPDX-License-Identifier: Apache-2.0
 * replay.h: what `paldiff replay` knows: tool_replay.c fills it in by playing, replay_tell.c tells people and machines.
 */
#ifndef PALDIFF_REPLAY_H
#define PALDIFF_REPLAY_H

#include "guard.h"
#include "inputs.h"

/* As in targets[]. */
enum {
#define TARGET(name) REPLAY_TARGET_##name,
#include "targets.def"
#undef TARGET
    REPLAY_NUM_TARGETS
};

struct replay_options {
    struct inputs_options inputs;
    unsigned long runs;
    bool fresh;
    bool hashes;
    bool all_rules;
    bool kept;
    bool here;
    bool json;
    const char *junit;
    const char *sarif;
};

/* replay_case: one input and what came of it. */
struct replay_case {
    struct input input;
    uint64_t hash;               /* of its first play */
    struct guard_answer *answer; /* NULL: no rule broken */
    const char *inexact;         /* when it left another trace; NULL: never */
    char unseen[512];            /* why it no longer shows what it was kept for; "" if it does */
    double seconds;
};

/* replay_extra: what is wrong with no single input. */
struct replay_extra {
    const struct target *target;
    const char *kind;
    char summary[160];
};

struct replay {
    const struct replay_options *options;
    struct guard guards[REPLAY_NUM_TARGETS];
    uint64_t counts[REPLAY_NUM_TARGETS][NUM_RULES];
    bool played[REPLAY_NUM_TARGETS];
    size_t num_cases;
    struct replay_case *cases;
    size_t num_extras;
    struct replay_extra *extras;
    size_t num_kept;
    struct guard_answer answer;
};

/* replay_tell: on standard output, as JSON, into files; returns the exit code. */
int replay_tell(const struct replay *replay);

#endif
