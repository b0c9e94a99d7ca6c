/* schema.c - shapes as JSON Schema, with keywords in the order of FastAPI's documents; and a
 * complete example of each: its table states what only people know, such as names and numbers, and
 * everything that has an obvious value is derived here, so that an example never lacks a new
 * member.
 */
#include "shape/schema.h"

#include <string.h>

#include "base/err.h"
#include "shape/json.h"

#define STRING            "{\"type\":\"string\"}"
#define NUMBER            "{" DOUBLE "}"
#define DOUBLE            "\"type\":\"number\",\"format\":\"double\""
#define OBJECT_OF(values) "\"additionalProperties\":" values ",\"type\":\"object\""
#define ARRAY_OF(items)   "\"items\":" items ",\"type\":\"array\""

/* A business value. */
#define UNION_SCHEMA                                                                               \
    "{\"anyOf\":[" NUMBER ",{\"type\":\"integer\",\"format\":\"int64\"}," STRING "]}"

/* "run_id" as "Run Id". */
static void add_title(struct buf *out, const char *name)
{
    bool first = true;

    buf_add_c(out, "\"title\":\"");
    for (; *name != '\0'; name++) {
        bool letter = *name >= 'a' && *name <= 'z';

        if (*name == '_')
            buf_add_char(out, ' ');
        else
            buf_add_char(out, (char)(first && letter ? *name - 'a' + 'A' : *name));
        first = *name == '_';
    }
    buf_add_char(out, '"');
}

static void add_doc(struct buf *out, const char *doc)
{
    if (doc == NULL)
        return;
    buf_add_c(out, ",\"description\":");
    buf_add_json(out, str_of(doc));
}

static void add_bound(struct buf *out, const char *keyword, uint32_t bound)
{
    if (bound > 0)
        buf_printf(out, ",\"%s\":%u", keyword, bound);
}

static void add_reference(struct buf *out, const struct shape *shape)
{
    buf_printf(out, "\"$ref\":\"#/components/schemas/%s\"", shape->name);
}

static void add_choices(struct buf *out, const struct field *field)
{
    for (size_t i = 0; field->choices[i] != NULL; i++) {
        buf_add_c(out, i == 0 ? ",\"enum\":[" : ",");
        buf_add_json(out, str_of(field->choices[i]));
    }
    buf_add_char(out, ']');
}

static void add_string(struct buf *out, const struct field *field)
{
    buf_add_c(out, "\"type\":\"string\"");
    if (field->choices != NULL) {
        add_choices(out, field);
        return;
    }
    add_bound(out, "maxLength", field->max);
    add_bound(out, "minLength", field->min);
    if (field->pattern == NULL)
        return;
    buf_add_c(out, ",\"pattern\":");
    buf_add_json(out, str_of(field->pattern));
}

/* The bounds of int64 are its format's, and no double has them. */
static void add_integer(struct buf *out, const struct field *field)
{
    buf_add_c(out, "\"type\":\"integer\",\"format\":\"int64\"");
    if (field->least >= field->most)
        return;
    if (field->most != INT64_MAX) {
        buf_add_c(out, ",\"maximum\":");
        buf_add_int(out, field->most);
    }
    if (field->least != INT64_MIN) {
        buf_add_c(out, ",\"minimum\":");
        buf_add_int(out, field->least);
    }
}

static void add_strings(struct buf *out, const struct field *field)
{
    buf_add_c(out, "\"items\":{\"type\":\"string\"");
    if (field->choices != NULL)
        add_choices(out, field);
    buf_add_c(out, "},\"type\":\"array\"");
    add_bound(out, "maxItems", field->max);
}

static void add_list(struct buf *out, const struct field *field)
{
    buf_add_c(out, "\"items\":{");
    add_reference(out, field->nested);
    buf_add_c(out, "},\"type\":\"array\"");
    add_bound(out, "maxItems", field->max);
}

/* Types whose schema depends on the field's maximum only. */
static const struct {
    const char *text;
    const char *max; /* keyword of the maximum, or NULL */
} plain_types[] = {
    [T_UUID] = { "\"type\":\"string\",\"format\":\"uuid\"", NULL },
    [T_TIME] = { "\"type\":\"string\",\"format\":\"date-time\"", NULL },
    [T_BOOL] = { "\"type\":\"boolean\"", NULL },
    [T_OPT_BOOL] = { "\"type\":\"boolean\"", NULL },
    [T_NUMBER] = { DOUBLE, NULL },
    [T_JSON] = { "", NULL },
    [T_OBJECT] = { OBJECT_OF("true"), "maxProperties" },
    [T_DICT_STR] = { OBJECT_OF(STRING), "maxProperties" },
    [T_DICT_NUM] = { OBJECT_OF(NUMBER), "maxProperties" },
    [T_LIST_TEXT] = { ARRAY_OF(STRING), "maxItems" },
    [T_VALUES] = { OBJECT_OF(UNION_SCHEMA), "maxProperties" },
    [T_POINTS] = { ARRAY_OF("{" OBJECT_OF(UNION_SCHEMA) "}"), "maxItems" },
    [T_BY] = { "\"anyOf\":[" STRING ",{" ARRAY_OF(STRING) "}]", NULL },
};

