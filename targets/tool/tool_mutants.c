/* SPDX-License-Identifier: Apache-2.0
 * tool_mutants.c: the command: which mutants, by replay or by fuzzing too, what is written, and the exit code.
 * kill.h says who does the work.
 */
#include "kill.h"
#include "poison.h"
#include "run.h"
#include "tool.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    KEY_JSON = 'J',
    KEY_LIST = 'l',
    KEY_STRYKER = 'y',
    KEY_FUZZ = 'f',
    KEY_TRIALS = 't',
    KEY_SEED = 's',
    KEY_FROM_EMPTY = 'e',
    KEY_PLAIN = 'p',
    KEY_BUILD = 'b',
    KEY_REPORT = 'r',
    KEY_CONTROLS = 'c',
    KEY_OPERATIONS = 'o',
    KEY_AT_ONCE = 'j'
};

#define NUMBER_MAX 1000000000u
#define OPERATIONS_DEFAULT 10000000u
#define ROUND_SECONDS 30u /* of a control, unless --fuzz says otherwise */

struct options {
    bool json;
    bool list;
    bool controls;
    const char *stryker;
    uint64_t at_once;
    struct kill_budget budget;
};

/* session: what is played. `corpora` in the order of the targets. */
struct session {
    struct options options;
    struct kill_corpus *corpora;
    struct kill_board board;
    uint64_t round; /* of the controls */
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct options *options = state->input;
    struct kill_budget *budget = &options->budget;
    switch (key) {
    case KEY_JSON:
        options->json = true;
        return 0;
    case KEY_LIST:
        options->list = true;
        return 0;
    case KEY_STRYKER:
        options->stryker = argument;
        return 0;
    case KEY_FUZZ:
        budget->seconds = tool_number(state, "--fuzz", argument, 1, NUMBER_MAX);
        return 0;
    case KEY_TRIALS:
        budget->trials = tool_number(state, "--trials", argument, 1, KILL_TRIALS_MAX);
        return 0;
    case KEY_SEED:
        budget->seed = tool_number(state, "--seed", argument, 0, UINT32_MAX);
        return 0;
    case KEY_FROM_EMPTY:
        budget->from_empty = true;
        return 0;
    case KEY_PLAIN:
        budget->plain_mutator = true;
        return 0;
    case KEY_BUILD:
        budget->build = argument;
        return 0;
    case KEY_REPORT:
        budget->report = argument;
        return 0;
    case KEY_CONTROLS:
        options->controls = true;
        return 0;
    case KEY_OPERATIONS:
        budget->operations = tool_number(state, "--operations", argument, 1, 100 * (uint64_t)NUMBER_MAX);
        return 0;
    case KEY_AT_ONCE:
        options->at_once = tool_number(state, "-j", argument, 1, 1024);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* ---- what is played ------------------------------------------------------------------------------------------------
 */

static bool wanted(const char *name, const char *area, char **names, size_t num_names)
{
    return num_names == 0 || tool_is_named(area, names, num_names) ||
           (name != NULL && tool_is_named(name, names, num_names));
}

static bool check_names(char **names, size_t num_names)
{
    for (size_t i = 0; i < num_names; i++) {
        if (target_find(names[i]) == NULL && mutant_find(names[i]) == NULL) {
            (void)tool_usage("there is no mutant or target %s; `paldiff mutants --list` names them", names[i]);
            return false;
        }
    }
    return true;
}

/* read_corpus: every scenario of the target can be read; else nothing that follows would mean anything. */
static bool read_corpus(struct kill_corpus *corpus, const struct target *target)
{
    struct stage *stage = calloc(1, sizeof(*stage));
    bool good = stage != NULL && tool_corpus_files(target, &corpus->files, &corpus->num);
    if (good && corpus->num == 0) {
        (void)fprintf(stderr, "paldiff: target %s has an empty corpus below %s\n", target->name, tool_corpus());
        good = false;
    }
    for (size_t i = 0; good && i < corpus->num; i++) {
        stage->target = target;
        good = tool_load(stage, corpus->files[i]);
    }
    free(stage);
    corpus->hashes = good ? kill_shared(corpus->num * sizeof(*corpus->hashes)) : NULL;
    return corpus->hashes != NULL;
}

/* add_controls: the good ports, and the mutant that wraps them and changes nothing: its traces are what those of
 * mutants are compared with. */
static bool add_controls(struct kill_board *board, const struct target *target)
{
    char name[64];
    (void)snprintf(name, sizeof(name), "%s_null", target->name);
    struct kill *good = &board->controls[board->num_controls++];
    struct kill *null = &board->controls[board->num_controls++];
    good->target = target;
    null->target = target;
    null->mutant = mutant_find(name);
    if (null->mutant == NULL) {
        (void)fprintf(stderr, "paldiff: target %s has no control mutant %s\n", target->name, name);
    }
    return null->mutant != NULL;
}

/* choose: the mutants and controls of the names, with the targets' corpora. */
static bool choose(struct session *session, char **names, size_t num_names)
{
    struct kill_board *board = &session->board;
    board->kills = kill_shared(num_mutants * sizeof(*board->kills));
    board->controls = kill_shared(2 * num_targets * sizeof(*board->controls));
    session->corpora = calloc(num_targets, sizeof(*session->corpora));
    if (board->kills == NULL || board->controls == NULL || session->corpora == NULL) {
        (void)fputs("paldiff: no memory\n", stderr);
        return false;
    }
    for (size_t i = 0; i < num_mutants; i++) {
        if (mutants[i].rule[0] != '\0' && wanted(mutants[i].name, mutants[i].area, names, num_names)) {
            struct kill *kill = &board->kills[board->num++];
            kill->mutant = &mutants[i];
            kill->target = target_find(mutants[i].area);
            if (kill->target == NULL) {
                (void)fprintf(stderr, "paldiff: mutant %s has no target\n", mutants[i].name);
                return false;
            }
        }
    }
    for (size_t t = 0; t < num_targets; t++) {
        bool used = wanted(NULL, targets[t]->name, names, num_names);
        for (size_t i = 0; i < board->num; i++) {
            used = used || board->kills[i].target == targets[t];
        }
        if (used && (!add_controls(board, targets[t]) || !read_corpus(&session->corpora[t], targets[t]))) {
            return false;
        }
        board->num_inputs += session->corpora[t].num;
    }
    return true;
}

/* ---- playing it ----------------------------------------------------------------------------------------------------
 */

static void replay_control(size_t index, void *context)
{
    struct session *session = context;
    struct kill *control = &session->board.controls[index];
    kill_replay(control, &session->corpora[tool_target_row(control->target)]);
}

static void replay_mutant(size_t index, void *context)
{
    struct session *session = context;
    struct kill *kill = &session->board.kills[index];
    kill_replay(kill, &session->corpora[tool_target_row(kill->target)]);
}

static void fuzz_mutant(size_t index, void *context)
{
    struct session *session = context;
    const struct kill_budget *budget = &session->options.budget;
    struct kill *kill = &session->board.kills[index / budget->trials];
    uint64_t trial = index % budget->trials;
    kill_fuzz(&kill->trials[trial], kill, budget, trial);
}

static void fuzz_control(size_t index, void *context)
{
    struct session *session = context;
    struct kill *control = &session->board.controls[index];
    if (control->mutant == NULL) {
        kill_fuzz_control(&control->trials[0], control, &session->options.budget, session->round);
    }
}

/* prepare_fuzz: fuzz programs that are there, and a folder for what they write; *out_made is true for one that is ours
 * to remove. */
static bool prepare_fuzz(struct session *session, char report[RUN_PATH_MAX], bool *out_made)
{
    static struct run run; /* run_find_builds fills it; only the folder's name is kept */
    struct kill_budget *budget = &session->options.budget;
    const char *temporary = getenv("TMPDIR");
    *out_made = budget->report == NULL;
    if (run_find_builds(&run, budget->build != NULL ? 1 : 0, &budget->build) != EXIT_HELD || run.num_builds == 0) {
        return false;
    }
    budget->build = run.builds[0].dir;
    for (size_t i = 0; i < session->board.num_controls; i++) {
        char program[RUN_PATH_MAX];
        const char *name = session->board.controls[i].target->name;
        if (!run_path(program, "%s/fuzz_%s", budget->build, name) || access(program, X_OK) != 0) {
            (void)fprintf(stderr, "paldiff: %s is missing: build it first\n", program);
            return false;
        }
    }
    if (budget->report == NULL) {
        bool good = run_path(report, "%s/paldiff-mutants-XXXXXX", temporary != NULL ? temporary : "/tmp") &&
                    mkdtemp(report) != NULL;
        budget->report = report;
        return good;
    }
    if (!run_make_dir(budget->report) || realpath(budget->report, report) == NULL) {
        return false;
    }
    budget->report = report;
    return true;
}

/* ---- telling it ----------------------------------------------------------------------------------------------------
 */

static int list_mutants(void)
{
    for (size_t i = 0; i < num_mutants; i++) {
        (void)printf("%-40s %-28s %s\n", mutants[i].name, mutants[i].rule[0] != '\0' ? mutants[i].rule : "(control)",
                     mutants[i].source);
    }
    return EXIT_HELD;
}

/* rules_without_mutant: a rule that nothing shows to be able to fail is red. */
static size_t rules_without_mutant(void)
{
    size_t missing = 0;
    for (size_t r = 0; r < NUM_RULES; r++) {
        bool found = false;
        for (size_t i = 0; i < num_mutants; i++) {
            found = found || strcmp(mutants[i].rule, kill_rule_id(r)) == 0;
        }
        if (!found) {
            (void)fprintf(stderr, "rule %s has no mutant\n", kill_rule_id(r));
            missing++;
        }
    }
    return missing;
}

/* verdict: what the suite could not tell weighs most, then a survivor. */
static int verdict(const struct kill_board *board)
{
    bool failed = false;
    bool survived = board->num == 0;
    for (size_t i = 0; i < board->num_controls; i++) {
        failed = failed || board->controls[i].failed;
        survived = survived || !kill_held(&board->controls[i]);
    }
    for (size_t i = 0; i < board->num; i++) {
        const struct kill *kill = &board->kills[i];
        failed = failed || kill->failed;
        survived = survived || !kill_own(kill);
        for (size_t j = 0; j < kill->num_trials; j++) {
            failed = failed || kill->trials[j].failed;
            survived = survived || !kill->trials[j].killed;
        }
    }
    if (failed) {
        return EXIT_SUITE;
    }
    return survived ? EXIT_BROKEN : EXIT_HELD;
}

static int tell(struct session *session, bool all)
{
    const struct kill_board *board = &session->board;
    int result = verdict(board);
    if (all && rules_without_mutant() > 0 && result == EXIT_HELD) {
        result = EXIT_BROKEN;
    }
    kill_table(session->options.json ? stderr : stdout, board);
    if (session->options.json && !tool_print_json(kill_json(board))) {
        return EXIT_SUITE;
    }
    if (session->options.stryker != NULL && !kill_stryker_write(session->options.stryker, board)) {
        return EXIT_SUITE;
    }
    return result;
}

static int tell_controls(const struct session *session)
{
    const struct kill_board *board = &session->board;
    uint64_t operations = 0;
    bool failed = false;
    bool killed = false;
    for (size_t i = 0; i < board->num_controls; i++) {
        const struct kill_trial *trial = &board->controls[i].trials[0];
        if (board->controls[i].mutant != NULL) {
            continue;
        }
        (void)printf("%-8s %12" PRIu64 " executions %12" PRIu64 " operations %8.0f s  %s\n",
                     board->controls[i].target->name, trial->executions, trial->operations, trial->seconds,
                     trial->killed || trial->failed ? trial->by : "held");
        operations += trial->operations;
        failed = failed || trial->failed || trial->operations == 0;
        killed = killed || trial->killed;
    }
    (void)printf("good ports: %" PRIu64 " operations, seed %" PRIu64 ", %s\n", operations, session->options.budget.seed,
                 killed ? "KILLED" : "no kill");
    if (killed) {
        return EXIT_BROKEN;
    }
    return failed ? EXIT_SUITE : EXIT_HELD;
}

/* play_controls: rounds of all targets, so that the fast ones do not stand for the slow ones, until there are enough
 * operations or there is something to tell. */
static int play_controls(struct session *session, size_t at_once)
{
    const struct kill_board *board = &session->board;
    struct kill_budget *budget = &session->options.budget;
    uint64_t wanted_operations = budget->operations > 0 ? budget->operations : OPERATIONS_DEFAULT;
    uint64_t operations = 0;
    bool good = true;
    budget->seconds = budget->seconds > 0 ? budget->seconds : ROUND_SECONDS;
    for (session->round = 0; good && operations < wanted_operations; session->round++) {
        good = kill_pool(board->num_controls, at_once, fuzz_control, session);
        operations = 0;
        for (size_t i = 0; i < board->num_controls; i++) {
            const struct kill_trial *trial = &board->controls[i].trials[0];
            operations += trial->operations;
            good = good && !trial->killed && !trial->failed;
        }
    }
    int result = tell_controls(session);
    return good || result == EXIT_BROKEN ? result : EXIT_SUITE;
}

static int play(struct session *session, bool all, size_t at_once)
{
    struct kill_board *board = &session->board;
    const struct kill_budget *budget = &session->options.budget;
    bool good = kill_pool(board->num_controls, at_once, replay_control, session) &&
                kill_pool(board->num, at_once, replay_mutant, session);
    if (good && budget->seconds > 0) {
        for (size_t i = 0; i < board->num; i++) {
            board->kills[i].num_trials = budget->trials;
        }
        board->fuzz = budget;
        good = kill_pool(board->num * budget->trials, at_once, fuzz_mutant, session);
    }
    int result = tell(session, all);
    return good ? result : EXIT_SUITE;
}

/* find_symbolizer: a sanitizer's report without one names no source, and the runtime looks for it once, when the
 * program starts, under a name that Debian keeps out of the usual folders. */
static void find_symbolizer(char **argv)
{
    char path[RUN_PATH_MAX];
    if (strcmp(PALDIFF_SANITIZER, "none") == 0 || getenv("PALDIFF_SYMBOLIZER") != NULL) {
        return;
    }
    const char *before = getenv("PATH");
    (void)setenv("PALDIFF_SYMBOLIZER", "sought", 1);
    for (unsigned version = 40; version >= 14; version--) {
        (void)snprintf(path, sizeof(path), "/usr/lib/llvm-%u/bin/llvm-symbolizer", version);
        if (access(path, X_OK) == 0) {
            (void)snprintf(path, sizeof(path), "%s:/usr/lib/llvm-%u/bin", before != NULL ? before : "/usr/bin:/bin",
                           version);
            (void)setenv("PATH", path, 1);
            (void)execv("/proc/self/exe", argv - 1); /* the command stands behind the program's name */
        }
    }
}

int tool_mutants(int argc, char **argv)
{
    static const struct argp_option rows[] = {
        {"list", KEY_LIST, NULL, 0, "name them and the rules that catch them", 0},
        {"fuzz", KEY_FUZZ, "SECONDS", 0, "let the fuzz programs look for each mutant too", 0},
        {"trials", KEY_TRIALS, "N", 0, "of each mutant (1)", 0},
        {"seed", KEY_SEED, "N", 0, "of the trials (1)", 0},
        {"from-empty", KEY_FROM_EMPTY, NULL, 0, "fuzz from nothing, not from the committed corpus", 0},
        {"plain-mutator", KEY_PLAIN, NULL, 0, "mutate bytes, not operations", 0},
        {"build", KEY_BUILD, "DIR", 0, "with the fuzz programs (asan beside this one)", 0},
        {"report", KEY_REPORT, "DIR", 0, "keep what the fuzz programs write", 0},
        {"controls", KEY_CONTROLS, NULL, 0, "fuzz the good ports instead: nothing may be found", 0},
        {"operations", KEY_OPERATIONS, "N", 0, "of all good ports together, at least (10000000)", 0},
        {NULL, KEY_AT_ONCE, "N", 0, "at a time (the number of processors)", 0},
        {"json", KEY_JSON, NULL, 0, "JSON on standard output", 0},
        {"stryker", KEY_STRYKER, "FILE", 0, "a mutation report, schema 2, as well", 0},
        {0}};
    static const struct argp argp = {.options = rows,
                                     .parser = parse,
                                     .args_doc = "[MUTANT|TARGET]...",
                                     .doc = "Plants every bug, plays the committed corpus, and counts who notices. "
                                            "Example: paldiff mutants --fuzz 60 send"};
    static struct session session = {.options = {.budget = {.trials = 1, .seed = 1}}};
    static char report[RUN_PATH_MAX];
    bool made = false;
    cpu_set_t cpus;
    find_symbolizer(argv);
    int first = tool_parse(&argp, argc, argv, &session.options);
    if (session.options.list) {
        return list_mutants();
    }
    if (!check_names(argv + first, (size_t)(argc - first))) {
        return EXIT_USAGE;
    }
    size_t at_once = session.options.at_once;
    if (at_once == 0) {
        at_once = sched_getaffinity(0, sizeof(cpus), &cpus) == 0 ? (size_t)CPU_COUNT(&cpus) : 1;
    }
    bool fuzz = session.options.controls || session.options.budget.seconds > 0;
    if (!choose(&session, argv + first, (size_t)(argc - first)) || (fuzz && !prepare_fuzz(&session, report, &made))) {
        return EXIT_SUITE;
    }
    int result = session.options.controls ? play_controls(&session, at_once) : play(&session, first == argc, at_once);
    if (made) {
        run_remove_dir(report);
    }
    return result;
}
