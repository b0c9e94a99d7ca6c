/* json_write.c - measures first, then writes without bounds checks. */
#include "shape/json_write.h"

#include <math.h>

#include "base/err.h"
#include "shape/json.h"

enum { INTEGER_MAX = 20, STRING_SCAN_FROM = 64 };

/* Significant digits and the position of the point: 0.d1d2d3… times ten to the power of `point`. */
struct decimal {
    char digits[JSON_REAL_MAX];
    int n, point;
};

/* yyjson finds the fewest digits; its text is parsed. */
static struct decimal shortest(double value)
{
    struct yyjson_val number = { 0 };
    char memory[1024];
    yyjson_alc alc;
    struct decimal d = { .n = 0 };
    const char *text;
    bool fraction = false;
    size_t len = 0;

    unsafe_yyjson_set_real(&number, value);
    (void)yyjson_alc_pool_init(&alc, memory, sizeof(memory));
    text = yyjson_val_write_opts(&number, YYJSON_WRITE_NOFLAG, &alc, &len, NULL);
    if (text == NULL)
        err_die("json: cannot write %a", value);
    for (; *text != '\0' && *text != 'e' && *text != 'E'; text++) {
        if (*text == '.') {
            fraction = true;
        } else if (*text != '0' || d.n > 0) {
            d.digits[d.n++] = *text;
            d.point += !fraction;
        } else {
            d.point -= fraction; /* a zero between the point and the first digit */
        }
    }
    if (*text != '\0') {
        int exponent = 0;
        bool negative = *++text == '-';

        for (text += *text == '-' || *text == '+'; *text != '\0'; text++)
            exponent = exponent * 10 + (*text - '0');
        d.point += negative ? -exponent : exponent;
    }
    while (d.n > 0 && d.digits[d.n - 1] == '0')
        d.n--;
    return d;
}

static char *put_bytes(char *at, const char *bytes, size_t n)
{
    if (n > 0)
        memcpy(at, bytes, n);
    return at + n;
}

static char *put_zeros(char *at, int n)
{
    while (n-- > 0)
        *at++ = '0';
    return at;
}

