/* json_form.c - walks a JSON text once. */
#include "features/events/kinds/json_form.h"

#include <assert.h>
#include <string.h>

struct splitter {
    const char *at, *end;
    char *form, *values; /* where the next byte goes */
    int n_values;
};

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* After the string that begins here: its quote, or the end. */
static const char *string_end(const char *at, const char *end)
{
    for (at++; at < end && *at != '"'; at++)
        if (*at == '\\')
            at++;
    return at < end ? at + 1 : end;
}

static const char *word_end(const char *at, const char *end)
{
    while (at < end && strchr(",]}", *at) == NULL && !is_space(*at))
        at++;
    return at;
}

static void keep(struct splitter *s, const char *until)
{
    for (; s->at < until; s->at++) {
        if (*s->at == '%')
            *s->form++ = '%';
        *s->form++ = *s->at;
    }
}

static bool is_key(const struct splitter *s, const char *after)
{
    while (after < s->end && is_space(*after))
        after++;
    return after < s->end && *after == ':';
}

static bool take(struct splitter *s, const char *from, const char *until)
{
    const size_t n = (size_t)(until - from);

    if (s->n_values == JSON_FORM_VALUES || memchr(from, JSON_FORM_SEPARATOR, n) != NULL)
        return false;
    if (s->n_values++ > 0)
        *s->values++ = JSON_FORM_SEPARATOR;
    memcpy(s->values, from, n);
    s->values += n;
    *s->form++ = '%';
    *s->form++ = 's';
    return true;
}

static bool split_string(struct splitter *s)
{
    const char *after = string_end(s->at, s->end);

    if (is_key(s, after)) {
        keep(s, after);
        return true;
    }
    if (after - s->at < 2 || after[-1] != '"')
        return false;
    *s->form++ = '"';
    if (!take(s, s->at + 1, after - 1))
        return false;
    *s->form++ = '"';
    s->at = after;
    return true;
}

static bool split_word(struct splitter *s)
{
    const char *after = word_end(s->at, s->end);

    if (after == s->at || !take(s, s->at, after))
        return false;
    s->at = after;
    return true;
}

static bool split_next(struct splitter *s)
{
    const char c = *s->at;

    if (c == '"')
        return split_string(s);
    if (is_space(c) || strchr("{}[],:", c) != NULL) {
        keep(s, s->at + 1);
        return true;
    }
    return split_word(s);
}

bool json_form_split(struct arena *arena, struct str json, struct json_form *ret)
{
    struct splitter s = { .at = json.data, .end = json.data + json.len };
    char *form, *values;

    if (json.len == 0 || json.len > JSON_FORM_TEXT_MAX || memchr(json.data, '\0', json.len) != NULL)
        return false;
    /* A value of one byte is two in the form, and so is a percent sign. */
    s.form = form = arena_alloc(arena, 2 * json.len);
    s.values = values = arena_alloc(arena, json.len + JSON_FORM_VALUES);
    while (s.at < s.end)
        if (!split_next(&s))
            return false;
    assert(s.form <= form + 2 * json.len && s.values <= values + json.len + JSON_FORM_VALUES);
    if (s.form - form > JSON_FORM_MAX)
        return false;
    *ret = (struct json_form){ str_from(form, (size_t)(s.form - form)),
                               str_from(values, (size_t)(s.values - values)) };
    return true;
}
