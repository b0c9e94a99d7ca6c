/* config_routes.c - an agent asks for its configuration, with the secrets in it.
 *
 * What holds is read and put together by a reader. If secrets are in it, that
 * they are given out is entered in the audit log, durably, before the reply
 * leaves; when that cannot be, nothing leaves.
 */
#include "features/agents/config/config.h"

#include "api/api.h"
#include "api/call.h"
#include "api/handlers.h"
#include "db/db.h"
#include "engine/engine.h"
#include "engine/txn.h"
#include "features/access/auth.h"
#include "features/access/registry.h"
#include "features/agents/shapes.h"
#include "features/vault/vault.h"

enum { ANSWER_MAX = 64 << 20 };

/* call->answer until the reply. */
struct config_call {
    struct writer_job job;
    struct api_call *call;
    struct secrets secrets;
    struct config config;
    struct buf body;
    bool unchanged; /* the caller has it already: nothing was opened */
};

static int put_together(struct config_call *c, struct db *db, struct error *err)
{
    const struct agent_query *query = c->call->query;
    struct arena *arena = c->call->arena;

    if (config_prepare(db, &c->secrets, query->agent_name, arena, &c->config, err) != 0)
        return -1;
    c->unchanged = call_knows_tag(c->call, c->config.tag);
    return c->unchanged ? 0 : config_write(db, &c->config, arena, &c->body, err);
}

/* Reader thread; maybe twice. */
static int run(struct reader_job *job, struct db *db, struct error *err)
{
    struct api_call *call = CONTAINER_OF(job, struct api_call, read);
    struct config_call *c = call->answer;
    int r;

    vault_wipe(&c->body);
    buf_init(&c->body, ANSWER_MAX);
    if (db_begin(db, err) != 0)
        return -1;
    r = put_together(c, db, err);
    db_rollback(db);
    return r;
}

/* What cannot be opened is as good as not there: the log says why. */
static void fail(struct config_call *c, const struct error *err)
{
    struct error told = *err;

    if (told.code == ERR_SCHEMA)
        told.code = ERR_UNAVAILABLE;
    vault_wipe(&c->body);
    call_reply_failure(c->call, &told);
}

static void reply(struct api_call *call)
{
    struct config_call *c = call->answer;

    call_reply_config(call, c->config.tag, c->config.missing, &c->body);
}

static int enter(struct writer_job *job, struct txn *txn, struct error *err)
{
    struct config_call *c = CONTAINER_OF(job, struct config_call, job);

    return call_audit(c->call, txn->db, c->call->route->audit, err);
}

static void entered(struct writer_job *job, const struct error *err)
{
    struct config_call *c = CONTAINER_OF(job, struct config_call, job);
    struct error refused;

    if (err != NULL) { /* whatever it was: try again later */
        vault_wipe(&c->body);
        refused = *err;
        if (refused.code != ERR_BUSY)
            refused.code = ERR_UNAVAILABLE;
        call_resume(c->call, &refused, NULL);
        return;
    }
    call_resume(c->call, NULL, reply);
}

/* {"secrets":["A","B"]}: names, no values. */
static struct str names_text(const struct config_call *c)
{
    const struct str *names = c->config.names.items;
    struct str text;
    struct buf out;

    buf_init(&out, SIZE_MAX); /* names are short and few */
    buf_add_c(&out, "{\"secrets\":");
    for (size_t i = 0; i < c->config.names.n; i++) {
        buf_add_char(&out, i == 0 ? '[' : ',');
        buf_add_json(&out, names[i]);
    }
    buf_add_c(&out, "]}");
    text = arena_copy(c->call->arena, buf_str(&out));
    buf_done(&out);
    return text;
}

static void give_secrets(struct config_call *c)
{
    struct error err = { 0 };

    c->call->audit_target = c->config.agent_name;
    c->call->audit_detail = names_text(c);
    c->job = (struct writer_job){ .apply = enter, .done = entered, .exclusive = true };
    if (writer_submit(engine_writer(c->call->api->engine), &c->job, &err) != 0)
        fail(c, &err);
}

static void done(struct reader_job *job, const struct error *err)
{
    struct api_call *call = CONTAINER_OF(job, struct api_call, read);
    struct config_call *c = call->answer;

    if (err != NULL)
        fail(c, err);
    else if (c->unchanged)
        call_reply_unchanged(call, c->config.tag);
    else if (c->config.names.n == 0)
        reply(call);
    else
        give_secrets(c);
}

void get_agent_config(struct api_call *call)
{
    const struct agent_query *query = call->query;
    struct config_call *c;
    struct error err = { 0 };

    if (!auth_may_report(call, STR_NULL, query->agent_name))
        return;
    c = ARENA_NEW(call->arena, struct config_call);
    c->call = call;
    c->secrets = (struct secrets){ engine_vault(call->api->engine), call->key->tenant->id };
    call->answer = c;
    call->read = (struct reader_job){ .run = run, .done = done };
    if (engine_read(call->api->engine, &call->read, &err) != 0)
        call_reply_failure(call, &err);
}
