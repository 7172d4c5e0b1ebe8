/* SPDX-License-Identifier: Apache-2.0
 * manual.h: the manual page, from the same tables as --help: what an option does is written once.
 */
#ifndef PALDIFF_MANUAL_H
#define PALDIFF_MANUAL_H

#include <argp.h>
#include <stdio.h>

/* manual_head, then manual_command for each, then manual_tail: a page in roff, section 1. `name` is the command's. */
void manual_head(FILE *out);
void manual_command(FILE *out, const char *name, const struct argp *argp);
void manual_tail(FILE *out);

#endif
