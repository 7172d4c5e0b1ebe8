/* SPDX-License-Identifier: Apache-2.0
 * crypt_world.h: what the worlds of cached crypto contexts have in common: key registers, threads, faults, drops, and
 * the bookkeeping around one call of the port. An area adds its own operations in front of the shared ones.
 */
#ifndef PALDIFF_CRYPT_WORLD_H
#define PALDIFF_CRYPT_WORLD_H

#include "troupe.h"

#define CRYPT_KEYS 4u
#define CRYPT_KEY_LEN_MAX SCENARIO_BYTES_MAX
#define CRYPT_PARTS_MAX 64u
#define CRYPT_SAID_MAX 16384u
#define CRYPT_BOXES 4u

/* Lengths of generated text, by choice: around the block and digest lengths of the engines, and long. */
#define CRYPT_TAILS 18u
extern const char *const crypt_tail_names[CRYPT_TAILS];

/* How a message is cut into parts. In a FRESH world it is given whole, but for CRYPT_PARTS_NULL. */
enum crypt_parts { CRYPT_WHOLE, CRYPT_HALVES, CRYPT_SMALL, CRYPT_EMPTIES, CRYPT_PARTS_NULL, CRYPT_NUM_PARTS };
extern const char *const crypt_parts_names[CRYPT_NUM_PARTS];

/* How large the output buffer is. */
enum crypt_room { CRYPT_ROOM_EXACT, CRYPT_ROOM_MORE, CRYPT_ROOM_LESS, CRYPT_ROOM_NONE, CRYPT_NUM_ROOMS };
extern const char *const crypt_room_names[CRYPT_NUM_ROOMS];

/* Shared operations, in this order after the area's own. */
enum crypt_operation {
    CRYPT_KEY,
    CRYPT_POKE,
    CRYPT_COPY,
    CRYPT_THREAD,
    CRYPT_EXIT,
    CRYPT_DROP,
    CRYPT_FAIL_ALLOC,
    CRYPT_FAIL_RANDOM
};

/* clang-format off */
#define CRYPT_REG(name, fallback) {name, FIELD_NUMBER, CRYPT_KEYS - 1, fallback, NULL, false}

#define CRYPT_OPERATIONS                                                                                               \
    {"key", "writes a key register: bytes and a generated tail, 255 in all", 2, 3, {CRYPT_REG("reg", 0),               \
     {"bytes", FIELD_BYTES, CRYPT_KEY_LEN_MAX, 0, NULL, false},                                                        \
     {"tail", FIELD_CHOICE, CRYPT_TAILS - 1, 0, crypt_tail_names, false}}},                                                      \
    {"poke", "changes one byte of a key register where it stands", 2, 3, {CRYPT_REG("reg", 0),                         \
     {"at", FIELD_NUMBER, CRYPT_KEY_LEN_MAX, 0, NULL, false}, {"xor", FIELD_NUMBER, UINT8_MAX, 1, NULL, false}}},       \
    {"copy", "makes one key register the equal of another", 1, 2, {CRYPT_REG("from", 0), CRYPT_REG("to", 1)}},         \
    {"thread", "goes on on another thread", 1, 1, {{"n", FIELD_NUMBER, TRACE_THREADS_MAX - 1, 1, NULL, false}}},       \
    {"exit", "ends the thread; its next use is a new one (thread 0: drop)", 1, 0, {{0}}},                              \
    {"drop", "drops the thread's slots", 1, 0, {{0}}},                                                                 \
    {"fail-alloc", "the n-th allocation of the next call fails", 1, 1,                                                 \
     {{"n", FIELD_NUMBER, 31, 1, NULL, false}}},                                                                       \
    {"fail-random", "the n-th draw of random bytes of the next call fails", 1, 1,                                      \
     {{"n", FIELD_NUMBER, 3, 1, NULL, false}}}
/* clang-format on */

struct crypt_register {
    uint8_t *data;
    size_t len;
    bool used;    /* by a message since it was written */
    bool changed; /* written in place since then */
};

