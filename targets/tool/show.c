/* SPDX-License-Identifier: Apache-2.0
 * show.c: what everything that shows an input asks of it: a step's bytes and words, and the colours.
 */
#include "show.h"

#include <stdlib.h>

struct pal_view show_output(const struct show *show, size_t world, size_t step)
{
    const struct trace_step *at = &show->stage->worlds[world].trace.steps[step];
    return (struct pal_view){at->out.data, at->out_len < at->out.len ? at->out_len : at->out.len};
}

bool show_differ(const struct show *show, size_t a, size_t b, size_t step)
{
    const struct trace_step *in_a = &show->stage->worlds[a].trace.steps[step];
    const struct trace_step *in_b = &show->stage->worlds[b].trace.steps[step];
    return in_a->status != in_b->status || !views_equal(show_output(show, a, step), show_output(show, b, step));
}

void show_operation(char *out, size_t cap, const struct show *show, size_t step)
{
    const struct trace *trace = &show->stage->worlds[show->left].trace;
    char *text = NULL;
    size_t len = 0;
    if (step >= show->stage->scenario.num_steps) {
        (void)snprintf(out, cap, "%s",
                       trace->steps[step].role == ROLE_END ? "(end, all dropped)" : "(closing message)");
        return;
    }
    FILE *stream = open_memstream(&text, &len);
    out[0] = '\0';
    if (stream != NULL) {
        scenario_print_step(&show->stage->scenario, step, stream);
        if (fclose(stream) == 0 && (size_t)snprintf(out, cap, "%s", text) >= cap) {
            (void)snprintf(out + cap - 3, 3, "..");
        }
        free(text);
    }
}

const char *show_red(const struct show *show)
{
    return show->colour ? "\033[31m" : "";
}

const char *show_bold(const struct show *show)
{
    return show->colour ? "\033[1m" : "";
}

const char *show_plain(const struct show *show)
{
    return show->colour ? "\033[0m" : "";
}
