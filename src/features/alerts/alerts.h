/* alerts.h - opening, closing, listing and acknowledging alerts.
 *
 * An alert and its message to webhooks are stored in one transaction. At most
 * one alert per type, agent and subject is open at a time, across all
 * processes; so each opening and each closing sends one message. While its
 * agent is muted, an alert opens and closes without a message; one that is
 * still open when the mute ends is sent then (due_messages.c).
 */
#pragma once
#include "api/route.h"
#include "base/arena.h"
#include "base/err.h"
#include "cli/command.h"
#include "engine/txn.h"
#include "features/access/stored_bytes.h"
#include "features/alerts/shapes.h"
#include "features/alerts/store.h"

struct engine;
struct feed;

/* An alert that opens or closes, and the message about it. */
struct alert_notice {
    struct alert_row *row; /* alert_id is generated on opening; agent_name goes into the message */
    struct str message;    /* message type: "agent.silent", "agent.recovered" */
    struct str summary;    /* a sentence for people, without a full stop */
    struct alert_notes *notes; /* to publish after the commit as live updates; NULL: do not */
};

/* Needs the row's tenant, type, agent, subject, since_at, opened_at and detail. *ret_opened is
 * false when such an alert is open already. */
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

/* The alerts that a transaction opened, closed or changed, published once it is durable. One thread
 * at a time. */
struct alert_notes; /* reused for each transaction */

struct alert_notes *alert_notes_new(void);

/* NULL is fine. */
void alert_notes_free(struct alert_notes *notes);

/* The row was opened or closed: copies its current state. Does nothing when `notes` is NULL. */
void alert_notes_add(struct alert_notes *notes, const struct alert_row *row);

/* The same for a row that stays as it is, open or closed, but says something else. */
void alert_notes_add_change(struct alert_notes *notes, const struct alert_row *row);

/* After the commit: counts the opened alerts and publishes all notes to live updates. */
void alert_notes_publish(struct alert_notes *notes, struct feed *feed);

/* After a roll-back, or once published. */
void alert_notes_clear(struct alert_notes *notes);

/* In SQL: what an entry of an alert's history counts for its tenant; a note counts as a report's
 * row does (access/stored_bytes.h). */
#define ALERT_NOTE_BYTES(text) "CASE WHEN note IS NULL THEN 0 ELSE " STORED_ROW text("note") " END"

extern const struct route alert_routes[], rule_routes[], handling_routes[];
extern const struct command alert_commands[];

/* The part of a transaction that is this; NULL: it has none. */
extern const char alert_notes_part[];

static inline struct alert_notes *alert_notes_of(const struct txn *txn)
{
    return txn_part(txn, alert_notes_part);
}
