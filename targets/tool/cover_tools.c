/* SPDX-License-Identifier: Apache-2.0
 * cover_tools.c: the coverage build's programs, and llvm-profdata and llvm-cov, which must be of the compiler's own
 * version. It judges nothing. It breaks when the build no longer keeps engine_<name>.o, from which llvm-cov reads an
 * engine's functions: in the linked program it shows one of two that share a name.
 */
#include "cover.h"
#include "run.h"

#include <cjson/cJSON.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- finding ---- */

/* cache_value: of CMakeCache.txt; false when it is not there. */
static bool cache_value(char *out, size_t cap, const char *build, const char *name)
{
    char path[PROGRAM_PATH_MAX];
    char line[2 * PROGRAM_PATH_MAX];
    bool found = false;
    FILE *file = run_path(path, "%s/CMakeCache.txt", build) ? fopen(path, "re") : NULL;
    while (file != NULL && !found && fgets(line, (int)sizeof(line), file) != NULL) {
        const char *value = strchr(line, '=');
        if (value != NULL && strncmp(line, name, strlen(name)) == 0 && line[strlen(name)] == ':') {
            line[strcspn(line, "\n")] = '\0';
            found = (size_t)snprintf(out, cap, "%s", value + 1) < cap;
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return found;
}

/* compiler_major: 0 when it does not run. */
static unsigned compiler_major(const char *compiler, const char *work)
{
    char program[PROGRAM_PATH_MAX];
    char out[PROGRAM_PATH_MAX];
    char text[32] = "";
    bool found = strchr(compiler, '/') != NULL ? run_path(program, "%s", compiler) : program_find(program, compiler);
    const char *const argv[] = {program, "-dumpversion", NULL};
    if (!found || !run_path(out, "%s/version", work) || program_run(argv, out, NULL) != 0) {
        return 0;
    }
    FILE *file = fopen(out, "re");
    bool good = file != NULL && fgets(text, (int)sizeof(text), file) != NULL;
    if (file != NULL) {
        (void)fclose(file);
    }
    return good ? (unsigned)strtoul(text, NULL, 10) : 0;
}

static bool find_tool(char out[PROGRAM_PATH_MAX], const char *name, unsigned major)
{
    char versioned[64];
    (void)snprintf(versioned, sizeof(versioned), "%s-%u", name, major);
    if (program_find(out, versioned) || program_find(out, name)) {
        return true;
    }
    (void)fprintf(stderr, "paldiff: %s is missing: install llvm-%u, which goes with the compiler of the build\n",
                  versioned, major);
    return false;
}

bool cover_tools_find(struct cover_tools *out, const char *build, const char *work)
{
    char sanitizer[64] = "";
    char compiler[PROGRAM_PATH_MAX];
    char program[PROGRAM_PATH_MAX];
    memset(out, 0, sizeof(*out));
    if (!run_path(out->work, "%s", work) || !run_path(program, "%s/paldiff", build)) {
        return false;
    }
    if (realpath(build, out->build) == NULL || access(program, X_OK) != 0 ||
        !cache_value(sanitizer, sizeof(sanitizer), build, "PALDIFF_SANITIZER") || strcmp(sanitizer, "coverage") != 0 ||
        !cache_value(compiler, sizeof(compiler), build, "CMAKE_C_COMPILER") ||
        !cache_value(out->root, sizeof(out->root), build, "CMAKE_HOME_DIRECTORY")) {
        (void)fprintf(stderr,
                      "paldiff: %s is no coverage build: run `ci/run paldiff cover`, which builds one, or\n"
                      "  cmake --preset coverage && cmake --build --preset coverage\n",
                      build);
        return false;
    }
    unsigned major = compiler_major(compiler, work);
    if (major == 0) {
        (void)fprintf(stderr, "paldiff: the compiler of %s does not run: %s\n", build, compiler);
        return false;
    }
    return find_tool(out->profdata, "llvm-profdata", major) && find_tool(out->cov, "llvm-cov", major);
}

/* ---- profiles ---- */

/* run_quietly: what it said is shown when it fails. */
static bool run_quietly(const struct cover_tools *tools, const char *const argv[], const char *out_path)
{
    char log[PROGRAM_PATH_MAX];
    char null_path[] = "/dev/null";
    if (!run_path(log, "%s/log", tools->work)) {
        return false;
    }
    int code = program_run(argv, out_path != NULL ? out_path : null_path, log);
    if (code != 0) {
        (void)fprintf(stderr, "paldiff: %s %s failed (%d):\n", argv[0], argv[1] != NULL ? argv[1] : "", code);
        program_copy_text(log);
    }
    return code == 0;
}

/* forget: what an earlier run, perhaps of another build, left behind. */
static bool forget(const struct cover_tools *tools)
{
    char pattern[PROGRAM_PATH_MAX];
    glob_t found = {0};
    bool good = run_path(pattern, "%s/*.prof*", tools->work);
    if (good && glob(pattern, 0, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc; i++) {
            good = unlink(found.gl_pathv[i]) == 0 && good;
        }
    }
    globfree(&found);
    return good;
}

/* merge: all work/<name>-*.profraw, which are removed, into work/<name>.profdata. */
static bool merge(const struct cover_tools *tools, const char *name)
{
    char pattern[PROGRAM_PATH_MAX];
    char out[PROGRAM_PATH_MAX];
    glob_t found = {0};
    if (!run_path(pattern, "%s/%s-*.profraw", tools->work, name) ||
        !run_path(out, "%s/%s.profdata", tools->work, name)) {
        return false;
    }
    bool good = glob(pattern, 0, NULL, &found) == 0;
    const char **argv = calloc(found.gl_pathc + 6, sizeof(*argv));
    if (!good) {
        (void)fprintf(stderr, "paldiff: the programs of %s left no profile\n", tools->build);
    }
    if (good && argv != NULL) {
        const char *const first[] = {tools->profdata, "merge", "-sparse", "-o", out};
        memcpy(argv, first, sizeof(first));
        memcpy(argv + 5, found.gl_pathv, found.gl_pathc * sizeof(*argv));
        good = run_quietly(tools, argv, NULL);
    }
    for (size_t i = 0; i < found.gl_pathc; i++) {
        (void)unlink(found.gl_pathv[i]);
    }
    good = good && argv != NULL;
    free(argv);
    globfree(&found);
    return good;
}

static bool profile_to(const struct cover_tools *tools, const char *name, const char *part)
{
    char path[PROGRAM_PATH_MAX];
    return run_path(path, "%s/%s-%s.profraw", tools->work, name, part) && setenv("LLVM_PROFILE_FILE", path, 1) == 0;
}

bool cover_play(const struct cover_tools *tools, size_t num, const struct target *const chosen[])
{
    char program[PROGRAM_PATH_MAX];
    bool good = forget(tools) && run_path(program, "%s/paldiff", tools->build) &&
                setenv("PALDIFF_CORPUS", tool_corpus(), 1) == 0;
    for (size_t i = 0; good && i < num; i++) {
        char **files = NULL;
        size_t num_files = 0;
        good = tool_corpus_files(chosen[i], &files, &num_files);
        if (good && num_files == 0) {
            (void)fprintf(stderr, "paldiff: target %s has an empty corpus below %s\n", chosen[i]->name, tool_corpus());
            good = false;
        }
        const char **argv = calloc(num_files + 8, sizeof(*argv));
        if (good && argv != NULL) {
            const char *const first[] = {program, "replay", "--runs", "1", "--target", chosen[i]->name};
            memcpy(argv, first, sizeof(first));
            memcpy(argv + 6, files, num_files * sizeof(*argv));
            good = profile_to(tools, "corpus", chosen[i]->name) && run_quietly(tools, argv, NULL);
        }
        good = good && argv != NULL;
        free(argv);
        tool_files_free(files, num_files);
    }
    return good && merge(tools, "corpus");
}

bool cover_test(const struct cover_tools *tools, const char *name)
{
    char program[PROGRAM_PATH_MAX];
    if (!run_path(program, "%s/%s", tools->build, name)) {
        return false;
    }
    if (access(program, X_OK) != 0) {
        (void)fprintf(stderr, "paldiff: the exceptions name the test %s: build it in %s\n", name, tools->build);
        return false;
    }
    const char *const argv[] = {program, NULL};
    return profile_to(tools, name, "all") && run_quietly(tools, argv, NULL) && merge(tools, name);
}

/* ---- exports ---- */

/* exported: NULL, with a line on stderr. `lib`: of those sources only, in detail; else a summary of all. */
static struct cJSON *exported(const struct cover_tools *tools, const char *object, const char *name, bool lib)
{
    char profile[PROGRAM_PATH_MAX];
    char out[PROGRAM_PATH_MAX];
    char sources[PROGRAM_PATH_MAX];
    bool missing = false;
    if (!run_path(profile, "%s/%s.profdata", tools->work, name) || !run_path(out, "%s/export.json", tools->work) ||
        !run_path(sources, "%s/lib", tools->root)) {
        return NULL;
    }
    const char *const argv[] = {
        tools->cov, "export", object, "-instr-profile", profile, "-skip-functions", lib ? sources : "-summary-only",
        NULL};
    struct cJSON *json = run_quietly(tools, argv, out) ? json_read(out, &missing) : NULL;
    (void)unlink(out);
    return json;
}

static bool engine_objects(glob_t *out, const struct cover_tools *tools)
{
    char pattern[PROGRAM_PATH_MAX];
    memset(out, 0, sizeof(*out));
    bool good = run_path(pattern, "%s/engine_*.o", tools->build) && glob(pattern, 0, NULL, out) == 0;
    if (!good) {
        (void)fprintf(stderr, "paldiff: %s has no engine_<name>.o\n", tools->build);
    }
    return good;
}

bool cover_load(struct cover_map *map, const struct cover_tools *tools, const char *profile, uint32_t by)
{
    char program[PROGRAM_PATH_MAX];
    glob_t found;
    bool good = run_path(program, "%s/paldiff", tools->build) && engine_objects(&found, tools);
    if (!good) {
        return false;
    }
    (void)snprintf(map->root, sizeof(map->root), "%s", tools->root);
    for (size_t i = 0; good && i <= found.gl_pathc; i++) {
        struct cJSON *json = exported(tools, i == 0 ? program : found.gl_pathv[i - 1], profile, true);
        good = json != NULL && cover_map_add(map, json, by);
        cJSON_Delete(json);
    }
    globfree(&found);
    return good;
}

static struct cover_count summary(const struct cJSON *file, const char *kind)
{
    const cJSON *all = cJSON_GetObjectItemCaseSensitive(file, "summary");
    const cJSON *row = cJSON_GetObjectItemCaseSensitive(all, kind);
    return (struct cover_count){(size_t)json_number(row, "covered", 0), (size_t)json_number(row, "count", 0)};
}

/* source_path: from the top of the engine's own tree where that shows. */
static const char *source_path(const char *path, const char *engine)
{
    char mark[64];
    (void)snprintf(mark, sizeof(mark), "/src/%s-", engine);
    const char *at = strstr(path, mark);
    at = at != NULL ? strchr(at + strlen(mark), '/') : NULL;
    return at != NULL ? at + 1 : path;
}

static bool load_engine(struct cover_engine *out, const struct cover_tools *tools, const char *object)
{
    char lib[PROGRAM_PATH_MAX];
    struct cJSON *json = exported(tools, object, "corpus", false);
    const cJSON *data = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(json, "data"), 0);
    const cJSON *files = cJSON_GetObjectItemCaseSensitive(data, "files");
    const cJSON *file = NULL;
    const char *name = strrchr(object, '/') + sizeof("/engine_") - 1;
    memset(out, 0, sizeof(*out));
    (void)snprintf(out->name, sizeof(out->name), "%.*s", (int)strcspn(name, "."), name);
    out->files = calloc((size_t)cJSON_GetArraySize(files) + 1, sizeof(*out->files));
    bool good = out->files != NULL && run_path(lib, "%s/lib/", tools->root);
    cJSON_ArrayForEach(file, files)
    {
        const char *path = json_text(file, "filename", "");
        struct cover_engine_file one = {NULL, summary(file, "regions"), summary(file, "branches")};
        if (!good || one.regions.num == 0 || strncmp(path, lib, strlen(lib)) == 0) {
            continue;
        }
        one.path = strdup(path);
        good = one.path != NULL;
        out->files[out->num_files++] = one;
    }
    cJSON_Delete(json);
    if (good && out->num_files == 0) {
        (void)fprintf(stderr, "paldiff: %s has no coverage: was the engine built with ci/deps --sanitizer coverage?\n",
                      object);
    }
    return good && out->num_files > 0;
}

size_t cover_load_engines(struct cover_engine engines[COVER_ENGINES_MAX], const struct cover_tools *tools)
{
    glob_t found;
    size_t num = 0;
    bool good = engine_objects(&found, tools);
    for (size_t i = 0; good && i < found.gl_pathc && num < COVER_ENGINES_MAX; i++) {
        good = load_engine(&engines[num++], tools, found.gl_pathv[i]);
    }
    globfree(&found);
    return good ? num : 0;
}

void cover_engine_deinit(struct cover_engine *engine)
{
    for (size_t i = 0; i < engine->num_files; i++) {
        free(engine->files[i].path);
    }
    free(engine->files);
    memset(engine, 0, sizeof(*engine));
}

const char *cover_engine_path(const struct cover_engine *engine, size_t file)
{
    return source_path(engine->files[file].path, engine->name);
}

/* ---- pages ---- */

static bool pages(const struct cover_tools *tools, const char *dir, const char *title, const char *const objects[],
                  size_t num_sources, const char *const sources[])
{
    char profile[PROGRAM_PATH_MAX];
    char out[PROGRAM_PATH_MAX + 32];
    char name[128];
    const char **argv = calloc(num_sources + 16, sizeof(*argv));
    size_t num = 0;
    if (argv == NULL || !run_path(profile, "%s/corpus.profdata", tools->work)) {
        free(argv);
        return false;
    }
    (void)snprintf(out, sizeof(out), "-output-dir=%s", dir);
    (void)snprintf(name, sizeof(name), "-project-title=%s, by the committed corpus", title);
    const char *const first[] = {tools->cov,
                                 "show",
                                 objects[0],
                                 "-format=html",
                                 out,
                                 name,
                                 "-show-branches=count",
                                 "-show-instantiations=false",
                                 "-instr-profile",
                                 profile};
    for (; num < sizeof(first) / sizeof(first[0]); num++) {
        argv[num] = first[num];
    }
    for (size_t i = 1; objects[i] != NULL; i++) {
        argv[num++] = "-object";
        argv[num++] = objects[i];
    }
    memcpy(argv + num, sources, num_sources * sizeof(*argv));
    bool good = run_quietly(tools, argv, NULL);
    free(argv);
    return good;
}

static bool engine_pages(const struct cover_tools *tools, const char *dir, const char *object,
                         const struct cover_engine *engine)
{
    char out[PROGRAM_PATH_MAX];
    const char *const objects[] = {object, NULL};
    const char **sources = calloc(engine->num_files, sizeof(*sources));
    bool good = sources != NULL && run_path(out, "%s/%s", dir, engine->name);
    for (size_t i = 0; good && i < engine->num_files; i++) {
        sources[i] = engine->files[i].path;
    }
    good = good && pages(tools, out, engine->name, objects, engine->num_files, sources);
    free(sources);
    return good;
}

bool cover_html(const struct cover_tools *tools, const char *dir, size_t num_engines,
                const struct cover_engine engines[])
{
    char program[PROGRAM_PATH_MAX];
    char sources[PROGRAM_PATH_MAX];
    char out[PROGRAM_PATH_MAX];
    const char *objects[COVER_ENGINES_MAX + 2] = {program};
    const char *const lib[] = {sources};
    glob_t found;
    bool good = run_path(program, "%s/paldiff", tools->build) && run_path(sources, "%s/lib", tools->root) &&
                run_path(out, "%s/lib", dir) && engine_objects(&found, tools);
    if (!good) {
        return false;
    }
    run_remove_dir(dir);
    for (size_t i = 0; i < found.gl_pathc && i < COVER_ENGINES_MAX; i++) {
        objects[i + 1] = found.gl_pathv[i];
    }
    good = pages(tools, out, "lib", objects, 1, lib);
    for (size_t i = 0; good && i < num_engines && i < found.gl_pathc; i++) {
        good = engine_pages(tools, dir, found.gl_pathv[i], &engines[i]);
    }
    globfree(&found);
    return good;
}
