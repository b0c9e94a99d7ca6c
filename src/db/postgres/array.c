/* array.c - building PostgreSQL arrays as text. */
#include "db/postgres/array.h"

#include <assert.h>
#include <string.h>

enum { ARRAY_MAX = 512 << 20 };

bool pg_arrays_suit(const struct db *db)
{
    return strcmp(db_dialect(db), "postgres") == 0 && !db_is_distributed(db);
}

struct pg_arrays pg_arrays_of(size_t n_columns, struct arena *arena)
{
    struct pg_arrays a = { .columns = ARENA_ARRAY(arena, struct buf, n_columns),
                           .n_columns = n_columns };

    for (size_t i = 0; i < n_columns; i++)
        buf_init(&a.columns[i], ARRAY_MAX);
    return a;
}

void pg_arrays_done(struct pg_arrays *a)
{
    for (size_t i = 0; i < a->n_columns; i++)
        buf_done(&a->columns[i]);
}

static void add_quoted(struct buf *b, struct str s)
{
    size_t from = 0;

    buf_add_char(b, '"');
    for (size_t i = 0; i < s.len; i++) {
        if (s.data[i] != '"' && s.data[i] != '\\')
            continue;
        buf_add(b, str_from(s.data + from, i - from));
        buf_add_char(b, '\\');
        from = i;
    }
    buf_add(b, str_from(s.data + from, s.len - from));
    buf_add_char(b, '"');
}

static void add_value(struct buf *b, const struct db_value *value)
{
    assert(value->type != DB_BLOB); /* none of our arrays is of bytea */
    switch (value->type) {
    case DB_INT:
        buf_add_int(b, value->integer);
        break;
    case DB_REAL:
        buf_printf(b, "%.17g", value->real);
        break;
    case DB_TEXT:
        add_quoted(b, value->bytes);
        break;
    case DB_BLOB:
    case DB_NULL:
        buf_add_c(b, "NULL");
        break;
    }
}

void pg_arrays_add(struct pg_arrays *a, const struct db_value *values)
{
    for (size_t i = 0; i < a->n_columns; i++) {
        buf_add_char(&a->columns[i], a->n_rows == 0 ? '{' : ',');
        add_value(&a->columns[i], &values[i]);
    }
    a->n_rows++;
}

void pg_arrays_args(struct pg_arrays *a, struct db_value *ret)
{
    for (size_t i = 0; i < a->n_columns; i++) {
        assert(!a->columns[i].overflown);
        buf_add_c(&a->columns[i], a->n_rows == 0 ? "{}" : "}");
        ret[i] = db_text(buf_str(&a->columns[i]));
    }
}
