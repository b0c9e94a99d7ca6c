/* rows.c - fills structs from rows by the names of their columns. */
#include "shape/rows.h"

#include <assert.h>
#include <math.h>

#include "base/digest.h"
#include "shape/problems.h"

void *rows_add(struct rows *rows)
{
    char *item;

    if (rows->n == rows->capacity) {
        size_t capacity = rows->capacity == 0 ? 16 : rows->capacity * 2;

        rows->items = arena_resize(rows->arena, rows->items, rows->capacity * rows->size,
                                   capacity * rows->size);
        rows->capacity = capacity;
    }
    item = (char *)rows->items + rows->n++ * rows->size;
    return memset(item, 0, rows->size);
}

struct str rows_text(struct arena *arena, const struct db_row *row, unsigned column)
{
    return arena_copy(arena, db_get_text(row, column));
}

struct opt_int rows_opt_int(const struct db_row *row, unsigned column)
{
    return (struct opt_int){ !db_is_null(row, column), db_get_int(row, column) };
}

int64_t rows_time(const struct db_row *row, unsigned column)
{
    return db_is_null(row, column) ? TIME_NULL : db_get_int(row, column);
}

struct db_value rows_opt_int_value(struct opt_int value)
{
    return value.has ? db_int(value.value) : db_null();
}

struct db_value rows_time_value(int64_t at)
{
    return at == TIME_NULL ? db_null() : db_int(at);
}

enum { COLUMNS_MAX = 32 };

struct reading {
    const struct shape *shape;
    struct rows rows;
    const struct field *fields[COLUMNS_MAX]; /* of each column */
    unsigned n_columns;                      /* 0 before the first row */
    bool only_first, failed;
    size_t total_max; /* of the arena: no row is read after it; 0: no bound */
    bool cut;         /* a row was left out for that */
    struct error *err;
};

static int match_columns(struct reading *reading, const struct db_row *row)
{
    const struct shape *shape = reading->shape;
    unsigned n = db_columns(row);

    if (n > COLUMNS_MAX)
        return err_set(reading->err, ERR_INTERNAL, "a query of '%s' has %u columns, more than %d",
                       shape->name, n, COLUMNS_MAX);
    for (unsigned i = 0; i < n; i++) {
        const char *name = db_column_name(row, i);
        size_t at = 0;

        while (at < shape->n_fields && strcmp(shape->fields[at].name, name) != 0)
            at++;
        if (at == shape->n_fields)
            return err_set(reading->err, ERR_INTERNAL, "'%s' has no field for column '%s'",
                           shape->name, name);
        reading->fields[i] = &shape->fields[at];
    }
    reading->n_columns = n;
    return 0;
}

/* A choice is stored as its number or as its text. -1 when it is neither. */
static int read_choice(const struct field *field, struct str text)
{
    int64_t number = -1;
    bool is_number = str_to_int(text, &number);

    for (int i = 0; field->choices[i] != NULL; i++)
        if (is_number ? number == i : str_eq_c(text, field->choices[i]))
            return i;
    return -1;
}

/* One of few words is stored as itself or as its number; anything else is null, where allowed. */
static bool read_word(const struct field *field, struct str text, struct str *ret)
{
    int i = str_is_null(text) ? -1 : read_choice(field, text);

    *ret = i < 0 ? STR_NULL : str_of(field->choices[i]);
    return i >= 0 || (field->flags & F_NULL) != 0;
}

/* What is nested, from JSON text, by the same table that checked it when it came in. */
static bool read_nested(const struct field *field, struct str text, struct arena *arena, void *to)
{
    struct field member = *field;
    const struct shape around = { .name = field->name,
                                  .fields = &member,
                                  .n_fields = 1,
                                  .size = field->type == T_SHAPE ? sizeof(void *)
                                                                 : sizeof(struct list) };
    struct str object;

    member.offset = 0;
    if (str_eq_c(text, "[]")) {
        *(struct list *)to = (struct list){ 0 };
        return true;
    }
    object = arena_printf(arena, "{\"%s\":%.*s}", field->name, STR_ARG(text));
    return shape_read_json(&around, object, arena, to, problems_new(arena, "stored")) == 0;
}

/* False when what is stored is not what the field holds. */
static bool read_column(const struct field *field, const struct db_row *row, unsigned column,
                        struct arena *arena, void *to)
{
    bool is_null = db_is_null(row, column);
    struct str bytes;

