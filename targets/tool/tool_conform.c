/* SPDX-License-Identifier: Apache-2.0
 * tool_conform.c: options of `paldiff conform`, what a certificate takes, and the exit code.
 */
#include "conform.h"
#include "kill.h"
#include "poison.h"
#include "run.h"
#include "tool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define EVIDENCE_MAX 8u

enum {
    KEY_PORT = 'p',
    KEY_SHIM = 'S',
    KEY_AS_PROCESS = 'A',
    KEY_LEVEL = 'l',
    KEY_WAIVERS = 'w',
    KEY_REPORT = 'r',
    KEY_BASELINE = 'b',
    KEY_WRITE_BASELINE = 'B',
    KEY_EVIDENCE = 'e',
    KEY_SEED = 's',
    KEY_GENERATE = 'g',
    KEY_SECONDS = 't',
    KEY_MEGABYTES = 'm',
    KEY_TODAY = 'd',
    KEY_PAGES = 'P',
    KEY_JSON = 'J'
};

struct options {
    const char *port;
    const char *shim;
    bool as_process;
    const char *waivers;
    const char *report;
    const char *baseline;
    const char *write_baseline;
    const char *today;
    const char *pages;
    size_t num_evidence;
    const char *evidence[EVIDENCE_MAX];
    enum conform_level level;
    uint64_t seed;
    uint64_t generate;
    uint64_t seconds;
    uint64_t megabytes;
    bool json;
};

