/* share.h - which tenant's share of the writer and the readers a caller's work counts for. */
#pragma once
#include "base/budget.h"

/* The tenant's node: the one just below the service. NULL: the service itself. */
static inline struct budget *share_of(struct budget *b)
{
    while (b != NULL && b->parent != NULL && b->parent->parent != NULL)
        b = b->parent;
    return b;
}
