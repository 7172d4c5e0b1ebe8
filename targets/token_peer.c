/* SPDX-License-Identifier: Apache-2.0
 * token_peer.c: what the peer of a scripted endpoint sends: records as its engine frames them, right ones and wrong
 * ones. It breaks when it is made by the engine: then a framing that nobody can read would be read.
 */
#include "token_world.h"

#include <string.h>

#define HEADER 5u
#define TRAILER 17u
enum { TYPE_ALERT = 21, TYPE_HANDSHAKE = 22, TYPE_DATA = 23 };

const char *const token_peer_names[TOKEN_PEERS] = {"data",    "flight",         "record", "none",
                                                   "update",  "update-request", "close",  "alert",
                                                   "bad-sum", "bad-length",     "garbage"};

static struct arena *arena_of(struct token_world *world)
{
    return &world->player.world->arena;
}

static void peer_put(struct token_world *world, const uint8_t *bytes, size_t len)
{
    world->inbox = token_join(world->player.world, world->inbox, (struct pal_view){bytes, len});
}

/* peer_record: as the engine frames it: header, body, type, and a sum over number, type and body, by the eight, what is
 * left by the one, each times a number of its place. */
static void peer_record(struct token_world *world, uint8_t type, const uint8_t *body, size_t len)
{
    uint8_t *record = arena_take_undefined(arena_of(world), HEADER + len + TRAILER);
    uint64_t sum = 14695981039346656037u ^ (world->peer_sent++ + type);
    uint64_t word;
    size_t at = 0;
    record[0] = TYPE_DATA;
    record[1] = record[2] = 3;
    record[3] = (uint8_t)((len + TRAILER) >> 8);
    record[4] = (uint8_t)(len + TRAILER);
    if (len > 0) {
        memcpy(record + HEADER, body, len);
    }
    for (; len - at >= sizeof(word); at += sizeof(word)) {
        memcpy(&word, body + at, sizeof(word));
        sum += (word + 1) * (2 * at + 1099511628211u);
    }
    for (; at < len; at++) {
        sum += (body[at] + (uint64_t)1) * (2 * at + 1099511628211u);
    }
    record[HEADER + len] = type;
    for (size_t i = 0; i + 1 < TRAILER; i++) {
        record[HEADER + len + 1 + i] = (uint8_t)(sum >> (i % 8 * 8));
    }
    peer_put(world, record, HEADER + len + TRAILER);
}

static void peer_data(struct token_world *world, size_t len)
{
    uint8_t *body = arena_take(arena_of(world), len, (uint8_t)('A' + world->peer_sent % 26));
    peer_record(world, TYPE_DATA, body, len);
}

void token_peer_send(struct token_world *world, enum token_peer what, size_t len)
{
    static const uint8_t flight[90] = {2};
    static const uint8_t updates[2][5] = {{24, 0, 0, 1, 0}, {24, 0, 0, 1, 1}};
    static const uint8_t close_notify[2] = {1, 0};
    static const uint8_t alert[2] = {2, 40};
    static const uint8_t too_long[HEADER] = {TYPE_DATA, 3, 3, 0xff, 0xff};
    static const uint8_t garbage[HEADER + TRAILER] = {99, 3, 3, 0, TRAILER};
    switch (what) {
    case TOKEN_PEER_FLIGHT:
        for (int i = 0; i < (world->server ? 1 : 3); i++) {
            peer_record(world, TYPE_HANDSHAKE, flight, sizeof(flight));
        }
        break;
    case TOKEN_PEER_RECORD:
        peer_record(world, TYPE_HANDSHAKE, flight, sizeof(flight));
        break;
    case TOKEN_PEER_NONE:
        break;
    case TOKEN_PEER_UPDATE:
    case TOKEN_PEER_UPDATE_REQUEST:
        peer_record(world, TYPE_HANDSHAKE, updates[what == TOKEN_PEER_UPDATE ? 0 : 1], sizeof(updates[0]));
        world->owes |= what == TOKEN_PEER_UPDATE_REQUEST;
        break;
    case TOKEN_PEER_CLOSE:
        peer_record(world, TYPE_ALERT, close_notify, sizeof(close_notify));
        break;
    case TOKEN_PEER_ALERT:
        peer_record(world, TYPE_ALERT, alert, sizeof(alert));
        break;
    case TOKEN_PEER_BAD_LENGTH:
        peer_put(world, too_long, sizeof(too_long));
        break;
    case TOKEN_PEER_GARBAGE:
        world->whole = true;
        peer_put(world, garbage, sizeof(garbage));
        break;
    case TOKEN_PEER_BAD_SUM:
        world->peer_sent++; /* and the record that comes has the wrong number */
        peer_data(world, len);
        break;
    case TOKEN_PEER_DATA:
    default:
        peer_data(world, len);
        break;
    }
}
