/* SPDX-License-Identifier: Apache-2.0
 * replay_tell.c: what a replay found, for people (with the commands that come next) and for machines.
 */
#include "findings.h"
#include "hint.h"
#include "poison.h"
#include "replay.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* telling: memory that the findings' strings point into. */
struct telling {
    char id[64];
    char command[HINT_MAX];
    char details[GUARD_TEXT_MAX];
    char summary[GUARD_TEXT_MAX];
};

static const char *mutant_of(const struct replay *replay, const struct replay_case *one)
{
    return inputs_mutant(&replay->options->inputs, one->input.target);
}

static void print_next(FILE *out, const struct replay *replay, const struct replay_case *one)
{
    static const char *const verbs[] = {"show", "shrink"};
    char command[HINT_MAX];
    for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
        (void)fprintf(out, "  %s: %s\n", verbs[i],
                      hint_command(command, verbs[i], mutant_of(replay, one),
                                   inputs_target_hint(&replay->options->inputs, &one->input), one->input.path, NULL));
    }
}

/* print_elsewhere: an input that holds here and was found by another sanitizer. */
static void print_elsewhere(const struct replay_case *one)
{
    const char *under = input_found_under(&one->input);
    if (under != NULL && strcmp(under, PALDIFF_SANITIZER) != 0) {
        (void)fprintf(
            stderr,
            "paldiff: %s held in this build (sanitizer %s), and was found under %s: play it in that build too\n",
            hint_path(one->input.path), PALDIFF_SANITIZER, under);
    }
}

static void print_case(FILE *out, const struct replay *replay, const struct replay_case *one)
{
    char text[GUARD_TEXT_MAX];
    if (one->answer == NULL) {
        print_elsewhere(one);
    } else if (one->answer->end == GUARD_RULE) {
        (void)fprintf(out, "BROKEN %s\n%s", hint_path(one->input.path), one->answer->text);
        print_next(out, replay, one);
    } else {
        (void)fprintf(out, "ENDED %s\n%s target %s\n  built with: sanitizer %s\n", hint_path(one->input.path),
                      guard_describe(text, one->answer), one->input.target->name, PALDIFF_SANITIZER);
        print_next(out, replay, one);
    }
    if (one->unseen[0] != '\0') {
        (void)fprintf(out, "UNSEEN %s: %s\n", hint_path(one->input.path), one->unseen);
    }
    if (replay->options->hashes) {
        const char *name = strrchr(one->input.path, '/');
        (void)fprintf(out, "%016" PRIx64 " %s/%s\n", one->hash, one->input.target->name,
                      name != NULL ? name + 1 : one->input.path);
    }
}

/* ---- for machines --------------------------------------------------------------------------------------------------
 */

/* split: the lines under the first, without their indentation. */
static void split(const char *details[FINDING_DETAILS_MAX], char *text)
{
    size_t num = 0;
    char *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
        if (strncmp(line, "  ", 2) == 0 && num + 1 < FINDING_DETAILS_MAX) {
            details[num++] = line + 2;
        }
    }
}

