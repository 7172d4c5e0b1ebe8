/* SPDX-License-Identifier: Apache-2.0
 * cover_exceptions.c: the list of what a scenario does not reach in lib/, and whether it is true. Like the list of
 * planted bugs, it is only worth something if it cannot rot: a row that excuses nothing is as red as a side without
 * one.
 */
#include "cover.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define FIELDS 5

/* ---- the list ---- */

static bool wrong(const struct cover_exceptions *list, unsigned row, const char *expected)
{
    (void)fprintf(stderr, "paldiff: %s, line %u: expected %s\n", list->path, row, expected);
    return false;
}

/* split: at "; "; the last field takes the rest. */
static size_t split(char *line, char *fields[FIELDS])
{
    size_t num = 0;
    for (char *at = line; at != NULL && num < FIELDS;) {
        fields[num++] = at + strspn(at, " ");
        at = num < FIELDS ? strstr(at, "; ") : NULL;
        if (at != NULL) {
            *at = '\0';
            at += 2;
        }
    }
    for (size_t i = 0; i < num; i++) {
        size_t len = strlen(fields[i]);
        while (len > 0 && fields[i][len - 1] == ' ') {
            fields[i][--len] = '\0';
        }
    }
    return num;
}

/* add_tests: the names after "unit", each once in the list; the bits of those named here, 0 if one cannot be. */
static uint32_t add_tests(struct cover_exceptions *list, char *names)
{
    char *rest = NULL;
    uint32_t named = 0;
    for (char *name = strtok_r(names, " ", &rest); name != NULL; name = strtok_r(NULL, " ", &rest)) {
        size_t at = 0;
        while (at < list->num_tests && strcmp(list->tests[at], name) != 0) {
            at++;
        }
        if (at == list->num_tests) {
            char *copy = at < COVER_TESTS_MAX && strchr(name, '/') == NULL ? strdup(name) : NULL;
            if (copy == NULL) {
                return 0;
            }
            list->tests[list->num_tests++] = copy;
        }
        named |= UINT32_C(1) << at;
    }
    return named;
}

static bool fits(char *out, size_t cap, const char *text)
{
    int len = snprintf(out, cap, "%s", text);
    return len > 0 && (size_t)len < cap;
}

static bool add_row(struct cover_exceptions *list, unsigned row, char *line)
{
    char *fields[FIELDS];
    struct cover_exception one = {.row = row};
    void *all = list->rows;
    if (split(line, fields) != FIELDS) {
        return wrong(list, row, "KIND; PATH; CONDITION; SIDE; REASON");
    }
    if (strncmp(fields[0], "unit ", 5) == 0) {
        one.why = WHY_UNIT;
        one.tests = add_tests(list, fields[0] + 5);
        if (one.tests == 0) {
            return wrong(list, row, "names of tests after unit");
        }
    } else if (strcmp(fields[0], "never") == 0) {
        one.why = WHY_NEVER;
    } else if (strcmp(fields[0], "race") == 0) {
        one.why = WHY_RACE;
    } else {
        return wrong(list, row, "unit TEST..., never or race");
    }
    if (strcmp(fields[3], "true") != 0 && strcmp(fields[3], "false") != 0 && strcmp(fields[3], "*") != 0) {
        return wrong(list, row, "true, false or * as the side");
    }
    if ((one.why == WHY_NEVER || one.why == WHY_RACE) &&
        (strcmp(fields[2], "*") == 0 || strcmp(fields[3], "*") == 0 || strchr(fields[1], '\0')[-1] == '/')) {
        return wrong(list, row, "one side of one condition of one file: never and race take no *");
    }
    if (!fits(one.path, sizeof(one.path), fields[1]) || !fits(one.text, sizeof(one.text), fields[2]) ||
        !fits(one.side, sizeof(one.side), fields[3]) || !fits(one.reason, sizeof(one.reason), fields[4])) {
        return wrong(list, row, "no empty field, and none of more than 500 bytes");
    }
    if (!cover_room(&all, list->num, &list->cap, sizeof(one))) {
        return false;
    }
    list->rows = all;
    list->rows[list->num++] = one;
    return true;
}

bool cover_exceptions_read(struct cover_exceptions *out, const char *path)
{
    char *line = NULL;
    size_t cap = 0;
    FILE *file = fopen(path, "re");
    bool good = file != NULL;
    unsigned row = 1;
    memset(out, 0, sizeof(*out));
    (void)snprintf(out->path, sizeof(out->path), "%s", path);
    if (!good) {
        (void)fprintf(stderr, "paldiff: %s cannot be read: %s\n", path, strerror(errno));
    }
    for (; good && getline(&line, &cap, file) > 0; row++) {
        line[strcspn(line, "\n")] = '\0';
        if (line[0] != '\0' && line[0] != '#') {
            good = add_row(out, row, line);
        }
    }
    free(line);
    if (file != NULL) {
        (void)fclose(file);
    }
    return good;
}

void cover_exceptions_deinit(struct cover_exceptions *list)
{
    free(list->rows);
    for (size_t i = 0; i < list->num_tests; i++) {
        free(list->tests[i]);
    }
    memset(list, 0, sizeof(*list));
}

/* ---- the judge ---- */

__attribute__((format(printf, 3, 4))) static bool problem(struct cover_problems *out, const char *place,
                                                          const char *format, ...)
{
    void *all = out->all;
    va_list values;
    if (!cover_room(&all, out->num, &out->cap, sizeof(*out->all))) {
        return false;
    }
    out->all = all;
    struct cover_problem *one = &out->all[out->num++];
    (void)snprintf(one->place, sizeof(one->place), "%s", place);
    va_start(values, format);
    (void)vsnprintf(one->text, sizeof(one->text), format, values);
    va_end(values);
    return true;
}

