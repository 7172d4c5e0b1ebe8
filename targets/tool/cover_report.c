/* SPDX-License-Identifier: Apache-2.0
 * cover_report.c: what `paldiff cover` found out, for people and for machines.
 */
#include "cover.h"

#include <cjson/cJSON.h>
#include <string.h>

static double percent(struct cover_count count)
{
    return count.of > 0 ? 100.0 * (double)count.num / (double)count.of : 100.0;
}

static void add(struct cover_count *sum, struct cover_count count)
{
    sum->num += count.num;
    sum->of += count.of;
}

static void print_row(FILE *out, const char *name, struct cover_count regions, struct cover_count branches)
{
    (void)fprintf(out, "%-34s %6zu of %6zu %5.1f%%  %6zu of %6zu %5.1f%%\n", name, regions.num, regions.of,
                  percent(regions), branches.num, branches.of, percent(branches));
}

static void print_missing(void *context, const char *before, const char *next, const char *result, bool in_corpus)
{
    if (!in_corpus) {
        (void)fprintf(context, "  not in the corpus: %s, then %s: %s\n", before, next, result);
    }
}

static void engine_sums(const struct cover_engine *engine, struct cover_count *regions, struct cover_count *branches)
{
    *regions = (struct cover_count){0};
    *branches = (struct cover_count){0};
    for (size_t i = 0; i < engine->num_files; i++) {
        add(regions, engine->files[i].regions);
        add(branches, engine->files[i].branches);
    }
}

static size_t excused(const struct cover *cover, enum cover_why why)
{
    size_t num = 0;
    for (size_t i = 0; i < cover->exceptions.num; i++) {
        num += cover->exceptions.rows[i].why == why ? cover->exceptions.rows[i].num_sides : 0;
    }
    return num;
}

void cover_print(FILE *out, const struct cover *cover)
{
    struct cover_count regions = {0};
    struct cover_count branches = {0};
    (void)fprintf(out, "%-34s %16s %6s  %16s %6s\n", "by the committed corpus", "regions", "", "branch sides", "");
    for (size_t i = 0; i < cover->map.num_files; i++) {
        const struct cover_file *file = &cover->map.files[i];
        add(&regions, cover_file_regions(file));
        add(&branches, cover_file_branches(file));
        if (file->num_regions > 0) {
            print_row(out, file->path, cover_file_regions(file), cover_file_branches(file));
        }
    }
    print_row(out, "lib/", regions, branches);
    for (size_t i = 0; i < cover->num_engines; i++) {
        char name[64];
        (void)snprintf(name, sizeof(name), "%s, %zu files touched", cover->engines[i].name,
                       cover->engines[i].num_files);
        engine_sums(&cover->engines[i], &regions, &branches);
        print_row(out, name, regions, branches);
    }
    for (size_t i = 0; i < cover->num_pairs; i++) {
        struct cover_count total = cover_pairs_total(&cover->pairs[i]);
        (void)fprintf(out,
                      "\n%s: %zu of %zu (operation before, operation, result) that corpus and random inputs reach\n",
                      cover->pairs[i].target->name, total.num, total.of);
        cover_pairs_each(&cover->pairs[i], out, print_missing);
    }
    if (!cover->gated) {
        (void)fputs("\nnot judged: only some targets were played\n", out);
        return;
    }
    (void)fputc('\n', out);
    for (size_t i = 0; i < cover->problems.num; i++) {
        (void)fprintf(out, "%s: %s\n", cover->problems.all[i].place, cover->problems.all[i].text);
    }
    (void)fprintf(out,
                  "%s: sides of lib/ that the corpus does not reach: %zu are unit tests', %zu are threads' that "
                  "meet, %zu cannot be reached; %zu problems\n",
                  cover->problems.num == 0 ? "held" : "broken", excused(cover, WHY_UNIT), excused(cover, WHY_RACE),
                  excused(cover, WHY_NEVER), cover->problems.num);
}

/* ---- JSON ---- */

static void add_count(cJSON *object, const char *name, struct cover_count count)
{
    cJSON *row = cJSON_AddObjectToObject(object, name);
    (void)cJSON_AddNumberToObject(row, "covered", (double)count.num);
    (void)cJSON_AddNumberToObject(row, "count", (double)count.of);
}

