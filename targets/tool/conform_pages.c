/* SPDX-License-Identifier: Apache-2.0
 * conform_pages.c: a page for each rule, made from the tables: what it says, the bugs that it stands for, how to read
 * its failure. Nothing on them is written by hand, so nothing can be out of date.
 */
#include "conform.h"

#include "run.h"

#include <errno.h>
#include <string.h>

static FILE *open_page(const char *dir, const char *name)
{
    char path[CONFORM_PATH_MAX];
    FILE *page = run_path(path, "%s/%s.md", dir, name) ? fopen(path, "we") : NULL;
    if (page == NULL) {
        (void)fprintf(stderr, "paldiff: %s/%s.md cannot be written: %s\n", dir, name, strerror(errno));
    }
    return page;
}

static bool close_page(FILE *page)
{
    bool good = ferror(page) == 0;
    return fclose(page) == 0 && good;
}

static void print_reading(FILE *page, const char *id)
{
    (void)fprintf(
        page,
        "\n## How to read its failure\n\n"
        "    rule %s target TARGET step N got WHAT WAS SEEN want WHAT THE CONTRACT SAYS\n\n"
        "`step` counts the operations of the scenario from 1; `operation` is the line of the scenario, and\n"
        "`world` the table and mode of the port that showed it. The `replay` line plays that one scenario\n"
        "again; `paldiff show FILE` prints it step by step as the reference does it. What the operations mean:\n"
        "`paldiff list --fields`. The functions and statuses: [the contract](contract.md).\n",
        id);
}

/* print_bugs: planted ones that this rule, and none before it, has to catch. */
static void print_bugs(FILE *page, const char *id)
{
    size_t num = 0;
    (void)fputs("\n## Bugs it stands for\n\n", page);
    for (size_t i = 0; i < num_mutants; i++) {
        const struct mutant *mutant = &mutants[i];
        if (strcmp(mutant->rule, id) == 0) {
            (void)fprintf(page, "- `%s`, known from: %s. Shown by `seeds/%s/%s.txt`.\n", mutant->name,
                          mutant->source[0] != '\0' ? mutant->source : "our own thinking", mutant->area,
                          mutant->witness);
            num++;
        }
    }
    if (num == 0) {
        (void)fputs("Those of `targets/ports/bad/port.c`.\n", page);
    } else {
        (void)fputs("\nEach is planted in the reference by `paldiff replay --mutant NAME FILE`.\n", page);
    }
}

static bool write_rule(const char *dir, FILE *index, const char *id, const char *sentence)
{
    FILE *page = open_page(dir, id);
    if (page == NULL) {
        return false;
    }
    (void)fprintf(page, "# %s\n\n%s.\n\nJudged in:", id, sentence);
    const struct rule *rule = rule_find(id);
    for (size_t i = 0; rule != NULL && i < num_targets; i++) {
        if (rule_binds(rule, targets[i]->name)) {
            (void)fprintf(page, " `%s` (%s)", targets[i]->name, targets[i]->sentence);
        }
    }
    (void)fputs(rule == NULL ? " every target, by the process that waits for the port's.\n" : ".\n", page);
    print_bugs(page, id);
    print_reading(page, id);
    (void)fprintf(index, "- [%s](%s.md): %s\n", id, id, sentence);
    return close_page(page);
}

static bool write_statuses(const char *dir)
{
    FILE *page = open_page(dir, "statuses");
    if (page == NULL) {
        return false;
    }
    (void)fputs("# Statuses\n\n| status | as printed | meaning |\n|---|---|---|\n", page);
#define STATUS(name, text, sentence) (void)fprintf(page, "| `PAL_%s` | %s | %s |\n", #name, text, sentence);
#include "status.def"
#undef STATUS
    return close_page(page);
}

static bool write_contract(const char *dir)
{
    FILE *page = open_page(dir, "contract");
    if (page == NULL) {
        return false;
    }
    bool good = conform_write_contract(page);
    return close_page(page) && good;
}

bool conform_write_pages(const char *dir)
{
    FILE *index = run_make_dir(dir) ? open_page(dir, "index") : NULL;
    bool good = index != NULL && write_statuses(dir) && write_contract(dir);
    if (index == NULL) {
        return false;
    }
    (void)fputs("# Rules that ports are held against\n\n[The contract](contract.md) is `pal.h`, function by function;\n"
                "[statuses](statuses.md) has what they answer. A page for each rule:\n\n",
                index);
    for (size_t r = 0; good && r < NUM_RULES; r++) {
        char id[64];
        (void)snprintf(id, sizeof(id), "%s.%s", rules[r].area, rules[r].name);
        good = write_rule(dir, index, id, rules[r].sentence);
    }
#define CONFORM_RULE(symbol, name, sentence) good = good && write_rule(dir, index, "port." name, sentence);
#include "conform_rules.def"
#undef CONFORM_RULE
    return close_page(index) && good;
}
