/* alerts.h - alerts: opened once, told of, closed when what they are about is over.
 *
 * An alert and the message that tells of it are stored in one transaction. Of
 * one type, agent and subject only one alert is ever open, whichever process
 * opens it; so each opening and each closing is told once. While its agent is
 * muted an alert opens without a message, and closes without one; one that is
 * still open when the mute ends is told then (mutes.h).
 */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "features/alerts/shapes.h"
#include "features/alerts/store.h"

struct alert_list;
struct alert_notes;
struct alerts_query;
struct db;
struct engine;
struct mute_state;
struct sighting;
struct tenant_entry;
struct txn;

/* What becomes of an alert, in a transaction of the writer. */
struct alert_news {
    struct alert_row *row;     /* alert_id is made when it opens; agent_name is told */
    struct str message;        /* the type of the message: "agent.silent", "agent.recovered" */
    struct str summary;        /* a sentence for people, without full stop */
    struct alert_notes *notes; /* to be told once it is durable; NULL: nowhere */
};

/* With the row's type, agent, subject, since_at, opened_at and detail; row->told is false when its
 * agent is muted. *ret_opened is false when one is open already. */
int alerts_open(struct db *db, const struct alert_news *news, bool *ret_opened,
                struct error *err) MUST_CHECK;

/* With the row as it was read, and its closed_at, closed_by and away_seconds set. Nothing happens
 * when somebody else has closed it. */
int alerts_close(struct db *db, const struct alert_news *news, struct error *err) MUST_CHECK;

/* An alert that tells of an event, and so is closed at once: a run has failed. With the row's
 * tenant, run_no, since_at, opened_at and detail. Only the first time; *ret_first tells. The agent
 * and the subject are the run's. */
int alerts_failed(struct db *db, const struct alert_news *news, bool *ret_first,
                  struct error *err) MUST_CHECK;

/* Of an open alert that nobody was told of, and now shall be: told at this time, by whoever is
 * first.
 */
int alerts_tell_again(struct db *db, const struct alert_news *news, int64_t at,
                      struct error *err) MUST_CHECK;

/* How long the agent was away when it is heard of at this time. */
struct opt_int alerts_away(const struct alert_row *row, int64_t heard_at);

/* Open alerts of all tenants, when last counted. Any thread. */
int64_t alerts_count_open(const struct engine *e);

/* Closes the silence alerts of agents that have been heard of. Within the transaction that stores
 * the signs. */
int alerts_heard(struct txn *txn, const struct sighting *sightings, size_t n,
                 struct error *err) MUST_CHECK;

/* The alert as people read it; its strings are the row's. */
struct alert alerts_answer(const struct alert_row *row);

/* A page, newest first; in the arena. It looks at 10,000 alerts: only a null `next` is the end. */
int alerts_list(struct db *db, const struct tenant_entry *tenant, const struct alerts_query *query,
                struct arena *arena, struct alert_list *ret, struct error *err) MUST_CHECK;

/* The first one who does so stands; the alert as it is then. ERR_NOT_FOUND. */
int alerts_acknowledge(struct db *db, const struct alert_row *row, struct arena *arena,
                       struct alert *ret, struct error *err) MUST_CHECK;

/* TIME_NULL: no more. ERR_NOT_FOUND. */
int alerts_mute(struct db *db, int64_t tenant_id, struct mute_state *mute,
                struct error *err) MUST_CHECK;
