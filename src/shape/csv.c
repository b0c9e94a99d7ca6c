/* csv.c - structs as lines of CSV, by their tables. */
#include "shape/csv.h"

#include <stdlib.h>

#include "base/datetime.h"
#include "shape/json.h"
#include "shape/write.h"

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

static void add_time(struct buf *out, int64_t us)
{
    char text[DATETIME_TEXT_MAX];

    buf_add(out, datetime_format(us, text));
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
    if (shape_member_is_null(field, from))
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
