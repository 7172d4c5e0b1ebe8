/* SPDX-License-Identifier: Apache-2.0
 * token_watch.c: the contract of a token, checked from the ledger's side, and the search for stale bytes.
 */
#include "token_watch.h"

#include "poison.h"
#include "token.h"

#include <string.h>

#define BLEED_RUN 6u
#define RECORD_HEADER 5u
#define RECORD_BODY_MAX (16384u + 256u)

void token_broken(struct trace_step *trace, enum token_clause clause)
{
    if (trace->facts[FACT_CONTRACT] == TOKEN_SOUND) {
        trace->facts[FACT_CONTRACT] = (uint32_t)clause;
    }
}

/* memory_of: whether the token's memory is what its world's mode says. */
static enum token_clause memory_of(const struct world *world, const struct pal_token *token)
{
    struct pal_buffer lent = {0};
    size_t len = 0;
    if (token->payload == NULL) {
        return TOKEN_SOUND;
    }
    if (world->mode == PAL_FRESH) {
        bool sound =
            token->rental.data == NULL && world_env_block_at(&world->env, &len, token->payload) && token->cap <= len;
        return sound ? TOKEN_SOUND : TOKEN_NOT_ALLOCATED;
    }
    bool sound = token->rental.data == token->payload && world_env_rental_at(&world->env, &lent, token->payload) &&
                 token->rental.cap == lent.cap && token->rental.slot == lent.slot &&
                 token->rental.generation == lent.generation && token->cap <= lent.cap;
    return sound ? TOKEN_SOUND : TOKEN_NOT_RENTED;
}

static enum token_clause clause_of(const struct world *world, const struct pal_token *token, enum pal_status status)
{
    if ((unsigned)status >= PAL_NUM_STATUSES || (unsigned)token->status >= PAL_NUM_STATUSES) {
        return TOKEN_STATUS_UNKNOWN;
    }
    if (token->status != status) {
        return TOKEN_STATUS_DIFFERS;
    }
    return pal_token_valid(token) ? memory_of(world, token) : TOKEN_MALFORMED;
}

/* pairs: of bytes, as many as the smallest vector registers hold, compared in one go. */
typedef uint16_t pairs __attribute__((vector_size(2 * RENTAL_PATTERN_LEN)));

/* any_pair: whether two bytes at an even place are both the pattern's there. Without such a pair there is no run of
 * three, and among other bytes there hardly ever is one: most of what is looked at is looked at no further. */
PALDIFF_LOOKS_ANYWHERE static bool any_pair(struct pal_view bytes, const uint8_t pattern[RENTAL_PATTERN_LEN])
{
    uint64_t halves[2] = {0};
    pairs want;
    pairs equal = {0};
    size_t at = 0;
    bool found = false;
    __builtin_memcpy(&want, pattern, RENTAL_PATTERN_LEN);
    __builtin_memcpy((uint8_t *)&want + RENTAL_PATTERN_LEN, pattern, RENTAL_PATTERN_LEN);
    for (; bytes.len - at >= sizeof(want); at += sizeof(want)) {
        pairs have;
        __builtin_memcpy(&have, bytes.data + at, sizeof(have));
        equal |= (pairs)(have == want);
    }
    for (; bytes.len - at >= 2; at += 2) {
        size_t place = at % RENTAL_PATTERN_LEN;
        found |= bytes.data[at] == pattern[place] && bytes.data[at + 1] == pattern[place + 1];
    }
    __builtin_memcpy(halves, &equal, sizeof(halves));
    return found || (halves[0] | halves[1]) != 0;
}

/* runs_of: bytes of long runs of one pattern. */
PALDIFF_LOOKS_ANYWHERE static uint32_t runs_of(struct pal_view bytes, const uint8_t pattern[RENTAL_PATTERN_LEN])
{
    uint32_t found = 0;
    uint32_t run = 0;
    for (size_t at = 0; at < bytes.len; at++) {
        run = bytes.data[at] == pattern[at % RENTAL_PATTERN_LEN] ? run + 1 : 0;
        found += run == BLEED_RUN ? BLEED_RUN : run > BLEED_RUN ? 1 : 0;
    }
    return found;
}

