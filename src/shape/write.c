/* write.c - a struct as JSON and as a line of CSV, by its table. */
#include "shape/shape.h"

#include <math.h>
#include <stdlib.h>

#include "base/datetime.h"
#include "shape/json.h"

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
        /* An empty list is not null unless the row allows null. */
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
    const struct str *text = from;

    if ((field->flags & F_OMIT_EMPTY) != 0 && !str_is_null(*text) && text->len == 0)
        return true;
    if ((field->flags & F_OMIT) == 0)
        return false;
    if (is_list(field->type))
        return ((const struct list *)from)->items == NULL;
    return is_null(field, from);
}

static void add_time(struct buf *out, int64_t us)
{
    char text[DATETIME_TEXT_MAX];

    buf_add(out, datetime_format(us, text));
}

void shape_write_values(const struct list *list, struct buf *out)
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

static void write_item(const struct field *field, const void *item, struct buf *out)
{
    if (field->type == T_LIST)
        shape_write_json(field->nested, item, out);
    else if (field->type == T_POINTS)
        shape_write_values(item, out);
    else
        buf_add_json(out, *(const struct str *)item);
}

/* Items of `size` bytes each. */
static void write_list(const struct field *field, const struct list *list, size_t size,
                       struct buf *out)
{
    const char *items = list->items;

    buf_add_char(out, '[');
    for (size_t i = 0; i < list->n; i++) {
        if (i > 0)
            buf_add_char(out, ',');
        write_item(field, items + i * size, out);
    }
    buf_add_char(out, ']');
}

void shape_write_member(const struct field *field, const void *from, struct buf *out)
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
        buf_add_char(out, '"');
        add_time(out, *(const int64_t *)from);
        buf_add_char(out, '"');
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
        write_list(field, from, sizeof(struct str), out);
        break;
    case T_VALUES:
        shape_write_values(from, out);
        break;
    case T_POINTS:
        write_list(field, from, sizeof(struct list), out);
        break;
    case T_DIGEST: /* never part of a response */
        break;
    case T_SHAPE:
        shape_write_json(field->nested, *(void *const *)from, out);
        break;
    case T_LIST:
        write_list(field, from, field->nested->size, out);
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
            shape_write_member(field, from, out);
    }
    buf_add_char(out, '}');
}

/* With quotes where RFC 4180 requires them. */
static void add_cell(struct buf *out, struct str text, bool is_text)
{
    bool formula =
        is_text && text.len > 0 && text.data[0] != '\0' && strchr("=+-@\t\r", text.data[0]) != NULL;
    bool quotes = false;

    for (size_t i = 0; i < text.len && !quotes; i++) {
        char c = text.data[i];

        quotes = c == ',' || c == '"' || c == '\n' || c == '\r';
    }
    if (quotes)
        buf_add_char(out, '"');
    if (formula)
        buf_add_char(out, '\'');
    if (!quotes) {
        buf_add(out, text);
        return;
    }
    while (!str_is_null(text)) {
        buf_add(out, str_split(&text, '"'));
        if (!str_is_null(text))
            buf_add(out, STR_LIT("\"\""));
    }
    buf_add_char(out, '"');
}

/* A JSON string becomes its text. */
static void add_json(struct buf *out, struct str json)
{
    yyjson_doc *doc;

    if (json.len == 0 || json.data[0] != '"') {
        add_cell(out, json, false);
        return;
    }
    doc = json_read_stored(json);
    if (doc != NULL) {
        yyjson_val *root = yyjson_doc_get_root(doc);

        add_cell(out, str_from(yyjson_get_str(root), yyjson_get_len(root)), true);
    }
    yyjson_doc_free(doc);
}

/* A list or a nested shape is a cell of JSON. */
static void add_nested(struct buf *out, const struct field *field, const void *from)
{
    BUF_SCOPED(text, out->max);

    shape_write_member(field, from, &text);
    add_cell(out, buf_str(&text), false);
}

/* Null is an empty cell. */
static void add_field(struct buf *out, const struct field *field, const void *from)
{
    if (is_null(field, from))
        return;
    switch (field->type) {
    case T_STR:
    case T_UUID:
        add_cell(out, *(const struct str *)from, true);
        break;
    case T_ENUM:
        add_cell(out, str_of(field->choices[*(const int *)from]), true);
        break;
    case T_TIME:
        add_time(out, *(const int64_t *)from);
        break;
    case T_INT:
    case T_OPT_INT:
    case T_BOOL:
    case T_OPT_BOOL:
    case T_NUMBER:
        shape_write_member(field, from, out);
        break;
    case T_JSON:
    case T_OBJECT:
    case T_DICT_STR:
    case T_DICT_NUM:
    case T_LIST_TEXT:
        add_json(out, *(const struct str *)from);
        break;
    default:
        add_nested(out, field, from);
        break;
    }
}

void csv_write_head(const struct shape *shape, struct buf *out)
{
    for (size_t i = 0; i < shape->n_fields; i++) {
        if (i > 0)
            buf_add_char(out, ',');
        buf_add_c(out, shape->fields[i].name);
    }
    buf_add(out, STR_LIT("\r\n"));
}

void csv_write_row(const struct shape *shape, const void *value, struct buf *out)
{
    for (size_t i = 0; i < shape->n_fields; i++) {
        const struct field *field = &shape->fields[i];

        if (i > 0)
            buf_add_char(out, ',');
        add_field(out, field, (const char *)value + field->offset);
    }
    buf_add(out, STR_LIT("\r\n"));
}
