/* tenant_routes.c - tenants, for platform admins; and a tenant's plan, for its users. */
#include "features/access/tenants.h"

#include "api/call.h"
#include "base/clock.h"
#include "features/access/registry.h"
#include "features/access/routes.h"
#include "features/access/sessions.h"
#include "features/access/shapes.h"
#include "features/access/stored_bytes.h"

/* Answers with a tenant that was created or changed; the audit log gets its plan. */
static void answer_tenant(struct api_call *call, const struct tenant_row *row)
{
    *(struct tenant *)call->answer = (struct tenant){ .slug = row->slug,
                                                      .name = row->name,
                                                      .max_agents = row->max_agents,
                                                      .rate_limit = row->rate_limit,
                                                      .max_bytes = row->max_bytes,
                                                      .created_at = row->created_at };
    call->audit_target = row->slug;
    call->audit_detail = arena_printf(
        call->arena, "{\"max_agents\":%lld,\"rate_limit\":%lld,\"max_bytes\":%lld}",
        (long long)row->max_agents, (long long)row->rate_limit, (long long)row->max_bytes);
}

/* ERR_CONFLICT when the slug is taken. */
static int tenants_add(struct api_call *call, struct db *db, struct error *err)
{
    const struct tenant_create *create = call->body;
    struct tenant_row row = { .slug = create->slug,
                              .name = create->name,
                              .max_agents = create->max_agents,
                              .rate_limit = create->rate_limit,
                              .max_bytes = create->max_bytes,
                              .created_at = clock_wall_us() };

    if (tenant_add(db, &row, err) != 0)
        return -1;
    answer_tenant(call, &row);
    return 0;
}

static int tenants_set(struct api_call *call, struct db *db, struct error *err)
{
    const struct tenant_patch *patch = call->body;
    struct tenant_row row;

    if (tenant_find(db, call->tenant->slug, call->arena, &row, err) != 0)
        return -1;
    if (!str_is_null(patch->name))
        row.name = patch->name;
    if (patch->max_agents.has)
        row.max_agents = patch->max_agents.value;
    if (patch->rate_limit.has)
        row.rate_limit = patch->rate_limit.value;
    if (patch->max_bytes.has)
        row.max_bytes = patch->max_bytes.value;
    if (tenant_set(db, &row, err) != 0)
        return -1;
    answer_tenant(call, &row);
    return 0;
}

/* From the commit on everything of the tenant is refused; its rows are erased later. */
static int tenants_delete(struct api_call *call, struct db *db, struct error *err)
{
    const struct tenant_confirm *confirm = call->body;
    struct tenant_deleted *answer = call->answer;

    if (!str_eq(confirm->confirm, call->tenant->slug))
        return call_refuse_body(call, err, "confirm", confirm->confirm,
                                "Value must repeat the slug of the workspace");
    call->audit_target = answer->slug = call->tenant->slug;
    call->audit_platform = true; /* the tenant's own log is erased with it */
    if (tenant_delete(db, call->tenant->id, clock_wall_us(), err) != 0)
        return -1;
    return users_changed(db, err); /* roles are cached with users */
}

int tenants_show(struct api_call *call, struct db *db, struct error *err)
{
    struct tenant_plan *answer = call->answer;

    if (tenant_load_plan(db, call->tenant->slug, call->arena, answer, err) != 0 ||
        tenant_agents(db, call->tenant->id, &answer->agents, err) != 0)
        return -1;
    return tenant_load_bytes(db, call->tenant->id, &answer->stored_bytes, err);
}

static int tenants_list(struct api_call *call, struct db *db, struct error *err)
{
    const struct tenants_query *query = call->query;
    const struct str after = str_is_null(query->cursor) ? STR_LIT("") : query->cursor;
    struct listing *answer = call->answer;
    struct list *list = &answer->list;

    /* one more than the page, to know whether there is another */
    if (tenant_answers(db, after, query->limit + 1, call->arena, list, err) != 0)
        return -1;
    answer->next = STR_NULL;
    if (list->n > (size_t)query->limit) {
        list->n = (size_t)query->limit;
        answer->next = ((const struct tenant *)list->items)[list->n - 1].slug;
    }
    return 0;
}

/* clang-format off */
const struct route tenant_routes[] = {
    { ROUTE(GET, "/api/v1/tenants", PLATFORM, 200), .read = tenants_list, .query = &tenants_query_shape, .answer = &tenant_list_shape,
      .id = "list_tenants", .summary = "List all workspaces",
      .description = "With their plans, by slug. Pass `next` as `cursor` to read on." },
    { ROUTE(POST, "/api/v1/tenants", PLATFORM, 201), .change = tenants_add, .body = &tenant_create_shape, .answer = &tenant_shape, .audit = "tenant.add",
      .id = "create_tenant", .summary = "Create a workspace",
      .description = "The slug names it in paths and in `client_id`, and cannot be changed." },
    { ROUTE(GET, "/api/v1/tenants/{slug}", READ, 200), .read = tenants_show, .params = &tenant_path_shape, .answer = &tenant_plan_shape,
      .id = "get_tenant", .summary = "Get a workspace and its plan",
      .description = "Name, limits of the plan, and how many agents there are." },
    { ROUTE(PATCH, "/api/v1/tenants/{slug}", PLATFORM, 200), .change = tenants_set, .params = &tenant_path_shape, .body = &tenant_patch_shape, .answer = &tenant_shape, .audit = "tenant.set",
      .id = "update_tenant", .summary = "Change a workspace's name or plan",
      .description = "Members that are left out stay as they are." },
    { ROUTE(DELETE, "/api/v1/tenants/{slug}", PLATFORM, 200), .change = tenants_delete, .params = &tenant_path_shape, .body = &tenant_confirm_shape, .answer = &tenant_deleted_shape, .audit = "tenant.delete",
      .id = "delete_tenant", .summary = "Delete a workspace and all of its data",
      .description = "`confirm` repeats the slug. Its keys and users are refused at once; its data is then erased in small steps and cannot be restored. The platform's audit log keeps one entry." },
    { 0 },
};
/* clang-format on */
