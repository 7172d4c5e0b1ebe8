/* SPDX-License-Identifier: Apache-2.0
 * fuzz_send.c: lists of byte segments to one scripted stream socket, in the worlds {sequential, copied, gathered,
 * packets, auto}. Judged by the rules send.*. It does not check the kernel: kernel_test sends through real sockets.
 */
#include "ports.h"
#include "send_world.h"

/* clang-format off */
static const struct operation operations[] = {SEND_OPERATIONS};
/* clang-format on */

static const struct language language = {"send", 1, sizeof(operations) / sizeof(operations[0]), operations};

static const struct world_spec worlds[] = {
    {"sequential", send_plain_port, PAL_FRESH, PAL_SEND_SEQUENTIAL},
    {"copied", pal_port_reference, PAL_REUSED, PAL_SEND_COPIED},
    {"gathered", pal_port_reference, PAL_REUSED, PAL_SEND_GATHERED},
    {"packets", pal_port_reference, PAL_REUSED, PAL_SEND_PACKETS},
    {"auto", pal_port_reference, PAL_REUSED, PAL_SEND_AUTO},
};

static const struct world_spec own_world = {"own-sequential", NULL, PAL_REUSED, PAL_SEND_SEQUENTIAL};

const struct target target_send = {
    .name = "send",
    .sentence = "gathered, copied and mixed socket writes against one write per segment",
    .language = &language,
    .num_worlds = sizeof(worlds) / sizeof(worlds[0]),
    .worlds = worlds,
    .mutated = pal_port_reference,
    .adopt = send_adopt,
    .lacks = send_lacks,
    .own_world = &own_world,
    .input_len_max = 64,
    .alarm_mutant = "send_drop_tail_on_short",
    .alarm_scenario = "paldiff send 1\nbytes text=\"abcdef\"\nbegin\nspace n=3\nresume\nspace n=all\nresume\n",
    .play = send_play,
};
