/* json.c - reads with yyjson into the arena and writes values; unusual text is read a second time,
 * slowly.
 *
 * Nearly every body has no two members with the same name, so the search for them must be cheap:
 * small objects use a table of bytes on the stack, whose worst case is bounded by their size;
 * larger ones use a keyed hash, so that a client cannot choose names that collide.
 */
#include "shape/json.h"

#include <math.h>
#include <stdlib.h>

#include "base/digest.h"
#include "base/err.h"
#include "base/mem.h"

struct json_survey {
    bool too_deep;   /* more than JSON_DEPTH_MAX levels */
    bool duplicates; /* some object has two members with the same name; unknown when too_deep */
    bool bignums;
};

enum { SMALL_MAX = 32, SMALL_SLOTS = 64 };

static bool same_name(yyjson_val *a, yyjson_val *b)
{
    return str_eq(json_str(a), json_str(b));
}

static unsigned small_hash(struct str name)
{
    const unsigned char *bytes = (const unsigned char *)name.data;

    if (name.len == 0)
        return 0;
    return (unsigned)name.len * 7 + bytes[0] + bytes[name.len / 2] * 5U + bytes[name.len - 1] * 3U;
}

static bool small_has_duplicates(yyjson_val *object, size_t n)
{
    uint8_t slots[SMALL_SLOTS] = { 0 }; /* index of a name plus 1, or 0 */
    yyjson_val *names[SMALL_MAX];
    yyjson_val *name = unsafe_yyjson_get_first(object);

    for (size_t i = 0; i < n; i++) {
        unsigned at = small_hash(json_str(name)) % SMALL_SLOTS;

        while (slots[at] != 0) {
            if (same_name(names[slots[at] - 1], name))
                return true;
            at = (at + 1) % SMALL_SLOTS;
        }
        names[i] = name;
        slots[at] = (uint8_t)(i + 1);
        name = unsafe_yyjson_get_next(name + 1);
    }
    return false;
}

/* The distinct names of an object, each with its last value. */
struct member {
    yyjson_val *name, *value;
};

struct members {
    struct member *items;
    size_t n;
};

static struct members distinct_members(yyjson_val *object, struct arena *arena)
{
    size_t n = unsafe_yyjson_get_len(object), capacity = 4;
    struct members ret = { .n = 0 };
    yyjson_val *name = unsafe_yyjson_get_first(object);
    uint32_t *slots; /* index of a member plus 1, or 0 */

    while (capacity < n * 2)
        capacity *= 2;
    slots = ARENA_ARRAY(arena, uint32_t, capacity);
    ret.items = arena_alloc(arena, n * sizeof(struct member));
    for (size_t i = 0; i < n; i++) {
        size_t at = (size_t)digest_sip(json_str(name)) & (capacity - 1);

        while (slots[at] != 0 && !same_name(ret.items[slots[at] - 1].name, name))
            at = (at + 1) & (capacity - 1);
        if (slots[at] == 0) {
            ret.items[ret.n++].name = name;
            slots[at] = (uint32_t)ret.n;
        }
        ret.items[slots[at] - 1].value = name + 1;
        name = unsafe_yyjson_get_next(name + 1);
    }
    return ret;
}

static bool has_duplicates(yyjson_val *object, struct arena *arena)
{
    size_t n = unsafe_yyjson_get_len(object);

    return n <= SMALL_MAX ? small_has_duplicates(object, n) : distinct_members(object, arena).n < n;
}

static void survey_values(struct json_survey *survey, yyjson_val *container, int depth,
                          struct arena *arena)
{
    size_t n = unsafe_yyjson_get_len(container);
    bool is_object = unsafe_yyjson_is_obj(container);
    yyjson_val *value = unsafe_yyjson_get_first(container);

    if (depth > JSON_DEPTH_MAX) {
        survey->too_deep = true;
        return;
    }
    if (is_object && !survey->duplicates)
        survey->duplicates = has_duplicates(container, arena);
    for (size_t i = 0; i < n && !survey->too_deep; i++) {
        value += is_object;
        if (unsafe_yyjson_is_ctn(value))
            survey_values(survey, value, depth + 1, arena);
        else
            survey->bignums |= unsafe_yyjson_is_raw(value);
        value = unsafe_yyjson_get_next(value);
    }
}

