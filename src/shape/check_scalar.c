/* check_scalar.c - strings, choices, times, numbers, booleans and UUIDs.
 *
 * Queries and paths hold numbers and booleans in strings, which are read as pydantic's lax mode
 * reads them; in a body that decides the message for a string in place of a number.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/datetime.h"
#include "base/str.h"
#include "base/uuid.h"
#include "shape/check.h"
#include "shape/json.h"

enum { DIGITS_MAX = 4300 }; /* Python refuses to read more */

static const struct str wide_spaces[] = {
    STR_INIT("\xc2\x85"),     STR_INIT("\xc2\xa0"),     STR_INIT("\xe1\x9a\x80"),
    STR_INIT("\xe2\x80\xa8"), STR_INIT("\xe2\x80\xa9"), STR_INIT("\xe2\x80\xaf"),
    STR_INIT("\xe2\x81\x9f"), STR_INIT("\xe3\x80\x80"), STR_INIT("\xe2\x80\x80"),
    STR_INIT("\xe2\x80\x81"), STR_INIT("\xe2\x80\x82"), STR_INIT("\xe2\x80\x83"),
    STR_INIT("\xe2\x80\x84"), STR_INIT("\xe2\x80\x85"), STR_INIT("\xe2\x80\x86"),
    STR_INIT("\xe2\x80\x87"), STR_INIT("\xe2\x80\x88"), STR_INIT("\xe2\x80\x89"),
    STR_INIT("\xe2\x80\x8a"),
};

/* Bytes of the white space that `s` begins with (or ends in), or 0. */
static size_t space_len(struct str s, bool at_end)
{
    unsigned char c;

    if (s.len == 0)
        return 0;
    c = (unsigned char)s.data[at_end ? s.len - 1 : 0];
    if (c == ' ' || (c >= '\t' && c <= '\r'))
        return 1;
    if (c < 0x80)
        return 0;
    for (size_t i = 0; i < COUNT_OF(wide_spaces); i++) {
        size_t n = wide_spaces[i].len;

        if (n <= s.len && memcmp(s.data + (at_end ? s.len - n : 0), wide_spaces[i].data, n) == 0)
            return n;
    }
    return 0;
}

static struct str trim(struct str s)
{
    size_t n;

    while ((n = space_len(s, false)) > 0)
        s = str_from(s.data + n, s.len - n);
    while ((n = space_len(s, true)) > 0)
        s.len -= n;
    return s;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool take_sign(struct str *s)
{
    bool negative = str_take(s, '-');

    if (!negative)
        (void)str_take(s, '+');
    return negative;
}

static size_t take_digits(struct str *s)
{
    size_t n = 0;

    while (n < s->len && is_digit(s->data[n]))
        n++;
    *s = str_from(s->data + n, s->len - n);
    return n;
}

/* Digits with single underscores between, then perhaps a point and zeros. */
static bool is_integer_text(struct str s)
{
    do {
        if (take_digits(&s) == 0)
            return false;
    } while (str_take(&s, '_'));
    if (str_take(&s, '.')) {
        while (str_take(&s, '0'))
            ;
    }
    return s.len == 0;
}

enum lax_result { LAX_OK, LAX_UNREADABLE, LAX_TOO_SMALL, LAX_TOO_LARGE, LAX_TOO_LONG };

static enum lax_result lax_integer(struct str s, int64_t *ret)
{
    uint64_t value = 0, limit;
    bool negative, overflow = false;
    size_t n_digits = 0;

    s = trim(s);
    negative = take_sign(&s);
    if (!is_integer_text(s))
        return LAX_UNREADABLE;
    limit = (uint64_t)INT64_MAX + negative;
    for (size_t i = 0; i < s.len && s.data[i] != '.'; i++) {
        unsigned digit = (unsigned)(s.data[i] - '0');

        if (s.data[i] == '_')
            continue;
        n_digits++;
        overflow = overflow || value > (limit - digit) / 10;
        value = overflow ? 0 : value * 10 + digit;
    }
    if (n_digits > DIGITS_MAX)
        return LAX_TOO_LONG;
    if (overflow)
        return negative ? LAX_TOO_SMALL : LAX_TOO_LARGE;
    *ret = negative ? (int64_t)(0 - value) : (int64_t)value;
    return LAX_OK;
}

/* Without underscores. */
static bool is_real_text(struct str s)
{
    static const struct str words[] = { STR_INIT("inf"), STR_INIT("infinity"), STR_INIT("nan") };
    size_t n;

    (void)take_sign(&s);
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        if (str_eq_nocase(s, words[i]))
            return true;
    }
    n = take_digits(&s);
    if (str_take(&s, '.'))
        n += take_digits(&s);
    if (n == 0)
        return false;
    if (str_take(&s, 'e') || str_take(&s, 'E')) {
        (void)take_sign(&s);
        if (take_digits(&s) == 0)
            return false;
    }
    return s.len == 0;
}

