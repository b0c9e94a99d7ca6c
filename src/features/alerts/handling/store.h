/* store.h - what people did about an alert, as rows.
 *
 * Everything returned is in the arena.
 */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "features/alerts/handling/shapes.h"

struct db;

struct alert_entry_row {
    int64_t tenant_id;
    struct str alert_id;
    struct alert_entry entry;
};

/* Sets acknowledged_at and _by unless they are set; *ret_first tells. */
int store_alert_acknowledge(struct db *db, const struct alert_entry_row *row, bool *ret_first,
                            struct error *err) MUST_CHECK;

/* *ret_first is false when it was not acknowledged. */
int store_alert_unacknowledge(struct db *db, int64_t tenant_id, struct str alert_id,
                              bool *ret_first, struct error *err) MUST_CHECK;

/* Sets the alert's newest note. *ret_found is false when there is no such alert. */
int store_alert_note(struct db *db, int64_t tenant_id, struct str alert_id, struct str note,
                     bool *ret_found, struct error *err) MUST_CHECK;

/* Was its message not repeated since `before`? Then it is now; when several processes ask, one is
 * told so. */
int store_alert_remind(struct db *db, const struct alert_entry_row *row, int64_t before, bool *ret,
                       struct error *err) MUST_CHECK;

int store_alert_history_add(struct db *db, const struct alert_entry_row *row,
                            struct error *err) MUST_CHECK;

/* The same for a reminder: it takes the place of those after the last entry of a person. */
int store_alert_history_remind(struct db *db, const struct alert_entry_row *row,
                               struct error *err) MUST_CHECK;

enum { ALERT_HISTORY_MAX = 100 }; /* entries of people, per alert */

/* Has the alert as many entries as it may have? */
int store_alert_history_is_full(struct db *db, int64_t tenant_id, struct str alert_id, bool *ret,
                                struct error *err) MUST_CHECK;

/* All of them: a list of struct alert_entry. */
int store_alert_history(struct db *db, int64_t tenant_id, struct str alert_id, struct arena *arena,
                        struct list *ret, struct error *err) MUST_CHECK;

/* Open alerts of a tenant by type, of at most `limit` that are looked at: a list of struct
 * alert_count. */
int store_alert_counts(struct db *db, int64_t tenant_id, int64_t limit, struct arena *arena,
                       struct list *ret, struct error *err) MUST_CHECK;
