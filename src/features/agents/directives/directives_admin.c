/* directives_admin.c - converts directives between the API's shapes and rows. */
#include "features/agents/directives/directives_admin.h"

#include "base/clock.h"
#include "features/agents/directives/directives.h"

/* Each process has all of them in memory. */
enum { DIRECTIVES_MAX = 10000, DIRECTIVES_BYTES_MAX = 4 << 20 };

/* After one was set: an error takes it back. */
static int check_size(const struct directives_size *size, const char *what, struct error *err)
{
    if (size->n <= DIRECTIVES_MAX && size->bytes <= DIRECTIVES_BYTES_MAX)
        return 0;
    return err_set(err, ERR_CONFLICT,
                   "The workspace has as many %s as it may: %d, of %d bytes in all; unset some "
                   "first",
                   what, DIRECTIVES_MAX, DIRECTIVES_BYTES_MAX);
}

static int set_model(struct db *db, const struct model_row *row, struct error *err)
{
    struct directives_size size = { 0 };

    if (store_model_set(db, row, err) != 0)
        return -1;
    if (row->target.scope == SCOPE_PLATFORM)
        return 0;
    if (store_models_size(db, row->target.tenant_id, &size, err) != 0)
        return -1;
    return check_size(&size, "models", err);
}

static int set_policy(struct db *db, const struct policy_row *row, struct error *err)
{
    struct directives_size size = { 0 };

    if (store_policy_set(db, row, err) != 0)
        return -1;
    if (row->target.scope == SCOPE_PLATFORM)
        return 0;
    if (store_policies_size(db, row->target.tenant_id, &size, err) != 0)
        return -1;
    return check_size(&size, "command policies", err);
}

int directives_show_model(struct db *db, const struct directive_key *target, struct arena *arena,
                          struct model_setting *ret, struct error *err)
{
    struct model_row row;

    if (store_model_at(db, target, arena, &row, err) != 0)
        return -1;
    *ret = (struct model_setting){ .model = row.model, .updated_at = row.updated_at };
    if (!str_is_null(row.model))
        ret->source = directive_source(row.target.scope);
    return 0;
}

int directives_set_model(struct db *db, const struct directive_key *target,
                         const struct model_set *set, struct arena *arena,
                         struct model_setting *ret, struct error *err)
{
    struct model_row row = { .target = *target, .updated_at = clock_wall_us() };
    int r;

    if (set == NULL) {
        r = store_model_unset(db, target, err);
    } else {
        row.model = set->model;
        r = set_model(db, &row, err);
    }
    return r != 0 ? -1 : directives_show_model(db, target, arena, ret, err);
}

int directives_show_policy(struct db *db, const struct directive_key *target, struct arena *arena,
                           struct policy_setting *ret, struct error *err)
{
    struct policy_row row;

    if (store_policy_at(db, target, arena, &row, err) != 0)
        return -1;
    *ret = (struct policy_setting){ .mode = str_of(policy_mode_names[row.policy.mode]),
                                    .allow = row.policy.allow,
                                    .deny = row.policy.deny,
                                    .source = directive_source(row.target.scope),
                                    .version = row.version,
                                    .updated_at = row.updated_at };
    return 0;
}

int directives_set_policy(struct db *db, const struct directive_key *target,
                          const struct policy_set *set, struct arena *arena,
                          struct policy_setting *ret, struct error *err)
{
    struct policy_row row = { .target = *target, .updated_at = clock_wall_us() };
    int r;

    if (set == NULL) {
        r = store_policy_unset(db, target, err);
    } else {
        row.policy = *set;
        r = set_policy(db, &row, err);
    }
    return r != 0 ? -1 : directives_show_policy(db, target, arena, ret, err);
}
