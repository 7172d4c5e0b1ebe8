/* SPDX-License-Identifier: Apache-2.0
 * shim.h: the suite's side of the process door: a port whose calls another process answers, by the protocol of
 * targets/ports/PROTOCOL.md. There is one in a process, as a port's tables have no context. Its calls come from one
 * thread at a time, as all worlds' do.
 *
 * What a scenario of hmac or aead calls does not depend on right answers, so it is rehearsed: the reference answers,
 * the calls are written down, the shim gets them all in one request, and the scenario is played with the shim's
 * answers. Where an answer leads elsewhere, the shim begins anew and is asked call by call. The other areas are asked
 * call by call from the start.
 */
#ifndef PALDIFF_SHIM_H
#define PALDIFF_SHIM_H

#include "shim_text.h"
#include "target.h"

#define SHIM_ERROR_MAX 256u

enum shim_failure {
    SHIM_ENDED,  /* the process is gone, or does not read any more */
    SHIM_GARBLED /* an answer is none, or not the one that it gave to the same call before */
};

/* shim_port_open: starts `command` (for sh) and greets it. NULL, with why in `error`. The process ends with this one.
 * `failed` is told of the end of a shim that ended later, with a text, and must not return; NULL: a line on stderr and
 * abort(). */
typedef void shim_failed_fn(enum shim_failure failure, const char *text);
const struct pal_port *shim_port_open(const char *command, shim_failed_fn *failed, char error[SHIM_ERROR_MAX]);

/* shim_pid: of the process that keeps the shim and ends with it; the shim is below it. 0 for none. */
pid_t shim_pid(void);

/* shim_rehearse: a stage's `rehearse`: a new scenario is about to be played. */
void shim_rehearse(struct stage *stage);

/* shim_unsupported: calls of this scenario that the shim does not have. The reference answered them. */
uint64_t shim_unsupported(void);

/* shim_hides: why a rule says nothing about a port in another process; NULL if it does. */
const char *shim_hides(size_t rule);

/* ---- for the areas (shim_crypt.c, shim_send.c, shim_tls.c)
 * -----------------------------------------------------------
 */

/* A call is written into shim_call() (its name first, then words; shim_call_more() for more of them), then asked.
 * shim_ask: the status; the words of the
 * answer are in `out` until the next call. False when the reference's answer is to be taken instead: while the calls
 * are only written down, and for PAL_UNSUPPORTED, which is counted. */
struct shim_text *shim_call(const char *name);
struct shim_text *shim_call_more(void);
bool shim_ask(enum pal_status *out_status, struct shim_words *out);

/* shim_tell, shim_hear: shim_ask in two halves, for a call during which something is to be done; not in a rehearsal.
 * shim_answer_fd: readable when the answer is there, or the shim's end. */
void shim_tell(void);
bool shim_hear(enum pal_status *out_status, struct shim_words *out);
int shim_answer_fd(void);

/* shim_bytes: the answer's bytes under a key; empty when it is not there. Not hex: the shim failed. */
struct pal_view shim_bytes(struct shim_words *answer, const char *key);

/* shim_fail: the shim is to blame. Does not return. */
_Noreturn void shim_fail(enum shim_failure failure, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* shim_skipped: counts a call that was not asked, or not judged, for want of support. shim_granted: the last one that
 * was counted is what the contract wants answered there. */
void shim_skipped(void);
void shim_granted(void);

/* Lines to and from the process (shim_process.c, for shim_calls.c). shim_take_line: the next one, waited for; a view by
 * place into shim_said(), which moves when more is taken and is empty after shim_forget_said(). When the process is
 * gone the shim failed. */
struct shim_place {
    size_t at;
    size_t len;
};
void shim_put(const char *data, size_t len);
void shim_take_line(struct shim_place *out);
const char *shim_said(struct shim_place line);
bool shim_said_more(void); /* something that was not taken yet */
void shim_forget_said(void);

/* The tables. shim_crypt_reset, shim_send_reset, shim_tls_reset: a new scenario: what is left of the last one is
 * forgotten. */
extern const struct pal_hmac_ops shim_hmac_fresh;
extern const struct pal_hmac_ops shim_hmac_reused;
extern const struct pal_aead_ops shim_aead_fresh;
extern const struct pal_aead_ops shim_aead_reused;
extern const struct pal_send_ops shim_send;
extern const struct pal_tls_ops shim_tls;
void shim_crypt_reset(void);
void shim_send_reset(void);
void shim_tls_reset(void);

/* shim_has_way: whether the shim said that it has this way to send. */
bool shim_has_way(enum pal_send_way way);

#endif
