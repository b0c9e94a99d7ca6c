/* sealed_table.h - a column of sealed bytes, which a rotation of data keys seals again.
 *
 * A feature that keeps sealed bytes registers each such column when it opens,
 * or the bytes are lost with the data key that sealed them.
 *
 * Thread-safe: tables are const; registering is for open() only.
 */
#pragma once
#include "db/db.h"

struct vault;

enum { SEALED_TABLES_MAX = 8 };

struct sealed_table {
    const char *kind; /* of their struct vault_label */

    /* Of the tenant $1, at most $3 of the rows whose bytes 2 to 5 are not $2: the columns `name`
     * and `version` of their label, and `sealed`. */
    struct db_query stale;

    /* Of the tenant $1, the row with the name $2: $3 in place of $4, if that is still there. */
    struct db_query replace;
};

void vault_add_sealed_table(struct vault *v, const struct sealed_table *table);

/* The row of `stale`. */
extern const struct shape sealed_row;
