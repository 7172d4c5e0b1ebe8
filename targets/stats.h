/* SPDX-License-Identifier: Apache-2.0
 * stats.h: what a fuzz program has done so far and what it is at, in memory that it shares with whoever started it, so
 * that this is known of a program that is killed, runs out of memory or takes too long too. Its option is --stats-fd=N.
 */
#ifndef PALDIFF_STATS_H
#define PALDIFF_STATS_H

#include <stdatomic.h>
#include <stdint.h>

#define STATS_INPUT_MAX 4096u

/* stats: counts as in struct stage, of whole plays. Written by one process, read by another at any time; `plays` is
 * written last and read first. `playing` is the input at work, for when the program ends without having said which: its
 * length + 1; 0 between two inputs, and for one that does not fit. */
struct stats {
    _Atomic uint64_t plays;
    _Atomic uint64_t steps;
    _Atomic uint64_t compared;
    _Atomic uint64_t reached;
    _Atomic uint64_t playing_len;
    uint8_t playing[STATS_INPUT_MAX];
};

#endif
