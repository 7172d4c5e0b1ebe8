/* SPDX-License-Identifier: Apache-2.0
 * fuzz_tls.c: real handshakes and traffic between the world's port and a reference port, OpenSSL or BoringSSL on either
 * side, in the worlds {pooled tokens, fresh tokens}; the fresh world may take another shape. Judged by the rules
 * token.* and tls.*. It does not check secrecy, nor what only several threads show: the engines' own tests do.
 */
#include "ports.h"
#include "tls_world.h"

static const char *const sides[] = {"we", "peer"};
static const char *const no_yes[] = {"no", "yes"};
static const char *const roles[] = {"client", "server"};
static const char *const versions[] = {"1.3", "1.2", "both"};
static const char *const engines[] = {"openssl", "boringssl"};
static const char *const shapes[] = {"sized", "drain", "callback", "pending"};
static const char *const auths[] = {"server", "mutual", "psk"};
static const char *const alpns[] = {"none", "one", "second"};
static const char *const spoils[] = {"none", "authority", "name", "version", "certificate", "protocol"};
static const char *const rooms[] = {"all", "exact", "64"};

/* clang-format off */
#define SIDE(name) {name, FIELD_CHOICE, 1, 0, sides, false}
#define LEN {"len", FIELD_CHOICE, TLS_LENS - 1, 0, tls_len_names, false}
#define YES(name) {name, FIELD_CHOICE, 1, 0, no_yes, false}

static const struct operation operations[] = {
    {"exchange", "sends plaintext, has it read, and what is owed for it; opens a connection when there is none", 24, 2,
     {SIDE("from"), LEN}},
    {"open", "a new connection and its handshake, in place of the current one", 10, OPEN_FIELDS,
     {{"role", FIELD_CHOICE, 1, 0, roles, false}, {"version", FIELD_CHOICE, NUM_VERSIONS - 1, 0, versions, false},
      {"engine", FIELD_CHOICE, 1, 0, engines, false}, {"peer", FIELD_CHOICE, 1, 1, engines, false},
      {"shape", FIELD_CHOICE, PAL_TLS_NUM_SHAPES - 1, 0, shapes, false},
      {"against", FIELD_NUMBER, PAL_TLS_NUM_SHAPES - 1, 0, NULL, false},
      {"peer-shape", FIELD_CHOICE, PAL_TLS_NUM_SHAPES - 1, PAL_TLS_DRAIN, shapes, false},
      {"auth", FIELD_CHOICE, NUM_AUTHS - 1, 0, auths, false}, {"alpn", FIELD_CHOICE, NUM_ALPNS - 1, 0, alpns, false},
      {"spoil", FIELD_CHOICE, NUM_SPOILS - 1, 0, spoils, true}, {"late", FIELD_CHOICE, 1, 0, no_yes, true},
      {"ticket", FIELD_CHOICE, 1, 0, no_yes, false}}},
    {"write", "sends plaintext", 12, 2, {SIDE("from"), LEN}},
    {"read", "reads all that came in", 8, 2, {SIDE("by"), {"room", FIELD_CHOICE, 2, 0, rooms, false}}},
    {"update", "new keys (TLS 1.3)", 6, 2, {SIDE("by"), YES("request")}},
    {"renegotiate", "a handshake in mid-traffic (TLS 1.2)", 4, 1, {SIDE("by")}},
    {"alert", "a fatal alert", 1, 2, {SIDE("by"), {"code", FIELD_NUMBER, 120, 80, NULL, false}}},
    {"shutdown", "close_notify", 2, 1, {SIDE("by")}},
    {"pending", "sends what is owed", 4, 1, {SIDE("by")}},
    {"ticket", "keeps the client's newest session for `open ticket=yes`", 2, 0, {{0}}},
    {"close", "gives the connection up", 1, 0, {{0}}},
    {"use", "goes on with the other connection", 2, 1, {{"conn", FIELD_NUMBER, TLS_LINKS - 1, 1, NULL, false}}},
    {"cut", "a reader gets so many bytes first (0: all), and so many again if `again`", 6, 2,
     {{"first", FIELD_NUMBER, 255, 5, NULL, false}, YES("again")}},
    {"change", "changes a byte of what is sent next", 2, 3,
     {SIDE("from"), {"at", FIELD_NUMBER, 255, 20, NULL, false}, {"xor", FIELD_NUMBER, 255, 1, NULL, false}}},
    {"lose", "all but the first bytes of what came in are lost", 1, 2,
     {SIDE("by"), {"keep", FIELD_NUMBER, 255, 0, NULL, false}}},
    {"hold", "so many of our next tokens wait to be sent", 4, 1, {{"n", FIELD_NUMBER, 6, 1, NULL, false}}},
    {"flush", "sends and gives back what was held", 3, 1, {YES("backwards")}},
    {"others", "another renter takes a buffer and writes to it", 1, 1, {LEN}},
    {"fail-alloc", "the n-th allocation of the next call fails", 2, 1, {{"n", FIELD_NUMBER, 1000, 1, NULL, false}}},
    {"fail-random", "the n-th draw of random bytes of the next call fails", 1, 1,
     {{"n", FIELD_NUMBER, 7, 1, NULL, false}}},
};
/* clang-format on */

static const struct language language = {"tls", 1, sizeof(operations) / sizeof(operations[0]), operations};

static const struct world_spec worlds[TLS_WORLDS] = {
    {"tls/pooled", pal_port_openssl, PAL_REUSED, 0},
    {"tls/fresh", pal_port_openssl, PAL_FRESH, 0},
};

static bool adopt_tls(struct pal_port *out, const struct pal_port *from)
{
    out->tls = from->tls;
    return from->tls != NULL;
}

const struct target target_tls = {
    .name = "tls",
    .sentence = "pooled TLS tokens against fresh ones, one shape against another, OpenSSL against BoringSSL",
    .language = &language,
    .num_worlds = TLS_WORLDS,
    .worlds = worlds,
    .mutated = pal_port_openssl,
    .adopt = adopt_tls,
    .input_len_max = 64,
    .alarm_mutant = "tls_tail_of_token_lost",
    .alarm_scenario = "paldiff tls 1\nexchange\n",
    .play = tls_play,
};
