/* SPDX-License-Identifier: Apache-2.0
 * actors.c: one semaphore to start an actor's piece of work, one to wait for its end. A NULL work ends the thread.
 */
#include "actors.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* Sanitizers mark the whole of a stack when a thread starts and again when it ends: with the 8 MB that threads get
 * otherwise that took longer than what most threads are for. */
#define STACK_LEN ((size_t)256 << 10)

static void must(int error, const char *what)
{
    if (error != 0) {
        (void)fprintf(stderr, "paldiff: %s failed (%d)\n", what, error);
        abort();
    }
}

static void wait_for(sem_t *semaphore)
{
    while (sem_wait(semaphore) != 0) {
        must(errno == EINTR ? 0 : errno, "sem_wait");
    }
}

static void *actor_main(void *argument)
{
    struct actor *self = argument;
    for (;;) {
        wait_for(&self->go);
        if (self->work == NULL) {
            return NULL;
        }
        self->work(self->argument);
        must(sem_post(&self->done), "sem_post");
    }
}

static void start_thread(struct actor *actor)
{
    pthread_attr_t attributes;
    must(pthread_attr_init(&attributes), "pthread_attr_init");
    must(pthread_attr_setstacksize(&attributes, STACK_LEN), "pthread_attr_setstacksize");
    must(pthread_create(&actor->thread, &attributes, actor_main, actor), "pthread_create");
    must(pthread_attr_destroy(&attributes), "pthread_attr_destroy");
    actor->running = true;
}

void actors_init(struct actors *actors)
{
    for (size_t i = 0; i < TRACE_THREADS_MAX; i++) {
        actors->actor[i].running = false;
        must(sem_init(&actors->actor[i].go, 0, 0), "sem_init");
        must(sem_init(&actors->actor[i].done, 0, 0), "sem_init");
    }
}

void actors_deinit(struct actors *actors)
{
    for (size_t i = 0; i < TRACE_THREADS_MAX; i++) {
        actors_end(actors, i);
        must(sem_destroy(&actors->actor[i].go), "sem_destroy");
        must(sem_destroy(&actors->actor[i].done), "sem_destroy");
    }
}

void actors_run(struct actors *actors, size_t index, actor_fn *work, void *argument)
{
    struct actor *actor = &actors->actor[index];
    if (index == 0) {
        work(argument);
        return;
    }
    if (!actor->running) {
        start_thread(actor);
    }
    actor->work = work;
    actor->argument = argument;
    must(sem_post(&actor->go), "sem_post");
    wait_for(&actor->done);
}

void actors_end(struct actors *actors, size_t index)
{
    struct actor *actor = &actors->actor[index];
    if (index == 0 || !actor->running) {
        return;
    }
    actor->work = NULL;
    must(sem_post(&actor->go), "sem_post");
    must(pthread_join(actor->thread, NULL), "pthread_join");
    actor->running = false;
}
