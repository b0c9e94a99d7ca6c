/* directives_admin.c - converts directives between the API's shapes and rows. */
#include "features/agents/directives/directives_admin.h"

#include "base/clock.h"
#include "features/access/tenants.h"
#include "features/agents/directives/directives.h"

/* Each process has all of them in memory. */
enum { DIRECTIVES_MAX = 10000, DIRECTIVES_BYTES_MAX = 4 << 20 };

/* After one was set: an error takes it back. */
static int check_size(struct db *db, const struct directive_key *target, const char *what,
                      int (*measure)(struct db *db, int64_t tenant_id, struct directives_size *ret,
                                     struct error *err),
                      struct error *err)
{
    struct directives_size size = { 0 };

    if (target->scope == SCOPE_PLATFORM)
        return 0;
    if (measure(db, target->tenant_id, &size, err) != 0)
        return -1;
    if (size.n <= DIRECTIVES_MAX && size.bytes <= DIRECTIVES_BYTES_MAX)
        return 0;
    return err_set(err, ERR_CONFLICT,
                   "The workspace has as many %s as it may: %d, of %d bytes in all; unset some "
                   "first",
                   what, DIRECTIVES_MAX, DIRECTIVES_BYTES_MAX);
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

    if (set != NULL)
        row.model = set->model;
    if (store_registry_about_directives(db, target->tenant_id, err) != 0)
        return -1;
    if (set == NULL ? store_model_unset(db, target, err) != 0
                    : store_model_set(db, &row, err) != 0 ||
                          check_size(db, target, "models", store_models_size, err) != 0)
        return -1;
    return directives_show_model(db, target, arena, ret, err);
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

    if (set != NULL)
        row.policy = *set;
    if (store_registry_about_directives(db, target->tenant_id, err) != 0)
        return -1;
    if (set == NULL ? store_policy_unset(db, target, err) != 0
                    : store_policy_set(db, &row, err) != 0 ||
                          check_size(db, target, "command policies", store_policies_size, err) != 0)
        return -1;
    return directives_show_policy(db, target, arena, ret, err);
}
