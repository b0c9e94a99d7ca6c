/* check_scalar.c - strings, choices, times, numbers and booleans. */
#include <inttypes.h>
#include <math.h>

#include "base/datetime.h"
#include "shape/check.h"
#include "shape/json.h"

bool check_has_nul(const struct reader *r, struct str s)
{
    return !r->plain && memchr(s.data, '\0', s.len) != NULL;
}

bool check_report_nul(const struct reader *r, const struct step *at)
{
    static const struct complaint string_unicode = {
        "string_unicode",
        "Input should be a valid string, unable to parse raw data as a unicode string"
    };

    return problems_report(r, at, &string_unicode, NULL);
}

bool check_text(const struct reader *r, const struct step *at, yyjson_val *value, struct str *ret)
{
    static const struct complaint string_type = { "string_type", "Input should be a valid string" };

    if (!unsafe_yyjson_is_str(value))
        return problems_report(r, at, &string_type, value);
    *ret = json_str(value);
    return LIKELY(!check_has_nul(r, *ret)) || check_report_nul(r, at);
}

/* 'a', 'b' or 'c' */
static const char *list_choices(const char *const *choices, struct arena *arena)
{
    struct str text = arena_printf(arena, "'%s'", choices[0]);

    for (size_t i = 1; choices[i] != NULL; i++) {
        const char *joint = choices[i + 1] == NULL ? " or " : ", ";

        text = arena_printf(arena, "%s%s'%s'", text.data, joint, choices[i]);
    }
    return text.data;
}

/* The number of the choice that `value` is, or -1 and a problem. */
static int find_choice(const struct reader *r, const struct step *at, const char *const *choices,
                       yyjson_val *value)
{
    const char *expected;

    if (unsafe_yyjson_is_str(value)) {
        struct str s = json_str(value);

        for (int i = 0; choices[i] != NULL; i++) {
            if (str_eq_c(s, choices[i]))
                return i;
        }
        if (check_has_nul(r, s)) {
            check_report_nul(r, at);
            return -1;
        }
    }
    expected = list_choices(choices, r->arena);
    problems_report_ctx(
        r, at,
        (struct complaint){ "literal_error",
                            arena_printf(r->arena, "Input should be %s", expected).data },
        value, arena_printf(r->arena, "{\"expected\":\"%s\"}", expected));
    return -1;
}

bool check_enum(const struct reader *r, const struct step *at, const struct field *field,
                yyjson_val *value, void *to)
{
    int *ret = to;

    *ret = find_choice(r, at, field->choices, value);
    return *ret >= 0;
}

static bool refuse_short(const struct reader *r, const struct step *at, uint32_t min,
                         yyjson_val *value)
{
    const char *msg = arena_printf(r->arena, "String should have at least %u character%s", min,
                                   min == 1 ? "" : "s")
                          .data;

    return problems_report_ctx(r, at, (struct complaint){ "string_too_short", msg }, value,
                               arena_printf(r->arena, "{\"min_length\":%u}", min));
}

bool check_str(const struct reader *r, const struct step *at, const struct field *field,
               yyjson_val *value, void *to)
{
    struct str *ret = to;
    const char *msg;

    if (field->choices != NULL && find_choice(r, at, field->choices, value) < 0)
        return false;
    if (!check_text(r, at, value, ret))
        return false;
    if (field->min > 0 && utf8_count(*ret) < field->min)
        return refuse_short(r, at, field->min, value);
    if (field->max == 0 || ret->len <= field->max || utf8_count(*ret) <= field->max)
        return true;
    msg = arena_printf(r->arena, "String should have at most %u character%s", field->max,
                       field->max == 1 ? "" : "s")
              .data;
    return problems_report_ctx(r, at, (struct complaint){ "string_too_long", msg }, value,
                               arena_printf(r->arena, "{\"max_length\":%u}", field->max));
}

static bool report_time(const struct reader *r, const struct step *at, yyjson_val *value,
                        struct complaint what, const char *error)
{
    what.msg = arena_printf(r->arena, "%s, %s", what.msg, error).data;
    return problems_report_ctx(r, at, what, value, problems_error_ctx(r->arena, str_of(error)));
}

