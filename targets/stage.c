/* SPDX-License-Identifier: Apache-2.0
 * stage.c: playing one scenario in all worlds of a target.
 */
#include "target.h"

#include <stdio.h>
#include <string.h>

bool stage_init(struct stage *stage, const struct target *target, const struct pal_port *mutant)
{
    memset(stage, 0, sizeof(*stage));
    stage->target = target;
    rules_binding(stage->binds, target->name);
    actors_init(&stage->actors);
    for (size_t i = 0; i < target->num_worlds; i++) {
        const struct world_spec *spec = &target->worlds[i];
        struct world *world = &stage->worlds[i];
        bool mutated = mutant != NULL && spec->port == target->mutated;
        world->spec = spec;
        world->port = mutated ? mutant : spec->port();
        world->mode = spec->mode;
        if (world->port == NULL || !arena_init(&world->arena)) {
            (void)fprintf(stderr, "paldiff: world %s cannot be started\n", spec->name);
            stage_deinit(stage);
            return false;
        }
        world_env_init(&world->env);
        stage->num_worlds++;
    }
    return true;
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

const struct rule *stage_play(struct stage *stage, struct verdict *out)
{
    const struct trace *traces[WORLDS_MAX] = {0};
    for (size_t i = 0; i < stage->num_worlds; i++) {
        struct world *world = &stage->worlds[i];
        arena_reset(&world->arena);
        world_env_deinit(&world->env);
        world_env_init(&world->env);
        world->trace.name = world->spec->name;
        world->trace.engine = world->port->name;
        world->trace.mode = world->mode;
        world->trace.num_steps = 0;
        traces[i] = &world->trace;
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
