/* kpi_state.h - what is to be known of a set of a KPI's values, whichever way it is totalled.
 *
 * The order in which values come does not matter. Two sets are merged; one is
 * taken out of another where the rest can still be told.
 *
 * Thread-safe: values only.
 */
#pragma once
#include "base/arena.h"
#include "base/exact.h"
#include "shape/shape.h"

struct db_row;

/* A text is not kept here: whoever wants it looks it up by its place. */
struct kpi_value {
    enum value_kind kind;
    int64_t integer;
    double real;
};

/* The number in one of two columns, integer_value and real_value; a text when both are NULL. */
struct kpi_value kpi_value_read(const struct db_row *row, unsigned column);

/* When a value counts, when it came, and whose it is: greater is later. */
struct kpi_place {
    int64_t timestamp, received_at, run_no;
};

struct kpi_state {
    int64_t n;       /* values: one for each run */
    int64_t numbers; /* of them are integers or reals */
    int64_t reals;
    struct exact sum;      /* of the numbers */
    struct kpi_value max;  /* of the numbers; there are any */
    struct kpi_value last; /* of all; there are any */
    struct kpi_place last_at;
};

void kpi_state_add(struct kpi_state *s, const struct kpi_value *value,
                   const struct kpi_place *place);

void kpi_state_merge(struct kpi_state *s, const struct kpi_state *other);

/* Takes out values that are in `s`. False: its greatest or last one may be gone, so that it must be
 * made anew of its values. */
bool kpi_state_remove(struct kpi_state *s, const struct kpi_state *gone) MUST_CHECK;

enum { KPI_STATE_BYTES_MAX = 66 + EXACT_BYTES_MAX };

/* The same on every machine. kpi_state_read() gives false for what was not written so. */
struct str kpi_state_write(const struct kpi_state *s, uint8_t ret[KPI_STATE_BYTES_MAX]);
bool kpi_state_read(struct str bytes, struct kpi_state *ret) MUST_CHECK;

enum kpi_total { KPI_SUM, KPI_LAST, KPI_AVG, KPI_MAX };

/* `agg` as declared; a word that is not known, or none, is the last. */
enum kpi_total kpi_total_of(struct str agg);

/* False when there is no such value: of sum, avg and max without a number, of last without any. A
 * last one of kind VALUE_STR is at s->last_at. */
bool kpi_state_total(const struct kpi_state *s, enum kpi_total total, struct kpi_value *ret);
