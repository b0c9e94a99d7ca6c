/* config_routes.c - an agent pulls its configuration, with secrets resolved.
 * A reader reads the values in effect and builds the answer. If it contains
 * secrets that the caller was not given within the last hour, their audit entry
 * is committed before the reply is sent; if that fails, the request fails.
 */
#include "features/agents/config/config.h"

#include <stdlib.h>

#include "api/api.h"
#include "api/call.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/lock.h"
#include "base/map.h"
#include "base/mem.h"
#include "db/db.h"
#include "engine/engine.h"
#include "engine/job.h"
#include "engine/txn.h"
#include "features/access/auth.h"
#include "features/agents/routes.h"
#include "features/agents/shapes.h"
#include "features/vault/vault.h"

enum { ANSWER_MAX = 16 << 20, HANDOUTS_MAX = 1 << 16, HOUR_S = 3600 };

/* The audit log grows with what it records. So it has one entry an hour about the same value of a
 * secret that the same key asks for from the same address. This process remembers the entries it
 * made; when there are too many it forgets them all, and enters each again. */
struct handouts {
    struct lock lock;
    struct map noted GUARDED_BY(lock); /* mark -> struct noted */
};

struct noted {
    struct mark mark;
    int64_t at_us; /* monotonic */
};

/* A secret that is handed out. */
struct handout {
    int64_t tenant_id;
    struct str actor, origin; /* who gets it, and where */
    struct str agent_name;    /* whose configuration refers to it */
    struct str name;
    struct str seal; /* of the sealed value: a secret that is deleted and set again has another */
};

struct handouts *handouts_new(void)
{
    struct handouts *h = NEW(struct handouts);

    lock_init(&h->lock);
    map_init(&h->noted);
    return h;
}

static void forget_all(struct handouts *h) REQUIRES(h->lock)
{
    struct noted *noted;

    for (size_t at = 0; (noted = map_next(&h->noted, &at)) != NULL;)
        free(noted);
    map_done(&h->noted);
    map_init(&h->noted);
}

void handouts_free(struct handouts *h)
{
    if (h == NULL)
        return;
    lock_unshared(&h->lock);
    forget_all(h);
    lock_done(&h->lock);
    free(h);
}

static struct mark mark_of(const struct handout *handout)
{
    const struct str texts[] = { handout->actor, handout->origin, handout->agent_name,
                                 handout->name, handout->seal };
    BUF_SCOPED(out, SIZE_MAX); /* names and an address: short */

    buf_printf(&out, "%lld:", (long long)handout->tenant_id);
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        buf_printf(&out, "%zu:", texts[i].len);
        buf_add(&out, texts[i]);
    }
    return digest_mark(buf_str(&out));
}

static struct str key_of(const struct mark *mark)
{
    return str_from((const char *)mark->bytes, sizeof(mark->bytes));
}

/* Was it entered in the audit log less than an hour ago? */
static bool handouts_has(struct handouts *h, const struct handout *handout)
{
    const struct mark mark = mark_of(handout);
    const struct noted *noted;
    bool found;

    lock_acquire(&h->lock);
    noted = map_get(&h->noted, key_of(&mark));
    found = noted != NULL && clock_mono_us() - noted->at_us < (int64_t)HOUR_S * USEC_PER_SEC;
    lock_release(&h->lock);
    return found;
}

/* Its entry is durable. */
static void handouts_add(struct handouts *h, const struct handout *handout)
{
    const struct mark mark = mark_of(handout);
    struct noted *noted;

    lock_acquire(&h->lock);
    noted = map_get(&h->noted, key_of(&mark));
    if (noted == NULL) {
        if (h->noted.n == HANDOUTS_MAX)
            forget_all(h);
        noted = NEW(struct noted);
        noted->mark = mark;
        (void)map_put(&h->noted, key_of(&noted->mark), noted);
    }
    noted->at_us = clock_mono_us();
    lock_release(&h->lock);
}

/* call->own. */
struct config_call {
    struct writer_job job;
    struct api_call *call;
    struct secrets secrets;
    struct config config;
    struct buf body;
    bool unchanged; /* the caller has this version: no secret was opened */

    struct handout *fresh; /* secrets that must be entered in the audit log now */
    size_t n_fresh;
};

static int build_answer(struct config_call *c, struct db *db, struct error *err)
{
    const struct agent_query *query = c->call->query;
    struct arena *arena = c->call->arena;

    if (config_prepare(db, &c->secrets, query->agent_name, arena, &c->config, err) != 0)
        return -1;
    c->unchanged = call_knows_tag(c->call, c->config.tag);
    return c->unchanged ? 0 : config_write(db, &c->config, arena, &c->body, err);
}

/* Reader thread; may run twice. */
static int config_read(struct api_call *call, struct db *db, struct error *err)
{
    struct config_call *c = call->own;

    vault_wipe(&c->body);
    buf_init(&c->body, ANSWER_MAX);
    if (db_begin(db, err) != 0)
        return -1;
    return db_end_read(db, build_answer(c, db, err));
}

