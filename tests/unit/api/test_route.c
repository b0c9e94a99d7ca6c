/* test_route.c - which route a path and a method lead to. */
#include "api/api.h"
#include "api/route.h"
#include "app/assemble.h"
#include "base/metrics.h"
#include "test.h"

static struct route_table table_of_all(void)
{
    struct route_table table;

    route_table_init(&table, features);
    CHECK(table.n > 0);
    return table;
}

TEST(a_path_leads_to_the_route_that_fits_all_of_it)
{
    struct route_table table = table_of_all();
    static const struct {
        enum http_method method;
        const char *path, *route; /* NULL: none */
    } rows[] = {
        { METHOD_GET, "/api/v1/health", "/api/v1/health" },
        { METHOD_HEAD, "/api/v1/health", "/api/v1/health" },
        { METHOD_POST, "/api/v1/telemetry", "/api/v1/telemetry" },
        { METHOD_GET, "/api/v1/telemetry", NULL },
        { METHOD_OTHER, "/api/v1/health", NULL },
        { METHOD_GET, "/api/v1/health/", NULL },
        { METHOD_GET, "/api/v1/healt", NULL },
        { METHOD_GET, "/api/v1/healthy", NULL },
        { METHOD_GET, "/API/v1/health", NULL },
        { METHOD_GET, "//api/v1/health", NULL },
        { METHOD_GET, "/", "/" },
        { METHOD_GET, "/index.html", NULL },
        { METHOD_GET, "", NULL },
        { METHOD_GET, "/api/v1/tenants", "/api/v1/tenants" },
        { METHOD_GET, "/api/v1/tenants/", NULL },
        { METHOD_GET, "/api/v1/tenants/acme/keys", "/api/v1/tenants/{slug}/keys" },
        { METHOD_GET, "/api/v1/tenants//keys", NULL }, /* an empty segment names nothing */
        { METHOD_DELETE, "/api/v1/tenants/acme/keys/k", "/api/v1/tenants/{slug}/keys/{key_id}" },
        { METHOD_DELETE, "/api/v1/tenants/acme/keys/", NULL },
        { METHOD_DELETE, "/api/v1/tenants/acme/keys/k/", NULL },
        { METHOD_DELETE, "/api/v1/tenants/acme/keys/k/l", NULL },
        { METHOD_GET, "/api/v1/tenants/a/runs/b/events",
          "/api/v1/tenants/{slug}/runs/{run_id}/events" },
        { METHOD_GET, "/api/v1/tenants/a/runs//events", NULL },
        { METHOD_GET, "/api/v1/tenants/a/b/runs/c/events", NULL },
        { METHOD_DELETE, "/api/v1/platform/prices/7", "/api/v1/platform/prices/{price_id}" },
        { METHOD_DELETE, "/api/v1/platform/prices/import", NULL }, /* a word, not an id */
        { METHOD_POST, "/api/v1/platform/prices/import", "/api/v1/platform/prices/import" },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct route_values values;
        const struct route *route =
            route_find(&table, rows[i].method, str_of(rows[i].path), &values);

        if (rows[i].route == NULL)
            CHECK(route == NULL);
        else
            CHECK_STR(str_of(route == NULL ? NULL : route->path), rows[i].route);
    }
    route_table_done(&table);
}

TEST(the_values_of_a_path_come_by_name_as_sent)
{
    const struct str path = STR_LIT("/api/v1/tenants/%41b/runs/{x}/events");
    struct route_table table = table_of_all();
    struct route_values values;

    CHECK(route_find(&table, METHOD_GET, path, &values) == table.entries[values.entry].route);
    CHECK_INT(values.n, 2);
    CHECK_STR(values.names[0], "slug");
    CHECK_STR(values.values[0], "%41b");
    CHECK_STR(values.names[1], "run_id");
    CHECK_STR(values.values[1], "{x}");
    route_table_done(&table);
}

TEST(a_path_knows_its_methods)
{
    static const struct {
        const char *path, *methods;
    } rows[] = {
        { "/api/v1/health", "GET, HEAD" },
        { "/api/v1/telemetry", "POST" },
        { "/api/v1/tenants", "GET, HEAD, POST" },
        { "/api/v1/tenants/acme/keys/k", "DELETE" },
        { "/api/v1/tenants/acme/agents/a", "GET, HEAD, PATCH, DELETE" }, /* of two features */
        { "/api/v1/nothing", "" },
        { "", "" },
    };
    struct route_table table = table_of_all();
    struct arena arena;

    arena_init(&arena);
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        CHECK_STR(route_methods(&table, str_of(rows[i].path), &arena), rows[i].methods);
    arena_done(&arena);
    route_table_done(&table);
}

TEST(there_are_cells_to_count_the_requests_of_every_route)
{
    struct route_table table = table_of_all();

    CHECK((table.n + 1) * API_STATUSES <= METRIC_EXTRA_MAX);
    route_table_done(&table);
}

/* What the rest of the API takes for granted of every row. */
TEST(every_route_is_whole)
{
    struct route_table table = table_of_all();

    for (size_t i = 0; i < table.n; i++) {
        const struct route *route = table.entries[i].route;
        const char *brace = strchr(route->path, '{');
        struct route_values values;

        CHECK(route->path[0] == '/');
        CHECK(route->handler != NULL || route->read != NULL || route->change != NULL);
        CHECK(route->read == NULL || route->change == NULL);
        CHECK((route->read == NULL && route->change == NULL) || route->answer != NULL);
        CHECK(route->status >= 200 && route->status < 300);
        CHECK(route->page || (brace != NULL) == (route->params != NULL));
        if (strncmp(route->path, "/api/v1/tenants/", 16) == 0)
            CHECK(strncmp(brace, "{slug}", 6) == 0); /* authorisation looks at the first */
        if (route_find(&table, route->method, str_of(route->path), &values) != route)
            fail_msg("%s is hidden by another route", route->path);
        for (size_t j = 0; route->params != NULL && j < route->params->n_fields; j++)
            CHECK(str_eq_c(values.names[j], route->params->fields[j].name));
    }
    route_table_done(&table);
}

/* Every route that changes something for people or operators writes to the audit log. */
TEST(every_route_that_changes_something_administrative_names_an_audit_action)
{
    struct route_table table = table_of_all();
    size_t audited = 0;

    for (size_t i = 0; i < table.n; i++) {
        const struct route *route = table.entries[i].route;
        const char *dot = route->audit == NULL ? NULL : strchr(route->audit, '.');

        if (route->method != METHOD_GET && route->auth >= AUTH_MEMBER && route->audit == NULL)
            fail_msg("%s %s names no audit action", route_method_name(route->method), route->path);
        if (route->audit == NULL)
            continue;
        /* only giving out secrets is entered without a change */
        CHECK(route->method != METHOD_GET || strcmp(route->audit, "config.resolve") == 0);
        CHECK(dot != NULL && dot != route->audit && dot[1] != '\0'); /* a noun and a verb */
        audited++;
    }
    CHECK(audited > 10);
    route_table_done(&table);
}
