/* SPDX-License-Identifier: Apache-2.0
 * fuzz_aead.c: sequences of AES-GCM messages on the caches of up to four threads, in the worlds {openssl, boringssl} x
 * {one-shot, cached}: what is sealed goes into boxes, and boxes are opened as they are or tampered with. Judged by the
 * rules aead.* and crypt.*. It does not check timing, nor nonces for being used twice: that is the caller's doing.
 */
#include "crypt_world.h"
#include "ports.h"

#include <string.h>

#define KEY_LEN_MIN 33u /* a register has a byte more than the longest key */
#define NONCES 9u
#define AAD_MAX 32u

enum { OP_SEAL, OP_OPEN, OP_SEAL_FRESH, NUM_OWN };

/* Fields of the operations, by position. */
enum {
    SEAL_CIPHER,
    SEAL_KEY,
    SEAL_BOX,
    SEAL_TEXT,
    SEAL_TAIL,
    SEAL_AAD,
    SEAL_AAD_PARTS,
    SEAL_TAG,
    SEAL_PLACE,
    SEAL_ROOM,
    SEAL_NONCE,
    SEAL_NONCE_LEN,
    SEAL_KEY_LEN,
    SEAL_CLAIM,
    SEAL_UNKNOWN
};
enum { OPEN_BOX, OPEN_KEY, OPEN_TAMPER, OPEN_AT, OPEN_AAD_PARTS, OPEN_PLACE, OPEN_ROOM };
enum { CLAIM_TRUE, CLAIM_ABOVE_MAX, CLAIM_WRAPS, NUM_CLAIMS };
enum { KEY_LEN_RIGHT, KEY_LEN_LESS, KEY_LEN_MORE, NUM_KEY_LENS };

enum { PLACE_APART, PLACE_IN_PLACE, PLACE_OVERLAP, NUM_PLACES };
enum {
    TAMPER_NONE,
    TAMPER_TEXT,
    TAMPER_TAG,
    TAMPER_AAD,
    TAMPER_NONCE,
    TAMPER_CUT,
    TAMPER_KEY,
    TAMPER_TAG_LEN,
    NUM_TAMPERS
};

static const char *const cipher_names[] = {"aes-128-gcm", "aes-192-gcm", "aes-256-gcm"};
static const size_t key_lens[] = {16, 24, 32};
static const char *const place_names[] = {"apart", "in-place", "overlap"};
static const char *const tamper_names[] = {"none", "text", "tag", "aad", "nonce", "cut", "key", "tag-len"};
static const char *const nonce_names[NONCES] = {"12", "1", "8", "11", "13", "16", "128", "0", "129"};
static const size_t nonce_lens[NONCES] = {12, 1, 8, 11, 13, 16, 128, 0, 129};
static const char *const no_yes[] = {"no", "yes"};
static const char *const claim_names[NUM_CLAIMS] = {"true", "above-max", "wraps"};
static const char *const key_len_names[NUM_KEY_LENS] = {"right", "less", "more"};

/* clang-format off */
#define CIPHER {"cipher", FIELD_CHOICE, PAL_NUM_AEADS - 1, PAL_AES_256_GCM, cipher_names, false}
#define KEY CRYPT_REG("key", 0)
#define BOX {"box", FIELD_NUMBER, CRYPT_BOXES - 1, 0, NULL, false}
#define TEXT {"text", FIELD_BYTES, 64, 0, NULL, false}
#define TAIL {"tail", FIELD_CHOICE, CRYPT_TAILS - 1, 4, crypt_tail_names, false}
#define AAD {"aad", FIELD_BYTES, AAD_MAX, 0, NULL, false}
#define AAD_PARTS {"aad-parts", FIELD_CHOICE, CRYPT_NUM_PARTS - 1, 0, crypt_parts_names, true}
#define TAG {"tag", FIELD_NUMBER, 20, 16, NULL, true}
#define PLACE {"place", FIELD_CHOICE, NUM_PLACES - 1, 0, place_names, true}
#define ROOM {"room", FIELD_CHOICE, CRYPT_NUM_ROOMS - 1, 0, crypt_room_names, true}
#define NONCE {"nonce", FIELD_NUMBER, UINT8_MAX, 0, NULL, false}
#define NONCE_LEN {"nonce-len", FIELD_CHOICE, NONCES - 1, 0, nonce_names, true}
#define KEY_LEN {"key-len", FIELD_CHOICE, NUM_KEY_LENS - 1, 0, key_len_names, true}
#define CLAIM {"claim", FIELD_CHOICE, NUM_CLAIMS - 1, 0, claim_names, true}
#define UNKNOWN {"unknown-cipher", FIELD_CHOICE, 1, 0, no_yes, true}
#define TAMPER {"tamper", FIELD_CHOICE, NUM_TAMPERS - 1, 0, tamper_names, true}
#define AT {"at", FIELD_NUMBER, UINT8_MAX, 0, NULL, false}

