/* SPDX-License-Identifier: Apache-2.0
 * kept.h: what a text scenario says about itself in the comments under its first line: the rule that it broke, the
 * mutant that it broke it with, and what it was found with. Written by shrink and keep, read by keep and replay.
 */
#ifndef PALDIFF_KEPT_H
#define PALDIFF_KEPT_H

#include "guard.h"
#include "inputs.h"

#define KEPT_TEXT_MAX 512u

/* kept: "" for what is not said. */
struct kept {
    char rule[KEPT_TEXT_MAX];
    char mutant[KEPT_TEXT_MAX];
    char found_with[KEPT_TEXT_MAX];
    char reason[KEPT_TEXT_MAX];
};

/* kept_read: from a text; all is "" for bytes, and for a text that says nothing. */
void kept_read(struct kept *out, struct pal_view input);

/* kept_fill: from a play of this build; what the input said about its finding is kept where it said something. */
void kept_fill(struct kept *kept, const struct input *input, const char *mutant, const struct guard_answer *answer);

/* kept_print: the scenario as text with these comments. */
void kept_print(const struct kept *kept, const struct scenario *scenario, FILE *out);

/* kept_text: the scenario as text, without comments; the caller's to free, NULL without memory. */
char *kept_text(const struct scenario *scenario);

/* kept_write: a new file, as kept_print; false, with a line on stderr, when it cannot be written, or when it exists and
 * `overwrite` is false. */
bool kept_write(const char *path, const struct kept *kept, const struct scenario *scenario, bool overwrite);

#endif
