/* store.c - SQL of configuration values and of the security catalog, and the first entry of a key.
 */
#include "features/agents/config/store.h"

#include "base/map.h"
#include "db/lists.h"
#include "db/name_key.h"
#include "features/agents/agents.h"
#include "shape/rows.h"
#include "shape/table.h"

#define SELECT_VALUES                                                                              \
    "SELECT scope, COALESCE(full_name, agent_name) AS agent_name, COALESCE(full_key, key) AS key," \
    " value, updated_at, author FROM config_values WHERE tenant_id = $1"

/* clang-format off */
ROW_TABLE(value_row,
    ENUM(scope, .choices = directive_scope_names), STR(agent_name), STR(key), STR(value),
    TIME(updated_at), STR(author));

ROW_TABLE_OF(values_size_row, struct values_size,
    INT(n), INT(bytes));

#define AT_PLACE                                                                                   \
    " AND ((scope = 1 AND config_values.agent_name = '')"                                          \
    " OR ($2 = 2 AND scope = 2 AND config_values.agent_name = $3)) ORDER BY config_values.key"
static const struct db_query select_values = {
    .row = &value_row,
    .sqlite = SELECT_VALUES AT_PLACE ", scope DESC",
    .postgres = SELECT_VALUES AT_PLACE " COLLATE \"C\", scope DESC",
};
DB_ROWS_QUERY(select_value, value_row,
    SELECT_VALUES " AND config_values.key = $4 AND ((scope = 1 AND config_values.agent_name = '')"
    " OR ($2 = 2 AND scope = 2 AND config_values.agent_name = $3)) ORDER BY scope DESC LIMIT 1");
#define OTHERS " FROM config_values WHERE tenant_id = $1 AND scope = $2 AND agent_name = $3 AND key <> $4"
static const struct db_query measure_others = {
    .row = &values_size_row,
    .sqlite = "SELECT COUNT(*) AS n, COALESCE(SUM(LENGTH(CAST(value AS BLOB))), 0) AS bytes" OTHERS,
    .postgres = "SELECT COUNT(*) AS n, COALESCE(SUM(octet_length(value)), 0) AS bytes" OTHERS,
};
ROWS_LIST_FN(values_of_key, value_row, (int64_t tenant_id, struct str key),
    (db_int(tenant_id), db_text(store_name_key(key, arena).key)),
    SELECT_VALUES " AND config_values.key = $2 LIMIT 1000");
DB_QUERY(set_value,
    "INSERT INTO config_values (tenant_id, scope, agent_name, full_name, key, full_key,"
    " value, updated_at, author) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)"
    " ON CONFLICT (tenant_id, scope, agent_name, key) DO UPDATE SET value = excluded.value,"
    " updated_at = excluded.updated_at, author = excluded.author");
DB_QUERY(unset_value,
    "DELETE FROM config_values WHERE tenant_id = $1 AND scope = $2 AND agent_name = $3"
    " AND key = $4");
/* clang-format on */

int values_at(struct db *db, const struct directive_key *target, struct arena *arena,
              struct list *ret, struct error *err)
{
    const struct db_args args = DB_ARGS(db_int(target->tenant_id), db_int(target->scope),
                                        db_text(store_name_key(target->agent_name, arena).key));

    return rows_list(db, &select_values, args, arena, ret, err);
}

int value_at(struct db *db, const struct directive_key *target, struct str key, struct arena *arena,
             struct value_row *ret, struct error *err)
{
    const struct db_args args = DB_ARGS(db_int(target->tenant_id), db_int(target->scope),
                                        db_text(store_name_key(target->agent_name, arena).key),
                                        db_text(store_name_key(key, arena).key));

    return rows_one(db, &select_value, args, arena, ret, err);
}

int values_measure(struct db *db, const struct directive_key *target, struct str but_key,
                   struct arena *arena, struct values_size *ret, struct error *err)
{
    const struct db_args args = DB_ARGS(db_int(target->tenant_id), db_int(target->scope),
                                        db_text(store_name_key(target->agent_name, arena).key),
                                        db_text(store_name_key(but_key, arena).key));

    return rows_one(db, &measure_others, args, arena, ret, err);
}

int value_put(struct db *db, const struct directive_key *target, const struct value_row *row,
              struct error *err)
{
    struct name_room room, key_room;
    const struct name_key name = store_name_key_in(target->agent_name, &room);
    const struct name_key key = store_name_key_in(row->key, &key_room);

