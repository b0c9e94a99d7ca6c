/* base.h - the attributes and small macros every file may use. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#define MUST_CHECK          __attribute__((warn_unused_result))
#define PRINTF(fmt, first)  __attribute__((format(printf, fmt, first)))
#define NORETURN            __attribute__((noreturn))
#define SCOPED(done)        __attribute__((cleanup(done))) /* done(&variable) when its block ends */
#define COUNT_OF(array)     (sizeof(array) / sizeof((array)[0]))
#define KIB(n)              ((size_t)(n) * 1024)
#define MIB(n)              ((size_t)(n) * 1024 * 1024)
#define LIKELY(condition)   __builtin_expect(!!(condition), 1)
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)

/* From a member back to the struct that embeds it. */
#define CONTAINER_OF(pointer, type, member) ((type *)((char *)(pointer) - offsetof(type, member)))

/* An assert() that a release build keeps, for what guards memory or durability. */
#define ASSERT_ALWAYS(condition)                                                                   \
    (LIKELY(condition) ? (void)0                                                                   \
                       : base_assert_failed(#condition, __FILE_NAME__, __LINE__, __func__))
void base_assert_failed(const char *condition, const char *file, int line,
                        const char *function) NORETURN;
