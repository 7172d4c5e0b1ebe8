/* SPDX-License-Identifier: Apache-2.0
 * conform_play.c: what a port is played, and what each rule comes to. A rule that is about something the port does not
 * have is unsupported, never passed; one that had nothing to compare is vacuous.
 */
#include "conform.h"

#include "inputs.h"
#include "kept.h"
#include "mutator.h"
#include "run.h"
#include "scope.h"
#include "shrink_steps.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define HANGS_MAX 3u
#define SHRINK_SECONDS 5

const char *const conform_outcome_names[CONFORM_NUM_OUTCOMES] = {"pass", "fail", "unsupported", "vacuous", "waived"};
const char *const conform_level_names[NUM_LEVELS] = {"smoke", "core", "full", "certify"};

/* Scenarios that are made up for each target, by level. */
static const uint64_t num_generated[NUM_LEVELS] = {0, 100, 1000, 5000};

static const char *const port_rules[CONFORM_NUM_RULES][2] = {
#define CONFORM_RULE(symbol, name, sentence) {"port." name, sentence},
#include "conform_rules.def"
#undef CONFORM_RULE
};

/* playing: one target at work. */
struct playing {
    struct conform *conform;
    struct conform_tally *tally;
    struct conform_child child;
    size_t first_row; /* of the target's; they are in the order of the rules that bind it */
    unsigned num_hangs;
    struct guard_answer answer;
};

/* ---- what a port does not have -------------------------------------------------------------------------------------
 */

static struct scope scope_declared(const struct conform_declared *declared)
{
    return (struct scope){.env_random = declared->env_random,
                          .env_clock = declared->env_clock,
                          .caches_hmac = declared->modes[0][PAL_REUSED],
                          .caches_aead = declared->modes[1][PAL_REUSED],
                          .process = declared->process};
}

static struct conform_row *add_row(struct conform *conform, const struct target *target, const char *id,
                                   const char *sentence)
{
    struct conform_row *row = &conform->rows[conform->num_rows++];
    row->target = target;
    row->sentence = sentence;
    (void)snprintf(row->id, sizeof(row->id), "%s", id);
    return row;
}

void conform_add_target(struct conform *conform, const struct target *target)
{
    struct conform_tally *tally = &conform->tallies[conform->num_tallies++];
    bool declared = conform->declared.targets[tool_target_row(target)];
    const struct scope scope = scope_declared(&conform->declared);
    tally->target = target;
    tally->declared = declared;
    for (size_t r = 0; r < NUM_RULES; r++) {
        if (rule_binds(&rules[r], target->name)) {
            char id[64];
            (void)snprintf(id, sizeof(id), "%s.%s", rules[r].area, rules[r].name);
            struct conform_row *row = add_row(conform, target, id, rules[r].sentence);
            const char *why = declared ? scope_excuse(&scope, target, r) : "the port has nothing of the area";
            if (why != NULL) {
                row->outcome = CONFORM_UNSUPPORTED;
                (void)snprintf(row->why, sizeof(row->why), "%s", why);
            }
        }
    }
}

bool conform_start(struct conform *conform)
{
    conform->rows = calloc(CONFORM_NUM_RULES + num_targets * NUM_RULES, sizeof(*conform->rows));
    if (conform->rows == NULL || num_targets > CONFORM_TARGETS_MAX) {
        return false;
    }
    for (size_t r = 0; r < CONFORM_NUM_RULES; r++) {
        struct conform_row *row = add_row(conform, NULL, port_rules[r][0], port_rules[r][1]);
        bool process = conform->source.process;
        if (process ? r == CONFORM_CONFINED || r >= CONFORM_DESCRIPTORS : r == CONFORM_SPEAKS) {
            row->outcome = CONFORM_UNSUPPORTED;
            (void)snprintf(row->why, sizeof(row->why), "the port is %s",
                           process ? "another process" : "no other process");
        }
    }
    return true;
}

/* ---- what is played ------------------------------------------------------------------------------------------------
 */

/* row_of: of what broke. */
static struct conform_row *row_of(struct playing *playing, const struct conform_break *broken)
{
    struct conform *conform = playing->conform;
    size_t at = playing->first_row;
    if (broken->is_port_rule) {
        return &conform->rows[broken->rule];
    }
    for (size_t r = 0; r < broken->rule; r++) {
        at += rule_binds(&rules[r], playing->tally->target->name) ? 1 : 0;
    }
    return &conform->rows[at];
}

