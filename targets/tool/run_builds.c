/* SPDX-License-Identifier: Apache-2.0
 * run_builds.c: which build folders a run has, and what each is for. It breaks when CMake's cache is laid out
 * otherwise.
 */
#include "run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* own_builds: asan and msan beside the build that this program is from. */
static size_t own_builds(struct run *run)
{
    static const char *const names[] = {"asan", "msan"};
    char own[RUN_PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", own, sizeof(own) - 1);
    size_t num = 0;
    own[len > 0 ? len : 0] = '\0';
    for (int up = 0; up < 2; up++) {
        char *slash = strrchr(own, '/');
        *(slash != NULL ? slash : own) = '\0';
    }
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char *dir = run->builds[num].dir;
        num += run_path(dir, "%s/%s", own, names[i]) && access(dir, X_OK) == 0 ? 1 : 0;
    }
    return num;
}

/* read_build: what the build is for stands in its CMakeCache.txt. */
static bool read_build(struct run *run, struct run_build *build)
{
    static const char row[] = "PALDIFF_SANITIZER:STRING=";
    static const char *const known[] = {"address", "memory", "undefined", "thread"};
    char path[RUN_PATH_MAX];
    char line[RUN_LINE_MAX];
    size_t alike = 1;
    FILE *file = run_path(path, "%s/CMakeCache.txt", build->dir) ? fopen(path, "re") : NULL;
    if (file == NULL) {
        (void)fprintf(
            stderr, "paldiff: %s is no build: make one with cmake --workflow --preset asan, and name it with --build\n",
            build->dir);
        return false;
    }
    build->sanitizer = "none";
    while (fgets(line, sizeof(line), file) != NULL) {
        line[strcspn(line, "\r\n")] = '\0';
        for (size_t i = 0; i < sizeof(known) / sizeof(known[0]) && strncmp(line, row, strlen(row)) == 0; i++) {
            build->sanitizer = strcmp(line + strlen(row), known[i]) == 0 ? known[i] : build->sanitizer;
        }
    }
    (void)fclose(file);
    for (const struct run_build *other = run->builds; other < build; other++) {
        alike += other->sanitizer == build->sanitizer ? 1 : 0;
    }
    (void)snprintf(build->label, sizeof(build->label), alike > 1 ? "%s-%zu" : "%s", build->sanitizer, alike);
    return true;
}

int run_find_builds(struct run *run, size_t num, const char *const dirs[])
{
    run->num_builds = num > 0 ? num : own_builds(run);
    for (size_t i = 0; i < run->num_builds; i++) {
        struct run_build *build = &run->builds[i];
        if (num > 0 && realpath(dirs[i], build->dir) == NULL) {
            (void)fprintf(stderr, "paldiff: the build %s cannot be used: %s\n", dirs[i], strerror(errno));
            return EXIT_SUITE;
        }
        if (!read_build(run, build)) {
            return EXIT_SUITE;
        }
    }
    if (run->num_builds == 0) {
        (void)fputs(
            "paldiff: there is no build: make one with cmake --workflow --preset asan, and name it with --build\n",
            stderr);
        return EXIT_SUITE;
    }
    return EXIT_HELD;
}
