/* json_diagnose.c - why a JSON text is invalid, and where, as the contract words it.
 *
 * Messages and positions are those of CPython 3.11's decoder, whose order of
 * tests this follows. Runs only on texts that yyjson did not accept.
 */
#include "shape/json.h"

struct scan {
    const char *start, *at, *end;
    uint64_t objects; /* one bit per level, the innermost lowest: object or array */
    int depth;
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

static bool in_object(const struct scan *s)
{
    return (s->objects & 1) != 0;
}

static bool close_level(struct scan *s)
{
    if (peek(s) != (in_object(s) ? '}' : ']'))
        return false;
    s->at++;
    s->objects >>= 1;
    s->depth--;
    return true;
}

/* At a bracket. *ret_closed: the container was empty and is closed. */
static bool open_level(struct scan *s, bool *ret_closed)
{
    if (s->depth == JSON_DEPTH_MAX)
        return fail(s, "Too deeply nested", s->at);
    s->objects = s->objects << 1 | (*s->at == '{');
    s->depth++;
    s->at++;
    skip_space(s);
    *ret_closed = close_level(s);
    return *ret_closed || !in_object(s) || scan_name(s);
}

/* After a value: closes what ends here and moves to the next value, or to the end (*ret_done). */
static bool after_value(struct scan *s, bool *ret_done)
{
    *ret_done = false;
    for (;;) {
        skip_space(s);
        if (s->depth == 0) {
            *ret_done = true;
            return s->at == s->end || fail(s, "Extra data", s->at);
        }
        if (!close_level(s))
            break;
    }
    if (peek(s) != ',')
        return fail(s, "Expecting ',' delimiter", s->at);
    s->at++;
    skip_space(s);
    return !in_object(s) || scan_name(s);
}

bool json_diagnose(struct str text, struct json_fault *ret)
{
    struct scan s = {
        .start = text.data, .at = text.data, .end = text.data + text.len, .fault = ret
    };
    bool done = false;

    skip_space(&s);
    while (!done) {
        bool complete = true;

        if (peek(&s) == '{' || peek(&s) == '[') {
            if (!open_level(&s, &complete))
                return true;
        } else if (!scan_scalar(&s)) {
            return true;
        }
        if (complete && !after_value(&s, &done))
            return true;
    }
    return false;
}
