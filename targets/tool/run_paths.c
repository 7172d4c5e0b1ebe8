/* SPDX-License-Identifier: Apache-2.0
 * run_paths.c: the folders of a run: names that fit, made with their parents, removed with what is in them.
 */
#include "run.h"

#include <errno.h>
#include <ftw.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool run_path(char out[RUN_PATH_MAX], const char *format, ...)
{
    va_list values;
    va_start(values, format);
    int len = vsnprintf(out, RUN_PATH_MAX, format, values);
    va_end(values);
    if (len < 0 || (size_t)len >= RUN_PATH_MAX) {
        (void)fputs("paldiff: a path is too long\n", stderr);
        return false;
    }
    return true;
}

bool run_make_dir(const char *path)
{
    char part[RUN_PATH_MAX];
    struct stat info;
    if (!run_path(part, "%s", path)) {
        return false;
    }
    for (char *at = part + 1; *at != '\0'; at++) {
        if (*at == '/') {
            *at = '\0';
            (void)mkdir(part, 0777); /* the last one tells */
            *at = '/';
        }
    }
    bool good = mkdir(part, 0777) == 0 || errno == EEXIST;
    if (good && (stat(part, &info) != 0 || !S_ISDIR(info.st_mode))) {
        good = false;
        errno = ENOTDIR;
    }
    if (good && access(part, W_OK | X_OK) != 0) {
        good = false;
    }
    if (!good) {
        (void)fprintf(stderr, "paldiff: cannot write to the folder %s: %s\n", path, strerror(errno));
    }
    return good;
}

static int remove_entry(const char *path, const struct stat *info, int type, struct FTW *walk)
{
    (void)info;
    (void)type;
    (void)walk;
    (void)remove(path);
    return 0;
}

void run_remove_dir(const char *path)
{
    (void)nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

bool run_has_room(const char *dir)
{
    static const char block[4096];
    char path[RUN_PATH_MAX];
    FILE *file = run_path(path, "%s/.room", dir) ? fopen(path, "we") : NULL;
    bool good = file != NULL && fwrite(block, 1, sizeof(block), file) == sizeof(block);
    good = file != NULL && fclose(file) == 0 && good;
    if (!good) {
        (void)fprintf(stderr, "paldiff: %s takes no more, new inputs are lost: %s\n", dir, strerror(errno));
    }
    (void)remove(path);
    return good;
}