static void note_counts(struct playing *playing)
{
    struct conform *conform = playing->conform;
    size_t at = playing->first_row;
    for (size_t r = 0; r < NUM_RULES; r++) {
        if (rule_binds(&rules[r], playing->tally->target->name)) {
            conform->rows[at++].compared += playing->answer.counts[r];
        }
    }
    for (size_t r = CONFORM_SURVIVES; r < CONFORM_NUM_RULES; r++) {
        conform->rows[r].compared++;
    }
}

/* shrinking: the first scenario that broke a rule, and when to be content. */
struct shrinking {
    struct playing *playing;
    const struct conform_break *broken;
    time_t until;
};

static bool shows(void *context, const struct scenario *candidate)
{
    struct shrinking *shrinking = context;
    struct conform_break now;
    return conform_child_play(&shrinking->playing->child, candidate, &shrinking->playing->answer, &now) ==
               CONFORM_BROKEN &&
           now.is_port_rule == shrinking->broken->is_port_rule && now.rule == shrinking->broken->rule;
}

static bool is_over(void *context)
{
    const struct shrinking *shrinking = context;
    return time(NULL) >= shrinking->until;
}

/* write_input: what was made up becomes a file, smaller if it can be; false, with a line on stderr. */
static bool write_input(struct playing *playing, struct conform_row *row, const struct scenario *scenario)
{
    static struct shrink shrink;
    struct shrinking shrinking = {playing, &row->first, time(NULL) + SHRINK_SECONDS};
    char dir[CONFORM_PATH_MAX];
    memset(&shrink, 0, sizeof(shrink));
    shrink.shows = shows;
    shrink.is_over = is_over;
    shrink.context = &shrinking;
    shrink.best = *scenario;
    bool slow = row->first.is_port_rule && (row->first.rule == CONFORM_ANSWERS || row->first.rule == CONFORM_MEMORY);
    if (!slow) {
        struct conform_break smaller;
        (void)shrink_run(&shrink);
        if (conform_child_play(&playing->child, &shrink.best, &playing->answer, &smaller) == CONFORM_BROKEN) {
            row->first = smaller;
        }
    }
    shrink.context = NULL;
    const struct kept kept = {.reason = "made up by conform"};
    return run_path(dir, "%s/inputs", playing->conform->report) && run_make_dir(dir) &&
           run_path(row->input, "%s/%s-%s.txt", dir, playing->tally->target->name, row->id) &&
           kept_write(row->input, &kept, &shrink.best, true);
}

/* play: one scenario; `path` is NULL for one that was made up. False when the suite failed. */
static bool play(struct playing *playing, const struct scenario *scenario, const char *path)
{
    struct conform *conform = playing->conform;
    struct conform_break broken;
    enum conform_end end = conform_child_play(&playing->child, scenario, &playing->answer, &broken);
    playing->tally->operations += scenario->num_steps;
    playing->tally->corpus += path != NULL ? 1 : 0;
    playing->tally->generated += path == NULL ? 1 : 0;
    if (conform->note->num_undone == 0) {
        note_counts(playing);
    } else {
        playing->tally->undone++;
    }
    if (end == CONFORM_FAILED) {
        conform->failed = true;
        return false;
    }
    if (end == CONFORM_HELD) {
        return true;
    }
    struct conform_row *row = row_of(playing, &broken);
    bool slow = broken.is_port_rule && (broken.rule == CONFORM_ANSWERS || broken.rule == CONFORM_MEMORY);
    playing->num_hangs += slow ? 1 : 0;
    if (row->num_broken++ == 0) {
        row->first = broken;
        row->where = playing->tally->target;
        if (path != NULL) {
            (void)snprintf(row->input, sizeof(row->input), "%s", path);
        } else if (!write_input(playing, row, scenario)) {
            conform->failed = true;
        }
        conform_command(row->command, conform, row->input);
    }
    return !conform->failed;
}

