/* SPDX-License-Identifier: Apache-2.0
 * token_watch.h: what a port handed out is looked at before anybody reads it, and again when it goes back. Shared by
 * the targets token and tls. It breaks when a payload is read past token_take: a lying pointer is found in the ledger,
 * or is not followed.
 */
#ifndef PALDIFF_TOKEN_WATCH_H
#define PALDIFF_TOKEN_WATCH_H

#include "target.h"

/* token_take: checks a token that a call handed out with `status` against the contract and the world's ledger, looks
 * for bytes that nobody wrote, and gives its bytes, copied to the world's arena. {NULL, 0} when it breaks the contract.
 * The token stays the caller's to release. Adds to FACT_TOKENS, FACT_CONTRACT and FACT_BLEED. */
struct pal_view token_take(struct world *world, const struct pal_token *token, enum pal_status status,
                           struct trace_step *trace);

/* token_release: releases through the port's own token table, or the reference's, and again, which must have no effect.
 * Sets FACT_TOKEN_LEFT and FACT_STATUS_LOST. The first release's status. A token that broke the contract may be given
 * too: its rental is the ledger's to judge, but a lie about an allocation is not passed on. */
enum pal_status token_release(struct world *world, struct pal_token *token, struct trace_step *trace);

/* token_ledger: what the world's ledger says at one moment. `held`: live rentals that the caller knows of. */
struct token_ledger {
    uint32_t bad_returns;
    uint32_t loose; /* live rentals that nobody is known to hold */
};

struct token_ledger token_ledger_now(const struct world *world, uint32_t held);

/* token_ledger_note: FACT_RENTS, FACT_BAD_RETURNS and FACT_LIVE_RENTALS of a step that began with `before`. */
void token_ledger_note(const struct world *world, struct trace_step *trace, struct token_ledger before, uint32_t held);

/* token_broken: notes a broken clause; the first one of a step stays. */
void token_broken(struct trace_step *trace, enum token_clause clause);

/* token_records: whole TLS records that the bytes begin with (RFC 8446 5.1, lengths to 16384 + 256). *out_whole:
 * nothing is left behind the last one. */
uint32_t token_records(bool *out_whole, struct pal_view bytes);

/* token_join: both, one after the other, in the world's arena; or the one that is not empty. */
struct pal_view token_join(struct world *world, struct pal_view first, struct pal_view second);

/* token_bleed: bytes in runs of 6 or more that are a rental's fill at their place. Contents may be in any state. */
uint32_t token_bleed(struct pal_view bytes);

#endif
