/* secrets.c - seals and opens secrets. */
#include "features/vault/secrets.h"

#include "base/clock.h"
#include "features/vault/vault.h"

static struct secret answer(const struct secret_row *row)
{
    return (struct secret){ .name = row->name,
                            .shared = row->shared,
                            .version = row->version,
                            .created_at = row->created_at,
                            .updated_at = row->updated_at };
}

static struct vault_label label_of(const struct secrets *s, const struct secret_row *row)
{
    return (struct vault_label){
        .kind = SECRET_KIND, .tenant_id = s->tenant_id, .name = row->name, .version = row->version
    };
}

int secrets_set(const struct secrets *s, struct db *db, struct str name,
                const struct secret_set *set, struct secret *ret, struct error *err)
{
    struct vault_label label;
    struct secret_row row;
    ARENA_SCOPED(arena);
    BUF_SCOPED(sealed, SECRET_MAX_BYTES + VAULT_OVERHEAD);
    int r;

    r = store_secret(db, s->tenant_id, name, &arena, &row, err);
    if (r == 0 && row.version == 0)
        r = store_secrets_check_room(db, s->tenant_id, err);
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
        r = store_secret_put(db, s->tenant_id, &row, err);
    }
    if (r == 0)
        *ret = answer(&row);
    return r;
}

int secrets_open(const struct secrets *s, struct vault_opener *opener, const struct secret_row *row,
                 struct buf *out, struct error *err)
{
    const struct vault_label label = label_of(s, row);

    return vault_open_next(opener, &label, row->sealed, out, err);
}
