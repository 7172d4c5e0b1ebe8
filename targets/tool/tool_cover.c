/* SPDX-License-Identifier: Apache-2.0
 * tool_cover.c: the command: what the committed corpus reaches of lib/ and of the engines, and whether everything that
 * it does not reach has a reason. Figures of single targets are told, not judged.
 */
#include "cover.h"
#include "run.h"

#include <assert.h>
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_BUILD = 'b', KEY_REPORT = 'r', KEY_JSON = 'j', KEY_NO_HTML = 'n', KEY_EXCEPTIONS = 'x', KEY_EXPLORE = 'e' };

struct options {
    const char *build;
    const char *report;
    const char *exceptions; /* NULL: the source tree's */
    uint64_t explore;
    bool json;
    bool no_html;
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct options *options = state->input;
    char *end = NULL;
    switch (key) {
    case KEY_BUILD:
        options->build = argument;
        return 0;
    case KEY_REPORT:
        options->report = argument;
        return 0;
    case KEY_EXCEPTIONS:
        options->exceptions = argument;
        return 0;
    case KEY_EXPLORE:
        options->explore = strtoull(argument, &end, 10);
        if (*argument == '\0' || *end != '\0') {
            argp_error(state, "--explore takes a number");
        }
        return 0;
    case KEY_JSON:
        options->json = true;
        return 0;
    case KEY_NO_HTML:
        options->no_html = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* choose: false, with a line on stderr, for a target that is not there. */
static bool choose(struct cover *cover, int num, char *const names[])
{
    assert(num_targets <= COVER_TARGETS_MAX);
    cover->gated = num == 0;
    for (size_t i = 0; num == 0 && i < num_targets; i++) {
        cover->chosen[cover->num_targets++] = targets[i];
    }
    for (int i = 0; i < num; i++) {
        const struct target *target = target_find(names[i]);
        if (target == NULL) {
            (void)tool_usage("there is no target %s; `paldiff list` names them", names[i]);
            return false;
        }
        bool twice = false;
        for (size_t before = 0; before < cover->num_targets; before++) {
            twice = twice || cover->chosen[before] == target;
        }
        if (!twice) {
            cover->chosen[cover->num_targets++] = target;
        }
    }
    return true;
}

/* is_machine: whether what an operation does depends on the one before it by way of something kept. */
static bool is_machine(const struct target *target)
{
    static const char *const names[] = {"hmac", "aead", "pool"};
    bool found = false;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        found = found || strcmp(target->name, names[i]) == 0;
    }
    return found;
}

static bool count_pairs(struct cover *cover, uint64_t explore)
{
    bool good = true;
    cover->pairs = calloc(cover->num_targets + 1, sizeof(*cover->pairs));
    for (size_t i = 0; good && cover->pairs != NULL && i < cover->num_targets; i++) {
        if (is_machine(cover->chosen[i])) {
            good = cover_pairs_count(&cover->pairs[cover->num_pairs++], cover->chosen[i], explore);
        }
    }
    return good && cover->pairs != NULL;
}

/* read_list: before anything is played, because a wrong row is said at once. */
static bool read_list(struct cover *cover, const struct cover_tools *tools, const struct options *options)
{
    char path[PROGRAM_PATH_MAX];
    bool named = options->exceptions != NULL;
    return run_path(path, "%s%s", named ? options->exceptions : tools->root, named ? "" : "/ci/coverage-exceptions") &&
           cover_exceptions_read(&cover->exceptions, path);
}

static bool judge(struct cover *cover, const struct cover_tools *tools)
{
    struct cover_exceptions *list = &cover->exceptions;
    bool good = true;
    for (size_t i = 0; good && i < list->num_tests; i++) {
        good = cover_test(tools, list->tests[i]) && cover_load(&cover->map, tools, list->tests[i], UINT32_C(1) << i);
    }
    return good && cover_judge(&cover->problems, list, &cover->map);
}

/* measure: false, with a line on stderr, when something could not be done. */
static bool measure(struct cover *cover, const struct cover_tools *tools, const struct options *options,
                    const char *pages)
{
    bool good = (!cover->gated || read_list(cover, tools, options)) &&
                cover_play(tools, cover->num_targets, cover->chosen) &&
                cover_load(&cover->map, tools, "corpus", COVER_CORPUS);
    cover->num_engines = good ? cover_load_engines(cover->engines, tools) : 0;
    good = cover->num_engines > 0 && (!cover->gated || judge(cover, tools)) && count_pairs(cover, options->explore);
    return good && (options->no_html || cover_html(tools, pages, cover->num_engines, cover->engines));
}

static int tell(const struct cover *cover, const struct options *options, const char *report, const char *pages)
{
    char path[PROGRAM_PATH_MAX];
    struct cJSON *json = cover_json(cover);
    bool good = json != NULL && run_path(path, "%s/cover.json", report) && json_write(path, json);
    cover_print(options->json ? stderr : stdout, cover);
    (void)fflush(stdout);
    if (good) {
        (void)fprintf(stderr, "written: %s", path);
        if (!options->no_html) {
            (void)fprintf(stderr, ", %s/lib/index.html", pages);
        }
        (void)fputc('\n', stderr);
    }
    if (options->json) {
        good = tool_print_json(json) && good;
    } else {
        cJSON_Delete(json);
    }
    return !good ? EXIT_SUITE : cover->problems.num > 0 ? EXIT_BROKEN : EXIT_HELD;
}

static int cover_all(struct cover *cover, const struct options *options)
{
    char report[PROGRAM_PATH_MAX];
    char work[PROGRAM_PATH_MAX];
    char pages[PROGRAM_PATH_MAX];
    struct cover_tools *tools = calloc(1, sizeof(*tools));
    int result = EXIT_SUITE;
    if (tools != NULL && run_make_dir(options->report) && realpath(options->report, report) != NULL &&
        run_path(work, "%s/profiles", report) && run_path(pages, "%s/cover", report) && run_make_dir(work) &&
        cover_tools_find(tools, options->build, work) && measure(cover, tools, options, pages)) {
        result = tell(cover, options, report, pages);
    }
    free(tools);
    return result;
}

int tool_cover(int argc, char **argv)
{
    static const struct argp_option rows[] = {
        {"build", KEY_BUILD, "DIR", 0, "the coverage build (build/coverage)", 0},
        {"report", KEY_REPORT, "DIR", 0, "for cover.json and cover/, the sources as pages (build/report)", 0},
        {"exceptions", KEY_EXCEPTIONS, "FILE", 0, "what the corpus need not reach (ci/coverage-exceptions)", 0},
        {"explore", KEY_EXPLORE, "N", 0, "random inputs that show which pairs of operations can be (20000)", 0},
        {"no-html", KEY_NO_HTML, NULL, 0, "no pages", 0},
        {"json", KEY_JSON, NULL, 0, "cover.json on standard output, words on stderr", 0},
        {0}};
    static const struct argp argp = {
        .options = rows,
        .parser = parse,
        .args_doc = "[TARGET...]",
        .doc =
            "Says what the committed corpus reaches: regions and branches of lib/ and of each engine's touched files, "
            "and which operation came after which other with which result. A branch of lib/ that it does not reach "
            "must have a row with a reason; a row that is not true is an error. With targets named it only tells. "
            "Example: paldiff cover hmac aead"};
    struct options options = {.build = PALDIFF_CORPUS_DIR "/../build/coverage",
                              .report = PALDIFF_CORPUS_DIR "/../build/report",
                              .explore = 20000};
    struct cover cover = {0};
    int first = tool_parse(&argp, argc, argv, &options);
    int result = choose(&cover, argc - first, argv + first) ? cover_all(&cover, &options) : EXIT_USAGE;
    cover_map_deinit(&cover.map);
    cover_exceptions_deinit(&cover.exceptions);
    for (size_t i = 0; i < cover.num_engines; i++) {
        cover_engine_deinit(&cover.engines[i]);
    }
    free(cover.problems.all);
    free(cover.pairs);
    return result;
}
