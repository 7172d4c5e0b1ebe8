/* SPDX-License-Identifier: Apache-2.0
 * seeds.h: the committed corpus of a target, as files of bytes for a fuzz engine.
 */
#ifndef PALDIFF_SEEDS_H
#define PALDIFF_SEEDS_H

#include "target.h"

/* seeds_encode: a scenario as bytes, and how many; 0, with a line on stderr that names `path`, when they would mean
 * something else. */
size_t seeds_encode(uint8_t out[SCENARIO_INPUT_MAX], const struct scenario *scenario, const char *path);

/* seeds_write: encodes seeds/<target> and regress/<target> of the corpus into `dir`, which exists; a file each, of the
 * same name without ".txt". Those that are longer than what the target is fuzzed with are left out: they are for
 * replay. False, with a line on stderr, when a file is damaged or cannot be written, or there is none. */
bool seeds_write(const struct target *target, const char *dir, size_t *out_num);

#endif
