/* SPDX-License-Identifier: Apache-2.0
 * tool_cmin.c: makes a kept corpus small again: the fuzz programs of the builds choose, by merging into a new folder,
 * which takes the old one's place only when it is whole. The committed corpus, which is texts, is none of its business.
 */
#include "program.h"
#include "run.h"
#include "tool.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { KEY_BUILD = 'b', KEY_FROM = 'f', KEY_LIMIT = 'l', KEY_DRY = 'n' };

#define LIMIT_DEFAULT 16777216u /* bytes of one target's corpus; inputs are a few dozen bytes each */
#define LIMIT_MAX 1000000000u

struct options {
    size_t num_builds;
    const char *builds[RUN_BUILDS_MAX];
    const char *from;
    uint64_t limit;
    bool dry;
};

/* corpus_size: what lies in a folder, apart from what is too long to be fuzzed with. */
struct corpus_size {
    size_t num;
    uint64_t bytes;
    size_t num_too_long;
};

/* work: one target's corpus, and the folders beside it that it is made anew in. */
struct work {
    const struct target *target;
    char kept[RUN_PATH_MAX];
    char from[RUN_PATH_MAX]; /* empty: none */
    char inputs[RUN_PATH_MAX];
    char fresh[RUN_PATH_MAX];
    char crashes[RUN_PATH_MAX];
    char log[RUN_PATH_MAX];
    size_t num_linked;
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct options *options = state->input;
    char *end = NULL;
    switch (key) {
    case KEY_BUILD:
        if (options->num_builds == RUN_BUILDS_MAX) {
            argp_error(state, "at most %u builds", RUN_BUILDS_MAX);
        }
        options->builds[options->num_builds++] = argument;
        return 0;
    case KEY_FROM:
        options->from = argument;
        return 0;
    case KEY_LIMIT:
        options->limit = strtoull(argument, &end, 10);
        if (argument[0] < '1' || argument[0] > '9' || *end != '\0' || options->limit > LIMIT_MAX) {
            argp_error(state, "--limit takes a number from 1 to %u, not %s", LIMIT_MAX, argument);
        }
        return 0;
    case KEY_DRY:
        options->dry = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* exists: a folder. */
static bool exists(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* link_inputs: every file of `dir` that is not too long, by a name of its own in work->inputs. False, with a line on
 * stderr; texts are refused. */
static bool link_inputs(struct work *work, const char *dir, struct corpus_size *size)
{
    char **files = NULL;
    size_t num = 0;
    char path[RUN_PATH_MAX];
    char real[RUN_PATH_MAX];
    bool good = tool_files(dir, &files, &num);
    for (size_t i = 0; good && i < num; i++) {
        struct stat info;
        size_t len = strlen(files[i]);
        if (len > 4 && strcmp(files[i] + len - 4, ".txt") == 0) {
            (void)fprintf(stderr, "paldiff: %s is a text: a corpus of a fuzz engine is bytes\n", files[i]);
            good = false;
        } else if (stat(files[i], &info) != 0 || realpath(files[i], real) == NULL) {
            (void)fprintf(stderr, "paldiff: %s cannot be read: %s\n", files[i], strerror(errno));
            good = false;
        } else if ((uint64_t)info.st_size > work->target->input_len_max) {
            size->num_too_long++;
        } else {
            size->num++;
            size->bytes += (uint64_t)info.st_size;
            good = run_path(path, "%s/%zu", work->inputs, work->num_linked++) && symlink(real, path) == 0;
        }
    }
    tool_files_free(files, num);
    return good;
}

static bool measure(const char *dir, struct corpus_size *out)
{
    char **files = NULL;
    size_t num = 0;
    struct stat info;
    bool good = tool_files(dir, &files, &num);
    for (size_t i = 0; good && i < num; i++) {
        good = stat(files[i], &info) == 0;
        out->num++;
        out->bytes += good ? (uint64_t)info.st_size : 0;
    }
    tool_files_free(files, num);
    return good;
}

/* prepare: the names, and empty folders. */
static bool prepare(struct work *work, const struct options *options, const char *corpus)
{
    const char *name = work->target->name;
    bool good = run_path(work->kept, "%s/%s", corpus, name) && run_path(work->inputs, "%s/.%s.inputs", corpus, name) &&
                run_path(work->fresh, "%s/.%s.fresh", corpus, name) &&
                run_path(work->crashes, "%s/.%s.crashes/", corpus, name) &&
                run_path(work->log, "%s/.%s.log", corpus, name);
    if (good && options->from != NULL) {
        /* As `run --corpus` lays it out, or as OSS-Fuzz names targets. */
        good = run_path(work->from, "%s/%s", options->from, name);
        if (good && !exists(work->from)) {
            good = run_path(work->from, "%s/fuzz_%s", options->from, name);
        }
        if (good && !exists(work->from)) {
            work->from[0] = '\0';
        }
    }
    if (good) {
        run_remove_dir(work->inputs);
        run_remove_dir(work->fresh);
        run_remove_dir(work->crashes);
        good = run_make_dir(work->inputs) && run_make_dir(work->fresh) && run_make_dir(work->crashes);
    }
    return good;
}

/* merge: in each build, what covers something new there joins the fresh folder. */
static bool merge(const struct work *work, const struct run *run)
{
    for (size_t i = 0; i < run->num_builds; i++) {
        char program[RUN_PATH_MAX];
        char length[64];
        char crashes[RUN_PATH_MAX];
        if (!run_path(program, "%s/fuzz_%s", run->builds[i].dir, work->target->name) ||
            !run_path(crashes, "-artifact_prefix=%s", work->crashes)) {
            return false;
        }
        (void)snprintf(length, sizeof(length), "-max_len=%zu", work->target->input_len_max);
        const char *const argv[] = {program,     "-merge=1",   "-timeout=25", "-rss_limit_mb=2560", length, crashes,
                                    work->fresh, work->inputs, NULL};
        if (program_run(argv, work->log, work->log) != 0) {
            program_copy_text(work->log);
            (void)fprintf(stderr, "paldiff: %s did not merge; %s is as it was\n", program, work->kept);
            return false;
        }
    }
    return true;
}

/* replace: the fresh corpus for the kept one, in one step. */
static bool replace(const struct work *work)
{
    bool good = exists(work->kept) ? renameat2(AT_FDCWD, work->fresh, AT_FDCWD, work->kept, RENAME_EXCHANGE) == 0
                                   : rename(work->fresh, work->kept) == 0;
    if (!good) {
        (void)fprintf(stderr, "paldiff: %s cannot be replaced: %s\n", work->kept, strerror(errno));
    }
    return good;
}

static void clean_up(const struct work *work)
{
    run_remove_dir(work->inputs);
    run_remove_dir(work->fresh);
    (void)remove(work->log);
    (void)rmdir(work->crashes); /* stays if there is something in it */
}

/* minimise: one target; prints its row. */
static int minimise(struct work *work, const struct options *options, const struct run *run)
{
    struct corpus_size before = {0};
    struct corpus_size added = {0};
    struct corpus_size after = {0};
    struct corpus_size crashes = {0};
    if ((exists(work->kept) && !link_inputs(work, work->kept, &before)) ||
        (work->from[0] != '\0' && !link_inputs(work, work->from, &added))) {
        return EXIT_USAGE;
    }
    if (before.num + added.num == 0) {
        (void)printf("%-10s nothing there\n", work->target->name);
        return EXIT_NOTHING_RAN;
    }
    if (!merge(work, run) || !measure(work->fresh, &after) || !measure(work->crashes, &crashes)) {
        return EXIT_SUITE;
    }
    (void)printf("%-10s %7zu %9" PRIu64 " %7zu %8zu %7zu %9" PRIu64 "\n", work->target->name, before.num, before.bytes,
                 added.num, before.num_too_long + added.num_too_long, after.num, after.bytes);
    if (crashes.num > 0) {
        (void)fprintf(stderr, "paldiff: %zu inputs broke something and are in %s; %s is as it was\n", crashes.num,
                      work->crashes, work->kept);
        return EXIT_BROKEN;
    }
    if (after.num == 0) {
        (void)fprintf(stderr, "paldiff: nothing would be left of %s; it is as it was\n", work->kept);
        return EXIT_SUITE;
    }
    if (!options->dry && !replace(work)) {
        return EXIT_SUITE;
    }
    if (after.bytes > options->limit) {
        (void)fprintf(stderr, "paldiff: %s has %" PRIu64 " bytes, more than --limit %" PRIu64 "\n", work->kept,
                      after.bytes, options->limit);
        return EXIT_BROKEN;
    }
    return EXIT_HELD;
}

/* minimise_all: the worst that happened to a target; having found none of them at all is one of those. */
static int minimise_all(const struct options *options, const struct run *run, const char *corpus, char **names,
                        size_t num_names)
{
    int worst = EXIT_HELD;
    size_t num_done = 0;
    (void)printf("%-10s %7s %9s %7s %8s %7s %9s\n", "target", "before", "bytes", "added", "too long", "after", "bytes");
    for (size_t t = 0; t < num_targets; t++) {
        if (num_names > 0 && !tool_is_named(targets[t]->name, names, num_names)) {
            continue;
        }
        struct work *work = calloc(1, sizeof(*work));
        int code = EXIT_SUITE;
        if (work != NULL) {
            work->target = targets[t];
            code = prepare(work, options, corpus) ? minimise(work, options, run) : EXIT_SUITE;
            clean_up(work);
        }
        free(work);
        num_done += code == EXIT_NOTHING_RAN ? 0 : 1;
        if (code != EXIT_NOTHING_RAN && (worst == EXIT_HELD || code == EXIT_SUITE)) {
            worst = code;
        }
    }
    return num_done == 0 ? EXIT_NOTHING_RAN : worst;
}

int tool_cmin(int argc, char **argv)
{
    static const struct argp_option rows[] = {
        {"build", KEY_BUILD, "DIR", 0, "a build whose fuzz programs choose; may be repeated (default: asan and msan)",
         0},
        {"from", KEY_FROM, "DIR", 0, "what to merge in, such as a corpus that was downloaded", 0},
        {"limit", KEY_LIMIT, "BYTES", 0, "more than this left of a target is an error (16777216)", 0},
        {"dry-run", KEY_DRY, NULL, 0, "only counts", 0},
        {0}};
    static const struct argp argp = {
        .options = rows,
        .parser = parse,
        .args_doc = "CORPUS [TARGET...]",
        .doc =
            "Leaves in CORPUS/TARGET only inputs that reach something the others do not. Inputs longer than a target "
            "is fuzzed with are left out. Nothing may be fuzzing into CORPUS meanwhile. Example: paldiff cmin --from "
            "downloaded corpora hmac"};
    struct options options = {.limit = LIMIT_DEFAULT};
    struct run *run = calloc(1, sizeof(*run));
    int first = tool_parse(&argp, argc, argv, &options);
    int code = EXIT_SUITE;
    if (run == NULL) {
        return EXIT_SUITE;
    }
    if (first >= argc || (options.from != NULL && !exists(options.from)) || !exists(argv[first])) {
        free(run);
        return tool_usage("cmin takes the folder of a corpus%s%s", options.from != NULL ? ", and --from another" : "",
                          first < argc ? ", that is there" : "");
    }
    for (int i = first + 1; i < argc; i++) {
        if (target_find(argv[i]) == NULL) {
            free(run);
            return tool_usage("there is no target %s; `paldiff list` names them", argv[i]);
        }
    }
    code = run_find_builds(run, options.num_builds, options.builds);
    if (code == EXIT_HELD) {
        code = minimise_all(&options, run, argv[first], argv + first + 1, (size_t)(argc - first - 1));
    }
    free(run);
    return code;
}
