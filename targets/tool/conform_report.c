/* SPDX-License-Identifier: Apache-2.0
 * conform_report.c: one page for people: who was tested with what, how much ran, what came of it, and what was not
 * tested at all.
 */
#include "conform.h"

#include "poison.h"
#include "ports.h"

#include <inttypes.h>
#include <string.h>

#define FAILURES_SHOWN 20u

#if defined(__clang__)
#define COMPILER __VERSION__ /* names itself */
#else
#define COMPILER "gcc " __VERSION__
#endif

const char *const conform_build = COMPILER ", sanitizer " PALDIFF_SANITIZER;
const char *const conform_suite = PALDIFF_VERSION;

const char *conform_verdict(const struct conform *conform)
{
    if (conform->failed || conform->num_caught < conform->num_planted) {
        return "SUITE FAILED";
    }
    if (conform_is_red(conform)) {
        return "BROKEN";
    }
    return conform_plays(conform) == 0 ? "NOTHING RAN" : conform->level == LEVEL_CERTIFY ? "CERTIFIED" : "HELD";
}

static void print_declared(FILE *out, const struct conform_declared *declared)
{
    static const char *const modes[PAL_NUM_MODES] = {"one-shot", "cached"};
    (void)fputs("  declares     ", out);
    for (size_t i = 0; i < 6; i++) {
        if (!declared->areas[i]) {
            continue;
        }
        (void)fprintf(out, "%s ", conform_area_names[i]);
        bool crypt = i == 3 || i == 4;
        for (size_t mode = 0; crypt && mode < PAL_NUM_MODES; mode++) {
            if (declared->modes[i - 3][mode]) {
                (void)fprintf(out, "(%s) ", modes[mode]);
            }
        }
    }
    (void)fprintf(out, "; randomness %s, clock %s the environment\n", declared->env_random ? "from" : "not from",
                  declared->env_clock ? "from" : "not from");
}

static void print_header(FILE *out, const struct conform *conform)
{
    const struct conform_declared *declared = &conform->declared;
    const struct pal_port *openssl = pal_port_openssl();
    const struct pal_port *boringssl = pal_port_boringssl();
    if (!declared->loaded || declared->abi != PAL_ABI_VERSION) {
        (void)fprintf(out, "%s: no port that this suite knows: %s\n", conform_verdict(conform),
                      conform->source.shim != NULL ? conform->source.shim : conform->source.file);
        return;
    }
    (void)fprintf(out, "%s: port \"%s\", version %s, ABI %" PRIu32 ", at level %s\n\n", conform_verdict(conform),
                  declared->name, declared->version, declared->abi, conform_level_names[conform->level]);
    if (conform->source.process) {
        (void)fputs("  judged       by what a port in another process shows\n", out);
    } else {
        (void)fprintf(out, "  file         %s\n", conform->source.file);
    }
    print_declared(out, declared);
    (void)fprintf(out, "  suite        paldiff %s, contract ABI %u; %s\n", conform_suite, PAL_ABI_VERSION,
                  conform_build);
    (void)fprintf(out, "  references   %s; %s\n", openssl != NULL ? openssl->version : "none",
                  boringssl != NULL ? boringssl->version : "none");
    (void)fprintf(out, "  corpus       %zu scenarios, FNV-1a %016" PRIx64 "\n", conform->corpus_files,
                  conform->corpus_hash);
    (void)fprintf(out, "  limits       %u s a scenario, %u MB\n", conform->limits.seconds, conform->limits.megabytes);
    (void)fprintf(out, "  day          %s\n", conform->today);
    if (!conform->files_only) {
        (void)fprintf(out, "  self-test    the suite caught %zu of %zu of its own planted bugs%s%s\n",
                      conform->num_caught, conform->num_planted, conform->uncaught[0] != '\0' ? ", not " : "",
                      conform->uncaught);
    }
}

static void print_played(FILE *out, const struct conform *conform)
{
    uint64_t generated = 0;
    uint64_t operations = 0;
    for (size_t i = 0; i < conform->num_tallies; i++) {
        generated += conform->tallies[i].generated;
        operations += conform->tallies[i].operations;
    }
    (void)fprintf(out,
                  "  executions   %" PRIu64 " scenarios, %" PRIu64 " of them made up from seed %" PRIu64 "; %" PRIu64
                  " operations\n",
                  conform_plays(conform), generated, conform->seed, operations);
    (void)fputs("  rules        ", out);
    for (size_t i = 0; i < CONFORM_NUM_OUTCOMES; i++) {
        (void)fprintf(out, "%s%zu %s", i > 0 ? ", " : "", conform_count(conform, (enum conform_outcome)i),
                      conform_outcome_names[i]);
    }
    (void)fputs("\n\n", out);
}

