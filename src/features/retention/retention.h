/* retention.h - the size of the database, for other features; and the tables of this one.
 *
 * Thread-safe.
 */
#pragma once
#include "cli/command.h"
#include "shape/shape.h"

struct engine;

/* Size of the database when last measured. */
int64_t retention_store_bytes(const struct engine *e);

/* What a recount of a tenant's reports found. */
struct bytes_correction {
    int64_t correction;
};

extern const struct shape bytes_correction_shape;
extern const struct command retention_commands[], backup_commands[];
