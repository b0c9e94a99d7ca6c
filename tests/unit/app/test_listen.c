/* test_listen.c - which addresses cannot be listened on at once. */
#include "app/listen.h"

#include "test.h"

static bool collide(const char *a, const char *b)
{
    struct listen_address x, y;
    struct error err = { 0 };

    CHECK(listen_read("listen", a, &x, &err) == 0);
    CHECK(listen_read("metrics_listen", b, &y, &err) == 0);
    CHECK(listen_collide(&x, &y) == listen_collide(&y, &x));
    return listen_collide(&x, &y);
}

TEST(addresses_collide_where_one_is_the_other_or_takes_all_of_its_clients)
{
    static const struct {
        const char *a, *b;
        bool collide;
    } rows[] = {
        { "127.0.0.1:80", "127.0.0.1:80", true },
        { "127.0.0.1:80", "localhost:80", true },
        { "127.0.0.1:80", "127.0.0.1:81", false },
        { "127.0.0.1:80", "127.0.0.2:80", false },
        { ":80", "127.0.0.2:80", true },
        { ":80", ":80", true },
        { ":80", ":81", false },
        { ":0", ":0", false }, /* a free port each */
        { "127.0.0.1:0", "127.0.0.1:0", false },
        { "[::1]:80", "[0:0::1]:80", true },
        { "[::1]:80", "[::2]:80", false },
        { "[::]:80", "[::1]:80", true },
        { "[::]:80", "127.0.0.1:80", true },
        { "[::]:80", ":80", true },
        { "[::]:80", "[::]:81", false },
        { "[::1]:80", ":80", false },
        { "[::1]:80", "127.0.0.1:80", false },
        { "[::ffff:127.0.0.1]:80", "127.0.0.1:80", true },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        CHECK(collide(rows[i].a, rows[i].b) == rows[i].collide);
}
