/* SPDX-License-Identifier: Apache-2.0
 * cover.h: `paldiff cover`. cover_tools.c runs programs of the coverage build and llvm's tools, cover_map.c keeps what
 * they say of lib/, cover_exceptions.c judges what stayed uncovered, cover_pairs.c counts what the machines did one
 * after the other, cover_report.c tells; tool_cover.c decides the exit code. A side is one outcome of a branch. Counts
 * of a function that both engines have under one name and with the same control flow are llvm's sum of both: what
 * follows from that is said in cover_map.c.
 */
#ifndef PALDIFF_COVER_H
#define PALDIFF_COVER_H

#include "program.h"
#include "tool.h"

#include <stdio.h>

#define COVER_TEXT_MAX 512u
#define COVER_ENGINES_MAX 4u
#define COVER_TESTS_MAX 32u
#define COVER_TARGETS_MAX 32u

/* ---- cover_map.c ---- */

/* cover_count: `num` of `of`. */
struct cover_count {
    size_t num;
    size_t of;
};

/* What a profile is of: the corpus, or, as a bit, one of the tests that the exceptions name. */
#define COVER_CORPUS 0u

/* cover_branch: a condition in the source. `inner_line` and `inner_column` are 0, or where it stands in the macro that
 * made it. */
struct cover_branch {
    unsigned line, column, end_line, end_column, inner_line, inner_column;
    bool corpus[2];    /* reached by the corpus; [1]: it was true */
    uint32_t tests[2]; /* the tests that reached it */
};

struct cover_region {
    unsigned line, column;
    bool reached; /* by the corpus */
};

/* cover_file: of lib/; `path` from the root of the sources. `text` and `lines` are loaded when first asked for. */
struct cover_file {
    char path[COVER_TEXT_MAX];
    size_t num_branches, cap_branches;
    struct cover_branch *branches;
    size_t num_regions, cap_regions;
    struct cover_region *regions;
    char *text;
};

struct cover_map {
    char root[PROGRAM_PATH_MAX]; /* of the sources */
    size_t num_files, cap_files;
    struct cover_file *files;
};

/* cover_map_add: what llvm-cov exported of one object; `by`: COVER_CORPUS or a test's bit. Files outside of root/lib/,
 * and tests, are passed over. False, with a line on stderr, when it is no such export or memory is out. */
bool cover_map_add(struct cover_map *map, const struct cJSON *export, uint32_t by);
void cover_map_deinit(struct cover_map *map);

/* cover_room: makes room in the list `*all` for one more element of `len` bytes; false without memory. */
bool cover_room(void **all, size_t num, size_t *cap, size_t len);

/* cover_map_find: NULL if the build has no such file. */
struct cover_file *cover_map_find(const struct cover_map *map, const char *path);

struct cover_count cover_file_branches(const struct cover_file *file); /* sides, reached by the corpus */
struct cover_count cover_file_regions(const struct cover_file *file);

/* cover_branch_text: the condition as it stands in the source, to the end of its first line. cover_line_text: the whole
 * line that it begins on, without what it is indented by. */
void cover_branch_text(char out[COVER_TEXT_MAX], const struct cover_map *map, struct cover_file *file,
                       const struct cover_branch *branch);
void cover_line_text(char out[COVER_TEXT_MAX], const struct cover_map *map, struct cover_file *file,
                     const struct cover_branch *branch);

/* ---- cover_tools.c ---- */

/* cover_engine: files of an engine that the corpus ran any of. */
struct cover_engine {
    char name[32];
    size_t num_files;
    struct cover_engine_file {
        char *path;
        struct cover_count regions;
        struct cover_count branches;
    } * files;
};

/* cover_tools: paths. `work` is where profiles go. */
struct cover_tools {
    char build[PROGRAM_PATH_MAX];
    char root[PROGRAM_PATH_MAX];
    char work[PROGRAM_PATH_MAX];
    char profdata[PROGRAM_PATH_MAX];
    char cov[PROGRAM_PATH_MAX];
};

/* cover_tools_find: llvm's tools of the version of `build`'s compiler. False, with a line on stderr that says what to
 * build or to install. */
bool cover_tools_find(struct cover_tools *out, const char *build, const char *work);

/* cover_play: the targets' committed corpus by build/paldiff, into work/corpus.profdata. */
bool cover_play(const struct cover_tools *tools, size_t num, const struct target *const chosen[]);
/* cover_test: the named test program of the build, into work/<name>.profdata. */
bool cover_test(const struct cover_tools *tools, const char *name);

