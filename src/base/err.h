/* err.h - a code for programs, a sentence for people.
 *
 * A function that can fail returns 0 or -1 and takes a `struct error *` last,
 * which may be NULL. Code below `api` never logs an error that it returns.
 *
 * Thread-safe: an error belongs to its caller.
 */
#pragma once
#include "base/base.h"

/* clang-format off */
#define ERR_MAP(X)                                                                 \
    X(ERR_NONE,        "no error")                                                 \
    X(ERR_INVALID,     "bad input")                                                \
    X(ERR_NOT_FOUND,   "not found")                                                \
    X(ERR_CONFLICT,    "conflict")                                                 \
    X(ERR_CONSTRAINT,  "a database constraint forbids it")                         \
    X(ERR_UNAUTHORIZED, "not authenticated")                                        \
    X(ERR_FORBIDDEN,   "not allowed")                                              \
    X(ERR_BUSY,        "overloaded")                                               \
    X(ERR_FULL,        "no space left")                                            \
    X(ERR_UNAVAILABLE, "the database is unavailable")                              \
    X(ERR_IO,          "input/output error: it is unknown what was stored")        \
    X(ERR_DAMAGED,     "a stored row is damaged")                                  \
    X(ERR_SCHEMA,      "the database does not match this program")                 \
    X(ERR_INTERNAL,    "a bug in this program")
/* clang-format on */

#define ERR_ENUM(code, text) code,
enum err_code { ERR_MAP(ERR_ENUM) };
#undef ERR_ENUM

enum { ERR_TEXT_MAX = 256 };

struct error {
    enum err_code code;
    char text[ERR_TEXT_MAX]; /* a sentence without full stop; cut when longer */
};

/* Fills `err` (NULL is fine) and returns -1, so that `return err_set(…)` reads well. */
int err_set(struct error *err, enum err_code code, const char *fmt, ...) PRINTF(3, 4);

/* Puts "<context>: " before the text: the sentence grows on its way up. Returns -1. */
int err_wrap(struct error *err, const char *fmt, ...) PRINTF(2, 3);

/* The generic text of a code. */
const char *err_text(enum err_code code);

/* For failures that cannot be handled, such as running out of memory: prints why and aborts. */
void err_die(const char *fmt, ...) PRINTF(1, 2) NORETURN;
