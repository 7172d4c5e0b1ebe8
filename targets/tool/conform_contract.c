/* SPDX-License-Identifier: Apache-2.0
 * conform_contract.c: the contract as a page to read, made of pal.h's own text: what each type is, and of each function
 * of each table what it does, what it may answer and whose the memory is. It reads the header's form, not C: a comment,
 * then what it is about, then an empty line. It breaks, and says so, on a function without a sentence.
 */
#include "conform.h"

#include <ctype.h>
#include <string.h>

#define TEXT_MAX 4096u
#define NAMES_MAX 8u
#define NAME_MAX_LEN 40u

static const char header[] = {
#include "contract_text.inc"
    0};

/* entry: functions that one comment is about. */
struct entry {
    size_t num;
    char names[NAMES_MAX][NAME_MAX_LEN];
    char comment[TEXT_MAX];
    char code[TEXT_MAX];
};

/* rendering: `at` is the next line of the header; `comment` the last one read. */
struct rendering {
    FILE *page;
    const char *at;
    bool good;
    char comment[TEXT_MAX];
    char code[TEXT_MAX];
};

static const struct {
    const char *name;
    const char *sentence;
} statuses[] = {
#define STATUS(name, text, sentence) {"PAL_" #name, sentence},
#include "status.def"
#undef STATUS
};

/* Whose memory a parameter is, by its type: pal.h's common rules, at the place where they are needed. */
static const struct {
    const char *type;
    const char *sentence;
} owners[] = {
    {"const struct pal_env *env", "`env` is the caller's, and outlives what is made through it"},
    {"struct pal_pool **out", "`*out` is made on `PAL_OK`, and given back by `pool.close`"},
    {"struct pal_tls **out", "`*out` is made on `PAL_OK`, and given back by `tls.close`"},
    {"struct pal_send **out", "`*out` is made on `PAL_OK`, and given back by `send.end`"},
    {"struct pal_buffer *out", "the rental is the caller's from `PAL_OK` on, to be released"},
    {"struct pal_buffer *buffer", "the rental is the caller's until `PAL_OK`"},
    {"struct pal_token *out", "what is in the token afterwards is the caller's to release, whatever the status"},
    {"struct pal_token *token", "the token, and what is in it, stays the caller's"},
    {"uint8_t *out", "`out` is the caller's memory"},
    {"uint8_t *data", "`data` is the caller's memory, written to in place"},
    {"struct pal_view ", "views are borrowed, and die with the call"},
    {"const struct pal_segment *segments", "the list is borrowed, and dies with the call; its bytes do not"},
    {"const struct pal_aead_job *job", "the job and its views are borrowed, and die with the call"},
    {"const struct pal_tls_config *config", "the configuration is borrowed, and dies with the call"},
    {"const struct pal_tls_identity *identity", "the identity is borrowed, and dies with the call"},
    {"struct pal_tls_info *out", "`*out` is the caller's; its views live until the next call on the object"},
};

/* ---- text -----------------------------------------------------------------------------------------------------------
 */

static void add(char text[TEXT_MAX], const char *more, size_t len)
{
    size_t at = strlen(text);
    if (at + len < TEXT_MAX) {
        memcpy(text + at, more, len);
        text[at + len] = '\0';
    }
}

/* find_head: where `text` begins to speak of `name`: "name:", or "name, other:"; NULL if it does not. */
static const char *find_head(const char *text, const char *name)
{
    size_t len = strlen(name);
    for (const char *at = strstr(text, name); at != NULL; at = strstr(at + 1, name)) {
        bool begins = at == text || (at[-1] == ' ' && strchr(".,;", at == text + 1 ? '.' : at[-2]) != NULL);
        size_t others = strspn(at + len, ", abcdefghijklmnopqrstuvwxyz_");
        bool listed = at[len] == ':' || (at[len] == ',' && at[len + others] == ':');
        if (begins && listed) {
            return at;
        }
    }
    return NULL;
}

/* print_words: a word that is code is shown as such. */
static void print_words(FILE *page, const char *text)
{
    while (*text != '\0') {
        size_t len = strcspn(text, " \n");
        size_t skip = strspn(text, "([");
        size_t core = len;
        while (core > skip && strchr(").,:;", text[core - 1]) != NULL) {
            core--;
        }
        bool code = false;
        for (size_t i = skip; i < core && text[skip] != '`'; i++) {
            code |= text[i] == '_' || text[i] == '*';
        }
        code |= core > skip + 2 && memmem(text + skip, core - skip, "->", 2) != NULL;
        const char *quote = code ? "`" : "";
        (void)fprintf(page, "%.*s%s%.*s%s%.*s", (int)skip, text, quote, (int)(core - skip), text + skip, quote,
                      (int)(len - core), text + core);
        text += len;
        len = strspn(text, " \n");
        (void)fprintf(page, "%.*s", (int)len, text);
        text += len;
    }
}

