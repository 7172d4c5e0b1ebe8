/* SPDX-License-Identifier: Apache-2.0
 * token.h: growing and releasing a pal_token, in both modes; what the four TLS shapes share.
 * It knows no engine. It breaks when a token is copied and both copies are released: with a pool that tracks
 * generations the second release is reported, without one it is lost.
 */
#ifndef PAL_TOKEN_H
#define PAL_TOKEN_H

#include "pal.h"

/* pal_token_valid: payload and len fit cap; a rental, if any, is what payload points to. */
bool pal_token_valid(const struct pal_token *token);

/* pal_token_reserve: room for `more` bytes past len: no effect when it is there; else new memory (PAL_REUSED: rented,
 * PAL_FRESH: allocated exactly), the valid prefix copied, the old memory given back once. len and status stay. A token
 * keeps the mode that it first got memory in. PAL_TOO_LONG when len + more overflows, PAL_NO_MEMORY, PAL_UNSUPPORTED
 * (PAL_REUSED without a pool), PAL_BAD_ARGUMENT (no such mode), PAL_REFUSED (the pool does not know the old rental):
 * all leave the token as it was. */
enum pal_status pal_token_reserve(const struct pal_env *env, struct pal_token *token, enum pal_mode mode,
                                  size_t more) PAL_MUST_USE;

/* pal_token_append: reserves and copies. `bytes` may not point into the token. */
enum pal_status pal_token_append(const struct pal_env *env, struct pal_token *token, enum pal_mode mode,
                                 struct pal_view bytes) PAL_MUST_USE;

/* pal_token_view: the bytes that may reach a transport. */
struct pal_view pal_token_view(const struct pal_token *token);

/* pal_token_release: gives the memory back and zeroes all but status. Idempotent. PAL_REFUSED from the pool is
 * returned. */
enum pal_status pal_token_release(const struct pal_env *env, struct pal_token *token);

/* pal_token_reference: the three above as a table. */
extern const struct pal_token_ops pal_token_reference;

#endif
