/* name_key.h - names of any length as keys of bounded length.
 *
 * A KPI's key and the names of dimensions may be as long as a body, but an
 * index entry of PostgreSQL holds 2,704 bytes. What is longer than NAME_KEY_MAX
 * stands in keys by its beginning and its digest.
 *
 * Thread-safe: pure functions.
 */
#pragma once
#include "base/arena.h"
#include "base/str.h"

/* Bytes. All names of at most 256 characters are their own keys; no key is longer than LEN_MAX. */
enum { NAME_KEY_MAX = 1024, NAME_KEY_LEN_MAX = NAME_KEY_MAX + 64 };

struct name_key {
    struct str key;  /* equal for equal names only: the name, or longer than NAME_KEY_MAX */
    struct str full; /* the name where the key is not; else STR_NULL */
};

/* Both borrow the name. A key that is made is in the arena, or in `room`. */
struct name_key store_name_key(struct str name, struct arena *arena);

struct name_room {
    char bytes[NAME_KEY_LEN_MAX];
};

struct name_key store_name_key_in(struct str name, struct name_room *room);
