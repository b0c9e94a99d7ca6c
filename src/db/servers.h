/* servers.h - the servers behind a URL: which of them stores a tenant's rows, and which are
 * available.
 *
 * One PostgreSQL is one server. Citus spreads tenants over several by hashes of their numbers: a
 * tenant's place is the server that has its rows. What is known of that may be a second old while
 * rows move.
 *
 * Each place has two circuit breakers, for transactions that read and for those that write. Closed:
 * transactions may begin. Open: one has failed, and for a while none may begin. Half open: one may
 * begin, and its result closes or opens the breaker. The driver checks the breaker when a
 * transaction of a guarded connection begins (db_guard()).
 *
 * Thread-safe.
 */
#pragma once
#include <stdbool.h>

#include "base/base.h"
#include "base/err.h"
#include "db/db.h"

struct servers;

/* Where the rows of the tenant are; 0: there is one server, or the tenant is 0 (several tenants),
 * or it is not known. Any thread, also while another uses the connection. */
int64_t db_place_of(const struct db *db, int64_t tenant_id);

/* Where tenants are distributed: reads from Citus which server stores which tenants. */
int db_learn_places(struct db *db, struct error *err) MUST_CHECK;

/* The transactions of this connection that begin from now on concern this place alone; 0: several.
 */
void db_set_place(struct db *db, int64_t place);

/* From now on a circuit breaker may refuse the transactions of this connection with
 * ERR_UNAVAILABLE, and each of its statements ends within 5 s. */
int db_guard(struct db *db, struct error *err) MUST_CHECK;

/* Is a breaker of the place with this number open? As db_place_of(). */
bool db_is_away(const struct db *db, int64_t number);

/* The same for any place that stores tenants, and for all of them. */
bool db_any_is_away(const struct db *db);
bool db_all_are_away(const struct db *db);

/* From now on a statement or a transaction of this reader ends with ERR_BUSY when it takes longer
 * than `us`; 0: the default limit of readers. With PostgreSQL it runs a SET, which may fail. */
int db_set_read_max(struct db *db, int64_t us, struct error *err) MUST_CHECK;

/* Is the extension of Citus in this database, whatever it is used for? Known from the connection's
 * start on. */
bool db_has_citus(const struct db *db);

/* Is this connection's server a worker of Citus? Tables are made and changed on the coordinator
 * alone. Known from the connection's start on. */
bool db_is_worker(const struct db *db);

/* For a connection to a worker: opens one to the coordinator, whose address is read from the
 * worker, with the same user, password and database. The caller owns *ret. */
int db_open_coordinator(struct db *db, enum db_mode mode, struct db **ret,
                        struct error *err) MUST_CHECK;

/* Did the last call fail because of a deadlock or a concurrent change? Then the same transaction
 * may succeed when it is retried. */
bool db_was_contended(const struct db *db);

/* Sets *err to ERR_BUSY with this text; db_was_contended() is then true. */
int db_contended(struct db *db, const char *text, struct error *err) MUST_CHECK;

/* NOTIFY: sends a text of less than 8,000 bytes to all connections of db_listen(), in other
 * processes too, when the transaction commits. SQLite has one process: nothing to do. */
int db_notify(struct db *db, struct str text, struct error *err) MUST_CHECK;

typedef void db_text_fn(void *ctx, struct str text);

/* LISTEN: waits for up to `ms` for texts that other connections send, and passes them to on_text;
 * returns as soon as some have arrived. Returns 1 when it has only now begun to listen, so that
 * earlier texts may have been missed. ERR_INTERNAL with SQLite. */
int db_listen(struct db *db, int ms, db_text_fn *on_text, void *ctx, struct error *err) MUST_CHECK;

/* A new row number; only for writers of PostgreSQL, whose nodes generate them without asking the
 * database. Unique among all writers of a database, and greater than all earlier ones of any node,
 * as far as the clocks agree. */
int64_t db_number(struct db *db);

/* The time at which a number was generated, and the least number of a time; both in microseconds
 * since 1970. */
int64_t db_number_time(int64_t number);
int64_t db_number_at(int64_t us);

/* --- For drivers. --- */

/* The servers behind this URL: one object per process, never freed. */
struct servers *servers_of(const char *url);

/* The tenants with a hash from `first` to `last` have this place, which is not 0. */
struct place_range {
    int64_t first, last, place;
};

/* Replaces what is known. The ranges are ordered and do not overlap. */
void servers_set_ranges(struct servers *s, const struct place_range *ranges, size_t n);

/* May a transaction that concerns the place with this number begin? */
bool servers_may_begin(struct servers *s, int64_t number, bool writes);

/* What a transaction met. */
enum met {
    MET_ANSWER,
    MET_SLOW,    /* its server ended a statement, which took too long there */
    MET_REFUSAL, /* at once */
    MET_SILENCE, /* no answer in time */
    MET_NOTHING, /* rolled back: says nothing about whether commits succeed */
};
void servers_note(struct servers *s, int64_t number, bool writes, enum met met);

/* A connection leads to this server of Citus (0: there is one server) in this timeline, which grows
 * when a standby takes over. False: a later one was seen, so the server is a former primary. */
bool servers_check_timeline(struct servers *s, int64_t group, int64_t timeline);

/* Counts a reconnect: rows that were read before it may be missing now. */
void servers_note_session(struct servers *s);
int64_t servers_session(const struct servers *s); /* how often */

/* As PostgreSQL hashes a bigint. */
int32_t servers_hash(int64_t tenant_id);
