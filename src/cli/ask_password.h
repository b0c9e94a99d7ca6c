/* ask_password.h - a new password from whoever types the command, or from standard input. */
#pragma once
#include "base/err.h"
#include "base/str.h"

struct invocation;

/* With --password-stdin the first line of standard input; else asked for twice on the terminal,
 * without echo. In the arena. ERR_INVALID. */
int ask_password(struct invocation *in, struct str *ret, struct error *err) MUST_CHECK;
