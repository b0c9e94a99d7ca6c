/* handling.h - what people do about alerts: acknowledge, take it back, and write notes.
 *
 * Each is an entry in the alert's history, stored with the change.
 */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "features/alerts/handling/shapes.h"
#include "features/alerts/shapes.h"

struct alert_notes;
struct alert_row;
struct db;
struct stored_bytes;

/* A person, what the person writes (STR_NULL: nothing), and when; `notes` are for live updates. */
struct handling {
    struct db *db;
    int64_t tenant_id, at;
    struct str actor, note;
    struct alert_notes *notes;
    struct arena *arena;
    struct stored_bytes *bytes; /* of the transaction: what is written counts for the tenant */
};

/* The first acknowledgement of an alert stands; a later one adds nothing. *ret is the alert as
 * stored. ERR_NOT_FOUND. */
int handling_acknowledge(const struct handling *by, struct str alert_id, struct alert *ret,
                         struct error *err) MUST_CHECK;

/* Ids that are not known, and alerts that were acknowledged before, are passed over. *ret: the ids
 * of the others, a list of struct str in the arena. */
int handling_acknowledge_all(const struct handling *by, const struct list *alert_ids,
                             struct list *ret, struct error *err) MUST_CHECK;

/* Does nothing when it is not acknowledged. ERR_NOT_FOUND. */
int handling_unacknowledge(const struct handling *by, struct str alert_id, struct alert *ret,
                           struct error *err) MUST_CHECK;

/* ERR_NOT_FOUND, ERR_CONFLICT when the alert's history is full. */
int handling_note(const struct handling *by, struct str alert_id, struct alert *ret,
                  struct error *err) MUST_CHECK;

/* The alert's message was repeated, unless another process did so since `before`; *ret tells. */
int handling_remind(const struct handling *by, const struct alert_row *row, bool *ret,
                    struct error *err) MUST_CHECK;

/* ERR_NOT_FOUND. */
int handling_history(struct db *db, int64_t tenant_id, struct str alert_id, struct arena *arena,
                     struct alert_history *ret, struct error *err) MUST_CHECK;

int handling_count(struct db *db, int64_t tenant_id, struct arena *arena, struct alert_counts *ret,
                   struct error *err) MUST_CHECK;
