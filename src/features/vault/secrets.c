/* secrets.c - seals and opens secrets, and finds references to them in values. */
#include "features/vault/secrets.h"

#include "base/clock.h"

static struct vault_label label_of(const struct secrets *s, const struct secret *row)
{
    return (struct vault_label){
        .kind = SECRET_KIND, .tenant_id = s->tenant_id, .name = row->name, .version = row->version
    };
}

int secrets_set(const struct secrets *s, struct db *db, struct str name,
                const struct secret_set *set, struct secret *ret, struct error *err)
{
    struct vault_label label;
    struct secret row;
    ARENA_SCOPED(arena);
    BUF_SCOPED(sealed, SECRET_MAX_BYTES + VAULT_OVERHEAD);
    int r;

    r = secret_get(db, s->tenant_id, name, &arena, &row, err);
    if (r == 0 && row.version == 0)
        r = secrets_check_room(db, s->tenant_id, err);
    if (r == 0) {
        row.name = name;
        row.updated_at = clock_wall_us();
        if (row.version++ == 0)
            row.created_at = row.updated_at;
        if (set->shared.has)
            row.shared = set->shared.value;
        label = label_of(s, &row);
        r = vault_seal(s->vault, db, &label, set->value, &sealed, err);
    }
    if (r == 0) {
        row.sealed = buf_str(&sealed);
        r = secret_put(db, s->tenant_id, &row, err);
    }
    row.sealed = STR_NULL;
    *ret = row;
    return r;
}

int secrets_open(const struct secrets *s, struct vault_opener *opener, const struct secret *row,
                 struct buf *out, struct error *err)
{
    const struct vault_label label = label_of(s, row);

    return vault_open_next(opener, &label, row->sealed, out, err);
}

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
