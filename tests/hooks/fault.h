/* fault.h - a driver around a driver that makes one call fail, for tests. */
#pragma once
#include "db/db.h"

/* A connection that passes every call on to `real` but for the nth fallible one (begin, exec,
 * script, commit; counted from 0), which fails with `code` and does nothing.
 * Borrows `real`: close both. */
struct db *db_fault_new(struct db *real, int nth, enum err_code code) MUST_CHECK;

/* The same, but a statement that fails has given so many of its rows before, as one that takes too
 * long. */
struct db *db_fault_new_after_rows(struct db *real, int nth, size_t rows,
                                   enum err_code code) MUST_CHECK;

/* The same, but the process ends at once with FAULT_KILLED instead, as if it was killed there. */
enum { FAULT_KILLED = 99 };
struct db *db_fault_new_killed(struct db *real, int nth) MUST_CHECK;

/* Did the fault fire? A test that does not check proves nothing. */
bool db_fault_fired(const struct db *db);