/* The fields of seal_fresh are the first of seal. */
static const struct operation operations[] = {
    {"seal", "seals into a box (claim: the text's length as told to the port; key-len: one byte off)", 12, 15,
     {CIPHER, KEY, BOX, TEXT, TAIL, AAD, AAD_PARTS, TAG, PLACE, ROOM, NONCE, NONCE_LEN, KEY_LEN, CLAIM, UNKNOWN}},
    {"open", "opens a box", 12, 7, {BOX, KEY, TAMPER, AT, AAD_PARTS, PLACE, ROOM}},
    {"seal-fresh", "seals into a box under a nonce that the port draws", 2, 8,
     {CIPHER, KEY, BOX, TEXT, TAIL, AAD, AAD_PARTS, TAG}},
    CRYPT_OPERATIONS,
};
/* clang-format on */

static const struct language language = {"aead", 1, sizeof(operations) / sizeof(operations[0]), operations};

static struct pal_view copy_view(struct crypt_world *world, struct pal_view view)
{
    uint8_t *data = arena_take(&world->player.world->arena, view.len, 0);
    if (view.len > 0) {
        memcpy(data, view.data, view.len);
    }
    return (struct pal_view){data, view.len};
}

/* played_place: the FRESH world takes the plain way, input and output apart; an overlap is refused in all. */
static uint32_t played_place(const struct crypt_world *world, uint32_t place)
{
    return place == PLACE_IN_PLACE && world->player.world->mode == PAL_FRESH ? PLACE_APART : place;
}

/* claimed: what the port is told. Only `text` may be read; a wrong claim must be refused by its length. */
static struct pal_view claimed(struct pal_view text, uint32_t claim)
{
    size_t len = claim == CLAIM_ABOVE_MAX ? PAL_TEXT_LEN_MAX + (size_t)1 : text.len + ((size_t)1 << 32);
    return (struct pal_view){text.data, claim == CLAIM_TRUE ? text.len : len};
}

/* make_nonce: long nonces of one number share their first bytes. */
static struct pal_view make_nonce(struct crypt_world *world, uint32_t number, size_t len)
{
    uint8_t *data = arena_take(&world->player.world->arena, len, 0);
    for (size_t i = 0; i < len; i++) {
        data[i] = (uint8_t)(i == 11 || i == len - 1 ? number : i * 3);
    }
    return (struct pal_view){data, len};
}

static void note_job(struct trace_step *trace, const struct pal_aead_job *job, size_t aad_len, uint32_t aad_parts,
                     size_t text_len, uint32_t slot)
{
    trace->role = ROLE_MESSAGE;
    trace->facts[FACT_SLOT] = slot;
    trace->facts[FACT_VARIANT] = (uint32_t)job->cipher;
    trace->facts[FACT_TAG_LEN] = job->tag_len > 0 ? (uint32_t)job->tag_len : UINT32_MAX;
    trace->facts[FACT_NONCE_LEN] = (uint32_t)job->nonce.len;
    trace->facts[FACT_AAD_LEN] = (uint32_t)aad_len;
    trace->facts[FACT_NUM_AAD] = aad_parts + 1;
    trace->facts[FACT_TEXT_LEN] = (uint32_t)text_len;
}

static struct pal_aead_job seal_job(struct crypt_world *world, const struct step *step, struct trace_step *trace,
                                    struct pal_view aad_parts[CRYPT_PARTS_MAX], struct crypt_box *box)
{
    uint32_t cipher = step->number[SEAL_CIPHER];
    struct pal_view aad = scenario_field_bytes(world->player.scenario, step, SEAL_AAD);
    *box = (struct crypt_box){.cipher = cipher, .tag_len = step->number[SEAL_TAG], .aad = copy_view(world, aad)};
    trace->facts[FACT_SLOT] = 0;
    struct pal_aead_job job = {
        .cipher = (enum pal_aead)cipher,
        .key = crypt_key(world, trace, step->number[SEAL_KEY], key_lens[cipher]),
        .aad = aad_parts,
        .num_aad = crypt_cut(world, aad_parts, box->aad, (enum crypt_parts)step->number[SEAL_AAD_PARTS]),
        .tag_len = step->number[SEAL_TAG],
    };
    crypt_say(world, scenario_field_bytes(world->player.scenario, step, SEAL_TEXT));
    crypt_say(world, aad);
    return job;
}

