/* check_object.c - objects and arrays without a shape of their own: dictionaries, lists of strings,
 * business values and free objects. */
#include "base/err.h"
#include "shape/check.h"
#include "shape/json.h"
#include "shape/json_write.h"

static const struct complaint dict_type = { "dict_type", "Input should be a valid dictionary" };
static const struct complaint list_type = { "list_type", "Input should be a valid list" };

static bool is_dict(const struct reader *r, const struct step *at, yyjson_val *value)
{
    return unsafe_yyjson_is_obj(value) || problems_report(r, at, &dict_type, value);
}

static bool refuse_length(const struct reader *r, const struct step *at, const char *kind,
                          uint32_t max, yyjson_val *value)
{
    size_t n = unsafe_yyjson_get_len(value);
    const char *msg =
        arena_printf(r->arena, "%s should have at most %u item%s after validation, not %zu", kind,
                     max, max == 1 ? "" : "s", n)
            .data;

    return problems_report_ctx(
        r, at, (struct complaint){ "too_long", msg }, value,
        arena_printf(r->arena, "{\"field_type\":\"%s\",\"max_length\":%u,\"actual_length\":%zu}",
                     kind, max, n));
}

static bool is_too_long(uint32_t max, yyjson_val *value)
{
    return max > 0 && unsafe_yyjson_get_len(value) > max;
}

/* The length comes last: bad entries of a dictionary hide that it is too long. */
static bool dict_length(const struct reader *r, const struct step *at, uint32_t max,
                        yyjson_val *value)
{
    return !is_too_long(max, value) || refuse_length(r, at, "Dictionary", max, value);
}

/* The length comes first: the items of an array that is too long are not checked. */
bool check_is_list(const struct reader *r, const struct step *at, const struct field *field,
                   yyjson_val *value)
{
    if (!unsafe_yyjson_is_arr(value))
        return problems_report(r, at, &list_type, value);
    return !is_too_long(field->max, value) || refuse_length(r, at, "List", field->max, value);
}

static bool check_name(const struct reader *r, const struct step *entry)
{
    struct step key = { .up = entry, .member = "[key]" };

    return LIKELY(!check_has_nul(r, entry->name)) || check_report_nul(r, &key);
}

/* Checks one value of a container; stores nothing. */
typedef bool entry_fn(const struct reader *r, const struct step *at, yyjson_val *value);

static bool check_entries(const struct reader *r, const struct step *at, yyjson_val *object,
                          entry_fn *check)
{
    size_t n = unsafe_yyjson_get_len(object);
    yyjson_val *name = unsafe_yyjson_get_first(object);
    bool good = true;

    for (size_t i = 0; i < n; i++) {
        struct step entry = { .up = at, .name = json_str(name) };

        good &= check_name(r, &entry);
        good &= check(r, &entry, name + 1);
        name = unsafe_yyjson_get_next(name + 1);
    }
    return good;
}

static bool check_items(const struct reader *r, const struct step *at, yyjson_val *array,
                        entry_fn *check)
{
    size_t n = unsafe_yyjson_get_len(array);
    yyjson_val *item = unsafe_yyjson_get_first(array);
    bool good = true;

    for (size_t i = 0; i < n; i++) {
        struct step here = { .up = at, .index = i };

        good &= check(r, &here, item);
        item = unsafe_yyjson_get_next(item);
    }
    return good;
}

static bool is_text(const struct reader *r, const struct step *at, yyjson_val *value)
{
    struct str unused;

    return check_text(r, at, value, &unused);
}

static bool is_number(const struct reader *r, const struct step *at, yyjson_val *value)
{
    double unused;

    return check_real(r, at, value, &unused);
}

/* Free content: anything but NUL and numbers that are not finite, at any depth. */
static bool is_storable(const struct reader *r, const struct step *at, yyjson_val *value)
{
    if (unsafe_yyjson_is_obj(value))
        return check_entries(r, at, value, is_storable);
    if (unsafe_yyjson_is_arr(value))
        return check_items(r, at, value, is_storable);
    if (unsafe_yyjson_is_str(value))
        return is_text(r, at, value);
    return !json_is_raw_real(value) || is_number(r, at, value);
}

static bool keep_text(const struct reader *r, yyjson_val *value, void *to)
{
    struct str *ret = to;

    *ret = json_write_text(value, r->plain, r->arena);
    return true;
}

bool check_json(const struct reader *r, const struct step *at, const struct field *field,
                yyjson_val *value, void *to)
{
    (void)field;
    if ((!r->plain || r->bignums) && !is_storable(r, at, value))
        return false;
    return keep_text(r, value, to);
}

bool check_object(const struct reader *r, const struct step *at, const struct field *field,
                  yyjson_val *value, void *to)
{
    return is_dict(r, at, value) && check_json(r, at, field, value, to);
}

static bool check_dict(const struct reader *r, const struct step *at, const struct field *field,
                       yyjson_val *value, entry_fn *check)
{
    return is_dict(r, at, value) && check_entries(r, at, value, check) &&
           dict_length(r, at, field->max, value);
}

bool check_dict_str(const struct reader *r, const struct step *at, const struct field *field,
                    yyjson_val *value, void *to)
{
    return check_dict(r, at, field, value, is_text) && keep_text(r, value, to);
}

bool check_dict_num(const struct reader *r, const struct step *at, const struct field *field,
                    yyjson_val *value, void *to)
{
    return check_dict(r, at, field, value, is_number) && keep_text(r, value, to);
}