/* Without its underscores, which must be single and inside; STR_NULL without any. */
static struct str without_underscores(struct str s, struct arena *arena)
{
    char *copy;
    size_t n = 0;

    if (memchr(s.data, '_', s.len) == NULL || s.data[0] == '_' || s.data[s.len - 1] == '_')
        return STR_NULL;
    copy = arena_alloc(arena, s.len);
    for (size_t i = 0; i < s.len; i++) {
        if (s.data[i] != '_')
            copy[n++] = s.data[i];
        else if (s.data[i - 1] == '_')
            return STR_NULL;
    }
    return str_from(copy, n);
}

/* Also inf and nan. */
static bool lax_real(struct str s, struct arena *arena, double *ret)
{
    struct str trimmed = trim(s);

    if (!is_real_text(trimmed)) {
        trimmed = without_underscores(s, arena);
        if (str_is_null(trimmed) || !is_real_text(trimmed))
            return false;
    }
    *ret = strtod(arena_cstr(arena, trimmed), NULL);
    return true;
}

static bool lax_bool(struct str s, bool *ret)
{
    static const char *const words[][2] = {
        { "0", "1" },    { "f", "t" },    { "n", "y" },
        { "no", "yes" }, { "off", "on" }, { "false", "true" },
    };

    for (size_t i = 0; i < COUNT_OF(words); i++) {
        for (int value = 0; value < 2; value++) {
            if (str_eq_nocase(s, str_of(words[i][value]))) {
                *ret = value == 1;
                return true;
            }
        }
    }
    return false;
}

bool check_has_nul(const struct reader *r, struct str s)
{
    return !r->plain && memchr(s.data, '\0', s.len) != NULL;
}

bool check_report_nul(const struct reader *r, const struct path_step *at)
{
    static const struct complaint string_unicode = {
        "string_unicode",
        "Input should be a valid string, unable to parse raw data as a unicode string"
    };

    return problems_report(r->problems, at, &string_unicode, NULL);
}

bool check_text(const struct reader *r, const struct path_step *at, yyjson_val *value,
                struct str *ret)
{
    static const struct complaint string_type = { "string_type", "Input should be a valid string" };

    if (!unsafe_yyjson_is_str(value))
        return problems_report(r->problems, at, &string_type, value);
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
static int find_choice(const struct reader *r, const struct path_step *at,
                       const char *const *choices, yyjson_val *value)
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
        r->problems, at,
        (struct complaint){ "literal_error",
                            arena_printf(r->arena, "Input should be %s", expected).data },
        value, arena_printf(r->arena, "{\"expected\":\"%s\"}", expected));
    return -1;
}

bool check_enum(const struct reader *r, const struct path_step *at, const struct field *field,
                yyjson_val *value, void *to)
{
    int *ret = to;

    *ret = find_choice(r, at, field->choices, value);
    return *ret >= 0;
}

static bool refuse_length(const struct reader *r, const struct path_step *at, bool is_short,
                          uint32_t bound, yyjson_val *value)
{
    const char *msg = arena_printf(r->arena, "String should have at %s %u character%s",
                                   is_short ? "least" : "most", bound, bound == 1 ? "" : "s")
                          .data;

    return problems_report_ctx(
        r->problems, at,
        (struct complaint){ is_short ? "string_too_short" : "string_too_long", msg }, value,
        arena_printf(r->arena, "{\"%s_length\":%u}", is_short ? "min" : "max", bound));
}

bool check_str(const struct reader *r, const struct path_step *at, const struct field *field,
               yyjson_val *value, void *to)
{
    struct str *ret = to;

    if (field->choices != NULL && find_choice(r, at, field->choices, value) < 0)
        return false;
    if (!check_text(r, at, value, ret))
        return false;
    if (field->min > 0 && utf8_count(*ret) < field->min)
        return refuse_length(r, at, true, field->min, value);
    return field->max == 0 || ret->len <= field->max || utf8_count(*ret) <= field->max ||
           refuse_length(r, at, false, field->max, value);
}

