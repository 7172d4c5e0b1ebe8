/* SPDX-License-Identifier: Apache-2.0
 * fuzz_packets.c: lists of byte segments and file regions to one scripted stream socket, in the worlds {sequential,
 * packets, auto}. Judged by the rules send.* and packets.*. File positions and late binding are the kernel's:
 * kernel_test's.
 */
#include "ports.h"
#include "send_world.h"

/* clang-format off */
static const struct operation operations[] = {
    SEND_OPERATIONS,
    {"file", "adds a region of a file to the list (len 0: to the end)", 10, 3,
     {{"file", FIELD_NUMBER, TRANSPORT_FILES - 1, 0, NULL, false}, {"offset", FIELD_NUMBER, 100, 0, NULL, false},
      {"len", FIELD_CHOICE, SEND_LENS - 1, 0, send_len_names, false}}},
    {"shrink", "a file gets another length", 3, 2,
     {{"file", FIELD_NUMBER, TRANSPORT_FILES - 1, 0, NULL, false}, {"len", FIELD_CHOICE, SEND_LENS - 1, 0, send_len_names, false}}},
};
/* clang-format on */

static const struct language language = {"packets", 1, sizeof(operations) / sizeof(operations[0]), operations};

static const struct world_spec worlds[] = {
    {"sequential", send_plain_port, PAL_FRESH, PAL_SEND_SEQUENTIAL},
    {"packets", pal_port_reference, PAL_REUSED, PAL_SEND_PACKETS},
    {"auto", pal_port_reference, PAL_REUSED, PAL_SEND_AUTO},
};

static const struct world_spec own_world = {"own-sequential", NULL, PAL_REUSED, PAL_SEND_SEQUENTIAL};

const struct target target_packets = {
    .name = "packets",
    .sentence = "runs of buffers gathered and files by sendfile against one call per element",
    .language = &language,
    .num_worlds = sizeof(worlds) / sizeof(worlds[0]),
    .worlds = worlds,
    .mutated = pal_port_reference,
    .adopt = send_adopt,
    .lacks = send_lacks,
    .own_world = &own_world,
    .input_len_max = 64,
    .alarm_mutant = "packets_drop_tail_on_short",
    .alarm_scenario = "paldiff packets 1\nfile len=16\nbegin\nspace n=3\nresume\nspace n=all\nresume\n",
    .play = send_play,
};