static void fill_case(struct findings_case *out, struct telling *telling, const struct replay *replay,
                      const struct replay_case *one)
{
    struct finding *finding = &out->finding;
    const struct guard_answer *answer = one->answer;
    *out = (struct findings_case){.name = one->input.path,
                                  .target = one->input.target->name,
                                  .sanitizer = PALDIFF_SANITIZER,
                                  .mutant = mutant_of(replay, one),
                                  .seconds = one->seconds};
    if (answer == NULL && one->inexact == NULL && one->unseen[0] == '\0') {
        return;
    }
    finding->file = one->input.path;
    finding->command = hint_command(telling->command, "replay", out->mutant,
                                    inputs_target_hint(&replay->options->inputs, &one->input), one->input.path, NULL);
    finding->summary = telling->summary;
    if (one->inexact != NULL) {
        finding->kind = "inexact";
        (void)snprintf(telling->summary, sizeof(telling->summary), "does not replay exactly %s", one->inexact);
    } else if (answer == NULL) {
        finding->kind = "unseen";
        (void)snprintf(telling->summary, sizeof(telling->summary), "%s", one->unseen);
    } else if (answer->end == GUARD_RULE) {
        finding->kind = "rule";
        (void)snprintf(telling->id, sizeof(telling->id), "%s.%s", rules[answer->rule].area, rules[answer->rule].name);
        finding->rule = telling->id;
        finding->step = answer->step;
        finding->got = answer->got;
        finding->want = answer->want;
        finding->summary = rules[answer->rule].sentence;
        (void)snprintf(telling->details, sizeof(telling->details), "%s", answer->text);
        split(finding->details, telling->details);
    } else {
        finding->kind = answer->end == GUARD_LATE ? "timeout" : "crash";
        (void)snprintf(telling->summary, sizeof(telling->summary), "%s", answer->text);
    }
}

static bool tell_machines(const struct replay *replay)
{
    const struct replay_options *options = replay->options;
    size_t num = replay->num_cases + replay->num_extras;
    struct findings_case *cases = calloc(num + 1, sizeof(*cases));
    struct telling *tellings = calloc(replay->num_cases + 1, sizeof(*tellings));
    bool good = cases != NULL && tellings != NULL;
    for (size_t i = 0; good && i < replay->num_cases; i++) {
        fill_case(&cases[i], &tellings[i], replay, &replay->cases[i]);
    }
    for (size_t i = 0; good && i < replay->num_extras; i++) {
        const struct replay_extra *extra = &replay->extras[i];
        cases[replay->num_cases + i] =
            (struct findings_case){.name = extra->summary,
                                   .target = extra->target->name,
                                   .sanitizer = PALDIFF_SANITIZER,
                                   .finding = {.kind = extra->kind, .summary = extra->summary}};
    }
    struct findings findings = {"paldiff replay", num, cases};
    good = good && (options->junit == NULL || findings_write_junit(&findings, options->junit));
    good = good && (options->sarif == NULL || findings_write_sarif(&findings, options->sarif));
    good = good && (!options->json || tool_print_json(findings_json(&findings)));
    free(cases);
    free(tellings);
    return good;
}

int replay_tell(const struct replay *replay)
{
    FILE *words = replay->options->json ? stderr : stdout;
    size_t num_broken = 0;
    size_t num_inexact = 0;
    size_t num_vacuous = 0;
    for (size_t i = 0; i < replay->num_cases; i++) {
        const struct replay_case *one = &replay->cases[i];
        print_case(words, replay, one);
        num_broken += one->answer != NULL || one->unseen[0] != '\0' ? 1 : 0;
        num_inexact += one->inexact != NULL ? 1 : 0;
    }
    for (size_t i = 0; i < replay->num_extras; i++) {
        const struct replay_extra *extra = &replay->extras[i];
        bool vacuous = strcmp(extra->kind, "vacuous") == 0;
        (void)fprintf(words, "%s %s\n", vacuous ? "VACUOUS" : "LEAK", extra->summary);
        num_vacuous += vacuous ? 1 : 0;
        num_broken += vacuous ? 0 : 1;
    }
    (void)fflush(words);
    (void)fprintf(stderr, "%zu inputs played, %zu broken, %zu not exact, %zu rules vacuous", replay->num_cases,
                  num_broken, num_inexact, num_vacuous);
    (void)fprintf(stderr, replay->options->kept ? ", %zu kept with their mutants\n" : "\n", replay->num_kept);
    bool told = tell_machines(replay);
    if (num_inexact > 0) {
        return EXIT_SUITE;
    }
    if (num_broken > 0 || num_vacuous > 0) {
        return EXIT_BROKEN;
    }
    return told ? EXIT_HELD : EXIT_SUITE;
}
