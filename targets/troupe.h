/* SPDX-License-Identifier: Apache-2.0
 * troupe.h: playing one scenario with threads in several worlds. Worlds are always at the same step: all of them get
 * all of one thread's run of steps before the next thread is woken. They share nothing, and waking is what costs.
 */
#ifndef PALDIFF_TROUPE_H
#define PALDIFF_TROUPE_H

#include "target.h"

/* player: one world's place in the scenario. An area's own state begins with it. */
struct player {
    struct world *world;
    const struct scenario *scenario;
    size_t cursor;    /* of the next step */
    uint32_t thread;  /* that plays it */
    bool leaves;      /* the step just played ends its thread */
    bool closes_once; /* the other threads have nothing to close, and need not be woken for it */
};

/* troupe_ops: what an area does. All but step and end may be NULL. */
struct troupe_ops {
    /* step: plays scenario->steps[cursor] on the calling thread, after player_step moved the cursor past it. False when
     * the next step is another thread's (`thread` was changed), or when this one ends its thread (`leaves` was set). */
    bool (*step)(struct player *player, const struct step *step, struct trace_step *trace);
    /* before_leave, after_leave: around the end of a thread other than 0, on thread 0; `thread` is the one that ends,
     * the trace step is the one that asked for it. */
    void (*before_leave)(struct player *player);
    void (*after_leave)(struct player *player, struct trace_step *trace);
    /* close: on each thread that was used, after the last step; on thread 0 alone where the players close once. */
    void (*close)(struct player *player);
    /* end: on thread 0, after all that; `trace` is the end step. */
    void (*end)(struct player *player, struct trace_step *trace);
};

/* player_step: a new, empty step of the trace, for operation `op` on the player's thread; what the environment counts
 * per step starts at zero. */
struct trace_step *player_step(struct player *player, uint32_t op);

/* troupe_play: `players` are at the start of their worlds. */
void troupe_play(struct player *const players[], size_t num_players, struct actors *actors,
                 const struct troupe_ops *ops);

#endif
