/* SPDX-License-Identifier: Apache-2.0
 * bench_timed.h: ports that know how long they were called: how much of a play is the library's and the engine's. What
 * an environment does for a port while it is called counts as the port's.
 * It breaks when two threads are in timed ports at once: plays have one thread at a time.
 */
#ifndef PALDIFF_BENCH_TIMED_H
#define PALDIFF_BENCH_TIMED_H

#include "pal.h"

/* timed_switch: whether ports are timed from now on. Off at first. Then pal_port_openssl and its like answer with timed
 * ports, whoever asks: CMakeLists.txt has the linker put bench_timed.c in front of them. */
void timed_switch(bool on);

/* timed_port: `port` with its calls timed, if that is on and it is not yet: for ports that the linker does not know.
 * Static storage, the same for the same port. Tables that do not fit any more (four of each area) are left as they are;
 * stderr says so. */
const struct pal_port *timed_port(const struct pal_port *port);

/* timed_ns, timed_calls: in timed ports since the process began, without what reading the clock takes. */
double timed_ns(void);
uint64_t timed_calls(void);

#endif
