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

/* The path below which problems_add_rule() adds. */
void problems_set_path(struct problems *p, const struct step *at);

/* Number of reported problems, including those beyond the limit. */
size_t problems_seen(const struct problems *p);

/* True when the list at `at` is longer than problems_set_list_max() allows; keeps its length. */
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
    check_number;

/* check_uuid.c */
check_fn check_uuid;

/* check_object.c: objects and arrays without a shape of their own. */
check_fn check_json, check_object, check_dict_str, check_dict_num;
check_fn check_list_str, check_list_text, check_values, check_points, check_by;

/* Whether it is an array with at most as many items as the row allows. */
bool check_is_list(const struct reader *r, const struct step *at, const struct field *field,
                   yyjson_val *value);

/* check.c */
check_fn check_shape, check_list;

/* The fields of `shape` from the values in `slots`, NULL for absent ones. `around` is echoed as the
 * input of a missing field. */
bool check_fields(const struct reader *r, const struct step *at, const struct shape *shape,
                  yyjson_val *const *slots, yyjson_val *around, void *ret);

enum { CHECK_FIELDS_MAX = 64 };

/* lax.c: numbers and booleans in strings, as pydantic's lax mode reads them. */
enum lax_result { LAX_OK, LAX_UNREADABLE, LAX_TOO_SMALL, LAX_TOO_LARGE, LAX_TOO_LONG };

enum lax_result lax_integer(struct str s, int64_t *ret);
bool lax_real(struct str s, struct arena *arena, double *ret); /* also inf and nan */
bool lax_bool(struct str s, bool *ret);
