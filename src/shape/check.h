/* check.h - shared by the files that check values; private to shape/.
 *
 * A value is checked by its row of the table and stored where the row says.
 * A failed check has reported why, at the path of the value. A request with a
 * problem is never used, so what was stored until then does not matter.
 *
 * One thread at a time: a reader belongs to one call.
 */
#pragma once
#include <stdbool.h>

#include <yyjson.h>

#include "base/arena.h"
#include "base/str.h"
#include "shape/problems.h"
#include "shape/shape.h"

struct reader {
    struct arena *arena;
    struct problems *problems;
    bool plain;   /* no string holds NUL or needs escaping */
    bool bignums; /* some number is raw */
    bool lax;     /* a query or path: numbers and booleans are read from strings */
};

/* check_scalar.c: the C value, or false and a problem. */
bool check_text(const struct reader *r, const struct path_step *at, yyjson_val *value,
                struct str *ret);
bool check_integer(const struct reader *r, const struct path_step *at, yyjson_val *value,
                   int64_t *ret);
bool check_real(const struct reader *r, const struct path_step *at, yyjson_val *value, double *ret);

/* NUL, which also stands for a lone surrogate. The second reports it and returns false. */
bool check_has_nul(const struct reader *r, struct str s);
bool check_report_nul(const struct reader *r, const struct path_step *at);

/* One field: fills `to`, the member of the struct. */
typedef bool check_fn(const struct reader *r, const struct path_step *at, const struct field *field,
                      yyjson_val *value, void *to);

/* check_scalar.c */
check_fn check_str, check_enum, check_time, check_int, check_opt_int, check_bool, check_opt_bool,
    check_number, check_uuid;

/* check.c */

/* A list of a nested shape. */
check_fn check_list;

/* The fields of `shape` from the values in `slots`, NULL for absent ones. `around` is echoed as the
 * input of a missing field. */
bool check_fields(const struct reader *r, const struct path_step *at, const struct shape *shape,
                  yyjson_val *const *slots, yyjson_val *around, void *ret);

enum { CHECK_FIELDS_MAX = 64 };
