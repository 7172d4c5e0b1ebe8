/* SPDX-License-Identifier: Apache-2.0
 * tool_seeds.c: text scenarios in, bytes out. Each is decoded again and compared, so that no seed means something else.
 */
#include "seeds.h"

#include "kept.h"
#include "tool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

size_t seeds_encode(uint8_t out[SCENARIO_INPUT_MAX], const struct scenario *scenario, const char *path)
{
    static struct scenario again;
    size_t num = scenario_encode(scenario, out, SCENARIO_INPUT_MAX);
    scenario_decode(&again, scenario->language, (struct pal_view){out, num});
    char *before = kept_text(scenario);
    char *after = kept_text(&again);
    bool same = num > 0 && before != NULL && after != NULL && strcmp(before, after) == 0;
    free(before);
    free(after);
    if (!same) {
        (void)fprintf(stderr, "paldiff: %s does not survive being written as bytes\n", path);
    }
    return same ? num : 0;
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
static bool write_seed(struct stage *stage, const char *file, const char *dir, bool *out_written)
{
    static uint8_t bytes[SCENARIO_INPUT_MAX];
    char path[4096];
    const char *name = strrchr(file, '/') != NULL ? strrchr(file, '/') + 1 : file;
    int name_len = (int)(strlen(name) - (strlen(name) > 4 && strcmp(name + strlen(name) - 4, ".txt") == 0 ? 4 : 0));
    size_t num = tool_load(stage, file) ? seeds_encode(bytes, &stage->scenario, file) : 0;
    if (num == 0) {
        return false;
    }
    (void)snprintf(path, sizeof(path), "%s/%.*s", dir, name_len, name);
    *out_written = num <= stage->target->input_len_max;
    return !*out_written || write_file(path, bytes, num);
}

bool seeds_write(const struct target *target, const char *dir, size_t *out_num)
{
    struct stage *stage = calloc(1, sizeof(*stage));
    char **files = NULL;
    size_t num = 0;
    bool good = stage != NULL && tool_corpus_files(target, &files, &num);
    *out_num = 0;
    for (size_t i = 0; good && i < num; i++) {
        bool written = false;
        stage->target = target;
        good = write_seed(stage, files[i], dir, &written);
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
