/* SPDX-License-Identifier: Apache-2.0
 * check.h: what the hmac and aead tables refuse, and in which order, before an engine sees anything.
 * It reads no byte of a key, text or part: only pointers and lengths.
 * It breaks when a file of one way checks for itself: then the two ways can answer differently.
 */
#ifndef PAL_CHECK_H
#define PAL_CHECK_H

#include "../pal.h"

/* check_digest_len: the length of what `digest` makes; 0 for an unknown one. */
size_t check_digest_len(enum pal_digest digest);

/* check_key: PAL_UNSUPPORTED, PAL_BAD_ARGUMENT. What start() refuses. */
enum pal_status check_key(enum pal_digest digest, struct pal_view key);

/* check_output: PAL_BAD_ARGUMENT, PAL_NO_SPACE for `need` bytes. What finish() refuses. */
enum pal_status check_output(const uint8_t *out, size_t out_cap, const size_t *out_len, size_t need);

/* check_hmac: the arguments of digest(). */
enum pal_status check_hmac(const uint8_t *out, size_t out_cap, const size_t *out_len, enum pal_digest digest,
                           struct pal_view key, const struct pal_view *parts, size_t num_parts);

/* check_seal, check_open, check_seal_fresh: the arguments of the aead functions. check_open also answers PAL_BAD_TAG,
 * last, to a text that is shorter than its tag. */
enum pal_status check_seal(const uint8_t *out, size_t out_cap, const size_t *out_len, const struct pal_aead_job *job,
                           struct pal_view plain);
enum pal_status check_open(const uint8_t *out, size_t out_cap, const size_t *out_len, const struct pal_aead_job *job,
                           struct pal_view sealed);
enum pal_status check_seal_fresh(const uint8_t *out, size_t out_cap, const size_t *out_len,
                                 const struct pal_aead_job *job, struct pal_view plain);

#endif
