/* engine.h - everything behind the API, started and stopped as one.
 *
 * Opens the database, migrates it, and starts the writer, the readers and the
 * watcher over it. The server and the command line both run one.
 */
#pragma once
#include <stdbool.h>

#include "base/err.h"
#include "engine/writer.h"
#include "features/webhooks/attempt.h"
#include "features/webhooks/webhooks.h"

struct courier;
struct engine;
struct event_log;
struct last_seen;
struct token_guess_limiter;
struct prices;
struct exports;
struct sessions;
struct feed;
struct reader_job;
struct registry;
struct throttle;

struct engine_options {
    const char *database; /* as for db_open() */
    const char *key_file; /* of the master key, as for vault_new() */
    bool serves;          /* alerts are watched for; the vault is in order, or made */
    unsigned readers;     /* threads */
    size_t reads_max;     /* waiting reads; beyond it ERR_BUSY */
    bool hashes_apart;    /* passwords are hashed on a thread of their own, not on a reader */
    struct writer_limits writer;
    struct target_rules webhook_rules;
    struct mail_options mail;
    unsigned live_max, live_max_per_tenant;               /* listeners to live updates */
    void (*on_fatal)(void *ctx, const struct error *err); /* as in writer.h */
    void *ctx;
};

/* The caller owns *ret. On return of 0 everything that was durable before is readable. */
int engine_new(const struct engine_options *options, struct engine **ret,
               struct error *err) MUST_CHECK;

/* Commits what is queued, stops all threads, empties the log. NULL is fine. */
void engine_free(struct engine *e);

struct registry *engine_registry(struct engine *e);
struct sessions *engine_sessions(struct engine *e);
struct throttle *engine_throttle(struct engine *e);
struct writer *engine_writer(struct engine *e);
struct event_log *engine_event_log(struct engine *e);
struct courier *engine_courier(struct engine *e);

/* What webhooks are made with. */
const struct webhooks_context *engine_webhooks(const struct engine *e);
struct last_seen *engine_last_seen(struct engine *e);
struct prices *engine_prices(struct engine *e);
struct token_guess_limiter *engine_token_guesses(struct engine *e);
struct exports *engine_exports(struct engine *e);
struct feed *engine_feed(struct engine *e);
struct vault *engine_vault(struct engine *e);

/* Any thread; see readers_submit(). */
int engine_read(struct engine *e, struct reader_job *job, struct error *err) MUST_CHECK;

/* Runs it at once on this thread, if that is quickly done; see readers_run_inline(). */
bool engine_read_inline(struct engine *e, struct reader_job *job) MUST_CHECK;

/* As engine_read(), for what hashes a password: one at a time, since each takes 64 MiB and a while,
 * and few that wait. */
int engine_hash(struct engine *e, struct reader_job *job, struct error *err) MUST_CHECK;

/* The database answers. Any thread. */
bool engine_is_healthy(const struct engine *e);

/* What it is about just now. Any thread. */
struct engine_stats {
    bool healthy;
    size_t queue_events, queue_bytes, reads_waiting;
    unsigned exports;
    int64_t store_bytes, alerts_open; /* when last looked at; 0: not yet */
    int64_t registry_number;
};

void engine_stats(struct engine *e, struct engine_stats *ret);

/* Do others change this database too? Then a key that is not known here may still be good. */
bool engine_is_shared(const struct engine *e);
