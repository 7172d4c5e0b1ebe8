/* SPDX-License-Identifier: Apache-2.0
 * paldiff.c: the tool's front door: finds the command, and holds what the commands share.
 */
#include "manual.h"
#include "tool.h"

#include <cjson/cJSON.h>
#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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

int tool_usage(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)fputs("paldiff: ", stderr);
    (void)vfprintf(stderr, format, arguments);
    (void)fputc('\n', stderr);
    va_end(arguments);
    return EXIT_USAGE;
}

int tool_parse(const struct argp *argp, int argc, char **argv, void *input)
{
    static char name[64];
    if (argc == 2 && strcmp(argv[1], "--manual") == 0) {
        /* Commands come here with their tables; one that is asked for its part of the manual goes no further. */
        manual_command(stdout, argv[0], argp);
        exit(fflush(stdout) == 0 ? EXIT_HELD : EXIT_SUITE);
    }
    (void)snprintf(name, sizeof(name), "paldiff %s", argv[0]);
    argv[0] = name;
    argp_err_exit_status = EXIT_USAGE;
    int first = argc;
    if (argp_parse(argp, argc, argv, 0, &first, input) != 0) {
        exit(EXIT_USAGE);
    }
    return first;
}

bool tool_print_json(struct cJSON *json)
{
    char *text = cJSON_Print(json);
    bool good = text != NULL && puts(text) >= 0 && fflush(stdout) == 0;
    cJSON_free(text);
    cJSON_Delete(json);
    if (!good) {
        (void)fputs("paldiff: standard output does not take the result\n", stderr);
    }
    return good;
}

const char *tool_corpus(void)
{
    static char installed[4096];
    const char *named = getenv("PALDIFF_CORPUS");
    const char below[] = "/share/paldiff/corpus";
    ssize_t len = readlink("/proc/self/exe", installed, sizeof(installed) - sizeof(below));
    installed[len > 0 ? len : 0] = '\0';
    for (int i = 0; i < 2 && strrchr(installed, '/') != NULL; i++) { /* PREFIX/bin/paldiff */
        *strrchr(installed, '/') = '\0';
    }
    (void)snprintf(installed + strlen(installed), sizeof(below), "%s", below);
    if (named != NULL) {
        return named;
    }
    return access(installed, F_OK) == 0 ? installed : PALDIFF_CORPUS_DIR;
}

/* list: file names, grown by doubling. */
struct list {
    char **files;
    size_t num;
    size_t cap;
};

static bool list_add(struct list *list, const char *path)
{
    if (list->num == list->cap) {
        size_t cap = list->cap > 0 ? list->cap * 2 : 64;
        char **files = realloc(list->files, cap * sizeof(*files));
        if (files == NULL) {
            return false;
        }
        list->files = files;
        list->cap = cap;
    }
    list->files[list->num] = strdup(path);
    return list->files[list->num++] != NULL;
}

static bool list_path(struct list *list, const char *path)
{
    struct stat info;
    struct dirent **entries = NULL;
    if (stat(path, &info) != 0) {
        (void)fprintf(stderr, "paldiff: %s cannot be read: %s\n", path, strerror(errno));
        return false;
    }
    if (!S_ISDIR(info.st_mode)) {
        return list_add(list, path);
    }
    int num = scandir(path, &entries, NULL, alphasort);
    bool good = num >= 0;
    for (int i = 0; i < num; i++) {
        char inner[4096];
        int len = snprintf(inner, sizeof(inner), "%s/%s", path, entries[i]->d_name);
        if (entries[i]->d_name[0] != '.' && len > 0 && (size_t)len < sizeof(inner)) {
            good = list_path(list, inner) && good;
        }
        free(entries[i]);
    }
    free(entries);
    return good;
}

bool tool_files(const char *path, char ***out, size_t *out_num)
{
    struct list list = {0};
    bool good = list_path(&list, path);
    *out = list.files;
    *out_num = list.num;
    return good;
}

bool tool_corpus_files(const struct target *target, char ***out, size_t *out_num)
{
    static const char *const kinds[] = {"seeds", "regress"};
    struct list list = {0};
    bool good = true;
    for (size_t kind = 0; kind < sizeof(kinds) / sizeof(kinds[0]); kind++) {
        char path[4096];
        (void)snprintf(path, sizeof(path), "%s/%s/%s", tool_corpus(), kinds[kind], target->name);
        good = (access(path, F_OK) != 0 || list_path(&list, path)) && good;
    }
    *out = list.files;
    *out_num = list.num;
    return good;
}

void tool_files_free(char **files, size_t num)
{
    for (size_t i = 0; i < num; i++) {
        free(files[i]);
    }
    free(files);
}

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
