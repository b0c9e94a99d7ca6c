/* test_distribution.c - every table that migrations make has one place in the manifest. */
#include <stdlib.h>
#include <string.h>

#include "db/distribution.h"
#include "db/migrate.h"
#include "test.h"

static size_t places_of(struct str table)
{
    size_t n = 0;

    for (size_t i = 0; i < n_table_places; i++)
        n += str_eq(str_of(table_places[i].table), table) ? 1 : 0;
    return n;
}

/* Fails for a table that `sql` makes with this `create` and that has not one place; returns how
 * many it makes. */
static size_t check_tables(const char *sql, const char *create)
{
    size_t n = 0;

    for (const char *at = strstr(sql, create); at != NULL; at = strstr(at + 1, create)) {
        const char *name = at + strlen(create);
        const struct str table = str_from(name, strcspn(name, " ("));

        if (places_of(table) != 1)
            fail_msg("src/db/distribution.c: the table %.*s has %zu places", STR_ARG(table),
                     places_of(table));
        n++;
    }
    return n;
}

TEST(every_table_has_one_place)
{
    size_t n = 1; /* schema_version, which no migration makes */

    for (size_t i = 0; i < n_migrations; i++)
        n += check_tables(migrations[i].postgres, "CREATE TABLE ") +
             check_tables(migrations[i].postgres, "CREATE UNLOGGED TABLE ");
    CHECK_INT(places_of(STR_LIT("schema_version")), 1);
    CHECK_INT(n, n_table_places);
}
