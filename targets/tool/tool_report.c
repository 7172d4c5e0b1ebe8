/* SPDX-License-Identifier: Apache-2.0
 * tool_report.c: the command: one page from what the last runs left. It runs nothing but `paldiff show` on findings,
 * and makes nothing up: an input that is not there is said to be missing.
 */
#include "report.h"
#include "run.h"
#include "tool.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { KEY_REPORT = 'r', KEY_OUT = 'o' };

struct options {
    const char *report;
    const char *out; /* NULL: report.html in the report folder */
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct options *options = state->input;
    switch (key) {
    case KEY_REPORT:
        options->report = argument;
        return 0;
    case KEY_OUT:
        options->out = argument;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

#define NUM_SECTIONS 4

static const struct report_section known_sections[NUM_SECTIONS] = {
    {"Fuzzing", "fuzz.json", "ci/run fuzz", report_fuzz_standing, report_fuzz, NULL, ""},
    {"Planted bugs", "mutants.json", "ci/run paldiff mutants --json > build/report/mutants.json",
     report_mutants_standing, report_mutants, NULL, ""},
    {"Coverage", "cover.json", "ci/run paldiff cover", report_cover_standing, report_cover, NULL, ""},
    {"Speed", "bench.json", "ci/run bench --plots build/report/plots --json > build/report/bench.json",
     report_bench_standing, report_bench, NULL, ""},
};

/* open_section: false, with a line on stderr, when its file is there but cannot be read. */
static bool open_section(struct report_section *section, const char *dir)
{
    char path[PROGRAM_PATH_MAX];
    bool missing = false;
    struct stat about;
    struct tm when;
    if (!run_path(path, "%s/%s", dir, section->file)) {
        return false;
    }
    section->json = json_read(path, &missing);
    if (section->json != NULL && stat(path, &about) == 0 && localtime_r(&about.st_mtim.tv_sec, &when) != NULL) {
        (void)strftime(section->date, sizeof(section->date), "%Y-%m-%d %H:%M", &when);
    }
    return section->json != NULL || missing;
}

static enum report_standing standing_of(const struct report_section *section, char *out, size_t cap)
{
    if (section->json == NULL) {
        (void)snprintf(out, cap, "not run");
        return STANDING_MISSING;
    }
    return section->standing(section->json, out, cap);
}

static void write_summary(FILE *page, const struct report_section sections[])
{
    static const char *const words[] = {"broken", "incomplete", "held"};
    static const char *const kinds[] = {"bad", "some", "good"};
    enum report_standing worst = STANDING_HELD;
    char text[512];
    for (size_t i = 0; i < NUM_SECTIONS; i++) {
        enum report_standing standing = standing_of(&sections[i], text, sizeof(text));
        worst = standing < worst ? standing : worst;
    }
    (void)fprintf(page, "<h1>paldiff: <span class=\"%s\">%s</span></h1>\n<div class=\"cards\">\n", kinds[worst],
                  words[worst]);
    for (size_t i = 0; i < NUM_SECTIONS; i++) {
        enum report_standing standing = standing_of(&sections[i], text, sizeof(text));
        (void)fprintf(page, "<div class=\"card\"><a href=\"#section%zu\">", i + 1);
        html_text(page, sections[i].title);
        (void)fprintf(page, "</a><br><span class=\"%s\">", kinds[standing]);
        html_text(page, text);
        (void)fputs("</span><br><span class=\"quiet\">", page);
        html_text(page, sections[i].json != NULL ? sections[i].date : "no file");
        (void)fputs("</span></div>\n", page);
    }
    (void)fputs("</div>\n", page);
}

static void write_sections(FILE *page, const struct report_section sections[], const char *dir)
{
    for (size_t i = 0; i < NUM_SECTIONS; i++) {
        const struct report_section *section = &sections[i];
        (void)fprintf(page, "<h2 id=\"section%zu\">", i + 1);
        html_text(page, section->title);
        (void)fputs("</h2>\n", page);
        if (section->json != NULL) {
            section->write(page, section->json, dir);
            continue;
        }
        (void)fputs("<p class=\"some\">", page);
        html_format(page, "Missing: %s is not there. It is made by", section->file);
        (void)fputs("</p>\n<pre>", page);
        html_text(page, section->command);
        (void)fputs("</pre>\n", page);
    }
}

static bool write_page(const char *path, const struct report_section sections[], const char *dir)
{
    char part[PROGRAM_PATH_MAX];
    FILE *page = run_path(part, "%s.part", path) ? fopen(part, "we") : NULL;
    bool good = page != NULL;
    if (good) {
        html_head(page, "paldiff report");
        write_summary(page, sections);
        write_sections(page, sections, dir);
        html_foot(page);
        good = ferror(page) == 0;
        good = fclose(page) == 0 && good && rename(part, path) == 0;
    }
    if (!good) {
        (void)fprintf(stderr, "paldiff: %s cannot be written: %s\n", path, strerror(errno));
    }
    return good;
}

int tool_report(int argc, char **argv)
{
    static const struct argp_option rows[] = {
        {"out", KEY_OUT, "FILE", 0, "the page (report.html in the report folder)", 0},
        {"report", KEY_REPORT, "DIR", 0, "where the JSON of the last runs is (build/report)", 0},
        {0}};
    static const struct argp argp = {
        .options = rows,
        .parser = parse,
        .doc = "Writes one page, without a network and for any screen, from fuzz.json, mutants.json, cover.json and "
               "bench.json: verdict, targets, findings with what `show` says of them, the matrix of planted bugs and "
               "rules, coverage, speed. Example: paldiff report --out report.html"};
    struct options options = {.report = PALDIFF_CORPUS_DIR "/../build/report"};
    struct report_section sections[NUM_SECTIONS];
    char dir[PROGRAM_PATH_MAX];
    char path[PROGRAM_PATH_MAX];
    size_t found = 0;
    if (tool_parse(&argp, argc, argv, &options) < argc) {
        return tool_usage("report takes options only");
    }
    if (realpath(options.report, dir) == NULL) {
        (void)snprintf(dir, sizeof(dir), "%s", options.report);
    }
    memcpy(sections, known_sections, sizeof(sections));
    bool good = options.out != NULL ? run_path(path, "%s", options.out) : run_path(path, "%s/report.html", dir);
    for (size_t i = 0; i < NUM_SECTIONS; i++) {
        good = open_section(&sections[i], dir) && good;
        found += sections[i].json != NULL ? 1 : 0;
    }
    int result = EXIT_SUITE;
    if (good && found == 0) {
        (void)fprintf(stderr,
                      "paldiff: nothing to report: %s has no fuzz.json, mutants.json, cover.json or bench.json\n", dir);
        result = EXIT_NOTHING_RAN;
    } else if (good && write_page(path, sections, dir)) {
        (void)puts(path);
        result = EXIT_HELD;
    }
    for (size_t i = 0; i < NUM_SECTIONS; i++) {
        cJSON_Delete(sections[i].json);
    }
    return result;
}