/* cover_load: adds work/<profile>.profdata, of every object of the build that has code of lib/. */
bool cover_load(struct cover_map *map, const struct cover_tools *tools, const char *profile, uint32_t by);
/* cover_load_engines: fills `engines` and returns their number; 0, with a line on stderr, when none has coverage. */
size_t cover_load_engines(struct cover_engine engines[COVER_ENGINES_MAX], const struct cover_tools *tools);
void cover_engine_deinit(struct cover_engine *engine);
/* cover_engine_path: of a file, from the top of the engine's own tree where that shows. */
const char *cover_engine_path(const struct cover_engine *engine, size_t file);

/* cover_html: llvm's pages, with the sources, below `dir`/lib and `dir`/<engine>. */
bool cover_html(const struct cover_tools *tools, const char *dir, size_t num_engines,
                const struct cover_engine engines[]);

/* ---- cover_exceptions.c ---- */

/* cover_why: what a row of the list claims. */
enum cover_why {
    WHY_UNIT,  /* a scenario cannot reach it, the named tests do */
    WHY_NEVER, /* nothing can */
    WHY_RACE   /* only threads that meet at the right moment: a test may or may not */
};

struct cover_exception {
    enum cover_why why;
    unsigned row;              /* in the file */
    char path[COVER_TEXT_MAX]; /* a file, or a folder that ends with a slash */
    char text[COVER_TEXT_MAX]; /* a condition, or the line that it begins on; "*": every one */
    char side[8];              /* true, false, *: either */
    char reason[COVER_TEXT_MAX];
    uint32_t tests;   /* those that it names */
    uint32_t useful;  /* those that reach any of its sides */
    size_t num_sides; /* that it excuses */
};

struct cover_exceptions {
    char path[PROGRAM_PATH_MAX];
    size_t num, cap;
    struct cover_exception *rows;
    size_t num_tests;
    char *tests[COVER_TESTS_MAX]; /* programs that `unit` rows name, each once */
};

/* cover_exceptions_read: false, with path, line and what was expected on stderr. */
bool cover_exceptions_read(struct cover_exceptions *out, const char *path);
void cover_exceptions_deinit(struct cover_exceptions *list);

/* cover_problem: what makes the gate red. */
struct cover_problem {
    char place[COVER_TEXT_MAX + 32]; /* path:line */
    char text[4 * COVER_TEXT_MAX];
};

struct cover_problems {
    size_t num, cap;
    struct cover_problem *all;
};

/* cover_judge: every side that the corpus does not reach must have a row, whose claim must be true: of a `unit` row
 * one of the tests that it names must reach it. Every row must excuse something, and every source of lib/ must be in
 * the build. Counts into rows. False without memory. */
bool cover_judge(struct cover_problems *out, struct cover_exceptions *list, const struct cover_map *map);

/* ---- cover_pairs.c ---- */

#define COVER_OPS_MAX 32u

/* cover_pairs: which results an operation gave right after which other of its thread. [0] is the thread's beginning,
 * other rows are operations + 1; a bit for each status. */
struct cover_pairs {
    const struct target *target;
    uint64_t corpus[COVER_OPS_MAX + 1][COVER_OPS_MAX];
    uint64_t seen[COVER_OPS_MAX + 1][COVER_OPS_MAX]; /* by the corpus or by random inputs */
};

/* cover_pairs_count: plays the committed corpus, and `explore` random inputs, always the same. False, with a line on
 * stderr, when the target cannot be played. */
bool cover_pairs_count(struct cover_pairs *out, const struct target *target, uint64_t explore);
struct cover_count cover_pairs_total(const struct cover_pairs *pairs);
/* cover_pairs_each: calls `tell` for each of those seen. */
void cover_pairs_each(const struct cover_pairs *pairs, void *context,
                      void (*tell)(void *context, const char *before, const char *next, const char *result,
                                   bool in_corpus));

/* ---- cover_report.c ---- */

/* cover: all that was found out. */
struct cover {
    struct cover_map map;
    struct cover_exceptions exceptions;
    struct cover_problems problems;
    bool gated; /* all targets were asked for */
    size_t num_targets;
    const struct target *chosen[COVER_TARGETS_MAX];
    size_t num_engines;
    struct cover_engine engines[COVER_ENGINES_MAX];
    size_t num_pairs;
    struct cover_pairs *pairs;
};

void cover_print(FILE *out, const struct cover *cover);
/* cover_json: NULL without memory. */
struct cJSON *cover_json(const struct cover *cover);

#endif
