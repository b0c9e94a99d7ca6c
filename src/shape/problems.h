/* problems.h - the problems of a request, collected for the body of a 422.
 *
 * One thread at a time; everything is in the arena.
 */
#pragma once
#include <stdbool.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"

/* Items, bytes of an item's `input`, and bytes of all items: a loc repeats names of any length from
 * the request. */
enum { PROBLEMS_MAX = 100, PROBLEM_INPUT_MAX = 4096, PROBLEMS_TEXT_MAX = 1 << 20 };

struct problem_text;
struct yyjson_val;

/* The path to a value, on the stacks of the checks of what encloses it; NULL is the root. */
struct path_step {
    const struct path_step *up;
    const char *member; /* name of a field, or NULL */
    struct str name;    /* else a name in the request, or STR_NULL */
    size_t index;       /* else an index */
};

struct problems {
    struct arena *arena;
    const char *source;
    const struct path_step
        *at; /* of the shape whose rules run: problems_add_rule() adds below it */
    struct problem_text *first, **last;
    size_t n;    /* items */
    size_t seen; /* and those beyond the limit */
    size_t bytes;
    size_t list_max; /* lists of nested shapes directly in the body may hold as many items (0: any
                        number); with more, reading fails without a problem and list_len is their
                        number, for the 413 that precedes any 422 about the items */
    size_t list_len;
    bool strict;      /* members that a shape does not have are problems too, at any depth */
    bool may_miss;    /* a required member may be missing where another one of its object is there:
                         what an older server answers lacks the members that are newer */
    bool hides_input; /* the request holds a secret */
};

/* Empty, in `arena`. `source` is "body", "query" or "path": the first element of every loc. */
struct problems *problems_new(struct arena *arena, const char *source);

/* A rule beyond the table: type value_error, msg "Value error, <sentence>", ctx
 * {"error": sentence}, at the path of the shape being checked followed by the `n` elements of
 * `path`, whose `up` is set here. `input` is JSON text, or STR_NULL to leave it out. */
void problems_add_rule(struct problems *p, const struct path_step *path, size_t n, struct str input,
                       const char *sentence);

/* A value_error at the string member `name`, whose text is `value`, or null. */
void rule_refuse_text(struct problems *problems, struct arena *arena, const char *name,
                      struct str value, const char *sentence);

/* {"detail":[…]} */
void problems_write(const struct problems *p, struct buf *out);

/* For checks (check.h). */

/* A kind of problem: the part that does not depend on the value. */
struct complaint {
    const char *type, *msg;
};

/* Both return false, for `return problems_report(…)` in a check. `input` NULL leaves it out. */
bool problems_report(struct problems *p, const struct path_step *at, const struct complaint *what,
                     struct yyjson_val *input);

/* With a message of its own and ctx, the JSON text of an object. */
bool problems_report_ctx(struct problems *p, const struct path_step *at, struct complaint what,
                         struct yyjson_val *input, struct str ctx);

/* {"error":…} */
struct str problems_error_ctx(struct arena *arena, struct str error);

/* The body as a whole: json_invalid at a position. */
void problems_report_json(struct problems *p, size_t position, const char *error);

/* True when the list at `at` is longer than list_max allows; keeps its length. */
bool problems_refuse_list(struct problems *p, const struct path_step *at, size_t n);