/* Copies the subtree of `value` to *out, which is advanced past it. */
static void copy(yyjson_val *value, yyjson_val **out, struct arena *arena)
{
    yyjson_val *self = (*out)++;
    size_t n = unsafe_yyjson_get_len(value);

    *self = *value;
    if (unsafe_yyjson_is_obj(value)) {
        struct members members = distinct_members(value, arena);

        for (size_t i = 0; i < members.n; i++) {
            *(*out)++ = *members.items[i].name;
            copy(members.items[i].value, out, arena);
        }
        unsafe_yyjson_set_len(self, members.n);
    } else if (unsafe_yyjson_is_arr(value)) {
        yyjson_val *item = unsafe_yyjson_get_first(value);

        for (size_t i = 0; i < n; i++, item = unsafe_yyjson_get_next(item))
            copy(item, out, arena);
    } else {
        return;
    }
    self->uni.ofs = (size_t)(*out - self) * sizeof(*self);
}

/* A copy without duplicates, of `n_values` values at most. Not for a tree that is too deep. */
static yyjson_val *copy_unique(yyjson_val *root, size_t n_values, struct arena *arena)
{
    yyjson_val *values = arena_alloc(arena, n_values * sizeof(*values));
    yyjson_val *out = values;

    copy(root, &out, arena);
    return values;
}

/* Why a text is invalid, and where, as the contract words it: messages and positions are those of
 * CPython 3.11's decoder, whose order of tests this follows. */

struct scan {
    const char *start, *at, *end;
    struct json_fault *fault;
};

static bool fail(struct scan *s, const char *error, const char *where)
{
    s->fault->error = error;
    s->fault->at = utf8_count(str_from(s->start, (size_t)(where - s->start)));
    return false;
}

/* The current byte, or -1 at the end. */
static int peek(const struct scan *s)
{
    return s->at < s->end ? (unsigned char)*s->at : -1;
}

static void skip_space(struct scan *s)
{
    while (s->at < s->end && (*s->at == ' ' || *s->at == '\t' || *s->at == '\n' || *s->at == '\r'))
        s->at++;
}

static bool is_digit(int c)
{
    return c >= '0' && c <= '9';
}

/* At the `u`. Four digits that end the text are not enough: a quote must follow. */
static bool scan_unicode_escape(struct scan *s)
{
    const char *u = s->at;

    if (s->end - u <= 5)
        return fail(s, "Invalid \\uXXXX escape", u);
    for (int i = 1; i <= 4; i++) {
        if (str_hex_digit(u[i]) < 0)
            return fail(s, "Invalid \\uXXXX escape", u);
    }
    s->at += 5;
    return true;
}

/* At the backslash. */
static bool scan_escape(struct scan *s, const char *quote)
{
    s->at++;
    if (peek(s) < 0)
        return fail(s, "Unterminated string starting at", quote);
    if (*s->at == 'u')
        return scan_unicode_escape(s);
    if (*s->at == '\0' || strchr("\"\\/bfnrt", *s->at) == NULL)
        return fail(s, "Invalid \\escape", s->at - 1);
    s->at++;
    return true;
}

/* At the opening quote. */
static bool scan_string(struct scan *s)
{
    const char *quote = s->at++;

    for (;;) {
        int c = peek(s);

        if (c < 0)
            return fail(s, "Unterminated string starting at", quote);
        if (c == '"')
            break;
        if (c < 0x20)
            return fail(s, "Invalid control character at", s->at);
        if (c != '\\')
            s->at++;
        else if (!scan_escape(s, quote))
            return false;
    }
    s->at++;
    return true;
}

static void skip_digits(struct scan *s)
{
    while (is_digit(peek(s)))
        s->at++;
}

/* The longest number that begins here. */
static bool scan_number(struct scan *s)
{
    const char *start = s->at, *mark;

    if (peek(s) == '-')
        s->at++;
    if (!is_digit(peek(s)))
        return fail(s, "Expecting value", start);
    if (*s->at == '0')
        s->at++;
    else
        skip_digits(s);
    if (peek(s) == '.' && s->end - s->at > 1 && is_digit((unsigned char)s->at[1])) {
        s->at++;
        skip_digits(s);
    }
    mark = s->at;
    if (peek(s) == 'e' || peek(s) == 'E') {
        s->at++;
        if (peek(s) == '+' || peek(s) == '-')
            s->at++;
        if (!is_digit(peek(s)))
            s->at = mark;
        skip_digits(s);
    }
    return true;
}

