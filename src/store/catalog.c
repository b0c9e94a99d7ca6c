/* catalog.c - SQL of the security catalog. */
#include "store/catalog.h"

#include "base/buf.h"
#include "db/db.h"
#include "store/names.h"

/* clang-format off */
/* $2 is a JSON array of rows, so that one statement does for all of a registration. In PostgreSQL
 * they are ordered, so that two registrations cannot each wait for the other. */
static const struct db_query enter = {
    .sqlite = "INSERT INTO security_catalog (tenant_id, key, full_key, secret, edit, see,"
              " created_at) SELECT $1, json_extract(j.value, '$[0]'), json_extract(j.value, '$[1]'),"
              " json_extract(j.value, '$[2]'), json_extract(j.value, '$[3]'),"
              " json_extract(j.value, '$[4]'), $3 FROM json_each($2) j WHERE TRUE"
              " ON CONFLICT (tenant_id, key) DO NOTHING",
    .postgres = "INSERT INTO security_catalog (tenant_id, key, full_key, secret, edit, see,"
                " created_at) SELECT CAST($1 AS BIGINT), j ->> 0, j ->> 1,"
                " CAST(j ->> 2 AS SMALLINT), j ->> 3, j ->> 4, CAST($3 AS BIGINT)"
                " FROM json_array_elements(CAST($2 AS json)) AS j ORDER BY j ->> 0"
                " ON CONFLICT (tenant_id, key) DO NOTHING",
    .n_args = 3,
};
/* clang-format on */

struct str store_catalog_prepare(const struct catalog_entry *entries, size_t n, struct arena *arena)
{
    struct buf out;
    struct str text;

    buf_init(&out, SIZE_MAX); /* in proportion to the body, which was bounded */
    buf_add_char(&out, '[');
    for (size_t i = 0; i < n; i++) {
        struct name_key name = store_name_key(entries[i].key, arena);

        buf_add_c(&out, i > 0 ? ",[" : "[");
        buf_add_json(&out, name.key);
        buf_add_char(&out, ',');
        if (str_is_null(name.full))
            buf_add_c(&out, "null");
        else
            buf_add_json(&out, name.full);
        buf_printf(&out, ",%d,\"%s\",\"%s\"]", entries[i].secret, entries[i].edit, entries[i].see);
    }
    buf_add_char(&out, ']');
    text = arena_copy(arena, buf_str(&out));
    buf_done(&out);
    return text;
}

int store_catalog_enter(struct db *db, int64_t tenant_id, struct str prepared, int64_t now_us,
                        struct error *err)
{
    const struct db_value args[] = { db_int(tenant_id), db_text(prepared), db_int(now_us) };

    return db_exec(db, &enter, args, NULL, NULL, err);
}
