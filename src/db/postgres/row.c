/* row.c - columns arrive as text and are converted to the requested type. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "base/arena.h"
#include "db/postgres/postgres.h"

/* From the server's pg_type; they never change. */
enum { OID_BOOL = 16, OID_BYTEA = 17 };

struct postgres_row {
    struct db_row base;
    const PGresult *result;
    int number;
    struct arena *decoded; /* blobs of this row */
};

static const struct postgres_row *row_of(const struct db_row *row)
{
    assert(((const struct postgres_row *)row)->number <
           PQntuples(((const struct postgres_row *)row)->result));
    return (const struct postgres_row *)row;
}

static bool row_is_null(const struct db_row *row, unsigned column)
{
    const struct postgres_row *r = row_of(row);

    assert((int)column < PQnfields(r->result));
    return PQgetisnull(r->result, r->number, (int)column) != 0;
}

/* Ends in NUL. */
static const char *value_of(const struct db_row *row, unsigned column)
{
    const struct postgres_row *r = row_of(row);

    assert((int)column < PQnfields(r->result));
    return PQgetvalue(r->result, r->number, (int)column);
}

static bool is_true(const struct db_row *row, unsigned column)
{
    return PQftype(row_of(row)->result, (int)column) == OID_BOOL && value_of(row, column)[0] == 't';
}

static double row_get_real(const struct db_row *row, unsigned column)
{
    if (row_is_null(row, column))
        return 0.0;
    return is_true(row, column) ? 1.0 : strtod(value_of(row, column), NULL);
}

static int64_t row_get_int(const struct db_row *row, unsigned column)
{
    int64_t value;
    double real;

    if (row_is_null(row, column))
        return 0;
    if (str_to_int(str_of(value_of(row, column)), &value))
        return value;
    /* A fraction is cut off and a number out of range is the nearest one, as in SQLite. */
    real = row_get_real(row, column);
    if (real >= 0x1p63)
        return INT64_MAX;
    if (real < -0x1p63)
        return INT64_MIN;
    return isnan(real) ? 0 : (int64_t)real;
}

static int hex_digit(char c)
{
    return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
}

/* `hex` is "\x…", as the server writes it. */
static struct str decode(struct arena *memory, struct str hex)
{
    size_t n = hex.len < 2 ? 0 : (hex.len - 2) / 2;
    char *bytes = arena_alloc(memory, n + 1);

    for (size_t i = 0; i < n; i++)
        bytes[i] = (char)(hex_digit(hex.data[2 + 2 * i]) << 4 | hex_digit(hex.data[3 + 2 * i]));
    return str_from(bytes, n);
}

static struct str row_get_bytes(const struct db_row *row, unsigned column, enum db_type type)
{
    const struct postgres_row *r = row_of(row);
    struct str bytes;

    (void)type; /* the column knows better */
    if (row_is_null(row, column))
        return STR_NULL;
    bytes = str_from(value_of(row, column), (size_t)PQgetlength(r->result, r->number, (int)column));
    return PQftype(r->result, (int)column) == OID_BYTEA ? decode(r->decoded, bytes) : bytes;
}

static struct str row_peek_text(const struct db_row *row, unsigned column)
{
    return row_get_bytes(row, column, DB_TEXT);
}

static unsigned row_columns(const struct db_row *row)
{
    return (unsigned)PQnfields(row_of(row)->result);
}

static const char *row_column_name(const struct db_row *row, unsigned column)
{
    return PQfname(row_of(row)->result, (int)column);
}

static const struct db_row_methods row_methods = {
    .is_null = row_is_null,
    .get_int = row_get_int,
    .get_real = row_get_real,
    .get_bytes = row_get_bytes,
    .peek_text = row_peek_text,
    .columns = row_columns,
    .column_name = row_column_name,
};

bool db_postgres_rows(const PGresult *result, db_row_fn *on_row, void *ctx)
{
    ARENA_SCOPED(decoded);
    bool more = true;

    for (int i = 0; more && i < PQntuples(result); i++) {
        const struct postgres_row row = { { &row_methods }, result, i, &decoded };

        more = on_row(ctx, &row.base);
        arena_reset(&decoded);
    }
    return more;
}