static void print_targets(FILE *out, const struct conform *conform)
{
    (void)fprintf(out, "  %-9s %9s %9s %11s  %5s %5s %11s %7s %6s\n", "target", "corpus", "made up", "compared", "pass",
                  "fail", "unsupported", "vacuous", "waived");
    for (size_t i = 0; i <= conform->num_tallies; i++) {
        const struct conform_tally *tally = i > 0 ? &conform->tallies[i - 1] : NULL;
        const struct target *target = tally != NULL ? tally->target : NULL;
        size_t counts[CONFORM_NUM_OUTCOMES] = {0};
        uint64_t compared = 0;
        for (size_t r = 0; r < conform->num_rows; r++) {
            if (conform->rows[r].target == target) {
                counts[conform->rows[r].outcome]++;
                compared += conform->rows[r].compared;
            }
        }
        (void)fprintf(out, "  %-9s %9" PRIu64 " %9" PRIu64 " %11" PRIu64 "  %5zu %5zu %11zu %7zu %6zu\n",
                      target != NULL ? target->name : "(port)", tally != NULL ? tally->corpus : 0,
                      tally != NULL ? tally->generated : 0, compared, counts[CONFORM_PASS], counts[CONFORM_FAIL],
                      counts[CONFORM_UNSUPPORTED], counts[CONFORM_VACUOUS], counts[CONFORM_WAIVED]);
    }
}

/* print_text: the lines under the first, which says what the line above it said. */
static void print_text(FILE *out, const char *text)
{
    const char *rest = strncmp(text, "rule ", 5) == 0 ? strchr(text, '\n') : NULL;
    (void)fputs(rest != NULL ? rest + 1 : text, out);
}

static void print_failure(FILE *out, const struct conform_row *row)
{
    const struct conform_break *first = &row->first;
    (void)fprintf(out, "\nrule %s target %s step ", row->id, row->where != NULL ? row->where->name : "-");
    (void)(first->step > 0 ? fprintf(out, "%" PRIu64, first->step) : fputs("-", out));
    (void)fprintf(out, " got %s want %s\n", first->got, first->want);
    if (first->is_port_rule) {
        (void)fprintf(out, "  clause: %s\n", row->sentence);
    }
    print_text(out, first->text);
    (void)fprintf(out, "  scenarios that break it: %" PRIu64 "\n", row->num_broken);
    if (row->outcome == CONFORM_WAIVED) {
        (void)fprintf(out, "  waived %s\n", row->why);
    }
    (void)fprintf(out, "  replay: %s\n", row->command);
}

/* print_vacuous: a line for each target that has some. */
static void print_vacuous(FILE *out, const struct conform *conform)
{
    const struct target *last = NULL;
    for (size_t i = 0; !conform->files_only && i < conform->num_rows; i++) {
        const struct conform_row *row = &conform->rows[i];
        if (row->outcome == CONFORM_VACUOUS && row->target != NULL) {
            const char *before = row->target == last ? "," : "\nvacuous, nothing was compared:";
            (void)fprintf(out, "%s %s", before, row->id);
            last = row->target;
        }
    }
    (void)fputs(last != NULL ? "\n" : "", out);
}

static void print_failures(FILE *out, const struct conform *conform)
{
    size_t num = 0;
    for (size_t i = 0; i < conform->num_rows; i++) {
        if (conform->rows[i].num_broken > 0 && num++ < FAILURES_SHOWN) {
            print_failure(out, &conform->rows[i]);
        }
    }
    if (num > FAILURES_SHOWN) {
        (void)fprintf(out, "\nand %zu rules more, in conform.json\n", num - FAILURES_SHOWN);
    }
    print_vacuous(out, conform);
    if (conform->shortfall[0] != '\0') {
        (void)fprintf(out, "\nless ran than before: %s\n", conform->shortfall);
    }
    if (conform->refused[0] != '\0') {
        (void)fprintf(out, "\nno certificate: %s\n", conform->refused);
    }
}

static void print_not_tested(FILE *out, const struct conform *conform)
{
    (void)fputs("\nNot tested:\n", out);
    for (size_t i = 0; i < conform->num_tallies; i++) {
        const struct conform_tally *tally = &conform->tallies[i];
        if (!tally->declared) {
            (void)fprintf(out, "  target %s: the port has nothing of the area\n", tally->target->name);
        }
        for (size_t l = 0; l < tally->num_lacking; l++) {
            (void)fprintf(out, "  target %s, %s: the port answers that it is unsupported\n", tally->target->name,
                          tally->lacking[l]);
        }
        if (tally->undone > 0) {
            (void)fprintf(out,
                          "  target %s: %" PRIu64
                          " scenarios have calls that the port answers \"unsupported\" to: what "
                          "they broke counts, what held does not\n",
                          tally->target->name, tally->undone);
        }
        if (tally->skipped > 0) {
            (void)fprintf(out, "  target %s: %" PRIu64 " scenarios, after too many that were never answered\n",
                          tally->target->name, tally->skipped);
        }
    }
    const char *told = "";
    for (size_t i = 0; i < conform->num_rows; i++) {
        const struct conform_row *row = &conform->rows[i];
        bool own = row->outcome == CONFORM_UNSUPPORTED && strcmp(row->why, "the port has nothing of the area") != 0;
        if (own) {
            (void)fprintf(out, "  %s in %s: %s\n", row->id, row->target != NULL ? row->target->name : "the port",
                          strcmp(told, row->why) == 0 ? "the same" : row->why);
            told = row->why;
        }
    }
    (void)fputs(
        "  threads that run at the same time (scenarios play theirs in lockstep), real sockets and files, timing\n"
        "  and side channels, what the port does outside of the calls of its tables\n",
        out);
}

void conform_print(FILE *out, const struct conform *conform)
{
    print_header(out, conform);
    if (conform->num_tallies > 0) {
        print_played(out, conform);
        print_targets(out, conform);
    }
    print_failures(out, conform);
    print_not_tested(out, conform);
}
