/* SPDX-License-Identifier: Apache-2.0
 * conform.h: `paldiff conform`: somebody else's port against every rule that binds it. conform_port.c is the one place
 * that knows where a port comes from, conform_child.c watches over the process that it plays in, conform_play.c and
 * conform_run.c decide what is played and what comes of it, conform_waivers.c reads waivers and baselines;
 * conform_report.c, conform_json.c and conform_pages.c tell; tool_conform.c decides the exit code. The port is never
 * loaded into the process that decides.
 */
#ifndef PALDIFF_CONFORM_H
#define PALDIFF_CONFORM_H

#include "guard.h"
#include "hint.h"
#include "shim.h"

#include <stdatomic.h>

#define CONFORM_TEXT_MAX 256u
#define CONFORM_PATH_MAX 4096u
#define CONFORM_WAIVERS_MAX 64u
#define CONFORM_TARGETS_MAX 16u
#define CONFORM_REASON_MAX 160u

enum conform_rule {
#define CONFORM_RULE(symbol, name, sentence) CONFORM_##symbol,
#include "conform_rules.def"
#undef CONFORM_RULE
    CONFORM_NUM_RULES
};

/* ---- conform_port.c: where a port comes from ------------------------------------------------------------------------
 */

/* conform_source: a shared object, or a shim (shim.h). */
struct conform_source {
    const char *file; /* absolute; NULL for a shim */
    const char *shim; /* a command; NULL for a shared object */
    bool process;     /* it is judged by what a port in another process shows; always so for a shim */
};

/* conform_port_open: loads it into this process, which is a child, or starts it. NULL, with why in `error`. `failed` as
 * in shim_port_open. */
const struct pal_port *conform_port_open(const struct conform_source *source, shim_failed_fn *failed,
                                         char error[CONFORM_TEXT_MAX]);

/* conform_declared: what a port says of itself; copied out of it, so that it can be read in another process. */
struct conform_declared {
    bool loaded;
    bool process; /* as in conform_source */
    uint32_t abi;
    char name[64];
    char version[128];
    bool env_random;
    bool env_clock;
    bool targets[CONFORM_TARGETS_MAX]; /* by row of targets.def: whether it has something of its area */
    bool modes[2][PAL_NUM_MODES];      /* hmac, aead */
    bool areas[6];                     /* pool, tls, send, hmac, aead, token */
    char missing[64];                  /* "pool.trim": functions that a declared table lacks */
    char error[CONFORM_TEXT_MAX];
};
extern const char *const conform_area_names[6];

/* conform_declare: fills it in, in a child. */
void conform_declare(struct conform_declared *out, const struct conform_source *source);

/* ---- conform_child.c: the process that a port plays in --------------------------------------------------------------
 */

/* conform_note: what the child saw last; in memory that both processes share, as a port may close what else they have
 * in common. */
struct conform_note {
    atomic_int rule; /* enum conform_rule; CONFORM_NUM_RULES for none */
    atomic_bool ready;
    atomic_int shim;     /* process id; 0 for none */
    uint64_t num_undone; /* calls of the last play that a shim does not have */
    char got[CONFORM_TEXT_MAX];
    size_t num_lacking; /* worlds that the port does not have */
    char lacking[WORLDS_MAX][64];
    struct conform_declared declared;
};

struct conform_limits {
    unsigned seconds; /* for one scenario */
    unsigned megabytes;
};

/* conform_child: of one target. `subject.context` is this struct. */
struct conform_child {
    struct guard guard;
    struct guard_subject subject;
    const struct conform_source *source;
    struct conform_limits limits;
    struct conform_note *note;
    bool unbound[NUM_RULES]; /* rules that are not judged */
};

/* conform_break: what broke, in the child's or the parent's words. */
struct conform_break {
    bool is_port_rule;
    uint32_t rule; /* row in rules, or enum conform_rule */
    uint64_t step; /* from 1; 0 for no step */
    char got[CONFORM_TEXT_MAX];
    char want[CONFORM_TEXT_MAX];
    char text[GUARD_TEXT_MAX];
};

