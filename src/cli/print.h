/* print.h - printing lines that hold what others wrote.
 *
 * Agents choose their names and tenants their labels: on a terminal these must
 * not move the cursor, colour anything or begin a line of their own.
 */
#pragma once
#include <stdio.h>

#include "base/base.h"

/* As fprintf(), but that control characters come out as \x1b, all but a newline that ends the
 * format. */
void say(FILE *out, const char *format, ...) PRINTF(2, 3);
