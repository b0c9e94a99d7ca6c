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
#include "features/alerts/shapes.h"
#include "features/alerts/store.h"

struct engine;

/* An alert that opens or closes, and the message about it. */
struct alert_notice {
    struct alert_row *row; /* alert_id is generated on opening; agent_name goes into the message */
    struct str message;    /* message type: "agent.silent", "agent.recovered"; STR_NULL: none */
    struct str summary;    /* a sentence for people, without a full stop */
};

/* Each of these also notes the alert as it is then for live updates, which get it after the
 * commit. */

/* Needs the row's tenant, type, agent, subject, since_at, opened_at and detail. Does nothing when
 * such an alert is open already. */
int alerts_open(struct txn *txn, const struct alert_notice *notice, struct error *err) MUST_CHECK;

/* Needs the row as read, with closed_at, closed_by and away_seconds set. Does nothing when the
 * alert is closed already. */
int alerts_close(struct txn *txn, const struct alert_notice *notice, struct error *err) MUST_CHECK;

/* Replaces what the alert says, as read, if it is open. */
int alerts_set_detail(struct txn *txn, struct alert_row *row, struct str detail,
                      struct error *err) MUST_CHECK;

/* Runs of one tenant failed: stores alerts that are closed from the start, and sends their
 * messages. Needs the tenant, run_no, since_at, opened_at and detail of each row; agent and subject
 * are read from the run. A run that has such an alert already gets no other, and none is stored
 * when ALERTS_FAILED_MAX alerts were closed within the last hour. The arena is scratch space. */
enum { ALERTS_FAILED_MAX = 1000 };
int alerts_failed(struct txn *txn, const struct alert_notice *notices, size_t n,
                  struct arena *arena, struct error *err) MUST_CHECK;

/* Only for live updates: the row stays open or closed, but says something else. */
void alerts_note_change(struct txn *txn, const struct alert_row *row);

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

/* The transaction's part with the notes for live updates. */
void alerts_txn_open(struct engine *e, struct txn *txn);
void alerts_txn_close(struct txn *txn);
void alerts_txn_committed(struct txn *txn);
void alerts_txn_rolled_back(struct txn *txn);

extern const struct route alert_routes[], rule_routes[];
extern const struct command alert_commands[];
