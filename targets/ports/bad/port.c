/* SPDX-License-Identifier: Apache-2.0
 * A port that is good but for one thing, which $PALDIFF_BAD names: what a port can do to the process that it is loaded
 * into. ci/port_test says which rule each must get. The good part is the sample port's.
 */
#include <pal.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

pal_port_get_fn pal_port_get;
pal_port_get_fn sample_port_get; /* the sample's, under another name */

#define CALLS_BEFORE 3 /* good ones, so that not every scenario shows it */

static bool is(const char *way)
{
    const char *asked = getenv("PALDIFF_BAD");
    return asked != NULL && strcmp(asked, way) == 0;
}

static void *sleep_for_ever(void *argument)
{
    for (;;) {
        (void)pause();
    }
    return argument;
}

static void swallow(int number)
{
    (void)number;
}

/* take_all_memory: volatile, or a compiler sees that nobody wants it. */
static void take_all_memory(void)
{
    const size_t len = (size_t)16 << 20;
    for (;;) {
        volatile char *memory = malloc(len);
        for (size_t at = 0; memory != NULL && at < len; at += 4096) {
            memory[at] = 1;
        }
        (void)usleep(1000);
    }
}

/* stray: one byte behind what the call was lent, and behind the fence that any C array has after it. */
static void stray(struct pal_view bytes)
{
    ((volatile uint8_t *)(uintptr_t)bytes.data)[bytes.len + 64] = 1;
}

static void misbehave(struct pal_token *token, struct pal_view bytes)
{
    pthread_t thread;
    if (is("crash")) {
        *(volatile int *)16 = 1;
    } else if (is("abort")) {
        abort();
    } else if (is("exit")) {
        exit(0);
    } else if (is("hang")) {
        (void)sleep_for_ever(NULL);
    } else if (is("stray")) {
        stray(bytes);
    } else if (is("descriptors")) {
        for (int fd = 0; fd < 64; fd++) {
            (void)close(fd);
        }
    } else if (is("thread")) {
        (void)pthread_create(&thread, NULL, sleep_for_ever, NULL);
    } else if (is("signal")) {
        (void)signal(SIGTERM, swallow);
    } else if (is("length")) {
        token->len = token->cap + 1;
    } else if (is("memory")) {
        take_all_memory();
    }
}

static enum pal_status bad_append(const struct pal_env *env, struct pal_token *token, enum pal_mode mode,
                                  struct pal_view bytes)
{
    static int calls;
    enum pal_status status = sample_port_get()->token->append(env, token, mode, bytes);
    if (status == PAL_OK && bytes.len > 0 && ++calls > CALLS_BEFORE) {
        misbehave(token, bytes);
    }
    return status;
}

const struct pal_port *pal_port_get(void)
{
    static struct pal_token_ops token;
    static struct pal_port port;
    port = *sample_port_get();
    token = *port.token;
    token.append = bad_append;
    token.reserve = is("incomplete") ? NULL : token.reserve;
    port.token = &token;
    port.name = "bad";
    port.abi = is("abi") ? PAL_ABI_VERSION + 1 : PAL_ABI_VERSION;
    if (is("load-crash")) {
        abort();
    }
    return is("null") ? NULL : &port;
}
