/* alerts.h - opening, closing, listing and acknowledging alerts.
 *
 * An alert and its message to webhooks are stored in one transaction. At most
 * one alert per type, agent and subject is open at a time, across all
 * processes; so each opening and each closing sends one message. While its
 * agent is muted, an alert opens and closes without a message; one that is
 * still open when the mute ends is sent then (due_messages.h).
 */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "features/alerts/shapes.h"
#include "features/alerts/store.h"

struct alert_notes;
struct engine;
struct txn;

/* An alert that opens or closes, and the message about it. */
struct alert_notice {
    struct alert_row *row; /* alert_id is generated on opening; agent_name goes into the message */
    struct str message;    /* message type: "agent.silent", "agent.recovered" */
    struct str summary;    /* a sentence for people, without a full stop */
    struct alert_notes *notes; /* to publish after the commit as live updates; NULL: do not */
};

/* Needs the row's tenant, type, agent, subject, since_at, opened_at and detail; set row->notified
 * to false when the agent is muted. *ret_opened is false when such an alert is open already. */
int alerts_open(struct db *db, const struct alert_notice *notice, bool *ret_opened,
                struct error *err) MUST_CHECK;

/* Needs the row as read, with closed_at, closed_by and away_seconds set. Does nothing when the
 * alert is closed already. */
int alerts_close(struct db *db, const struct alert_notice *notice, struct error *err) MUST_CHECK;

/* Runs of one tenant failed: stores alerts that are closed from the start, and sends their
 * messages. Needs the tenant, run_no, since_at, opened_at and detail of each row; agent and subject
 * are read from the run. A run that has such an alert already gets no other, and none is stored
 * when ALERTS_FAILED_MAX alerts were closed within the last hour. The arena is scratch space. */
enum { ALERTS_FAILED_MAX = 1000 };
int alerts_failed(struct db *db, const struct alert_notice *notices, size_t n, struct arena *arena,
                  struct error *err) MUST_CHECK;

/* The mute has ended: sends the message of an open alert that was opened during it. When several
 * processes call this, one sends it. */
int alerts_notify_unmuted(struct db *db, const struct alert_notice *notice, int64_t at,
                          struct error *err) MUST_CHECK;

/* Sends the message of an open alert once more. */
int alerts_remind(struct db *db, const struct alert_notice *notice, int64_t at,
                  struct error *err) MUST_CHECK;

/* Open alerts of all tenants, counted every few seconds. Any thread. */
int64_t alerts_count_open(const struct engine *e);

/* The alert as the API shows it; its strings are the row's. */
struct alert alerts_answer(const struct alert_row *row);
