/* SPDX-License-Identifier: Apache-2.0
 * poison.h: the sanitizers' manual marks, and nothing in a plain build. The one place that asks which sanitizer this
 * is.
 */
#ifndef PALDIFF_POISON_H
#define PALDIFF_POISON_H

#include <stddef.h>
#include <stdint.h>

/* A fuzz program's own suite is told by PALDIFF_ASAN: it marks memory for code that is watched, and is not itself. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer) && !defined(PALDIFF_ASAN)
#define PALDIFF_ASAN 1
#endif
#if __has_feature(memory_sanitizer)
#define PALDIFF_MSAN 1
#endif
#if __has_feature(thread_sanitizer)
#define PALDIFF_TSAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define PALDIFF_ASAN 1
#endif

#if defined(PALDIFF_ASAN)
#include <sanitizer/asan_interface.h>
#define PALDIFF_SANITIZER "address"
#elif defined(PALDIFF_MSAN)
#include <sanitizer/msan_interface.h>
#define PALDIFF_SANITIZER "memory"
#elif defined(PALDIFF_TSAN)
#define PALDIFF_SANITIZER "thread"
#else
#define PALDIFF_SANITIZER "none"
#endif

/* Without a sanitizer valgrind may be watching: what it is told is a few instructions to anybody else. */
#if !defined(PALDIFF_ASAN) && !defined(PALDIFF_MSAN) && !defined(PALDIFF_TSAN) && __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#define PALDIFF_VALGRIND 1
#endif

/* For code that looks at memory which is not its own, on purpose; and for loops over memory that is one's own for sure,
 * which are several times as fast without a check by the byte. */
#if defined(__clang__)
#define PALDIFF_LOOKS_ANYWHERE __attribute__((no_sanitize("address", "memory", "thread", "undefined")))
#elif defined(__GNUC__)
#define PALDIFF_LOOKS_ANYWHERE __attribute__((no_sanitize_address))
#else
#define PALDIFF_LOOKS_ANYWHERE
#endif

/* poison_region: no access until poison_clear. */
static inline void poison_region(const void *memory, size_t len)
{
#if defined(PALDIFF_ASAN)
    __asan_poison_memory_region(memory, len);
#elif defined(PALDIFF_VALGRIND)
    (void)VALGRIND_MAKE_MEM_NOACCESS(memory, len);
#else
    (void)memory;
    (void)len;
#endif
}

static inline void poison_clear(const void *memory, size_t len)
{
#if defined(PALDIFF_ASAN)
    __asan_unpoison_memory_region(memory, len);
#elif defined(PALDIFF_VALGRIND)
    (void)VALGRIND_MAKE_MEM_DEFINED(memory, len);
#else
    (void)memory;
    (void)len;
#endif
}

/* poison_uninitialised: contents are undefined from here on (MSan). poison_foreign: written by code that MSan did not
 * see. */
static inline void poison_uninitialised(const void *memory, size_t len)
{
#if defined(PALDIFF_MSAN)
    __msan_poison(memory, len);
#elif defined(PALDIFF_VALGRIND)
    (void)VALGRIND_MAKE_MEM_UNDEFINED(memory, len);
#else
    (void)memory;
    (void)len;
#endif
}

static inline void poison_foreign(const void *memory, size_t len)
{
#if defined(PALDIFF_MSAN)
    __msan_unpoison(memory, len);
#elif defined(PALDIFF_VALGRIND)
    (void)VALGRIND_MAKE_MEM_DEFINED(memory, len);
#else
    (void)memory;
    (void)len;
#endif
}

/* poison_uninitialised_from: bytes from the first one on whose contents are undefined (MSan; 0 elsewhere). */
static inline unsigned poison_uninitialised_from(const void *memory, size_t len)
{
#if defined(PALDIFF_MSAN)
    intptr_t at = __msan_test_shadow(memory, len);
    return at < 0 ? 0 : (unsigned)(len - (size_t)at);
#else
    (void)memory;
    (void)len;
    return 0;
#endif
}

#endif
