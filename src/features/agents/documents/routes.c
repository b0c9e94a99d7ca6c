/* routes.c - agents' documents: they pull them, people edit them. */
#include "features/agents/documents/documents.h"

#include "api/api.h"
#include "api/call.h"
#include "api/handlers.h"
#include "features/access/auth.h"
#include "features/access/registry.h"
#include "features/agents/shapes.h"

static int pull(struct api_call *call, struct db *db, struct error *err)
{
    const struct agent_query *query = call->query;
    const struct document_key place = { .tenant_id = call->key->tenant->id,
                                        .agent_name = query->agent_name };

    return documents_pull(db, &place, call->arena, call->answer, err);
}

void get_agent_document(struct api_call *call)
{
    const struct agent_query *query = call->query;

    if (!auth_may_report(call, STR_NULL, query->agent_name))
        return;
    call->answer = ARENA_NEW(call->arena, struct agent_document);
    call_read(call, pull);
}

/* Of a path that begins as struct agent_path does. */
static struct document_key place_of(const struct api_call *call)
{
    const struct agent_path *path = call->params;

    return (struct document_key){ .tenant_id = call->tenant->id,
                                  .agent_name = path->agent_name,
                                  .author = call_actor(call) };
}

static int show(struct api_call *call, struct db *db, struct error *err)
{
    const struct document_key place = place_of(call);

    return documents_show(db, &place, 0, call->arena, call->answer, err);
}

void get_document(struct api_call *call)
{
    call->answer = ARENA_NEW(call->arena, struct document);
    call_read(call, show);
}

/* Which version a change has made. */
static void tell_version(struct api_call *call)
{
    const struct document *answer = call->answer;

    call->audit_target = answer->agent_name;
    call->audit_detail =
        arena_printf(call->arena, "{\"version\":%lld}", (long long)answer->version);
}

static int set(struct api_call *call, struct db *db, struct error *err)
{
    const struct document_key place = place_of(call);

    if (documents_set(db, &place, call->body, call->arena, call->answer, err) != 0)
        return -1;
    tell_version(call);
    return 0;
}

void put_document(struct api_call *call)
{
    call->answer = ARENA_NEW(call->arena, struct document);
    call_change(call, set);
}

static int history(struct api_call *call, struct db *db, struct error *err)
{
    const struct document_key place = place_of(call);

    return documents_history(db, &place, call->query, call->arena, call->answer, err);
}

void get_document_versions(struct api_call *call)
{
    call->answer = ARENA_NEW(call->arena, struct document_history);
    call_read(call, history);
}

static struct document_key version_place(const struct api_call *call)
{
    const struct document_version_path *path = call->params;

    return (struct document_key){ .tenant_id = call->tenant->id,
                                  .agent_name = path->agent_name,
                                  .author = call_actor(call) };
}

static int show_version(struct api_call *call, struct db *db, struct error *err)
{
    const struct document_version_path *path = call->params;
    const struct document_key place = version_place(call);

    return documents_show(db, &place, path->version, call->arena, call->answer, err);
}

void get_document_version(struct api_call *call)
{
    call->answer = ARENA_NEW(call->arena, struct document);
    call_read(call, show_version);
}

static int restore(struct api_call *call, struct db *db, struct error *err)
{
    const struct document_version_path *path = call->params;
    const struct document_key place = version_place(call);

    if (documents_restore(db, &place, path->version, call->arena, call->answer, err) != 0)
        return -1;
    tell_version(call);
    return 0;
}

void post_document_restore(struct api_call *call)
{
    call->answer = ARENA_NEW(call->arena, struct document);
    call_change(call, restore);
}

static int diff(struct api_call *call, struct db *db, struct error *err)
{
    const struct document_key place = place_of(call);

    return documents_diff(db, &place, call->query, call->arena, call->answer, err);
}

void get_document_diff(struct api_call *call)
{
    call->answer = ARENA_NEW(call->arena, struct document_diff);
    call_read(call, diff);
}
