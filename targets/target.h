/* SPDX-License-Identifier: Apache-2.0
 * target.h: a target is a language, the worlds that play it, and the rules that judge them. A row in targets.def and
 * one file fuzz_<name>.c make one. A stage is what a process needs to play: made once, reset before every scenario.
 */
#ifndef PALDIFF_TARGET_H
#define PALDIFF_TARGET_H

#include "actors.h"
#include "arena.h"
#include "rules.h"
#include "scenario.h"
#include "world_env.h"

/* world_spec: a port in a mode. `way` is the area's own: how a list is sent, which shape. */
struct world_spec {
    const char *name;
    const struct pal_port *(*port)(void);
    enum pal_mode mode;
    uint32_t way;
};

/* world: a spec at work, with the memory that its trace points into. */
struct world {
    const struct world_spec *spec;
    const struct pal_port *port;
    enum pal_mode mode;
    char name[48]; /* "": the spec's */
    struct world_env env;
    struct arena arena;
    struct trace trace;
};

struct stage;

struct target {
    const char *name;
    const char *sentence; /* what is compared with what */
    const struct language *language;
    size_t num_worlds;
    const struct world_spec *worlds;
    const struct pal_port *(*mutated)(void); /* the port that a mutant stands in for, in all worlds that have it */
    /* adopt: puts what `from`, somebody else's port, has of the target's area into `out`, a copy of that port; false if
     * it has none. lacks: whether it answers that it does not have what a world is for; NULL: it has all. */
    bool (*adopt)(struct pal_port *out, const struct pal_port *from);
    bool (*lacks)(const struct pal_port *port, const struct world_spec *spec);
    const struct world_spec *own_world; /* one more, for somebody else's port: the plain way by itself; NULL: none */
    bool predictable;                   /* what is called does not depend on bytes that only the port knows (shim.h) */
    size_t input_len_max;               /* about 8 operations of random bytes; longer inputs add time, not coverage */
    const char *alarm_mutant;           /* what a start-up self-test plants, and the scenario that must find it */
    const char *alarm_scenario;
    /* play: the scenario in every world, from a clean world to a dropped one; fills the traces. All worlds get all of
     * one thread's run of steps before the next thread is woken: worlds share nothing, and waking is what costs. */
    void (*play)(struct world worlds[], size_t num_worlds, struct actors *actors, const struct scenario *scenario);
};

#define TARGET(name) extern const struct target target_##name;
#include "targets.def"
#undef TARGET

extern const struct target *const targets[];
extern const size_t num_targets;

/* target_find: NULL if there is none of that name. */
const struct target *target_find(const char *name);

/* stage: the worlds of one target. */
struct stage {
    const struct target *target;
    size_t num_worlds;
    struct world worlds[WORLDS_MAX];
    struct pal_port adopted; /* somebody else's, where it stands in */
    size_t num_lacking;
    const struct world_spec *lacking[WORLDS_MAX]; /* worlds that it does not have */
    struct actors actors;
    struct scenario scenario;
    struct evidence evidence;
    void (*rehearse)(struct stage *stage); /* called before every play; NULL: nothing is */
    bool faultless;                        /* no fault that a scenario arms is injected */
    /* Since stage_init: */
    uint64_t plays;
    uint64_t steps;        /* operations of the scenarios */
    uint64_t compared;     /* steps whose output was compared in every world */
    uint64_t reached;      /* plays with at least one of those */
    bool binds[NUM_RULES]; /* rules of the target's area */
    uint64_t rule_counts[NUM_RULES];
};

/* stage_init: the target's worlds. `mutant`, if not NULL, stands in for the first world's port, in all worlds that have
 * it. False (with a line on stderr) when an engine cannot be started or there is no memory. */
bool stage_init(struct stage *stage, const struct target *target, const struct pal_port *mutant);

/* stage_init_port: the same with somebody else's port, which has to have something of the target's area: it stands in
 * with what it has, in the worlds that it does not lack, and is lent memory between guard pages. */
bool stage_init_port(struct stage *stage, const struct target *target, const struct pal_port *port);
void stage_deinit(struct stage *stage);

/* stage_clean: the worlds as they are before a play. */
void stage_clean(struct stage *stage);

/* stage_play: plays stage->scenario in every world and judges. Returns the rule that broke first, or NULL. */
const struct rule *stage_play(struct stage *stage, struct verdict *out);

/* stage_hash: of all traces of the last play. */
uint64_t stage_hash(const struct stage *stage);

#endif
