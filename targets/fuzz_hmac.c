/* SPDX-License-Identifier: Apache-2.0
 * fuzz_hmac.c: sequences of HMAC messages on the caches of up to four threads, in the worlds {openssl, boringssl} x
 * {one-shot, cached}. Judged by the rules hmac.* and crypt.*. It does not check timing, and not the digests themselves
 * against a third implementation: vectors_test does.
 */
#include "crypt_world.h"
#include "ports.h"

enum { OP_DIGEST, OP_START, OP_UPDATE, OP_FINISH, NUM_OWN };

/* Fields of the operations, by position. */
enum { DIGEST_ALG, DIGEST_KEY, DIGEST_TEXT, DIGEST_TAIL, DIGEST_PARTS, DIGEST_ROOM, DIGEST_UNKNOWN };
enum { START_ALG, START_KEY, START_UNKNOWN };
enum { UPDATE_TEXT, UPDATE_TAIL, UPDATE_NULL };
enum { FINISH_ROOM };

static const char *const alg_names[] = {"sha1", "sha256", "sha384", "sha512"};
static const char *const no_yes[] = {"no", "yes"};
static const size_t digest_lens[] = {20, 32, 48, 64};

/* clang-format off */
#define ALG {"alg", FIELD_CHOICE, PAL_NUM_DIGESTS - 1, 0, alg_names, false}
#define KEY CRYPT_REG("key", 0)
#define TEXT {"text", FIELD_BYTES, 64, 0, NULL, false}
#define TAIL {"tail", FIELD_CHOICE, CRYPT_TAILS - 1, 0, crypt_tail_names, false}
#define PARTS {"parts", FIELD_CHOICE, CRYPT_NUM_PARTS - 1, 0, crypt_parts_names, true}
#define ROOM {"room", FIELD_CHOICE, CRYPT_NUM_ROOMS - 1, 0, crypt_room_names, true}
#define UNKNOWN {"unknown-alg", FIELD_CHOICE, 1, 0, no_yes, true}
#define NULL_DATA {"null", FIELD_CHOICE, 1, 0, no_yes, true}

static const struct operation operations[] = {
    {"digest", "digests one message", 16, 7, {ALG, KEY, TEXT, TAIL, PARTS, ROOM, UNKNOWN}},
    {"start", "opens a message", 2, 3, {ALG, KEY, UNKNOWN}},
    {"update", "adds to the open message (null: a part of one byte at NULL)", 2, 3, {TEXT, TAIL, NULL_DATA}},
    {"finish", "ends the open message", 3, 1, {ROOM}},
    CRYPT_OPERATIONS,
};
/* clang-format on */

static const struct language language = {"hmac", 1, sizeof(operations) / sizeof(operations[0]), operations};

/* alg_of: a digest's enumerator, or a number outside the table. */
static enum pal_digest alg_of(const struct step *step, size_t alg, size_t unknown)
{
    return step->number[unknown] != 0 ? PAL_NUM_DIGESTS : (enum pal_digest)step->number[alg];
}

static void call_digest(struct crypt_world *world, const struct pal_hmac_ops *ops, const struct step *step,
                        struct trace_step *trace)
{
    struct pal_view parts[CRYPT_PARTS_MAX];
    enum pal_digest alg = alg_of(step, DIGEST_ALG, DIGEST_UNKNOWN);
    struct pal_view key = crypt_key(world, trace, step->number[DIGEST_KEY], SIZE_MAX);
    struct pal_view text =
        crypt_text(world, scenario_field_bytes(world->player.scenario, step, DIGEST_TEXT), step->number[DIGEST_TAIL]);
    size_t num_parts = crypt_cut(world, parts, text, (enum crypt_parts)step->number[DIGEST_PARTS]);
    struct crypt_output output = crypt_output_take(world, digest_lens[step->number[DIGEST_ALG]],
                                                   (enum crypt_room)step->number[DIGEST_ROOM], (struct pal_view){0});
    trace->role = ROLE_MESSAGE;
    trace->facts[FACT_VARIANT] = (uint32_t)alg;
    trace->facts[FACT_TEXT_LEN] = (uint32_t)text.len;
    trace->facts[FACT_NUM_PARTS] = step->number[DIGEST_PARTS];
    crypt_say(world, scenario_field_bytes(world->player.scenario, step, DIGEST_TEXT));
    enum pal_status status =
        ops->digest(&world->player.world->env.env, output.data, output.cap, &output.len, alg, key, parts, num_parts);
    crypt_output_done(&output, trace, status, 0);
}

