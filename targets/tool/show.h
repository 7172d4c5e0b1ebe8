/* SPDX-License-Identifier: Apache-2.0
 * show.h: one input that was played, and which two of its worlds are held against each other. tool_show.c plays and
 * chooses, show_text.c and show_bytes.c print for people, show_json.c for machines; show.c is what they all ask.
 */
#ifndef PALDIFF_SHOW_H
#define PALDIFF_SHOW_H

#include "target.h"

#define SHOW_NO_STEP SIZE_MAX

/* show: everything is borrowed. `left` is the world where the rule broke, `right` the one that it is held against. */
struct show {
    const struct stage *stage;
    const char *path;
    const char *mutant;
    const struct rule *rule; /* NULL: all held */
    const struct verdict *verdict;
    size_t left;
    size_t right;
    size_t first_difference; /* the first step where status or output of the two differ; SHOW_NO_STEP */
    size_t bytes_step;       /* the step whose outputs are compared byte by byte; SHOW_NO_STEP */
    bool colour;
};

/* show_differ: whether status or output of a step differ between two worlds. */
bool show_differ(const struct show *show, size_t a, size_t b, size_t step);

/* show_output: the bytes that a step gave. */
struct pal_view show_output(const struct show *show, size_t world, size_t step);

/* show_operation: a step in words; `out` is cut to `cap`. */
void show_operation(char *out, size_t cap, const struct show *show, size_t step);

/* show_text: all of it, 80 columns wide but for the scenario's own lines. */
void show_text(const struct show *show, FILE *out);

/* show_bytes: a hex dump of both outputs, side by side, around the first byte that differs. */
void show_bytes(const struct show *show, FILE *out);

/* show_json: the caller's to delete. */
struct cJSON *show_json(const struct show *show);

/* Colours; "" unless they are wanted. */
const char *show_red(const struct show *show);
const char *show_bold(const struct show *show);
const char *show_plain(const struct show *show);

#endif
