/* kinds_postgres.h - numbers for what many events have in common, on PostgreSQL.
 *
 * As event_kinds.h has them for SQLite, and also the forms of metadata and
 * metrics (json_form.h). Several nodes and writers share the table:
 *
 *  1. A kind's number is a hash of what it says, so that all find the same one.
 *     Of two kinds with the same number the first is stored; events of the
 *     other keep their texts.
 *  2. A kind is added by the transaction of the first event that has its number,
 *     and remembered (kinds_memory.h) when it was seen to be committed.
 *  3. Kinds are never changed, and go with their tenant. A combination gets a
 *     number when two events with it were stored before, and a tenant has about
 *     KINDS_PER_TENANT at most.
 *
 * Any writer thread.
 */
#pragma once
#include "base/arena.h"
#include "base/err.h"

struct db;
struct event_item;
struct kinds_memory;

enum { KINDS_PER_TENANT = 4096 };

/* The texts that may have a form: metadata and metrics. */
enum { KIND_FORMS = 2 };

/* Of one event. */
struct kind_found {
    bool wanted; /* set by the caller: this event is to be stored */
    bool has;    /* a kind, whose number follows */
    int32_t kind_no;
    struct str key; /* kinds_memory_saw() needs it once the event is stored; null: it does not */
    struct str values[KIND_FORMS]; /* in the kind's forms; null: the event has all of the text */
};

/* Where events are, and where what is found goes: one for each of them. */
struct kinds_question {
    const struct event_item *items;
    struct kind_found *found;
    size_t n;
    bool one_tenant; /* all items are one tenant's, as the statements for Citus need */
};

/* A transaction that calls it twice must be the only one meanwhile. The arena is scratch space, and
 * has the values that are found. */
int kinds_postgres_find(struct kinds_memory *memory, struct db *db, const struct kinds_question *q,
                        struct arena *arena, struct error *err) MUST_CHECK;
