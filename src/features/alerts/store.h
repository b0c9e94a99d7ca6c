/* store.h - alerts and their histories as rows.
 *
 * Everything returned is in the arena.
 */
#pragma once
#include "base/err.h"
#include "features/alerts/shapes.h"

struct db;
struct rows;
struct sighting;

struct alert_row {
    int64_t tenant_id;
    struct str alert_id, type;
    int64_t agent_id;      /* 0: not about an agent */
    struct str agent_name; /* only when read; STR_NULL: not about an agent */
    struct str subject;    /* empty: the agent itself */
    struct opt_int run_no; /* set when the subject is a run_id */
    bool open, notified;
    int64_t since_at, opened_at;
    int64_t closed_at; /* TIME_NULL or STR_NULL until set, as the fields below */
    struct str closed_by;
    struct opt_int away_seconds;
    struct opt_int limit_seconds; /* the limit that was exceeded */
    int64_t acknowledged_at;
    struct str acknowledged_by;
    struct str note;     /* the newest one; STR_NULL */
    int64_t reminded_at; /* when its message was last repeated; TIME_NULL */
    struct str detail;   /* a JSON object */
};

/* Opens the alert; *ret_opened is false when one of the same type, agent and subject is open.
 * Ignores closed_… and acknowledged_…. */
int alert_store_open(struct db *db, const struct alert_row *row, bool *ret_opened,
                     struct error *err) MUST_CHECK;

/* How many closed alerts the tenant has whose ids are greater; at most `limit`. */
int alert_store_closed_after(struct db *db, int64_t tenant_id, struct str alert_id, int64_t limit,
                             int64_t *ret, struct error *err) MUST_CHECK;

/* Stores run.failed alerts of one tenant, closed from the start, from each row's tenant, run_no,
 * alert_id, since_at, opened_at and detail. *ret: those of runs that had none, as they are stored,
 * a list of struct alert_row. */
int alert_store_failed(struct db *db, const struct alert_row *rows, size_t n, struct arena *arena,
                       struct list *ret, struct error *err) MUST_CHECK;

/* Replaces what an open alert says. */
int alert_store_detail(struct db *db, const struct alert_row *row, struct error *err) MUST_CHECK;

/* Marks the alert as notified; *ret_first is false when it already was, or is closed. */
int alert_store_notified(struct db *db, const struct alert_row *row, bool *ret_first,
                         struct error *err) MUST_CHECK;

/* Open alerts of all tenants that were not notified although their agent is enabled and no longer
 * muted: a list of struct alert_row. */
int alert_store_unnotified(struct db *db, int64_t now, int64_t limit, struct arena *arena,
                           struct list *ret, struct error *err) MUST_CHECK;

/* Open alerts of all tenants that were not acknowledged and whose message is due again by the
 * tenant's rules, their agents not muted: a list of struct alert_row. */
int alert_store_to_remind(struct db *db, int64_t now, int64_t limit, struct arena *arena,
                          struct list *ret, struct error *err) MUST_CHECK;

/* Stores closed_at, closed_by and away_seconds; *ret_closed is false when it was closed already. */
int alert_store_close(struct db *db, const struct alert_row *row, bool *ret_closed,
                      struct error *err) MUST_CHECK;

struct alert_filter {
    struct str before; /* an alert_id, exclusive; STR_NULL: start at the newest */
    int open;          /* 0, 1; -1: any */
    int64_t agent_id;  /* 0: any */
    int64_t limit;
};

/* Newest first: a list of struct alert_row. */
int alert_store_list(struct db *db, int64_t tenant_id, const struct alert_filter *filter,
                     struct arena *arena, struct list *ret, struct error *err) MUST_CHECK;

/* How many alerts are open in all tenants. */
int alert_store_count_open(struct db *db, int64_t *ret, struct error *err) MUST_CHECK;

/* Open alerts of KPIs, budgets, failure rates and durations: a list of struct alert_row. */
int alert_store_of_thresholds(struct db *db, int64_t tenant_id, struct arena *arena,
                              struct list *ret, struct error *err) MUST_CHECK;

