/* row_sum.c - computes and verifies the checksums of rows. */
#include "db/row_sum.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/log.h"
#include "base/metrics.h"

/* A sum is stored with this bit, so that SQLite stores six bytes: no single bit of the row's header
 * then turns it into NULL, which would read as "stored before sums existed". */
static const int64_t present = INT64_C(1) << 32;

enum { NAME_MAX_BYTES = 320, TEXT_SHOWN = 60, LOGGED_PER_MINUTE = 60 };

/* Types, lengths and numbers first, then the texts, so that different rows never have the same byte
 * sequence. */
struct adding {
    uint64_t words[2 * ROW_SUM_COLUMNS_MAX];
    size_t n_words;
    struct str texts[ROW_SUM_COLUMNS_MAX];
    size_t n_texts;
};

static void add_number(struct adding *a, enum db_type type, const void *bits)
{
    a->words[a->n_words++] = type;
    memcpy(&a->words[a->n_words++], bits, sizeof(uint64_t));
}

static void add_text(struct adding *a, struct str text)
{
    a->words[a->n_words++] = (uint64_t)DB_TEXT | (uint64_t)text.len << 8;
    a->texts[a->n_texts++] = text;
}

static int64_t finish(const struct adding *a)
{
    uint32_t crc = crc32c(0, a->words, a->n_words * sizeof(a->words[0]));

    for (size_t i = 0; i < a->n_texts; i++)
        crc = crc32c(crc, a->texts[i].data, a->texts[i].len);
    return present | crc;
}

struct db_value row_sum_of(const struct row_sum *sum, const struct db_value *values)
{
    struct adding a;

    a.n_words = a.n_texts = 0;
    assert(strlen(sum->types) <= ROW_SUM_COLUMNS_MAX);
    for (const char *type = sum->types; *type != '\0'; type++, values++) {
        assert(values->type == DB_NULL || (values->type == DB_INT) == (*type == 'i'));
        if (values->type == DB_NULL)
            a.words[a.n_words++] = DB_NULL;
        else if (values->type == DB_TEXT)
            add_text(&a, values->bytes);
        else
            add_number(&a, values->type, &values->integer); /* a real has the same place */
    }
    return db_int(finish(&a));
}

static void add_column(struct adding *a, char type, const struct db_row *row, unsigned column)
{
    if (type == 't') {
        const struct str text = db_peek_text(row, column);

        if (!str_is_null(text)) {
            add_text(a, text);
            return;
        }
    } else if (!db_is_null(row, column)) {
        if (type == 'i')
            add_number(a, DB_INT, &(int64_t){ db_get_int(row, column) });
        else
            add_number(a, DB_REAL, &(double){ db_get_real(row, column) });
        return;
    }
    a->words[a->n_words++] = DB_NULL;
}

static unsigned columns_of(const struct row_sum *sum)
{
    return (unsigned)strlen(sum->types);
}

bool row_sum_is_right(const struct row_sum *sum, const struct db_row *row, unsigned first)
{
    const unsigned n = columns_of(sum);
    struct adding a;

    assert(strcmp(db_column_name(row, first + n), "checksum") == 0);
    if (db_is_null(row, first + n))
        return true;
    a.n_words = a.n_texts = 0;
    for (unsigned i = 0; i < n; i++)
        add_column(&a, sum->types[i], row, first + i);
    return finish(&a) == db_get_int(row, first + n);
}

void row_sum_name(const struct row_sum *sum, const struct db_row *row, unsigned first, char *ret,
                  size_t size)
{
    size_t len = 0;

    ret[0] = '\0';
    for (unsigned i = 0; sum->key[i] != NULL && len < size; i++) {
        struct str text = db_get_text(row, first + i);
        char shown[TEXT_SHOWN + 1];
        size_t n = text.len < TEXT_SHOWN ? text.len : TEXT_SHOWN;

        for (size_t k = 0; k < n; k++)
            shown[k] = (char)(text.data[k] > ' ' && text.data[k] <= '~' ? text.data[k] : '?');
        shown[n] = '\0';
        len += (size_t)snprintf(ret + len, size - len, "%s%s %s", i > 0 ? ", " : "", sum->key[i],
                                sum->types[i] == 't' && n == 0 ? "''" : shown);
    }
}

/* A client can read a damaged row as often as it likes. */
static bool may_log(void)
{
    static atomic_int_fast64_t minute;
    static atomic_int n;
    const int64_t now = clock_mono_us() / ((int64_t)60 * USEC_PER_SEC);

    if (atomic_exchange(&minute, now) != now)
        atomic_store(&n, 0);
    return atomic_fetch_add(&n, 1) < LOGGED_PER_MINUTE;
}

bool row_sum_check(const struct row_sum *sum, const struct db_row *row, unsigned first)
{
    char name[NAME_MAX_BYTES];

    if (row_sum_is_right(sum, row, first))
        return true;
    metric_add(METRIC_DAMAGED_ROWS, 1);
    row_sum_name(sum, row, first, name, sizeof(name));
    if (may_log())
        log_write(LOG_ERROR, "damaged_row", "a row of %s does not match its checksum: %s",
                  sum->table, name);
    return false;
}

struct verifying {
    const struct row_sum *sum;
    row_sum_fn *on_damaged;
    void *ctx;
};

static bool verify_row(void *ctx, const struct db_row *row)
{
    const struct verifying *v = ctx;
    const unsigned checksum = columns_of(v->sum);
    char name[NAME_MAX_BYTES];
    const bool lacks = db_is_null(row, checksum) && db_get_int(row, checksum + 1) != 0;

    if (!lacks && row_sum_is_right(v->sum, row, 0))
        return true;
    row_sum_name(v->sum, row, 0, name, sizeof(name));
    return v->on_damaged(v->ctx, v->sum, name);
}

int row_sum_verify(struct db *db, const struct row_sum *sum, row_sum_fn *on_damaged, void *ctx,
                   struct error *err)
{
    struct verifying v = { sum, on_damaged, ctx };

    return db_exec(db, &sum->all, DB_NO_ARGS, verify_row, &v, err);
}
