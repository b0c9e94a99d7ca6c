/* key_line.h - the keys made from one another by rotation, which all count in one rate window. */
#pragma once
#include <stdatomic.h>

#include "base/str.h"

struct rate_window;

struct key_line {
    _Atomic(struct rate_window *) rate; /* NULL until it is first used */
    size_t n_keys; /* in memory, gone ones too; the registry's lock guards it */
    struct str id;
    char text[];
};

/* Without keys. */
struct key_line *key_line_new(struct str id);
void key_line_free(struct key_line *line);

/* Any thread. */
struct rate_window *key_line_rate(struct key_line *line);
