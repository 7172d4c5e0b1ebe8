/* SPDX-License-Identifier: Apache-2.0
 * cover_map.c: what is covered of lib/, put together from several exports: parts of lib/ are compiled twice or three
 * times, once for each engine, and llvm-cov shows one of several functions that share a name. A place counts as reached
 * when it was in any of them.
 * Two functions with one name and the same control flow share counters (llvm knows them by both). For lib/ that is the
 * union that is wanted; in the figures of an engine it can only happen to a function that both engines have.
 */
#include "cover.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

void cover_map_deinit(struct cover_map *map)
{
    for (size_t i = 0; i < map->num_files; i++) {
        free(map->files[i].branches);
        free(map->files[i].regions);
        free(map->files[i].text);
    }
    free(map->files);
    map->files = NULL;
    map->num_files = 0;
}

struct cover_file *cover_map_find(const struct cover_map *map, const char *path)
{
    for (size_t i = 0; i < map->num_files; i++) {
        if (strcmp(map->files[i].path, path) == 0) {
            return &map->files[i];
        }
    }
    return NULL;
}

bool cover_room(void **all, size_t num, size_t *cap, size_t len)
{
    if (num < *cap) {
        return true;
    }
    size_t more = *cap > 0 ? *cap * 2 : 64;
    void *grown = realloc(*all, more * len);
    if (grown != NULL) {
        *all = grown;
        *cap = more;
    }
    return grown != NULL;
}

static struct cover_file *file_of(struct cover_map *map, const char *path)
{
    struct cover_file *file = cover_map_find(map, path);
    void *all = map->files;
    if (file != NULL) {
        return file;
    }
    if (!cover_room(&all, map->num_files, &map->cap_files, sizeof(*file))) {
        return NULL;
    }
    map->files = all;
    file = &map->files[map->num_files++];
    *file = (struct cover_file){0};
    (void)snprintf(file->path, sizeof(file->path), "%s", path);
    return file;
}

static unsigned number_at(const cJSON *row, int index)
{
    const cJSON *item = cJSON_GetArrayItem(row, index);
    return cJSON_IsNumber(item) && item->valuedouble > 0 && item->valuedouble < 1e9 ? (unsigned)item->valuedouble : 0;
}

static bool count_at(const cJSON *row, int index)
{
    const cJSON *item = cJSON_GetArrayItem(row, index);
    return cJSON_IsTrue(item) || (cJSON_IsNumber(item) && item->valuedouble > 0);
}

static bool same_branch(const struct cover_branch *a, const struct cover_branch *b)
{
    return a->line == b->line && a->column == b->column && a->end_line == b->end_line &&
           a->end_column == b->end_column && a->inner_line == b->inner_line && a->inner_column == b->inner_column;
}

/* add_branch: `row` is [line, column, end line, end column, times true, times false, ...]; `site` is where the macro
 * stands that it comes from, or NULL. */
static bool add_branch(struct cover_file *file, const cJSON *row, const cJSON *site, uint32_t by)
{
    const cJSON *at = site != NULL ? site : row;
    struct cover_branch branch = {.line = number_at(at, 0),
                                  .column = number_at(at, 1),
                                  .end_line = number_at(at, 2),
                                  .end_column = number_at(at, 3),
                                  .inner_line = site != NULL ? number_at(row, 0) : 0,
                                  .inner_column = site != NULL ? number_at(row, 1) : 0};
    struct cover_branch *found = NULL;
    void *all = file->branches;
    for (size_t i = 0; i < file->num_branches && found == NULL; i++) {
        found = same_branch(&file->branches[i], &branch) ? &file->branches[i] : NULL;
    }
    if (found == NULL) {
        if (!cover_room(&all, file->num_branches, &file->cap_branches, sizeof(branch))) {
            return false;
        }
        file->branches = all;
        found = &file->branches[file->num_branches++];
        *found = branch;
    }
    for (int value = 0; value < 2; value++) {
        bool reached = count_at(row, value != 0 ? 4 : 5);
        found->corpus[value] |= reached && by == COVER_CORPUS;
        found->tests[value] |= reached ? by : 0;
    }
    return branch.line > 0;
}

/* add_segment: `row` is [line, column, count, has a count, begins a region, is a gap]. */
static bool add_segment(struct cover_file *file, const cJSON *row)
{
    struct cover_region region = {number_at(row, 0), number_at(row, 1), count_at(row, 2)};
    void *all = file->regions;
    if (!count_at(row, 3) || !count_at(row, 4) || count_at(row, 5)) {
        return true;
    }
    for (size_t i = 0; i < file->num_regions; i++) {
        if (file->regions[i].line == region.line && file->regions[i].column == region.column) {
            file->regions[i].reached = file->regions[i].reached || region.reached;
            return true;
        }
    }
    if (!cover_room(&all, file->num_regions, &file->cap_regions, sizeof(region))) {
        return false;
    }
    file->regions = all;
    file->regions[file->num_regions++] = region;
    return true;
}

