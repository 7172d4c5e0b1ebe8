/* SPDX-License-Identifier: Apache-2.0
 * hint.c: paths and commands to be copied. It would break if a word with a blank or a quote were printed bare.
 */
#include "hint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *hint_path(const char *path)
{
    char here[4096];
    size_t len = getcwd(here, sizeof(here)) != NULL ? strlen(here) : 0;
    return len > 1 && strncmp(path, here, len) == 0 && path[len] == '/' ? path + len + 1 : path;
}

/* add: a word as it stands; what does not fit is left out. */
static void add(char out[HINT_MAX], const char *before, const char *word)
{
    size_t used = strlen(out);
    (void)snprintf(out + used, HINT_MAX - used, "%s%s", before, word);
}

void hint_add(char out[HINT_MAX], const char *before, const char *word)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./+,:@=";
    if (word[0] != '\0' && word[strspn(word, plain)] == '\0') {
        add(out, before, word);
        return;
    }
    add(out, before, "'");
    for (const char *at = word; *at != '\0'; at++) {
        char one[2] = {*at, '\0'};
        add(out, "", *at == '\'' ? "'\\''" : one);
    }
    add(out, "", "'");
}

const char *hint_command(char out[HINT_MAX], const char *verb, const char *mutant, const char *target, const char *path,
                         const char *more)
{
    const char *tool = getenv("PALDIFF_COMMAND");
    out[0] = '\0';
    add(out, "", tool != NULL ? tool : "ci/run paldiff");
    add(out, " ", verb);
    if (mutant != NULL) {
        hint_add(out, " --mutant ", mutant);
    }
    if (target != NULL) {
        hint_add(out, " --target ", target);
    }
    if (path != NULL) {
        hint_add(out, " ", hint_path(path));
    }
    if (more != NULL) {
        add(out, " ", more);
    }
    return out;
}

const char *hint_shim(char out[HINT_MAX], const char *command)
{
    out[0] = '\0';
    hint_add(out, "conform --shim ", command);
    return out;
}
