/* SPDX-License-Identifier: Apache-2.0
 * shim_hides.c: which rules say something about a port in another process.
 */
#include "shim.h"

static const char memory[] = "it is about memory, which another process does not show";
static const char door[] = "the suite's side of the process door answers for it";
static const char random_bytes[] = "a port in another process draws its own random bytes";

const char *shim_hides(size_t rule)
{
    static const char *const reasons[NUM_RULES] = {
        [RULE_crypt_untouched] = memory,
        [RULE_crypt_key_wiped] = memory,
        [RULE_crypt_no_alloc] = memory,
        [RULE_crypt_one_setup] = memory,
        [RULE_crypt_balance] = memory,
        [RULE_aead_mismatch_wipes] = memory,
        [RULE_send_error_parity] = door,
        [RULE_send_order] = door,
        [RULE_send_list_untouched] = memory,
        [RULE_send_flags] = door,
        [RULE_send_snapshot] = door,
        [RULE_send_bounded] = door,
        [RULE_send_no_heap] = memory,
        [RULE_send_balance] = memory,
        [RULE_token_contract] = door,
        [RULE_token_released_once] = memory,
        [RULE_token_no_bleed] = memory,
        [RULE_token_status_survives] = door,
        [RULE_token_dead_after_release] = memory,
        [RULE_token_size] = door,
        [RULE_token_grow_keeps] = door,
        [RULE_token_same_bytes] = random_bytes,
        [RULE_token_released_on_error] = memory,
        [RULE_token_balance] = memory,
        [RULE_tls_no_memory] = memory,
        [RULE_tls_no_random] = random_bytes,
        [RULE_tls_same_wire] = random_bytes,
    };
    return reasons[rule];
}
