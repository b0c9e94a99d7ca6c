/* rows.h - collecting rows into an arena; private to this folder. */
#pragma once
#include "base/arena.h"
#include "db/db.h"
#include "features/kpis/kpi_state.h"
#include "shape/shape.h"

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

/* Columns that may be NULL, and parameters likewise: no integer, TIME_NULL. */
struct opt_int rows_opt_int(const struct db_row *row, unsigned column);
int64_t rows_time(const struct db_row *row, unsigned column);
struct db_value rows_opt_int_value(struct opt_int value);
struct db_value rows_time_value(int64_t at);

/* A db_row_fn that keeps the first column of the one row in an int64_t. */
bool rows_read_int(void *ctx, const struct db_row *row);

/* The number in one of two columns, integer_value and real_value; a text when both are NULL. */
struct kpi_value rows_kpi_value(const struct db_row *row, unsigned column);
