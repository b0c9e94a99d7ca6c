/* routes.c - agents' documents: agents pull them, users edit them. */
#include "features/agents/documents/documents.h"

#include "api/api.h"
#include "api/call.h"
#include "engine/txn.h"
#include "features/access/auth.h"
#include "features/access/registry.h"
#include "features/agents/documents/shapes.h"
#include "features/agents/routes.h"
#include "features/agents/shapes.h"

/* In JSON each byte of a document may take six. */
enum { DOCUMENT_BODY_MAX = 6 * DOCUMENT_MAX_BYTES + 4096 };

static int pull_document(struct api_call *call, struct db *db, struct error *err)
{
    const struct agent_query *query = call->query;
    const struct document_key key = { .tenant_id = call->tenant_id,
                                      .agent_name = query->agent_name };

    return documents_pull(db, &key, call->arena, call->answer, err);
}

static int begin_pull_document(struct api_call *call, struct error *err)
{
    const struct agent_query *query = call->query;

    if (auth_may_report(call, STR_NULL, query->agent_name, err) != 0)
        return -1;
    return call_proceed(call, err);
}

/* For paths that start with the members of struct agent_path. */
static struct document_key document_key_of(const struct api_call *call)
{
    const struct agent_path *path = call->params;

    return (struct document_key){ .tenant_id = call->tenant_id,
                                  .agent_name = path->agent_name,
                                  .author = auth_actor(call) };
}

static int show_document(struct api_call *call, struct db *db, struct error *err)
{
    const struct document_key key = document_key_of(call);

    return documents_show(db, &key, 0, call->arena, call->answer, err);
}

/* Notes the new version for the audit log. */
static void note_version(struct api_call *call)
{
    const struct document *answer = call->answer;

    call->audit_target = answer->agent_name;
    call->audit_detail =
        arena_printf(call->arena, "{\"version\":%lld}", (long long)answer->version);
}

/* A version is stored like a report: it counts for the quota. */
static int check_room(struct api_call *call, struct error *err)
{
    return tenant_is_over_quota(call->tenant) ? auth_refuse_quota(call, err) : 0;
}

/* The key of a change that may add a version. */
static struct document_key growing(struct api_call *call, struct document_key key)
{
    key.bytes = call->change.write.txn->bytes;
    key.call = call;
    key.check_room = check_room;
    return key;
}

static int set_document(struct api_call *call, struct db *db, struct error *err)
{
    const struct document_key key = growing(call, document_key_of(call));

    if (documents_set(db, &key, call->body, call->arena, call->answer, err) != 0)
        return -1;
    note_version(call);
    return 0;
}

static int list_document_versions(struct api_call *call, struct db *db, struct error *err)
{
    const struct document_key key = document_key_of(call);

    return documents_history(db, &key, call->query, call->arena, call->answer, err);
}

static struct document_key version_key_of(const struct api_call *call)
{
    const struct document_version_path *path = call->params;

    return (struct document_key){ .tenant_id = call->tenant_id,
                                  .agent_name = path->agent_name,
                                  .author = auth_actor(call) };
}

static int show_document_version(struct api_call *call, struct db *db, struct error *err)
{
    const struct document_version_path *path = call->params;
    const struct document_key key = version_key_of(call);

    return documents_show(db, &key, path->version, call->arena, call->answer, err);
}

static int restore_document(struct api_call *call, struct db *db, struct error *err)
{
    const struct document_version_path *path = call->params;
    const struct document_key key = growing(call, version_key_of(call));

    if (documents_restore(db, &key, path->version, call->arena, call->answer, err) != 0)
        return -1;
    note_version(call);
    return 0;
}

static int diff_document(struct api_call *call, struct db *db, struct error *err)
{
    const struct document_key key = document_key_of(call);

    return documents_diff(db, &key, call->query, call->arena, call->answer, err);
}

/* clang-format off */
const struct route document_routes[] = {
    { ROUTE(GET, "/api/v1/agents/document", ANY_KEY, 200), .handler = begin_pull_document, .read = pull_document, .also = ALSO_NOT_FOUND, .query = &agent_query_shape, .answer = &agent_document_shape, .tagged = true,
      .id = "pull_document", .summary = "Get the agent's configuration document",
      .description = "The text exactly as it was edited, with vault references left unresolved. 404 when the agent has no document." },
    { ROUTE(GET, "/api/v1/tenants/{slug}/agents/{agent_name}/document", MEMBER, 200), .read = show_document, .params = &agent_path_shape, .answer = &document_shape,
      .id = "get_document", .summary = "Get an agent's document",
      .description = "The newest version; 404 if the agent has no document." },
    { ROUTE(PUT, "/api/v1/tenants/{slug}/agents/{agent_name}/document", ADMIN, 200), .change = set_document, .also = ALSO_QUOTA, .topic = CHANGE_NOTHING, .params = &agent_path_shape, .body = &document_set_shape, .answer = &document_shape, .body_max = DOCUMENT_BODY_MAX, .audit = "document.set",
      .id = "set_document", .summary = "Set an agent's document",
      .description = "Text of at most 1 MiB. Creates a version unless the text is unchanged. Pass `base_version` to get 409 instead of overwriting another user's edit." },
    { ROUTE(GET, "/api/v1/tenants/{slug}/agents/{agent_name}/document/versions", MEMBER, 200), .read = list_document_versions, .params = &agent_path_shape, .query = &history_query_shape, .answer = &document_history_shape,
      .id = "list_document_versions", .summary = "List versions of an agent's document, newest first",
      .description = "Every version is kept. Pass `next` as `before` to read on; a null `next` is the end." },
    { ROUTE(GET, "/api/v1/tenants/{slug}/agents/{agent_name}/document/versions/{version}", MEMBER, 200), .read = show_document_version, .params = &document_version_path_shape, .answer = &document_shape,
      .id = "get_document_version", .summary = "Get one version of an agent's document",
      .description = "404 when there is no such version." },
    { ROUTE(POST, "/api/v1/tenants/{slug}/agents/{agent_name}/document/versions/{version}/restore", ADMIN, 200), .change = restore_document, .also = ALSO_QUOTA, .topic = CHANGE_NOTHING, .params = &document_version_path_shape, .answer = &document_shape, .audit = "document.restore",
      .id = "restore_document", .summary = "Restore a version of an agent's document",
      .description = "Creates a new version with the old text." },
    { ROUTE(GET, "/api/v1/tenants/{slug}/agents/{agent_name}/document/diff", MEMBER, 200), .read = diff_document, .params = &agent_path_shape, .query = &diff_query_shape, .answer = &document_diff_shape,
      .id = "diff_document", .summary = "Compare two versions of an agent's document",
      .description = "Answers a unified diff." },
    { 0 },
};
/* clang-format on */
