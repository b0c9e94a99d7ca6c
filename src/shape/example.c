/* example.c - a complete example of a shape: what its EXAMPLE() says, and what follows from it.
 *
 * A shape's table states what only people know, such as names and numbers. Everything that has an
 * obvious value is derived here, so that an example stays short and never lacks a new member.
 */
#include <string.h>

#include "base/err.h"
#include "shape/json.h"
#include "shape/json_write.h"
#include "shape/schema.h"

/* Of members whose value the example does not state. */
static const char *const derived[] = {
    [T_UUID] = "\"0b8f7a52-4c1e-4f0a-9d53-6a2e8c1f7b90\"",
    [T_TIME] = "\"2026-01-15T09:30:00Z\"",
    [T_BOOL] = "false",
    [T_OPT_BOOL] = "false",
    [T_OBJECT] = "{}",
    [T_DICT_STR] = "{}",
    [T_DICT_NUM] = "{}",
    [T_LIST_STR] = "[]",
    [T_LIST_TEXT] = "[]",
    [T_VALUES] = "{}",
    [T_POINTS] = "[]",
    [T_LIST] = NULL, /* the last: as many as there are types */
};

static yyjson_val *read_stated(const struct shape *shape, struct arena *arena)
{
    struct json_fault fault;
    struct json_doc doc;

    if (shape->example == NULL)
        return NULL;
    if (json_read(str_of(shape->example), arena, &doc, &fault) != 0 || !yyjson_is_obj(doc.root))
        err_die("shape: the example of %s is no JSON object: %s", shape->name, fault.error);
    return doc.root;
}

static void write_nested(const struct field *field, struct arena *arena, struct buf *out)
{
    buf_add_c(out, field->type == T_LIST ? "[" : "");
    schema_write_example(field->nested, arena, out);
    buf_add_c(out, field->type == T_LIST ? "]" : "");
}

/* Is the member part of an example that does not state it? What may be absent is not, unless it is
 * nested; nor what only a person can invent. */
static bool is_derived(const struct field *field)
{
    if ((field->flags & F_REQUIRED) == 0)
        return field->nested != NULL && (field->flags & F_OMIT) == 0;
    return (field->flags & F_NULL) != 0 || field->choices != NULL || field->nested != NULL ||
           derived[field->type] != NULL;
}

static void write_derived(const struct field *field, struct arena *arena, struct buf *out)
{
    if (field->nested != NULL)
        write_nested(field, arena, out);
    else if ((field->flags & F_NULL) != 0)
        buf_add_c(out, "null");
    else if (field->choices != NULL && field->type != T_LIST_STR)
        buf_add_json(out, str_of(field->choices[0]));
    else
        buf_add_c(out, derived[field->type]);
}

void schema_write_example(const struct shape *shape, struct arena *arena, struct buf *out)
{
    yyjson_val *stated = read_stated(shape, arena);
    bool more = false;

    buf_add_char(out, '{');
    for (size_t i = 0; i < shape->n_fields; i++) {
        const struct field *field = &shape->fields[i];
        yyjson_val *value = yyjson_obj_get(stated, field->name);

        if (value == NULL && !is_derived(field))
            continue;
        buf_add_c(out, more ? "," : "");
        more = true;
        buf_add_json(out, str_of(field->name));
        buf_add_char(out, ':');
        if (value != NULL)
            buf_add(out, json_write_text(value, false, arena));
        else
            write_derived(field, arena, out);
    }
    buf_add_char(out, '}');
}

struct str schema_example_of(const struct shape *shape, const char *name, struct arena *arena)
{
    yyjson_val *value = yyjson_obj_get(read_stated(shape, arena), name);

    return value == NULL ? STR_NULL : json_write_text(value, false, arena);
}