/* crypt_held: keys that slots may hold now, by what was asked so far. A slot may keep, or not, what it was asked for
 * since its last success; with a success only that key is left. */
struct crypt_held {
    size_t num;
    struct pal_view keys[TRACE_STEPS_MAX];
};

/* crypt_box: a sealed message and what it takes to open it. */
struct crypt_box {
    uint32_t cipher;
    size_t tag_len;
    struct pal_view nonce;
    struct pal_view aad;
    struct pal_view sealed;
};

struct crypt_world;

/* crypt_area: what differs between hmac and aead. */
struct crypt_area {
    uint32_t num_operations; /* in front of the shared ones */
    size_t key_len_min;      /* registers are filled up to it */
    /* call: prepares and makes the port's call for an own operation; fills role, status, out, out_len, asked-for facts.
     * It is called again, with nothing changed, after an injected fault. */
    void (*call)(struct crypt_world *world, const struct step *step, struct trace_step *trace);
    void (*drop)(struct crypt_world *world);
    void (*stats)(struct crypt_world *world, struct pal_slot_stats *out);
};

/* crypt_world: one play. */
struct crypt_world {
    struct player player;
    const struct crypt_area *area;
    struct crypt_register registers[CRYPT_KEYS];
    struct pal_slot_stats stats[TRACE_THREADS_MAX];
    struct crypt_held leaving; /* of a thread that ends */
    uint32_t end_freed_keys;   /* by the drops at the end */
    uint32_t fail_alloc;
    uint32_t fail_random;
    struct crypt_box boxes[CRYPT_BOXES];
    size_t said_len;
    uint8_t said[CRYPT_SAID_MAX]; /* texts given to the port: a key found in memory may be one of these */
};

/* crypt_worlds: {openssl, boringssl} x {one-shot, cached}. */
#define CRYPT_WORLDS 4u
extern const struct world_spec crypt_worlds[CRYPT_WORLDS];

/* crypt_play: the whole scenario; on every thread that was used one more message, the area's first operation with
 * nothing but fallbacks, so that whatever came before is followed by a comparison; then drops, and the end step. */
void crypt_play(struct world worlds[], size_t num_worlds, struct actors *actors, const struct scenario *scenario,
                const struct crypt_area *area);

/* crypt_registers_init, crypt_register_write: where it can be, a write goes to the register's present memory. */
void crypt_registers_init(struct crypt_world *world);
void crypt_register_write(struct crypt_world *world, uint32_t index, struct pal_view bytes);

/* crypt_key: the key for a call: `len` bytes of a register (SIZE_MAX: all), where they stand. Notes the register's
 * facts. */
struct pal_view crypt_key(struct crypt_world *world, struct trace_step *trace, uint32_t index, size_t len);

/* crypt_say: remembers a text that the port is about to see. */
void crypt_say(struct crypt_world *world, struct pal_view text);

/* crypt_text: literal bytes and a generated tail, in fenced memory of exact size. */
struct pal_view crypt_text(struct crypt_world *world, struct pal_view literal, uint32_t tail);

/* crypt_cut: cuts a message into parts, each in memory of its own; returns their number. */
size_t crypt_cut(struct crypt_world *world, struct pal_view parts[CRYPT_PARTS_MAX], struct pal_view text,
                 enum crypt_parts how);

/* crypt_output: what the port may write to, and how it looked before. */
struct crypt_output {
    uint8_t *data;
    size_t cap;    /* what the port is told */
    size_t memory; /* what is there: at least cap, and the input when in place */
    size_t len;    /* as reported; a mark before the call */
    const uint8_t *before;
};

/* crypt_output_take: a buffer for `need` bytes that starts with `input` (in place; empty: apart). */
struct crypt_output crypt_output_take(struct crypt_world *world, size_t need, enum crypt_room room,
                                      struct pal_view input);

/* crypt_output_done: writes status, output and dirt to the trace. `wiped`: bytes that a bad tag sets to 0. */
void crypt_output_done(const struct crypt_output *output, struct trace_step *trace, enum pal_status status,
                       size_t wiped);

#endif
