/* SPDX-License-Identifier: Apache-2.0
 * tool.h: the paldiff program: one function per command, and what they share. Words go to standard error, results to
 * standard output; with --json standard output holds JSON alone.
 */
#ifndef PALDIFF_TOOL_H
#define PALDIFF_TOOL_H

#include "harness.h"

#include <argp.h>

#define COMMAND(name, sentence) int tool_##name(int argc, char **argv);
#include "commands.def"
#undef COMMAND

struct cJSON;

/* tool_parse: argp with our exit code for usage errors (2), and "paldiff COMMAND" as the program's name. Returns the
 * index of the first argument that is no option; a parser that answers ARGP_ERR_UNKNOWN to ARGP_KEY_ARG leaves them in
 * argv. */
int tool_parse(const struct argp *argp, int argc, char **argv, void *input);

/* tool_usage: one line on stderr; returns EXIT_USAGE. */
__attribute__((format(printf, 1, 2))) int tool_usage(const char *format, ...);

/* tool_number: an option's number, in decimal; anything else, or one out of bounds, ends the program as a usage error.
 * `name` is the option's as it is typed: "--seconds". */
uint64_t tool_number(const struct argp_state *state, const char *name, const char *text, uint64_t min, uint64_t max);

/* tool_is_named: whether `name` is one of the arguments. */
bool tool_is_named(const char *name, char *const names[], size_t num_names);

/* tool_target_row: where the target is in `targets`. */
size_t tool_target_row(const struct target *target);

/* tool_now: seconds on a clock that only goes forward. */
double tool_now(void);

/* tool_print_json: prints and frees it; false when standard output does not take it. */
bool tool_print_json(struct cJSON *json);

/* tool_corpus: the folder with seeds/ and regress/: $PALDIFF_CORPUS, or what is installed beside this program, or the
 * source tree's. */
const char *tool_corpus(void);

/* tool_files: all files below `path` (or `path` itself), sorted by name; each and the list are the caller's to free.
 * Names that start with a dot are left out. False, with a line on stderr, when it cannot be read. */
bool tool_files(const char *path, char ***out, size_t *out_num);
/* tool_corpus_files: the committed scenarios of a target, seeds/ first, then regress/. As tool_files; there may be
 * none. */
bool tool_corpus_files(const struct target *target, char ***out, size_t *out_num);

void tool_files_free(char **files, size_t num);

/* tool_load: a file, text or bytes, into stage->scenario; false, with a line on stderr. */
bool tool_load(struct stage *stage, const char *path);

#endif
