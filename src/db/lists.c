/* lists.c - arrays of PostgreSQL as text, and JSON where SQLite takes that. */
#include "db/lists.h"

#include <assert.h>
#include <string.h>

enum { ARRAY_MAX = 512 << 20 };

bool pg_arrays_suit(const struct db *db)
{
    return strcmp(db_dialect(db), "postgres") == 0 && !db_is_distributed(db);
}

struct pg_arrays pg_arrays_of(size_t n_columns, struct arena *arena)
{
    struct pg_arrays a = { .columns = ARENA_ARRAY(arena, struct pg_array, n_columns),
                           .n_columns = n_columns };

    for (size_t i = 0; i < n_columns; i++)
        buf_init(&a.columns[i].text, ARRAY_MAX);
    return a;
}

void pg_arrays_done(struct pg_arrays *a)
{
    for (size_t i = 0; i < a->n_columns; i++)
        buf_done(&a->columns[i].text);
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

/* As the value number `at`; what is missing before it is NULL. */
static void put_at(struct pg_array *array, size_t at, const struct db_value *value)
{
    static const struct db_value null = { .type = DB_NULL };

    for (; array->n <= at; array->n++) {
        buf_add_char(&array->text, array->n == 0 ? '{' : ',');
        add_value(&array->text, array->n < at ? &null : value);
    }
}

void pg_arrays_add(struct pg_arrays *a, const struct db_value *values)
{
    for (size_t i = 0; i < a->n_columns; i++)
        if (i == 0 || values[i].type != DB_NULL)
            put_at(&a->columns[i], a->n_rows, &values[i]);
    a->n_rows++;
}

void pg_arrays_args(struct pg_arrays *a, struct db_value *ret)
{
    for (size_t i = 0; i < a->n_columns; i++) {
        struct pg_array *array = &a->columns[i];

        assert(!array->text.overflown);
        buf_add_c(&array->text, array->n == 0 ? "{}" : "}");
        ret[i] = db_text(buf_str(&array->text));
    }
}

enum { ROW_COLUMNS_MAX = 16 };

/* From the row that `args` has, to the last that one statement takes. */
static int exec_span(struct db *db, const struct pg_rows *rows, struct arena *arena, size_t *at,
                     struct db_value *args, struct error *err)
{
    const struct db_value tenant = args[0];
    PG_ARRAYS_SCOPED(arrays, rows->n_columns, arena);

    do {
        pg_arrays_add(&arrays, args);
        if (++*at < rows->n)
            rows->fill(rows->ctx, *at, args);
    } while (*at < rows->n && (!db_is_distributed(db) || args[0].integer == tenant.integer));
    pg_arrays_args(&arrays, args);
    if (db_is_distributed(db))
        args[0] = tenant;
    return db_exec(db, rows->all, (struct db_args){ args, rows->n_columns }, rows->on_row,
                   rows->ctx, err);
}

int pg_exec_rows(struct db *db, const struct pg_rows *rows, struct arena *arena, struct error *err)
{
    const bool arrays =
        strcmp(db_dialect(db), "postgres") == 0 && !(rows->undistributed && db_is_distributed(db));
    struct db_value args[ROW_COLUMNS_MAX];
    int res = 0;

    assert(rows->n_columns <= ROW_COLUMNS_MAX);
    for (size_t i = 0; i < rows->n && res == 0;) {
        if (rows->at != NULL)
            *rows->at = i;
        rows->fill(rows->ctx, i, args);
        if (arrays)
            res = exec_span(db, rows, arena, &i, args, err);
        else
            res = db_exec(db, rows->one, (struct db_args){ args, rows->n_columns }, rows->on_row,
                          rows->ctx, err);
        i += !arrays;
    }
    return res;
}

struct db_value db_id_list(const struct db *db, const int64_t *ids, size_t n, struct arena *arena)
{
    const bool is_array = strcmp(db_dialect(db), "postgres") == 0;
    BUF_SCOPED(text, SIZE_MAX); /* bounded: ids of a page */

    buf_add_char(&text, is_array ? '{' : '[');
    for (size_t i = 0; i < n; i++) {
        if (i > 0)
            buf_add_char(&text, ',');
        buf_add_int(&text, ids[i]);
    }
    buf_add_char(&text, is_array ? '}' : ']');
    return db_text(arena_copy(arena, buf_str(&text)));
}

static struct str text_array(const struct str *texts, size_t n, struct arena *arena)
{
    PG_ARRAYS_SCOPED(array, 1, arena);
    struct db_value whole;

    for (size_t i = 0; i < n; i++) {
        const struct db_value text = db_text(texts[i]);

        pg_arrays_add(&array, &text);
    }
    pg_arrays_args(&array, &whole);
    return arena_copy(arena, whole.bytes);
}

struct db_value db_text_list(const struct db *db, const struct str *texts, size_t n,
                             struct arena *arena)
{
    BUF_SCOPED(json, SIZE_MAX); /* bounded: what a request or a page has */

    if (strcmp(db_dialect(db), "postgres") == 0)
        return db_text(text_array(texts, n, arena));
    buf_add_char(&json, '[');
    for (size_t i = 0; i < n; i++) {
        if (i > 0)
            buf_add_char(&json, ',');
        buf_add_json(&json, texts[i]);
    }
    buf_add_char(&json, ']');
    return db_text(buf_take(&json, arena));
}
