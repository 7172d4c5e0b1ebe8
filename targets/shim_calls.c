/* SPDX-License-Identifier: Apache-2.0
 * shim_calls.c: the calls of a scenario and their answers, in the order in which they are made, and the rehearsal. It
 * knows no area.
 */
#include "shim.h"

#include <stdlib.h>
#include <string.h>

#define SHOWN_MAX 60

static struct {
    enum {
        ASKING,  /* call by call */
        WRITING, /* the rehearsal */
        TOLD     /* all calls were answered in advance */
    } phase;
    uint64_t unsupported;
    struct shim_text line;  /* the call being written, without its end */
    struct shim_text lines; /* of this scenario so far, each with its end */
    size_t num;
    size_t num_answers;
    size_t next; /* TOLD: the call that comes next */
    struct shim_place *asked;
    struct shim_place *answers;
    size_t cap;
    struct shim_text told; /* a copy of an answer, to be taken apart */
} calls;

struct shim_text *shim_call(const char *name)
{
    calls.line.len = 0;
    shim_text_add(&calls.line, "%s", name);
    return &calls.line;
}

struct shim_text *shim_call_more(void)
{
    return &calls.line;
}

static void grow(void)
{
    if (calls.num == calls.cap) {
        calls.cap = calls.cap > 0 ? 2 * calls.cap : 64;
        calls.asked = realloc(calls.asked, calls.cap * sizeof(*calls.asked));
        calls.answers = realloc(calls.answers, calls.cap * sizeof(*calls.answers));
        if (calls.asked == NULL || calls.answers == NULL) {
            abort();
        }
    }
}

/* write_down: the call that was written is one of this scenario's. */
static void write_down(void)
{
    grow();
    calls.asked[calls.num++] = (struct shim_place){calls.lines.len, calls.line.len};
    char *at = shim_text_room(&calls.lines, calls.line.len + 1); /* a line may be long: no printf goes over it */
    memcpy(at, calls.line.data, calls.line.len);
    memcpy(at + calls.line.len, "\n", sizeof("\n"));
    calls.lines.len += calls.line.len + 1;
}

/* send_calls: those from `first` on, as one request. */
static void send_calls(size_t first)
{
    char head[64];
    size_t at = calls.asked[first].at;
    int len = snprintf(head, sizeof(head), "calls %zu\n", calls.num - first);
    shim_put(head, (size_t)len);
    shim_put(calls.lines.data + at, calls.lines.len - at);
}

static void hear_answers(size_t up_to)
{
    while (calls.num_answers < up_to) {
        shim_take_line(&calls.answers[calls.num_answers]);
        calls.num_answers++;
    }
    if (shim_said_more()) {
        shim_fail(SHIM_GARBLED, "there are more lines than calls");
    }
}

static void forget_calls(void)
{
    shim_forget_said();
    calls.lines.len = 0;
    calls.num = 0;
    calls.num_answers = 0;
    calls.next = 0;
}

static const char *text_of(size_t index)
{
    return calls.lines.data + calls.asked[index].at;
}

/* shown: how much of a line is in a message. */
static int shown(struct shim_place line)
{
    return line.len < SHOWN_MAX ? (int)line.len : SHOWN_MAX;
}

/* read_answer: takes the answer to call `index` apart. False when the reference's is to be taken. */
static bool read_answer(size_t index, enum pal_status *out_status, struct shim_words *out)
{
    struct shim_place line = calls.answers[index];
    calls.told.len = 0;
    char *copy = shim_text_room(&calls.told, line.len);
    memcpy(copy, shim_said(line), line.len);
    copy[line.len] = '\0';
    if (!shim_words_parse(out, copy) || !shim_status(out_status, out->name)) {
        shim_fail(SHIM_GARBLED, "\"%.*s\" is no answer to \"%.*s\"", shown(line), shim_said(line),
                  shown(calls.asked[index]), text_of(index));
    }
    if (*out_status == PAL_UNSUPPORTED) {
        shim_skipped();
        return false;
    }
    return true;
}

/* begin_anew: an answer led away from what was rehearsed. The shim forgets, and is given the calls that were made in
 * truth; it has to answer them as before. */
static void begin_anew(void)
{
    size_t num = calls.next;
    struct shim_place *before = malloc((num + 1) * sizeof(*before));
    if (before == NULL) {
        abort();
    }
    memcpy(before, calls.answers, num * sizeof(*before));
    calls.num_answers = 0;
    calls.lines.len = calls.asked[num].at;
    calls.num = num;
    calls.phase = ASKING;
    shim_put("scenario\n", strlen("scenario\n"));
    if (num > 0) {
        send_calls(0);
        hear_answers(num);
    }
    for (size_t i = 0; i < num; i++) {
        struct shim_place now = calls.answers[i];
        if (before[i].len != now.len || memcmp(shim_said(before[i]), shim_said(now), now.len) != 0) {
            shim_fail(SHIM_GARBLED, "the answer to \"%.*s\" is another one when the scenario is played again",
                      shown(calls.asked[i]), text_of(i));
        }
    }
    free(before);
}

void shim_tell(void)
{
    write_down();
    send_calls(calls.num - 1);
}

bool shim_hear(enum pal_status *out_status, struct shim_words *out)
{
    hear_answers(calls.num);
    return read_answer(calls.num - 1, out_status, out);
}

bool shim_ask(enum pal_status *out_status, struct shim_words *out)
{
    if (calls.phase == WRITING) {
        write_down();
        return false;
    }
    if (calls.phase == TOLD) {
        if (calls.next < calls.num && calls.asked[calls.next].len == calls.line.len &&
            memcmp(text_of(calls.next), calls.line.data, calls.line.len) == 0) {
            return read_answer(calls.next++, out_status, out);
        }
        if (calls.next == calls.num) {
            calls.phase = ASKING;
        } else {
            begin_anew();
        }
    }
    shim_tell();
    return shim_hear(out_status, out);
}

struct pal_view shim_bytes(struct shim_words *answer, const char *key)
{
    struct pal_view out;
    if (!shim_words_bytes(answer, key, &out)) {
        shim_fail(SHIM_GARBLED, "%s in an answer is not hex", key);
    }
    return out;
}

void shim_skipped(void)
{
    calls.unsupported++;
}

void shim_granted(void)
{
    calls.unsupported--;
}

uint64_t shim_unsupported(void)
{
    return calls.unsupported;
}

/* ---- scenarios -----------------------------------------------------------------------------------------------------
 */

static void reset_areas(void)
{
    shim_crypt_reset();
    shim_send_reset();
    shim_tls_reset();
}

void shim_rehearse(struct stage *stage)
{
    size_t num = 0;
    reset_areas();
    forget_calls();
    calls.unsupported = 0;
    calls.phase = ASKING;
    shim_put("scenario\n", strlen("scenario\n"));
    while (num < stage->num_worlds && stage->worlds[num].port == &stage->adopted) {
        num++;
    }
    if (!stage->target->predictable || num == 0) {
        return;
    }
    calls.phase = WRITING;
    stage_clean(stage);
    stage->target->play(stage->worlds, num, &stage->actors, &stage->scenario);
    reset_areas();
    calls.unsupported = 0;
    calls.phase = TOLD;
    if (calls.num > 0) {
        send_calls(0);
        hear_answers(calls.num);
    }
}
