/* SPDX-License-Identifier: Apache-2.0
 * fuzz_token.c: tokens of the scripted engine, in the worlds {the engine itself, drain with fresh tokens, the four
 * shapes with pooled ones}. Judged by the rules token.* and script.*. It does not check cryptography, nor how real
 * engines cut their output: the target tls does.
 */
#include "token_world.h"

#define EVENTS 13u

static const char *const no_yes[] = {"no", "yes"};
static const char *const yes_no[] = {"yes", "no"};
static const char *const roles[] = {"client", "server"};
static const char *const calls[] = {"write", "handshake", "control"};
static const char *const events[EVENTS] = {
    "done",      "want-read", "want-credentials", "renegotiating", "closed",       "no-space", "failed",
    "no-memory", "no-random", "unsupported",      "bad-state",     "bad-argument", "broken"};

/* clang-format off */
#define REG {"reg", FIELD_NUMBER, TOKEN_REGISTERS - 1, 0, NULL, false}
#define HOLD {"hold", FIELD_NUMBER, TOKEN_REGISTERS, 0, NULL, false}
#define LEN(name) {name, FIELD_CHOICE, TOKEN_LENS - 1, 0, token_len_names, false}
#define LATER {"later", FIELD_NUMBER, 40, 0, NULL, true}

static const struct operation operations[] = {
    {"encrypt", "encrypts; the token is released at once, or held in register hold - 1", 24, 2,
     {LEN("len"), HOLD}},
    {"script", "adds an answer to the script of the next endpoint", 24, 8,
     {{"call", FIELD_CHOICE, 2, 0, calls, false}, {"event", FIELD_CHOICE, EVENTS - 1, 0, events, true},
      {"instead", FIELD_CHOICE, 1, 0, no_yes, true}, {"raw", FIELD_CHOICE, 1, 0, no_yes, true},
      {"chunks", FIELD_NUMBER, 9, 1, NULL, false}, {"type", FIELD_NUMBER, 3, 0, NULL, true},
      {"fill", FIELD_NUMBER, 255, 0, NULL, false}, LEN("emit")}},
    {"open", "opens an endpoint, closing the last one, and shakes hands", 8, 2,
     {{"role", FIELD_CHOICE, 1, 0, roles, false}, {"shake", FIELD_CHOICE, 1, 0, yes_no, false}}},
    {"handshake", "one call, with what the peer sends but for the last bytes", 10, 3,
     {{"peer", FIELD_CHOICE, TOKEN_PEERS - 1, 1, token_peer_names, false}, HOLD, LATER}},
    {"decrypt", "all that the peer sends but for the last bytes", 14, 3,
     {{"peer", FIELD_CHOICE, TOKEN_PEERS - 1, 0, token_peer_names, true}, LEN("len"), LATER}},
    {"update-keys", "new keys", 4, 2, {HOLD, {"request", FIELD_CHOICE, 1, 0, no_yes, false}}},
    {"alert", "a fatal alert", 2, 2, {HOLD, {"description", FIELD_NUMBER, 255, 80, NULL, false}}},
    {"shutdown", "says close_notify", 3, 1, {HOLD}},
    {"take-pending", "what is owed", 6, 1, {HOLD}},
    {"encrypt-long", "encrypts len bytes more than fit in a number of full records but for one", 1, 3,
     {LEN("len"), HOLD, {"full-records", FIELD_NUMBER, 2, 0, NULL, false}}},
    {"reserve", "room in a token by hand; wraps: so much less than all that can be counted", 8, 3,
     {REG, LEN("n"), {"wraps", FIELD_CHOICE, 1, 0, no_yes, true}}},
    {"append", "bytes to a token by hand", 12, 2, {REG, LEN("n")}},
    {"release", "releases what the register holds", 12, 1, {REG}},
    {"release-copy", "releases what the register held, through a copy", 3, 1, {REG}},
    {"rent", "another renter takes memory and fills it", 4, 2,
     {{"slot", FIELD_NUMBER, TOKEN_RENTERS - 1, 0, NULL, false}, LEN("n")}},
    {"give-back", "and returns it", 2, 1, {{"slot", FIELD_NUMBER, TOKEN_RENTERS - 1, 0, NULL, false}}},
    {"fail-alloc", "the n-th allocation of the next call fails", 4, 1, {{"n", FIELD_NUMBER, 15, 1, NULL, false}}},
};
/* clang-format on */

static const struct language language = {"token", 1, sizeof(operations) / sizeof(operations[0]), operations};

static const struct world_spec worlds[] = {
    {"engine", token_tap_port, PAL_FRESH, PAL_TLS_DRAIN},
    {"drain/fresh", pal_port_scripted, PAL_FRESH, PAL_TLS_DRAIN},
    {"sized/pooled", pal_port_scripted, PAL_REUSED, PAL_TLS_SIZED},
    {"drain/pooled", pal_port_scripted, PAL_REUSED, PAL_TLS_DRAIN},
    {"callback/pooled", pal_port_scripted, PAL_REUSED, PAL_TLS_CALLBACK},
    {"pending/pooled", pal_port_scripted, PAL_REUSED, PAL_TLS_PENDING},
};

static bool adopt_token(struct pal_port *out, const struct pal_port *from)
{
    out->token = from->token;
    return from->token != NULL;
}

const struct target target_token = {
    .name = "token",
    .sentence = "pooled tokens of four shapes against fresh ones and against the engine itself",
    .language = &language,
    .num_worlds = sizeof(worlds) / sizeof(worlds[0]),
    .worlds = worlds,
    .mutated = pal_port_scripted,
    .adopt = adopt_token,
    .input_len_max = 32,
    .alarm_mutant = "token_grow_loses_prefix",
    .alarm_scenario = "paldiff token 1\nappend\nappend n=1000\n",
    .play = token_play,
};
