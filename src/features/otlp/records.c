/* records.c - ids, and values as JSON. */
#include "features/otlp/records.h"

#include <assert.h>
#include <math.h>

#include "shape/json.h"

struct otlp_id otlp_id_of(struct str bytes, size_t len)
{
    struct otlp_id id = { .given = bytes.len > 0 };

    assert(len <= sizeof(id.bytes));
    if (bytes.len != len)
        return id;
    memcpy(id.bytes, bytes.data, len);
    for (size_t i = 0; i < len; i++)
        id.valid |= id.bytes[i] != 0;
    id.given = id.valid;
    return id;
}

struct str otlp_hex(const struct otlp_id *id, size_t len, char *ret)
{
    static const char hex[] = "0123456789abcdef";

    for (size_t i = 0; i < len; i++) {
        ret[2 * i] = hex[id->bytes[i] >> 4];
        ret[2 * i + 1] = hex[id->bytes[i] & 15];
    }
    return str_from(ret, 2 * len);
}

/* JSON has no such numbers: they are written as OTLP's own JSON has them. */
static void add_real(struct buf *out, double real)
{
    if (isnan(real))
        buf_add_c(out, "\"NaN\"");
    else if (isinf(real))
        buf_add_c(out, real > 0 ? "\"Infinity\"" : "\"-Infinity\"");
    else
        json_add_real(out, real);
}

/* In JSON quotes, as OTLP's own JSON has them. */
static void add_base64(struct buf *out, struct str bytes)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    buf_add_char(out, '"');
    for (size_t i = 0; i < bytes.len; i += 3) {
        size_t n = bytes.len - i < 3 ? bytes.len - i : 3;
        uint32_t group = 0;
        char four[4];

        for (size_t j = 0; j < 3; j++)
            group = group << 8 | (j < n ? (unsigned char)bytes.data[i + j] : 0U);
        for (size_t j = 0; j < 4; j++)
            four[j] = (char)(j <= n ? digits[group >> (18 - 6 * j) & 63] : '=');
        buf_add(out, str_from(four, sizeof(four)));
    }
    buf_add_char(out, '"');
}

bool otlp_value_write(const struct otlp_value *value, struct buf *out)
{
    switch (value->kind) {
    case OTLP_NONE:
        buf_add_c(out, "null");
        break;
    case OTLP_TEXT:
        buf_add_json(out, value->text);
        break;
    case OTLP_BOOL:
        buf_add_c(out, value->integer != 0 ? "true" : "false");
        break;
    case OTLP_INT:
        buf_add_int(out, value->integer);
        break;
    case OTLP_REAL:
        add_real(out, value->real);
        break;
    case OTLP_BYTES:
        add_base64(out, value->text);
        break;
    case OTLP_ARRAY:
    case OTLP_MAP:
        return otlp_nested_write(value, out);
    }
    return true;
}

bool otlp_attributes_write(const struct otlp_attribute *items, size_t n, struct buf *out)
{
    buf_add_char(out, '{');
    for (size_t i = 0; i < n; i++) {
        if (i > 0)
            buf_add_char(out, ',');
        buf_add_json(out, items[i].key);
        buf_add_char(out, ':');
        if (!otlp_value_write(&items[i].value, out))
            return false;
    }
    buf_add_char(out, '}');
    return true;
}
