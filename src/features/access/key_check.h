/* key_check.h - callers whose admission needs the database.
 *
 * A token that is not known here may belong to a key that another process has
 * just created (PostgreSQL): the registry is read again, within limits. And the
 * first use of a rotated key is stored before it is answered, so that a key in
 * use is never replaced.
 */
#pragma once
#include <stdbool.h>

#include "base/err.h"

struct api_call;

/* After auth_identify(): must the database be read or written before the caller is admitted? */
bool key_check_needed(const struct api_call *call);

/* Fails, or sets exchange->waits and later calls call_admit(). */
int key_check(struct api_call *call, struct error *err) MUST_CHECK;
