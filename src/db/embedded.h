/* embedded.h - what only the embedded store does: its log, and reads that must not wait; and how
 * large a store is.
 */
#pragma once
#include "db/db.h"

/* From now on a commit is durable only when a db_sync() that began after it has returned 0, so that
 * the next transaction need not wait for it. Readers see it before. False: this database's commits
 * are always durable. */
bool db_may_defer_sync(const struct db *db);
int db_defer_sync(struct db *db, struct error *err) MUST_CHECK;

/* Any thread, while another uses the connection. ERR_IO: it is unknown what is stored. */
int db_sync(struct db *db, struct error *err) MUST_CHECK;

/* Moves the log into the database file and empties it, synced; nothing to do on PostgreSQL. */
int db_checkpoint(struct db *db, struct error *err) MUST_CHECK;

/* The ceiling of the writer's log; 0: none. Near it, db_begin() restarts the log: meanwhile new
 * reads wait, and those that have taken longer than half a second end with ERR_BUSY. Nothing to do
 * on PostgreSQL. */
void db_set_log_max(struct db *db, int64_t bytes);

/* `go_on` is called periodically while a statement of a DB_MAINTENANCE connection runs; false ends
 * it with ERR_BUSY. Not with PostgreSQL. */
void db_watch(struct db *db, bool (*go_on)(void *ctx), void *ctx);

/* From now on a statement of this reader ends with ERR_BUSY once clock_raw_us() has passed
 * `until_us`, checked between rows and periodically without rows. So it does after 32 KiB of text
 * and blobs, because the caller needs time for them too. on_row may have seen some rows by then.
 * Locks are not waited for. 0: no deadline. Returns false, and changes nothing, where a deadline
 * cannot be kept: with PostgreSQL, and on connections that are not readers. */
bool db_set_deadline(struct db *db, int64_t until_us);

/* For code that would miss the deadline, or would wait for something other than the database. */
bool db_has_deadline(const struct db *db);

/* The sizes in bytes of the whole database, all tenants together, and of the write-ahead log's file
 * (0 with PostgreSQL). */
int db_size(struct db *db, int64_t *ret, struct error *err) MUST_CHECK;
int64_t db_log_bytes(const char *url);
