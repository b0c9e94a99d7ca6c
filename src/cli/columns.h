/* columns.h - a list as a table: a header, and columns as wide as what is in them. */
#pragma once
#include <stdbool.h>

struct field;
struct invocation;

/* Prints the items of the list that is the member `field` of `answer` by the command's columns;
 * the header only when `header`. */
void columns_print(struct invocation *in, const struct field *field, const void *answer,
                   bool header);
