/* check.c - walks a value by its table. */
#include "shape/check.h"

#include <math.h>
#include <stdlib.h>

#include "base/err.h"
#include "shape/json.h"
#include "shape/rule.h"

static check_fn *const checks[] = {
    [T_STR] = check_str,           [T_UUID] = check_uuid,         [T_ENUM] = check_enum,
    [T_TIME] = check_time,         [T_INT] = check_int,           [T_OPT_INT] = check_opt_int,
    [T_BOOL] = check_bool,         [T_OPT_BOOL] = check_opt_bool, [T_NUMBER] = check_number,
    [T_JSON] = check_json,         [T_OBJECT] = check_object,     [T_DICT_STR] = check_dict_str,
    [T_DICT_NUM] = check_dict_num, [T_LIST_STR] = check_list_str, [T_LIST_TEXT] = check_list_text,
    [T_VALUES] = check_values,     [T_POINTS] = check_points,     [T_BY] = check_by,
    [T_SHAPE] = check_shape,       [T_LIST] = check_list,
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

static bool run_rules(const struct reader *r, const struct step *at, const struct shape *shape,
                      void *value)
{
    size_t before = problems_seen(r->problems);
    bool strict = problems_forbid_extra(r->problems);

    problems_set_path(r->problems, at);
    problems_set_strict(r->problems, false); /* what a rule reads is a file inside the body */
    if (shape->row_rules)
        run_row_rules(r, shape, value);
    if (shape->rules != NULL)
        shape->rules(value, r->arena, r->problems);
    problems_set_strict(r->problems, strict);
    problems_set_path(r->problems, NULL);
    return problems_seen(r->problems) == before;
}

/* Is a required member that is missing a problem? A nested object always: those who print it take
 * for granted that there is one. */
static bool is_needed(const struct reader *r, const struct shape *shape, const struct field *field,
                      yyjson_val *const *slots)
{
    size_t i = 0;

    if (!problems_may_miss(r->problems) || field->type == T_SHAPE)
        return true;
    while (i < shape->n_fields && slots[i] == NULL)
        i++;
    return i == shape->n_fields; /* it is another object */
}

bool check_fields(const struct reader *r, const struct step *at, const struct shape *shape,
                  yyjson_val *const *slots, yyjson_val *around, void *ret)
{
    bool good = true;

    memset(ret, 0, shape->size);
    for (size_t i = 0; i < shape->n_fields; i++) {
        const struct field *field = &shape->fields[i];
        const struct step here = { .up = at, .member = field->name };
        void *to = (char *)ret + field->offset;

        if (slots[i] == NULL) {
            if ((field->flags & F_REQUIRED) != 0 && is_needed(r, shape, field, slots))
                good = problems_report(r, &here, &missing, around);
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
static bool check_extra(const struct reader *r, const struct step *at, const struct shape *shape,
                        yyjson_val *object)
{
    static const struct complaint extra = { "extra_forbidden", "Extra inputs are not permitted" };
    size_t n = unsafe_yyjson_get_len(object);
    yyjson_val *name = unsafe_yyjson_get_first(object);
    bool good = true;

    for (size_t i = 0; i < n; i++) {
        const struct step here = { .up = at, .name = json_str(name) };
        bool known = false;

        for (size_t f = 0; f < shape->n_fields && !known; f++)
            known = str_eq_c(here.name, shape->fields[f].name);
        if (!known)
            good = problems_report(r, &here, &extra, name + 1);
        name = unsafe_yyjson_get_next(name + 1);
    }
    return good;
}

static bool check_struct(const struct reader *r, const struct step *at, const struct shape *shape,
                         yyjson_val *value, void *ret)
{
    static const struct complaint not_an_object = {
        "model_attributes_type",
        "Input should be a valid dictionary or object to extract fields from"
    };
    yyjson_val *slots[CHECK_FIELDS_MAX];
    bool good;

    if (!unsafe_yyjson_is_obj(value))
        return problems_report(r, at, &not_an_object, value);
    find_members(shape, value, slots);
    good = check_fields(r, at, shape, slots, value, ret);
    return problems_forbid_extra(r->problems) ? check_extra(r, at, shape, value) && good : good;
}

bool check_shape(const struct reader *r, const struct step *at, const struct field *field,
                 yyjson_val *value, void *to)
{
    void *nested = arena_alloc(r->arena, field->nested->size);

    *(void **)to = nested;
    return check_struct(r, at, field->nested, value, nested);
}

/* Memory grows with the number of good elements, not with the length that a client sends. */
bool check_list(const struct reader *r, const struct step *at, const struct field *field,
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
        const struct step here = { .up = at, .index = i };

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
        problems_hide_input(problems);
    if (body.len == 0) {
        problems_report(&r, NULL, &missing, &null);
        return -1;
    }
    if (json_read(body, arena, &doc, &fault) != 0) {
        problems_report_json(&r, fault.at, fault.error);
        return -1;
    }
    if (unsafe_yyjson_is_null(doc.root)) { /* the contract treats null as no body */
        problems_report(&r, NULL, &missing, &null);
        return -1;
    }
    r.plain = doc.plain;
    r.bignums = doc.bignums;
    return check_struct(&r, NULL, shape, doc.root, ret) ? 0 : -1;
}
