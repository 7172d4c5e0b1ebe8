/* SPDX-License-Identifier: Apache-2.0
 * tls_steps.h: one world's state in a TLS scenario, and what each operation does to it. Which facts a step leaves
 * besides those of its connection is tls_world.c's.
 */
#ifndef PALDIFF_TLS_STEPS_H
#define PALDIFF_TLS_STEPS_H

#include "tls_config.h"

#define TLS_WIRE_MAX (384u * 1024u)
#define TLS_OTHERS_MAX 4u
#define TLS_OPENS_MAX 6u /* connections of a scenario; the closing one may be one more */

/* other_renter: somebody else's rental, with its own bytes in it. */
struct other_renter {
    struct pal_buffer buffer;
    uint8_t fill;
};

struct tls_world {
    struct player player;
    struct world_env peer_env;
    struct tls_wire wire;
    struct tls_link links[TLS_LINKS];
    struct tls_terms terms[TLS_LINKS];
    uint32_t current;
    uint32_t opens;
    bool died; /* a connection of this world ended by a failure */
    uint32_t fail_alloc;
    uint32_t fail_random;
    size_t piece; /* as in tls_link: also of connections to come */
    bool pieces;
    uint32_t hold;
    struct tls_ticket ticket;
    size_t num_others;
    struct other_renter others[TLS_OTHERS_MAX];
};

/* tls_current: the connection that operations are about. */
struct tls_link *tls_current(struct tls_world *world);

/* tls_alive: nothing has ended it on either side, and nothing is left of a handshake. tls_clean: no byte was changed or
 * lost. */
bool tls_alive(const struct tls_link *link);
bool tls_clean(const struct tls_link *link);

/* tls_prepare: plays an operation that calls no port; false for any other. tls_play_call: plays the other ones, with
 * the faults that are armed; the status that is the step's. */
bool tls_prepare(struct tls_world *world, const struct step *step);
enum pal_status tls_play_call(struct tls_world *world, const struct step *step, struct trace_step *trace);

/* tls_others_damage: bytes of other renters that are not theirs any more; their rentals go back. */
uint32_t tls_others_damage(struct tls_world *world);

#endif
