/* SPDX-License-Identifier: Apache-2.0
 * program.h: other people's programs, run to their end, and the JSON files that they and we leave. The fuzz programs of
 * `run`, which are watched while they work, have run_child.c.
 */
#ifndef PALDIFF_PROGRAM_H
#define PALDIFF_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

#define PROGRAM_PATH_MAX 4096u

struct cJSON;

/* program_find: its path on $PATH; false if there is none. */
bool program_find(char out[PROGRAM_PATH_MAX], const char *name);

/* program_run: waits for it. `argv` is ended by NULL; output and errors go to the files named, or stay ours where NULL.
 * Returns its exit code, or -1 (with a line on stderr) when it did not start or was killed by a signal. */
int program_run(const char *const argv[], const char *out_path, const char *err_path);

/* program_copy_text: a file's text to stderr; what a program that failed had to say. */
void program_copy_text(const char *path);

/* json_read: the caller frees it with cJSON_Delete. NULL when the file is not there (*out_missing true, nothing said)
 * or cannot be read or parsed (a line on stderr). */
struct cJSON *json_read(const char *path, bool *out_missing);

/* json_write: whole or not at all; false, with a line on stderr. */
bool json_write(const char *path, const struct cJSON *json);

/* json_number, json_text: a member, or the fallback when it is not there or of another type. */
double json_number(const struct cJSON *object, const char *name, double fallback);
const char *json_text(const struct cJSON *object, const char *name, const char *fallback);

#endif
