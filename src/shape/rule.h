/* rule.h - what the rules of several shapes have in common.
 *
 * For .c files with shapes only. One thread at a time, as their problems.
 */
#pragma once
#include "shape/problems.h"

/* A value_error at the string member `name`, whose text is `value`, or null. */
void rule_refuse_text(struct problems *problems, struct arena *arena, const char *name,
                      struct str value, const char *sentence);
