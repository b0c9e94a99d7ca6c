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

struct problems;

/* Empty, in `arena`. `source` is "body", "query" or "path": the first element of every loc. */
struct problems *problems_new(struct arena *arena, const char *source);

size_t problems_count(const struct problems *p);

/* A rule beyond the table: type value_error, msg "Value error, <sentence>", ctx
 * {"error": sentence}, at the path of the shape being checked followed by the `n` elements of
 * `path` (names, or decimal indexes written as numbers when is_index). `input` is JSON text, or
 * STR_NULL to leave it out. */
struct problem_step {
    struct str name;
    size_t index;
    bool is_index;
};
void problems_add_rule(struct problems *p, const struct problem_step *path, size_t n,
                       struct str input, const char *sentence);

/* Items added after this have no `input`, because the request holds a secret. shape_read_json()
 * calls it for secret shapes. */
void problems_hide_input(struct problems *p);

/* Members that a shape does not have are problems too, at any depth. */
void problems_set_strict(struct problems *p, bool strict);
bool problems_forbid_extra(const struct problems *p);

/* A required member may be missing where another one of its object is there: what an older server
 * answers lacks the members that are newer. */
void problems_allow_missing(struct problems *p);
bool problems_may_miss(const struct problems *p);

/* Lists of nested shapes directly in the body may hold `max` items (0: any number). With more,
 * reading fails without a problem and problems_list_len() returns their number, for the 413 that
 * precedes any 422 about the items; it is 0 otherwise. */
void problems_set_list_max(struct problems *p, size_t max);
size_t problems_list_len(const struct problems *p);

/* {"detail":[…]} */
void problems_write(const struct problems *p, struct buf *out);
