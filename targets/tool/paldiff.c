/* SPDX-License-Identifier: Apache-2.0
 * paldiff.c: the tool's front door: finds the command, and prints the manual of all.
 */
#include "manual.h"
#include "tool.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct {
    const char *name;
    const char *sentence;
    int (*run)(int argc, char **argv);
} commands[] = {
#define COMMAND(name, sentence) {#name, sentence, tool_##name},
#include "commands.def"
#undef COMMAND
};

#define NUM_COMMANDS (sizeof(commands) / sizeof(commands[0]))

static void print_help(FILE *out)
{
    (void)fputs("usage: paldiff COMMAND [OPTION...] [ARGUMENT...]\n\n", out);
    for (size_t i = 0; i < NUM_COMMANDS; i++) {
        (void)fprintf(out, "  %-8s  %s\n", commands[i].name, commands[i].sentence);
    }
    (void)fputs("\n`paldiff COMMAND --help` explains one, `paldiff --manual | man -l -` all. Exit codes: 0 all held,\n"
                "1 a rule is broken, 2 usage, 3 the suite itself failed, 4 nothing ran, 89 one case skipped.\n",
                out);
}

/* print_manual: false when standard output does not take it. */
static bool print_manual(void)
{
    bool good = true;
    manual_head(stdout);
    for (size_t i = 0; i < NUM_COMMANDS; i++) {
        char program[] = "paldiff";
        char name[64];
        char option[] = "--manual";
        char *arguments[] = {program, name, option, NULL};
        int status = 0;
        (void)snprintf(name, sizeof(name), "%s", commands[i].name);
        (void)fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            (void)commands[i].run(2, arguments + 1);
            _exit(EXIT_SUITE); /* it did not ask for its options */
        }
        good = child > 0 && waitpid(child, &status, 0) == child && status == 0 && good;
    }
    manual_tail(stdout);
    return good;
}

/* close_output: what a command printed is lost if standard output does not take it. */
static int close_output(int result)
{
    if ((fflush(stdout) != 0 || ferror(stdout) != 0) && result != EXIT_BROKEN) {
        (void)fputs("paldiff: standard output does not take the result\n", stderr);
        return EXIT_SUITE;
    }
    return result;
}

/* zeroed: cJSON is not instrumented, so that to MSan what it writes was never written. */
static void *zeroed(size_t len)
{
    return calloc(1, len);
}

int main(int argc, char **argv)
{
    cJSON_Hooks hooks = {zeroed, free};
    cJSON_InitHooks(&hooks);
    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0)) {
        print_help(stdout);
        return close_output(EXIT_HELD);
    }
    if (argc == 2 && strcmp(argv[1], "--manual") == 0) {
        return close_output(print_manual() ? EXIT_HELD : EXIT_SUITE);
    }
    for (size_t i = 0; argc > 1 && i < NUM_COMMANDS; i++) {
        if (strcmp(argv[1], commands[i].name) == 0) {
            return close_output(commands[i].run(argc - 1, argv + 1));
        }
    }
    print_help(stderr);
    return argc > 1 ? tool_usage("there is no command %s", argv[1]) : EXIT_USAGE;
}
