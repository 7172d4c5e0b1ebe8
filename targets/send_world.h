/* SPDX-License-Identifier: Apache-2.0
 * send_world.h: playing send scenarios: a list is built segment by segment, begun, and resumed against a scripted
 * socket, in as many worlds as there are ways. The targets send and packets differ in their languages and ways only.
 */
#ifndef PALDIFF_SEND_WORLD_H
#define PALDIFF_SEND_WORLD_H

#include "troupe.h"

#define SEND_SEGMENTS_MAX 48u
#define SEND_LENS 12u
#define SEND_ROOMS 12u
#define SEND_FAILURES 6u
#define SEND_SLOTS 2u /* operations at a time */

extern const char *const send_len_names[SEND_LENS];
extern const size_t send_lens[SEND_LENS];
extern const char *const send_room_names[SEND_ROOMS];
extern const char *const send_failure_names[SEND_FAILURES];
extern const char *const send_no_yes[2];
extern const char *const send_bad_names[4];
extern const char *const send_scribble_names[2];

/* Operations; packets has all of them, send those before SEND_OP_FILE. */
enum send_operation {
    SEND_OP_BYTES,
    SEND_OP_REPEAT,
    SEND_OP_BEGIN,
    SEND_OP_RESUME,
    SEND_OP_CANCEL,
    SEND_OP_END,
    SEND_OP_SPACE,
    SEND_OP_PER_CALL,
    SEND_OP_IOV_MAX,
    SEND_OP_FAIL,
    SEND_OP_LIE,
    SEND_OP_PEER,
    SEND_OP_FAIL_ALLOC,
    SEND_OP_FILE,
    SEND_OP_SHRINK
};

/* clang-format off */
#define SEND_SLOT {"slot", FIELD_NUMBER, 1, 0, NULL, false}
#define SEND_ROOM(name, fallback) {name, FIELD_CHOICE, SEND_ROOMS - 1, fallback, send_room_names, false}

#define SEND_OPERATIONS                                                                                                \
    {"bytes", "adds a byte segment to the list", 12, 3, {{"text", FIELD_BYTES, 16, 0, NULL, false},                     \
     {"len", FIELD_CHOICE, SEND_LENS - 1, 0, send_len_names, false},                                                   \
     {"bad", FIELD_CHOICE, 3, 0, send_bad_names, true}}},                                                              \
    {"repeat", "adds the last segment n times more", 2, 1, {{"n", FIELD_NUMBER, 40, 7, NULL, false}}},                 \
    {"begin", "begins sending the list, which stays as it is for the next begin", 8, 4, {SEND_SLOT,                    \
     {"scribble", FIELD_CHOICE, 1, 0, send_scribble_names, true}, {"deadline", FIELD_NUMBER, 40, 0, NULL, true},       \
     {"new-list", FIELD_CHOICE, 1, 0, send_no_yes, false}}},                                                           \
    {"resume", "goes on sending", 10, 2, {SEND_SLOT, {"blocking", FIELD_CHOICE, 1, 0, send_no_yes, false}}},           \
    {"cancel", "cancels", 1, 1, {SEND_SLOT}},                                                                          \
    {"end", "ends, finished or not", 2, 1, {SEND_SLOT}},                                                               \
    {"space", "the socket takes so many bytes more, then blocks", 4, 1, {SEND_ROOM("n", 5)}},                          \
    {"per-call", "the socket takes so many bytes at most per call", 2, 1, {SEND_ROOM("n", 2)}},                        \
    {"iov-max", "more buffers in one call are refused", 1, 1, {{"n", FIELD_NUMBER, 32, 3, NULL, false}}},              \
    {"fail", "the socket fails when the stream is so many bytes further", 2, 3, {SEND_ROOM("after", 4),                \
     {"with", FIELD_CHOICE, SEND_FAILURES - 1, 0, send_failure_names, false},                                          \
     {"once", FIELD_CHOICE, 1, 0, send_no_yes, false}}},                                                               \
    {"lie", "the next call claims a byte more than it was given", 1, 0, {{0}}},                                        \
    {"peer", "reads so many bytes per millisecond of a wait, which returns when there is room for ready-at; the first "  \
     "waits are spurious", 2, 3, {SEND_ROOM("reads", 3), {"spurious", FIELD_NUMBER, 3, 0, NULL, true},                 \
     SEND_ROOM("ready-at", 0)}},                                                                                       \
    {"fail-alloc", "the n-th allocation of the next call fails", 1, 1, {{"n", FIELD_NUMBER, 3, 1, NULL, false}}}
/* clang-format on */

/* send_slot: one operation. `expected` is what its list says, as it was at begin. */
struct send_slot {
    struct pal_send *send;
    bool open;
    bool finished; /* a final status was given */
    bool empty;
    bool resumed;
    bool scribbled;
    bool empties;
    bool files;
    uint64_t turn; /* number of its begin */
    uint64_t deadline_ns;
    uint8_t *expected;
    size_t expected_len;
    size_t sent;
    size_t num_segments;
    const struct pal_segment *given; /* the list as the caller had it, and as it has to be still */
    const struct pal_segment *kept;
    size_t file_end[TRANSPORT_FILES]; /* that the list needs */
    uint32_t calls_due;
};

struct send_world {
    struct player player;
    const struct pal_send_ops *ops;
    struct transport transport;
    size_t num_segments;
    size_t list_len; /* bytes, as they count for its bound */
    struct pal_segment segments[SEND_SEGMENTS_MAX];
    struct send_slot slots[SEND_SLOTS];
    uint64_t turns;
    uint32_t fail_alloc;
    bool lied;
};

/* send_add: a segment more, unless the list would get too large. send_add_bytes, send_add_file: as a step says. */
void send_add(struct send_world *world, struct pal_segment segment);
void send_add_bytes(struct send_world *world, const struct step *step);
void send_add_file(struct send_world *world, const struct step *step);

/* send_drop_list: no segments. */
void send_drop_list(struct send_world *world);

/* send_copy_list: the list as it is now, in fenced memory. */
const struct pal_segment *send_copy_list(struct send_world *world, size_t num);

/* send_list_changes: segments of the caller's list that are not as they were at begin. */
uint32_t send_list_changes(const struct send_slot *slot);

/* send_sendable: whether any port may accept the slot's list. One that none may cannot be read here, either. */
bool send_sendable(const struct send_world *world, const struct send_slot *slot);

/* send_expect: works out what the slot's list says. The list was accepted. */
void send_expect(struct send_world *world, struct send_slot *slot);

/* send_calls_due: calls that the world's way needs for a list that the socket takes in one go. */
uint32_t send_calls_due(const struct send_world *world, const struct send_slot *slot);

/* send_plain_port: the reference port for the sequential world, which a mutant does not replace. */
const struct pal_port *send_plain_port(void);

/* send_adopt, send_lacks: targets' adopt and lacks. A way that begin answers PAL_UNSUPPORTED to is not there. */
bool send_adopt(struct pal_port *out, const struct pal_port *from);
bool send_lacks(const struct pal_port *port, const struct world_spec *spec);

/* send_play: target's play. */
void send_play(struct world worlds[], size_t num_worlds, struct actors *actors, const struct scenario *scenario);

#endif
