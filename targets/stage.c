/* SPDX-License-Identifier: Apache-2.0
 * stage.c: playing one scenario in all worlds of a target.
 */
#include "shim.h"

#include <stdio.h>
#include <string.h>

/* add_world: false, with a line on stderr, when it cannot be started. */
static bool add_world(struct stage *stage, const struct world_spec *spec, const struct pal_port *port)
{
    struct world *world = &stage->worlds[stage->num_worlds];
    world->spec = spec;
    world->port = port;
    world->mode = spec->mode;
    if (world->port == NULL || !arena_init(&world->arena)) {
        (void)fprintf(stderr, "paldiff: world %s cannot be started\n", spec->name);
        return false;
    }
    world_env_init(&world->env);
    world_env_keep(&world->env);
    stage->num_worlds++;
    return true;
}

static void start(struct stage *stage, const struct target *target)
{
    memset(stage, 0, sizeof(*stage));
    stage->target = target;
    rules_binding(stage->binds, target->name);
    actors_init(&stage->actors);
}

bool stage_init(struct stage *stage, const struct target *target, const struct pal_port *mutant)
{
    bool good = true;
    start(stage, target);
    for (size_t i = 0; good && i < target->num_worlds; i++) {
        const struct world_spec *spec = &target->worlds[i];
        bool mutated = mutant != NULL && spec->port == target->mutated;
        good = add_world(stage, spec, mutated ? mutant : spec->port());
    }
    if (!good) {
        stage_deinit(stage);
    }
    return good;
}

/* add_own: a world of the adopted port, unless that lacks it. */
static bool add_own(struct stage *stage, const struct world_spec *spec)
{
    if (stage->target->lacks != NULL && stage->target->lacks(&stage->adopted, spec)) {
        stage->lacking[stage->num_lacking++] = spec;
        return true;
    }
    struct world *world = &stage->worlds[stage->num_worlds];
    (void)snprintf(world->name, sizeof(world->name), "port, for %s", spec->name);
    return add_world(stage, spec, &stage->adopted);
}

bool stage_init_port(struct stage *stage, const struct target *target, const struct pal_port *port)
{
    const struct pal_port *reference = target->mutated();
    start(stage, target);
    bool good = reference != NULL;
    if (good) {
        stage->adopted = *reference;
        stage->adopted.name = port->name;
        stage->adopted.version = port->version;
        stage->adopted.env_random = port->env_random;
        stage->adopted.env_clock = port->env_clock;
        good = target->adopt(&stage->adopted, port);
    }
    for (size_t i = 0; good && i < target->num_worlds; i++) {
        const struct world_spec *spec = &target->worlds[i];
        good = spec->port == target->mutated ? add_own(stage, spec) : add_world(stage, spec, spec->port());
    }
    good = good && (target->own_world == NULL || add_own(stage, target->own_world));
    bool strays = shim_pid() == 0; /* another process cannot */
    for (size_t i = 0; good && strays && i < stage->num_worlds; i++) {
        good = arena_guard(&stage->worlds[i].arena);
    }
    if (!good) {
        stage_deinit(stage);
    }
    return good;
}

void stage_deinit(struct stage *stage)
{
    actors_deinit(&stage->actors);
    for (size_t i = 0; i < stage->num_worlds; i++) {
        world_env_deinit(&stage->worlds[i].env);
        arena_deinit(&stage->worlds[i].arena);
    }
    stage->num_worlds = 0;
}

void stage_clean(struct stage *stage)
{
    for (size_t i = 0; i < stage->num_worlds; i++) {
        struct world *world = &stage->worlds[i];
        arena_reset(&world->arena);
        world_env_reset(&world->env);
        world->env.faultless = stage->faultless;
        world->trace.name = world->name[0] != '\0' ? world->name : world->spec->name;
        world->trace.engine = world->port->name;
        world->trace.mode = world->mode;
        memset(world->trace.steps, 0, world->trace.num_steps * sizeof(world->trace.steps[0]));
        world->trace.num_steps = 0;
    }
}

const struct rule *stage_play(struct stage *stage, struct verdict *out)
{
    const struct trace *traces[WORLDS_MAX] = {0};
    if (stage->rehearse != NULL) {
        stage->rehearse(stage);
    }
    stage_clean(stage);
    for (size_t i = 0; i < stage->num_worlds; i++) {
        traces[i] = &stage->worlds[i].trace;
    }
    stage->target->play(stage->worlds, stage->num_worlds, &stage->actors, &stage->scenario);
    evidence_init(&stage->evidence, stage->num_worlds, traces);
    size_t compared = evidence_compared(&stage->evidence);
    stage->plays++;
    stage->steps += stage->scenario.num_steps;
    stage->compared += compared;
    stage->reached += compared > 0 ? 1 : 0;
    return rules_judge(out, &stage->evidence, stage->binds, stage->rule_counts);
}

uint64_t stage_hash(const struct stage *stage)
{
    uint64_t hash = 0;
    for (size_t i = 0; i < stage->num_worlds; i++) {
        hash = hash * 0x9e3779b97f4a7c15u + trace_hash(&stage->worlds[i].trace);
    }
    return hash;
}
