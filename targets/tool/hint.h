/* SPDX-License-Identifier: Apache-2.0
 * hint.h: what the tool prints to be copied: paths as they are shortest from here, and whole commands that a shell
 * takes as they stand.
 */
#ifndef PALDIFF_HINT_H
#define PALDIFF_HINT_H

#include <stddef.h>

#define HINT_MAX 12288u

/* hint_path: the part of `path` below the current folder, else all of it. Lives as long as `path`. */
const char *hint_path(const char *path);

/* hint_add: puts `before` and `word`, quoted as a shell takes it, behind the text in `out`; what does not fit is left
 * out. */
void hint_add(char out[HINT_MAX], const char *before, const char *word);

/* hint_command: "ci/run paldiff VERB [--mutant M] [--target T] [PATH] [MORE]", or with what $PALDIFF_COMMAND says in
 * front. All but `verb` may be NULL. Returns `out`. hint_shim: "conform --shim COMMAND", a verb. */
const char *hint_command(char out[HINT_MAX], const char *verb, const char *mutant, const char *target, const char *path,
                         const char *more);
const char *hint_shim(char out[HINT_MAX], const char *command);

#endif
