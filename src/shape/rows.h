/* rows.h - rows of a query as structs, in an arena.
 *
 * A query names the struct that its rows fill (`row` of struct db_query): a
 * shape of the API, or a table in the same words for a struct that no answer
 * shows. Each column fills the field of its name; a column without one is a
 * bug (ERR_INTERNAL), a field without a column stays zero. Columns hold what
 * the field's type says: booleans as integers, one of several choices as its
 * number or its text, lists and nested shapes as JSON text. Blobs are T_STR.
 */
#pragma once
#include <stdbool.h>

#include "base/arena.h"
#include "db/db.h"
#include "shape/shape.h"

/* All rows: a list of what q->row describes. */
int rows_list(struct db *db, const struct db_query *q, struct db_args args, struct arena *arena,
              struct list *ret, struct error *err) MUST_CHECK;

/* A function of a store that is one such statement (DB_RUN_FN, db/db.h), with the shape of a row:
 * takes `arena` and `ret` before `err`. */
#define ROWS_LIST_FN(id, shape, params, args, text)                                                \
    DB_ROWS_QUERY(id##_query, shape, text);                                                        \
    int id(struct db *db, DB_ONLY params, struct arena *arena, struct list *ret,                   \
           struct error *err)                                                                      \
    {                                                                                              \
        return rows_list(db, &id##_query, DB_ARGS args, arena, ret, err);                          \
    }                                                                                              \
    DB_FN_END(id)

/* The same for one row, whose table has the name of its struct. */
#define ROWS_ONE_FN(id, shape, params, args, text)                                                 \
    DB_ROWS_QUERY(id##_query, shape, text);                                                        \
    int id(struct db *db, DB_ONLY params, struct arena *arena, struct shape *ret,                  \
           struct error *err)                                                                      \
    {                                                                                              \
        return rows_one(db, &id##_query, DB_ARGS args, arena, ret, err);                           \
    }                                                                                              \
    DB_FN_END(id)

/* Rows and how much memory they may take. */
struct rows_page {
    size_t bytes;     /* 0: any number */
    struct list list; /* set, as the next */
    bool cut;         /* there are more rows than fit */
};

/* The same up to the row with which they exceed the bound. */
int rows_page(struct db *db, const struct db_query *q, struct db_args args, struct arena *arena,
              struct rows_page *page, struct error *err) MUST_CHECK;

/* The first row, or zeroes when the result is empty. */
int rows_one(struct db *db, const struct db_query *q, struct db_args args, struct arena *arena,
             void *ret, struct error *err) MUST_CHECK;

/* The first column of the first row; STR_NULL when the result is empty. */
int rows_one_text(struct db *db, const struct db_query *q, struct db_args args, struct arena *arena,
                  struct str *ret, struct error *err) MUST_CHECK;

/* The JSON text of a list or nested shape in the struct `value`, to be stored in the column of that
 * name; STR_NULL for a NULL. In the arena. */
struct str rows_json_of(const struct shape *shape, const char *name, const void *value,
                        struct arena *arena);

/* The table of a struct that is no answer: ROW_TABLE(tenant_row, INT(tenant_id), STR(slug)) is
 * `tenant_row` of a struct tenant_row (shape/table.h). */
#define ROW_TABLE(type, ...) ROW_TABLE_OF(type, struct type, __VA_ARGS__)

/* The same by another name than that of the struct. */
#define ROW_TABLE_OF(id, ctype, ...) SHAPE_TABLE(static, id, ctype, #id, (), __VA_ARGS__)

/* Grows by doubling; `items` is an array of `size` bytes each. */
struct rows {
    struct arena *arena;
    void *items;
    size_t n, capacity, size;
};

/* A new element at the end, zeroed. */
void *rows_add(struct rows *rows);

/* A column copied into the arena; STR_NULL stays so. */
struct str rows_text(struct arena *arena, const struct db_row *row, unsigned column);

/* Columns and parameters that may be NULL: without a value, and TIME_NULL. */
struct opt_int rows_opt_int(const struct db_row *row, unsigned column);
int64_t rows_time(const struct db_row *row, unsigned column);
struct db_value rows_opt_int_value(struct opt_int value);
struct db_value rows_time_value(int64_t at);
