/* SPDX-License-Identifier: Apache-2.0
 * mutants_memory.c: copies of keys and messages in fixed room. It allocates nothing but mutant_block.
 */
#include "mutants_memory.h"

#include <string.h>

_Thread_local struct mutant_memory mutant_memory;
struct mutant_memory mutant_shared;

void mutant_keep(struct mutant_bytes *bytes, struct pal_view view)
{
    bytes->held = true;
    bytes->len = 0;
    (void)mutant_add(bytes, (struct pal_view){view.data, view.len < MUTANT_BYTES_MAX ? view.len : MUTANT_BYTES_MAX});
}

size_t mutant_add(struct mutant_bytes *bytes, struct pal_view view)
{
    if (view.len == 0 || view.len > MUTANT_BYTES_MAX - bytes->len) {
        return 0;
    }
    memmove(bytes->data + bytes->len, view.data, view.len);
    bytes->held = true;
    bytes->len += view.len;
    return view.len;
}

struct pal_view mutant_kept(const struct mutant_bytes *bytes)
{
    return (struct pal_view){bytes->data, bytes->len};
}

bool mutant_is_kept(const struct mutant_bytes *bytes, struct pal_view view)
{
    return bytes->held && bytes->len == view.len && (view.len == 0 || memcmp(bytes->data, view.data, view.len) == 0);
}

void mutant_forget(const struct pal_env *env)
{
    if (mutant_memory.block != NULL) {
        memset(mutant_memory.block, 0, mutant_memory.key.len);
        env->free(env->context, mutant_memory.block);
    }
    memset(&mutant_memory, 0, sizeof(mutant_memory));
    memset(&mutant_shared, 0, sizeof(mutant_shared));
}

struct pal_view mutant_confuse(struct pal_view key, bool taken_for_equal)
{
    struct mutant_bytes *slot = &mutant_memory.key;
    if (!slot->held || !taken_for_equal) {
        mutant_keep(slot, key);
        return key;
    }
    if (!mutant_is_kept(slot, key)) {
        mutant_fire();
    }
    return mutant_kept(slot);
}

struct pal_view mutant_slot_key(struct mutant_bytes *believed, struct mutant_bytes *slot, struct pal_view key)
{
    if (!mutant_is_kept(believed, key) || !slot->held || slot->len != key.len) {
        mutant_keep(believed, key);
        mutant_keep(slot, key);
        return key;
    }
    if (!mutant_is_kept(slot, key)) {
        mutant_fire();
    }
    return mutant_kept(slot);
}

bool mutant_back(struct pal_view key)
{
    struct mutant_memory *memory = &mutant_memory;
    bool back = mutant_is_kept(&memory->other, key) && memory->key.len == key.len && !mutant_is_kept(&memory->key, key);
    if (back) {
        mutant_fire();
        return true;
    }
    if (!memory->other.held) {
        mutant_keep(&memory->other, key);
    }
    mutant_keep(&memory->key, key);
    return false;
}

struct pal_view mutant_zeros(size_t len)
{
    static const uint8_t zeros[MUTANT_BYTES_MAX];
    return (struct pal_view){zeros, len < sizeof(zeros) ? len : sizeof(zeros)};
}

uint8_t *mutant_block(const struct pal_env *env, size_t len)
{
    uint8_t *block = env->alloc(env->context, len);
    if (block != NULL) {
        memset(block, 0, len);
    }
    return block;
}
