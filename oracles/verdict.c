/* SPDX-License-Identifier: Apache-2.0
 * verdict.c: how a judge writes down what it found. Text is made only when something broke.
 */
#include "judges.h"

#include <inttypes.h>
#include <stdio.h>

#define SHOWN_BYTES 16u

/* begin_broken: false when an earlier step is broken already. */
static bool begin_broken(struct verdict *out, const struct trace *world, size_t step)
{
    out->compared++;
    if (out->outcome == BROKEN && out->step <= step) {
        return false;
    }
    out->outcome = BROKEN;
    out->world = world;
    out->step = step;
    return true;
}

void verdict_broken_numbers(struct verdict *out, const struct trace *world, size_t step, const char *what, uint64_t got,
                            uint64_t want)
{
    if (begin_broken(out, world, step)) {
        (void)snprintf(out->got, sizeof(out->got), "%" PRIu64 " %s", got, what);
        (void)snprintf(out->want, sizeof(out->want), "%" PRIu64 " %s", want, what);
    }
}

void verdict_broken_status(struct verdict *out, const struct trace *world, size_t step, enum pal_status got,
                           enum pal_status want)
{
    if (begin_broken(out, world, step)) {
        (void)snprintf(out->got, sizeof(out->got), "status %s", pal_status_name(got));
        (void)snprintf(out->want, sizeof(out->want), "status %s", pal_status_name(want));
    }
}

static void print_excerpt(char text[VERDICT_TEXT_MAX], struct pal_view view, size_t at)
{
    size_t used = (size_t)snprintf(text, VERDICT_TEXT_MAX, "%zu bytes, at %zu:", view.len, at);
    for (size_t i = at; i < view.len && i < at + SHOWN_BYTES; i++) {
        used += (size_t)snprintf(text + used, VERDICT_TEXT_MAX - used, "%s%02x", i == at ? " " : "", view.data[i]);
    }
}

void verdict_broken_bytes(struct verdict *out, const struct trace *world, size_t step, struct pal_view got,
                          struct pal_view want)
{
    size_t at = 0;
    if (!begin_broken(out, world, step)) {
        return;
    }
    while (at < got.len && at < want.len && got.data[at] == want.data[at]) {
        at++;
    }
    print_excerpt(out->got, got, at);
    print_excerpt(out->want, want, at);
}
