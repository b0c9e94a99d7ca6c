/* told.h - tenants that changed, as text from one process's feed to the others'.
 *
 * A text is the tenants' numbers with a blank between them; "*", and an empty one, name all.
 */
#pragma once
#include <stdbool.h>

#include "base/str.h"

struct buf;

enum { TOLD_MAX = 256 }; /* tenants in one text; beyond it: all of them */

struct told {
    int64_t tenants[TOLD_MAX];
    size_t n; /* more than TOLD_MAX: too many to name */
};

/* Adds a tenant, once; nothing unless others are there to be told. */
void told_note(struct told *t, int64_t tenant_id, bool others);

/* Adds the text to `ret` and empties the set; false: there is nothing to tell. */
bool told_take(struct told *t, struct buf *ret);

bool told_names(struct str text, int64_t tenant_id);
