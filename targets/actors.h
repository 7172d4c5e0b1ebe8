/* SPDX-License-Identifier: Apache-2.0
 * actors.h: the threads of a scenario, in lockstep: exactly one runs at any time, so thread-local state is really
 * exercised and replay is exact. Actor 0 is the caller's own thread. Free-running threads have a test of their own,
 * under TSan.
 */
#ifndef PALDIFF_ACTORS_H
#define PALDIFF_ACTORS_H

#include "trace.h"

#include <pthread.h>
#include <semaphore.h>

typedef void actor_fn(void *argument);

struct actor {
    pthread_t thread;
    bool running;
    sem_t go;
    sem_t done;
    actor_fn *work;
    void *argument;
};

struct actors {
    struct actor actor[TRACE_THREADS_MAX];
};

/* actors_init, actors_deinit: threads are started when first used; deinit ends them. */
void actors_init(struct actors *actors);
void actors_deinit(struct actors *actors);

/* actors_run: runs work(argument) on the actor and returns when it is done. */
void actors_run(struct actors *actors, size_t index, actor_fn *work, void *argument);

/* actors_end: the actor's thread ends, thread-local destructors run, and the next use starts a new one. Actor 0 stays.
 */
void actors_end(struct actors *actors, size_t index);

#endif
