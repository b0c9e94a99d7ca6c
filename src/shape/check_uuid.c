/* check_uuid.c - UUIDs, and what is wrong with one, in the words of the uuid library that pydantic
 * uses. */
#include "base/uuid.h"
#include "shape/check.h"

enum { HYPHENS = 4 };

/* What a scan of a string of hex digits and hyphens finds. */
struct groups {
    size_t hyphens;
    size_t ends[HYPHENS]; /* positions of the first ones */
};

/* Removes braces or the urn prefix and returns how many leading bytes were removed. */
static size_t strip(struct str *s)
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
static struct str diagnose(struct str s, struct arena *arena)
{
    struct groups groups = { 0 };
    struct str inside = s, bare;
    size_t offset;

    if (strip(&inside) > 0 && inside.len == UUID_TEXT_LEN)
        s = inside; /* positions then count from inside the braces or after the prefix */
    bare = s;
    offset = strip(&bare);
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

bool check_uuid(const struct reader *r, const struct step *at, const struct field *field,
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
        return problems_report(r, at, &uuid_type, value);
    if (!check_text(r, at, value, ret))
        return false;
    if (uuid_parse(*ret, text)) {
        if (!str_eq(*ret, str_from(text, sizeof(text))))
            *ret = arena_copy(r->arena, str_from(text, sizeof(text)));
        return true;
    }
    error = diagnose(*ret, r->arena);
    return problems_report_ctx(
        r, at,
        (struct complaint){
            "uuid_parsing",
            arena_printf(r->arena, "Input should be a valid UUID, %s", error.data).data },
        value, problems_error_ctx(r->arena, error));
}