enum conform_end { CONFORM_HELD, CONFORM_BROKEN, CONFORM_FAILED /* the suite; a line on stderr said why */ };

bool conform_child_init(struct conform_child *child, const struct target *target, const struct conform_source *source,
                        struct conform_limits limits, struct conform_note *note);
void conform_child_deinit(struct conform_child *child);

/* conform_child_play: one scenario; *out with CONFORM_BROKEN. The next one is played by a new process if need be. */
enum conform_end conform_child_play(struct conform_child *child, const struct scenario *scenario,
                                    struct guard_answer *answer, struct conform_break *out);

/* conform_probe: what the port declares, or what became of the process that asked it. */
enum conform_end conform_probe(const struct conform_source *source, struct conform_limits limits,
                               struct conform_note *note, struct conform_break *out);

/* ---- conform_waivers.c ---------------------------------------------------------------------------------------------
 */

struct conform_waiver {
    char rule[64];
    char reason[CONFORM_REASON_MAX];
    char expiry[16];
    bool used;
};

struct conform_waivers {
    size_t num;
    struct conform_waiver rows[CONFORM_WAIVERS_MAX];
};

/* conform_waivers_read: "RULE EXPIRY REASON" lines, EXPIRY as 2026-12-31, the last day that it holds; # starts a
 * comment. EXIT_USAGE, with a line on stderr for each, when a rule is unknown or named twice, a waiver has expired, or
 * a line has another form. `today` as EXPIRY. */
int conform_waivers_read(struct conform_waivers *out, const char *path, const char *today);
/* conform_waiver_of: NULL if the rule is not waived; a waiver that is asked for is used. */
struct conform_waiver *conform_waiver_of(struct conform_waivers *waivers, const char *rule);
/* conform_waivers_unused: EXIT_USAGE, with a line on stderr for each that nobody asked for. */
int conform_waivers_unused(const struct conform_waivers *waivers);
/* conform_is_day: 2026-12-31. conform_today: the present day (UTC), so written; returns `out`. */
#define CONFORM_DAY_MAX 16u
bool conform_is_day(const char *text);
const char *conform_today(char out[CONFORM_DAY_MAX]);

struct conform;

/* conform_baseline_write: how much ran. conform_baseline_check: whether as much ran as it says: fills
 * conform->shortfall. False, with a line on stderr, when the file cannot be written or read. */
bool conform_baseline_write(const struct conform *conform, const char *path);
bool conform_baseline_check(struct conform *conform, const char *path);

/* ---- conform_play.c ------------------------------------------------------------------------------------------------
 */

enum conform_outcome {
    CONFORM_PASS,
    CONFORM_FAIL,
    CONFORM_UNSUPPORTED, /* the port does not have what it is about */
    CONFORM_VACUOUS,     /* it has, and nothing was compared */
    CONFORM_WAIVED,      /* failed or vacuous, with a waiver */
    CONFORM_NUM_OUTCOMES
};
extern const char *const conform_outcome_names[CONFORM_NUM_OUTCOMES];

/* conform_row: one rule in one target (`target` NULL: of the port as a whole). */
struct conform_row {
    const struct target *target;
    char id[64];
    const char *sentence;
    enum conform_outcome outcome;
    char why[CONFORM_TEXT_MAX]; /* unsupported or waived */
    uint64_t compared;
    uint64_t num_broken;        /* scenarios */
    const struct target *where; /* of the first that broke it */
    struct conform_break first;
    char input[CONFORM_PATH_MAX]; /* of the first */
    char command[HINT_MAX];       /* that plays it again */
};

/* conform_tally: what was played of one target. */
struct conform_tally {
    const struct target *target;
    bool declared;
    uint64_t corpus;
    uint64_t generated;
    uint64_t operations;
    uint64_t skipped; /* scenarios that were not played, after too many hangs */
    uint64_t undone;  /* scenarios with calls that a shim does not have: judged, but nothing in them counts as held */
    size_t num_lacking;
    char lacking[WORLDS_MAX][64];
};