static cJSON *add_row(cJSON *rows, const char *name, const char *text)
{
    cJSON *row = cJSON_CreateObject();
    (void)cJSON_AddStringToObject(row, name, text);
    (void)cJSON_AddItemToArray(rows, row);
    return row;
}

static void add_lib(cJSON *report, const struct cover *cover)
{
    struct cover_count regions = {0};
    struct cover_count branches = {0};
    cJSON *lib = cJSON_AddObjectToObject(report, "lib");
    cJSON *files = cJSON_AddArrayToObject(lib, "files");
    for (size_t i = 0; i < cover->map.num_files; i++) {
        const struct cover_file *file = &cover->map.files[i];
        cJSON *row = add_row(files, "path", file->path);
        add_count(row, "regions", cover_file_regions(file));
        add_count(row, "branches", cover_file_branches(file));
        add(&regions, cover_file_regions(file));
        add(&branches, cover_file_branches(file));
    }
    add_count(lib, "regions", regions);
    add_count(lib, "branches", branches);
}

static void add_engines(cJSON *report, const struct cover *cover)
{
    cJSON *engines = cJSON_AddArrayToObject(report, "engines");
    for (size_t i = 0; i < cover->num_engines; i++) {
        const struct cover_engine *engine = &cover->engines[i];
        struct cover_count regions;
        struct cover_count branches;
        cJSON *row = add_row(engines, "name", engine->name);
        engine_sums(engine, &regions, &branches);
        add_count(row, "regions", regions);
        add_count(row, "branches", branches);
        cJSON *files = cJSON_AddArrayToObject(row, "files");
        for (size_t f = 0; f < engine->num_files; f++) {
            cJSON *file = add_row(files, "path", cover_engine_path(engine, f));
            add_count(file, "regions", engine->files[f].regions);
            add_count(file, "branches", engine->files[f].branches);
        }
    }
}

static void add_exceptions(cJSON *report, const struct cover *cover)
{
    static const char *const names[] = {"unit", "never", "race"};
    cJSON *rows = cJSON_AddArrayToObject(report, "exceptions");
    for (size_t i = 0; i < cover->exceptions.num; i++) {
        const struct cover_exception *one = &cover->exceptions.rows[i];
        cJSON *row = add_row(rows, "kind", names[one->why]);
        (void)cJSON_AddStringToObject(row, "path", one->path);
        (void)cJSON_AddStringToObject(row, "condition", one->text);
        (void)cJSON_AddStringToObject(row, "side", one->side);
        (void)cJSON_AddStringToObject(row, "reason", one->reason);
        (void)cJSON_AddNumberToObject(row, "sides", (double)one->num_sides);
    }
    rows = cJSON_AddArrayToObject(report, "problems");
    for (size_t i = 0; i < cover->problems.num; i++) {
        cJSON *row = add_row(rows, "place", cover->problems.all[i].place);
        (void)cJSON_AddStringToObject(row, "text", cover->problems.all[i].text);
    }
}

static void add_pair(void *context, const char *before, const char *next, const char *result, bool in_corpus)
{
    cJSON *row = add_row(context, "before", before);
    (void)cJSON_AddStringToObject(row, "next", next);
    (void)cJSON_AddStringToObject(row, "result", result);
    (void)cJSON_AddBoolToObject(row, "in_corpus", in_corpus);
}

struct cJSON *cover_json(const struct cover *cover)
{
    cJSON *report = cJSON_CreateObject();
    bool held = cover->problems.num == 0;
    (void)cJSON_AddStringToObject(report, "verdict", !cover->gated ? "not-judged" : held ? "held" : "broken");
    cJSON *played = cJSON_AddArrayToObject(report, "targets");
    for (size_t i = 0; i < cover->num_targets; i++) {
        (void)cJSON_AddItemToArray(played, cJSON_CreateString(cover->chosen[i]->name));
    }
    add_lib(report, cover);
    add_engines(report, cover);
    add_exceptions(report, cover);
    cJSON *machines = cJSON_AddArrayToObject(report, "machines");
    for (size_t i = 0; i < cover->num_pairs; i++) {
        cJSON *row = add_row(machines, "target", cover->pairs[i].target->name);
        add_count(row, "pairs", cover_pairs_total(&cover->pairs[i]));
        cover_pairs_each(&cover->pairs[i], cJSON_AddArrayToObject(row, "all"), add_pair);
    }
    return report;
}
