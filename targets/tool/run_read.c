/* SPDX-License-Identifier: Apache-2.0
 * run_read.c: what a fuzz program says: status lines, a rule that broke, a sanitizer's summary, the file it wrote.
 * It judges nothing. It breaks when libFuzzer words its status, SUMMARY or "Test unit written to" lines otherwise.
 */
#include "run.h"
#include "stats.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* take: a copy that is safe in a terminal and in JSON. */
static void take(char out[RUN_TEXT_MAX], const char *text, size_t len)
{
    len = len < RUN_TEXT_MAX - 1 ? len : RUN_TEXT_MAX - 1;
    for (size_t i = 0; i < len; i++) {
        out[i] = text[i];
        if (text[i] < ' ' || text[i] > '~') {
            out[i] = '?';
        }
    }
    out[len] = '\0';
}

/* number_after: the number that follows `word` in the line; `otherwise` if there is none. */
static uint64_t number_after(const char *line, const char *word, uint64_t otherwise)
{
    const char *at = strstr(line, word);
    return at != NULL ? strtoull(at + strlen(word), NULL, 10) : otherwise;
}

/* read_rule: "rule ID target NAME step N got ... want ...". */
static void read_rule(struct run_finding *finding, const char *line)
{
    const char *id = line + strlen("rule ");
    const char *target = strstr(id, " target ");
    const char *step = target != NULL ? strstr(target, " step ") : NULL;
    const char *got = step != NULL ? strstr(step, " got ") : NULL;
    const char *want = got != NULL ? strstr(got, " want ") : NULL;
    if (want == NULL || finding->rule[0] != '\0') {
        return;
    }
    take(finding->line, line, strlen(line));
    take(finding->rule, id, (size_t)(target - id));
    finding->step = strtoull(step + strlen(" step "), NULL, 10);
    take(finding->got, got + strlen(" got "), (size_t)(want - got) - strlen(" got "));
    take(finding->want, want + strlen(" want "), strlen(want + strlen(" want ")));
}

static bool starts(const char *line, const char *word)
{
    return strncmp(line, word, strlen(word)) == 0;
}

static void read_stats(struct run_job *job, const char *line)
{
    job->has_stats = true;
    job->plays = number_after(line, " plays=", 0);
    job->operations = number_after(line, " steps=", 0);
    job->compared = number_after(line, " compared=", 0);
    job->reached = number_after(line, " reached=", 0);
}

static void read_line(struct run_job *job, const char *line)
{
    struct run_finding *finding = &job->finding;
    static const char written[] = "Test unit written to ";
    const char *artefact = strstr(line, written);
    bool detail = job->in_details && starts(line, "  ");
    job->in_details = detail;
    if (detail) {
        if (finding->num_details < RUN_DETAILS_MAX) {
            take(finding->details[finding->num_details++], line + 2, strlen(line + 2));
        }
    } else if (line[0] == '#' && line[1] >= '0' && line[1] <= '9') {
        job->executions = strtoull(line + 1, NULL, 10);
        job->edges = number_after(line, " cov: ", job->edges);
        job->corpus = number_after(line, " corp: ", job->corpus);
        job->num_new += strstr(line, "\tNEW ") != NULL ? 1 : 0;
    } else if (starts(line, "stat::number_of_executed_units:")) {
        job->executions = number_after(line, "units:", job->executions);
    } else if (starts(line, "paldiff-stats ")) {
        read_stats(job, line);
    } else if (starts(line, "rule ") && !starts(line, "rule broken")) {
        read_rule(finding, line);
        job->in_details = true;
    } else if (starts(line, "SUMMARY: ") && (finding->summary[0] == '\0' || strstr(line, "deadly signal") == NULL)) {
        /* What aborts has said why; that it did says less. */
        take(finding->summary, line + strlen("SUMMARY: "), strlen(line + strlen("SUMMARY: ")));
    } else if (artefact != NULL && strstr(artefact, "slow-unit-") == NULL) {
        (void)snprintf(finding->file, sizeof(finding->file), "%s", artefact + strlen(written));
    } else if (starts(line, "paldiff: ") && finding->summary[0] == '\0') {
        take(finding->summary, line, strlen(line));
    }
}

static void end_line(struct run_job *job)
{
    job->said[job->said_len] = '\0';
    /* Two lines per input of interest would make the log of a long run huge. */
    bool wordy = job->said[0] == '#' && (strstr(job->said, "\tNEW ") != NULL || strstr(job->said, "\tREDUCE ") != NULL);
    if (!wordy && fprintf(job->log, "%s\n", job->said) < 0) {
        job->log_full = true;
    }
    read_line(job, job->said);
    job->said_len = 0;
}

/* read_shared: the counts are ahead of what the child has said, and there even if it never says them. */
static void read_shared(struct run_job *job)
{
    uint64_t plays = job->stats != NULL ? atomic_load_explicit(&job->stats->plays, memory_order_acquire) : 0;
    if (plays > 0) {
        job->has_stats = true;
        job->plays = plays;
        job->operations = atomic_load_explicit(&job->stats->steps, memory_order_relaxed);
        job->compared = atomic_load_explicit(&job->stats->compared, memory_order_relaxed);
        job->reached = atomic_load_explicit(&job->stats->reached, memory_order_relaxed);
    }
    if (job->executions < job->plays) {
        job->executions = job->plays;
    }
}

void run_child_read(struct run_job *job)
{
    char chunk[16384];
    ssize_t len = 0;
    while (job->pipe >= 0 && (len = read(job->pipe, chunk, sizeof(chunk))) > 0) {
        for (ssize_t i = 0; i < len; i++) {
            if (chunk[i] == '\n' || job->said_len == sizeof(job->said) - 1) {
                end_line(job);
            }
            if (chunk[i] != '\n' && chunk[i] != '\0') {
                job->said[job->said_len++] = chunk[i];
            }
        }
    }
    if (job->pipe >= 0 && (len == 0 || (errno != EAGAIN && errno != EINTR))) {
        (void)close(job->pipe);
        job->pipe = -1;
    }
    read_shared(job);
}

void run_child_read_last(struct run_job *job)
{
    run_child_read(job);
    if (job->said_len > 0) {
        end_line(job);
    }
}
