/* SPDX-License-Identifier: Apache-2.0
 * queue.c: order among the operations on one socket, for the whole process.
 * The only static state of lib/send: pal.h gives operations on one socket no common object to hang a queue on. It holds
 * links through operations, owns no memory, and is empty when there is no unfinished operation.
 * It breaks when an operation is given back without queue_leave.
 */
#include "way.h"

#include <assert.h>
#include <pthread.h>

enum { NUM_BUCKETS = 256 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    struct pal_send *head, *tail;
} buckets[NUM_BUCKETS];

/* Descriptors are small and dense; environments lie some words apart. */
static size_t bucket_of(const struct pal_send *send)
{
    return ((size_t)(unsigned)send->socket ^ ((uintptr_t)send->env >> 4)) % NUM_BUCKETS;
}

static bool same_socket(const struct pal_send *one, const struct pal_send *other)
{
    return one->socket == other->socket && one->env == other->env;
}

void queue_enter(struct pal_send *send)
{
    size_t bucket = bucket_of(send);
    struct pal_send *before;

    assert(!send->queued);
    pthread_mutex_lock(&lock);
    before = buckets[bucket].tail;
    send->queued = true;
    send->ahead = before;
    send->behind = NULL;
    if (before == NULL) {
        buckets[bucket].head = send;
    } else {
        before->behind = send;
    }
    buckets[bucket].tail = send;
    while (before != NULL && !same_socket(before, send)) {
        before = before->ahead;
    }
    atomic_store(&send->first, before == NULL);
    pthread_mutex_unlock(&lock);
}

void queue_leave(struct pal_send *send)
{
    size_t bucket = bucket_of(send);
    struct pal_send *next;

    assert(send->queued);
    pthread_mutex_lock(&lock);
    next = send->behind;
    if (send->ahead == NULL) {
        buckets[bucket].head = next;
    } else {
        send->ahead->behind = next;
    }
    if (next == NULL) {
        buckets[bucket].tail = send->ahead;
    } else {
        next->ahead = send->ahead;
    }
    send->queued = false;
    while (next != NULL && !same_socket(next, send)) {
        next = next->behind;
    }
    if (next != NULL && atomic_load(&send->first)) {
        atomic_store(&next->first, true);
    }
    pthread_mutex_unlock(&lock);
}

bool queue_first(const struct pal_send *send)
{
    return atomic_load(&send->first);
}
