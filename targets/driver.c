/* SPDX-License-Identifier: Apache-2.0
 * driver.c: main() for a target where there is no fuzz engine (gcc, valgrind): plays files and the files of folders,
 * each as an exact-size copy, with a time limit that names the file. It plays bytes; text scenarios are `paldiff
 * replay`'s.
 */
#include "harness.h"

#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECONDS_PER_INPUT 25u

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static char playing[4096];

static void on_alarm(int signal_number)
{
    (void)signal_number;
    static const char words[] = "paldiff: this input takes too long: ";
    bool told = write(STDERR_FILENO, words, sizeof(words) - 1) > 0;
    told = write(STDERR_FILENO, playing, strlen(playing)) > 0 && told;
    _exit(told ? EXIT_BROKEN : EXIT_SUITE);
}

static bool play_file(const char *path, uint64_t *num_played)
{
    uint8_t *data = NULL;
    size_t len = 0;
    (void)snprintf(playing, sizeof(playing), "%s\n", path);
    if (!harness_read(path, &data, &len)) {
        return false;
    }
    (void)alarm(SECONDS_PER_INPUT);
    (void)LLVMFuzzerTestOneInput(data, len);
    (void)alarm(0);
    free(data);
    (*num_played)++;
    return true;
}

static bool play_path(const char *path, uint64_t *num_played)
{
    struct stat info;
    struct dirent **entries = NULL;
    bool good = true;
    if (stat(path, &info) != 0 || !S_ISDIR(info.st_mode)) {
        return play_file(path, num_played);
    }
    int num = scandir(path, &entries, NULL, alphasort);
    for (int i = 0; i < num; i++) {
        char inner[4096];
        int len = snprintf(inner, sizeof(inner), "%s/%s", path, entries[i]->d_name);
        if (entries[i]->d_name[0] != '.' && len > 0 && (size_t)len < sizeof(inner)) {
            good = play_path(inner, num_played) && good;
        }
        free(entries[i]);
    }
    free(entries);
    return good && num >= 0;
}

int main(int argc, char **argv)
{
    uint64_t num_played = 0;
    bool good = true;
    (void)signal(SIGALRM, on_alarm);
    (void)LLVMFuzzerInitialize(&argc, &argv);
    for (int i = 1; i < argc; i++) {
        if (argv[i][0] != '-') {
            good = play_path(argv[i], &num_played) && good;
        }
    }
    if (!good) {
        return EXIT_USAGE;
    }
    if (num_played == 0) {
        (void)fputs("paldiff: nothing ran: name files or folders of inputs\n", stderr);
        return EXIT_NOTHING_RAN;
    }
    return EXIT_HELD;
}
