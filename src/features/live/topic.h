/* topic.h - what has changed for one tenant, and the last messages about it; private to feed.c.
 *
 * What is noted is guarded by the feed's lock; listeners and messages are its thread's.
 */
#pragma once
#include <stdbool.h>

#include "base/buf.h"
#include "base/map.h"

struct feed_listener;

enum change_kind { CHANGE_RUN, CHANGE_AGENT, CHANGE_ALERT };

/* One change that was noted, made up of one block of memory. */
struct topic_change {
    struct topic_change *next;
    enum change_kind kind;
    const char *status; /* of a run; static */
    struct str key;     /* a letter for the kind, and what has changed */
    struct str text;    /* of a run: its agent; of an alert: its JSON */
};

struct topic_changes {
    struct topic_change *first, **last;
    size_t n;
    bool too_many; /* nothing was kept */
};

struct topic_message {
    struct topic_message *next;
    uint64_t number;
    size_t len;
    char text[];
};

struct topic {
    int64_t tenant_id;
    uint64_t epoch;       /* of its ids, unlike that of any topic before */
    unsigned n_listeners; /* with those that are about to join; under the lock */
    struct map keys;      /* of the changes; under the lock, as they are */
    struct topic_changes changes;

    struct feed_listener *listeners;
    struct topic_message *first, *newest; /* the last messages */
    size_t bytes;                         /* of them */
    uint64_t number;                      /* of the last one */
    uint64_t floor;                       /* messages up to this one are not there any more */
    int64_t left_us;                      /* when the last listener left */
};

struct topic *topic_new(int64_t tenant_id, uint64_t epoch);
void topic_free(struct topic *t);

/* Notes a change, once for each key. An alert has none. */
void topic_note(struct topic *t, enum change_kind kind, struct str key, struct str text,
                const char *status);

/* Takes the changes out. */
struct topic_changes topic_take(struct topic *t);
void topic_drop(struct topic_changes *changes);

/* Makes messages of the changes, keeps them, and adds them to `out`. */
void topic_publish(struct topic *t, const struct topic_changes *changes, struct buf *out);

/* What one gets who comes with this id of a message, or none: what was missed, or that this is not
 * known, or where to begin. */
void topic_greet(const struct topic *t, struct str last_id, struct buf *out);
