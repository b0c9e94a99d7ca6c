/* suite_sqlite.c - each database is a file of its own. */
#include "suite.h"
#include "unit/temp_db.h"

const char *suite_new_database(void)
{
    return temp_db_new();
}