static bool scan_scalar(struct scan *s)
{
    static const struct str words[] = { STR_INIT("null"), STR_INIT("true"), STR_INIT("false") };

    if (peek(s) == '"')
        return scan_string(s);
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        if (str_starts(str_from(s->at, (size_t)(s->end - s->at)), words[i])) {
            s->at += words[i].len;
            return true;
        }
    }
    return scan_number(s);
}

/* A member's name, its colon, and the space around. */
static bool scan_name(struct scan *s)
{
    if (peek(s) != '"')
        return fail(s, "Expecting property name enclosed in double quotes", s->at);
    if (!scan_string(s))
        return false;
    skip_space(s);
    if (peek(s) != ':')
        return fail(s, "Expecting ':' delimiter", s->at);
    s->at++;
    skip_space(s);
    return true;
}

static bool scan_value(struct scan *s, int depth);

/* At a bracket. */
static bool scan_container(struct scan *s, int depth)
{
    const bool is_object = *s->at++ == '{';
    const char close = is_object ? '}' : ']';

    if (depth == JSON_DEPTH_MAX)
        return fail(s, "Too deeply nested", s->at - 1);
    skip_space(s);
    for (bool first = true; peek(s) != close || !first; first = false) {
        if ((is_object && !scan_name(s)) || !scan_value(s, depth + 1))
            return false;
        skip_space(s);
        if (peek(s) == close)
            break;
        if (peek(s) != ',')
            return fail(s, "Expecting ',' delimiter", s->at);
        s->at++;
        skip_space(s);
    }
    s->at++;
    return true;
}

static bool scan_value(struct scan *s, int depth)
{
    return peek(s) == '{' || peek(s) == '[' ? scan_container(s, depth) : scan_scalar(s);
}

/* False when `text` (without BOM) is well-formed and not too deep; else true, with the reason in
 * `ret`. */
static bool diagnose(struct str text, struct json_fault *ret)
{
    struct scan s = {
        .start = text.data, .at = text.data, .end = text.data + text.len, .fault = ret
    };

    skip_space(&s);
    if (!scan_value(&s, 0))
        return true;
    skip_space(&s);
    return s.at != s.end && !fail(&s, "Extra data", s.at);
}

enum { LARGE_FROM = 1 << 20 };

/* yyjson allocates an array of values and grows it when its guess was too small. Growing in an
 * arena leaves garbage, so the first growth makes the array as large as any sane text needs;
 * untouched memory costs nothing. */
struct room {
    struct arena *arena;
    size_t values_max; /* bytes */
    void *block;
    size_t block_size;
};

static void *room_malloc(void *ctx, size_t size)
{
    struct room *room = ctx;

    return arena_alloc(room->arena, size);
}

static void *room_realloc(void *ctx, void *memory, size_t old_size, size_t size)
{
    struct room *room = ctx;
    size_t reserved = size > room->values_max ? size : room->values_max;
    void *moved;

    if (size <= old_size || (memory == room->block && size <= room->block_size))
        return memory;
    moved = arena_alloc(room->arena, reserved);
    memcpy(moved, memory, old_size);
    room->block = moved;
    room->block_size = reserved;
    return moved;
}

static void room_free(void *ctx, void *memory)
{
    (void)ctx; /* freed with the arena */
    (void)memory;
}

static yyjson_doc *parse(struct str text, struct arena *arena)
{
    /* A value takes two bytes of text or more ("0,"); yyjson asks for half as much again. */
    struct room room = { .arena = arena,
                         .values_max = (text.len / 4 * 3 + 32) * sizeof(struct yyjson_val) };
    yyjson_alc alc = { room_malloc, room_realloc, room_free, &room };
    char *copy = arena_alloc(arena, text.len + YYJSON_PADDING_SIZE); /* the strings stay in it */

    memcpy(copy, text.data, text.len);
    memset(copy + text.len, 0, YYJSON_PADDING_SIZE);
    return yyjson_read_opts(copy, text.len, YYJSON_READ_INSITU | YYJSON_READ_BIGNUM_AS_RAW, &alc,
                            NULL);
}

