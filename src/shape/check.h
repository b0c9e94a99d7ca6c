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

/* The path to a value, on the stacks of the checks of what encloses it; NULL is the root. */
struct step {
    const struct step *up;
    const char *member; /* name of a field, or NULL */
    struct str name;    /* else a name in the request, or STR_NULL */
    size_t index;       /* else an index */
};

struct reader {
    struct arena *arena;
    struct problems *problems;
    bool plain;   /* no string holds NUL or needs escaping */
    bool bignums; /* some number is raw */
    bool lax;     /* a query or path: numbers and booleans are read from strings */
};

/* problems.c */

/* A kind of problem: the part that does not depend on the value. */
struct complaint {
    const char *type, *msg;
};

/* Both return false, for `return problems_report(…)` in a check. `input` NULL leaves it out. */
bool problems_report(const struct reader *r, const struct step *at, const struct complaint *what,
                     yyjson_val *input);

/* With a message of its own and ctx, the JSON text of an object. */
bool problems_report_ctx(const struct reader *r, const struct step *at, struct complaint what,
                         yyjson_val *input, struct str ctx);

/* {"error":…} */
struct str problems_error_ctx(struct arena *arena, struct str error);

/* The body as a whole: json_invalid at a position. */
void problems_report_json(const struct reader *r, size_t position, const char *error);

/* True when the list at `at` is longer than list_max allows; keeps its length. */
bool problems_refuse_list(struct problems *p, const struct step *at, size_t n);

/* check_scalar.c: the C value, or false and a problem. */
bool check_text(const struct reader *r, const struct step *at, yyjson_val *value, struct str *ret);
bool check_integer(const struct reader *r, const struct step *at, yyjson_val *value, int64_t *ret);
bool check_real(const struct reader *r, const struct step *at, yyjson_val *value, double *ret);

/* NUL, which also stands for a lone surrogate. The second reports it and returns false. */
bool check_has_nul(const struct reader *r, struct str s);
bool check_report_nul(const struct reader *r, const struct step *at);

/* One field: fills `to`, the member of the struct. */
typedef bool check_fn(const struct reader *r, const struct step *at, const struct field *field,
                      yyjson_val *value, void *to);

/* check_scalar.c */
check_fn check_str, check_enum, check_time, check_int, check_opt_int, check_bool, check_opt_bool,
    check_number, check_uuid;

/* check.c */

/* A list of a nested shape. */
check_fn check_list;

/* The fields of `shape` from the values in `slots`, NULL for absent ones. `around` is echoed as the
 * input of a missing field. */
bool check_fields(const struct reader *r, const struct step *at, const struct shape *shape,
                  yyjson_val *const *slots, yyjson_val *around, void *ret);

enum { CHECK_FIELDS_MAX = 64 };