static bool add_file(struct cover_file *file, const cJSON *json, uint32_t by)
{
    const cJSON *row = NULL;
    const cJSON *expansion = NULL;
    bool good = true;
    cJSON_ArrayForEach(row, cJSON_GetObjectItemCaseSensitive(json, "branches"))
    {
        good = good && add_branch(file, row, NULL, by);
    }
    cJSON_ArrayForEach(expansion, cJSON_GetObjectItemCaseSensitive(json, "expansions"))
    {
        const cJSON *site = cJSON_GetObjectItemCaseSensitive(expansion, "source_region");
        cJSON_ArrayForEach(row, cJSON_GetObjectItemCaseSensitive(expansion, "branches"))
        {
            good = good && add_branch(file, row, site, by);
        }
    }
    cJSON_ArrayForEach(row, cJSON_GetObjectItemCaseSensitive(json, "segments"))
    {
        good = good && (by != COVER_CORPUS || add_segment(file, row));
    }
    return good;
}

bool cover_map_add(struct cover_map *map, const struct cJSON *export, uint32_t by)
{
    char lib[PROGRAM_PATH_MAX + 8];
    const cJSON *data = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(export, "data"), 0);
    const cJSON *files = cJSON_GetObjectItemCaseSensitive(data, "files");
    const cJSON *json = NULL;
    bool good = cJSON_IsArray(files);
    (void)snprintf(lib, sizeof(lib), "%s/lib/", map->root);
    cJSON_ArrayForEach(json, files)
    {
        const char *name = json_text(json, "filename", "");
        if (strncmp(name, lib, strlen(lib)) != 0 || strstr(name, "_test.") != NULL) {
            continue;
        }
        struct cover_file *file = file_of(map, name + strlen(map->root) + 1);
        good = good && file != NULL && add_file(file, json, by);
    }
    if (!good) {
        (void)fputs("paldiff: what llvm-cov exported cannot be read\n", stderr);
    }
    return good;
}

struct cover_count cover_file_branches(const struct cover_file *file)
{
    struct cover_count count = {0, 2 * file->num_branches};
    for (size_t i = 0; i < file->num_branches; i++) {
        const bool *reached = file->branches[i].corpus;
        count.num += (reached[0] ? 1u : 0u) + (reached[1] ? 1u : 0u);
    }
    return count;
}

struct cover_count cover_file_regions(const struct cover_file *file)
{
    struct cover_count count = {0, file->num_regions};
    for (size_t i = 0; i < file->num_regions; i++) {
        count.num += file->regions[i].reached ? 1 : 0;
    }
    return count;
}

/* load_text: once; a file that cannot be read is empty. */
static const char *load_text(const struct cover_map *map, struct cover_file *file)
{
    char path[PROGRAM_PATH_MAX + COVER_TEXT_MAX];
    uint8_t *data = NULL;
    size_t len = 0;
    if (file->text == NULL) {
        (void)snprintf(path, sizeof(path), "%s/%s", map->root, file->path);
        bool good = harness_read(path, &data, &len);
        file->text = calloc(1, len + 1);
        if (good && file->text != NULL) {
            memcpy(file->text, data, len);
        }
        free(data);
    }
    return file->text != NULL ? file->text : "";
}

/* line_of: where the branch's line begins; "" when the file does not have it. */
static const char *line_of(const struct cover_map *map, struct cover_file *file, const struct cover_branch *branch)
{
    const char *at = load_text(map, file);
    for (unsigned line = 1; line < branch->line && at != NULL; line++) {
        at = strchr(at, '\n');
        at = at != NULL ? at + 1 : NULL;
    }
    return at != NULL ? at : "";
}

void cover_line_text(char out[COVER_TEXT_MAX], const struct cover_map *map, struct cover_file *file,
                     const struct cover_branch *branch)
{
    const char *at = line_of(map, file, branch);
    at += strspn(at, " ");
    (void)snprintf(out, COVER_TEXT_MAX, "%.*s", (int)strcspn(at, "\n"), at);
}

void cover_branch_text(char out[COVER_TEXT_MAX], const struct cover_map *map, struct cover_file *file,
                       const struct cover_branch *branch)
{
    const char *at = line_of(map, file, branch);
    size_t len = strcspn(at, "\n");
    size_t from = branch->column > 0 && branch->column - 1 < len ? branch->column - 1 : len;
    size_t to = branch->end_line == branch->line && branch->end_column - 1 < len ? branch->end_column - 1 : len;
    if (from >= to) { /* what a macro hides: its line says more than nothing */
        cover_line_text(out, map, file, branch);
        return;
    }
    (void)snprintf(out, COVER_TEXT_MAX, "%.*s", (int)(to - from), at + from);
}
