/* test_json_form.c - what is split and filled again is what it was. */
#include "features/events/kinds/json_form.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "test.h"
#include "unit/random.h"

/* As PostgreSQL's format() and string_to_array() do it. */
static struct str fill(struct arena *arena, const struct json_form *f)
{
    const char *value = f->values.data, *end = f->values.data + f->values.len;
    BUF_SCOPED(out, 100000);

    for (size_t i = 0; i < f->form.len; i++) {
        const char *c = f->form.data + i, *stop;

        if (*c != '%') {
            buf_add_char(&out, *c);
            continue;
        }
        i++;
        if (f->form.data[i] == '%') {
            buf_add_char(&out, '%');
            continue;
        }
        CHECK(f->form.data[i] == 's');
        stop = memchr(value, JSON_FORM_SEPARATOR, (size_t)(end - value));
        stop = stop == NULL ? end : stop;
        buf_add(&out, str_from(value, (size_t)(stop - value)));
        value = stop == end ? end : stop + 1;
    }
    CHECK(value == end);
    return buf_take(&out, arena);
}

static void check_same(const char *json, const char *form)
{
    struct json_form got = { 0 };
    ARENA_SCOPED(arena);

    CHECK(json_form_split(&arena, str_of(json), &got));
    if (form != NULL)
        CHECK_STR(got.form, form);
    CHECK_STR(fill(&arena, &got), json);
}

TEST(values_leave_places_and_names_stay)
{
    check_same("{}", "{}");
    check_same("{\"customer\":\"c-17\",\"lines\":4}", "{\"customer\":\"%s\",\"lines\":%s}");
    check_same("{\"a\":\"\",\"b\":true,\"c\":null}", "{\"a\":\"%s\",\"b\":%s,\"c\":%s}");
    check_same("[1,[\"x\",{}],-2.5e-7]", "[%s,[\"%s\",{}],%s]");
    check_same("{\"50%\":\"100 %s\"}", "{\"50%%\":\"%s\"}");
    check_same("{\"a\\\"b\" : \"\\\\\", \"c\":\"\\\"\"}", "{\"a\\\"b\" : \"%s\", \"c\":\"%s\"}");
    check_same("\"alone\"", "\"%s\"");
}

TEST(texts_with_too_much_in_them_stay_whole)
{
    struct json_form got;
    ARENA_SCOPED(arena);
    BUF_SCOPED(many, 10000);
    BUF_SCOPED(text, 10000);

    buf_add_c(&many, "[0");
    for (int i = 1; i <= JSON_FORM_VALUES; i++)
        buf_add_c(&many, ",1");
    buf_add_c(&many, "]");
    CHECK(!json_form_split(&arena, buf_str(&many), &got));

    buf_add_c(&text, "{\"");
    for (int i = 0; i < JSON_FORM_MAX; i++)
        buf_add_char(&text, 'k');
    buf_add_c(&text, "\":1}");
    CHECK(!json_form_split(&arena, buf_str(&text), &got));
    CHECK(!json_form_split(&arena, STR_LIT(""), &got));
    CHECK(!json_form_split(&arena, STR_LIT("\"cut"), &got));
    CHECK(!json_form_split(&arena, STR_LIT("\"a\x1f\""), &got));
}

static void write_value(struct random *r, int depth, struct buf *out)
{
    static const char *const leaves[] = {
        "0", "-12.5e3", "true", "null", "\"\"", "\"a%\\\\\\\"\"", "\"\xc3\xa4, :{\"", "\"%s\""
    };

    if (depth == 0 || random_percent(r, 40)) {
        buf_add_c(out, leaves[random_below(r, COUNT_OF(leaves))]);
        return;
    }
    buf_add_char(out, '{');
    for (uint64_t n = random_below(r, 4), i = 0; i < n; i++) {
        buf_printf(out, "%s\"k%%%d\\\"\":", i > 0 ? ", " : "", (int)i);
        write_value(r, depth - 1, out);
    }
    buf_add_char(out, '}');
}

TEST(what_is_split_is_filled_again)
{
    struct random r = { 7 };
    int split = 0;

    for (int i = 0; i < 2000; i++) {
        struct json_form got;
        ARENA_SCOPED(arena);
        BUF_SCOPED(json, 100000);

        write_value(&r, 3, &json);
        if (!json_form_split(&arena, buf_str(&json), &got))
            continue;
        split++;
        CHECK(str_eq(fill(&arena, &got), buf_str(&json)));
    }
    CHECK(split > 1000);
}
