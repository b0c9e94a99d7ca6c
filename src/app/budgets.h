/* budgets.h - the limits of all shares, from the settings. */
#pragma once
#include "base/budget.h"

struct settings;

/* A tree without nodes but its top, with the limits of each level. */
void budgets_read(const struct settings *settings, struct budgets *ret);