bool check_time(const struct reader *r, const struct step *at, const struct field *field,
                yyjson_val *value, void *to)
{
    static const struct complaint datetime_type = { "datetime_type",
                                                    "Input should be a valid datetime" };
    static const struct complaint parsing = { "datetime_parsing",
                                              "Input should be a valid datetime" };
    static const struct complaint from_date = { "datetime_from_date_parsing",
                                                "Input should be a valid datetime or date" };
    const char *error;
    struct str s;

    (void)field;
    if (!unsafe_yyjson_is_str(value))
        return problems_report(r, at, &datetime_type, value);
    if (!check_text(r, at, value, &s))
        return false;
    error = datetime_parse(s, to);
    if (error != NULL)
        return report_time(r, at, value, from_date, error);
    return !datetime_is_year_zero(s) ||
           report_time(r, at, value, parsing, "year 0 is out of range");
}

static const struct complaint int_type = { "int_type", "Input should be a valid integer" };
static const struct complaint int_parsing = {
    "int_parsing", "Input should be a valid integer, unable to parse string as an integer"
};
static const struct complaint int_parsing_size = {
    "int_parsing_size", "Unable to parse input string as an integer, exceeded maximum size"
};
static const struct complaint int_from_float = {
    "int_from_float", "Input should be a valid integer, got a number with a fractional part"
};
static const struct complaint finite_number = { "finite_number",
                                                "Input should be a finite number" };
static const struct complaint float_type = { "float_type", "Input should be a valid number" };
static const struct complaint float_parsing = {
    "float_parsing", "Input should be a valid number, unable to parse string as a number"
};

/* `than` is "less" or "greater", `key` the name of the bound in ctx. */
static bool refuse_bound(const struct reader *r, const struct step *at, yyjson_val *value,
                         const char *than, const char *key, int64_t bound)
{
    const struct complaint what = {
        arena_printf(r->arena, "%s_than_equal", than).data,
        arena_printf(r->arena, "Input should be %s than or equal to %" PRId64, than, bound).data,
    };

    return problems_report_ctx(r, at, what, value,
                               arena_printf(r->arena, "{\"%s\":%" PRId64 "}", key, bound));
}

static bool in_bounds(const struct reader *r, const struct step *at, yyjson_val *value,
                      enum lax_result size, const struct field *field, int64_t n)
{
    bool bounded = field != NULL && field->least < field->most;
    int64_t least = bounded ? field->least : INT64_MIN;
    int64_t most = bounded ? field->most : INT64_MAX;

    if (size == LAX_TOO_LARGE || (size == LAX_OK && n > most))
        return refuse_bound(r, at, value, "less", "le", most);
    if (size == LAX_TOO_SMALL || n < least)
        return refuse_bound(r, at, value, "greater", "ge", least);
    return true;
}

static bool integer_from_real(const struct reader *r, const struct step *at, yyjson_val *value,
                              int64_t *ret)
{
    double real = unsafe_yyjson_get_real(value);

    if (real != trunc(real))
        return problems_report(r, at, &int_from_float, value);
    if (real >= 0x1p63 || real <= -0x1p63)
        return problems_report(r, at, &int_parsing_size, value);
    *ret = (int64_t)real;
    return true;
}

/* A query may hold an integer in a string; a body may not, but its message depends on the text. */
static bool integer_from_string(const struct reader *r, const struct step *at, yyjson_val *value,
                                enum lax_result *ret_size, int64_t *ret)
{
    *ret_size = lax_integer(json_str(value), ret);
    if (*ret_size == LAX_UNREADABLE)
        return problems_report(r, at, &int_parsing, value);
    if (*ret_size == LAX_TOO_LONG)
        return problems_report(r, at, &int_parsing_size, value);
    return r->lax || problems_report(r, at, &int_type, value);
}

