/* SPDX-License-Identifier: Apache-2.0
 * mutator.h: changes inputs on the level of operations: steps come, go, move and are repeated, fields take other
 * values. Pure functions of their arguments; what they make is always a legal scenario, as every input is.
 */
#ifndef PALDIFF_MUTATOR_H
#define PALDIFF_MUTATOR_H

#include "scenario.h"

/* mutator_change: a few changes to the input in `data`, in place. Returns its new length; 0 when it would not fit
 * `cap`, and then the input is as it was. */
size_t mutator_change(const struct language *language, uint8_t *data, size_t len, size_t cap, uint32_t seed);

/* mutator_cross: the first steps of one input and the last of the other; 0 when it does not fit. */
size_t mutator_cross(const struct language *language, struct pal_view head, struct pal_view tail, uint8_t *out,
                     size_t cap, uint32_t seed);

#endif
