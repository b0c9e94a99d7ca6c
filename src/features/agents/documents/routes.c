/* routes.c - agents' documents: agents pull them, users edit them. */
#include "features/agents/documents/documents.h"

#include "api/api.h"
#include "api/call.h"
#include "api/queries.h"
#include "features/access/auth.h"
#include "features/access/registry.h"
#include "features/agents/documents/shapes.h"
#include "features/agents/routes.h"
#include "features/agents/shapes.h"

/* A document as JSON: each of its bytes may take six. */
enum { DOCUMENT_BODY_MAX = 6 * DOCUMENT_MAX_BYTES + 4096 };

static int pull_document(struct api_call *call, struct db *db, struct error *err)
{
    const struct agent_query *query = call->query;
    const struct document_key place = { .tenant_id = call->key->tenant->id,
                                        .agent_name = query->agent_name };

    return documents_pull(db, &place, call->arena, call->answer, err);
}

static int begin_pull_document(struct api_call *call, struct error *err)
{
    const struct agent_query *query = call->query;

    if (auth_may_report(call, STR_NULL, query->agent_name, err) != 0)
        return -1;
    return call_proceed(call, err);
}

/* Of a path that begins as struct agent_path does. */
static struct document_key place_of(const struct api_call *call)
{
    const struct agent_path *path = call->params;

    return (struct document_key){ .tenant_id = call->tenant->id,
                                  .agent_name = path->agent_name,
                                  .author = auth_actor(call) };
}

static int show_document(struct api_call *call, struct db *db, struct error *err)
{
    const struct document_key place = place_of(call);

    return documents_show(db, &place, 0, call->arena, call->answer, err);
}

/* The version that a change has made. */
static void note_version(struct api_call *call)
{
    const struct document *answer = call->answer;

    call->audit_target = answer->agent_name;
    call->audit_detail =
        arena_printf(call->arena, "{\"version\":%lld}", (long long)answer->version);
}

static int set_document(struct api_call *call, struct db *db, struct error *err)
{
    const struct document_key place = place_of(call);

    if (documents_set(db, &place, call->body, call->arena, call->answer, err) != 0)
        return -1;
    note_version(call);
    return 0;
}

static int list_document_versions(struct api_call *call, struct db *db, struct error *err)
{
    const struct document_key place = place_of(call);

    return documents_history(db, &place, call->query, call->arena, call->answer, err);
}

static struct document_key version_place(const struct api_call *call)
{
    const struct document_version_path *path = call->params;

    return (struct document_key){ .tenant_id = call->tenant->id,
                                  .agent_name = path->agent_name,
                                  .author = auth_actor(call) };
}

static int show_document_version(struct api_call *call, struct db *db, struct error *err)
{
    const struct document_version_path *path = call->params;
    const struct document_key place = version_place(call);

    return documents_show(db, &place, path->version, call->arena, call->answer, err);
}

static int restore_document(struct api_call *call, struct db *db, struct error *err)
{
    const struct document_version_path *path = call->params;
    const struct document_key place = version_place(call);

    if (documents_restore(db, &place, path->version, call->arena, call->answer, err) != 0)
        return -1;
    note_version(call);
    return 0;
}

static int diff_document(struct api_call *call, struct db *db, struct error *err)
{
    const struct document_key place = place_of(call);

    return documents_diff(db, &place, call->query, call->arena, call->answer, err);
}

/* clang-format off */
const struct route document_routes[] = {
    { ROUTE(GET, "/api/v1/agents/document", ANY_KEY, 200), .handler = begin_pull_document, .read = pull_document, .also = ALSO_NOT_FOUND, .query = &agent_query_shape, .answer = &agent_document_shape, .tagged = true,
      .summary = "The agent's configuration document, as edited" },
    { ROUTE(GET, "/api/v1/tenants/{slug}/agents/{agent_name}/document", MEMBER, 200), .read = show_document, .params = &agent_path_shape, .answer = &document_shape,
      .summary = "The newest version of an agent's document" },
    { ROUTE(PUT, "/api/v1/tenants/{slug}/agents/{agent_name}/document", ADMIN, 200), .change = set_document, .params = &agent_path_shape, .body = &document_set_shape, .answer = &document_shape, .body_max = DOCUMENT_BODY_MAX, .audit = "document.set",
      .summary = "Set an agent's document: a new version, unless it says the same" },
    { ROUTE(GET, "/api/v1/tenants/{slug}/agents/{agent_name}/document/versions", MEMBER, 200), .read = list_document_versions, .params = &agent_path_shape, .query = &history_query_shape, .answer = &document_history_shape,
      .summary = "The versions of an agent's document, newest first" },
    { ROUTE(GET, "/api/v1/tenants/{slug}/agents/{agent_name}/document/versions/{version}", MEMBER, 200), .read = show_document_version, .params = &document_version_path_shape, .answer = &document_shape,
      .summary = "One version of an agent's document" },
    { ROUTE(POST, "/api/v1/tenants/{slug}/agents/{agent_name}/document/versions/{version}/restore", ADMIN, 200), .change = restore_document, .params = &document_version_path_shape, .answer = &document_shape, .audit = "document.restore",
      .summary = "Make an old version the newest again" },
    { ROUTE(GET, "/api/v1/tenants/{slug}/agents/{agent_name}/document/diff", MEMBER, 200), .read = diff_document, .params = &agent_path_shape, .query = &diff_query_shape, .answer = &document_diff_shape,
      .summary = "What changed between two versions of an agent's document" },
    { 0 },
};
/* clang-format on */