/* The strings of an array already checked. */
static bool keep_strings(const struct reader *r, yyjson_val *array, struct list *ret)
{
    size_t n = unsafe_yyjson_get_len(array);
    yyjson_val *item = unsafe_yyjson_get_first(array);
    struct str *strings = arena_alloc(r->arena, n * sizeof(*strings));

    for (size_t i = 0; i < n; i++)
        strings[i] = json_str(item++); /* strings are adjacent */
    *ret = (struct list){ strings, n };
    return true;
}

bool check_list_str(const struct reader *r, const struct step *at, const struct field *field,
                    yyjson_val *value, void *to)
{
    return check_is_list(r, at, field, value) && check_items(r, at, value, is_text) &&
           keep_strings(r, value, to);
}

bool check_list_text(const struct reader *r, const struct step *at, const struct field *field,
                     yyjson_val *value, void *to)
{
    return check_is_list(r, at, field, value) && check_items(r, at, value, is_text) &&
           keep_text(r, value, to);
}

/* A value that fits no member of a union gets the problem of each member. */
static void report_value(const struct reader *r, const struct step *at, yyjson_val *value)
{
    int64_t unused;

    (void)is_number(r, &(struct step){ .up = at, .member = "float" }, value);
    (void)check_integer(r, &(struct step){ .up = at, .member = "int" }, value, &unused);
    (void)is_text(r, &(struct step){ .up = at, .member = "str" }, value);
}

/* False, silently, when `value` is no number, integer or string. */
static bool read_value(const struct reader *r, yyjson_val *value, struct named_value *ret)
{
    if (unsafe_yyjson_is_str(value)) {
        ret->kind = VALUE_STR;
        ret->string = json_str(value);
        return !check_has_nul(r, ret->string);
    }
    ret->kind = VALUE_REAL;
    if (unsafe_yyjson_is_raw(value)) { /* an integer beyond 64 bits is a real, if one can hold it */
        ret->real = json_raw_to_real(value);
        return !json_is_raw_real(value) && __builtin_isfinite(ret->real);
    }
    if (!unsafe_yyjson_is_num(value))
        return false;
    ret->real = unsafe_yyjson_get_num(value);
    if (unsafe_yyjson_is_int(value)) {
        ret->integer = unsafe_yyjson_get_sint(value);
        if (!unsafe_yyjson_is_uint(value) || ret->integer >= 0)
            ret->kind = VALUE_INT;
    }
    return true;
}

static bool is_value(const struct reader *r, const struct step *at, yyjson_val *value)
{
    struct named_value unused;

    if (LIKELY(read_value(r, value, &unused)))
        return true;
    report_value(r, at, value);
    return false;
}

/* The entries of an object already checked. */
static bool keep_values(const struct reader *r, yyjson_val *object, struct list *ret)
{
    size_t n = unsafe_yyjson_get_len(object);
    yyjson_val *name = unsafe_yyjson_get_first(object);
    struct named_value *values = ARENA_ARRAY(r->arena, struct named_value, n);

    for (size_t i = 0; i < n; i++) {
        values[i].name = json_str(name);
        (void)read_value(r, name + 1, &values[i]);
        name += 2; /* scalars are adjacent */
    }
    *ret = (struct list){ values, n };
    return true;
}

bool check_values(const struct reader *r, const struct step *at, const struct field *field,
                  yyjson_val *value, void *to)
{
    return check_dict(r, at, field, value, is_value) && keep_values(r, value, to);
}

struct list shape_parse_values(struct str object, struct arena *arena)
{
    const struct reader r = { .arena = arena };
    struct json_fault fault;
    struct json_doc doc;
    struct list ret;

    if (json_read(object, arena, &doc, &fault) != 0 || !unsafe_yyjson_is_obj(doc.root))
        err_die("shape: a stored dictionary is not a JSON object");
    (void)keep_values(&r, doc.root, &ret);
    return ret;
}

static bool is_point(const struct reader *r, const struct step *at, yyjson_val *value)
{
    return is_dict(r, at, value) && check_entries(r, at, value, is_value);
}

bool check_points(const struct reader *r, const struct step *at, const struct field *field,
                  yyjson_val *value, void *to)
{
    size_t n = unsafe_yyjson_get_len(value);
    struct list *ret = to, *points;
    yyjson_val *item = unsafe_yyjson_get_first(value);

    if (!check_is_list(r, at, field, value) || !check_items(r, at, value, is_point))
        return false;
    points = arena_alloc(r->arena, n * sizeof(*points));
    for (size_t i = 0; i < n; i++) {
        (void)keep_values(r, item, &points[i]);
        item = unsafe_yyjson_get_next(item);
    }
    *ret = (struct list){ points, n };
    return true;
}

bool check_by(const struct reader *r, const struct step *at, const struct field *field,
              yyjson_val *value, void *to)
{
    const struct step as_str = { .up = at, .member = "str" };
    const struct step as_list = { .up = at, .member = "list[str]" };
    struct str *one = arena_alloc(r->arena, sizeof(*one));
    struct list *ret = to;

    if (unsafe_yyjson_is_str(value) && !check_has_nul(r, json_str(value))) {
        *one = json_str(value);
        *ret = (struct list){ one, 1 };
        return true;
    }
    if (unsafe_yyjson_is_arr(value)) {
        size_t n = unsafe_yyjson_get_len(value);
        yyjson_val *item = unsafe_yyjson_get_first(value);
        bool good = !is_too_long(field->max, value);

        for (size_t i = 0; i < n && good; i++, item = unsafe_yyjson_get_next(item))
            good = unsafe_yyjson_is_str(item) && !check_has_nul(r, json_str(item));
        if (good)
            return keep_strings(r, value, ret);
    }
    (void)check_text(r, &as_str, value, one);
    if (check_is_list(r, &as_list, field, value))
        (void)check_items(r, &as_list, value, is_text);
    return false;
}
