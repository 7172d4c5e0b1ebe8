/* SPDX-License-Identifier: Apache-2.0
 * vectors_worlds.c: the worlds of a player: made, and ended with an empty ledger.
 */
#include "vectors_play.h"

#include "ports.h"

#include <stdio.h>
#include <string.h>

bool player_init(struct vector_player *player)
{
    static const char *const mode_names[PAL_NUM_MODES] = {[PAL_FRESH] = "fresh", [PAL_REUSED] = "reused"};
    const struct pal_port *ports[] = {pal_port_openssl(), pal_port_boringssl()};
    _Static_assert(PLAYER_WORLDS == sizeof(ports) / sizeof(ports[0]) * PAL_NUM_MODES, "a world per port and mode");
    memset(player, 0, sizeof(*player));
    player->random = VECTORS_SEED;
    for (size_t i = 0; i < PLAYER_WORLDS; i++) {
        struct player_world *world = &player->worlds[i];
        world->port = ports[i / PAL_NUM_MODES];
        world->mode = (enum pal_mode)(i % PAL_NUM_MODES);
        world_env_init(&world->env);
        if (world->port == NULL || world->port->hmac[world->mode] == NULL || world->port->aead[world->mode] == NULL) {
            (void)fprintf(stderr, "an engine cannot be started\n");
            return false;
        }
        (void)snprintf(world->name, sizeof(world->name), "%s/%s", world->port->name, mode_names[world->mode]);
    }
    return true;
}

size_t player_deinit(struct vector_player *player)
{
    size_t left = 0;
    for (size_t i = 0; i < PLAYER_WORLDS; i++) {
        struct player_world *world = &player->worlds[i];
        if (world->port != NULL) {
            world->port->hmac[world->mode]->drop(&world->env.env);
            world->port->aead[world->mode]->drop(&world->env.env);
        }
        left += world->env.live_blocks;
        world_env_deinit(&world->env);
    }
    return left;
}
