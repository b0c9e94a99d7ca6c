/* check.c - walks a value by its table; objects and arrays without a shape of their own. */
#include "shape/check.h"

#include <math.h>
#include <stdlib.h>

#include "base/err.h"
#include "shape/json.h"

static const struct complaint dict_type = { "dict_type", "Input should be a valid dictionary" };
static const struct complaint list_type = { "list_type", "Input should be a valid list" };

static bool is_dict(const struct reader *r, const struct path_step *at, yyjson_val *value)
{
    return unsafe_yyjson_is_obj(value) || problems_report(r->problems, at, &dict_type, value);
}

static bool refuse_length(const struct reader *r, const struct path_step *at, const char *kind,
                          uint32_t max, yyjson_val *value)
{
    size_t n = unsafe_yyjson_get_len(value);
    const char *msg =
        arena_printf(r->arena, "%s should have at most %u item%s after validation, not %zu", kind,
                     max, max == 1 ? "" : "s", n)
            .data;

    return problems_report_ctx(
        r->problems, at, (struct complaint){ "too_long", msg }, value,
        arena_printf(r->arena, "{\"field_type\":\"%s\",\"max_length\":%u,\"actual_length\":%zu}",
                     kind, max, n));
}

static bool is_too_long(uint32_t max, yyjson_val *value)
{
    return max > 0 && unsafe_yyjson_get_len(value) > max;
}

/* The length comes first: the items of an array that is too long are not checked. */
static bool check_is_list(const struct reader *r, const struct path_step *at,
                          const struct field *field, yyjson_val *value)
{
    if (!unsafe_yyjson_is_arr(value))
        return problems_report(r->problems, at, &list_type, value);
    return !is_too_long(field->max, value) || refuse_length(r, at, "List", field->max, value);
}

static bool check_name(const struct reader *r, const struct path_step *entry)
{
    struct path_step key = { .up = entry, .member = "[key]" };

    return LIKELY(!check_has_nul(r, entry->name)) || check_report_nul(r, &key);
}

/* Checks one value of a container; stores nothing. */
typedef bool entry_fn(const struct reader *r, const struct path_step *at, yyjson_val *value);

static bool check_entries(const struct reader *r, const struct path_step *at, yyjson_val *object,
                          entry_fn *check)
{
    size_t n = unsafe_yyjson_get_len(object);
    yyjson_val *name = unsafe_yyjson_get_first(object);
    bool good = true;

    for (size_t i = 0; i < n; i++) {
        struct path_step entry = { .up = at, .name = json_str(name) };

        good &= check_name(r, &entry);
        good &= check(r, &entry, name + 1);
        name = unsafe_yyjson_get_next(name + 1);
    }
    return good;
}

static bool check_items(const struct reader *r, const struct path_step *at, yyjson_val *array,
                        entry_fn *check)
{
    size_t n = unsafe_yyjson_get_len(array);
    yyjson_val *item = unsafe_yyjson_get_first(array);
    bool good = true;

    for (size_t i = 0; i < n; i++) {
        struct path_step here = { .up = at, .index = i };

        good &= check(r, &here, item);
        item = unsafe_yyjson_get_next(item);
    }
    return good;
}

static bool is_text(const struct reader *r, const struct path_step *at, yyjson_val *value)
{
    struct str unused;

    return check_text(r, at, value, &unused);
}

static bool is_number(const struct reader *r, const struct path_step *at, yyjson_val *value)
{
    double unused;

    return check_real(r, at, value, &unused);
}

/* Free content: anything but NUL and numbers that are not finite, at any depth. */
static bool is_storable(const struct reader *r, const struct path_step *at, yyjson_val *value)
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

    *ret = json_write_text(value, r->arena);
    return true;
}

static bool check_json(const struct reader *r, const struct path_step *at,
                       const struct field *field, yyjson_val *value, void *to)
{
    (void)field;
    if ((!r->plain || r->bignums) && !is_storable(r, at, value))
        return false;
    return keep_text(r, value, to);
}

static bool check_object(const struct reader *r, const struct path_step *at,
                         const struct field *field, yyjson_val *value, void *to)
{
    return is_dict(r, at, value) && check_json(r, at, field, value, to);
}

/* The strings of an array already checked. */
static bool keep_strings(const struct reader *r, yyjson_val *array, void *to)
{
    size_t n = unsafe_yyjson_get_len(array);
    yyjson_val *item = unsafe_yyjson_get_first(array);
    struct str *strings = arena_alloc(r->arena, n * sizeof(*strings));

    for (size_t i = 0; i < n; i++)
        strings[i] = json_str(item++); /* strings are adjacent */
    *(struct list *)to = (struct list){ strings, n };
    return true;
}

