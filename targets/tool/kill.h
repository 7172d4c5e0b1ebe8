/* SPDX-License-Identifier: Apache-2.0
 * kill.h: `paldiff mutants`: what is known of each mutant and how. kill_replay.c plays the committed corpus,
 * kill_fuzz.c runs fuzz programs, kill_pool.c shares the work out, kill_blame.c reads crash reports, kill_matrix.c
 * counts, kill_table.c tells people, kill_json.c machines; tool_mutants.c decides the exit code.
 * A kill is a rule that broke, a sanitizer's report about the mutated port, or the port's own end: an assertion of the
 * library, a wait without end (kill_blame). Nothing else is: any other end of a program is a failure of the suite.
 */
#ifndef PALDIFF_KILL_H
#define PALDIFF_KILL_H

#include "harness.h"

#define KILL_TEXT_MAX 160u
#define KILL_TRIALS_MAX 32u
#define KILL_PATH_MAX 4096u

/* kill_trial: one run of a fuzz program. `failed`: it says nothing about the mutant, and `by` says why. */
struct kill_trial {
    bool killed;
    bool failed;
    char by[KILL_TEXT_MAX]; /* the rule, or the sanitizer's summary */
    uint64_t executions;
    uint64_t operations;
    double seconds;
};

/* kill: one mutant, or the good ports (`mutant` NULL), and what was found out. In memory that the children share. */
struct kill {
    const struct target *target;
    const struct mutant *mutant;
    bool failed; /* the suite could not tell; `why` says so. Never a kill. */
    char why[KILL_TEXT_MAX];
    uint32_t witness_rule; /* the first rule that broke on the witness; NUM_RULES for none */
    uint64_t plays;
    uint64_t fired;                /* how often the bug was at work */
    uint64_t infected;             /* inputs whose traces differ from the control mutant's */
    uint64_t inputs[NUM_RULES];    /* inputs that the rule broke on */
    uint64_t first[NUM_RULES];     /* inputs that it broke on first */
    uint32_t ends;                 /* inputs on which an assertion of the library failed, or it waits for ever */
    uint32_t crashes;              /* inputs with a sanitizer's report */
    char sanitizer[KILL_TEXT_MAX]; /* the first report; "" for none */
    size_t next;                   /* input to play */
    size_t num_trials;
    struct kill_trial trials[KILL_TRIALS_MAX];
};

/* kill_corpus: the committed inputs of one target, and the hashes of the control mutant's traces. */
struct kill_corpus {
    char **files;
    size_t num;
    uint64_t *hashes;
};

/* kill_budget: of the fuzz trials. `build`: folder with the fuzz programs. `report`: an absolute folder for artefacts.
 */
struct kill_budget {
    const char *build;
    const char *report;
    uint64_t seconds;
    uint64_t trials;
    uint64_t seed;
    uint64_t operations; /* of all controls together */
    bool from_empty;
    bool plain_mutator;
};

/* ---- kill_pool.c ---- */

/* kill_shared: zeroed memory that children write and the parent reads; NULL without memory. Lives as long as the
 * process. */
void *kill_shared(size_t len);

/* kill_pool: calls job(index, context) for every index below `num`, in `workers` child processes, each kept on one
 * processor. False, with a line on stderr, when a worker did not end well. */
bool kill_pool(size_t num, size_t workers, void (*job)(size_t index, void *context), void *context);

/* ---- kill_blame.c ---- */

/* kill_blame: whose code a report is about. */
enum kill_blame {
    BLAME_NOBODY, /* there is no sanitizer's report, or it names no source of ours */
    BLAME_PORT,   /* library, engine or mutant */
    BLAME_END,    /* the port, without a sanitizer: an assertion of the library failed, or it waits for ever */
    BLAME_SUITE   /* targets and oracles: a defect of the suite, whatever the mutant did */
};

/* kill_blame_of: reads what a program said before it ended. The innermost frame of the first stack that is in a source
 * of this tree decides; frames of engines and of the runtime are passed over. Memory that is poisoned or was never
 * written is the port's doing wherever it is touched: it is the port that lends and fills memory, and whoever asks has
 * made sure that the good ports hold on the same input. `summary`, if not NULL, gets one line. */
enum kill_blame kill_blame_of(const char *report, char summary[KILL_TEXT_MAX]);

/* ---- kill_replay.c ---- */

/* kill_replay: plays the mutant's witness and then the corpus, in children, and judges every rule. The control mutant
 * fills corpus->hashes. */
void kill_replay(struct kill *kill, const struct kill_corpus *corpus);

/* kill_holds: whether the good ports hold on one file, in a child. */
bool kill_holds(const struct target *target, const char *path);

/* ---- kill_fuzz.c ---- */

/* kill_fuzz: one trial: the target's fuzz program against the mutant until the first kill or the end of the budget. */
void kill_fuzz(struct kill_trial *out, const struct kill *kill, const struct kill_budget *budget, uint64_t trial);

/* kill_fuzz_control: the good ports for the same budget; adds to what earlier rounds did. */
void kill_fuzz_control(struct kill_trial *out, const struct kill *kill, const struct kill_budget *budget,
                       uint64_t round);

/* ---- kill_matrix.c ---- */

/* kill_count: `num` of `of`. */
struct kill_count {
    size_t num;
    size_t of;
};

/* kill_board: all mutants that were played. */
struct kill_board {
    size_t num;
    struct kill *kills;
    size_t num_controls;
    struct kill *controls;
    size_t num_inputs;
    const struct kill_budget *fuzz; /* NULL: replay only */
};

/* kill_own: whether its own rule was the first on its witness; by replay, and nothing failed. */
bool kill_own(const struct kill *kill);
/* kill_replayed: whether anything kills it in replay. kill_only: only this rule does. */
bool kill_replayed(const struct kill *kill);
bool kill_only(const struct kill *kill, size_t rule);
/* kill_by: the rule or sanitizer that a person is told; "" for a survivor. */
const char *kill_by(const struct kill *kill);
/* kill_held: a control that was played and broke nothing. */
bool kill_held(const struct kill *control);
/* kill_found: the first trial that killed, or NULL. */
const struct kill_trial *kill_found(const struct kill *kill);

/* kill_rule_id: "area.name"; "" for NUM_RULES. */
const char *kill_rule_id(size_t rule);

struct kill_count kill_rate_own(const struct kill_board *board);
struct kill_count kill_rate_replay(const struct kill_board *board);
struct kill_count kill_rate_sanitizers(const struct kill_board *board);
struct kill_count kill_rate_without(const struct kill_board *board, size_t rule);
struct kill_count kill_rate_fuzz(const struct kill_board *board);

/* kill_median: of executions or seconds to the first kill, over the trials of one mutant or of all (`kill` NULL), as
 * Kaplan and Meier; false when fewer than half were killed. `out_max`, if not NULL, gets the largest that was seen. */
bool kill_median(double *out, const struct kill_board *board, const struct kill *kill, bool seconds, double *out_max);

/* ---- kill_table.c, kill_json.c, kill_stryker.c ---- */

void kill_table(FILE *out, const struct kill_board *board);
struct cJSON *kill_json(const struct kill_board *board);
/* kill_stryker_write: a mutation report, schema version 2; false, with a line on stderr. */
bool kill_stryker_write(const char *path, const struct kill_board *board);

#endif
