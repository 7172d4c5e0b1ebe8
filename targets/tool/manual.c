/* SPDX-License-Identifier: Apache-2.0
 * manual.c: the manual page. It breaks when a command describes itself in another way than by rows of argp.
 */
#include "manual.h"

#include "harness.h"

#include <ctype.h>
#include <string.h>

/* put: text as roff takes it; a hyphen that people may copy is a minus there. */
static void put(FILE *out, const char *text)
{
    for (const char *at = text; *at != '\0'; at++) {
        switch (*at) {
        case '-':
            (void)fputs("\\-", out);
            break;
        case '\\':
            (void)fputs("\\e", out);
            break;
        case '.':
        case '\'':
            (void)fprintf(out, "%s%c", at == text ? "\\&" : "", *at);
            break;
        default:
            (void)fputc(*at, out);
            break;
        }
    }
}

/* put_line: a request with text after it. */
static void put_line(FILE *out, const char *request, const char *text)
{
    (void)fputs(request, out);
    put(out, text);
    (void)fputc('\n', out);
}

static void put_option(FILE *out, const struct argp_option *option)
{
    bool is_short = option->key > 0 && option->key <= 127 && isalnum(option->key) != 0;
    (void)fputs(".TP\n.B ", out);
    if (is_short) {
        (void)fprintf(out, "\\-%c", option->key);
    }
    if (option->name != NULL) {
        (void)fputs(is_short ? ", \\-\\-" : "\\-\\-", out);
        put(out, option->name);
    }
    if (option->arg != NULL) {
        (void)fputs(option->name != NULL ? "=" : " ", out);
        put(out, option->arg);
    }
    (void)fputc('\n', out);
    put_line(out, "", option->doc != NULL ? option->doc : "");
}

void manual_head(FILE *out)
{
    (void)fputs(".TH PALDIFF 1 \"\" paldiff \"User Commands\"\n"
                ".SH NAME\npaldiff \\- fuzz and compare the fast and the plain ways of a platform layer\n"
                ".SH SYNOPSIS\n.B paldiff\n.I COMMAND\n[\\fIOPTION\\fR...] [\\fIARGUMENT\\fR...]\n"
                ".SH DESCRIPTION\n",
                out);
    put_line(out, "",
             "A target plays one scenario in several worlds: pooled and fresh buffers, gathered and single writes, "
             "cached and one-shot contexts, over OpenSSL and BoringSSL. Rules compare what happened, step by step. "
             "A mutant is a planted bug that a rule must catch.");
    put_line(out, ".PP\n",
             "Every command takes --help and --usage. Results go to standard output, words to standard "
             "error; with --json standard output holds JSON alone.");
    (void)fputs(".SH COMMANDS\n", out);
}

void manual_command(FILE *out, const char *name, const struct argp *argp)
{
    const char *example = argp->doc != NULL ? strstr(argp->doc, "Example: ") : NULL;
    int doc_len = example != NULL ? (int)(example - argp->doc) : (int)strlen(argp->doc != NULL ? argp->doc : "");
    char doc[2048];
    (void)snprintf(doc, sizeof(doc), "%.*s", doc_len, argp->doc != NULL ? argp->doc : "");
    put_line(out, ".SS ", name);
    (void)fputs(".B paldiff ", out);
    put(out, name);
    (void)fputs(" [OPTION...] ", out);
    put_line(out, "", argp->args_doc != NULL ? argp->args_doc : "");
    put_line(out, ".PP\n", doc);
    for (const struct argp_option *option = argp->options;
         option != NULL && (option->name != NULL || option->key != 0 || option->doc != NULL); option++) {
        put_option(out, option);
    }
    if (example != NULL) {
        put_line(out, ".PP\nExample:\n.PP\n.RS\n.B ", example + strlen("Example: "));
        (void)fputs(".RE\n", out);
    }
}

void manual_tail(FILE *out)
{
    static const struct {
        const char *name;
        const char *text;
    } codes[] = {{"0", "All rules held."},
                 {"1", "A rule is broken, or a fuzz program ended abnormally."},
                 {"2", "Wrong usage: an option, a name, or an input that cannot be read."},
                 {"3", "The suite itself or the build failed, or a run was interrupted before it found anything."},
                 {"4", "Nothing ran, or nothing was compared."},
                 {"89", "One case does not apply here and was skipped."}},
      variables[] = {
          {"PALDIFF_CORPUS", "The folder with seeds/ and regress/, instead of the source tree's."},
          {"PALDIFF_COMMAND", "What stands in front of printed commands, instead of ci/run paldiff."},
          {"ASAN_OPTIONS, MSAN_OPTIONS, TSAN_OPTIONS, UBSAN_OPTIONS",
           "Added to what paldiff run sets for fuzz programs; they win."},
          {"TERM", "With dumb, progress is told as in a log."},
      };
    (void)fputs(".SH EXIT STATUS\n", out);
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        put_line(out, ".TP\n.B ", codes[i].name);
        put_line(out, "", codes[i].text);
    }
    (void)fputs(".SH ENVIRONMENT\n", out);
    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
        put_line(out, ".TP\n.B ", variables[i].name);
        put_line(out, "", variables[i].text);
    }
}
