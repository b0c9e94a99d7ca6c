/* json_scalars.c - reads numbers and checks bytes. */
#include "features/otlp/json_scalars.h"

#include <math.h>

#include "shape/json.h"

static bool digits_to_number(struct str text, bool negative, uint64_t *ret)
{
    uint64_t limit = negative ? (uint64_t)INT64_MAX + 1 : UINT64_MAX, n = 0;

    if (text.len == 0)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        uint64_t digit = (uint64_t)(unsigned char)text.data[i] - '0';

        if (digit > 9 || n > (limit - digit) / 10)
            return false;
        n = n * 10 + digit;
    }
    *ret = negative ? 0 - n : n;
    return true;
}

bool otlp_json_integer(struct yyjson_val *value, uint64_t *ret)
{
    if (yyjson_is_int(value)) {
        *ret = yyjson_get_uint(value);
        return true;
    }
    if (yyjson_is_real(value)) {
        double real = yyjson_get_real(value);

        *ret = (uint64_t)(int64_t)(fabs(real) < 9007199254740992.0 ? real : 0);
        return floor(real) == real && fabs(real) < 9007199254740992.0;
    }
    if (yyjson_is_str(value)) {
        struct str text = json_str(value);
        bool negative = text.len > 0 && text.data[0] == '-';

        return digits_to_number(str_from(text.data + negative, text.len - negative), negative, ret);
    }
    return false;
}

bool otlp_json_real(struct yyjson_val *value, double *ret)
{
    static const struct {
        const char *name;
        double value;
    } names[] = { { "NaN", NAN }, { "Infinity", INFINITY }, { "-Infinity", -INFINITY } };

    if (yyjson_is_num(value)) {
        *ret = yyjson_get_num(value);
        return true;
    }
    for (size_t i = 0; yyjson_is_str(value) && i < COUNT_OF(names); i++)
        if (str_eq_c(json_str(value), names[i].name)) {
            *ret = names[i].value;
            return true;
        }
    return false;
}

bool otlp_is_base64(struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];

        if (!((c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
              c == '+' || c == '/' || c == '-' || c == '_' || (c == '=' && i + 2 >= text.len)))
            return false;
    }
    return true;
}