static void call_seal(struct crypt_world *world, const struct pal_aead_ops *ops, const struct step *step,
                      struct trace_step *trace)
{
    struct pal_view aad_parts[CRYPT_PARTS_MAX];
    struct crypt_box box;
    struct pal_aead_job job = seal_job(world, step, trace, aad_parts, &box);
    struct pal_view text =
        crypt_text(world, scenario_field_bytes(world->player.scenario, step, SEAL_TEXT), step->number[SEAL_TAIL]);
    uint32_t place = played_place(world, step->number[SEAL_PLACE]);
    size_t key_len = job.key.len - (step->number[SEAL_KEY_LEN] == KEY_LEN_LESS ? 1 : 0);
    job.key.len = key_len + (step->number[SEAL_KEY_LEN] == KEY_LEN_MORE ? 1 : 0);
    box.nonce = make_nonce(world, step->number[SEAL_NONCE], nonce_lens[step->number[SEAL_NONCE_LEN]]);
    job.nonce = box.nonce;
    job.cipher = step->number[SEAL_UNKNOWN] != 0 ? PAL_NUM_AEADS : job.cipher;
    note_job(trace, &job, box.aad.len, step->number[SEAL_AAD_PARTS], text.len, 0);
    trace->facts[FACT_IN_PLACE] = step->number[SEAL_PLACE];
    struct crypt_output output =
        crypt_output_take(world, text.len + job.tag_len, (enum crypt_room)step->number[SEAL_ROOM],
                          place == PLACE_APART ? (struct pal_view){0} : text);
    size_t shift = place == PLACE_OVERLAP && text.len > 1 ? 1 : 0;
    struct pal_view plain = place == PLACE_APART ? text : (struct pal_view){output.data + shift, text.len - shift};
    plain = claimed(plain, step->number[SEAL_CLAIM]);
    enum pal_status status =
        ops->seal(&world->player.world->env.env, output.data, output.cap, &output.len, &job, plain);
    crypt_output_done(&output, trace, status, 0);
    if (status == PAL_OK && trace->out_len <= output.cap) {
        box.sealed = copy_view(world, (struct pal_view){output.data, trace->out_len});
        world->boxes[step->number[SEAL_BOX]] = box;
    }
}

static void call_seal_fresh(struct crypt_world *world, const struct pal_aead_ops *ops, const struct step *step,
                            struct trace_step *trace)
{
    struct pal_view aad_parts[CRYPT_PARTS_MAX];
    struct crypt_box box;
    struct pal_aead_job job = seal_job(world, step, trace, aad_parts, &box);
    struct pal_view text =
        crypt_text(world, scenario_field_bytes(world->player.scenario, step, SEAL_TEXT), step->number[SEAL_TAIL]);
    note_job(trace, &job, box.aad.len, step->number[SEAL_AAD_PARTS], text.len, 0);
    trace->facts[FACT_NONCE_LEN] = PAL_NONCE_LEN;
    trace->facts[FACT_NONCE_DRAWN] = 1;
    struct crypt_output output =
        crypt_output_take(world, PAL_NONCE_LEN + text.len + job.tag_len, CRYPT_ROOM_EXACT, (struct pal_view){0});
    enum pal_status status =
        ops->seal_fresh(&world->player.world->env.env, output.data, output.cap, &output.len, &job, text);
    crypt_output_done(&output, trace, status, 0);
    if (status == PAL_OK && trace->out_len >= PAL_NONCE_LEN && trace->out_len <= output.cap) {
        box.nonce = copy_view(world, (struct pal_view){output.data, PAL_NONCE_LEN});
        box.sealed = copy_view(world, (struct pal_view){output.data + PAL_NONCE_LEN, trace->out_len - PAL_NONCE_LEN});
        world->boxes[step->number[SEAL_BOX]] = box;
    }
}

static void flip(struct pal_view view, size_t at)
{
    if (view.len > 0) {
        ((uint8_t *)(uintptr_t)view.data)[at % view.len] ^= 0x80u;
    }
}

/* tampered: a copy of the box with one thing wrong. */
static struct crypt_box tampered(struct crypt_world *world, const struct crypt_box *box, uint32_t tamper, size_t at)
{
    struct crypt_box bad = *box;
    bad.sealed = copy_view(world, box->sealed);
    bad.aad = copy_view(world, box->aad);
    bad.nonce = copy_view(world, box->nonce);
    size_t tag_len = bad.tag_len < bad.sealed.len ? bad.tag_len : bad.sealed.len;
    size_t text_len = bad.sealed.len - tag_len;
    switch (tamper) {
    case TAMPER_TEXT:
        flip((struct pal_view){bad.sealed.data, text_len}, at);
        break;
    case TAMPER_TAG:
        flip((struct pal_view){bad.sealed.data + text_len, tag_len}, at);
        break;
    case TAMPER_AAD:
        flip(bad.aad, at);
        break;
    case TAMPER_NONCE:
        flip(bad.nonce, at);
        break;
    case TAMPER_CUT:
        bad.sealed = copy_view(world, (struct pal_view){bad.sealed.data, bad.sealed.len > 0 ? at % bad.sealed.len : 0});
        break;
    case TAMPER_TAG_LEN:
        bad.tag_len = at % 20;
        break;
    default:
        break;
    }
    return bad;
}

