/* diff.h - what changed between two texts, line by line.
 *
 * The fewest lines that explain it (Myers), as long as that takes bounded
 * work; for texts that have little in common, what lies between their common
 * beginning and end is told as replaced whole.
 *
 * Thread-safe: pure functions.
 */
#pragma once
#include "base/arena.h"
#include "base/str.h"

struct diff_side {
    struct str text, label;
};

/* In the unified form, with three lines of context; empty when the texts are equal. In the arena.
 */
struct str diff_unified(const struct diff_side *old, const struct diff_side *new,
                        struct arena *arena);
