/* test_name_key.c - names as keys of bounded length. */
#include "db/name_key.h"
#include "test.h"

TEST(a_name_that_fits_is_its_own_key)
{
    static char longest[NAME_KEY_MAX];
    struct name_key key;
    struct arena arena;

    arena_init(&arena);
    memset(longest, 'n', sizeof(longest));
    key = store_name_key(str_from(longest, sizeof(longest)), &arena);
    CHECK(key.key.data == longest && key.key.len == sizeof(longest) && str_is_null(key.full));
    key = store_name_key(STR_LIT(""), &arena);
    CHECK(key.key.len == 0 && !str_is_null(key.key) && str_is_null(key.full));
    arena_done(&arena);
}

TEST(a_longer_name_has_a_key_of_its_own_that_no_short_name_has)
{
    static char a[100000], b[100000];
    struct name_key key_a, key_b;
    struct arena arena;

    arena_init(&arena);
    memset(a, 'n', sizeof(a));
    memset(b, 'n', sizeof(b));
    b[sizeof(b) - 1] = 'o';
    key_a = store_name_key(str_from(a, sizeof(a)), &arena);
    key_b = store_name_key(str_from(b, sizeof(b)), &arena);
    CHECK(!str_eq(key_a.key, key_b.key));
    CHECK(str_eq(key_a.key, store_name_key(str_from(a, sizeof(a)), &arena).key));
    CHECK(key_a.key.len > NAME_KEY_MAX && key_a.key.len <= NAME_KEY_MAX + 64);
    CHECK(key_a.full.data == a && key_a.full.len == sizeof(a));
    arena_done(&arena);
}

/* A face of four bytes stands across the cut, at each of its places. */
TEST(a_shortened_name_splits_no_character)
{
    static const struct {
        size_t before, kept;
    } rows[] = {
        { NAME_KEY_MAX - 4, NAME_KEY_MAX },     { NAME_KEY_MAX - 3, NAME_KEY_MAX - 3 },
        { NAME_KEY_MAX - 2, NAME_KEY_MAX - 2 }, { NAME_KEY_MAX - 1, NAME_KEY_MAX - 1 },
        { NAME_KEY_MAX, NAME_KEY_MAX },
    };
    struct arena arena;

    arena_init(&arena);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        static const char tail[] = { '\360', '\237', '\231', '\202', 'x', 'x', 'x', 'x' };
        char name[NAME_KEY_MAX + sizeof(tail)];
        struct name_key key;

        memset(name, 'n', rows[i].before);
        memcpy(name + rows[i].before, tail, sizeof(tail));
        key = store_name_key(str_from(name, rows[i].before + sizeof(tail)), &arena);
        CHECK_INT(key.key.len, rows[i].kept + 64);
        CHECK(key.key.len > NAME_KEY_MAX);
    }
    arena_done(&arena);
}
