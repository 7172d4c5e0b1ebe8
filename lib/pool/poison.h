/* SPDX-License-Identifier: Apache-2.0
 * poison.h: what the pool tells ASan and MSan about idle memory; nothing in other builds.
 * It breaks when memory goes back to the environment while it is hidden: its allocator may look.
 */
#ifndef PAL_POOL_POISON_H
#define PAL_POOL_POISON_H

#include <stddef.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define POOL_ASAN 1
#endif
#if __has_feature(memory_sanitizer)
#define POOL_MSAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define POOL_ASAN 1
#endif

#if defined(POOL_ASAN)
#include <sanitizer/asan_interface.h>
#elif defined(POOL_MSAN)
#include <sanitizer/msan_interface.h>
#endif

/* poison_hide: no access until poison_show. */
static inline void poison_hide(const void *memory, size_t len)
{
#if defined(POOL_ASAN)
    ASAN_POISON_MEMORY_REGION(memory, len);
#else
    (void)memory;
    (void)len;
#endif
}

static inline void poison_show(const void *memory, size_t len)
{
#if defined(POOL_ASAN)
    ASAN_UNPOISON_MEMORY_REGION(memory, len);
#else
    (void)memory;
    (void)len;
#endif
}

/* poison_undefine: contents are undefined from here on. poison_define: they are not. */
static inline void poison_undefine(const void *memory, size_t len)
{
#if defined(POOL_MSAN)
    __msan_poison(memory, len);
#else
    (void)memory;
    (void)len;
#endif
}

static inline void poison_define(const void *memory, size_t len)
{
#if defined(POOL_MSAN)
    __msan_unpoison(memory, len);
#else
    (void)memory;
    (void)len;
#endif
}

#endif
