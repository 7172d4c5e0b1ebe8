/* SPDX-License-Identifier: Apache-2.0
 * judges.h: the functions behind rules.def, and the few that they share. Each fills *out and nothing else.
 */
#ifndef PALDIFF_JUDGES_H
#define PALDIFF_JUDGES_H

#include "rules.h"

typedef void judge_fn(struct verdict *out, const struct evidence *evidence, uint32_t argument);

judge_fn judge_class, judge_error_parity, judge_cross_engine;             /* judges_compare.c */
judge_fn judge_untouched, judge_mismatch_wipes;                           /* judges_output.c */
judge_fn judge_key_wiped, judge_no_alloc, judge_one_setup, judge_balance; /* judges_memory.c */

judge_fn judge_zero, judge_exclusive, judge_release, judge_clear, judge_pool_balance, judge_reuse; /* judges_pool.c */

/* judge_due: argument JUDGE_DUE(due, bad): the fact `bad` is 0 in every step; those with the fact `due` count. */
#define JUDGE_DUE(due, bad) ((uint32_t)(due) << 16 | (uint32_t)(bad))
judge_fn judge_due, judge_plain, judge_tampered, judge_tls_parity; /* judges_tls.c */

judge_fn judge_begin, judge_order, judge_progress, judge_send, judge_bounded, judge_no_heap; /* judges_send.c */

judge_fn judge_contract, judge_size, judge_token, judge_token_zero, judge_released_on_error, judge_late,
    judge_tap; /* judges_token.c */

/* verdict_held: one more step was looked at and was right. */
static inline void verdict_held(struct verdict *out)
{
    out->compared++;
    out->outcome = out->outcome == VACUOUS ? HELD : out->outcome;
}

/* verdict_broken: keeps the earliest step. verdict_broken_numbers, _bytes: with what to print; bytes are shown around
 * the first difference. */
void verdict_broken_numbers(struct verdict *out, const struct trace *world, size_t step, const char *what, uint64_t got,
                            uint64_t want);
void verdict_broken_status(struct verdict *out, const struct trace *world, size_t step, enum pal_status got,
                           enum pal_status want);
void verdict_broken_bytes(struct verdict *out, const struct trace *world, size_t step, struct pal_view got,
                          struct pal_view want);

#endif
