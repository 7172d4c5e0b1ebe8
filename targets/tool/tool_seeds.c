/* SPDX-License-Identifier: Apache-2.0
 * tool_seeds.c: text scenarios in, bytes out. Each is decoded again and compared, so that no seed means something else.
 */
#include "seeds.h"
#include "tool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool same_scenario(const struct scenario *a, const struct scenario *b)
{
    char *text[2] = {NULL, NULL};
    size_t len[2] = {0, 0};
    const struct scenario *both[2] = {a, b};
    for (size_t i = 0; i < 2; i++) {
        FILE *stream = open_memstream(&text[i], &len[i]);
        if (stream != NULL) {
            scenario_print(both[i], stream);
            (void)fclose(stream);
        }
    }
    bool same = text[0] != NULL && text[1] != NULL && len[0] == len[1] && memcmp(text[0], text[1], len[0]) == 0;
    free(text[0]);
    free(text[1]);
    return same;
}

static bool write_file(const char *path, const uint8_t *data, size_t len)
{
    FILE *file = fopen(path, "wb");
    bool good = file != NULL && fwrite(data, 1, len, file) == len;
    good = file != NULL && fclose(file) == 0 && good;
    if (!good) {
        (void)fprintf(stderr, "paldiff: %s cannot be written: %s\n", path, strerror(errno));
    }
    return good;
}

/* write_seed: *out_written is false for a scenario that is longer than what its target is fuzzed with: that one is for
 * replay alone. */
static bool write_seed(struct stage *stage, struct scenario *again, const char *file, const char *dir,
                       bool *out_written)
{
    static uint8_t bytes[SCENARIO_INPUT_MAX];
    char path[4096];
    uint8_t *data = NULL;
    size_t len = 0;
    const char *name = strrchr(file, '/') != NULL ? strrchr(file, '/') + 1 : file;
    int name_len = (int)(strlen(name) - (strlen(name) > 4 && strcmp(name + strlen(name) - 4, ".txt") == 0 ? 4 : 0));
    if (!harness_read(file, &data, &len)) {
        return false;
    }
    bool good = harness_load(stage, file, (struct pal_view){data, len});
    free(data);
    if (!good) {
        return false;
    }
    size_t num = scenario_encode(&stage->scenario, bytes, sizeof(bytes));
    scenario_decode(again, stage->target->language, (struct pal_view){bytes, num});
    if (num == 0 || !same_scenario(&stage->scenario, again)) {
        (void)fprintf(stderr, "paldiff: %s does not survive being written as bytes\n", file);
        return false;
    }
    (void)snprintf(path, sizeof(path), "%s/%.*s", dir, name_len, name);
    *out_written = num <= stage->target->input_len_max;
    return !*out_written || write_file(path, bytes, num);
}

bool seeds_write(const struct target *target, const char *dir, size_t *out_num)
{
    struct stage *stage = calloc(1, sizeof(*stage));
    struct scenario *again = malloc(sizeof(*again));
    char **files = NULL;
    size_t num = 0;
    bool good = stage != NULL && again != NULL && tool_corpus_files(target, &files, &num);
    *out_num = 0;
    for (size_t i = 0; good && i < num; i++) {
        bool written = false;
        stage->target = target;
        good = write_seed(stage, again, files[i], dir, &written);
        *out_num += written ? 1 : 0;
    }
    if (good && num == 0) {
        (void)fprintf(stderr, "paldiff: target %s has an empty corpus below %s\n", target->name, tool_corpus());
        good = false;
    } else if (good && *out_num == 0) {
        (void)fprintf(stderr, "paldiff: no scenario of target %s is short enough to be a seed\n", target->name);
        good = false;
    }
    tool_files_free(files, num);
    free(stage);
    free(again);
    return good;
}

int tool_seeds(int argc, char **argv)
{
    static const struct argp argp = {
        .args_doc = "TARGET DIR",
        .doc = "Writes the committed corpus of TARGET into DIR, as bytes. Example: paldiff seeds hmac "
               "build/seeds/hmac"};
    (void)tool_parse(&argp, argc, argv, NULL);
    const struct target *target = argc == 3 ? target_find(argv[1]) : NULL;
    size_t num = 0;
    if (target == NULL) {
        return tool_usage(argc == 3 ? "there is no target %s" : "seeds takes a target and a folder%s",
                          argc == 3 ? argv[1] : "");
    }
    if (mkdir(argv[2], 0777) != 0 && errno != EEXIST) {
        return tool_usage("%s cannot be made: %s", argv[2], strerror(errno));
    }
    if (!seeds_write(target, argv[2], &num)) {
        return EXIT_SUITE;
    }
    (void)fprintf(stderr, "%zu seeds of %s in %s\n", num, target->name, argv[2]);
    return EXIT_HELD;
}
