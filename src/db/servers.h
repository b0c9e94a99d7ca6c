/* servers.h - the servers behind a URL: which of them has a tenant, and which of them answer.
 *
 * One PostgreSQL is one server. Citus spreads tenants over several by hashes of their numbers: a
 * tenant's place is the server that has its rows. What is known of that may be a second old while
 * rows move.
 *
 * Each place has two circuit breakers, for transactions that read and for those that write. Closed:
 * transactions begin. Open: one failed, so for a while none begins. Half open: one does, and what
 * it meets decides. The driver asks when a transaction of a guarded connection begins (db_guard()).
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

/* Asks which server has whom, where tenants are distributed. */
int db_learn_places(struct db *db, struct error *err) MUST_CHECK;

/* The transactions of this connection that begin from now on concern this place alone; 0: several.
 */
void db_set_place(struct db *db, int64_t place);

/* From now on a circuit breaker may refuse the transactions of this connection with
 * ERR_UNAVAILABLE, and each of its statements ends within 5 s. */
int db_guard(struct db *db, struct error *err) MUST_CHECK;

/* Is a breaker of the place with this number open? As db_place_of(). */
bool db_is_away(const struct db *db, int64_t number);

/* The same of some place that has tenants, and of every one. */
bool db_any_is_away(const struct db *db);
bool db_all_are_away(const struct db *db);

/* From now on a statement or a transaction of this reader ends with ERR_BUSY when it takes longer
 * than `us`; 0: as long as any reader's. PostgreSQL is told so, which may fail. */
int db_set_read_max(struct db *db, int64_t us, struct error *err) MUST_CHECK;

/* Is the extension of Citus in this database, whatever it is used for? Known from the connection's
 * start on. */
bool db_has_citus(const struct db *db);

/* Is this connection's server a worker of Citus? Tables are made and changed on the coordinator
 * alone. Known from the connection's start on. */
bool db_is_worker(const struct db *db);

/* Of a db_is_worker(): a connection to the coordinator of its cluster, whose address the worker
 * knows, with the same user, password and database. The caller owns *ret. */
int db_open_coordinator(struct db *db, enum db_mode mode, struct db **ret,
                        struct error *err) MUST_CHECK;

/* Did the last call that failed meet a deadlock or another transaction's change? Then the same
 * transaction may succeed when it is tried again. */
bool db_was_contended(const struct db *db);

/* Sets *err to ERR_BUSY with this text, and makes it such a failure. */
int db_contended(struct db *db, const char *text, struct error *err) MUST_CHECK;

/* Sends a text of less than 8,000 bytes to the connections that hear, in other processes too, when
 * the transaction commits. SQLite has one process: nothing to do. */
int db_notify(struct db *db, struct str text, struct error *err) MUST_CHECK;

typedef void db_text_fn(void *ctx, struct str text);

/* Waits for up to `ms` for such texts of other connections and passes them on; returns as soon as
 * some have come. 1: it listens from now on, so some may have been missed before. ERR_INTERNAL with
 * SQLite. */
int db_listen(struct db *db, int ms, db_text_fn *on_text, void *ctx, struct error *err) MUST_CHECK;

/* A new number for a row, from a writer of PostgreSQL, whose nodes make them by themselves: unique
 * among all writers of a database, and greater than those made before it, on any node, as far as
 * clocks agree. */
int64_t db_number(struct db *db);

/* When it was made, and the least number of a time: microseconds since 1970. */
int64_t db_number_time(int64_t number);
int64_t db_number_at(int64_t us);

/* --- For drivers. --- */

/* Those of this URL, in this process; they live as long as it does. */
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
    MET_NOTHING, /* rolled back: whether the server commits is as unknown as before */
};
void servers_note(struct servers *s, int64_t number, bool writes, enum met met);

/* A connection leads to this server of Citus (0: there is one server) in this timeline, which grows
 * when a standby takes over. False: a later one was seen, so the server is a former primary. */
bool servers_check_timeline(struct servers *s, int64_t group, int64_t timeline);

/* A connection was lost and made again: what was read before may not be there. */
void servers_note_session(struct servers *s);
int64_t servers_session(const struct servers *s); /* how often */

/* As PostgreSQL hashes a bigint. */
int32_t servers_hash(int64_t tenant_id);