enum conform_level { LEVEL_SMOKE, LEVEL_CORE, LEVEL_FULL, LEVEL_CERTIFY, NUM_LEVELS };
extern const char *const conform_level_names[NUM_LEVELS];

struct conform {
    struct conform_source source;
    struct conform_limits limits;
    enum conform_level level;
    bool files_only; /* inputs that were named: only what they show counts */
    uint64_t seed;
    uint64_t generate; /* scenarios a target; UINT64_MAX: the level's */
    char report[CONFORM_PATH_MAX];
    const char *today;
    struct conform_waivers waivers;
    struct conform_note *note;
    struct conform_declared declared;
    size_t num_planted; /* the suite's own mutants that were played, and those that were caught */
    size_t num_caught;
    char uncaught[CONFORM_TEXT_MAX];
    uint64_t corpus_hash;
    size_t corpus_files;
    size_t num_tallies;
    struct conform_tally tallies[CONFORM_TARGETS_MAX];
    size_t num_rows;
    struct conform_row *rows;
    bool failed;                      /* the suite; a line on stderr said why */
    char refused[CONFORM_TEXT_MAX];   /* why this is no certificate; "" if it may be one */
    char shortfall[CONFORM_TEXT_MAX]; /* what ran less than the baseline says; "" for nothing */
};

/* conform_start: rows of the port as a whole. conform_add_target: of a target; conform_play_target: plays the target
 * that was added last, those of `inputs` that are its own and then what is made up; both false when the suite failed.
 * conform_settle: outcomes, once all was played. */
struct input;
bool conform_start(struct conform *conform);
void conform_add_target(struct conform *conform, const struct target *target);
bool conform_play_target(struct conform *conform, const struct input *inputs, size_t num);
void conform_settle(struct conform *conform);

/* ---- conform_run.c -------------------------------------------------------------------------------------------------
 */

/* conform_run: probe, self-test, all targets that the port has something of; fills rows and tallies. False when the
 * suite failed. */
bool conform_run(struct conform *conform);

/* conform_play_files: just these inputs, without self-test; fills rows. An exit code when one cannot be read. */
int conform_play_files(struct conform *conform, size_t num, char *const files[]);

/* conform_command: what plays the port again, on one input or (NULL) on all. */
void conform_command(char out[HINT_MAX], const struct conform *conform, const char *input);

/* conform_count: rows with this outcome. conform_plays: scenarios of all targets. */
size_t conform_count(const struct conform *conform, enum conform_outcome outcome);
uint64_t conform_plays(const struct conform *conform);

/* conform_is_red: a rule failed, was vacuous where that counts, or less ran than was to. */
bool conform_is_red(const struct conform *conform);

/* ---- conform_report.c, conform_json.c ------------------------------------------------------------------------------
 */

/* conform_print: the one page for people. conform_verdict: in one word. */
void conform_print(FILE *out, const struct conform *conform);
const char *conform_verdict(const struct conform *conform);
/* conform_versions: "paldiff 0.1.0, clang 19.1.4, sanitizer address"; the suite's version alone. */
extern const char *const conform_build;
extern const char *const conform_suite;

/* conform_write_pages: a page for each rule, the contract, statuses, and an index, in Markdown; false, with a line on
 * stderr. conform_write_contract: one of them; false when pal.h has a function and no word on it. */
bool conform_write_pages(const char *dir);
bool conform_write_contract(FILE *page);

struct cJSON *conform_json(const struct conform *conform);
/* conform_write: conform.json, conform.junit.xml and verdict.txt in the report's folder. */
bool conform_write(const struct conform *conform);
/* conform_evidence: reads the report of a `full` run in another build; false, with why it is none for this port, suite
 * and corpus. `sanitizer` gets what it was built with. */
bool conform_evidence(const struct conform *conform, const char *path, char sanitizer[32], char why[CONFORM_TEXT_MAX]);

#endif