/* A secret that cannot be opened is reported as unavailable; the log has the reason. */
static void reply_failure(struct config_call *c, const struct error *err)
{
    struct error shown = *err;

    if (shown.code == ERR_SCHEMA)
        shown.code = ERR_UNAVAILABLE;
    vault_wipe(&c->body);
    call_reply(c->call, &shown);
}

static void reply_config(struct api_call *call)
{
    struct config_call *c = call->own;

    call_reply_config(call, c->config.tag, c->config.missing, &c->body);
}

static struct job_cost config_audit_cost = JOB_COST(2000);

static int config_audit_apply(struct writer_job *job, struct txn *txn, struct error *err)
{
    struct config_call *c = CONTAINER_OF(job, struct config_call, job);

    return call_audit(c->call, txn->db, c->call->route->audit, err);
}

static void config_audit_done(struct writer_job *job, const struct error *err)
{
    struct config_call *c = CONTAINER_OF(job, struct config_call, job);
    struct handouts *handouts = agents_handouts(c->call->api->engine);
    struct error refused;

    if (err != NULL) { /* any failure may be temporary */
        vault_wipe(&c->body);
        refused = *err;
        if (refused.code != ERR_BUSY)
            refused.code = ERR_UNAVAILABLE;
        call_resume(c->call, &refused, NULL);
        return;
    }
    for (size_t i = 0; i < c->n_fresh; i++)
        handouts_add(handouts, &c->fresh[i]);
    call_resume(c->call, NULL, reply_config);
}

/* {"secrets":["A","B"]}: names, no values. */
static struct str names_text(const struct config_call *c)
{
    BUF_SCOPED(out, SIZE_MAX); /* names are short and few */

    buf_add_c(&out, "{\"secrets\":");
    for (size_t i = 0; i < c->n_fresh; i++) {
        buf_add_char(&out, i == 0 ? '[' : ',');
        buf_add_json(&out, c->fresh[i].name);
    }
    buf_add_c(&out, "]}");
    return buf_take(&out, c->call->arena);
}

static void audit_secrets(struct config_call *c)
{
    struct error err = { 0 };

    c->call->audit_target = c->config.agent_name;
    c->call->audit_detail = names_text(c);
    c->job = (struct writer_job){ .apply = config_audit_apply,
                                  .done = config_audit_done,
                                  .asked_us = c->call->asked_us,
                                  .budget = c->call->budget,
                                  .cost = &config_audit_cost,
                                  .events = 1,
                                  .exclusive = true,
                                  .keeps_caches = true };
    if (writer_submit(engine_writer(c->call->api->engine), &c->job, &err) != 0)
        reply_failure(c, &err);
}

/* Without those that this key got at this address within the last hour, sealed the same. */
static void find_fresh(struct config_call *c)
{
    struct handouts *handouts = agents_handouts(c->call->api->engine);
    const struct config_secret *opened = c->config.opened.items;
    struct handout handout = { .tenant_id = c->call->tenant_id,
                               .actor = auth_actor(c->call),
                               .origin = auth_origin(c->call),
                               .agent_name = c->config.agent_name };

    c->fresh = ARENA_ARRAY(c->call->arena, struct handout, c->config.opened.n);
    c->n_fresh = 0;
    for (size_t i = 0; i < c->config.opened.n; i++) {
        handout.name = opened[i].name;
        handout.seal = opened[i].seal;
        if (!handouts_has(handouts, &handout))
            c->fresh[c->n_fresh++] = handout;
    }
}

static void config_read_done(struct api_call *call, const struct error *err)
{
    struct config_call *c = call->own;

    if (err != NULL) {
        reply_failure(c, err);
        return;
    }
    if (c->unchanged) {
        call_reply_unchanged(call, c->config.tag);
        return;
    }
    find_fresh(c);
    if (c->n_fresh == 0)
        reply_config(call);
    else
        audit_secrets(c);
}

static int pull_config(struct api_call *call, struct error *err)
{
    const struct agent_query *query = call->query;
    struct config_call *c;

    if (auth_may_report(call, STR_NULL, query->agent_name, err) != 0)
        return -1;
    c = ARENA_NEW(call->arena, struct config_call);
    c->call = call;
    c->secrets = (struct secrets){ vault_of(call->api->engine), call->tenant_id };
    call->own = c;
    return call_read(call, config_read, config_read_done, err);
}

/* clang-format off */
const struct route config_routes[] = {
    { ROUTE(GET, "/api/v1/agents/config", OWN_AGENT, 200), .handler = pull_config, .sends = SENDS_MISSING_KEYS, .query = &agent_query_shape, .tagged = true, .audit = "config.resolve", .sample = "{\"mailbox\":\"billing@example.com\"}",
      .id = "pull_config", .summary = "Get the agent's configuration with secrets resolved",
      .description = "Every declared parameter with its value: the agent's, else the workspace's, else the default, else null. Required parameters without a value are named in the header `X-Config-Missing`. Handing out secrets is entered in the audit log." },
    { 0 },
};
/* clang-format on */