static void call_open(struct crypt_world *world, const struct pal_aead_ops *ops, const struct step *step,
                      struct trace_step *trace)
{
    struct pal_view aad_parts[CRYPT_PARTS_MAX];
    uint32_t tamper = step->number[OPEN_TAMPER];
    uint32_t place = played_place(world, step->number[OPEN_PLACE]);
    struct crypt_box box = tampered(world, &world->boxes[step->number[OPEN_BOX]], tamper, step->number[OPEN_AT]);
    uint32_t key = tamper == TAMPER_KEY ? step->number[OPEN_KEY] ^ 1u : step->number[OPEN_KEY];
    trace->facts[FACT_SLOT] = 1;
    struct pal_aead_job job = {
        .cipher = (enum pal_aead)box.cipher,
        .key = crypt_key(world, trace, key, key_lens[box.cipher]),
        .nonce = box.nonce,
        .aad = aad_parts,
        .num_aad = crypt_cut(world, aad_parts, box.aad, (enum crypt_parts)step->number[OPEN_AAD_PARTS]),
        .tag_len = box.tag_len,
    };
    size_t plain_len = box.sealed.len > box.tag_len ? box.sealed.len - box.tag_len : 0;
    note_job(trace, &job, box.aad.len, step->number[OPEN_AAD_PARTS], plain_len, 1);
    trace->facts[FACT_IN_PLACE] = step->number[OPEN_PLACE];
    struct crypt_output output = crypt_output_take(world, plain_len, (enum crypt_room)step->number[OPEN_ROOM],
                                                   place == PLACE_APART ? (struct pal_view){0} : box.sealed);
    size_t shift = place == PLACE_OVERLAP && box.sealed.len > 1 ? 1 : 0;
    struct pal_view sealed =
        place == PLACE_APART ? box.sealed : (struct pal_view){output.data + shift, box.sealed.len - shift};
    enum pal_status status =
        ops->open(&world->player.world->env.env, output.data, output.cap, &output.len, &job, sealed);
    crypt_output_done(&output, trace, status, sealed.len > box.tag_len ? sealed.len - box.tag_len : 0);
}

static void call_aead(struct crypt_world *world, const struct step *step, struct trace_step *trace)
{
    const struct pal_aead_ops *ops = world->player.world->port->aead[world->player.world->mode];
    switch (step->op) {
    case OP_SEAL:
        call_seal(world, ops, step, trace);
        break;
    case OP_OPEN:
        call_open(world, ops, step, trace);
        break;
    default:
        call_seal_fresh(world, ops, step, trace);
        break;
    }
}

static void drop_aead(struct crypt_world *world)
{
    world->player.world->port->aead[world->player.world->mode]->drop(&world->player.world->env.env);
}

static void stats_aead(struct crypt_world *world, struct pal_slot_stats *out)
{
    world->player.world->port->aead[world->player.world->mode]->stats(&world->player.world->env.env, out);
}

static void play_aead(struct world worlds[], size_t num_worlds, struct actors *actors, const struct scenario *scenario)
{
    static const struct crypt_area area = {NUM_OWN, KEY_LEN_MIN, call_aead, drop_aead, stats_aead};
    crypt_play(worlds, num_worlds, actors, scenario, &area);
}

static bool adopt_aead(struct pal_port *out, const struct pal_port *from)
{
    bool any = false;
    for (size_t mode = 0; mode < PAL_NUM_MODES; mode++) {
        out->aead[mode] = from->aead[mode] != NULL ? from->aead[mode] : out->aead[mode];
        any |= from->aead[mode] != NULL;
    }
    return any;
}

const struct target target_aead = {
    .name = "aead",
    .sentence = "cached AES-GCM contexts against one-shot ones, on both engines",
    .language = &language,
    .num_worlds = CRYPT_WORLDS,
    .worlds = crypt_worlds,
    .mutated = pal_port_openssl,
    .adopt = adopt_aead,
    .predictable = true,
    .input_len_max = 144,
    .alarm_mutant = "aead_pointer_compare",
    .alarm_scenario = "paldiff aead 1\nseal key=0\npoke reg=0 at=3\nseal key=0\n",
    .play = play_aead,
};
