/* personal_shapes.h - personal access tokens: how users call the API without a browser.
 *
 * Thread-safe: tables are const.
 */
#pragma once
#include "shape/shape.h"

struct personal_create {
    struct str name;
    int role; /* enum token_role */
    int64_t expires_in_days;
    struct str current_password, code; /* null */
};

struct personal_token {
    struct str token_id, name;
    struct str role;
    int64_t created_at, expires_at;
};

struct personal_created {
    struct str token_id, token, name;
    struct str role;
    int64_t created_at, expires_at;
};

struct personal_path {
    struct str token_id;
};

struct personal_user_path {
    struct str email, token_id;
};

extern const struct shape personal_create_shape, personal_token_shape, personal_created_shape,
    personal_list_shape, personal_path_shape, personal_user_path_shape;
