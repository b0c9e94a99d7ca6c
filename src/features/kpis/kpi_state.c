/* kpi_state.c - counts, exact sums, maximum and last value. */
#include "features/kpis/kpi_state.h"

#include "db/db.h"
#include "shape/json.h"

enum { FIXED_BYTES = KPI_STATE_BYTES_MAX - EXACT_BYTES_MAX };

static int compare_mixed(int64_t integer, double real)
{
    int64_t whole;

    if (real >= 0x1p63)
        return -1;
    if (real < -0x1p63)
        return 1;
    whole = (int64_t)real;
    if (integer != whole)
        return integer < whole ? -1 : 1;
    return real > (double)whole ? -1 : real < (double)whole;
}

/* By value, without rounding. */
static int compare(const struct kpi_value *a, const struct kpi_value *b)
{
    if (a->kind == VALUE_INT && b->kind == VALUE_INT)
        return a->integer < b->integer ? -1 : a->integer > b->integer;
    if (a->kind == VALUE_INT)
        return compare_mixed(a->integer, b->real);
    if (b->kind == VALUE_INT)
        return -compare_mixed(b->integer, a->real);
    return a->real < b->real ? -1 : a->real > b->real;
}

static int compare_stamps(const struct kpi_stamp *a, const struct kpi_stamp *b)
{
    if (a->timestamp != b->timestamp)
        return a->timestamp < b->timestamp ? -1 : 1;
    if (a->received_at != b->received_at)
        return a->received_at < b->received_at ? -1 : 1;
    return a->run_no < b->run_no ? -1 : a->run_no > b->run_no;
}

/* Of 5 and 5.0 the integer is kept, so that the order of adding does not matter. */
static void update_max(struct kpi_state *s, const struct kpi_value *value)
{
    int order = s->numbers == 0 ? -1 : compare(&s->max, value);

    if (order < 0 || (order == 0 && value->kind == VALUE_INT))
        s->max = *value;
}

static void update_last(struct kpi_state *s, const struct kpi_value *value,
                        const struct kpi_stamp *place)
{
    if (s->n > 0 && compare_stamps(&s->last_at, place) > 0)
        return;
    s->last = *value;
    s->last_at = *place;
}

void kpi_state_add(struct kpi_state *s, const struct kpi_value *value,
                   const struct kpi_stamp *place)
{
    update_last(s, value, place);
    s->n++;
    if (value->kind == VALUE_STR)
        return;
    update_max(s, value);
    s->numbers++;
    if (value->kind == VALUE_INT) {
        exact_add_int(&s->sum, value->integer);
    } else {
        exact_add_real(&s->sum, value->real);
        s->reals++;
    }
}

void kpi_state_merge(struct kpi_state *s, const struct kpi_state *other)
{
    if (other->n == 0)
        return;
    update_last(s, &other->last, &other->last_at);
    if (other->numbers > 0) {
        update_max(s, &other->max);
        exact_add(&s->sum, &other->sum);
    }
    s->n += other->n;
    s->numbers += other->numbers;
    s->reals += other->reals;
}

bool kpi_state_remove(struct kpi_state *s, const struct kpi_state *gone)
{
    bool known = true;

    if (gone->n == 0)
        return true;
    if (gone->numbers > 0) {
        known = s->numbers > 0 && compare(&gone->max, &s->max) < 0;
        exact_subtract(&s->sum, &gone->sum);
    }
    known &= compare_stamps(&gone->last_at, &s->last_at) < 0;
    s->n -= gone->n;
    s->numbers -= gone->numbers;
    s->reals -= gone->reals;
    return known;
}

void kpi_state_take_extremes(struct kpi_state *s, const struct kpi_state *found)
{
    s->max = found->max;
    s->last = found->last;
    s->last_at = found->last_at;
}

static uint8_t *put(uint8_t *at, uint64_t value)
{
    for (unsigned i = 0; i < 8; i++)
        *at++ = (uint8_t)(value >> (8 * i));
    return at;
}

static uint64_t get(const uint8_t *at)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < 8; i++)
        value |= (uint64_t)at[i] << (8 * i);
    return value;
}

