/* json.c - reads numbers, checks bytes, scans the text for what is too deep and the tree for a
 * value.
 */
#include "features/otlp/json.h"

#include <math.h>

#include "base/buf.h"
#include "shape/json.h"

static bool digits_to_number(struct str text, bool negative, uint64_t *ret)
{
    uint64_t limit = negative ? (uint64_t)INT64_MAX + 1 : UINT64_MAX, n = 0;

    if (text.len == 0)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        uint64_t digit = (uint64_t)(unsigned char)text.data[i] - '0';

        if (digit > 9 || n > (limit - digit) / 10)
            return false;
        n = n * 10 + digit;
    }
    *ret = negative ? 0 - n : n;
    return true;
}

bool otlp_json_integer(struct yyjson_val *value, uint64_t *ret)
{
    if (yyjson_is_int(value)) {
        *ret = yyjson_get_uint(value);
        return true;
    }
    if (yyjson_is_real(value)) {
        double real = yyjson_get_real(value);

        *ret = (uint64_t)(int64_t)(fabs(real) < 9007199254740992.0 ? real : 0);
        return floor(real) == real && fabs(real) < 9007199254740992.0;
    }
    if (yyjson_is_str(value)) {
        struct str text = json_str(value);
        bool negative = text.len > 0 && text.data[0] == '-';

        return digits_to_number(str_from(text.data + negative, text.len - negative), negative, ret);
    }
    return false;
}

bool otlp_json_real(struct yyjson_val *value, double *ret)
{
    static const struct {
        const char *name;
        double value;
    } names[] = { { "NaN", NAN }, { "Infinity", INFINITY }, { "-Infinity", -INFINITY } };

    if (yyjson_is_num(value)) {
        *ret = yyjson_get_num(value);
        return true;
    }
    for (size_t i = 0; yyjson_is_str(value) && i < COUNT_OF(names); i++)
        if (str_eq_c(json_str(value), names[i].name)) {
            *ret = names[i].value;
            return true;
        }
    return false;
}

bool otlp_is_base64(struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];

        if (!((c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
              c == '+' || c == '/' || c == '-' || c == '_' || (c == '=' && i + 2 >= text.len)))
            return false;
    }
    return true;
}

/* The index after the string that begins at `at`. */
static size_t skip_string(struct str text, size_t at)
{
    for (at++; at < text.len && text.data[at] != '"'; at++)
        if (text.data[at] == '\\')
            at++;
    return at < text.len ? at + 1 : text.len;
}

struct str otlp_json_flatten(struct str text, struct arena *arena)
{
    char *copy = arena_alloc(arena, text.len + 2);
    size_t depth = 0, n = 0;
    bool cut = false;

    for (size_t at = 0; at < text.len;) {
        char c = text.data[at];
        size_t end = c == '"' ? skip_string(text, at) : at + 1;
        bool opens = c == '{' || c == '[', closes = (c == '}' || c == ']') && depth > 0;

        if (opens && ++depth == JSON_DEPTH_MAX + 1) {
            copy[n++] = '"'; /* the value has at least two bytes, so the copy is not longer */
            copy[n++] = '"';
            cut = true;
        }
        if (depth <= JSON_DEPTH_MAX) {
            memcpy(copy + n, text.data + at, end - at);
            n += end - at;
        }
        depth -= closes;
        at = end;
    }
    return cut ? str_from(copy, n) : STR_NULL;
}

/* The member or element of a container that holds the value, which may be that itself. Children of
 * a container lie behind it in memory, in order. */
static yyjson_val *child_with(yyjson_val *container, const yyjson_val *value, struct buf *path)
{
    yyjson_val *child, *key;
    size_t i, n;

    if (yyjson_is_arr(container)) {
        yyjson_arr_foreach(container, i, n, child)
        {
            if (value < unsafe_yyjson_get_next(child)) {
                buf_printf(path, "[%zu]", i);
                return child;
            }
        }
        return NULL;
    }
    yyjson_obj_foreach(container, i, n, key, child)
    {
        if (value < unsafe_yyjson_get_next(child)) {
            buf_add_c(path, path->len > 0 ? "." : "");
            buf_add(path, json_str(key));
            return child;
        }
    }
    return NULL;
}

struct str otlp_json_path(struct yyjson_val *root, const struct yyjson_val *value,
                          struct arena *arena)
{
    yyjson_val *at = root;
    BUF_SCOPED(out, KIB(4));

    while (at != NULL && at != value)
        at = child_with(at, value, &out);
    return out.len == 0 ? STR_LIT("the body") : arena_copy(arena, buf_str(&out));
}
