/* shapes.h - every shape there is, for tests, fuzzing and OpenAPI.
 *
 * Thread-safe: tables are const.
 */
#pragma once
#include "shape/shape.h"

/* Each ends in NULL. */
extern const struct shape *const body_shapes[];   /* of request bodies, nested ones included */
extern const struct shape *const query_shapes[];  /* of query strings */
extern const struct shape *const path_shapes[];   /* of path parameters */
extern const struct shape *const answer_shapes[]; /* of answers, nested ones included */
extern const struct shape *const all_shapes[];    /* all of these */
