/* kpi_state.h - an aggregate of a set of KPI values from which every kind of total is derived.
 *
 * The order in which values are added does not matter. Two sets can be merged,
 * and one subtracted from another where the rest can still be derived.
 *
 * Thread-safe: plain values.
 */
#pragma once
#include "base/arena.h"
#include "base/exact.h"
#include "shape/shape.h"

struct db_row;

/* A text is not kept here; kpi_reads_texts() reads it. */
struct kpi_value {
    enum value_kind kind;
    int64_t integer;
    double real;
};

/* The number in one of two columns, integer_value and real_value; a text when both are NULL. */
struct kpi_value kpi_value_read(const struct db_row *row, unsigned column);

/* A number or string as JSON text; in the arena. */
struct str kpi_value_text(const struct kpi_value *value, struct str string, struct arena *arena);

/* The order of values: the greater one is the later. */
struct kpi_stamp {
    int64_t timestamp, received_at, run_no;
};

struct kpi_state {
    int64_t n;       /* values: one per run */
    int64_t numbers; /* how many of them are integers or reals */
    int64_t reals;
    struct exact sum;      /* of the numbers */
    struct kpi_value max;  /* of the numbers, if any */
    struct kpi_value last; /* of all values, if any */
    struct kpi_stamp last_at;
};

void kpi_state_add(struct kpi_state *s, const struct kpi_value *value,
                   const struct kpi_stamp *place);

void kpi_state_merge(struct kpi_state *s, const struct kpi_state *other);

/* Removes values that are in `s`. False: its maximum or last value may have been among them, and
 * must be searched. */
bool kpi_state_remove(struct kpi_state *s, const struct kpi_state *gone) MUST_CHECK;

/* Sets the maximum and the last value to those of `found`. */
void kpi_state_take_extremes(struct kpi_state *s, const struct kpi_state *found);

enum { KPI_STATE_BYTES_MAX = 66 + EXACT_BYTES_MAX };

/* A portable encoding. kpi_state_read() returns false for malformed bytes. */
struct str kpi_state_write(const struct kpi_state *s, uint8_t ret[KPI_STATE_BYTES_MAX]);
bool kpi_state_read(struct str bytes, struct kpi_state *ret) MUST_CHECK;

enum kpi_total { KPI_SUM, KPI_LAST, KPI_AVG, KPI_MAX };

/* `agg` as declared; KPI_LAST for an unknown word or none. */
enum kpi_total kpi_total_of(struct str agg);

/* False when there is no such total: sum, avg and max need a number, last needs a value. For a last
 * value of kind VALUE_STR, s->last_at finds the text. */
bool kpi_state_total(const struct kpi_state *s, enum kpi_total total, struct kpi_value *ret);
