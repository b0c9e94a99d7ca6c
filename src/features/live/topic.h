/* topic.h - one tenant's changes and last messages; private to feed.c.
 *
 * The feed's lock guards the changes; listeners and messages belong to the feed's thread.
 */
#pragma once
#include <stdbool.h>

#include "base/buf.h"
#include "base/map.h"

struct feed_listener;

enum change_kind { CHANGE_RUN, CHANGE_AGENT, CHANGE_ALERT };

/* One noted change, in one block of memory with its strings. */
struct topic_change {
    struct topic_change *next;
    enum change_kind kind;
    const char *status; /* of a run; static */
    struct str key;     /* a letter for the kind, then the run's id or the agent's name */
    struct str text;    /* run: its agent's name; alert: its JSON */
};

struct topic_changes {
    struct topic_change *first, **last;
    size_t n;
    bool too_many; /* the changes were dropped */
};

struct topic_message {
    struct topic_message *next;
    uint64_t number;
    size_t len;
    char text[];
};

struct topic {
    int64_t tenant_id;
    uint64_t epoch;       /* part of its message ids; no two topics have the same */
    bool ticks;           /* listeners reload: another process wrote; under the lock */
    unsigned n_listeners; /* including those about to join; under the lock */
    struct map keys;      /* of the changes; under the lock, as `changes` */
    struct topic_changes changes;

    struct feed_listener *listeners;
    struct topic_message *first, *newest; /* the messages kept */
    size_t bytes;                         /* of the messages kept */
    uint64_t number;                      /* of the last message */
    uint64_t floor;                       /* messages up to this number are dropped */
    int64_t left_us;                      /* when the last listener left */
};

struct topic *topic_new(int64_t tenant_id, uint64_t epoch);
void topic_free(struct topic *t);

/* Notes a change, once per key; alerts have no key and are all noted. */
void topic_note(struct topic *t, enum change_kind kind, struct str key, struct str text,
                const char *status);

/* Moves the changes to the caller, who drops them. */
struct topic_changes topic_take(struct topic *t);
void topic_drop(struct topic_changes *changes);

/* Turns the changes into messages, keeps them, and writes them to `out`. */
void topic_publish(struct topic *t, const struct topic_changes *changes, struct buf *out);

/* Writes the first text for a new listener to `out`: without a last_id `ready`; otherwise the
 * messages after it, or `reset` when these are no longer kept. */
void topic_greet(const struct topic *t, struct str last_id, struct buf *out);

/* Tenants that changed, as text from one process's feed to the others': their numbers with a blank
 * between them; "*", and an empty one, name all. */
enum { CHANGED_TENANTS_MAX = 256 }; /* tenants in one text; beyond it: all of them */

struct changed_tenants {
    int64_t tenants[CHANGED_TENANTS_MAX];
    size_t n; /* more than CHANGED_TENANTS_MAX: too many to name */
};

/* Adds a tenant, once; nothing unless `others`: other processes read the text. */
void changed_tenants_note(struct changed_tenants *t, int64_t tenant_id, bool others);

/* Adds the text to `ret` and empties the set; false: it was empty. */
bool changed_tenants_take(struct changed_tenants *t, struct buf *ret);

bool changed_tenants_has(struct str text, int64_t tenant_id);