static uint32_t bleed_of(struct pal_view bytes, const uint8_t pattern[RENTAL_PATTERN_LEN])
{
    return any_pair(bytes, pattern) ? runs_of(bytes, pattern) : 0;
}

uint32_t token_bleed(struct pal_view bytes)
{
    return bleed_of(bytes, RENTAL_CANARY) + bleed_of(bytes, RENTAL_RETURNED) +
           poison_uninitialised_from(bytes.data, bytes.len);
}

struct pal_view token_take(struct world *world, const struct pal_token *token, enum pal_status status,
                           struct trace_step *trace)
{
    const struct pal_view none = {NULL, 0};
    enum token_clause clause = clause_of(world, token, status);
    trace->facts[FACT_TOKENS]++;
    if (clause != TOKEN_SOUND) {
        token_broken(trace, clause);
        return none;
    }
    if (token->payload == NULL || token->len == 0) {
        return none;
    }
    trace->facts[FACT_BLEED] += token_bleed((struct pal_view){token->payload, token->len});
    struct pal_view copy = arena_copy(&world->arena, (struct pal_view){token->payload, token->len});
    /* Told already; the rules that compare it would only stop the process. */
    poison_foreign(copy.data, copy.len);
    return copy;
}

enum pal_status token_release(struct world *world, struct pal_token *token, struct trace_step *trace)
{
    const struct pal_token_ops *ops = world->port->token != NULL ? world->port->token : &pal_token_reference;
    const struct pal_env *env = &world->env.env;
    enum pal_status before = token->status;
    size_t len = 0;
    if (token->rental.data == NULL && token->payload != NULL &&
        !world_env_block_at(&world->env, &len, token->payload)) {
        *token = (struct pal_token){.status = before};
        return PAL_REFUSED;
    }
    enum pal_status status = ops->release(env, token);
    bool left = token->payload != NULL || token->len != 0 || token->cap != 0 || token->rental.data != NULL ||
                token->rental.cap != 0;
    enum pal_status again = ops->release(env, token);
    trace->facts[FACT_TOKEN_LEFT] |= left || again != PAL_OK ? 1 : 0;
    trace->facts[FACT_STATUS_LOST] |= token->status != before ? 1 : 0;
    return status;
}

struct token_ledger token_ledger_now(const struct world *world, uint32_t held)
{
    uint32_t live = world->env.live_rentals;
    return (struct token_ledger){world->env.bad_returns, live > held ? live - held : 0};
}

void token_ledger_note(const struct world *world, struct trace_step *trace, struct token_ledger before, uint32_t held)
{
    struct token_ledger now = token_ledger_now(world, held);
    trace->facts[FACT_RENTS] += world->env.rents;
    trace->facts[FACT_BAD_RETURNS] += now.bad_returns - before.bad_returns;
    trace->facts[FACT_LIVE_RENTALS] = now.loose > before.loose ? now.loose - before.loose : 0;
}

uint32_t token_records(bool *out_whole, struct pal_view bytes)
{
    uint32_t num = 0;
    size_t at = 0;
    while (bytes.len - at >= RECORD_HEADER) {
        size_t body = ((size_t)bytes.data[at + 3] << 8) | bytes.data[at + 4];
        if (body > RECORD_BODY_MAX || body > bytes.len - at - RECORD_HEADER) {
            break;
        }
        at += RECORD_HEADER + body;
        num++;
    }
    *out_whole = at == bytes.len;
    return num;
}

struct pal_view token_join(struct world *world, struct pal_view first, struct pal_view second)
{
    if (first.len == 0 || second.len == 0) {
        return first.len == 0 ? second : first;
    }
    uint8_t *joined = arena_take_undefined(&world->arena, first.len + second.len);
    memcpy(joined, first.data, first.len);
    memcpy(joined + first.len, second.data, second.len);
    return (struct pal_view){joined, first.len + second.len};
}