static uint8_t *put_value(uint8_t *at, const struct kpi_value *value)
{
    uint64_t bits = (uint64_t)value->integer;

    if (value->kind == VALUE_REAL)
        memcpy(&bits, &value->real, sizeof(bits));
    *at++ = (uint8_t)value->kind;
    return put(at, bits);
}

static bool get_value(const uint8_t *at, struct kpi_value *ret)
{
    uint64_t bits = get(at + 1);

    *ret = (struct kpi_value){ .kind = (enum value_kind)at[0] };
    if (ret->kind == VALUE_REAL)
        memcpy(&ret->real, &bits, sizeof(bits));
    else
        ret->integer = (int64_t)bits;
    return at[0] <= VALUE_STR;
}

struct str kpi_state_write(const struct kpi_state *s, uint8_t ret[KPI_STATE_BYTES_MAX])
{
    uint8_t *at = ret;

    at = put(at, (uint64_t)s->n);
    at = put(at, (uint64_t)s->numbers);
    at = put(at, (uint64_t)s->reals);
    at = put(at, (uint64_t)s->last_at.timestamp);
    at = put(at, (uint64_t)s->last_at.received_at);
    at = put(at, (uint64_t)s->last_at.run_no);
    at = put_value(at, &s->last);
    at = put_value(at, &s->max);
    return str_from((const char *)ret, FIXED_BYTES + exact_write(&s->sum, at));
}

bool kpi_state_read(struct str bytes, struct kpi_state *ret)
{
    const uint8_t *at = (const uint8_t *)bytes.data;

    if (bytes.len < FIXED_BYTES)
        return false;
    ret->n = (int64_t)get(at);
    ret->numbers = (int64_t)get(at + 8);
    ret->reals = (int64_t)get(at + 16);
    ret->last_at =
        (struct kpi_stamp){ (int64_t)get(at + 24), (int64_t)get(at + 32), (int64_t)get(at + 40) };
    return get_value(at + 48, &ret->last) && get_value(at + 57, &ret->max) &&
           exact_read(str_from(bytes.data + FIXED_BYTES, bytes.len - FIXED_BYTES), &ret->sum);
}

enum kpi_total kpi_total_of(struct str agg)
{
    static const struct {
        const char *word;
        enum kpi_total total;
    } rows[] = { { "sum", KPI_SUM }, { "avg", KPI_AVG }, { "max", KPI_MAX } };

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (str_eq_c(agg, rows[i].word))
            return rows[i].total;
    return KPI_LAST;
}

static struct kpi_value sum_of(const struct kpi_state *s)
{
    struct kpi_value sum = { .kind = VALUE_INT };

    if (s->reals > 0 || !exact_to_int(&s->sum, &sum.integer))
        sum = (struct kpi_value){ .kind = VALUE_REAL, .real = exact_to_real(&s->sum) };
    return sum;
}

bool kpi_state_total(const struct kpi_state *s, enum kpi_total total, struct kpi_value *ret)
{
    if (total == KPI_LAST) {
        *ret = s->last;
        return s->n > 0;
    }
    if (s->numbers == 0)
        return false;
    if (total == KPI_SUM)
        *ret = sum_of(s);
    else if (total == KPI_MAX)
        *ret = s->max;
    else
        *ret = (struct kpi_value){ .kind = VALUE_REAL,
                                   .real = exact_mean(&s->sum, (uint64_t)s->numbers) };
    return true;
}

struct kpi_value kpi_value_read(const struct db_row *row, unsigned column)
{
    if (!db_is_null(row, column))
        return (struct kpi_value){ .kind = VALUE_INT, .integer = db_get_int(row, column) };
    if (!db_is_null(row, column + 1))
        return (struct kpi_value){ .kind = VALUE_REAL, .real = db_get_real(row, column + 1) };
    return (struct kpi_value){ .kind = VALUE_STR };
}

struct str kpi_value_text(const struct kpi_value *value, struct str string, struct arena *arena)
{
    BUF_SCOPED(out, SIZE_MAX); /* no longer than a stored value */

    if (value->kind == VALUE_INT)
        buf_add_int(&out, value->integer);
    else if (value->kind == VALUE_REAL)
        json_add_real(&out, value->real);
    else
        buf_add_json(&out, string);
    return buf_take(&out, arena);
}