    switch (field->type) {
    case T_STR:
        if (field->choices != NULL)
            return read_word(field, db_get_text(row, column), to);
        *(struct str *)to = arena_copy(arena, db_get_blob(row, column)); /* a text's bytes, too */
        return true;
    case T_UUID:
    case T_JSON:
    case T_OBJECT:
    case T_DICT_STR:
    case T_DICT_NUM:
    case T_LIST_TEXT:
        *(struct str *)to = rows_text(arena, row, column);
        return true;
    case T_ENUM:
        *(int *)to = is_null ? -1 : read_choice(field, db_get_text(row, column));
        return is_null || *(int *)to >= 0;
    case T_TIME:
        *(int64_t *)to = rows_time(row, column);
        return true;
    case T_INT:
        *(int64_t *)to = db_get_int(row, column);
        return true;
    case T_OPT_INT:
        *(struct opt_int *)to = rows_opt_int(row, column);
        return true;
    case T_BOOL:
        *(bool *)to = db_get_int(row, column) != 0;
        return true;
    case T_OPT_BOOL:
        *(struct opt_bool *)to = (struct opt_bool){ !is_null, db_get_int(row, column) != 0 };
        return true;
    case T_NUMBER:
        *(double *)to = is_null ? NAN : db_get_real(row, column);
        return true;
    case T_DIGEST:
        bytes = db_get_blob(row, column);
        if (bytes.len == SHA256_BYTES) /* else it stays zero, which no token and no cookie has */
            memcpy(to, bytes.data, SHA256_BYTES);
        return true;
    case T_LIST_STR:
    case T_VALUES:
    case T_POINTS:
    case T_BY:
    case T_SHAPE:
    case T_LIST:
        return is_null || read_nested(field, db_get_text(row, column), arena, to);
    }
    return false;
}

static bool read_row(void *ctx, const struct db_row *row)
{
    struct reading *reading = ctx;
    char *item;

    if (reading->n_columns == 0 && match_columns(reading, row) != 0) {
        reading->failed = true;
        return false;
    }
    if (reading->total_max > 0 && reading->rows.arena->total > reading->total_max) {
        reading->cut = true;
        return false;
    }
    item = rows_add(&reading->rows);
    for (unsigned i = 0; i < reading->n_columns; i++) {
        const struct field *field = reading->fields[i];

        if (read_column(field, row, i, reading->rows.arena, item + field->offset))
            continue;
        err_set(reading->err, ERR_INTERNAL, "the stored '%s' of '%s' cannot be read", field->name,
                reading->shape->name);
        reading->failed = true;
        return false;
    }
    return !reading->only_first;
}

static int read_rows(struct db *db, const struct db_query *q, struct db_args args,
                     struct reading *reading)
{
    if (db_exec(db, q, args, read_row, reading, reading->err) != 0)
        return -1;
    return reading->failed ? -1 : 0;
}

int rows_page(struct db *db, const struct db_query *q, struct db_args args, struct arena *arena,
              struct rows_page *page, struct error *err)
{
    struct reading reading = { .shape = q->row,
                               .rows = { .arena = arena, .size = q->row->size },
                               .total_max = page->bytes == 0 ? 0 : arena->total + page->bytes,
                               .err = err };

    if (read_rows(db, q, args, &reading) != 0)
        return -1;
    page->cut = reading.cut;
    page->list = (struct list){ reading.rows.items, reading.rows.n };
    return 0;
}

int rows_list(struct db *db, const struct db_query *q, struct db_args args, struct arena *arena,
              struct list *ret, struct error *err)
{
    struct rows_page page = { .bytes = 0 };

    if (rows_page(db, q, args, arena, &page, err) != 0)
        return -1;
    *ret = page.list;
    return 0;
}

int rows_one(struct db *db, const struct db_query *q, struct db_args args, struct arena *arena,
             void *ret, struct error *err)
{
    struct reading reading = {
        .shape = q->row,
        .rows = { .arena = arena, .items = ret, .capacity = 1, .size = q->row->size },
        .only_first = true,
        .err = err
    };

    memset(ret, 0, q->row->size);
    return read_rows(db, q, args, &reading);
}

struct str rows_json_of(const struct shape *shape, const char *name, const void *value,
                        struct arena *arena)
{
    const struct field *field = shape->fields;
    const void *from;
    BUF_SCOPED(out, SIZE_MAX); /* in proportion to the body, which was bounded */

    while (strcmp(field->name, name) != 0) {
        field++;
        assert(field < shape->fields + shape->n_fields);
    }
    from = (const char *)value + field->offset;
    if (field->type == T_SHAPE && *(void *const *)from == NULL)
        return STR_NULL;
    shape_write_member(field, from, &out);
    return buf_take(&out, arena);
}

struct text {
    struct arena *arena;
    struct str *ret;
};

static bool read_text(void *ctx, const struct db_row *row)
{
    const struct text *text = ctx;

    *text->ret = rows_text(text->arena, row, 0);
    return false;
}

int rows_one_text(struct db *db, const struct db_query *q, struct db_args args, struct arena *arena,
                  struct str *ret, struct error *err)
{
    *ret = STR_NULL;
    return db_exec(db, q, args, read_text, &(struct text){ arena, ret }, err);
}
