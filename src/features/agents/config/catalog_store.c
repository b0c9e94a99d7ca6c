/* catalog_store.c - SQL of the security catalog. */
#include "features/agents/config/catalog_store.h"

#include "base/buf.h"
#include "db/db.h"
#include "db/name_key.h"
#include "features/agents/config/shapes.h"
#include "shape/rows.h"

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
};

#define SELECT_ENTRIES "SELECT COALESCE(full_key, key), secret, edit, see, created_at FROM security_catalog"

static const struct db_query select_entry = {
    .sql = SELECT_ENTRIES " WHERE tenant_id = $1 AND key = $2",
 };
static const struct db_query select_page = {
    .sqlite = SELECT_ENTRIES " WHERE tenant_id = $1 AND key > $2 ORDER BY key LIMIT $3",
    .postgres = SELECT_ENTRIES " WHERE tenant_id = $1 AND key COLLATE \"C\" > $2"
                " ORDER BY key COLLATE \"C\" LIMIT $3",
};
static const struct db_query update_entry = {
    .sql = "UPDATE security_catalog SET secret = $3, edit = $4, see = $5"
           " WHERE tenant_id = $1 AND key = $2",
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
    const struct db_args args = DB_ARGS(db_int(tenant_id), db_text(prepared), db_int(now_us));

    return db_exec(db, &enter, args, NULL, NULL, err);
}

/* What cannot be read is taken for what gives least away: nobody but us writes it. */
static const char *word_of(const char *const *words, struct str text, const char *least)
{
    for (; *words != NULL; words++)
        if (str_eq_c(text, *words))
            return *words;
    return least;
}

static bool add_entry(void *ctx, const struct db_row *row)
{
    struct rows *rows = ctx;
    struct catalog_entry *e = rows_add(rows);

    e->key = rows_text(rows->arena, row, 0);
    e->secret = db_get_int(row, 1) != 0;
    e->edit = word_of(catalog_edit_names, db_get_text(row, 2), "admin");
    e->see = word_of(catalog_see_names, db_get_text(row, 3), "nobody");
    e->created_at = db_get_int(row, 4);
    return true;
}

int store_catalog_entry(struct db *db, int64_t tenant_id, struct str key, struct arena *arena,
                        struct catalog_entry *ret, struct error *err)
{
    struct rows rows = { .arena = arena, .size = sizeof(struct catalog_entry) };
    const struct db_args args = DB_ARGS(db_int(tenant_id), db_text(store_name_key(key, arena).key));

    if (db_exec(db, &select_entry, args, add_entry, &rows, err) != 0)
        return -1;
    *ret = rows.n == 0 ? (struct catalog_entry){ 0 } : *(struct catalog_entry *)rows.items;
    return 0;
}

int store_catalog(struct db *db, int64_t tenant_id, const struct catalog_query *query,
                  struct arena *arena, struct list *ret, struct error *err)
{
    struct rows rows = { .arena = arena, .size = sizeof(struct catalog_entry) };
    struct str after = str_is_null(query->after) ? STR_LIT("") : query->after;
    const struct db_args args =
        DB_ARGS(db_int(tenant_id), db_text(store_name_key(after, arena).key), db_int(query->limit));

    if (db_exec(db, &select_page, args, add_entry, &rows, err) != 0)
        return -1;
    *ret = (struct list){ rows.items, rows.n };
    return 0;
}

int store_catalog_set(struct db *db, int64_t tenant_id, const struct catalog_entry *entry,
                      struct error *err)
{
    struct arena arena;
    int r;

    arena_init(&arena);
    r = db_exec(db, &update_entry,
                DB_ARGS(db_int(tenant_id), db_text(store_name_key(entry->key, &arena).key),
                        db_int(entry->secret), db_text(str_of(entry->edit)),
                        db_text(str_of(entry->see))),
                NULL, NULL, err);
    arena_done(&arena);
    return r;
}
