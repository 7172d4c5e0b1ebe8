/* SPDX-License-Identifier: Apache-2.0
 * inputs.h: what replay, show, shrink and keep have in common: the options --mutant and --target, and an input that is
 * read, given its target and made a scenario. It plays nothing.
 */
#ifndef PALDIFF_INPUTS_H
#define PALDIFF_INPUTS_H

#include "tool.h"

struct inputs_options {
    const char *mutant;
    const char *target;
};

/* INPUTS_ROWS: the options' rows, for a command's own table; inputs_parse: what its parser does with any key that is
 * not its own: 0, or ARGP_ERR_UNKNOWN. */
enum { INPUTS_KEY_MUTANT = 'm', INPUTS_KEY_TARGET = 't' };
#define INPUTS_ROWS                                                                                                    \
    {"mutant", INPUTS_KEY_MUTANT, "NAME", 0, "plant a bug in the first engine's port", 0},                             \
    {                                                                                                                  \
        "target", INPUTS_KEY_TARGET, "NAME", 0, "target of an input that is bytes and whose path does not say", 0      \
    }
error_t inputs_parse(int key, char *argument, struct inputs_options *options);

/* input: `path` is borrowed, the rest its own. */
struct input {
    const char *path;
    const struct target *target;
    uint8_t *data;
    size_t len;
    struct scenario scenario;
};

/* input_read: a file, its target and its scenario. EXIT_USAGE, with a line on stderr, when it has no target or its text
 * is wrong, or when there is no such mutant. Deinit in any case. */
int input_read(struct input *out, const struct inputs_options *options, const char *path);
void input_deinit(struct input *input);

/* inputs_mutant: the mutant to plant for this target: NULL unless the one asked for is this target's. */
const char *inputs_mutant(const struct inputs_options *options, const struct target *target);

/* inputs_target_hint: what --target has to say in a printed command: NULL if the input says it itself. */
const char *inputs_target_hint(const struct inputs_options *options, const struct input *input);

/* input_found_under: the sanitizer that the input's folder names ("send-memory/"); NULL if it names none. */
const char *input_found_under(const struct input *input);

#endif
