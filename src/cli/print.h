/* print.h - printing text that others wrote.
 *
 * Agents choose their names and tenants their labels: on a terminal these must
 * not move the cursor, colour anything or begin a line of their own.
 */
#pragma once
#include <stdio.h>

#include "base/buf.h"

/* Adds the text, with control characters as \x1b or \u202e. */
void print_visible(struct buf *out, struct str s);

/* Adds the text as a segment of a path or a value in a query, percent-encoded. */
void print_encoded(struct buf *out, struct str s);

/* As fprintf(), but with control characters as \x1b, except a newline that ends the format. */
void say(FILE *out, const char *format, ...) PRINTF(2, 3);
