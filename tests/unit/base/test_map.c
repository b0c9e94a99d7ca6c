/* test_map.c - the hash table against an array that cannot be wrong. */
#include "base/map.h"

#include <stdio.h>

#include "base/digest.h"
#include "test.h"

enum { KEYS = 5000 };

struct item {
    char key[12];
    bool in_map;
};

static struct item items[KEYS];

static struct str key_of(const struct item *item)
{
    return str_of(item->key);
}

static void make_items(void)
{
    for (size_t i = 0; i < KEYS; i++) {
        (void)snprintf(items[i].key, sizeof(items[i].key), "key%zu", i);
        items[i].in_map = false;
    }
}

TEST(an_empty_map_has_nothing_and_gives_nothing)
{
    struct map m;
    size_t at = 0;

    map_init(&m);
    CHECK(map_get(&m, STR_LIT("a")) == NULL);
    CHECK(map_remove(&m, STR_LIT("a")) == NULL);
    CHECK(map_next(&m, &at) == NULL);
    map_done(&m);
    map_done(NULL);
}

TEST(putting_again_replaces_value_and_key_and_gives_the_old_value)
{
    char first[] = "same", second[] = "same";
    struct map m;

    map_init(&m);
    CHECK(map_put(&m, str_of(first), first) == NULL);
    CHECK(map_put(&m, str_of(second), second) == first);
    CHECK_INT(m.n, 1);
    memset(first, 'x', 4); /* the old key's bytes may go */
    CHECK(map_get(&m, STR_LIT("same")) == second);
    map_done(&m);
}

TEST(keys_are_bytes_also_empty_and_with_nul)
{
    int a, b, c;
    struct map m;

    map_init(&m);
    (void)map_put(&m, STR_LIT(""), &a);
    (void)map_put(&m, STR_LIT("x\0y"), &b);
    (void)map_put(&m, STR_LIT("x\0z"), &c);
    CHECK(map_get(&m, STR_NULL) == &a);
    CHECK(map_get(&m, STR_LIT("x\0y")) == &b);
    CHECK(map_get(&m, STR_LIT("x\0z")) == &c);
    CHECK(map_get(&m, STR_LIT("x")) == NULL);
    map_done(&m);
}

static void check_against_items(const struct map *m, size_t n)
{
    size_t at = 0, walked = 0;
    const struct item *item;

    CHECK_INT(m->n, n);
    for (size_t i = 0; i < KEYS; i++)
        if (map_get(m, key_of(&items[i])) != (items[i].in_map ? &items[i] : NULL))
            fail_msg("%s", items[i].key);
    while ((item = map_next(m, &at)) != NULL) {
        CHECK(item->in_map);
        walked++;
    }
    CHECK_INT(walked, n);
}

/* Removal shifts entries back over the hole; a wrong shift loses one somewhere. */
TEST(a_map_agrees_with_a_reference_through_random_puts_and_removals)
{
    struct map m;
    size_t n = 0;

    make_items();
    map_init(&m);
    for (int i = 1; i <= 200000; i++) {
        struct item *item = &items[digest_random_below(KEYS)];
        bool growing = i / 20000 % 2 == 0; /* so that it fills and empties in turn */

        if (digest_random_below(10) < (growing ? 8U : 2U)) {
            CHECK(map_put(&m, key_of(item), item) == (item->in_map ? item : NULL));
            n += !item->in_map;
            item->in_map = true;
        } else {
            CHECK(map_remove(&m, key_of(item)) == (item->in_map ? item : NULL));
            n -= item->in_map;
            item->in_map = false;
        }
        if (i % 10000 == 0)
            check_against_items(&m, n);
    }
    for (size_t i = 0; i < KEYS; i++) {
        (void)map_remove(&m, key_of(&items[i]));
        items[i].in_map = false;
    }
    check_against_items(&m, 0);
    map_done(&m);
}
