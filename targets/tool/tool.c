/* SPDX-License-Identifier: Apache-2.0
 * tool.c: what the commands share: their arguments, the corpus, results as JSON. It knows none of them.
 */
#include "tool.h"
#include "manual.h"

#include <cjson/cJSON.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

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

uint64_t tool_number(const struct argp_state *state, const char *name, const char *text, uint64_t min, uint64_t max)
{
    char *end = NULL;
    errno = 0;
    uint64_t value = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || value < min || value > max) {
        argp_error(state, "%s takes a number from %" PRIu64 " to %" PRIu64 ", not %s", name, min, max, text);
    }
    return value;
}

bool tool_is_named(const char *name, char *const names[], size_t num_names)
{
    bool found = false;
    for (size_t i = 0; i < num_names; i++) {
        found = found || strcmp(names[i], name) == 0;
    }
    return found;
}

size_t tool_target_row(const struct target *target)
{
    size_t row = 0;
    while (targets[row] != target) {
        row++;
    }
    return row;
}

double tool_now(void)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
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

bool tool_load(struct stage *stage, const char *path)
{
    uint8_t *data = NULL;
    size_t len = 0;
    bool good = harness_read(path, &data, &len) && harness_load(stage, path, (struct pal_view){data, len});
    free(data);
    return good;
}
