/* number.h - numbers of rows on PostgreSQL, which its nodes make by themselves. */
#pragma once
#include "base/base.h"

struct db;

/* A new number for a row, from a writer of PostgreSQL: unique among all writers of a database, and
 * greater than those made before it, on any node, as far as clocks agree. */
int64_t db_number(struct db *db);

/* When it was made, and the least number of a time: microseconds since 1970. */
int64_t db_number_time(int64_t number);
int64_t db_number_at(int64_t us);