    return db_run(db, &set_value,
                  DB_ARGS(db_int(target->tenant_id), db_int(target->scope), db_text(name.key),
                          db_text(name.full), db_text(key.key), db_text(key.full),
                          db_text(row->value), db_int(row->updated_at), db_text(row->author)),
                  err);
}

int value_remove(struct db *db, const struct directive_key *target, struct str key,
                 struct error *err)
{
    struct name_room room, key_room;

    return db_run(db, &unset_value,
                  DB_ARGS(db_int(target->tenant_id), db_int(target->scope),
                          db_text(store_name_key_in(target->agent_name, &room).key),
                          db_text(store_name_key_in(key, &key_room).key)),
                  err);
}

/* clang-format off */
/* $2 is a JSON array of rows, so that one statement stores all entries of a registration. In
 * PostgreSQL they are ordered, so that two registrations cannot deadlock. */
static const struct db_query enter = {
    .sqlite = "INSERT INTO security_catalog (tenant_id, key, full_key, secret, edit, see,"
              " created_at) SELECT $1, json_extract(j.value, '$[0]'), json_extract(j.value, '$[1]'),"
              " json_extract(j.value, '$[2]'), json_extract(j.value, '$[3]'),"
              " json_extract(j.value, '$[4]'), $3 FROM json_each($2) j WHERE TRUE"
              " ON CONFLICT (tenant_id, key) DO NOTHING",
    .postgres = "INSERT INTO security_catalog (tenant_id, key, full_key, secret, edit, see,"
                " created_at) SELECT CAST($1 AS BIGINT), j ->> 0, j ->> 1,"
                " CAST(j ->> 2 AS SMALLINT), j ->> 3, j ->> 4, CAST($3 AS BIGINT)"
                " FROM jsonb_array_elements(CAST($2 AS jsonb)) AS j ORDER BY j ->> 0"
                " ON CONFLICT (tenant_id, key) DO NOTHING",
};

DB_QUERY(count_entries, "SELECT COUNT(*) FROM security_catalog WHERE tenant_id = $1");

#define SELECT_ENTRIES                                                                             \
    "SELECT COALESCE(full_key, key) AS key, secret, edit, see, created_at FROM security_catalog c"

DB_ROWS_QUERY(select_entry, catalog_parameter_shape,
    SELECT_ENTRIES " WHERE tenant_id = $1 AND c.key = $2");
/* $2 has the keys (db_text_list()): one is looked up after the other. */
static const struct db_query select_entries = {
    .row = &catalog_parameter_shape,
    .sqlite = "SELECT COALESCE(c.full_key, c.key) AS key, c.secret, c.edit, c.see, c.created_at"
              " FROM json_each($2) j CROSS JOIN security_catalog c"
              " WHERE c.tenant_id = $1 AND c.key = j.value",
    .postgres = "SELECT e.* FROM unnest($2::text[]) AS x(key) CROSS JOIN LATERAL (" SELECT_ENTRIES
                " WHERE c.tenant_id = $1 AND c.key = x.key OFFSET 0) e",
};
static const struct db_query select_page = {
    .row = &catalog_parameter_shape,
    .sqlite = SELECT_ENTRIES " WHERE tenant_id = $1 AND c.key > $2 ORDER BY c.key LIMIT $3",
    .postgres = SELECT_ENTRIES " WHERE tenant_id = $1 AND c.key COLLATE \"C\" > $2"
                " ORDER BY c.key COLLATE \"C\" LIMIT $3",
};
DB_QUERY(update_entry,
    "UPDATE security_catalog SET secret = $3, edit = $4, see = $5"
    " WHERE tenant_id = $1 AND key = $2");
/* clang-format on */

struct str catalog_prepare(const struct catalog_parameter *entries, size_t n, struct arena *arena)
{
    BUF_SCOPED(out, SIZE_MAX); /* bounded by the size of the body */

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
        buf_printf(&out, ",%d,\"%.*s\",\"%.*s\"]", entries[i].secret, STR_ARG(entries[i].edit),
                   STR_ARG(entries[i].see));
    }
    buf_add_char(&out, ']');
    return buf_take(&out, arena);
}

int catalog_is_full(struct db *db, int64_t tenant_id, bool *ret, struct error *err)
{
    int64_t n = 0;

    if (db_exec(db, &count_entries, DB_ARGS(db_int(tenant_id)), db_read_int, &n, err) != 0)
        return -1;
    *ret = n >= CATALOG_MAX;
    return 0;
}

int catalog_enter(struct db *db, int64_t tenant_id, struct str prepared, int64_t now_us,
                  struct error *err)
{
    return db_run(db, &enter, DB_ARGS(db_int(tenant_id), db_text(prepared), db_int(now_us)), err);
}