static bool path_matches(const struct cover_exception *row, const char *path)
{
    size_t len = strlen(row->path);
    return row->path[len - 1] == '/' ? strncmp(path, row->path, len) == 0 : strcmp(path, row->path) == 0;
}

/* side_of: one side of a branch, and how a row may call it. */
struct side_of {
    const char *path;
    const char *text;
    const char *line;
    const char *side;
};

static struct cover_exception *row_of(struct cover_exceptions *list, const struct side_of *one)
{
    for (size_t i = 0; i < list->num; i++) {
        struct cover_exception *row = &list->rows[i];
        bool called =
            strcmp(row->text, "*") == 0 || strcmp(row->text, one->text) == 0 || strcmp(row->text, one->line) == 0;
        if (called && path_matches(row, one->path) && (row->side[0] == '*' || strcmp(row->side, one->side) == 0)) {
            return row;
        }
    }
    return NULL;
}

/* kind_of: how a row for a side begins that these tests reach. */
static void kind_of(char out[COVER_TEXT_MAX], const struct cover_exceptions *list, uint32_t tests)
{
    size_t len = (size_t)snprintf(out, COVER_TEXT_MAX, "%s", tests != 0 ? "unit" : "never");
    for (size_t i = 0; i < list->num_tests && len < COVER_TEXT_MAX; i++) {
        if ((tests >> i & 1) != 0) {
            len += (size_t)snprintf(out + len, COVER_TEXT_MAX - len, " %s", list->tests[i]);
        }
    }
}

static bool judge_side(struct cover_problems *out, struct cover_exceptions *list, const struct side_of *one,
                       const struct cover_branch *branch, bool value)
{
    char place[sizeof(out->all->place)];
    const char *side = one->side;
    char kind[COVER_TEXT_MAX];
    if (branch->corpus[value]) {
        return true;
    }
    (void)snprintf(place, sizeof(place), "%s:%u", one->path, branch->line);
    struct cover_exception *row = row_of(list, one);
    if (row == NULL) {
        kind_of(kind, list, branch->tests[value]);
        return problem(out, place,
                       "is never %s in the committed corpus: write a seed, or a row\n"
                       "      %s; %s; %s; %s; REASON",
                       side, kind, one->path, one->text, side);
    }
    row->num_sides++;
    row->useful |= branch->tests[value];
    if (row->why == WHY_UNIT && (branch->tests[value] & row->tests) == 0) {
        return problem(out, place, "%s is never %s, neither in the corpus nor in the tests that line %u names",
                       one->text, side, row->row);
    }
    if (row->why == WHY_NEVER && branch->tests[value] != 0) {
        return problem(out, place, "%s is %s in a test: line %u says that nothing reaches it; make it unit", one->text,
                       side, row->row);
    }
    return true;
}

/* judge_sources: a file that is in no object would be covered by silence. */
static bool judge_sources(struct cover_problems *out, const struct cover_map *map)
{
    char lib[PROGRAM_PATH_MAX + 8];
    char **files = NULL;
    size_t num = 0;
    (void)snprintf(lib, sizeof(lib), "%s/lib", map->root);
    bool good = tool_files(lib, &files, &num);
    for (size_t i = 0; good && i < num; i++) {
        const char *path = files[i] + strlen(map->root) + 1;
        size_t len = strlen(path);
        bool source = len > 2 && strcmp(path + len - 2, ".c") == 0 && strstr(path, "_test.c") == NULL;
        if (!source || cover_map_find(map, path) != NULL) {
            continue;
        }
        good = problem(out, path, "no program of the coverage build has it");
    }
    tool_files_free(files, num);
    return good;
}

/* judge_row: after all sides. */
static bool judge_row(struct cover_problems *out, const struct cover_exceptions *list,
                      const struct cover_exception *row)
{
    bool good = true;
    if (row->num_sides == 0) {
        return problem(out, row->path,
                       "line %u of the exceptions excuses nothing: `%s` (%s) is reached now, or is not there", row->row,
                       row->text, row->side);
    }
    for (size_t i = 0; good && i < list->num_tests; i++) {
        if ((row->tests & ~row->useful & UINT32_C(1) << i) != 0) {
            good = problem(out, row->path, "line %u of the exceptions names %s, which reaches none of its sides",
                           row->row, list->tests[i]);
        }
    }
    return good;
}

bool cover_judge(struct cover_problems *out, struct cover_exceptions *list, const struct cover_map *map)
{
    char text[COVER_TEXT_MAX];
    char line[COVER_TEXT_MAX];
    bool good = true;
    for (size_t f = 0; f < map->num_files; f++) {
        struct cover_file *file = &map->files[f];
        for (size_t b = 0; good && b < file->num_branches; b++) {
            cover_branch_text(text, map, file, &file->branches[b]);
            cover_line_text(line, map, file, &file->branches[b]);
            const struct side_of yes = {file->path, text, line, "true"};
            const struct side_of no = {file->path, text, line, "false"};
            good = judge_side(out, list, &yes, &file->branches[b], true) &&
                   judge_side(out, list, &no, &file->branches[b], false);
        }
    }
    good = good && judge_sources(out, map);
    for (size_t i = 0; good && i < list->num; i++) {
        good = judge_row(out, list, &list->rows[i]);
    }
    return good;
}
