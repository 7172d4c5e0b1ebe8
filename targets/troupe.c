/* SPDX-License-Identifier: Apache-2.0
 * troupe.c: who plays when. Which steps change or end a thread is the area's to say.
 */
#include "troupe.h"

#include <assert.h>
#include <string.h>

struct troupe {
    size_t num;
    struct player *const *players;
    const struct troupe_ops *ops;
};

struct trace_step *player_step(struct player *player, uint32_t op)
{
    struct trace *trace = &player->world->trace;
    assert(trace->num_steps < TRACE_STEPS_MAX);
    struct trace_step *step = &trace->steps[trace->num_steps++];
    step->op = op; /* all else is 0: stage_clean */
    step->thread = player->thread;
    world_env_unwatch_all(&player->world->env);
    world_env_step(&player->world->env, player->cursor);
    return step;
}

static void run_thread(void *argument)
{
    const struct troupe *troupe = argument;
    for (size_t i = 0; i < troupe->num; i++) {
        struct player *player = troupe->players[i];
        bool goes_on = true;
        while (goes_on && player->cursor < player->scenario->num_steps) {
            const struct step *step = &player->scenario->steps[player->cursor++];
            goes_on = troupe->ops->step(player, step, player_step(player, step->op));
        }
    }
}

static void close_thread(void *argument)
{
    const struct troupe *troupe = argument;
    for (size_t i = 0; i < troupe->num; i++) {
        troupe->ops->close(troupe->players[i]);
    }
}

static void leave_thread(const struct troupe *troupe, struct actors *actors, uint32_t thread)
{
    for (size_t i = 0; i < troupe->num; i++) {
        troupe->players[i]->leaves = false;
        if (troupe->ops->before_leave != NULL) {
            troupe->ops->before_leave(troupe->players[i]);
        }
    }
    actors_end(actors, thread);
    for (size_t i = 0; i < troupe->num; i++) {
        struct trace *trace = &troupe->players[i]->world->trace;
        if (troupe->ops->after_leave != NULL) {
            troupe->ops->after_leave(troupe->players[i], &trace->steps[trace->num_steps - 1]);
        }
    }
}

static void set_thread(const struct troupe *troupe, uint32_t thread)
{
    for (size_t i = 0; i < troupe->num; i++) {
        troupe->players[i]->thread = thread;
    }
}

void troupe_play(struct player *const players[], size_t num_players, struct actors *actors,
                 const struct troupe_ops *ops)
{
    struct troupe troupe = {num_players, players, ops};
    bool visited[TRACE_THREADS_MAX] = {false};
    assert(num_players > 0 && num_players <= WORLDS_MAX);
    const struct player *first = players[0];
    while (first->cursor < first->scenario->num_steps) {
        uint32_t thread = first->thread;
        visited[thread] = true;
        actors_run(actors, thread, run_thread, &troupe);
        if (first->leaves) {
            leave_thread(&troupe, actors, thread);
        }
    }
    uint32_t num_closing = ops->close == NULL ? 0 : first->closes_once ? 1 : TRACE_THREADS_MAX;
    for (uint32_t thread = 0; thread < num_closing; thread++) {
        set_thread(&troupe, thread);
        if (visited[thread]) {
            actors_run(actors, thread, close_thread, &troupe);
        }
    }
    set_thread(&troupe, 0);
    for (size_t i = 0; i < num_players; i++) {
        struct trace_step *end = player_step(players[i], 0);
        end->role = ROLE_END;
        ops->end(players[i], end);
    }
}
