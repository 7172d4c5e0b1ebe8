/* SPDX-License-Identifier: Apache-2.0
 * token_direct.c: what a caller does with tokens in token scenarios: fills them by hand, holds them, releases them late
 * and again; and what other renters of the pool do meanwhile.
 */
#include "token_world.h"

#include "token.h"

#include <string.h>

static struct world_env *env_of(struct token_world *world)
{
    return &world->player.world->env;
}

static const struct pal_token_ops *ops_of(const struct token_world *world)
{
    const struct pal_token_ops *ops = world->player.world->port->token;
    return ops != NULL ? ops : &pal_token_reference;
}

const uint8_t *token_bytes(struct token_world *world, char first, size_t len)
{
    uint8_t *bytes = arena_take(&world->player.world->arena, len, (uint8_t)first);
    for (size_t i = 0; i < len; i += 1 + i / 8) {
        bytes[i] = (uint8_t)('0' + i % 61);
    }
    return bytes;
}

uint32_t token_held(const struct token_world *world)
{
    uint32_t held = 0;
    for (size_t i = 0; i < TOKEN_REGISTERS; i++) {
        held += world->registers[i].live && world->registers[i].token.rental.data != NULL ? 1 : 0;
    }
    for (size_t i = 0; i < TOKEN_RENTERS; i++) {
        held += world->renters[i].rental.data != NULL ? 1 : 0;
    }
    return held;
}

enum pal_status token_let_go(struct token_world *world, struct pal_view *out, size_t index, struct trace_step *trace)
{
    struct token_register *held = &world->registers[index];
    struct pal_view now = token_take(world->player.world, &held->token, held->token.status, trace);
    bool same = now.len == held->bytes.len && (now.len == 0 || memcmp(now.data, held->bytes.data, now.len) == 0);
    trace->facts[FACT_LATE_WRITES] += held->live && !same ? 1 : 0;
    if (out != NULL) {
        *out = now;
    }
    held->copy = held->live ? held->token : held->copy;
    held->live = false;
    return token_release(world->player.world, &held->token, trace);
}

void token_hold(struct token_world *world, size_t index, const struct pal_token *token, struct pal_view bytes,
                struct trace_step *trace)
{
    struct token_register *held = &world->registers[index];
    if (held->live) {
        (void)token_let_go(world, NULL, index, trace);
    }
    held->token = *token;
    held->bytes = bytes;
    held->live = true;
}

/* grow: reserve or append, once more without the fault when one fired; a failed attempt leaves all as it was. */
static void grow(struct token_world *world, const struct step *step, struct trace_step *trace)
{
    struct world *subject = world->player.world;
    struct world_env *env = env_of(world);
    struct token_register *held = &world->registers[step->number[0]];
    size_t len = token_lens[step->number[1]];
    const uint8_t *bytes = token_bytes(world, 'n', len);
    len = step->op == TOKEN_OP_RESERVE && step->number[2] != 0 ? SIZE_MAX - len : len;
    enum pal_status before = held->token.status;
    trace->role = ROLE_MESSAGE;
    trace->facts[FACT_RENTS] = held->token.rental.data != NULL ? 1 : 0;
    env->fail_alloc = world->fail_alloc;
    world->fail_alloc = 0;
    for (int attempt = 0; attempt < 2; attempt++) {
        trace->status =
            step->op == TOKEN_OP_RESERVE
                ? ops_of(world)->reserve(&env->env, &held->token, subject->mode, len)
                : ops_of(world)->append(&env->env, &held->token, subject->mode, (struct pal_view){bytes, len});
        env->fail_alloc = 0;
        if (!env->faulted || trace->status != PAL_NO_MEMORY) {
            break;
        }
        trace->facts[FACT_FAULTED] = 1;
        env->faulted = false;
    }
    held->live = true;
    trace->facts[FACT_STATUS_LOST] |= held->token.status != before ? 1 : 0;
    held->bytes = token_take(subject, &held->token, held->token.status, trace);
    trace->out = held->bytes;
    size_t room = held->token.cap - held->token.len;
    if (step->op == TOKEN_OP_RESERVE && trace->status == PAL_OK && room < len) {
        token_broken(trace, TOKEN_MALFORMED);
    }
}

/* release_copy: what was released is released again, through a copy that does not know. Allocations cannot tell. */
static void release_copy(struct token_world *world, const struct step *step, struct trace_step *trace)
{
    struct pal_token copy = world->registers[step->number[0]].copy;
    if (copy.rental.data == NULL) {
        return;
    }
    uint32_t before = env_of(world)->bad_returns;
    trace->facts[FACT_RELEASE_KIND] = RELEASE_STALE;
    trace->status = ops_of(world)->release(&env_of(world)->env, &copy);
    bool refused = env_of(world)->bad_returns == before + 1 && trace->status == PAL_REFUSED;
    trace->facts[FACT_BAD_RETURNS] = refused ? 0 : 1;
    env_of(world)->bad_returns = before; /* on purpose */
}

static void rent(struct token_world *world, const struct step *step)
{
    struct token_renter *renter = &world->renters[step->number[0]];
    struct world_env *env = env_of(world);
    if (renter->rental.data == NULL && env->env.rent(env, &renter->rental, token_lens[step->number[1]]) == PAL_OK) {
        renter->fill = (uint8_t)(0x80u + step->number[0]);
        memset(renter->rental.data, renter->fill, renter->rental.cap);
    }
    env->rents = 0; /* not the port's */
}

void token_give_back(struct token_world *world, size_t index, struct trace_step *trace)
{
    struct token_renter *renter = &world->renters[index];
    for (size_t i = 0; i < renter->rental.cap; i++) {
        if (renter->rental.data[i] != renter->fill) {
            trace->facts[FACT_LATE_WRITES]++;
            break;
        }
    }
    (void)env_of(world)->env.release(env_of(world), &renter->rental, false);
}

void token_direct(struct token_world *world, const struct step *step, struct trace_step *trace)
{
    switch (step->op) {
    case TOKEN_OP_RESERVE:
    case TOKEN_OP_APPEND:
        grow(world, step, trace);
        break;
    case TOKEN_OP_RELEASE:
        trace->role = ROLE_MESSAGE;
        trace->status = token_let_go(world, &trace->out, step->number[0], trace);
        break;
    case TOKEN_OP_RELEASE_COPY:
        release_copy(world, step, trace);
        break;
    case TOKEN_OP_RENT:
        rent(world, step);
        break;
    case TOKEN_OP_GIVE_BACK:
        token_give_back(world, step->number[0], trace);
        break;
    default:
        world->fail_alloc = step->number[0];
        break;
    }
}