int catalog_entry(struct db *db, int64_t tenant_id, struct str key, struct arena *arena,
                  struct catalog_parameter *ret, struct error *err)
{
    const struct db_args args = DB_ARGS(db_int(tenant_id), db_text(store_name_key(key, arena).key));

    return rows_one(db, &select_entry, args, arena, ret, err);
}

int catalog_entries(struct db *db, int64_t tenant_id, const struct list *keys, struct arena *arena,
                    struct catalog_parameter *ret, struct error *err)
{
    struct str *stored = ARENA_ARRAY(arena, struct str, keys->n);
    const struct str *wanted = keys->items;
    struct catalog_parameter *entries;
    struct list found;
    struct map by_key;

    if (keys->n == 0)
        return 0;
    for (size_t i = 0; i < keys->n; i++)
        stored[i] = store_name_key(wanted[i], arena).key;
    if (rows_list(db, &select_entries,
                  DB_ARGS(db_int(tenant_id), db_text_list(db, stored, keys->n, arena)), arena,
                  &found, err) != 0)
        return -1;
    entries = found.items;
    map_init(&by_key);
    for (size_t i = 0; i < found.n; i++)
        (void)map_put(&by_key, entries[i].key, &entries[i]);
    for (size_t i = 0; i < keys->n; i++) {
        const struct catalog_parameter *entry = map_get(&by_key, wanted[i]);

        ret[i] = entry != NULL ? *entry : (struct catalog_parameter){ .key = STR_NULL };
    }
    map_done(&by_key);
    return 0;
}

int config_hide_defaults(struct db *db, int64_t tenant_id, struct config_schema_decl *decl,
                         struct arena *arena, struct error *err)
{
    const size_t n = decl->params.n;
    struct catalog_parameter *entries = ARENA_ARRAY(arena, struct catalog_parameter, n);
    struct config_param_decl *params = decl->params.items;
    struct str *keys = ARENA_ARRAY(arena, struct str, n);

    for (size_t i = 0; i < n; i++)
        keys[i] = params[i].key;
    if (catalog_entries(db, tenant_id, &(struct list){ keys, n }, arena, entries, err) != 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        if (str_is_null(entries[i].key) || !str_eq_c(entries[i].see, "member"))
            params[i].default_value = STR_LIT("");
    return 0;
}

int catalog_page(struct db *db, int64_t tenant_id, const struct catalog_query *query,
                 struct arena *arena, struct list *ret, struct error *err)
{
    struct str after = str_is_null(query->after) ? STR_LIT("") : query->after;
    const struct db_args args =
        DB_ARGS(db_int(tenant_id), db_text(store_name_key(after, arena).key), db_int(query->limit));

    return rows_list(db, &select_page, args, arena, ret, err);
}

int catalog_update(struct db *db, int64_t tenant_id, const struct catalog_parameter *entry,
                   struct error *err)
{
    struct name_room room;

    return db_run(db, &update_entry,
                  DB_ARGS(db_int(tenant_id), db_text(store_name_key_in(entry->key, &room).key),
                          db_int(entry->secret), db_text(entry->edit), db_text(entry->see)),
                  err);
}

static const struct str secret_words[] = {
    STR_INIT("password"), STR_INIT("secret"),     STR_INIT("token"),
    STR_INIT("apikey"),   STR_INIT("credential"),
};

/* The letter or digit in lower case; 0 for a separator. */
static char normalize(char c)
{
    if (c >= 'A' && c <= 'Z')
        return (char)(c | 0x20);
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (unsigned char)c >= 0x80)
        return c;
    return 0;
}

/* Does `word` begin at `at`, ignoring separators? */
static bool has_word_at(struct str key, size_t at, struct str word)
{
    size_t n = 0;

    for (; at < key.len && n < word.len; at++) {
        char c = normalize(key.data[at]);

        if (c == 0)
            continue;
        if (c != word.data[n++])
            return false;
    }
    return n == word.len;
}

static bool is_secret(struct str key)
{
    for (size_t at = 0; at < key.len; at++)
        for (size_t i = 0; i < COUNT_OF(secret_words); i++)
            if (normalize(key.data[at]) != 0 && has_word_at(key, at, secret_words[i]))
                return true;
    return false;
}

struct catalog_parameter catalog_first_entry(struct str key)
{
    bool secret = is_secret(key);

    return (struct catalog_parameter){
        .key = key,
        .secret = secret,
        .edit = STR_LIT("admin"),
        .see = secret ? STR_LIT("nobody") : STR_LIT("member"),
    };
}
