/* SPDX-License-Identifier: Apache-2.0
 * send_world.h: playing send scenarios: a list is built segment by segment, begun, and resumed against a scripted
 * socket, in as many worlds as there are ways. The targets send and packets differ in their languages and ways only.
 */
#ifndef PALDIFF_SEND_WORLD_H
#define PALDIFF_SEND_WORLD_H

#include "target.h"

#define SEND_SEGMENTS_MAX 48u
#define SEND_LENS 12u
#define SEND_ROOMS 12u
#define SEND_FAILURES 6u

extern const char *const send_len_names[SEND_LENS];
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
    {"peer", "reads so many bytes per wait; spurious: so many waits return without room", 2, 2,                        \
     {SEND_ROOM("reads", 3), {"spurious", FIELD_NUMBER, 3, 0, NULL, true}}},                                           \
    {"fail-alloc", "the n-th allocation of the next call fails", 1, 1, {{"n", FIELD_NUMBER, 3, 1, NULL, false}}}
/* clang-format on */

/* send_plain_port: the reference port for the sequential world, which a mutant does not replace. */
const struct pal_port *send_plain_port(void);

/* send_play: target's play. */
void send_play(struct world worlds[], size_t num_worlds, struct actors *actors, const struct scenario *scenario);

#endif
