/* test_driver_rows.c - rows become structs by the names of their columns, from both databases. */
#include <math.h>

#include "shape/rows.h"
#include "shape/table.h"
#include "suite.h"

static const char *const colours[] = { "red", "green", NULL };

struct item {
    struct str name, note, json;
    struct str word; /* one of the colours, or null */
    int colour, shade;
    int64_t at, number;
    struct opt_int maybe;
    bool flag;
    double real;
    struct list words;
    int64_t computed; /* no column fills it */
};

/* clang-format off */
ROW_TABLE_OF(item_row, struct item,
    STR(name), STR(word, .flags = F_NULL, .choices = colours), STR(note), JSON(json), INT(number), TIME(at), OPT_INT(maybe),
    BOOL(flag), NUMBER(real), LIST_STR(words), INT(computed),
    ENUM(colour, .choices = colours), ENUM(shade, .choices = colours));

#define COLUMNS "words, name, note, json, number, at, maybe, flag, real, colour, shade"
static const struct db_query create = {
    .sqlite   = "CREATE TABLE items (id BIGINT, name TEXT, note BLOB, json TEXT, number BIGINT, at BIGINT,"
                " maybe BIGINT, flag BIGINT, real DOUBLE PRECISION, words TEXT, colour BIGINT, shade TEXT)",
    .postgres = "CREATE TABLE items (id BIGINT, name TEXT, note BYTEA, json TEXT, number BIGINT, at BIGINT,"
                " maybe BIGINT, flag BIGINT, real DOUBLE PRECISION, words TEXT, colour BIGINT, shade TEXT)",
};
static const struct db_query insert = {
    .sql = "INSERT INTO items (id, " COLUMNS ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
};
static const struct db_query select_items = {
    .row = &item_row,
    .sql = "SELECT " COLUMNS " FROM items ORDER BY id",
};
static const struct db_query select_one = {
    .row = &item_row,
    .sql = "SELECT name, colour AS word, number AS computed FROM items WHERE id >= $1 ORDER BY id",
};
static const struct db_query select_unknown = { .row = &item_row, .sql = "SELECT id FROM items" };
/* clang-format on */

static struct db *open_items(void)
{
    struct db *db = suite_open(suite_new_database(), DB_WRITER);

    suite_exec(db, &create, DB_NO_ARGS);
    suite_exec(db, &insert,
               DB_ARGS(db_int(1), db_text(STR_LIT("[\"a\",\"b\"]")), db_text(STR_LIT("one")),
                       db_blob(str_from("x\0y", 3)), db_text(STR_LIT("{\"k\":1}")), db_int(7),
                       db_int(8), db_int(9), db_int(1), db_real(0.5), db_int(1),
                       db_text(STR_LIT("red"))));
    suite_exec(db, &insert,
               DB_ARGS(db_int(2), db_text(STR_LIT("[]")), db_text(STR_LIT("")), db_null(),
                       db_null(), db_null(), db_null(), db_null(), db_null(), db_null(), db_null(),
                       db_null()));
    return db;
}

TEST(each_column_fills_the_field_of_its_name)
{
    struct db *db = open_items();
    const struct item *items;
    struct arena arena;
    struct list list;

    arena_init(&arena);
    CHECK_INT(rows_list(db, &select_items, DB_NO_ARGS, &arena, &list, NULL), 0);
    CHECK_INT(list.n, 2);
    items = list.items;
    CHECK(str_eq_c(items[0].name, "one") && str_eq_c(items[0].json, "{\"k\":1}"));
    CHECK(str_eq(items[0].note, str_from("x\0y", 3)));
    CHECK(items[0].number == 7 && items[0].at == 8 && items[0].flag && items[0].real == 0.5);
    CHECK(items[0].maybe.has && items[0].maybe.value == 9);
    CHECK(items[0].colour == 1 && items[0].shade == 0);
    CHECK_INT(items[0].words.n, 2);
    CHECK(str_eq_c(((const struct str *)items[0].words.items)[1], "b"));
    CHECK(items[0].computed == 0);
    CHECK(items[1].name.len == 0 && !str_is_null(items[1].name) && str_is_null(items[1].note));
    CHECK(items[1].at == TIME_NULL && !items[1].maybe.has && !items[1].flag &&
          items[1].number == 0);
    CHECK(isnan(items[1].real) && items[1].colour == -1 && items[1].shade == -1);
    CHECK_INT(items[1].words.n, 0);
    arena_done(&arena);
    db_close(db);
}

TEST(one_row_is_the_first_or_zeroes)
{
    struct item item = { .number = 5 };
    struct db *db = open_items();
    struct arena arena;

    arena_init(&arena);
    CHECK_INT(rows_one(db, &select_one, DB_ARGS(db_int(1)), &arena, &item, NULL), 0);
    CHECK(str_eq_c(item.name, "one") && item.computed == 7 && item.number == 0);
    CHECK(str_eq_c(item.word, "green"));
    suite_script(db, "UPDATE items SET colour = 2");
    CHECK_INT(rows_one(db, &select_one, DB_ARGS(db_int(1)), &arena, &item, NULL), 0);
    CHECK(str_is_null(item.word));
    CHECK_INT(rows_one(db, &select_one, DB_ARGS(db_int(3)), &arena, &item, NULL), 0);
    CHECK(str_is_null(item.name) && item.computed == 0);
    arena_done(&arena);
    db_close(db);
}

/* Nothing that is stored wrongly is taken for something else. */
TEST(what_cannot_be_read_is_an_error)
{
    static const char *const updates[] = {
        "UPDATE items SET colour = 2",     "UPDATE items SET colour = -1",
        "UPDATE items SET shade = 'blue'", "UPDATE items SET words = '[1]'",
        "UPDATE items SET words = 'a'",
    };

    for (size_t i = 0; i < COUNT_OF(updates); i++) {
        struct db *db = open_items();
        struct error err = { 0 };
        struct arena arena;
        struct list list;

        arena_init(&arena);
        suite_script(db, updates[i]);
        CHECK(rows_list(db, &select_items, DB_NO_ARGS, &arena, &list, &err) != 0);
        CHECK_INT(err.code, ERR_INTERNAL);
        arena_done(&arena);
        db_close(db);
    }
}

TEST(a_column_without_a_field_is_a_bug)
{
    struct db *db = open_items();
    struct error err = { 0 };
    struct arena arena;
    struct list list;

    arena_init(&arena);
    CHECK(rows_list(db, &select_unknown, DB_NO_ARGS, &arena, &list, &err) != 0);
    CHECK_INT(err.code, ERR_INTERNAL);
    arena_done(&arena);
    db_close(db);
}