/* A value that fits no member of a union gets the problem of each member. */
static void report_value(const struct reader *r, const struct path_step *at, yyjson_val *value)
{
    int64_t unused;

    (void)is_number(r, &(struct path_step){ .up = at, .member = "float" }, value);
    (void)check_integer(r, &(struct path_step){ .up = at, .member = "int" }, value, &unused);
    (void)is_text(r, &(struct path_step){ .up = at, .member = "str" }, value);
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

static bool is_value(const struct reader *r, const struct path_step *at, yyjson_val *value)
{
    struct named_value unused;

    if (LIKELY(read_value(r, value, &unused)))
        return true;
    report_value(r, at, value);
    return false;
}

/* The entries of an object already checked. */
static bool keep_values(const struct reader *r, yyjson_val *object, void *to)
{
    size_t n = unsafe_yyjson_get_len(object);
    yyjson_val *name = unsafe_yyjson_get_first(object);
    struct named_value *values = ARENA_ARRAY(r->arena, struct named_value, n);

    for (size_t i = 0; i < n; i++) {
        values[i].name = json_str(name);
        (void)read_value(r, name + 1, &values[i]);
        name += 2; /* scalars are adjacent */
    }
    *(struct list *)to = (struct list){ values, n };
    return true;
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

static bool is_point(const struct reader *r, const struct path_step *at, yyjson_val *value)
{
    return is_dict(r, at, value) && check_entries(r, at, value, is_value);
}

static bool keep_points(const struct reader *r, yyjson_val *array, void *to)
{
    size_t n = unsafe_yyjson_get_len(array);
    yyjson_val *item = unsafe_yyjson_get_first(array);
    struct list *points = arena_alloc(r->arena, n * sizeof(*points));

    for (size_t i = 0; i < n; i++) {
        (void)keep_values(r, item, &points[i]);
        item = unsafe_yyjson_get_next(item);
    }
    *(struct list *)to = (struct list){ points, n };
    return true;
}

/* Objects and arrays without a shape: how their entries are checked, and then stored. The length of
 * a dictionary comes last: bad entries hide that it is too long. */
static const struct container {
    bool is_dict;
    entry_fn *check;
    bool (*keep)(const struct reader *r, yyjson_val *value, void *to);
} containers[] = {
    [T_DICT_STR] = { true, is_text, keep_text },     [T_DICT_NUM] = { true, is_number, keep_text },
    [T_LIST_STR] = { false, is_text, keep_strings }, [T_LIST_TEXT] = { false, is_text, keep_text },
    [T_VALUES] = { true, is_value, keep_values },    [T_POINTS] = { false, is_point, keep_points },
};

static bool check_container(const struct reader *r, const struct path_step *at,
                            const struct field *field, yyjson_val *value, void *to)
{
    const struct container *c = &containers[field->type];

    if (c->is_dict ? !is_dict(r, at, value) || !check_entries(r, at, value, c->check) ||
                         (is_too_long(field->max, value) &&
                          !refuse_length(r, at, "Dictionary", field->max, value))
                   : !check_is_list(r, at, field, value) || !check_items(r, at, value, c->check))
        return false;
    return c->keep(r, value, to);
}

static bool check_by(const struct reader *r, const struct path_step *at, const struct field *field,
                     yyjson_val *value, void *to)
{
    const struct path_step as_str = { .up = at, .member = "str" };
    const struct path_step as_list = { .up = at, .member = "list[str]" };
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

static check_fn check_shape;

static check_fn *const checks[] = {
    [T_STR] = check_str,
    [T_UUID] = check_uuid,
    [T_ENUM] = check_enum,
    [T_TIME] = check_time,
    [T_INT] = check_int,
    [T_OPT_INT] = check_opt_int,
    [T_BOOL] = check_bool,
    [T_OPT_BOOL] = check_opt_bool,
    [T_NUMBER] = check_number,
    [T_JSON] = check_json,
    [T_OBJECT] = check_object,
    [T_DICT_STR] = check_container,
    [T_DICT_NUM] = check_container,
    [T_LIST_STR] = check_container,
    [T_LIST_TEXT] = check_container,
    [T_VALUES] = check_container,
    [T_POINTS] = check_container,
    [T_BY] = check_by,
    [T_SHAPE] = check_shape,
    [T_LIST] = check_list,
};

/* For all other types null is all zero, which the struct already is. */
static void set_null(const struct field *field, void *to)
{
    if (field->type == T_TIME)
        *(int64_t *)to = TIME_NULL;
    else if (field->type == T_ENUM)
        *(int *)to = -1;
    else if (field->type == T_NUMBER)
        *(double *)to = NAN;
}

static void set_default_integer(const struct field *field, void *to)
{
    int64_t value;

    if (!str_to_int(str_of(field->absent), &value))
        err_die("shape: the default of '%s' is not an integer", field->name);
    if (field->type == T_INT)
        *(int64_t *)to = value;
    else
        *(struct opt_int *)to = (struct opt_int){ .has = true, .value = value };
}

static int choice_of(const struct field *field, struct str name)
{
    for (int i = 0; field->choices[i] != NULL; i++) {
        if (str_eq_c(name, field->choices[i]))
            return i;
    }
    err_die("shape: the default of '%s' is not one of its choices", field->name);
}

static void set_default(const struct field *field, void *to)
{
    struct str text = str_of(field->absent);
    struct str inside = text.len < 2 ? text : str_from(text.data + 1, text.len - 2);

    switch (field->type) {
    case T_STR:
    case T_UUID:
        *(struct str *)to = inside;
        break;
    case T_INT:
    case T_OPT_INT:
        set_default_integer(field, to);
        break;
    case T_ENUM:
        *(int *)to = choice_of(field, inside);
        break;
    case T_BOOL:
        *(bool *)to = text.data[0] == 't';
        break;
    case T_OPT_BOOL:
        *(struct opt_bool *)to = (struct opt_bool){ true, text.data[0] == 't' };
        break;
    case T_NUMBER:
        *(double *)to = strtod(text.data, NULL);
        break;
    case T_JSON:
    case T_OBJECT:
    case T_DICT_STR:
    case T_DICT_NUM:
    case T_LIST_TEXT:
        *(struct str *)to = text;
        break;
    default: /* lists start empty; times and nested shapes have no default except null */
        break;
    }
}

static const struct complaint missing = { "missing", "Field required" };

static bool takes_null(const struct field *field)
{
    return (field->flags & F_NULL) != 0 || field->type == T_OPT_INT || field->type == T_OPT_BOOL;
}

static void run_row_rules(const struct reader *r, const struct shape *shape, void *value)
{
    for (size_t i = 0; i < shape->n_fields; i++) {
        const struct field *field = &shape->fields[i];
        void *at = (char *)value + field->offset;
        struct str *text = at;
        const char *sentence =
            field->rule == NULL || str_is_null(*text) ? NULL : field->rule(text, r->arena);

        if (sentence != NULL)
            rule_refuse_text(r->problems, r->arena, field->name, *text, sentence);
    }
}

static bool run_rules(const struct reader *r, const struct path_step *at, const struct shape *shape,
                      void *value)
{
    size_t before = r->problems->seen;
    bool strict = r->problems->strict;

    r->problems->at = at;
    r->problems->strict = false; /* what a rule reads is a file inside the body */
    if (shape->row_rules)
        run_row_rules(r, shape, value);
    if (shape->rules != NULL)
        shape->rules(value, r->arena, r->problems);
    r->problems->strict = strict;
    r->problems->at = NULL;
    return r->problems->seen == before;
}

/* Is a required member that is missing a problem? A nested object always: those who print it take
 * for granted that there is one. */
static bool is_needed(const struct reader *r, const struct shape *shape, const struct field *field,
                      yyjson_val *const *slots)
{
    size_t i = 0;

    if (!r->problems->may_miss || field->type == T_SHAPE)
        return true;
    while (i < shape->n_fields && slots[i] == NULL)
        i++;
    return i == shape->n_fields; /* it is another object */
}

bool check_fields(const struct reader *r, const struct path_step *at, const struct shape *shape,
                  yyjson_val *const *slots, yyjson_val *around, void *ret)
{
    bool good = true;

    memset(ret, 0, shape->size);
    for (size_t i = 0; i < shape->n_fields; i++) {
        const struct field *field = &shape->fields[i];
        const struct path_step here = { .up = at, .member = field->name };
        void *to = (char *)ret + field->offset;

        if (slots[i] == NULL) {
            if ((field->flags & F_REQUIRED) != 0 && is_needed(r, shape, field, slots))
                good = problems_report(r->problems, &here, &missing, around);
            else if (field->absent == NULL)
                set_null(field, to);
            else
                set_default(field, to);
        } else if (unsafe_yyjson_is_null(slots[i]) && takes_null(field)) {
            set_null(field, to);
        } else {
            good &= checks[field->type](r, &here, field, slots[i], to);
        }
    }
    return good && ((shape->rules == NULL && !shape->row_rules) || run_rules(r, at, shape, ret));
}

static bool is_named(const struct field *field, struct str name)
{
    return field->name[0] == name.data[0] && str_eq_c(name, field->name);
}

/* The value of each field; fastest when members arrive in the order of the table. */
static void find_members(const struct shape *shape, yyjson_val *object, yyjson_val **slots)
{
    size_t n = unsafe_yyjson_get_len(object), next = 0;
    yyjson_val *name = unsafe_yyjson_get_first(object);

    if (shape->n_fields > CHECK_FIELDS_MAX)
        err_die("shape: '%s' has too many fields", shape->name);
    for (size_t i = 0; i < shape->n_fields; i++)
        slots[i] = NULL;
    for (size_t i = 0; i < n; i++) {
        struct str s = json_str(name);

        for (size_t tried = 0; tried < shape->n_fields && s.len > 0; tried++) {
            size_t at = next;

            next = next + 1 < shape->n_fields ? next + 1 : 0;
            if (is_named(&shape->fields[at], s)) {
                slots[at] = name + 1;
                break;
            }
        }
        name = unsafe_yyjson_get_next(name + 1);
    }
}

/* Refuses members that the shape does not have. */
static bool check_extra(const struct reader *r, const struct path_step *at,
                        const struct shape *shape, yyjson_val *object)
{
    static const struct complaint extra = { "extra_forbidden", "Extra inputs are not permitted" };
    size_t n = unsafe_yyjson_get_len(object);
    yyjson_val *name = unsafe_yyjson_get_first(object);
    bool good = true;

    for (size_t i = 0; i < n; i++) {
        const struct path_step here = { .up = at, .name = json_str(name) };
        bool known = false;

        for (size_t f = 0; f < shape->n_fields && !known; f++)
            known = str_eq_c(here.name, shape->fields[f].name);
        if (!known)
            good = problems_report(r->problems, &here, &extra, name + 1);
        name = unsafe_yyjson_get_next(name + 1);
    }
    return good;
}

static bool check_struct(const struct reader *r, const struct path_step *at,
                         const struct shape *shape, yyjson_val *value, void *ret)
{
    static const struct complaint not_an_object = {
        "model_attributes_type",
        "Input should be a valid dictionary or object to extract fields from"
    };
    yyjson_val *slots[CHECK_FIELDS_MAX];
    bool good;

    if (!unsafe_yyjson_is_obj(value))
        return problems_report(r->problems, at, &not_an_object, value);
    find_members(shape, value, slots);
    good = check_fields(r, at, shape, slots, value, ret);
    return r->problems->strict ? check_extra(r, at, shape, value) && good : good;
}

static bool check_shape(const struct reader *r, const struct path_step *at,
                        const struct field *field, yyjson_val *value, void *to)
{
    void *nested = arena_alloc(r->arena, field->nested->size);

    *(void **)to = nested;
    return check_struct(r, at, field->nested, value, nested);
}

/* Memory grows with the number of good elements, not with the length that a client sends. */
bool check_list(const struct reader *r, const struct path_step *at, const struct field *field,
                yyjson_val *value, void *to)
{
    enum { FIRST = 64 };
    size_t size = field->nested->size, n, capacity, kept = 0;
    yyjson_val *item = unsafe_yyjson_get_first(value);
    struct list *ret = to;
    char *items;

    if (!check_is_list(r, at, field, value))
        return false;
    n = unsafe_yyjson_get_len(value);
    if (problems_refuse_list(r->problems, at, n))
        return false;
    capacity = n < FIRST ? n : FIRST;
    items = arena_alloc(r->arena, capacity * size);
    for (size_t i = 0; i < n; i++) {
        const struct path_step here = { .up = at, .index = i };

        if (kept == capacity) {
            items = arena_resize(r->arena, items, capacity * size, capacity * 2 * size);
            capacity *= 2;
        }
        /* After a bad element the rest is checked but not kept. */
        if (check_struct(r, &here, field->nested, item, items + kept * size) && kept == i)
            kept++;
        item = unsafe_yyjson_get_next(item);
    }
    *ret = (struct list){ items, kept };
    return kept == n;
}

int shape_read_json(const struct shape *shape, struct str body, struct arena *arena, void *ret,
                    struct problems *problems)
{
    struct reader r = { .arena = arena, .problems = problems };
    struct yyjson_val null = { .tag = YYJSON_TYPE_NULL };
    struct json_fault fault;
    struct json_doc doc;

    if (shape->secret)
        problems->hides_input = true;
    if (body.len == 0) {
        problems_report(problems, NULL, &missing, &null);
        return -1;
    }
    if (json_read(body, arena, &doc, &fault) != 0) {
        problems_report_json(problems, fault.at, fault.error);
        return -1;
    }
    if (unsafe_yyjson_is_null(doc.root)) { /* the contract treats null as no body */
        problems_report(problems, NULL, &missing, &null);
        return -1;
    }
    r.plain = doc.plain;
    r.bignums = doc.bignums;
    return check_struct(&r, NULL, shape, doc.root, ret) ? 0 : -1;
}