static bool report_time(const struct reader *r, const struct path_step *at, yyjson_val *value,
                        struct complaint what, const char *error)
{
    what.msg = arena_printf(r->arena, "%s, %s", what.msg, error).data;
    return problems_report_ctx(r->problems, at, what, value,
                               problems_error_ctx(r->arena, str_of(error)));
}

bool check_time(const struct reader *r, const struct path_step *at, const struct field *field,
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
        return problems_report(r->problems, at, &datetime_type, value);
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
static bool refuse_bound(const struct reader *r, const struct path_step *at, yyjson_val *value,
                         const char *than, const char *key, int64_t bound)
{
    const struct complaint what = {
        arena_printf(r->arena, "%s_than_equal", than).data,
        arena_printf(r->arena, "Input should be %s than or equal to %" PRId64, than, bound).data,
    };

    return problems_report_ctx(r->problems, at, what, value,
                               arena_printf(r->arena, "{\"%s\":%" PRId64 "}", key, bound));
}

static bool in_bounds(const struct reader *r, const struct path_step *at, yyjson_val *value,
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

static bool integer_from_real(const struct reader *r, const struct path_step *at, yyjson_val *value,
                              int64_t *ret)
{
    double real = unsafe_yyjson_get_real(value);

    if (real != trunc(real))
        return problems_report(r->problems, at, &int_from_float, value);
    if (real >= 0x1p63 || real <= -0x1p63)
        return problems_report(r->problems, at, &int_parsing_size, value);
    *ret = (int64_t)real;
    return true;
}

/* A query may hold an integer in a string; a body may not, but its message depends on the text. */
static bool integer_from_string(const struct reader *r, const struct path_step *at,
                                yyjson_val *value, enum lax_result *ret_size, int64_t *ret)
{
    *ret_size = lax_integer(json_str(value), ret);
    if (*ret_size == LAX_UNREADABLE)
        return problems_report(r->problems, at, &int_parsing, value);
    if (*ret_size == LAX_TOO_LONG)
        return problems_report(r->problems, at, &int_parsing_size, value);
    return r->lax || problems_report(r->problems, at, &int_type, value);
}

static bool bounded_integer(const struct reader *r, const struct path_step *at,
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
            return problems_report(r->problems, at, &finite_number, value);
        size = unsafe_yyjson_get_raw(value)[0] == '-' ? LAX_TOO_SMALL : LAX_TOO_LARGE;
    } else if (unsafe_yyjson_is_str(value)) {
        if (!integer_from_string(r, at, value, &size, &n))
            return false;
    } else {
        return problems_report(r->problems, at, &int_type, value);
    }
    *ret = n;
    return in_bounds(r, at, value, size, field, n);
}

bool check_integer(const struct reader *r, const struct path_step *at, yyjson_val *value,
                   int64_t *ret)
{
    return bounded_integer(r, at, NULL, value, ret);
}

bool check_int(const struct reader *r, const struct path_step *at, const struct field *field,
               yyjson_val *value, void *to)
{
    return bounded_integer(r, at, field, value, to);
}

bool check_opt_int(const struct reader *r, const struct path_step *at, const struct field *field,
                   yyjson_val *value, void *to)
{
    struct opt_int *ret = to;

    ret->has = bounded_integer(r, at, field, value, &ret->value);
    return ret->has;
}

static bool real_from_string(const struct reader *r, const struct path_step *at, yyjson_val *value,
                             double *ret)
{
    if (!lax_real(json_str(value), r->arena, ret))
        return problems_report(r->problems, at, &float_parsing, value);
    if (!r->lax)
        return problems_report(r->problems, at, &float_type, value);
    return isfinite(*ret) || problems_report(r->problems, at, &finite_number, value);
}

bool check_real(const struct reader *r, const struct path_step *at, yyjson_val *value, double *ret)
{
    if (unsafe_yyjson_is_num(value)) {
        *ret = unsafe_yyjson_get_num(value);
        return true;
    }
    if (unsafe_yyjson_is_str(value))
        return real_from_string(r, at, value, ret);
    if (!unsafe_yyjson_is_raw(value))
        return problems_report(r->problems, at, &float_type, value);
    if (json_is_raw_real(value))
        return problems_report(r->problems, at, &finite_number, value);
    *ret = json_raw_to_real(value);
    return isfinite(*ret) || problems_report(r->problems, at, &float_type, value);
}

bool check_number(const struct reader *r, const struct path_step *at, const struct field *field,
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

bool check_bool(const struct reader *r, const struct path_step *at, const struct field *field,
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
    return problems_report(r->problems, at, is_unreadable_bool(value) ? &bool_parsing : &bool_type,
                           value);
}

bool check_opt_bool(const struct reader *r, const struct path_step *at, const struct field *field,
                    yyjson_val *value, void *to)
{
    struct opt_bool *ret = to;

    ret->has = check_bool(r, at, field, value, &ret->value);
    return ret->has;
}

enum { HYPHENS = 4 };

/* What a scan of a string of hex digits and hyphens finds. */
struct groups {
    size_t hyphens;
    size_t ends[HYPHENS]; /* positions of the first ones */
};

/* Removes braces or the urn prefix and returns how many leading bytes were removed. */
static size_t strip_uuid(struct str *s)
{
    static const struct str urn = STR_INIT("urn:uuid:");

    if (s->len >= 2 && s->data[0] == '{' && s->data[s->len - 1] == '}') {
        *s = str_from(s->data + 1, s->len - 2);
        return 1;
    }
    if (str_starts(*s, urn)) {
        *s = str_from(s->data + urn.len, s->len - urn.len);
        return urn.len;
    }
    return 0;
}

static struct str diagnose_groups(const struct groups *groups, size_t len, struct arena *arena)
{
    static const size_t starts[] = { 0, 9, 14, 19, 24 };
    static const size_t lengths[] = { 8, 4, 4, 4, 12 };
    size_t group = 0, found;

    while (group < HYPHENS && groups->ends[group] == starts[group + 1] - 1)
        group++;
    found = group < HYPHENS ? groups->ends[group] - starts[group] : len - starts[HYPHENS];
    return arena_printf(arena, "invalid group length in group %zu: expected %zu, found %zu", group,
                        lengths[group], found);
}

/* Why uuid_parse() refused `s`. */
static struct str diagnose_uuid(struct str s, struct arena *arena)
{
    struct groups groups = { 0 };
    struct str inside = s, bare;
    size_t offset;

    if (strip_uuid(&inside) > 0 && inside.len == UUID_TEXT_LEN)
        s = inside; /* positions then count from inside the braces or after the prefix */
    bare = s;
    offset = strip_uuid(&bare);
    for (size_t i = 0; i < bare.len; i++) {
        size_t len;

        if (bare.data[i] == '-') {
            if (groups.hyphens < HYPHENS)
                groups.ends[groups.hyphens] = i;
            groups.hyphens++;
        } else if (str_hex_digit(bare.data[i]) < 0) {
            (void)utf8_step(bare.data + i, bare.data + bare.len, &len);
            return arena_printf(arena, "invalid character: found `%.*s` at %zu", (int)len,
                                bare.data + i, i + offset + 1);
        }
    }
    if (groups.hyphens == 0 && offset == 0)
        return arena_printf(
            arena, "invalid length: expected length 32 for simple format, found %zu", s.len);
    if (groups.hyphens != HYPHENS)
        return arena_printf(arena, "invalid group count: expected 5, found %zu",
                            groups.hyphens + 1);
    return diagnose_groups(&groups, s.len, arena);
}

bool check_uuid(const struct reader *r, const struct path_step *at, const struct field *field,
                yyjson_val *value, void *to)
{
    static const struct complaint uuid_type = {
        "uuid_type", "UUID input should be a string, bytes or UUID object"
    };
    char text[UUID_TEXT_LEN];
    struct str *ret = to;
    struct str error;

    (void)field;
    if (!unsafe_yyjson_is_str(value))
        return problems_report(r->problems, at, &uuid_type, value);
    if (!check_text(r, at, value, ret))
        return false;
    if (uuid_parse(*ret, text)) {
        if (!str_eq(*ret, str_from(text, sizeof(text))))
            *ret = arena_copy(r->arena, str_from(text, sizeof(text)));
        return true;
    }
    error = diagnose_uuid(*ret, r->arena);
    return problems_report_ctx(
        r->problems, at,
        (struct complaint){
            "uuid_parsing",
            arena_printf(r->arena, "Input should be a valid UUID, %s", error.data).data },
        value, problems_error_ctx(r->arena, error));
}
