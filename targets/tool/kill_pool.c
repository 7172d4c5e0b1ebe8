/* SPDX-License-Identifier: Apache-2.0
 * kill_pool.c: workers are processes, so that a mutant can harm nobody else's figures; each takes the next index.
 */
#include "kill.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

void *kill_shared(size_t len)
{
    void *memory = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return memory != MAP_FAILED ? memory : NULL;
}

/* stay_on: the worker's share of the processors: what it starts inherits it, and threads in lockstep run twice as fast
 * on one. */
static void stay_on(size_t worker)
{
    cpu_set_t allowed;
    cpu_set_t one;
    CPU_ZERO(&allowed);
    CPU_ZERO(&one);
    if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0 || CPU_COUNT(&allowed) == 0) {
        return;
    }
    size_t at = worker % (size_t)CPU_COUNT(&allowed);
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, &allowed) && at-- == 0) {
            CPU_SET(cpu, &one);
            (void)sched_setaffinity(0, sizeof(one), &one);
            return;
        }
    }
}

bool kill_pool(size_t num, size_t workers, void (*job)(size_t index, void *context), void *context)
{
    atomic_size_t *next = kill_shared(sizeof(*next));
    pid_t parent = getpid();
    size_t started = 0;
    bool good = next != NULL;
    (void)fflush(NULL);
    for (; good && started < workers && started < num; started++) {
        pid_t child = fork();
        if (child == 0) {
            (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
            stay_on(started);
            for (size_t i = atomic_fetch_add(next, 1); i < num && getppid() == parent; i = atomic_fetch_add(next, 1)) {
                job(i, context);
            }
            _exit(EXIT_HELD);
        }
        if (child < 0) {
            (void)fprintf(stderr, "paldiff: no process: %s\n", strerror(errno));
            good = false;
            break;
        }
    }
    for (size_t i = 0; i < started; i++) {
        int status = 0;
        if (wait(&status) < 0 || status != 0) {
            (void)fputs("paldiff: a worker did not end well\n", stderr);
            good = false;
        }
    }
    if (next != NULL) {
        (void)munmap(next, sizeof(*next));
    }
    return good;
}
