/* key_check.h - keys that the memory of this process alone cannot judge.
 *
 * A token that is not known here may be of a key that another process just made
 * (PostgreSQL): the database is asked, within bounds. And the first use of a key
 * that came out of a rotation is noted, durably, before anything is answered to
 * it, so that nobody replaces a key that is in use.
 */
#pragma once
#include <stdbool.h>

#include "api/call.h"

/* After auth_identify(): is there anything to be done before the caller is let in? */
bool key_check_needed(const struct api_call *call);

/* Answers, or sets exchange->waits and later calls `good` on the carrier's thread. */
void key_check(struct api_call *call, call_end_fn *good);
