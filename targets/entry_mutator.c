/* SPDX-License-Identifier: Apache-2.0
 * entry_mutator.c: libFuzzer's hooks for inputs of a target; compiled once per target with -DPALDIFF_TARGET=<name>.
 * Other engines do not ask. PALDIFF_PLAIN_MUTATOR=1 leaves all to the engine, so that the difference can be measured.
 */
#include "mutator.h"
#include "target.h"

#include <stdlib.h>
#include <string.h>

#define JOIN(name) target_##name
#define TARGET_OF(name) JOIN(name)

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t len, size_t cap, unsigned int seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_len, const uint8_t *b, size_t b_len, uint8_t *out,
                                 size_t cap, unsigned int seed);

/* The engine's own; not there in a program without libFuzzer. */
__attribute__((weak)) size_t LLVMFuzzerMutate(uint8_t *data, size_t len, size_t cap);

static bool plain(void)
{
    const char *asked = getenv("PALDIFF_PLAIN_MUTATOR");
    return asked != NULL && strcmp(asked, "1") == 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t len, size_t cap, unsigned int seed)
{
    const struct language *language = TARGET_OF(PALDIFF_TARGET).language;
    size_t changed = plain() || seed % 2 == 0 ? 0 : mutator_change(language, data, len, cap, seed / 2);
    if (changed == 0 && LLVMFuzzerMutate != NULL) {
        changed = LLVMFuzzerMutate(data, len, cap);
    }
    return changed;
}

size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_len, const uint8_t *b, size_t b_len, uint8_t *out,
                                 size_t cap, unsigned int seed)
{
    struct pal_view head = {a, a_len};
    struct pal_view tail = {b, b_len};
    return plain() ? 0 : mutator_cross(TARGET_OF(PALDIFF_TARGET).language, head, tail, out, cap, seed);
}
