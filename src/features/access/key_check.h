/* key_check.h - callers that the memory of this process alone cannot judge.
 *
 * A token that is not known here may belong to a key that another process has just
 * created (PostgreSQL): the database is asked, within bounds. And the first use of
 * a key that came from a rotation is stored before anything is answered to it, so
 * that a key in use is never replaced.
 */
#pragma once
#include <stdbool.h>

#include "base/err.h"

struct api_call;

/* After auth_identify(): must the database be read or written before the caller is admitted? */
bool key_check_needed(const struct api_call *call);

/* Fails, or sets exchange->waits and later calls call_admit(). */
int key_check(struct api_call *call, struct error *err) MUST_CHECK;