static void print_code(FILE *page, const char *code)
{
    while (*code != '\0') {
        size_t len = strcspn(code, "\n");
        (void)fprintf(page, "%s%.*s\n", len > 0 ? "    " : "", (int)len, code);
        code += len + (code[len] == '\n' ? 1 : 0);
    }
}

/* ---- lines ----------------------------------------------------------------------------------------------------------
 */

static size_t line_len(const struct rendering *r)
{
    return strcspn(r->at, "\n");
}

static bool starts(const struct rendering *r, const char *with)
{
    return strncmp(r->at, with, strlen(with)) == 0;
}

static void skip_line(struct rendering *r)
{
    r->at += line_len(r);
    r->at += *r->at == '\n' ? 1 : 0;
}

/* read_comment: into r->comment, as one line but for items of a list. */
static void read_comment(struct rendering *r)
{
    bool over = false;
    r->comment[0] = '\0';
    while (!over && *r->at != '\0') {
        size_t len = line_len(r);
        size_t skip = strspn(r->at, " /*");
        over = len >= 2 && memcmp(r->at + len - 2, "*/", 2) == 0;
        len -= over ? 2 : 0;
        skip = skip < len ? skip : len;
        while (len > skip && r->at[len - 1] == ' ') {
            len--;
        }
        if (r->comment[0] != '\0' && len > skip) {
            add(r->comment, r->at[skip] == '-' ? "\n" : " ", 1);
        }
        add(r->comment, r->at + skip, len - skip);
        skip_line(r);
    }
}

/* ---- tables ---------------------------------------------------------------------------------------------------------
 */

static void print_notes(FILE *page, const struct entry *entry)
{
    (void)fputs("\n", page);
    for (size_t i = PAL_OK + 1; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
        const char *at = strstr(entry->comment, statuses[i].name);
        size_t len = strlen(statuses[i].name);
        if (at != NULL && !isupper((unsigned char)at[len]) && at[len] != '_') {
            (void)fprintf(page, "- may answer [`%s`](statuses.md): %s\n", statuses[i].name, statuses[i].sentence);
        }
    }
    for (size_t i = 0; i < sizeof(owners) / sizeof(owners[0]); i++) {
        if (strstr(entry->code, owners[i].type) != NULL) {
            (void)fprintf(page, "- %s\n", owners[i].sentence);
        }
    }
}

/* print_entry: and the entry is empty. */
static void print_entry(struct rendering *r, const char *table, struct entry *entry)
{
    if (entry->num == 0) {
        return;
    }
    (void)fputs("\n### ", r->page);
    for (size_t i = 0; i < entry->num; i++) {
        (void)fprintf(r->page, "%s%s.%s", i > 0 ? ", " : "", table, entry->names[i]);
    }
    if (entry->comment[0] == '\0') {
        (void)fprintf(stderr, "paldiff: pal.h does not say what %s.%s does\n", table, entry->names[0]);
        r->good = false;
    }
    (void)fputs("\n\n", r->page);
    print_words(r->page, entry->comment);
    (void)fputs("\n\n", r->page);
    print_code(r->page, entry->code);
    print_notes(r->page, entry);
    memset(entry, 0, sizeof(*entry));
}

/* add_function: to the entry, if that is about it; else it begins the next one. `over` is the table's own comment, and
 * `beside` what stands behind the function on its line. */
static void add_function(struct rendering *r, const char *table, struct entry *entry, const char *over,
                         const char *beside)
{
    char name[NAME_MAX_LEN] = "";
    const char *at = strstr(r->code, "(*");
    size_t len = at != NULL ? strcspn(at + 2, ")") : 0;
    if (len == 0 || len >= sizeof(name)) {
        return; /* no function */
    }
    memcpy(name, at + 2, len);
    const char *text = find_head(r->comment, name) != NULL ? r->comment : beside;
    text = *text != '\0' || find_head(over, name) == NULL ? text : find_head(over, name);
    bool same = entry->num > 0 && entry->num < NAMES_MAX && find_head(entry->comment, name) != NULL;
    if (!same) {
        print_entry(r, table, entry);
        add(entry->comment, text, strlen(text));
    }
    memcpy(entry->names[entry->num++], name, sizeof(name));
    add(entry->code, r->code, strlen(r->code));
}