/* Open alerts about failing agents: a list of struct alert_row. */
int alert_store_of_failing(struct db *db, int64_t tenant_id, struct arena *arena, struct list *ret,
                           struct error *err) MUST_CHECK;

/* Was an alert of this type, agent, subject and since_at closed at that time or later? */
int alert_store_is_over(struct db *db, const struct alert_row *row, int64_t closed_at, bool *ret,
                        struct error *err) MUST_CHECK;

/* alert_id is STR_NULL when there is no such alert. */
int alert_store_get(struct db *db, int64_t tenant_id, struct str alert_id, struct arena *arena,
                    struct alert_row *ret, struct error *err) MUST_CHECK;

/* The open silence alerts of these agents: a list of struct alert_row. */
int alert_store_of_sightings(struct db *db, const struct sighting *sightings, size_t n,
                             struct arena *arena, struct list *ret, struct error *err) MUST_CHECK;

struct alert_entry_row {
    int64_t tenant_id;
    struct str alert_id;
    struct alert_entry entry;
};

/* Sets acknowledged_at and _by unless they are set; *ret_first tells. */
int alert_store_acknowledge(struct db *db, const struct alert_entry_row *row, bool *ret_first,
                            struct error *err) MUST_CHECK;

/* *ret_first is false when it was not acknowledged. */
int alert_store_unacknowledge(struct db *db, int64_t tenant_id, struct str alert_id,
                              bool *ret_first, struct error *err) MUST_CHECK;

/* Sets the alert's newest note. *ret_found is false when there is no such alert. */
int alert_store_note(struct db *db, int64_t tenant_id, struct str alert_id, struct str note,
                     bool *ret_found, struct error *err) MUST_CHECK;

/* Was its message not repeated since `before`? Then it is now; when several processes ask, one is
 * told so. */
int alert_store_remind(struct db *db, const struct alert_entry_row *row, int64_t before, bool *ret,
                       struct error *err) MUST_CHECK;

int alert_store_history_add(struct db *db, const struct alert_entry_row *row,
                            struct error *err) MUST_CHECK;

/* The same for a reminder: it takes the place of those after the last entry of a person. */
int alert_store_history_remind(struct db *db, const struct alert_entry_row *row,
                               struct error *err) MUST_CHECK;

enum { ALERT_HISTORY_MAX = 100 }; /* entries of people, per alert */

/* Has the alert as many entries as it may have? */
int alert_store_history_is_full(struct db *db, int64_t tenant_id, struct str alert_id, bool *ret,
                                struct error *err) MUST_CHECK;

/* All of them: a list of struct alert_entry. */
int alert_store_history(struct db *db, int64_t tenant_id, struct str alert_id, struct arena *arena,
                        struct list *ret, struct error *err) MUST_CHECK;

/* Open alerts of a tenant by type, of at most `limit` that are looked at: a list of struct
 * alert_count. */
int alert_store_counts(struct db *db, int64_t tenant_id, int64_t limit, struct arena *arena,
                       struct list *ret, struct error *err) MUST_CHECK;

/* The next tenant by number, or 0. */
int alert_store_closed_next_tenant(struct db *db, int64_t after, int64_t *ret,
                                   struct error *err) MUST_CHECK;

/* The newest closed alert beyond the `keep` newest closed ones, in the arena, or STR_NULL. */
int alert_store_closed_beyond(struct db *db, int64_t tenant_id, int64_t keep, struct arena *arena,
                              struct str *ret, struct error *err) MUST_CHECK;

/* Within a transaction: up to `max` closed alerts up to this one, the oldest first, added to
 * empty rows of struct str. PostgreSQL locks them, and leaves out what others have locked. */
int alert_store_closed_oldest(struct db *db, int64_t tenant_id, struct str until, int64_t max,
                              struct rows *ret, struct error *err) MUST_CHECK;

/* Deletes a closed alert with its history. Adds to *ret_rows how many rows went, and to *ret_bytes
 * what they counted for the tenant (access/stored_bytes.h). */
int alert_store_closed_delete(struct db *db, int64_t tenant_id, struct str alert_id,
                              int64_t *ret_rows, int64_t *ret_bytes, struct error *err) MUST_CHECK;
