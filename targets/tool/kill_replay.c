/* SPDX-License-Identifier: Apache-2.0
 * kill_replay.c: a mutant plays the committed corpus in a child process, which judges every rule on every input. Where
 * a child dies the next one goes on behind the input that it died of.
 */
#include "kill.h"
#include "tool.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECONDS_MAX 60u /* of one child */
#define CRASHES_MAX 3u  /* each costs a symbolizer's start; what else would crash is known by then */
#define REPORT_MAX (64u * 1024u)

static void count_rules(struct kill *kill, const struct stage *stage, const struct rule *first)
{
    bool broken[NUM_RULES];
    if (first == NULL) {
        return;
    }
    rules_broken(broken, &stage->evidence, stage->binds);
    kill->first[first - rules]++;
    for (size_t i = 0; i < NUM_RULES; i++) {
        kill->inputs[i] += broken[i] ? 1 : 0;
    }
}

static bool play_witness(struct kill *kill, struct stage *stage)
{
    char path[KILL_PATH_MAX];
    struct verdict verdict;
    (void)snprintf(path, sizeof(path), "%s/seeds/%s/%s.txt", tool_corpus(), kill->mutant->area, kill->mutant->witness);
    if (!tool_load(stage, path)) {
        return false;
    }
    const struct rule *rule = stage_play(stage, &verdict);
    kill->witness_rule = rule != NULL ? (uint32_t)(rule - rules) : NUM_RULES;
    kill->fired = mutant_fired();
    return true;
}

static bool is_null(const struct kill *kill)
{
    return kill->mutant != NULL && kill->mutant->rule[0] == '\0';
}

/* play_child: from kill->next on; index 0 is the witness, the corpus follows. */
static int play_child(struct kill *kill, const struct kill_corpus *corpus)
{
    struct stage *stage = calloc(1, sizeof(*stage));
    const struct pal_port *port = NULL;
    struct verdict verdict;
    bool good = stage != NULL &&
                harness_mutant(&port, kill->target, kill->mutant != NULL ? kill->mutant->name : NULL) &&
                stage_init(stage, kill->target, port);
    while (good && kill->next <= corpus->num) {
        size_t at = kill->next++;
        if (at == 0) {
            good = kill->mutant == NULL || play_witness(kill, stage);
            continue;
        }
        good = tool_load(stage, corpus->files[at - 1]);
        if (good) {
            const struct rule *rule = stage_play(stage, &verdict);
            uint64_t hash = stage_hash(stage);
            kill->plays++;
            kill->infected += hash != corpus->hashes[at - 1] ? 1 : 0;
            corpus->hashes[at - 1] = is_null(kill) ? hash : corpus->hashes[at - 1];
            count_rules(kill, stage, rule);
        }
    }
    if (good) {
        stage_deinit(stage);
    }
    free(stage);
    return good ? EXIT_HELD : EXIT_SUITE;
}

/* read_report: what the child wrote to standard error. */
static void read_report(int fd, char report[REPORT_MAX])
{
    ssize_t len = pread(fd, report, REPORT_MAX - 1, 0);
    report[len > 0 ? len : 0] = '\0';
}

static void fail(struct kill *kill, const char *why, const char *report)
{
    kill->failed = true;
    (void)snprintf(kill->why, sizeof(kill->why), "%s: %.*s", why, (int)strcspn(report, "\n"), report);
}

/* judge_end: whether the next child should go on. */
static bool judge_end(struct kill *kill, int status, int fd)
{
    static char report[REPORT_MAX];
    char summary[KILL_TEXT_MAX];
    if (status == 0) {
        return false;
    }
    read_report(fd, report);
    if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUITE) {
        fail(kill, "the suite failed", report);
        return false;
    }
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) {
        fail(kill, "an input took too long", report);
        return false;
    }
    enum kill_blame blame = kill_blame_of(report, summary);
    if (blame == BLAME_END && kill->mutant != NULL) {
        kill->ends++;
        return true;
    }
    if (blame != BLAME_PORT || kill->mutant == NULL) {
        fail(kill, blame == BLAME_SUITE ? "crash in the suite's own code" : "crash without a sanitizer's report",
             summary[0] != '\0' ? summary : report);
        return false;
    }
    kill->crashes++;
    if (kill->sanitizer[0] == '\0') {
        (void)memcpy(kill->sanitizer, summary, sizeof(summary));
    }
    return kill->crashes < CRASHES_MAX;
}

/* run_child: its exit status; its standard error goes to the file. */
static int run_child(struct kill *kill, const struct kill_corpus *corpus, int fd)
{
    int status = EXIT_SUITE << 8;
    (void)fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        (void)alarm(SECONDS_MAX);
        bool good = dup2(fd, STDERR_FILENO) >= 0;
        _exit(good ? play_child(kill, corpus) : EXIT_SUITE);
    }
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
}

void kill_replay(struct kill *kill, const struct kill_corpus *corpus)
{
    kill->witness_rule = NUM_RULES;
    for (bool go_on = true; go_on;) {
        int fd = memfd_create("paldiff-report", MFD_CLOEXEC);
        if (fd < 0) {
            fail(kill, "no memory for a report", strerror(errno));
            return;
        }
        go_on = judge_end(kill, run_child(kill, corpus, fd), fd);
        (void)close(fd);
    }
    if (!kill->failed && kill->mutant != NULL && kill->mutant->rule[0] != '\0' && kill->fired == 0 &&
        kill->crashes == 0 && kill->ends == 0) {
        fail(kill, "its witness does not reach the bug", "");
    }
}

bool kill_holds(const struct target *target, const char *path)
{
    /* An input from a fuzzer lies anywhere; a corpus of one file is all that is needed. */
    struct kill *control = kill_shared(sizeof(*control));
    uint64_t *hash = kill_shared(sizeof(*hash));
    char *files[] = {strdup(path)};
    struct kill_corpus corpus = {files, 1, hash};
    bool held = false;
    if (control != NULL && hash != NULL && files[0] != NULL) {
        control->target = target;
        kill_replay(control, &corpus);
        held = kill_held(control);
    }
    free(files[0]);
    (void)munmap(control, sizeof(*control));
    (void)munmap(hash, sizeof(*hash));
    return held;
}
