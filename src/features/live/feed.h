/* feed.h - live updates: sends changes to listening clients.
 *
 * The writer notes which runs and agents have changed; the feed's own thread
 * turns these changes into server-sent events, at most one per second per run
 * and agent, and sends them to the tenant's listeners. Without listeners,
 * noting a change only reads one flag.
 *
 * Each message has an id. A tenant's last messages are kept while it has
 * listeners, and a minute longer: a client that reconnects with the id of the
 * last message it received gets the messages it missed, or a `reset` when they
 * are no longer kept.
 *
 * Thread-safe.
 */
#pragma once
#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"
#include "engine/txn.h"

struct buf;
struct engine;
struct feed;

/* Embedded by the listener; must live until gone(). */
struct feed_listener {
    int64_t tenant_id;
    struct feed_listener *next; /* the feed's, as is last_id */
    char last_id[48];

    /* On the feed's thread; must not block. `text` is one or more whole messages; once a
     * second it is empty, to ask. False: the listener has gone, may not listen or is too slow. */
    bool (*push)(struct feed_listener *listener, struct str text);

    /* The last call, exactly once: on the feed's thread, or in feed_free(). */
    void (*gone)(struct feed_listener *listener);
};

/* `shared`: other processes write too. A `tick` makes clients reload: after each change that one of
 * them announces, and every few seconds while `notified` says that their notices do not arrive. */
struct feed *feed_new(bool shared, bool (*notified)(const struct engine *e),
                      const struct engine *e);

/* Any thread. `last_id` is the id of the last message received, or STR_NULL. ERR_BUSY when too many
 * tenants have listeners; then gone() is not called. */
int feed_listen(struct feed *f, struct feed_listener *listener, struct str last_id,
                struct error *err) MUST_CHECK;

/* A run that has changed, and whose agent was seen. */
struct feed_run {
    int64_t tenant_id;
    struct str run_id, agent_name;
    const char *status; /* static */
};

/* Are changes to be noted, for listeners here or for those that other processes may have? Not in a
 * NULL feed. */
bool feed_is_noting(const struct feed *f);

/* The runs that a transaction changed. */
void feed_note_runs(struct feed *f, const struct feed_run *runs, size_t n);

/* The agent was seen, or its state has changed. */
void feed_note_agent(struct feed *f, int64_t tenant_id, struct str agent_name);

/* `json` is the alert as the JSON object to send. */
void feed_note_alert(struct feed *f, int64_t tenant_id, struct str json);

/* Tenants whose data has changed here since the last call, as text for the feeds of other
 * processes; false: none. */
bool feed_take_changed(struct feed *f, struct buf *ret);

/* The text of another process; empty: some may have been missed. Listeners of its tenants reload.
 */
void feed_receive(struct feed *f, struct str text);

/* Ends all listeners. NULL is fine. */
void feed_free(struct feed *f);

/* The engine's. Any thread. */
struct feed *live_feed(const struct engine *e);

/* The part of a transaction that is this; NULL: it has none. */
extern const char feed_part[];

static inline struct feed *feed_of(const struct txn *txn)
{
    return txn_part(txn, feed_part);
}
