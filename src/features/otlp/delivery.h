/* delivery.h - stores the events and the usage of a request in one transaction.
 *
 * Tokens count once, when the event of their span is stored and not when it
 * comes again; nor does a call count twice that two libraries have traced. Whether it is a
 * duplicate is known after all events of the transaction were added, so usage waits in the
 * transaction till then.
 */
#pragma once
#include "base/err.h"
#include "engine/txn.h"
#include "features/events/ingest.h"
#include "features/otlp/intake.h"

struct otlp_notes;

/* In memory that lives until the job's done(). */
struct delivery {
    struct ingest_request request; /* whose job is the delivery's */
    const struct intake *intake;   /* closed */
};

/* Fills in the job, for the caller to submit. */
void delivery_prepare(struct delivery *delivery);

/* A record is stored, or rejected, as the last of its events is. */
enum verdict delivery_verdict(const struct delivery *delivery, const struct intake_origin *origin);

/* The part of a transaction that belongs to this feature. */
struct otlp_notes *otlp_notes_new(void);
void otlp_notes_free(struct otlp_notes *notes); /* NULL is fine */
int otlp_notes_prepare(struct txn *txn, struct error *err);
void otlp_notes_clear(struct txn *txn);
void otlp_notes_rolled_back(struct txn *txn);

/* The part of a transaction that is this; NULL: it has none. */
extern const char otlp_notes_part[];

static inline struct otlp_notes *otlp_notes_of(const struct txn *txn)
{
    return txn_part(txn, otlp_notes_part);
}