static void *heap_malloc(void *ctx, size_t size)
{
    (void)ctx;
    return mem_alloc(size);
}

static void *heap_realloc(void *ctx, void *memory, size_t old_size, size_t size)
{
    (void)ctx;
    (void)old_size;
    return mem_resize(memory, size);
}

static void heap_free(void *ctx, void *memory)
{
    (void)ctx;
    free(memory);
}

yyjson_doc *json_read_stored(struct str text)
{
    static const yyjson_alc heap = { heap_malloc, heap_realloc, heap_free, NULL };
    char *unchanged; /* it takes a copy unless it is told to read in place */

    memcpy((void *)&unchanged, (const void *)&text.data, sizeof(unchanged));
    return yyjson_read_opts(unchanged, text.len, 0, &heap, NULL);
}

/* A text of brackets alone makes a value of every byte, so the depth of a large text is checked
 * before it may take that much memory. Exact for well-formed text; diagnose() decides on the
 * rest. */
static bool looks_too_deep(struct str text)
{
    size_t depth = 0;
    bool in_string = false;

    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];

        if (c == '"')
            in_string = !in_string;
        else if (in_string)
            i += c == '\\';
        else if ((c == '[' || c == '{') && ++depth > JSON_DEPTH_MAX)
            return true;
        else if ((c == ']' || c == '}') && depth > 0)
            depth--;
    }
    return false;
}

static bool fault_at(struct json_fault *fault, const char *error, struct str text, size_t byte)
{
    *fault = (struct json_fault){ error, utf8_count(str_from(text.data, byte)) };
    return true;
}

/* UTF-16 without a BOM has a NUL among its first two bytes. */
static bool is_not_utf8(struct str text, struct json_fault *fault)
{
    size_t valid = utf8_valid_len(text);

    for (size_t i = 0; i < 2 && text.len >= 2; i++) {
        if (text.data[i] == '\0')
            return fault_at(fault, "Invalid UTF-8", text, i);
    }
    return valid < text.len && fault_at(fault, "Invalid UTF-8", text, valid);
}

/* The four hex digits at `at`, of an escape known to be well-formed. */
static unsigned hex4(const char *at)
{
    char digits[5] = { at[0], at[1], at[2], at[3], '\0' };

    return (unsigned)strtoul(digits, NULL, 16);
}

/* A copy of well-formed text in which every lone surrogate escape is \u0000. */
static struct str without_lone_surrogates(struct str text, struct arena *arena)
{
    char *copy = arena_alloc(arena, text.len);
    char *end = copy + text.len;

    memcpy(copy, text.data, text.len);
    for (char *at = copy; at < end; at++) {
        unsigned unit;

        if (*at != '\\')
            continue;
        if (*++at != 'u')
            continue;
        unit = hex4(at + 1);
        if (unit >= 0xd800 && unit <= 0xdbff && end - at > 10 && at[5] == '\\' && at[6] == 'u' &&
            hex4(at + 7) >= 0xdc00 && hex4(at + 7) <= 0xdfff)
            at += 6; /* a pair */
        else if (unit >= 0xd800 && unit <= 0xdfff)
            memset(at + 1, '0', 4);
        at += 4;
    }
    return str_from(copy, text.len);
}

/* After yyjson refused: says why, or reads lone surrogates, which we accept. */
static yyjson_doc *parse_again(struct str text, struct arena *arena, struct json_fault *fault)
{
    yyjson_doc *doc;

    if (is_not_utf8(text, fault) || diagnose(text, fault))
        return NULL;
    doc = parse(without_lone_surrogates(text, arena), arena);
    if (doc == NULL)
        *fault = (struct json_fault){ "Expecting value", 0 };
    return doc;
}

