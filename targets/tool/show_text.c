/* SPDX-License-Identifier: Apache-2.0
 * show_text.c: the scenario, the rule, and the steps in two columns. Lines are at most 79 wide.
 */
#include "harness.h"
#include "show.h"

#include <stdlib.h>
#include <string.h>

#define COLUMN 36
#define WIDTH 79u
#define CELL_LINES 12u
#define SHOWN_BYTES 16u

/* cell: what one world did in one step, in lines that fit a column. */
struct cell {
    char lines[CELL_LINES][COLUMN + 1];
    size_t num;
};

/* add_word: behind the last line, or on the next one when it does not fit. */
static void add_word(struct cell *cell, const char *word)
{
    char *line = cell->num > 0 ? cell->lines[cell->num - 1] : NULL;
    size_t used = line != NULL ? strlen(line) : 0;
    if (line != NULL && used + 1 + strlen(word) <= COLUMN) {
        (void)snprintf(line + used, COLUMN + 1 - used, " %s", word);
    } else if (cell->num < CELL_LINES) {
        (void)snprintf(cell->lines[cell->num], COLUMN + 1, "%s%s", cell->num > 0 ? "  " : "", word);
        cell->num++;
    }
}

static void fill_cell(struct cell *cell, const struct show *show, size_t world, size_t index)
{
    const struct trace_step *step = &show->stage->worlds[world].trace.steps[index];
    struct pal_view output = show_output(show, world, index);
    char word[64];
    memset(cell, 0, sizeof(*cell));
    add_word(cell, pal_status_name(step->status));
    if (output.len > 0) {
        (void)snprintf(word, sizeof(word), "%zu bytes", output.len);
        add_word(cell, word);
        size_t used = 0;
        for (size_t i = 0; i < output.len && i < SHOWN_BYTES; i++) {
            used += (size_t)snprintf(word + used, sizeof(word) - used, "%02x", output.data[i]);
        }
        (void)snprintf(word + used, sizeof(word) - used, "%s", output.len > SHOWN_BYTES ? ".." : "");
        add_word(cell, word);
    }
    for (size_t fact = FACT_ALLOCATIONS; fact < NUM_FACTS; fact++) {
        if (step->facts[fact] != 0) {
            (void)snprintf(word, sizeof(word), "%s=%u", trace_fact_name((enum trace_fact)fact), step->facts[fact]);
            add_word(cell, word);
        }
    }
}

static void print_row(const struct show *show, FILE *out, const char *left, const char *right, bool differs)
{
    const char *on = differs ? show_red(show) : "";
    const char *off = differs ? show_plain(show) : "";
    (void)fprintf(out, "    %s%-*s%s %c%s%s%s%s\n", on, COLUMN, left, off, differs ? '*' : '|',
                  right[0] != '\0' ? " " : "", on, right, off);
}

/* print_wrapped: words, with this in front of the first line and as many blanks in front of the others. */
static void print_wrapped(FILE *out, const char *start, const char *text)
{
    size_t at = strlen(start);
    bool fresh = true;
    (void)fputs(start, out);
    while (*text != '\0') {
        size_t len = strcspn(text, " ");
        if (!fresh && at + 1 + len > WIDTH) {
            (void)fprintf(out, "\n%*s", (int)strlen(start), "");
            at = strlen(start);
            fresh = true;
        }
        (void)fprintf(out, "%s%.*s", fresh ? "" : " ", (int)len, text);
        at += len + (fresh ? 0 : 1);
        fresh = false;
        text += len;
        text += strspn(text, " ");
    }
    (void)fputc('\n', out);
}

/* print_others: the worlds that have no column, by whom they did as. */
static void print_others(const struct show *show, FILE *out, size_t index)
{
    static const char *const kinds[] = {"as", "as", "otherwise"};
    char names[512];
    for (size_t kind = 0; kind < sizeof(kinds) / sizeof(kinds[0]); kind++) {
        names[0] = '\0';
        for (size_t w = 0; w < show->stage->num_worlds; w++) {
            bool as_left = !show_differ(show, w, show->left, index);
            bool as_right = !show_differ(show, w, show->right, index);
            size_t mine = as_left ? 0 : (as_right ? 1 : 2);
            size_t used = strlen(names);
            if (w != show->left && w != show->right && mine == kind) {
                (void)snprintf(names + used, sizeof(names) - used, "%s%s", used > 0 ? ", " : "",
                               show->stage->worlds[w].trace.name);
            }
        }
        bool alike = kind == 0 && !show_differ(show, show->left, show->right, index);
        if (names[0] != '\0' && !alike) {
            size_t whose = kind == 0 ? show->left : show->right;
            char line[640];
            (void)snprintf(line, sizeof(line), "%s: %s%s%s", names, kinds[kind], kind < 2 ? " " : "",
                           kind < 2 ? show->stage->worlds[whose].trace.name : "");
            print_wrapped(out, "    ", line);
        }
    }
}