static char *put_integer(char *at, uint64_t value)
{
    char digits[INTEGER_MAX];
    size_t n = 0;

    do {
        digits[sizeof(digits) - ++n] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    return put_bytes(at, digits + sizeof(digits) - n, n);
}

/* d.ddde+XX, the exponent of two digits at least. */
static char *put_scientific(char *at, const struct decimal *d)
{
    int exponent = d->point - 1;

    *at++ = d->digits[0];
    if (d->n > 1) {
        *at++ = '.';
        at = put_bytes(at, d->digits + 1, (size_t)d->n - 1);
    }
    *at++ = 'e';
    *at++ = exponent < 0 ? '-' : '+';
    if (exponent < 0)
        exponent = -exponent;
    if (exponent < 10)
        *at++ = '0';
    return put_integer(at, (uint64_t)exponent);
}

static char *put_fixed(char *at, const struct decimal *d)
{
    int whole = d->n < d->point ? d->n : d->point; /* digits before the point */

    if (whole <= 0) {
        at = put_bytes(at, "0.", 2);
        at = put_zeros(at, -d->point);
        return put_bytes(at, d->digits, (size_t)d->n);
    }
    at = put_bytes(at, d->digits, (size_t)whole);
    at = put_zeros(at, d->point - whole);
    *at++ = '.';
    if (whole == d->n)
        *at++ = '0';
    return put_bytes(at, d->digits + whole, (size_t)(d->n - whole));
}

/* A fast path for short numbers such as 12.5: up to fifteen digits that read back as the value are
 * the fewest, and dividing exact numbers gives what reading gives. NULL: more digits are needed. */
static char *put_short(char *at, double value)
{
    double scale = 1;

    for (int places = 0; places <= 4 && value * scale < 1e15; places++, scale *= 10) {
        uint64_t digits = (uint64_t)(value * scale + 0.5);

        if ((double)digits / scale != value)
            continue;
        at = put_integer(at, digits / (uint64_t)scale);
        *at++ = '.';
        digits %= (uint64_t)scale;
        for (uint64_t unit = (uint64_t)scale / 10; unit > 1; unit /= 10)
            *at++ = (char)('0' + digits / unit % 10);
        *at++ = (char)('0' + digits % 10);
        return at;
    }
    return NULL;
}

static char *put_real(char *at, double value)
{
    struct decimal d;
    char *end;

    if (signbit(value)) {
        *at++ = '-';
        value = -value;
    }
    end = put_short(at, value);
    if (end != NULL)
        return end;
    d = shortest(value);
    return d.point > -4 && d.point <= 16 ? put_fixed(at, &d) : put_scientific(at, &d);
}

size_t json_write_real(double value, char text[JSON_REAL_MAX])
{
    return (size_t)(put_real(text, value) - text);
}

void json_add_real(struct buf *out, double value)
{
    char text[JSON_REAL_MAX];

    if (isfinite(value))
        buf_add(out, str_from(text, json_write_real(value, text)));
    else
        buf_add(out, STR_LIT("null"));
}

static bool needs_escape(unsigned char c)
{
    return c < 0x20 || c == '"' || c == '\\';
}

static char *put_escape(char *at, unsigned char c)
{
    static const char hex[] = "0123456789abcdef";
    static const char shorts[] = "btn_fr"; /* for 8 to 13; 11 has none */

    *at++ = '\\';
    if (c == '"' || c == '\\') {
        *at++ = (char)c;
    } else if (c >= 8 && c <= 13 && c != 11) {
        *at++ = shorts[c - 8];
    } else {
        at = put_bytes(at, "u00", 3);
        *at++ = hex[c >> 4];
        *at++ = hex[c & 15];
    }
    return at;
}

static char *put_string(char *at, struct str s, bool plain)
{
    *at++ = '"';
    if (plain) {
        at = put_bytes(at, s.data, s.len);
    } else {
        for (size_t i = 0; i < s.len; i++) {
            unsigned char c = (unsigned char)s.data[i];

            if (UNLIKELY(needs_escape(c)))
                at = put_escape(at, c);
            else
                *at++ = (char)c;
        }
    }
    *at++ = '"';
    return at;
}

static char *put_number(char *at, yyjson_val *value)
{
    if (unsafe_yyjson_is_real(value))
        return put_real(at, unsafe_yyjson_get_real(value));
    if (unsafe_yyjson_is_sint(value) && unsafe_yyjson_get_sint(value) < 0) {
        *at++ = '-';
        return put_integer(at, 0 - (uint64_t)unsafe_yyjson_get_sint(value));
    }
    return put_integer(at, unsafe_yyjson_get_uint(value));
}

static char *put_scalar(char *at, yyjson_val *value, bool plain)
{
    switch (unsafe_yyjson_get_type(value)) {
    case YYJSON_TYPE_STR:
        return put_string(at, json_str(value), plain);
    case YYJSON_TYPE_NUM:
        return put_number(at, value);
    case YYJSON_TYPE_BOOL:
        return unsafe_yyjson_is_true(value) ? put_bytes(at, "true", 4) : put_bytes(at, "false", 5);
    case YYJSON_TYPE_RAW:
        if (!json_is_raw_real(value)) /* an integer; a real beyond double is null */
            return put_bytes(at, unsafe_yyjson_get_raw(value), unsafe_yyjson_get_len(value));
        return put_bytes(at, "null", 4);
    default:
        return put_bytes(at, "null", 4);
    }
}

/* Nesting is bounded by JSON_DEPTH_MAX. */
static char *put_value(char *at, yyjson_val *value, bool plain)
{
    bool is_object = unsafe_yyjson_is_obj(value);
    size_t n = unsafe_yyjson_get_len(value);
    yyjson_val *item = unsafe_yyjson_get_first(value);

    if (!unsafe_yyjson_is_ctn(value))
        return put_scalar(at, value, plain);
    *at++ = is_object ? '{' : '[';
    for (size_t i = 0; i < n; i++) {
        if (i > 0)
            *at++ = ',';
        if (is_object) {
            at = put_string(at, json_str(item++), plain);
            *at++ = ':';
        }
        at = put_value(at, item, plain);
        item = unsafe_yyjson_get_next(item);
    }
    *at++ = is_object ? '}' : ']';
    return at;
}

/* An upper bound of the string's bytes; short strings are not scanned. */
static size_t string_room(struct str s, bool plain)
{
    size_t room = s.len + 2;

    if (plain)
        return room;
    if (s.len < STRING_SCAN_FROM)
        return s.len * 6 + 2;
    for (size_t i = 0; i < s.len; i++)
        room += needs_escape((unsigned char)s.data[i]) ? 5 : 0;
    return room;
}

static size_t scalar_room(yyjson_val *value, bool plain)
{
    if (unsafe_yyjson_is_str(value))
        return string_room(json_str(value), plain);
    if (unsafe_yyjson_is_raw(value))
        return unsafe_yyjson_get_len(value) + 4;
    return JSON_REAL_MAX;
}

/* An upper bound of the value's bytes; stops counting beyond `max`. */
static size_t value_room(yyjson_val *value, bool plain, size_t max)
{
    bool is_object = unsafe_yyjson_is_obj(value);
    size_t n = unsafe_yyjson_get_len(value), room = 2;
    yyjson_val *item = unsafe_yyjson_get_first(value);

    if (!unsafe_yyjson_is_ctn(value))
        return scalar_room(value, plain);
    for (size_t i = 0; i < n && room <= max; i++) {
        if (is_object)
            room += string_room(json_str(item++), plain) + 1;
        room += value_room(item, plain, max) + 1;
        item = unsafe_yyjson_get_next(item);
    }
    return room;
}

/* STR_NULL, with the memory returned, when the text is longer than `max`. */
static struct str write_into_arena(yyjson_val *value, bool plain, size_t room, size_t max,
                                   struct arena *arena)
{
    char *text = arena_alloc(arena, room);
    size_t len = (size_t)(put_value(text, value, plain) - text);

    text = arena_resize(arena, text, room, len <= max ? len : 0);
    return len <= max ? str_from(text, len) : STR_NULL;
}

struct str json_write_text(yyjson_val *value, bool plain, struct arena *arena)
{
    return write_into_arena(value, plain, value_room(value, plain, SIZE_MAX), SIZE_MAX, arena);
}

struct str json_write_short_text(yyjson_val *value, size_t max, struct arena *arena)
{
    /* The bound is at most JSON_REAL_MAX times the actual length: `1` is the worst case. */
    size_t room_max = max * JSON_REAL_MAX;
    size_t room = value_room(value, false, room_max);

    return room > room_max ? STR_NULL : write_into_arena(value, false, room, max, arena);
}