/* The keywords for a value's type, without null, title and default. */
static void add_type(struct buf *out, const struct field *field)
{
    switch (field->type) {
    case T_STR:
    case T_ENUM:
        add_string(out, field);
        break;
    case T_INT:
    case T_OPT_INT:
        add_integer(out, field);
        break;
    case T_SHAPE:
        add_reference(out, field->nested);
        break;
    case T_LIST:
        add_list(out, field);
        break;
    case T_LIST_STR:
        add_strings(out, field);
        break;
    default:
        buf_add_c(out, plain_types[field->type].text);
        if (plain_types[field->type].max != NULL)
            add_bound(out, plain_types[field->type].max, field->max);
        break;
    }
}

void schema_write_field(const struct field *field, struct buf *out)
{
    bool nullable = (field->flags & F_NULL) != 0 && field->type != T_JSON;

    buf_add_c(out, nullable ? "{\"anyOf\":[{" : "{");
    add_type(out, field);
    if (nullable)
        buf_add_c(out, "},{\"type\":\"null\"}]");
    if (field->type != T_JSON && field->type != T_SHAPE)
        buf_add_char(out, ',');
    if (field->type != T_SHAPE)
        add_title(out, field->name);
    if ((field->flags & F_REQUIRED) == 0 && field->absent != NULL)
        buf_printf(out, ",\"default\":%s", field->absent);
    add_doc(out, field->doc);
    buf_add_char(out, '}');
}

static void add_required(struct buf *out, const struct shape *shape)
{
    bool any = false;

    for (size_t i = 0; i < shape->n_fields; i++) {
        if ((shape->fields[i].flags & F_REQUIRED) == 0)
            continue;
        buf_add_c(out, any ? "," : ",\"required\":[");
        buf_add_json(out, str_of(shape->fields[i].name));
        any = true;
    }
    if (any)
        buf_add_char(out, ']');
}

void shape_write_schema(const struct shape *shape, struct buf *out)
{
    buf_add_c(out, "{\"properties\":{");
    for (size_t i = 0; i < shape->n_fields; i++) {
        if (i > 0)
            buf_add_char(out, ',');
        buf_add_json(out, str_of(shape->fields[i].name));
        buf_add_char(out, ':');
        schema_write_field(&shape->fields[i], out);
    }
    buf_add_c(out, "},\"type\":\"object\"");
    add_required(out, shape);
    buf_add_c(out, ",\"title\":");
    buf_add_json(out, str_of(shape->name));
    add_doc(out, shape->doc);
    buf_add_char(out, '}');
}

static bool is_member(const struct schema_set *set, const struct shape *shape)
{
    for (size_t i = 0; i < set->n; i++)
        if (set->items[i] == shape)
            return true;
    return false;
}

static void add_to_set(struct schema_set *set, const struct shape *shape)
{
    if (shape == NULL || is_member(set, shape))
        return;
    if (set->n == SCHEMA_SET_MAX)
        err_die("schema: more than %d shapes", SCHEMA_SET_MAX);
    set->items[set->n++] = shape;
}

void schema_set_add(struct schema_set *set, const struct shape *shape)
{
    size_t at = set->n;

    add_to_set(set, shape);
    /* The shapes that are added here are visited in turn. */
    for (; at < set->n; at++)
        for (size_t i = 0; i < set->items[at]->n_fields; i++)
            add_to_set(set, set->items[at]->fields[i].nested);
}

void schema_write_validation_errors(struct buf *out)
{
    buf_add_c(
        out,
        "\"ValidationError\":{\"properties\":{"
        "\"loc\":{\"items\":{\"anyOf\":[" STRING ",{\"type\":\"integer\",\"format\":\"int64\"}]},"
        "\"type\":\"array\",\"title\":\"Location\",\"description\":\"Where: body, query or path, "
        "then "
        "names of members and indexes of items.\"},"
        "\"msg\":{\"type\":\"string\",\"title\":\"Message\",\"description\":\"What is wrong, as a "
        "sentence.\"},"
        "\"type\":{\"type\":\"string\",\"title\":\"Error Type\",\"description\":\"What is wrong, "
        "as a "
        "word for programs.\"},"
        "\"input\":{\"title\":\"Input\",\"description\":\"The value that was sent, unless it is "
        "long or "
        "a secret.\"},"
        "\"ctx\":{\"type\":\"object\",\"title\":\"Context\",\"description\":\"Facts in the "
        "message, such "
        "as the bound that was exceeded.\"}},"
        "\"type\":\"object\",\"required\":[\"loc\",\"msg\",\"type\"],"
        "\"title\":\"ValidationError\",\"description\":\"One problem of a request.\"},"
        "\"HTTPValidationError\":{\"properties\":{\"detail\":{"
        "\"items\":{\"$ref\":\"#/components/schemas/ValidationError\"},"
        "\"type\":\"array\",\"title\":\"Detail\",\"description\":\"The problems, at most 100.\"}},"
        "\"type\":\"object\",\"title\":\"HTTPValidationError\",\"description\":\"All problems of a "
        "request.\"}");
}

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
            buf_add(out, json_write_text(value, arena));
        else
            write_derived(field, arena, out);
    }
    buf_add_char(out, '}');
}

struct str schema_example_of(const struct shape *shape, const char *name, struct arena *arena)
{
    yyjson_val *value = yyjson_obj_get(read_stated(shape, arena), name);

    return value == NULL ? STR_NULL : json_write_text(value, arena);
}