static bool bounded_integer(const struct reader *r, const struct step *at,
                            const struct field *field, yyjson_val *value, int64_t *ret)
{
    enum lax_result size = LAX_OK;
    int64_t n = 0;

    if (LIKELY(unsafe_yyjson_is_int(value))) {
        n = unsafe_yyjson_get_sint(value);
        if (unsafe_yyjson_is_uint(value) && n < 0)
            size = LAX_TOO_LARGE;
    } else if (unsafe_yyjson_is_real(value)) {
        if (!integer_from_real(r, at, value, &n))
            return false;
    } else if (unsafe_yyjson_is_raw(value)) {
        if (json_is_raw_real(value))
            return problems_report(r, at, &finite_number, value);
        size = unsafe_yyjson_get_raw(value)[0] == '-' ? LAX_TOO_SMALL : LAX_TOO_LARGE;
    } else if (unsafe_yyjson_is_str(value)) {
        if (!integer_from_string(r, at, value, &size, &n))
            return false;
    } else {
        return problems_report(r, at, &int_type, value);
    }
    *ret = n;
    return in_bounds(r, at, value, size, field, n);
}

bool check_integer(const struct reader *r, const struct step *at, yyjson_val *value, int64_t *ret)
{
    return bounded_integer(r, at, NULL, value, ret);
}

bool check_int(const struct reader *r, const struct step *at, const struct field *field,
               yyjson_val *value, void *to)
{
    return bounded_integer(r, at, field, value, to);
}

bool check_opt_int(const struct reader *r, const struct step *at, const struct field *field,
                   yyjson_val *value, void *to)
{
    struct opt_int *ret = to;

    ret->has = bounded_integer(r, at, field, value, &ret->value);
    return ret->has;
}

static bool real_from_string(const struct reader *r, const struct step *at, yyjson_val *value,
                             double *ret)
{
    if (!lax_real(json_str(value), r->arena, ret))
        return problems_report(r, at, &float_parsing, value);
    if (!r->lax)
        return problems_report(r, at, &float_type, value);
    return isfinite(*ret) || problems_report(r, at, &finite_number, value);
}

bool check_real(const struct reader *r, const struct step *at, yyjson_val *value, double *ret)
{
    if (unsafe_yyjson_is_num(value)) {
        *ret = unsafe_yyjson_get_num(value);
        return true;
    }
    if (unsafe_yyjson_is_str(value))
        return real_from_string(r, at, value, ret);
    if (!unsafe_yyjson_is_raw(value))
        return problems_report(r, at, &float_type, value);
    if (json_is_raw_real(value))
        return problems_report(r, at, &finite_number, value);
    *ret = json_raw_to_real(value);
    return isfinite(*ret) || problems_report(r, at, &float_type, value);
}

bool check_number(const struct reader *r, const struct step *at, const struct field *field,
                  yyjson_val *value, void *to)
{
    (void)field;
    return check_real(r, at, value, to);
}

/* Whether default pydantic would say that a value of this type cannot be interpreted, rather than
 * that it has the wrong type. */
static bool is_unreadable_bool(yyjson_val *value)
{
    bool unused;
    double real;

    if (unsafe_yyjson_is_str(value))
        return !lax_bool(json_str(value), &unused);
    if (unsafe_yyjson_is_raw(value))
        return !json_is_raw_real(value);
    if (!unsafe_yyjson_is_num(value))
        return false;
    real = unsafe_yyjson_get_num(value);
    return real == trunc(real) && fabs(real) < 0x1p63 && real != 0 && real != 1;
}

bool check_bool(const struct reader *r, const struct step *at, const struct field *field,
                yyjson_val *value, void *to)
{
    static const struct complaint bool_type = { "bool_type", "Input should be a valid boolean" };
    static const struct complaint bool_parsing = {
        "bool_parsing", "Input should be a valid boolean, unable to interpret input"
    };
    bool *ret = to;

    (void)field;
    if (unsafe_yyjson_is_bool(value)) {
        *ret = unsafe_yyjson_is_true(value);
        return true;
    }
    if (r->lax && unsafe_yyjson_is_str(value) && lax_bool(json_str(value), ret))
        return true;
    return problems_report(r, at, is_unreadable_bool(value) ? &bool_parsing : &bool_type, value);
}

bool check_opt_bool(const struct reader *r, const struct step *at, const struct field *field,
                    yyjson_val *value, void *to)
{
    struct opt_bool *ret = to;

    ret->has = check_bool(r, at, field, value, &ret->value);
    return ret->has;
}
