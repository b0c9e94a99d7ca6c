/* expirer.h - a thread that answers those who have waited too long.
 *
 * The writer, the readers and the watcher may all hang in calls to a database
 * that does not answer. This thread calls no database, so what is queued for
 * them is refused in time.
 */
#pragma once
#include "base/err.h"

struct expirer;

/* Calls `expire` ten times a second. The caller owns *ret. */
int expirer_new(void (*expire)(void *ctx), void *ctx, struct expirer **ret,
                struct error *err) MUST_CHECK;

/* NULL is fine. */
void expirer_free(struct expirer *x);
