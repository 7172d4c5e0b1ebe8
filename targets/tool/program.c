/* SPDX-License-Identifier: Apache-2.0
 * program.c: starting other programs and reading JSON. It knows none of them by name.
 */
#include "program.h"
#include "poison.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

bool program_find(char out[PROGRAM_PATH_MAX], const char *name)
{
    const char *path = getenv("PATH");
    for (const char *at = path != NULL ? path : "/usr/bin:/bin"; *at != '\0';) {
        int len = (int)strcspn(at, ":");
        int all = snprintf(out, PROGRAM_PATH_MAX, "%.*s/%s", len, at, name);
        if (len > 0 && all > 0 && (size_t)all < PROGRAM_PATH_MAX && access(out, X_OK) == 0) {
            return true;
        }
        at += len;
        at += *at == ':' ? 1 : 0;
    }
    return false;
}

int program_run(const char *const argv[], const char *out_path, const char *err_path)
{
    posix_spawn_file_actions_t actions;
    pid_t child = 0;
    int status = 0;
    int error = posix_spawn_file_actions_init(&actions);
    if (error == 0 && out_path != NULL) {
        error = posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out_path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    }
    if (error == 0 && err_path != NULL) {
        error = posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, err_path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    }
    (void)fflush(NULL);
    if (error == 0) {
        error = posix_spawn(&child, argv[0], &actions, NULL, (char *const *)(uintptr_t)argv, environ);
    }
    (void)posix_spawn_file_actions_destroy(&actions);
    if (error != 0) {
        (void)fprintf(stderr, "paldiff: %s does not start: %s\n", argv[0], strerror(error));
        return -1;
    }
    while (waitpid(child, &status, 0) < 0) {
        if (errno != EINTR) {
            return -1;
        }
    }
    if (!WIFEXITED(status)) {
        (void)fprintf(stderr, "paldiff: %s was killed by signal %d\n", argv[0], WTERMSIG(status));
        return -1;
    }
    return WEXITSTATUS(status);
}

void program_copy_text(const char *path)
{
    char text[4096];
    FILE *file = fopen(path, "re");
    for (size_t len = 0; file != NULL && (len = fread(text, 1, sizeof(text), file)) > 0;) {
        (void)fwrite(text, 1, len, stderr);
    }
    if (file != NULL) {
        (void)fclose(file);
    }
}

/* file_text: the whole file, ended by NUL; NULL, errno saying why. */
static char *file_text(const char *path)
{
    char *text = NULL;
    size_t len = 0;
    size_t cap = 0;
    FILE *file = fopen(path, "re");
    while (file != NULL) {
        if (cap - len < 2) {
            cap = cap > 0 ? cap * 2 : 65536;
            char *grown = realloc(text, cap);
            if (grown == NULL) {
                break;
            }
            text = grown;
        }
        size_t got = fread(text + len, 1, cap - len - 1, file);
        len += got;
        if (got == 0) {
            bool good = ferror(file) == 0;
            text[len] = '\0';
            (void)fclose(file);
            if (!good) {
                free(text);
            }
            return good ? text : NULL;
        }
    }
    int saved = errno;
    if (file != NULL) {
        (void)fclose(file);
    }
    free(text);
    errno = saved;
    return NULL;
}

struct cJSON *json_read(const char *path, bool *out_missing)
{
    char *text = file_text(path);
    *out_missing = text == NULL && errno == ENOENT;
    if (text == NULL) {
        if (!*out_missing) {
            (void)fprintf(stderr, "paldiff: %s cannot be read: %s\n", path, strerror(errno));
        }
        return NULL;
    }
    struct cJSON *json = cJSON_Parse(text);
    free(text);
    if (json == NULL) {
        (void)fprintf(stderr, "paldiff: %s is not JSON\n", path);
    }
    return json;
}

bool json_write(const char *path, const struct cJSON *json)
{
    char part[PROGRAM_PATH_MAX];
    char *text = cJSON_Print(json);
    int len = snprintf(part, sizeof(part), "%s.part", path);
    bool good = text != NULL && len > 0 && (size_t)len < sizeof(part);
    if (good) {
        const char *end = text;
        do { /* cJSON is not instrumented: to MSan its text was never written */
            poison_foreign(end, 1);
        } while (*end++ != '\0');
        FILE *file = fopen(part, "we");
        good = file != NULL && fprintf(file, "%s\n", text) > 0;
        good = file != NULL && fclose(file) == 0 && good;
        good = good && rename(part, path) == 0;
    }
    cJSON_free(text);
    if (!good) {
        (void)fprintf(stderr, "paldiff: %s cannot be written: %s\n", path, strerror(errno));
    }
    return good;
}

double json_number(const struct cJSON *object, const char *name, double fallback)
{
    const struct cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    return cJSON_IsNumber(item) ? item->valuedouble : fallback;
}

const char *json_text(const struct cJSON *object, const char *name, const char *fallback)
{
    const struct cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    return cJSON_IsString(item) && item->valuestring != NULL ? item->valuestring : fallback;
}