static void call_update(struct crypt_world *world, const struct pal_hmac_ops *ops, const struct step *step,
                        struct trace_step *trace)
{
    struct pal_view literal = scenario_field_bytes(world->player.scenario, step, UPDATE_TEXT);
    struct pal_view text = crypt_text(world, literal, step->number[UPDATE_TAIL]);
    trace->role = ROLE_UPDATE;
    trace->facts[FACT_TEXT_LEN] = (uint32_t)text.len;
    crypt_say(world, literal);
    text = step->number[UPDATE_NULL] != 0 ? (struct pal_view){NULL, 1} : text;
    trace->status = ops->update(&world->player.world->env.env, text);
}

static void call_hmac(struct crypt_world *world, const struct step *step, struct trace_step *trace)
{
    const struct pal_hmac_ops *ops = world->player.world->port->hmac[world->player.world->mode];
    switch (step->op) {
    case OP_DIGEST:
        call_digest(world, ops, step, trace);
        break;
    case OP_START:
        trace->role = ROLE_START;
        trace->facts[FACT_VARIANT] = (uint32_t)alg_of(step, START_ALG, START_UNKNOWN);
        trace->status = ops->start(&world->player.world->env.env, alg_of(step, START_ALG, START_UNKNOWN),
                                   crypt_key(world, trace, step->number[START_KEY], SIZE_MAX));
        break;
    case OP_UPDATE:
        call_update(world, ops, step, trace);
        break;
    default: {
        struct crypt_output output = crypt_output_take(
            world, PAL_DIGEST_LEN_MAX, (enum crypt_room)step->number[FINISH_ROOM], (struct pal_view){0});
        trace->role = ROLE_FINISH;
        crypt_output_done(&output, trace,
                          ops->finish(&world->player.world->env.env, output.data, output.cap, &output.len), 0);
        break;
    }
    }
}

static void drop_hmac(struct crypt_world *world)
{
    world->player.world->port->hmac[world->player.world->mode]->drop(&world->player.world->env.env);
}

static void stats_hmac(struct crypt_world *world, struct pal_slot_stats *out)
{
    world->player.world->port->hmac[world->player.world->mode]->stats(&world->player.world->env.env, out);
}

static void play_hmac(struct world worlds[], size_t num_worlds, struct actors *actors, const struct scenario *scenario)
{
    static const struct crypt_area area = {NUM_OWN, 0, call_hmac, drop_hmac, stats_hmac};
    crypt_play(worlds, num_worlds, actors, scenario, &area);
}

static bool adopt_hmac(struct pal_port *out, const struct pal_port *from)
{
    bool any = false;
    for (size_t mode = 0; mode < PAL_NUM_MODES; mode++) {
        out->hmac[mode] = from->hmac[mode] != NULL ? from->hmac[mode] : out->hmac[mode];
        any |= from->hmac[mode] != NULL;
    }
    return any;
}

const struct target target_hmac = {
    .name = "hmac",
    .sentence = "cached HMAC contexts against one-shot ones, on both engines",
    .language = &language,
    .num_worlds = CRYPT_WORLDS,
    .worlds = crypt_worlds,
    .mutated = pal_port_openssl,
    .adopt = adopt_hmac,
    .predictable = true,
    .input_len_max = 144,
    .alarm_mutant = "hmac_pointer_compare",
    .alarm_scenario = "paldiff hmac 1\ndigest key=0\npoke reg=0 at=3\ndigest key=0\n",
    .play = play_hmac,
};
