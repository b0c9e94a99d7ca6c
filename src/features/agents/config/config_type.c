/* config_type.c - checks and writes values by type. */
#include "features/agents/config/config_type.h"

#include <math.h>

#include "shape/json.h"
#include "shape/json_write.h"

typedef bool fits_fn(yyjson_val *value);

/* A 64-bit integer, also with decimals: 5 and 5.0. */
static bool is_integer(yyjson_val *value)
{
    double real;

    if (yyjson_is_uint(value))
        return yyjson_get_uint(value) <= INT64_MAX;
    if (!yyjson_is_real(value))
        return yyjson_is_sint(value);
    real = yyjson_get_real(value);
    return real == floor(real) && real >= -0x1p63 && real < 0x1p63;
}

static bool is_number(yyjson_val *value)
{
    if (yyjson_is_raw(value))
        return !json_is_raw_real(value) && isfinite(json_raw_to_real(value));
    return yyjson_is_num(value);
}

static bool is_boolean(yyjson_val *value)
{
    return yyjson_is_bool(value);
}

static bool is_anything(yyjson_val *value)
{
    (void)value;
    return true;
}

static bool is_list(yyjson_val *value)
{
    return yyjson_is_arr(value);
}

static const struct {
    const char *name;
    fits_fn *fits; /* of the text as JSON; NULL: any text */
} types[] = {
    { "string", NULL },        { "integer", is_integer }, { "number", is_number },
    { "boolean", is_boolean }, { "json", is_anything },   { "list", is_list },
};

static fits_fn *find_type(struct str value_type, bool *ret_known)
{
    for (size_t i = 0; i < COUNT_OF(types); i++)
        if (str_eq_c(value_type, types[i].name)) {
            *ret_known = true;
            return types[i].fits;
        }
    *ret_known = false;
    return NULL;
}

bool config_type_is_known(struct str value_type)
{
    bool known;

    (void)find_type(value_type, &known);
    return known;
}

bool config_type_fits(struct str value_type, struct str text, struct arena *arena)
{
    bool known;
    fits_fn *fits = find_type(value_type, &known);
    struct json_fault fault;
    struct json_doc doc;

    if (fits == NULL)
        return true;
    return json_read(text, arena, &doc, &fault) == 0 && fits(doc.root);
}

bool config_type_write(struct str value_type, struct str text, struct arena *arena, struct buf *out)
{
    bool known;
    fits_fn *fits = find_type(value_type, &known);
    struct json_fault fault;
    struct json_doc doc;

    if (fits == NULL) {
        buf_add_json(out, text);
        return true;
    }
    if (json_read(text, arena, &doc, &fault) != 0 || !fits(doc.root))
        return false;
    if (fits == is_integer && yyjson_is_real(doc.root))
        buf_add_int(out, (int64_t)yyjson_get_real(doc.root));
    else
        buf_add(out, json_write_text(doc.root, doc.plain, arena));
    return true;
}
