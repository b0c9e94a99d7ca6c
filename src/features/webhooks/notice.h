/* notice.h - a message as people read it: what happened, where, why, and what to do.
 *
 * Every format is made from it. Its texts are short enough for the receivers'
 * limits: what an agent wrote is cut.
 *
 * Thread-safe: pure functions.
 */
#pragma once
#include "base/arena.h"

struct message_row;

/* Bytes of the texts below. */
enum { NOTICE_TEXT_MAX = 1000, NOTICE_NAME_MAX = 256, NOTICE_LINK_MAX = 2000 };

/* Where the message comes from. */
struct notice_place {
    struct str workspace;   /* slug */
    const char *public_url; /* of the portal; NULL or empty: unknown, so there are no links */
};

struct notice {
    const struct message_row *message;
    struct str workspace;
    struct str summary;            /* a sentence, or the message type */
    struct str agent_name, run_id; /* null: not about one */
    struct str error;              /* null: none */
    struct str link;               /* null: unknown */
    struct str alert_id;           /* null: of a test */
    struct str name;               /* of what is wrong, the same when it is over: "AgentSilent" */
    struct str severity;           /* error, warning or info */
    struct str next_step;          /* a sentence */
    bool recovered;                /* it says that something is over */
    bool lasts;                    /* until a message says that it is over */
    int64_t opened_at, closed_at;  /* closed_at: TIME_NULL */
};

/* Borrows the message; the rest is in the arena. */
struct notice notice_of(const struct message_row *message, const struct notice_place *place,
                        struct arena *arena);

/* A line about the message that is not null. */
struct notice_fact {
    const char *title;
    struct str text;
};
enum { NOTICE_FACTS_MAX = 4 };

/* Workspace, agent, run and error, those that are known; returns their number. */
size_t notice_facts(const struct notice *notice, struct notice_fact ret[NOTICE_FACTS_MAX]);
