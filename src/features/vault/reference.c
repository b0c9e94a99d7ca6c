/* reference.c - finds references to secrets in values. */
#include "features/vault/reference.h"

#include "features/vault/shapes.h"

static const struct str whole = STR_INIT("vault:"), inside = STR_INIT("${vault:");

static struct str from(struct str s, size_t at)
{
    return str_from(s.data + at, s.len - at);
}

/* Where the next ${vault: begins, or s.len. */
static size_t find_inside(struct str s, size_t at)
{
    while (at < s.len && !str_starts(from(s, at), inside))
        at++;
    return at;
}

/* The name after ${vault: ; STR_NULL when the closing brace is missing. */
static struct str name_inside(struct str rest)
{
    struct str name = str_split(&rest, '}');

    return str_is_null(rest) ? STR_NULL : name;
}

const char *reference_problem(struct str value)
{
    if (str_starts(value, whole) && !secret_is_name(from(value, whole.len)))
        return "A value that begins with vault: must be exactly vault:NAME";
    for (size_t at = find_inside(value, 0); at < value.len; at = find_inside(value, at + 1)) {
        struct str name = name_inside(from(value, at + inside.len));

        if (str_is_null(name) || !secret_is_name(name))
            return "A reference inside a value must be written ${vault:NAME}";
    }
    return NULL;
}

bool reference_next(struct str value, size_t *at, struct reference_part *ret)
{
    size_t begin = *at;

    if (begin >= value.len)
        return false;
    if (begin == 0 && str_starts(value, whole)) {
        *ret = (struct reference_part){ from(value, whole.len), true };
        *at = value.len;
    } else if (str_starts(from(value, begin), inside)) {
        *ret = (struct reference_part){ name_inside(from(value, begin + inside.len)), true };
        *at = begin + inside.len + ret->text.len + 1;
    } else {
        *at = find_inside(value, begin);
        *ret = (struct reference_part){ str_from(value.data + begin, *at - begin), false };
    }
    return true;
}

bool reference_is_in(struct str value)
{
    return str_starts(value, whole) || find_inside(value, 0) < value.len;
}