int json_read(struct str text, struct arena *arena, struct json_doc *ret, struct json_fault *fault)
{
    static const struct str bom = STR_INIT("\xef\xbb\xbf");
    struct json_survey survey;
    yyjson_doc *doc;

    if (str_starts(text, bom))
        text = str_from(text.data + bom.len, text.len - bom.len);
    doc = text.len > LARGE_FROM && looks_too_deep(text) ? NULL : parse(text, arena);
    if (doc == NULL)
        doc = parse_again(text, arena, fault);
    if (doc == NULL)
        return -1;
    ret->root = yyjson_doc_get_root(doc);
    survey = (struct json_survey){ .bignums = unsafe_yyjson_is_raw(ret->root) };
    if (unsafe_yyjson_is_ctn(ret->root))
        survey_values(&survey, ret->root, 1, arena);
    if (survey.too_deep) {
        (void)diagnose(text, fault); /* finds the bracket */
        return -1;
    }
    if (survey.duplicates)
        ret->root = copy_unique(ret->root, yyjson_doc_get_val_count(doc), arena);
    ret->plain = memchr(text.data, '\\', text.len) == NULL;
    ret->bignums = survey.bignums;
    return 0;
}

bool json_is_raw_real(yyjson_val *value)
{
    struct str text;

    if (!unsafe_yyjson_is_raw(value))
        return false;
    text = json_str(value);
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] == '.' || text.data[i] == 'e' || text.data[i] == 'E')
            return true;
    }
    return false;
}

double json_raw_to_real(yyjson_val *value)
{
    struct str text = json_str(value);
    char digits[400]; /* more than the at most 309 digits of a finite double */

    if (text.len >= sizeof(digits))
        return text.data[0] == '-' ? -INFINITY : INFINITY;
    memcpy(digits, text.data, text.len);
    digits[text.len] = '\0';
    return strtod(digits, NULL);
}

void json_add_real(struct buf *out, double value)
{
    struct yyjson_val number = { 0 };
    char memory[1024]; /* as much as yyjson asks for */
    const char *text = "null";
    yyjson_alc alc;
    size_t len = 4;

    if (isfinite(value)) {
        unsafe_yyjson_set_real(&number, value);
        (void)yyjson_alc_pool_init(&alc, memory, sizeof(memory));
        text = yyjson_val_write_opts(&number, YYJSON_WRITE_NOFLAG, &alc, &len, NULL);
        if (text == NULL)
            err_die("json: cannot write %a", value);
    }
    buf_add(out, str_from(text, len));
}

static void add_scalar(struct buf *out, yyjson_val *value)
{
    if (unsafe_yyjson_is_str(value))
        buf_add_json(out, json_str(value));
    else if (unsafe_yyjson_is_real(value))
        json_add_real(out, unsafe_yyjson_get_real(value));
    else if (unsafe_yyjson_is_sint(value))
        buf_add_int(out, unsafe_yyjson_get_sint(value));
    else if (unsafe_yyjson_is_uint(value))
        buf_printf(out, "%llu", (unsigned long long)unsafe_yyjson_get_uint(value));
    else if (unsafe_yyjson_is_bool(value))
        buf_add_c(out, unsafe_yyjson_is_true(value) ? "true" : "false");
    else if (unsafe_yyjson_is_raw(value) && !json_is_raw_real(value))
        buf_add(out, json_str(value));
    else
        buf_add_c(out, "null"); /* also for a real beyond double */
}

/* Nesting is bounded by JSON_DEPTH_MAX. */
static void add_value(struct buf *out, yyjson_val *value)
{
    const bool is_object = unsafe_yyjson_is_obj(value);
    const size_t n = unsafe_yyjson_get_len(value);
    yyjson_val *item = unsafe_yyjson_get_first(value);

    if (!unsafe_yyjson_is_ctn(value)) {
        add_scalar(out, value);
        return;
    }
    buf_add_char(out, is_object ? '{' : '[');
    for (size_t i = 0; i < n && !out->overflown; i++) {
        if (i > 0)
            buf_add_char(out, ',');
        if (is_object) {
            buf_add_json(out, json_str(item++));
            buf_add_char(out, ':');
        }
        add_value(out, item);
        item = unsafe_yyjson_get_next(item);
    }
    buf_add_char(out, is_object ? '}' : ']');
}

struct str json_write_short_text(yyjson_val *value, size_t max, struct arena *arena)
{
    BUF_SCOPED(out, max);

    add_value(&out, value);
    return out.overflown ? STR_NULL : buf_take(&out, arena);
}

struct str json_write_text(yyjson_val *value, struct arena *arena)
{
    return json_write_short_text(value, SIZE_MAX, arena);
}
