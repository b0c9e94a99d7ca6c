/* write.c - a struct as JSON, by its table. */
#include <math.h>

#include "base/datetime.h"
#include "shape/json_write.h"
#include "shape/shape.h"

static bool is_null(const struct field *field, const void *from)
{
    const struct list *list = from;

    switch (field->type) {
    case T_STR:
    case T_UUID:
    case T_JSON:
    case T_OBJECT:
    case T_DICT_STR:
    case T_DICT_NUM:
    case T_LIST_TEXT:
        return str_is_null(*(const struct str *)from);
    case T_ENUM:
        return *(const int *)from < 0;
    case T_TIME:
        return *(const int64_t *)from == TIME_NULL;
    case T_OPT_INT:
        return !((const struct opt_int *)from)->has;
    case T_OPT_BOOL:
        return !((const struct opt_bool *)from)->has;
    case T_NUMBER:
        return !isfinite(*(const double *)from);
    case T_SHAPE:
        return *(void *const *)from == NULL;
    case T_LIST_STR:
    case T_VALUES:
    case T_POINTS:
    case T_BY:
    case T_LIST:
        /* An empty list is a list, unless the row lets it be nothing. */
        return list->n == 0 && list->items == NULL && (field->flags & F_NULL) != 0;
    default:
        return false;
    }
}

static bool is_list(enum field_type type)
{
    return type == T_LIST_STR || type == T_VALUES || type == T_POINTS || type == T_BY ||
           type == T_LIST;
}

static bool is_left_out(const struct field *field, const void *from)
{
    if ((field->flags & F_OMIT) == 0)
        return false;
    if (is_list(field->type))
        return ((const struct list *)from)->items == NULL;
    return is_null(field, from);
}

static void write_time(int64_t us, struct buf *out)
{
    char text[DATETIME_TEXT_MAX];

    buf_add_char(out, '"');
    buf_add(out, datetime_format(us, text));
    buf_add_char(out, '"');
}

static void write_strings(const struct list *list, struct buf *out)
{
    const struct str *strings = list->items;

    buf_add_char(out, '[');
    for (size_t i = 0; i < list->n; i++) {
        if (i > 0)
            buf_add_char(out, ',');
        buf_add_json(out, strings[i]);
    }
    buf_add_char(out, ']');
}

static void write_values(const struct list *list, struct buf *out)
{
    const struct named_value *values = list->items;

    buf_add_char(out, '{');
    for (size_t i = 0; i < list->n; i++) {
        if (i > 0)
            buf_add_char(out, ',');
        buf_add_json(out, values[i].name);
        buf_add_char(out, ':');
        if (values[i].kind == VALUE_INT)
            buf_add_int(out, values[i].integer);
        else if (values[i].kind == VALUE_REAL)
            json_add_real(out, values[i].real);
        else
            buf_add_json(out, values[i].string);
    }
    buf_add_char(out, '}');
}

static void write_points(const struct list *list, struct buf *out)
{
    const struct list *points = list->items;

    buf_add_char(out, '[');
    for (size_t i = 0; i < list->n; i++) {
        if (i > 0)
            buf_add_char(out, ',');
        write_values(&points[i], out);
    }
    buf_add_char(out, ']');
}

static void write_shapes(const struct shape *shape, const struct list *list, struct buf *out)
{
    const char *items = list->items;

    buf_add_char(out, '[');
    for (size_t i = 0; i < list->n; i++) {
        if (i > 0)
            buf_add_char(out, ',');
        shape_write_json(shape, items + i * shape->size, out);
    }
    buf_add_char(out, ']');
}

/* Of what is not null. */
static void write_value(const struct field *field, const void *from, struct buf *out)
{
    switch (field->type) {
    case T_STR:
    case T_UUID:
        buf_add_json(out, *(const struct str *)from);
        break;
    case T_ENUM:
        buf_add_json(out, str_of(field->choices[*(const int *)from]));
        break;
    case T_TIME:
        write_time(*(const int64_t *)from, out);
        break;
    case T_INT:
        buf_add_int(out, *(const int64_t *)from);
        break;
    case T_OPT_INT:
        buf_add_int(out, ((const struct opt_int *)from)->value);
        break;
    case T_BOOL:
        buf_add_c(out, *(const bool *)from ? "true" : "false");
        break;
    case T_OPT_BOOL:
        buf_add_c(out, ((const struct opt_bool *)from)->value ? "true" : "false");
        break;
    case T_NUMBER:
        json_add_real(out, *(const double *)from);
        break;
    case T_JSON:
    case T_OBJECT:
    case T_DICT_STR:
    case T_DICT_NUM:
    case T_LIST_TEXT:
        buf_add(out, *(const struct str *)from);
        break;
    case T_LIST_STR:
    case T_BY:
        write_strings(from, out);
        break;
    case T_VALUES:
        write_values(from, out);
        break;
    case T_POINTS:
        write_points(from, out);
        break;
    case T_SHAPE:
        shape_write_json(field->nested, *(void *const *)from, out);
        break;
    case T_LIST:
        write_shapes(field->nested, from, out);
        break;
    }
}

void shape_write_json(const struct shape *shape, const void *value, struct buf *out)
{
    bool first = true;

    buf_add_char(out, '{');
    for (size_t i = 0; i < shape->n_fields; i++) {
        const struct field *field = &shape->fields[i];
        const void *from = (const char *)value + field->offset;

        if (is_left_out(field, from))
            continue;
        if (!first)
            buf_add_char(out, ',');
        first = false;
        buf_add_json(out, str_of(field->name));
        buf_add_char(out, ':');
        if (is_null(field, from))
            buf_add_c(out, "null");
        else
            write_value(field, from, out);
    }
    buf_add_char(out, '}');
}