/* draw: SplitMix64. */
static uint64_t draw(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* make_up: half of them from nothing, half by changing one of the corpus. */
static void make_up(struct scenario *out, const struct target *target, const struct input *corpus, size_t num,
                    uint64_t *state)
{
    static uint8_t bytes[SCENARIO_INPUT_MAX];
    size_t cap = target->input_len_max;
    size_t len = 0;
    if (num > 0 && draw(state) % 2 == 0) {
        len = scenario_encode(&corpus[draw(state) % num].scenario, bytes, sizeof(bytes));
        size_t changed =
            len > 0 ? mutator_change(target->language, bytes, len, sizeof(bytes), (uint32_t)draw(state)) : 0;
        len = changed > 0 ? changed : len;
    }
    if (len == 0) {
        len = 1 + draw(state) % cap;
        for (size_t i = 0; i < len; i++) {
            bytes[i] = (uint8_t)draw(state);
        }
    }
    scenario_decode(out, target->language, (struct pal_view){bytes, len});
}

static void play_inputs(struct playing *playing, const struct input *corpus, size_t num)
{
    static struct scenario scenario;
    struct conform *conform = playing->conform;
    uint64_t wanted = conform->generate != UINT64_MAX ? conform->generate : num_generated[conform->level];
    uint64_t state = conform->seed;
    for (size_t i = 0; i < num && !conform->failed; i++) {
        if (corpus[i].target != playing->tally->target) {
            continue;
        }
        if (playing->num_hangs >= HANGS_MAX) {
            playing->tally->skipped++;
        } else {
            (void)play(playing, &corpus[i].scenario, corpus[i].path);
        }
    }
    for (uint64_t i = 0; !conform->files_only && i < wanted && !conform->failed; i++) {
        make_up(&scenario, playing->tally->target, corpus, num, &state);
        if (playing->num_hangs >= HANGS_MAX) {
            playing->tally->skipped++;
        } else {
            (void)play(playing, &scenario, NULL);
        }
    }
}

bool conform_play_target(struct conform *conform, const struct input *inputs, size_t num)
{
    static struct playing playing;
    struct conform_tally *tally = &conform->tallies[conform->num_tallies - 1];
    const struct scope scope = scope_declared(&conform->declared);
    size_t first_row = conform->num_rows;
    while (conform->rows[first_row - 1].target == tally->target) {
        first_row--;
    }
    memset(&playing, 0, sizeof(playing));
    playing.conform = conform;
    playing.tally = tally;
    playing.first_row = first_row;
    conform->failed |=
        !conform_child_init(&playing.child, tally->target, &conform->source, conform->limits, conform->note);
    for (size_t r = 0; r < NUM_RULES; r++) {
        playing.child.unbound[r] = scope_excuse(&scope, tally->target, r) != NULL;
    }
    conform->note->num_lacking = 0;
    play_inputs(&playing, inputs, num);
    tally->num_lacking = conform->note->num_lacking;
    memcpy(tally->lacking, conform->note->lacking, sizeof(tally->lacking));
    conform_child_deinit(&playing.child);
    return !conform->failed;
}

/* ---- what it comes to ----------------------------------------------------------------------------------------------
 */

void conform_settle(struct conform *conform)
{
    for (size_t i = 0; i < conform->num_rows; i++) {
        struct conform_row *row = &conform->rows[i];
        if (row->num_broken > 0) {
            row->outcome = CONFORM_FAIL;
        } else if (row->outcome != CONFORM_UNSUPPORTED) {
            row->outcome = row->compared > 0 ? CONFORM_PASS : CONFORM_VACUOUS;
        }
        bool bad = row->outcome == CONFORM_FAIL || row->outcome == CONFORM_VACUOUS;
        const struct conform_waiver *waiver = bad ? conform_waiver_of(&conform->waivers, row->id) : NULL;
        if (waiver != NULL) {
            row->outcome = CONFORM_WAIVED;
            (void)snprintf(row->why, sizeof(row->why), "until %s: %s", waiver->expiry, waiver->reason);
        }
    }
}

void conform_command(char out[HINT_MAX], const struct conform *conform, const char *input)
{
    char words[HINT_MAX] = "";
    const struct conform_source *source = &conform->source;
    if (source->shim != NULL) {
        (void)hint_command(out, hint_shim(words, source->shim), NULL, NULL, input, NULL);
        return;
    }
    if (input != NULL) {
        hint_add(words, "", hint_path(input));
    }
    (void)hint_command(out, source->process ? "conform --as-process --port" : "conform --port", NULL, NULL,
                       source->file, input != NULL ? words : NULL);
}

size_t conform_count(const struct conform *conform, enum conform_outcome outcome)
{
    size_t num = 0;
    for (size_t i = 0; i < conform->num_rows; i++) {
        num += conform->rows[i].outcome == outcome ? 1 : 0;
    }
    return num;
}

uint64_t conform_plays(const struct conform *conform)
{
    uint64_t plays = 0;
    for (size_t i = 0; i < conform->num_tallies; i++) {
        plays += conform->tallies[i].corpus + conform->tallies[i].generated;
    }
    return plays;
}

bool conform_is_red(const struct conform *conform)
{
    bool vacuous = conform->level != LEVEL_SMOKE && !conform->files_only && conform_count(conform, CONFORM_VACUOUS) > 0;
    return conform_count(conform, CONFORM_FAIL) > 0 || vacuous || conform->shortfall[0] != '\0' ||
           conform->refused[0] != '\0';
}
