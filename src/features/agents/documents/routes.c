/* routes.c - agents' documents: agents pull them, users edit them.
 *
 * ERR_NOT_FOUND when the agent has no document, or not that version.
 */
#include "features/agents/routes.h"
#include "api/call.h"
#include "base/clock.h"
#include "engine/txn.h"
#include "features/access/auth.h"
#include "features/access/registry.h"
#include "features/access/stored_bytes.h"
#include "features/agents/documents/diff.h"
#include "features/agents/documents/store.h"
#include "features/agents/shapes.h"

/* In JSON each byte of a document may take six. */
enum { DOCUMENT_BODY_MAX = 6 * DOCUMENT_MAX_BYTES + 4096 };

/* ERR_NOT_FOUND. */
static int find_document(struct db *db, const struct document_key *key, int64_t version,
                         struct arena *arena, struct document *ret, struct error *err)
{
    if (document_read(db, key, version, arena, ret, err) != 0)
        return -1;
    if (ret->version != 0)
        return 0;
    if (version == 0)
        return err_set(err, ERR_NOT_FOUND, "agent '%.*s' has no document",
                       STR_ARG(key->agent_name));
    return err_set(err, ERR_NOT_FOUND, "the document has no version %lld", (long long)version);
}

static int pull_document(struct api_call *call, struct db *db, struct error *err)
{
    const struct agent_query *query = call->query;
    const struct document_key key = { call->tenant_id, query->agent_name };

    return find_document(db, &key, 0, call->arena, call->answer, err);
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

    return (struct document_key){ call->tenant_id, path->agent_name };
}

static int show_document(struct api_call *call, struct db *db, struct error *err)
{
    const struct document_key key = document_key_of(call);

    return find_document(db, &key, 0, call->arena, call->answer, err);
}

static int show_document_version(struct api_call *call, struct db *db, struct error *err)
{
    const struct document_version_path *path = call->params;
    const struct document_key key = { call->tenant_id, path->agent_name };

    return find_document(db, &key, path->version, call->arena, call->answer, err);
}

/* Stores the answer as the version after `newest`, unless nothing has changed: then *newest is the
 * answer. A version is stored like a report: it counts for the quota. */
static int add_version(struct api_call *call, struct db *db, const struct document *newest,
                       struct error *err)
{
    const struct document_key key = { call->tenant_id, newest->agent_name };
    struct document *answer = call->answer;

    answer->author = auth_actor(call);
    if (newest->version != 0 && str_eq(newest->format, answer->format) &&
        str_eq(newest->document, answer->document)) {
        *answer = *newest; /* a retry, or nothing was edited */
    } else {
        if (tenant_is_over_quota(call->tenant))
            return auth_refuse_quota(call, err);
        answer->version = newest->version + 1;
        answer->updated_at = clock_wall_us();
        if (document_add(db, &key, answer, err) != 0)
            return -1;
        stored_bytes_add(stored_bytes_of(call->change.write.txn), key.tenant_id,
                         (int64_t)(STORED_ROW_BYTES + answer->document.len));
    }
    call->audit_target = answer->agent_name;
    call->audit_detail =
        arena_printf(call->arena, "{\"version\":%lld}", (long long)answer->version);
    return 0;
}

static int set_document(struct api_call *call, struct db *db, struct error *err)
{
    const struct document_key key = document_key_of(call);
    const struct document_set *set = call->body;
    struct document *answer = call->answer, newest;

    if (document_read(db, &key, 0, call->arena, &newest, err) != 0)
        return -1;
    if (set->base_version.has && set->base_version.value != newest.version)
        return err_set(err, ERR_CONFLICT,
                       "the edit is based on version %lld, but the newest is %lld; review that and "
                       "set the document again",
                       (long long)set->base_version.value, (long long)newest.version);
    *answer = (struct document){ .agent_name = key.agent_name,
                                 .format = str_of(document_format_names[set->format]),
                                 .document = set->document };
    return add_version(call, db, &newest, err);
}

/* The version's text becomes the newest version. */
static int restore_document(struct api_call *call, struct db *db, struct error *err)
{
    const struct document_key key = document_key_of(call);
    struct document newest;

    if (show_document_version(call, db, err) != 0 ||
        find_document(db, &key, 0, call->arena, &newest, err) != 0)
        return -1;
    return add_version(call, db, &newest, err);
}

static int list_document_versions(struct api_call *call, struct db *db, struct error *err)
{
    const struct document_key key = document_key_of(call);
    struct document_history *answer = call->answer;
    const struct document_version *versions;
    size_t n;

    *answer = (struct document_history){ .agent_name = key.agent_name };
    if (document_list_versions(db, &key, call->query, call->arena, &answer->versions, err) != 0)
        return -1;
    versions = answer->versions.items;
    n = answer->versions.n;
    if (n > 0 && versions[n - 1].version > 1) /* versions are numbered without a gap, from 1 */
        answer->next = (struct opt_int){ true, versions[n - 1].version };
    return 0;
}

/* One side of a comparison. */
static int read_side(struct api_call *call, struct db *db, int64_t version, struct diff_side *ret,
                     struct error *err)
{
    const struct document_key key = document_key_of(call);
    struct document found;

    if (find_document(db, &key, version, call->arena, &found, err) != 0)
        return -1;
    *ret = (struct diff_side){ found.document,
                               arena_printf(call->arena, "version %lld", (long long)version) };
    return 0;
}

static int diff_document(struct api_call *call, struct db *db, struct error *err)
{
    const struct diff_query *query = call->query;
    const struct agent_path *path = call->params;
    struct document_diff *answer = call->answer;
    struct diff_side old, new;

    if (read_side(call, db, query->from, &old, err) != 0 ||
        read_side(call, db, query->to, &new, err) != 0)
        return -1;
    *answer = (struct document_diff){ .agent_name = path->agent_name,
                                      .from = query->from,
                                      .to = query->to,
                                      .diff = diff_unified(&old, &new, call->arena) };
    return 0;
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
