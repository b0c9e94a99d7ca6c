/* still_open.h - an alert that has been open for a while, in a sentence.
 *
 * Thread-safe: pure functions.
 */
#pragma once
#include "base/arena.h"
#include "base/str.h"

struct alert_row;

/* Without a full stop, in the arena. */
struct str still_open_text(const struct alert_row *row, struct arena *arena);
