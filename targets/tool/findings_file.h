/* SPDX-License-Identifier: Apache-2.0
 * findings_file.h: between findings.c and findings_sarif.c: the words of a finding, and a file that is written whole or
 * not at all.
 */
#ifndef PALDIFF_FINDINGS_FILE_H
#define PALDIFF_FINDINGS_FILE_H

#include "findings.h"

#include <stdio.h>

/* findings_file: `part` becomes `path` when it is complete. */
struct findings_file {
    const char *path;
    char part[4096];
    FILE *stream;
};

/* findings_open: NULL, with a line on stderr. findings_close: false, with a line on stderr, and no file. */
FILE *findings_open(struct findings_file *file, const char *path);
bool findings_close(struct findings_file *file);

/* finding_rule_id: the rule's, or "suite.KIND". Returns `out`. */
const char *finding_rule_id(char out[64], const struct finding *finding);

/* finding_sentence: what happened, in one line. */
void finding_sentence(char *out, size_t cap, const struct findings_case *one);

#endif
