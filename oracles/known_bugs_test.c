/* SPDX-License-Identifier: Apache-2.0
 * known_bugs_test.c: every row of the catalogue of public reports is answered, every answer exists, and every report
 * that a mutant is known from is in a row.
 */
#include "mutants.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct {
    const char *section;
    int number;
    const char *reports;
    const char *answers;
    const char *sentence;
} rows[] = {
#define KNOWN_BUG(section, number, reports, answers, sentence) {section, number, reports, answers, sentence},
#include "known_bugs.def"
#undef KNOWN_BUG
};

#define NUM_ROWS (sizeof(rows) / sizeof(rows[0]))

/* catalogue: the numbers of its rows, section by section; "found" is what was met later. */
static const struct {
    const char *section;
    const char *numbers;
} catalogue[] = {
    {"D1", "1 2 4 5 7 8 10 11 13 14 16 17 19"},
    {"D2", "20 22 23 25 26 28 29"},
    {"D3", "31 32 34 35 37 38 40 41"},
    {"D4", "43 44 46 47 49 50 52 53 55 56"},
    {"D5", "58 59 61 62 64 65 67 68 70 71 73 74 76 77"},
    {"D6", "79 80 82 83 85 86 88 89 91 92 94 95"},
    {"G",
     "1 2 4 5 7 8 10 11 13 14 16 17 19 20 22 23 25 26 28 29 31 32 34 35 37 38 40 41 43 44 46 47 49 50 52 53 55 56 58 "
     "59"},
    {"C1", "1 2 4 5 7 8 10 11 13 14 16 17 19 20"},
    {"C2", "22 23 25 26 28 29 31 32 34 35 37 38 40 41 43 44 46 47 49 50"},
    {"C3", "52 53 55 56 58 59 61 62 64 65 67 68"},
    {"C4", "70 71 73 74 76"},
};

static size_t rows_of(const char *section, int number)
{
    size_t found = 0;
    for (size_t i = 0; i < NUM_ROWS; i++) {
        found += strcmp(rows[i].section, section) == 0 && rows[i].number == number ? 1 : 0;
    }
    return found;
}

static void every_row_of_the_catalogue_is_here_once(void **state)
{
    size_t all = 0;
    (void)state;
    for (size_t i = 0; i < sizeof(catalogue) / sizeof(catalogue[0]); i++) {
        char *end = NULL;
        for (const char *at = catalogue[i].numbers; *at != '\0'; at = end) {
            int number = (int)strtol(at, &end, 10);
            if (rows_of(catalogue[i].section, number) != 1) {
                (void)fprintf(stderr, "%s %d stands here %zu times\n", catalogue[i].section, number,
                              rows_of(catalogue[i].section, number));
                fail();
            }
            all++;
        }
    }
    assert_int_equal(all, 155);
    for (size_t i = 0; i < NUM_ROWS; i++) {
        all -= strcmp(rows[i].section, "found") != 0 ? 1 : 0;
    }
    assert_int_equal(all, 0);
}

static bool holds(const char *path, const char *text)
{
    char line[4096];
    bool found = false;
    FILE *file = fopen(path, "re");
    while (file != NULL && !found && fgets(line, sizeof(line), file) != NULL) {
        found = strstr(line, text) != NULL;
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return found;
}

/* exists: one answer: mutant:NAME, scenario:TARGET/NAME or test:FILE:FUNCTION. */
static bool exists(const char *answer)
{
    char path[1024];
    char text[256];
    if (strncmp(answer, "mutant:", 7) == 0) {
        return mutant_find(answer + 7) != NULL;
    }
    if (strncmp(answer, "scenario:", 9) == 0) {
        (void)snprintf(path, sizeof(path), "%s/corpus/seeds/%s.txt", PALDIFF_SOURCE_DIR, answer + 9);
        return holds(path, "paldiff ");
    }
    const char *function = strrchr(answer, ':');
    if (strncmp(answer, "test:", 5) != 0 || function < answer + 5) {
        return false;
    }
    (void)snprintf(path, sizeof(path), "%s/%.*s", PALDIFF_SOURCE_DIR, (int)(function - answer - 5), answer + 5);
    (void)snprintf(text, sizeof(text), "static void %s(void **state)", function + 1);
    return holds(path, text);
}

static void every_answer_exists(void **state)
{
    (void)state;
    for (size_t i = 0; i < NUM_ROWS; i++) {
        char answers[1024];
        char *rest = answers;
        (void)snprintf(answers, sizeof(answers), "%s", rows[i].answers);
        for (char *answer = strtok_r(answers, " ", &rest); answer != NULL; answer = strtok_r(NULL, " ", &rest)) {
            if (!exists(answer)) {
                (void)fprintf(stderr, "%s %d: there is no %s\n", rows[i].section, rows[i].number, answer);
                fail();
            }
        }
    }
}

static void every_row_names_its_report_and_says_what_it_is(void **state)
{
    (void)state;
    for (size_t i = 0; i < NUM_ROWS; i++) {
        size_t len = strlen(rows[i].sentence);
        assert_true(strlen(rows[i].reports) > 5);
        /* A row without an answer needs a reason, not a word. */
        assert_true(len > (rows[i].answers[0] == '\0' ? 60u : 15u) && rows[i].sentence[len - 1] == '.');
    }
}

/* reported: whether the number (with its #), CVE or commit that starts at `token` is in a row. */
static bool reported(const char *token, size_t len)
{
    bool found = false;
    for (size_t i = 0; i < NUM_ROWS && !found; i++) {
        for (const char *at = strstr(rows[i].reports, token); at != NULL && !found; at = strstr(at + 1, token)) {
            found = strchr("0123456789abcdef", at[len]) == NULL || at[len] == '\0';
        }
    }
    return found;
}

static void every_report_that_a_mutant_names_is_in_a_row(void **state)
{
    size_t seen = 0;
    (void)state;
    for (size_t i = 0; i < num_mutants; i++) {
        for (const char *at = mutants[i].source; *at != '\0'; at++) {
            char token[32];
            size_t len = 0;
            if (*at == '#') {
                len = 1 + strspn(at + 1, "0123456789");
            } else if (strncmp(at, "CVE-", 4) == 0) {
                len = 4 + strspn(at + 4, "0123456789-");
            }
            if (len < 2) {
                continue;
            }
            (void)snprintf(token, sizeof(token), "%.*s", (int)len, at);
            if (!reported(token, len)) {
                (void)fprintf(stderr, "%s is known from %s, which is in no row of known_bugs.def\n", mutants[i].name,
                              token);
                fail();
            }
            seen++;
        }
    }
    assert_true(seen > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_of_the_catalogue_is_here_once),
        cmocka_unit_test(every_answer_exists),
        cmocka_unit_test(every_row_names_its_report_and_says_what_it_is),
        cmocka_unit_test(every_report_that_a_mutant_names_is_in_a_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
