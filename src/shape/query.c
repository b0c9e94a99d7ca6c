/* query.c - shapes from query strings and path parameters.
 *
 * Every value becomes a JSON string, which the same table checks.
 */
#include "shape/check.h"

/* Decodes percent escapes and `space`; malformed escapes are kept verbatim. */
static struct str unescape(struct str s, char space, struct arena *arena)
{
    char *bytes = arena_alloc(arena, s.len);
    size_t n = 0;

    for (size_t i = 0; i < s.len; i++) {
        char c = s.data[i];

        if (c == space)
            c = ' ';
        if (c == '%' && s.len - i > 2) {
            int high = str_hex_digit(s.data[i + 1]), low = str_hex_digit(s.data[i + 2]);

            if (high >= 0 && low >= 0) {
                c = (char)(high << 4 | low);
                i += 2;
            }
        }
        bytes[n++] = c;
    }
    return str_from(bytes, n);
}

/* With U+FFFD in place of invalid UTF-8. */
static struct str repair(struct str s, struct arena *arena)
{
    static const struct str replacement = STR_INIT("\xef\xbf\xbd");
    const char *end = s.data + s.len;
    char *bytes;
    size_t n = 0, len;

    if (utf8_valid_len(s) == s.len)
        return s;
    bytes = arena_alloc(arena, s.len * replacement.len);
    for (const char *at = s.data; at < end; at += len) {
        bool good = utf8_step(at, end, &len);
        struct str part = good ? str_from(at, len) : replacement;

        memcpy(bytes + n, part.data, part.len);
        n += part.len;
    }
    return str_from(bytes, n);
}

static struct str decode(struct str s, struct arena *arena)
{
    if (str_is_null(s))
        return STR_LIT("");
    if (memchr(s.data, '%', s.len) != NULL || memchr(s.data, '+', s.len) != NULL)
        s = unescape(s, '+', arena);
    return repair(s, arena);
}

struct str shape_decode_segment(struct str s, struct arena *arena)
{
    if (memchr(s.data, '%', s.len) != NULL)
        s = unescape(s, ' ', arena);
    return repair(s, arena);
}

/* The values of a shape's fields as JSON strings. */
struct strings {
    struct yyjson_val values[CHECK_FIELDS_MAX];
    yyjson_val *slots[CHECK_FIELDS_MAX]; /* NULL: absent */
};

/* Sets the field of that name, if any; a later value replaces an earlier one. */
static void put(struct strings *strings, const struct shape *shape, struct str name,
                struct str value)
{
    for (size_t i = 0; i < shape->n_fields && i < CHECK_FIELDS_MAX; i++) {
        if (!str_eq_c(name, shape->fields[i].name))
            continue;
        unsafe_yyjson_set_strn(&strings->values[i], value.data, value.len);
        strings->slots[i] = &strings->values[i];
    }
}

static int read_strings(const struct shape *shape, const struct strings *strings,
                        struct arena *arena, void *ret, struct problems *problems)
{
    struct reader r = { .arena = arena, .problems = problems, .lax = true };
    struct yyjson_val null = { .tag = YYJSON_TYPE_NULL };

    return check_fields(&r, NULL, shape, strings->slots, &null, ret) ? 0 : -1;
}

int shape_read_query(const struct shape *shape, struct str query, struct arena *arena, void *ret,
                     struct problems *problems)
{
    struct strings strings = { 0 };

    while (!str_is_null(query)) {
        struct str value = str_split(&query, '&');
        struct str name = str_split(&value, '=');

        if (name.len > 0)
            put(&strings, shape, decode(name, arena), decode(value, arena));
    }
    return read_strings(shape, &strings, arena, ret, problems);
}

int shape_read_path(const struct shape *shape, const struct path_values *path, struct arena *arena,
                    void *ret, struct problems *problems)
{
    struct strings strings = { 0 };

    for (size_t i = 0; i < path->n; i++)
        put(&strings, shape, path->names[i], path->values[i]);
    return read_strings(shape, &strings, arena, ret, problems);
}
