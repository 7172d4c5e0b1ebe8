/* SPDX-License-Identifier: Apache-2.0
 * cover_pairs.c: the machines behind the caches and the pool, from the traces: which operation came right after which
 * other of its thread, with which result. What can happen is not known; what random inputs do, always the same ones, is
 * the measure.
 */
#include "cover.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define INPUT_LEN_MAX 4096u

_Static_assert(PAL_NUM_STATUSES <= 64, "a bit for each status");

typedef uint64_t table[COVER_OPS_MAX + 1][COVER_OPS_MAX];

static void note(table out, uint32_t before, uint32_t next, uint32_t status)
{
    if (before <= COVER_OPS_MAX && next < COVER_OPS_MAX && status < PAL_NUM_STATUSES) {
        out[before][next] |= UINT64_C(1) << status;
    }
}

static void note_trace(table out, const struct trace *trace, size_t num_steps)
{
    uint32_t before[TRACE_THREADS_MAX] = {0};
    for (size_t i = 0; i < num_steps && i < trace->num_steps; i++) {
        const struct trace_step *step = &trace->steps[i];
        uint32_t *last = &before[step->thread % TRACE_THREADS_MAX];
        note(out, *last, step->op, (uint32_t)step->status);
        if (step->facts[FACT_FAULTED] != 0) {
            note(out, *last, step->op, step->facts[FACT_ATTEMPT_STATUS]);
        }
        *last = step->op + 1;
    }
}

static void play(table out, struct stage *stage)
{
    struct verdict verdict;
    (void)stage_play(stage, &verdict);
    for (size_t w = 0; w < stage->num_worlds; w++) {
        note_trace(out, &stage->worlds[w].trace, stage->scenario.num_steps);
    }
}

/* next_random: xorshift64*. */
static uint64_t next_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(0x2545f4914f6cdd1d);
}

static void explore(table out, struct stage *stage, uint64_t num)
{
    uint8_t input[INPUT_LEN_MAX];
    uint64_t state = UINT64_C(0x9e3779b97f4a7c15);
    size_t len_max = stage->target->input_len_max < sizeof(input) ? stage->target->input_len_max : sizeof(input);
    for (uint64_t i = 0; i < num; i++) {
        size_t len = (size_t)(next_random(&state) % (len_max + 1));
        for (size_t at = 0; at < len; at++) {
            input[at] = (uint8_t)(next_random(&state) >> 56);
        }
        scenario_decode(&stage->scenario, stage->target->language, (struct pal_view){input, len});
        play(out, stage);
    }
}

bool cover_pairs_count(struct cover_pairs *out, const struct target *target, uint64_t explored)
{
    char **files = NULL;
    size_t num = 0;
    struct stage *stage = calloc(1, sizeof(*stage));
    memset(out, 0, sizeof(*out));
    out->target = target;
    bool opened = stage != NULL && stage_init(stage, target, NULL);
    bool good = opened && tool_corpus_files(target, &files, &num);
    for (size_t i = 0; good && i < num; i++) {
        uint8_t *data = NULL;
        size_t len = 0;
        good = harness_read(files[i], &data, &len) && harness_load(stage, files[i], (struct pal_view){data, len});
        if (good) {
            play(out->corpus, stage);
        }
        free(data);
    }
    if (good) {
        memcpy(out->seen, out->corpus, sizeof(out->seen));
        explore(out->seen, stage, explored);
    }
    if (opened) {
        stage_deinit(stage);
    }
    free(stage);
    tool_files_free(files, num);
    return good;
}

struct cover_count cover_pairs_total(const struct cover_pairs *pairs)
{
    struct cover_count count = {0};
    for (size_t before = 0; before <= COVER_OPS_MAX; before++) {
        for (size_t next = 0; next < COVER_OPS_MAX; next++) {
            count.num += (size_t)__builtin_popcountll(pairs->corpus[before][next]);
            count.of += (size_t)__builtin_popcountll(pairs->seen[before][next]);
        }
    }
    return count;
}

void cover_pairs_each(const struct cover_pairs *pairs, void *context,
                      void (*tell)(void *context, const char *before, const char *next, const char *result,
                                   bool in_corpus))
{
    const struct language *language = pairs->target->language;
    for (size_t before = 0; before <= language->num_operations && before <= COVER_OPS_MAX; before++) {
        const char *first = before == 0 ? "(begin)" : language->operations[before - 1].name;
        for (size_t next = 0; next < language->num_operations && next < COVER_OPS_MAX; next++) {
            for (uint32_t status = 0; status < PAL_NUM_STATUSES; status++) {
                uint64_t bit = UINT64_C(1) << status;
                if ((pairs->seen[before][next] & bit) != 0) {
                    tell(context, first, language->operations[next].name, pal_status_name((enum pal_status)status),
                         (pairs->corpus[before][next] & bit) != 0);
                }
            }
        }
    }
}
