/* rate_share.h - rate windows that several nodes share, and that outlive a restart.
 *
 * Once a second each node adds what it let through to rows of its own in
 * `rate_windows`, and reads those of the others. Until then it decides by what it
 * knows: the first second of a burst may exceed the limit. After that a window
 * whose limit was reached by several nodes is shared out (rate.h). A window of
 * which less than a twentieth is not stored costs nothing, so a restart, even a
 * sudden one, forgets no more than that and the last second. While the database
 * is away, each node keeps the limit by itself.
 *
 * Thread-safe.
 */
#pragma once
#include <stdbool.h>

#include "base/err.h"
#include "features/access/rate.h"

struct budgets;
struct db;
struct rate_share;
struct writer;

struct rate_share *rate_share_new(struct budgets *budgets, bool shared);

/* NULL is fine. */
void rate_share_free(struct rate_share *s);

/* Reads what was let through in the last minute before this process. Before threads start. */
int rate_share_load(struct rate_share *s, struct db *db, struct error *err) MUST_CHECK;

/* Enters this node, and counts the nodes; from then on counts are stored. */
int rate_share_start(struct rate_share *s, struct writer *writer, struct error *err) MUST_CHECK;

/* As rate_take(), with the monotonic clock. */
struct rate_verdict rate_share_take(struct rate_share *s, struct rate_window *w, int64_t limit);

/* Once a second. */
void rate_share_tick(struct rate_share *s, int64_t mono_us);

/* Stores what is left, while the writer still accepts jobs. */
void rate_share_stop(struct rate_share *s);

/* How many nodes share the windows. */
int64_t rate_share_nodes(const struct rate_share *s);
