/* rows.c - collecting rows into an arena. */
#include "shape/rows.h"

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

bool rows_read_int(void *ctx, const struct db_row *row)
{
    *(int64_t *)ctx = db_get_int(row, 0);
    return false;
}

struct kpi_value rows_kpi_value(const struct db_row *row, unsigned column)
{
    if (!db_is_null(row, column))
        return (struct kpi_value){ .kind = VALUE_INT, .integer = db_get_int(row, column) };
    if (!db_is_null(row, column + 1))
        return (struct kpi_value){ .kind = VALUE_REAL, .real = db_get_real(row, column + 1) };
    return (struct kpi_value){ .kind = VALUE_STR };
}