static void print_step(const struct show *show, FILE *out, size_t index, bool threads)
{
    const struct trace_step *step = &show->stage->worlds[show->left].trace.steps[index];
    bool broken = show->rule != NULL && show->verdict->step == index;
    bool differs = show_differ(show, show->left, show->right, index);
    char words[WIDTH - 21];
    char thread[24] = "";
    struct cell left;
    struct cell right;
    show_operation(words, sizeof(words), show, index);
    if (threads) {
        (void)snprintf(thread, sizeof(thread), "thread %u: ", step->thread);
    }
    (void)fprintf(out, "%s%s %2zu  %s%s%s%s\n", broken ? show_bold(show) : "", broken ? ">>" : "  ", index + 1, thread,
                  words, broken ? show_plain(show) : "", show->first_difference == index ? "  <- differs first" : "");
    if (step->role == ROLE_OTHER && !broken && !differs) {
        return;
    }
    fill_cell(&left, show, show->left, index);
    fill_cell(&right, show, show->right, index);
    for (size_t i = 0; i < left.num || i < right.num; i++) {
        bool marked = differs && i < 2 && strcmp(left.lines[i], right.lines[i]) != 0;
        print_row(show, out, left.lines[i], right.lines[i], marked);
    }
    print_others(show, out, index);
}

static bool has_threads(const struct trace *trace)
{
    bool more = false;
    for (size_t i = 0; i < trace->num_steps; i++) {
        /* The closing is played by every thread that there is. */
        more = more || (trace->steps[i].thread != 0 && trace->steps[i].role != ROLE_END);
    }
    return more;
}

/* print_build: engines and compiler, as the report of a rule has them. */
static void print_build(const struct show *show, FILE *out)
{
    char *text = NULL;
    size_t len = 0;
    char *rest = NULL;
    FILE *stream = open_memstream(&text, &len);
    if (stream == NULL) {
        return;
    }
    harness_report(stream, show->stage, show->rule, show->verdict);
    if (fclose(stream) == 0) {
        for (char *line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
            if (strncmp(line, "  engine: ", 10) == 0 || strncmp(line, "  built with: ", 14) == 0) {
                print_wrapped(out, "  ", line + 2);
            }
        }
    }
    free(text);
}

static void print_verdict(const struct show *show, FILE *out)
{
    if (show->rule == NULL) {
        (void)fputs("all rules held\n", out);
        return;
    }
    (void)fprintf(out, "%srule %s.%s is broken at step %zu, in world %s%s\n", show_bold(show), show->rule->area,
                  show->rule->name, show->verdict->step + 1, show->verdict->world->name, show_plain(show));
    print_wrapped(out, "  ", show->rule->sentence);
    print_wrapped(out, "  got   ", show->verdict->got);
    print_wrapped(out, "  want  ", show->verdict->want);
    if (show->mutant != NULL) {
        (void)fprintf(out, "  with the planted bug %s\n", show->mutant);
    }
    print_build(show, out);
}

void show_text(const struct show *show, FILE *out)
{
    const struct trace *first = &show->stage->worlds[show->left].trace;
    char names[2][COLUMN + 1];
    scenario_print(&show->stage->scenario, out);
    (void)fputc('\n', out);
    print_verdict(show, out);
    (void)fputc('\n', out);
    (void)snprintf(names[0], sizeof(names[0]), "%s%s", first->name, show->rule != NULL ? " (broken)" : "");
    (void)snprintf(names[1], sizeof(names[1]), "%s", show->stage->worlds[show->right].trace.name);
    print_row(show, out, names[0], names[1], false);
    bool threads = has_threads(first);
    for (size_t i = 0; i < first->num_steps; i++) {
        print_step(show, out, i, threads);
    }
    show_bytes(show, out);
}
