/* recount_commands.c - counts again what a tenant's reports take.
 *
 * The rows are read by a connection of the command's own, for as long as it
 * takes; the server then stores by how much its count was wrong. What is reported
 * meanwhile changes both alike.
 */
#include "cli/request.h"
#include "features/access/shapes.h"
#include "features/access/tenants_store.h"
#include "features/retention/maintenance.h"
#include "features/retention/recount_store.h"
#include "features/retention/routes.h"
#include "features/retention/shapes.h"

static int recount(struct invocation *in, struct db *db, struct bytes_correction *ret,
                   struct error *err)
{
    struct tenant_row tenant;

    if (store_tenant(db, str_of(command_value(in, "slug")), &in->arena, &tenant, err) != 0)
        return -1;
    return store_recount(db, tenant.tenant_id, &ret->correction, err);
}

static int recount_bind(struct invocation *in, struct str *ret, struct error *err)
{
    struct bytes_correction found = { 0 };
    struct maintenance k;
    int r;

    request_hang_up(in); /* the data directory has one user at a time */
    if (maintenance_begin(&k, in, err) != 0)
        return -1;
    r = recount(in, k.db, &found, err);
    maintenance_end(&k);
    if (r == 0)
        *ret = request_body(in, &bytes_correction_shape, &found);
    return r;
}

/* clang-format off */
const struct command recount_commands[] = {
    { "tenant", "recount", .local_only = true, .args = { { "slug", OPTION_TENANT, "SLUG", .help = "slug of the tenant" } },
      .help = "count again what a tenant's stored reports take, whether or not a server is running",
      .examples = "muster tenant recount acme",
      .method = METHOD_PUT, .path = "/api/v1/tenants/{slug}/bytes-correction", .bind = recount_bind,
      .answer = &tenant_plan_shape, .line = "the reports of tenant '{slug}' take {stored_bytes} bytes" },
    { 0 },
};
/* clang-format on */