static enum conform_level level_of(struct argp_state *state, const char *name)
{
    for (size_t i = 0; i < NUM_LEVELS; i++) {
        if (strcmp(conform_level_names[i], name) == 0) {
            return (enum conform_level)i;
        }
    }
    argp_error(state, "--level takes smoke, core, full or certify, not %s", name);
    return LEVEL_SMOKE;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct options *options = state->input;
    switch (key) {
    case KEY_PORT:
        options->port = argument;
        return 0;
    case KEY_SHIM:
        options->shim = argument;
        return 0;
    case KEY_AS_PROCESS:
        options->as_process = true;
        return 0;
    case KEY_LEVEL:
        options->level = level_of(state, argument);
        return 0;
    case KEY_WAIVERS:
        options->waivers = argument;
        return 0;
    case KEY_REPORT:
        options->report = argument;
        return 0;
    case KEY_BASELINE:
        options->baseline = argument;
        return 0;
    case KEY_WRITE_BASELINE:
        options->write_baseline = argument;
        return 0;
    case KEY_EVIDENCE:
        if (options->num_evidence == EVIDENCE_MAX) {
            argp_error(state, "--evidence is given too often");
        }
        options->evidence[options->num_evidence++ % EVIDENCE_MAX] = argument;
        return 0;
    case KEY_SEED:
        options->seed = tool_number(state, "--seed", argument, 0, UINT32_MAX);
        return 0;
    case KEY_GENERATE:
        options->generate = tool_number(state, "--generate", argument, 0, 100000000);
        return 0;
    case KEY_SECONDS:
        options->seconds = tool_number(state, "--seconds", argument, 1, 3600);
        return 0;
    case KEY_MEGABYTES:
        options->megabytes = tool_number(state, "--megabytes", argument, 64, 1u << 20);
        return 0;
    case KEY_TODAY:
        options->today = argument;
        return 0;
    case KEY_PAGES:
        options->pages = argument;
        return 0;
    case KEY_JSON:
        options->json = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* ---- certificates --------------------------------------------------------------------------------------------------
 */

/* is_lacking: something that was declared and is not there: a table that answers "unsupported". */
static const char *is_lacking(const struct conform *conform)
{
    for (size_t i = 0; i < conform->num_tallies; i++) {
        if (conform->tallies[i].declared && conform->tallies[i].num_lacking > 0) {
            return conform->tallies[i].lacking[0];
        }
    }
    return NULL;
}

/* certify: why this is no certificate, into conform->refused. The builds without a sanitizer, with ASan and with MSan
 * have to be there: one is this run, the others are reports. */
static void certify(struct conform *conform, const struct options *options)
{
    static const char *const wanted[] = {"none", "address", "memory"};
    bool present[3] = {false};
    char sanitizer[32];
    const char *lacking = is_lacking(conform);
    if (conform->source.process) {
        (void)snprintf(conform->refused, sizeof(conform->refused),
                       "it takes the port's memory to be seen, which another process does not show");
        return;
    }
    for (size_t i = 0; i < 3; i++) {
        present[i] = strcmp(PALDIFF_SANITIZER, wanted[i]) == 0;
    }
    for (size_t e = 0; e < options->num_evidence; e++) {
        bool good = conform_evidence(conform, options->evidence[e], sanitizer, conform->refused);
        for (size_t i = 0; good && i < 3; i++) {
            present[i] |= strcmp(sanitizer, wanted[i]) == 0;
        }
    }
    if (lacking != NULL) {
        (void)snprintf(conform->refused, sizeof(conform->refused), "%s is declared but unsupported", lacking);
    }
    for (size_t i = 0; i < 3 && conform->refused[0] == '\0'; i++) {
        if (!present[i]) {
            (void)snprintf(conform->refused, sizeof(conform->refused),
                           "no report of a build with sanitizer %s (--evidence DIR/conform.json)", wanted[i]);
        }
    }
}

/* ---- running -------------------------------------------------------------------------------------------------------
 */

static int exit_code(const struct conform *conform)
{
    if (conform->failed || conform->num_caught < conform->num_planted) {
        return EXIT_SUITE;
    }
    if (conform_is_red(conform)) {
        return EXIT_BROKEN;
    }
    return conform_plays(conform) == 0 ? EXIT_NOTHING_RAN : EXIT_HELD;
}

/* tell: the verdict, in all its forms. */
static int tell(struct conform *conform, const struct options *options)
{
    int result = exit_code(conform);
    if (!conform->files_only && !conform_write(conform) && result != EXIT_BROKEN) {
        result = EXIT_SUITE;
    }
    if (options->json) {
        return tool_print_json(conform_json(conform)) || result == EXIT_BROKEN ? result : EXIT_SUITE;
    }
    conform_print(stdout, conform);
    if (!conform->files_only) {
        (void)printf("\nreport: %s/conform.json, conform.junit.xml, verdict.txt\n%s\n", hint_path(conform->report),
                     conform_verdict(conform));
    }
    return result;
}

static int run(struct conform *conform, const struct options *options)
{
    int result = EXIT_HELD;
    if (options->waivers != NULL) {
        result = conform_waivers_read(&conform->waivers, options->waivers, conform->today);
    }
    if (result == EXIT_HELD && options->level == LEVEL_CERTIFY && conform->waivers.num > 0) {
        result = tool_usage("a certificate takes no waivers");
    }
    if (result != EXIT_HELD) {
        return result;
    }
    if (!conform_run(conform)) {
        return EXIT_SUITE;
    }
    if (options->level == LEVEL_CERTIFY) {
        certify(conform, options);
    }
    if (options->baseline != NULL && !conform_baseline_check(conform, options->baseline)) {
        return EXIT_USAGE;
    }
    if (options->write_baseline != NULL && !conform_baseline_write(conform, options->write_baseline)) {
        return EXIT_SUITE;
    }
    result = tell(conform, options);
    int unused = conform_waivers_unused(&conform->waivers);
    return unused != EXIT_HELD ? unused : result;
}

/* name_tool: the commands that are printed begin with this program, unless something in front of it said otherwise. */
static void name_tool(void)
{
    static char command[HINT_MAX];
    char path[CONFORM_PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);
    if (len > 0) {
        path[len] = '\0';
        hint_add(command, "", hint_path(path));
        (void)setenv("PALDIFF_COMMAND", command, 0);
    }
}

static const struct argp_option rows[] = {
    {"port", KEY_PORT, "FILE", 0, "the port: a shared object that exports pal_port_get", 0},
    {"shim", KEY_SHIM, "COMMAND", 0, "the port: a process that speaks the protocol of share/paldiff/PROTOCOL.md", 0},
    {"as-process", KEY_AS_PROCESS, NULL, 0, "judge --port by no more than what a shim would show", 0},
    {"level", KEY_LEVEL, "LEVEL", 0,
     "smoke: the corpus; core: and 100 made-up scenarios a target; full (the default): 1000; certify: 5000, no "
     "waivers, "
     "every sanitizer",
     0},
    {"waivers", KEY_WAIVERS, "FILE", 0, "what may fail: lines RULE LAST-DAY REASON", 0},
    {"report", KEY_REPORT, "DIR", 0, "where the reports go (paldiff-conform)", 0},
    {"baseline", KEY_BASELINE, "FILE", 0, "red if less runs than the file says", 0},
    {"write-baseline", KEY_WRITE_BASELINE, "FILE", 0, "write how much ran", 0},
    {"evidence", KEY_EVIDENCE, "FILE", 0, "conform.json of a full run in another build, for a certificate", 0},
    {"seed", KEY_SEED, "N", 0, "of the made-up scenarios (1)", 0},
    {"generate", KEY_GENERATE, "N", 0, "made-up scenarios a target, instead of the level's", 0},
    {"seconds", KEY_SECONDS, "N", 0, "for one scenario (5; 25 with a sanitizer)", 0},
    {"megabytes", KEY_MEGABYTES, "N", 0, "that the port's process may hold (2048)", 0},
    {"today", KEY_TODAY, "DAY", 0, "the day that waivers are held against, 2026-12-31 (for tests)", 0},
    {"pages", KEY_PAGES, "DIR", 0, "write a page for each rule, and play nothing", 0},
    {"json", KEY_JSON, NULL, 0, "the report on standard output", 0},
    {0}};

int tool_conform(int argc, char **argv)
{
    static const struct argp argp = {
        .options = rows,
        .parser = parse,
        .args_doc = "[INPUT...]",
        .doc = "Holds somebody else's port against the contract. With inputs, plays just those. "
               "Example: paldiff conform --port ./libmyport.so --level core"};
    static struct conform conform;
    static char today[CONFORM_DAY_MAX];
    struct options options = {.report = "paldiff-conform",
                              .level = LEVEL_FULL,
                              .seed = 1,
                              .generate = UINT64_MAX,
                              .seconds = strcmp(PALDIFF_SANITIZER, "none") == 0 ? 5 : 25,
                              .megabytes = 2048};
    int first = tool_parse(&argp, argc, argv, &options);
    if (options.pages != NULL) {
        return conform_write_pages(options.pages) ? EXIT_HELD : EXIT_SUITE;
    }
    if ((options.port == NULL) == (options.shim == NULL)) {
        return tool_usage("conform needs --port FILE or --shim COMMAND");
    }
    if (options.today != NULL && !conform_is_day(options.today)) {
        return tool_usage("--today takes a day like 2026-12-31, not %s", options.today);
    }
    char *file = options.port != NULL ? realpath(options.port, NULL) : NULL;
    if (options.port != NULL && file == NULL) {
        return tool_usage("%s cannot be read: %s", options.port, strerror(errno));
    }
    name_tool();
    conform.source = (struct conform_source){file, options.shim, options.shim != NULL || options.as_process};
    conform.limits = (struct conform_limits){(unsigned)options.seconds, (unsigned)options.megabytes};
    conform.level = options.level;
    conform.seed = options.seed;
    conform.generate = options.generate;
    conform.today = options.today != NULL ? options.today : conform_today(today);
    conform.note = kill_shared(sizeof(*conform.note));
    int result = conform.note != NULL && run_path(conform.report, "%s", options.report) ? EXIT_HELD : EXIT_SUITE;
    if (result == EXIT_HELD && first < argc) {
        result = conform_play_files(&conform, (size_t)(argc - first), argv + first);
        result = result == EXIT_HELD ? tell(&conform, &options) : result;
    } else if (result == EXIT_HELD) {
        result = run(&conform, &options);
    }
    free(conform.rows);
    free(file);
    return result;
}
