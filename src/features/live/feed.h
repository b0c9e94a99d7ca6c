/* feed.h - live updates: what changed, told to whoever listens.
 *
 * The writer notes which runs and agents have changed; a thread of the feed's
 * own makes messages of it, at most one a second for each run and agent, and
 * hands them to the listeners of that tenant, in the form of server-sent
 * events. While nobody listens, noting costs a look at one flag.
 *
 * Each message has an id. The last ones of a tenant are kept while somebody
 * listens, and a minute longer: who comes back with the id of the last message
 * seen gets what was missed, or a `reset` when that is no longer known.
 *
 * Thread-safe.
 */
#pragma once
#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"

struct engine;
struct feed;

/* Embedded by who listens; alive until gone(). */
struct feed_listener {
    int64_t tenant_id;
    struct feed_listener *next; /* the feed's own, as is what follows */
    char last_id[48];

    /* The feed's thread; must not block. Some whole messages. False: nobody takes more. */
    bool (*push)(struct feed_listener *listener, struct str text);

    /* The feed's thread, exactly once, the last thing. */
    void (*gone)(struct feed_listener *listener);
};

struct feed_options {
    unsigned listeners_max, per_tenant_max;
    bool shared; /* others store things too: a `tick` every few seconds says to look again */
};

struct feed *feed_new(const struct feed_options *options);

/* Any thread. `last_id` is that of the last message seen, STR_NULL at first. ERR_BUSY when there
 * are too many; then gone() is not called. */
int feed_listen(struct feed *f, struct feed_listener *listener, struct str last_id,
                struct error *err) MUST_CHECK;

/* A run that has changed, and whose agent was seen. */
struct feed_run {
    int64_t tenant_id;
    struct str run_id, agent_name;
    const char *status; /* static */
};

/* There are listeners: changes are worth noting. A NULL feed is not active. */
bool feed_is_active(const struct feed *f);

/* The runs that a transaction changed. */
void feed_note_runs(struct feed *f, const struct feed_run *runs, size_t n);

/* The agent was seen, or its state has changed. */
void feed_note_agent(struct feed *f, int64_t tenant_id, struct str agent_name);

/* An alert, as the JSON object that is told of it. */
void feed_note_alert(struct feed *f, int64_t tenant_id, struct str json);

/* Ends all listeners. NULL is fine. */
void feed_free(struct feed *f);

/* The engine's. Any thread. */
struct feed *live_feed(const struct engine *e);