/* render_table: r->at is at the line after `struct ... {`. */
static void render_table(struct rendering *r, const char *table, const char *over)
{
    static struct entry entry;
    char beside[TEXT_MAX] = "";
    memset(&entry, 0, sizeof(entry));
    r->comment[0] = '\0';
    while (!starts(r, "}") && *r->at != '\0') {
        size_t len = line_len(r);
        if (starts(r, "    /*")) {
            read_comment(r);
            continue;
        }
        const char *end = memchr(r->at, ';', len);
        const char *mark = end != NULL ? strstr(end, "/*") : NULL;
        add(r->code, r->at + (len >= 4 ? 4 : len),
            (end != NULL ? (size_t)(end - r->at) + 1 : len) - (len >= 4 ? 4 : len));
        add(r->code, "\n", len > 0 ? 1 : 0);
        if (mark != NULL && mark < r->at + len) {
            add(beside, mark + 3, (size_t)(r->at + len - mark) - 6);
        }
        if (end != NULL) {
            add_function(r, table, &entry, over, beside);
            r->code[0] = '\0';
            beside[0] = '\0';
        }
        skip_line(r);
    }
    print_entry(r, table, &entry);
    skip_line(r);
}

/* ---- the whole ------------------------------------------------------------------------------------------------------
 */

/* cut_heads: what a table's comment says of single functions stands with those. */
static void cut_heads(char *text)
{
    for (char *at = strstr(text, ". "); at != NULL; at = strstr(at + 1, ". ")) {
        size_t len = strspn(at + 2, ", abcdefghijklmnopqrstuvwxyz_");
        if (len > 0 && at[2 + len] == ':') {
            at[1] = '\0';
            return;
        }
    }
}

/* render_item: what r->comment is about. */
static void render_item(struct rendering *r)
{
    char over[TEXT_MAX];
    char table[NAME_MAX_LEN] = "";
    size_t len = strcspn(r->comment, ": ");
    memcpy(over, r->comment, sizeof(over));
    bool is_table =
        sscanf(r->at, "struct pal_%30[a-z]_ops {", table) == 1 || sscanf(r->at, "struct pal_%30[a-z] {", table) == 1;
    is_table = is_table && (starts(r, "struct pal_env {") || strstr(over, "_ops:") != NULL);
    (void)fprintf(r->page, "\n## %.*s\n\n", (int)len, over);
    cut_heads(r->comment);
    print_words(r->page, r->comment + len + strspn(r->comment + len, ": "));
    (void)fputs("\n\n", r->page);
    r->code[0] = '\0';
    if (is_table) {
        skip_line(r);
        render_table(r, table, over);
        return;
    }
    bool block = false;
    bool end = false;
    while (!end && *r->at != '\0') {
        size_t line = line_len(r);
        bool closes = memchr(r->at, '}', line) != NULL;
        block |= memchr(r->at, '{', line) != NULL && !closes;
        end = block ? starts(r, "}") : closes || memchr(r->at, ';', line) != NULL;
        add(r->code, r->at, line + 1);
        skip_line(r);
    }
    print_code(r->page, r->code);
}

bool conform_write_contract(FILE *page)
{
    struct rendering r = {page, header, true, "", ""};
    read_comment(&r);
    (void)fputs("# The contract\n\nFrom `pal.h`; [statuses](statuses.md) has all answers.\n\n", page);
    const char *words = strstr(r.comment, "pal.h: ");
    print_words(page, words != NULL ? words : r.comment);
    (void)fputs("\n", page);
    while (*r.at != '\0') {
        if (starts(&r, "/* ----")) {
            read_comment(&r);
        } else if (starts(&r, "/*")) {
            read_comment(&r);
            render_item(&r);
        } else {
            size_t len = line_len(&r);
            bool number = starts(&r, "#define PAL_") && memchr(r.at, ' ', len) != NULL &&
                          strpbrk(r.at + strlen("#define PAL_"), "0123456789\n")[0] != '\n';
            if (number || starts(&r, "enum ")) {
                (void)fprintf(page, "\n    %.*s\n", (int)len, r.at);
            }
            skip_line(&r);
        }
    }
    return r.good;
}
