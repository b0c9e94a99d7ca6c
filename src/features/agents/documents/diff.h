/* diff.h - what changed between two texts, line by line: the smallest difference, within a limit of
 * work. Beyond it, everything between the texts' common beginning and end is shown as replaced.
 *
 * Thread-safe: pure functions.
 */
#pragma once
#include "base/arena.h"

struct diff_side {
    struct str text, label;
};

/* In the unified form, with three lines of context; empty when the texts are equal. In the arena.
 */
struct str diff_unified(const struct diff_side *old, const struct diff_side *new,
                        struct arena *arena);
