/* SPDX-License-Identifier: Apache-2.0
 * kept.c: the comments of a kept scenario. One line each, "# name: words"; anything else is somebody's own comment.
 */
#include "kept.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct {
    const char *name;
    size_t offset;
} rows[] = {
    {"rule", offsetof(struct kept, rule)},
    {"mutant", offsetof(struct kept, mutant)},
    {"found with", offsetof(struct kept, found_with)},
    {"reason", offsetof(struct kept, reason)},
};

#define NUM_ROWS (sizeof(rows) / sizeof(rows[0]))

static void read_line(struct kept *out, const char *line, size_t len)
{
    for (size_t i = 0; i < NUM_ROWS; i++) {
        char start[32];
        size_t start_len = (size_t)snprintf(start, sizeof(start), "# %s: ", rows[i].name);
        if (len > start_len && memcmp(line, start, start_len) == 0) {
            (void)snprintf((char *)out + rows[i].offset, KEPT_TEXT_MAX, "%.*s", (int)(len - start_len),
                           line + start_len);
        }
    }
}

void kept_read(struct kept *out, struct pal_view input)
{
    const char *at = (const char *)input.data;
    const char *end = at + input.len;
    memset(out, 0, sizeof(*out));
    while (scenario_is_text(input) && at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t len = (size_t)((newline != NULL ? newline : end) - at);
        read_line(out, at, len);
        at += len + 1;
    }
}

/* add_from_report: the report's lines "  engine: ..." and "  built with: ...", one behind the other. */
static void add_from_report(char out[KEPT_TEXT_MAX], const char *report)
{
    static const char *const wanted[] = {"  built with: ", "  engine: "};
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        for (const char *at = strstr(report, wanted[i]); at != NULL; at = strstr(at, wanted[i])) {
            size_t used = strlen(out);
            at += strlen(wanted[i]);
            (void)snprintf(out + used, KEPT_TEXT_MAX - used, "%s%.*s", used > 0 ? "; " : "", (int)strcspn(at, "\n"),
                           at);
        }
    }
}

void kept_fill(struct kept *kept, const struct input *input, const char *mutant, const struct guard_answer *answer)
{
    const char *under = input_found_under(input);
    char text[GUARD_TEXT_MAX];
    if (answer->end == GUARD_RULE) {
        (void)snprintf(kept->rule, sizeof(kept->rule), "%s.%s", rules[answer->rule].area, rules[answer->rule].name);
    } else if (answer->end != GUARD_HELD) {
        (void)snprintf(kept->rule, sizeof(kept->rule), "(none) %.400s", guard_describe(text, answer));
    }
    if (mutant != NULL && mutant != kept->mutant) {
        (void)snprintf(kept->mutant, sizeof(kept->mutant), "%s", mutant);
    }
    if (kept->found_with[0] == '\0') {
        if (under != NULL) {
            (void)snprintf(kept->found_with, sizeof(kept->found_with), "fuzzing under sanitizer %s", under);
        }
        add_from_report(kept->found_with, answer->text);
    }
}

void kept_print(const struct kept *kept, const struct scenario *scenario, FILE *out)
{
    (void)fprintf(out, "paldiff %s %u\n", scenario->language->target, scenario->language->version);
    for (size_t i = 0; i < NUM_ROWS; i++) {
        const char *text = (const char *)kept + rows[i].offset;
        if (text[0] != '\0') {
            (void)fprintf(out, "# %s: %s\n", rows[i].name, text);
        }
    }
    for (size_t i = 0; i < scenario->num_steps; i++) {
        scenario_print_step(scenario, i, out);
        (void)fputc('\n', out);
    }
}

char *kept_text(const struct scenario *scenario)
{
    char *text = NULL;
    size_t len = 0;
    FILE *stream = open_memstream(&text, &len);
    if (stream == NULL) {
        return NULL;
    }
    scenario_print(scenario, stream);
    if (fclose(stream) != 0) {
        free(text);
        text = NULL;
    }
    return text;
}

bool kept_write(const char *path, const struct kept *kept, const struct scenario *scenario, bool overwrite)
{
    int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | (overwrite ? O_TRUNC : O_EXCL), 0666);
    FILE *out = file >= 0 ? fdopen(file, "w") : NULL;
    bool good = out != NULL;
    if (good) {
        kept_print(kept, scenario, out);
        good = ferror(out) == 0;
        good = fclose(out) == 0 && good;
        if (!good) {
            (void)unlink(path);
        }
    }
    if (!good) {
        (void)fprintf(stderr, "paldiff: %s cannot be written: %s\n", path, strerror(errno));
    }
    return good;
}
