/* store.h - alerts and their histories, the runs and agents that they are about, and tenants' alert
 * rules, as rows.
 *
 * Everything returned is in the arena.
 */
#pragma once
#include "base/err.h"
#include "features/access/stored_bytes.h"
#include "features/agents/schedules/schedules.h"
#include "features/alerts/shapes.h"

struct db;
struct rows;
struct sighting;

/* In SQL: what an entry of an alert's history counts for its tenant; a note counts as a report's
 * row does (access/stored_bytes.h). */
#define ALERT_NOTE_BYTES(text) "CASE WHEN note IS NULL THEN 0 ELSE " STORED_ROW text("note") " END"

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

/* 1: an alert of this type, agent, subject and since_at was closed at that time or later. */
int alert_store_over(struct db *db, const struct alert_row *row, int64_t closed_at, int64_t *ret,
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

/* Sets acknowledged_at and _by unless they are set; *ret_first is whether this call set them. */
int alert_store_acknowledge(struct db *db, const struct alert_entry_row *row, bool *ret_first,
                            struct error *err) MUST_CHECK;

/* *ret_first is false when it was not acknowledged. */
int alert_store_unacknowledge(struct db *db, int64_t tenant_id, struct str alert_id,
                              bool *ret_first, struct error *err) MUST_CHECK;

/* Sets the alert's newest note. *ret_found is false when there is no such alert. */
int alert_store_note(struct db *db, int64_t tenant_id, struct str alert_id, struct str note,
                     bool *ret_found, struct error *err) MUST_CHECK;

/* Claims the reminder of an alert: *ret is true if none was sent since `before`. Of several
 * processes that call it at once, only one gets true. */
int alert_store_remind(struct db *db, const struct alert_entry_row *row, int64_t before, bool *ret,
                       struct error *err) MUST_CHECK;

int alert_store_history_add(struct db *db, const struct alert_entry_row *row,
                            struct error *err) MUST_CHECK;

/* The same for a reminder: it takes the place of those after the last entry of a person. */
int alert_store_history_remind(struct db *db, const struct alert_entry_row *row,
                               struct error *err) MUST_CHECK;

enum { ALERT_HISTORY_MAX = 100 }; /* entries of people, per alert */

/* How many the alert has, counted up to that. */
int alert_store_history_count(struct db *db, int64_t tenant_id, struct str alert_id, int64_t *ret,
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

struct finished_run {
    struct str run_id;
    struct str error_type; /* STR_NULL */
    bool failed;
    int64_t ended_at;
    int64_t duration_ms;
};

/* Whose runs: of one agent, or of all (agent_id 0). */
struct finished_runs {
    int64_t tenant_id, agent_id, limit;
    bool deep; /* look at as many runs as are worth it: the answer is all that is known */
};

/* The last runs that have ended, newest start first: a list of struct finished_run. Looks at twice
 * as many runs and a few, so that runs that never end cost little; *ret_more: it looked at that
 * many, and runs that started before them may have ended too. */
int alert_store_finished(struct db *db, const struct finished_runs *of, struct arena *arena,
                         struct list *ret, bool *ret_more, struct error *err) MUST_CHECK;

/* Of the durations of finished runs, at least one, in ms: by nearest rank, the smallest that this
 * share of them does not exceed. The arena is scratch space. */
int64_t finished_runs_percentile(const struct list *runs, int64_t percentile, struct arena *arena);

/* An open agent.failing alert, whether its agent still takes reports, and whether its tenant wants
 * alerts on failed runs. */
struct failing_row {
    int64_t tenant_id, agent_id;
    struct str alert_id, detail;
    bool enabled; /* and not deleted */
    bool deleted;
    bool wanted;
};

/* Of agents after this one, by tenant and agent: a list of struct failing_row. */
int alert_store_failing(struct db *db, const struct failing_row *after, int64_t limit,
                        struct arena *arena, struct list *ret, struct error *err) MUST_CHECK;

/* The open alert of this agent; alert_id is STR_NULL if none is open. */
int alert_store_failing_of(struct db *db, int64_t tenant_id, int64_t agent_id, struct arena *arena,
                           struct failing_row *ret, struct error *err) MUST_CHECK;

/* Until the end of the transaction others wait here, and then count the runs that failed in it. */
int alert_store_failing_hold(struct db *db, int64_t tenant_id, int64_t agent_id,
                             struct error *err) MUST_CHECK;

/* Stuck runs are scanned once, by start, when they are old enough; a mark says how far. A run that
 * may take longer is put on a list for later. */

/* A position in the runs of a tenant, ordered by start and then by id. */
struct stuck_cursor {
    int64_t start_at;
    struct str run_id;
};

struct stuck_tenant {
    int64_t tenant_id;
    struct stuck_cursor mark; /* start_at TIME_NULL: no mark yet */
};

struct stuck_run {
    int64_t tenant_id, run_no, agent_id;
    struct str run_id, agent_name;
    int64_t start_at;
    bool open;
    bool expected; /* its agent is enabled, and not deleted */
    bool wanted;   /* its tenant has alerts on stuck runs enabled */
};

/* At most `limit` tenants by number, those after this one: a list of struct stuck_tenant. */
int alert_store_stuck_tenants(struct db *db, int64_t after, int64_t limit, struct arena *arena,
                              struct list *ret, struct error *err) MUST_CHECK;

/* Stores how far runs have been scanned; a mark never moves back. */
int alert_store_stuck_mark(struct db *db, const struct stuck_tenant *tenant,
                           struct error *err) MUST_CHECK;

/* Runs after a cursor. */
struct stuck_span {
    struct stuck_cursor after;
    int64_t until; /* a start, inclusive */
    int64_t limit;
};

/* Open runs without an alert, oldest first: a list of struct stuck_run. */
int alert_store_stuck_runs(struct db *db, int64_t tenant_id, const struct stuck_span *span,
                           struct arena *arena, struct list *ret, struct error *err) MUST_CHECK;

/* One run as it is now; run_no is 0 when there is no such run. */
int alert_store_stuck_run(struct db *db, int64_t tenant_id, int64_t run_no, struct arena *arena,
                          struct stuck_run *ret, struct error *err) MUST_CHECK;

/* Adds a run to the list for later, and removes it. */
int alert_store_stuck_later(struct db *db, const struct stuck_run *run, int64_t due_at,
                            struct error *err) MUST_CHECK;
int alert_store_stuck_forget(struct db *db, const struct stuck_run *run,
                             struct error *err) MUST_CHECK;

/* Due runs of the list for later: a list of struct stuck_run. */
int alert_store_stuck_due(struct db *db, int64_t until, int64_t limit, struct arena *arena,
                          struct list *ret, struct error *err) MUST_CHECK;

/* Runs whose open run.stuck alert should be closed: a list of struct stuck_run. */
int alert_store_stuck_over(struct db *db, int64_t limit, struct arena *arena, struct list *ret,
                           struct error *err) MUST_CHECK;

/* How many alerts of the type run.stuck are open for the run's agent. */
int alert_store_stuck_count(struct db *db, const struct stuck_run *run, int64_t *ret,
                            struct error *err) MUST_CHECK;

/* The id of the run's open alert, or STR_NULL. */
int alert_store_stuck_alert(struct db *db, const struct stuck_run *run, struct arena *arena,
                            struct str *ret, struct error *err) MUST_CHECK;

struct silence_row {
    int64_t tenant_id, agent_id;
    struct str agent_name; /* of alert_store_silent_hold() only */
    bool enabled;          /* and not deleted */
    bool deleted;
    struct opt_int interval_seconds; /* as the agent declares it */
    struct schedule_row schedule;    /* as people set it */
    int64_t last_seen_at;            /* TIME_NULL: never */
    struct str alert_id;             /* of the open alert, or STR_NULL */
    int64_t since_at, opened_at;     /* of that alert */
    struct opt_int limit_seconds;    /* the interval when it was opened; 0 or none: by cron */
};

/* All agents that may become late from now until then, and those with an open alert: a list of
 * struct silence_row by tenant and id, so that all processes lock them in the same order; in the
 * arena. */
int alert_store_silent_near(struct db *db, int64_t now, int64_t until, struct arena *arena,
                            struct list *ret, struct error *err) MUST_CHECK;

/* One agent, locked until the transaction ends so that its last-seen time cannot change meanwhile.
 * agent_id is 0 when there is no such agent. In the arena. */
int alert_store_silent_hold(struct db *db, int64_t tenant_id, int64_t agent_id, struct arena *arena,
                            struct silence_row *ret, struct error *err) MUST_CHECK;

struct alert_rules_row {
    int64_t tenant_id;
    bool run_failed, run_stuck;
    int64_t thresholds;   /* how many rules with a limit are evaluated */
    int64_t hard_budgets; /* how many of them stop agents */
    struct opt_int remind_hours;
    int64_t version; /* incremented by each change; 0: never set */
    int64_t updated_at;
    struct str rules; /* a JSON object; STR_NULL: never set */
};

/* Adds or replaces the tenant's row and increments its version. PostgreSQL locks the row until the
 * commit. */
int alert_store_rules_set(struct db *db, const struct alert_rules_row *row,
                          struct error *err) MUST_CHECK;

/* The tenant's row; version 0 when no rules were set. */
int alert_store_rules_get(struct db *db, int64_t tenant_id, struct arena *arena,
                          struct alert_rules_row *ret, struct error *err) MUST_CHECK;

/* Locks the row until the transaction ends and returns its version; 0: no rules were set. */
int alert_store_rules_hold(struct db *db, int64_t tenant_id, int64_t *ret,
                           struct error *err) MUST_CHECK;

/* All tenants whose rules have a limit, by tenant: a list of struct alert_rules_row with their
 * versions only. */
int alert_store_rules_limited(struct db *db, struct arena *arena, struct list *ret,
                              struct error *err) MUST_CHECK;

/* An open alert of an exceeded budget. */
struct budget_alert_row {
    int64_t tenant_id;
    struct str detail; /* JSON: budget_detail_shape */
    int64_t since_at;  /* start of the budget's period */
};

/* Those of tenants with hard budgets, by tenant: a list of struct budget_alert_row. */
int alert_store_rules_budget_alerts(struct db *db, struct arena *arena, struct list *ret,
                                    struct error *err) MUST_CHECK;

/* Did one of the newest 10,000 runs that started in this time complete? agent_id 0: runs of any
 * agent. */
struct completed_runs {
    int64_t tenant_id, agent_id;
    int64_t since, until; /* until is exclusive */
};

int alert_store_rules_completed_runs(struct db *db, const struct completed_runs *which, bool *ret,
                                     struct error *err) MUST_CHECK;
