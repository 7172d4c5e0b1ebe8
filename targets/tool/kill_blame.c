/* SPDX-License-Identifier: Apache-2.0
 * kill_blame.c: tells a sanitizer's finding in a mutated port from a defect of the suite. It goes by file names: it
 * would break if lib/ or oracles/mutants*.c moved, and it blames nobody when there is no symbolizer.
 */
#include "kill.h"

#include <string.h>

/* The first that matches decides. */
static const struct {
    const char *part;
    enum kill_blame blame;
} places[] = {
    {"/compiler-rt/", BLAME_NOBODY}, {"/lib/pool/", BLAME_PORT},       {"/lib/send/", BLAME_PORT},
    {"/lib/crypt/", BLAME_PORT},     {"/lib/tls/", BLAME_PORT},        {"/lib/env/", BLAME_PORT},
    {"/lib/token.c", BLAME_PORT},    {"/oracles/mutants", BLAME_PORT}, {"/oracles/", BLAME_SUITE},
    {"/targets/", BLAME_SUITE},
};

/* As transport.c says it, at the start of a line. */
static const char hang[] = "paldiff: a port waits for ever";

/* lent: reports about memory that is not its user's to touch: the suite poisons nothing that it uses itself. */
static const char *const lent[] = {"use-after-poison", "use-of-uninitialized-value"};

static bool in_line(const char *line, size_t len, const char *text)
{
    const char *found = strstr(line, text);
    return found != NULL && found < line + len;
}

/* own_end: what the port, or the library for it, says itself. */
static bool own_end(const char *line, size_t len)
{
    return strncmp(line, hang, strlen(hang)) == 0 ||
           (in_line(line, len, "/lib/") && in_line(line, len, ": Assertion `") && in_line(line, len, "' failed."));
}

static enum kill_blame blame_of_line(const char *line, size_t len)
{
    char text[1024];
    len = len < sizeof(text) - 1 ? len : sizeof(text) - 1;
    memcpy(text, line, len);
    text[len] = '\0';
    bool frame = strncmp(text + strspn(text, " "), "#", 1) == 0 && strstr(text, " 0x") != NULL;
    if (!frame && strstr(text, ": runtime error: ") == NULL) {
        return BLAME_NOBODY;
    }
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        if (strstr(text, places[i].part) != NULL) {
            return places[i].blame;
        }
    }
    return BLAME_NOBODY;
}

enum kill_blame kill_blame_of(const char *report, char summary[KILL_TEXT_MAX])
{
    enum kill_blame blame = BLAME_NOBODY;
    bool sanitizer = false;
    bool is_lent = false;
    char unused[KILL_TEXT_MAX];
    summary = summary != NULL ? summary : unused;
    summary[0] = '\0';
    for (const char *line = report; *line != '\0';) {
        size_t len = strcspn(line, "\n");
        if (own_end(line, len)) {
            (void)snprintf(summary, KILL_TEXT_MAX, "%.*s", (int)len, line);
            return BLAME_END;
        }
        /* "ERROR: AddressSanitizer", "WARNING: MemorySanitizer", or a line of UBSan's. libFuzzer's own reports, of a
         * signal or of the end of its memory, say nothing about a bug. */
        sanitizer = sanitizer || in_line(line, len, "Sanitizer: ") || in_line(line, len, ": runtime error: ");
        for (size_t i = 0; i < sizeof(lent) / sizeof(lent[0]); i++) {
            is_lent = is_lent || (in_line(line, len, "Sanitizer: ") && in_line(line, len, lent[i]));
        }
        if (sanitizer && blame == BLAME_NOBODY) {
            blame = blame_of_line(line, len);
        }
        if (summary[0] == '\0' && strncmp(line, "SUMMARY: ", strlen("SUMMARY: ")) == 0) {
            size_t skip = strlen("SUMMARY: ");
            (void)snprintf(summary, KILL_TEXT_MAX, "%.*s", (int)(len - skip), line + skip);
        }
        line += len + (line[len] != '\0' ? 1 : 0);
    }
    return blame == BLAME_SUITE && is_lent ? BLAME_PORT : blame;
}
