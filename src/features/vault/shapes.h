/* shapes.h - secrets, as set and listed, and the commands about them; values are never returned.
 *
 * Thread-safe: tables are const.
 */
#pragma once
#include "cli/command.h"
#include "shape/shape.h"

enum { SECRET_MAX_BYTES = 64 << 10, SECRET_NAME_MAX = 128, SECRETS_MAX = 1000 };

/* Letters, digits, _ . and -, not beginning with . or -; at most SECRET_NAME_MAX. */
bool secret_is_name(struct str s);

struct secret_set {
    struct str value;
    struct opt_bool shared; /* null: unchanged, or not shared for a new one */
};

struct secret {
    struct str name;
    bool shared;
    int64_t version;
    int64_t created_at, updated_at;
    struct str sealed; /* of a row; in no answer */
};

struct secret_path {
    struct str slug, name;
};

struct vault_rotated {
    int64_t data_keys;
    bool old_key_removed;
};

struct data_keys_query {
    int64_t after;
};

struct data_keys_rotated {
    int64_t created, re_encrypted, destroyed;
    int64_t wait_s;
    struct opt_int next; /* null: finished */
};

extern const struct shape data_keys_query_shape, data_keys_rotated_shape, secret_set_shape,
    secret_shape, secret_list_shape, secret_path_shape, vault_rotated_shape;
extern const struct command vault_commands[];
