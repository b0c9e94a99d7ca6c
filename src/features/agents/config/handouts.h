/* handouts.h - which secrets were handed out within the last hour, to which key and address.
 *
 * The audit log grows with what it records. So it has one entry an hour about the same value of a
 * secret that the same key asks for from the same address, however often it does. This table
 * remembers the entries; it is this process's own, and of a fixed size: what it forgets early is
 * entered again.
 *
 * Thread-safe.
 */
#pragma once
#include "base/str.h"

struct engine;
struct handouts;

/* A secret that is handed out. */
struct handout {
    int64_t tenant_id;
    struct str actor, origin; /* who gets it, and where */
    struct str agent_name;    /* whose configuration refers to it */
    struct str name;
    struct str seal; /* of the sealed value: a secret that is deleted and set again has another */
};

/* The engine's. */
struct handouts *agents_handouts(const struct engine *e);

struct handouts *handouts_new(void);

/* NULL is fine. */
void handouts_free(struct handouts *h);

/* Was it entered in the audit log less than an hour ago? `mono_us` is the monotonic clock. */
bool handouts_has(struct handouts *h, const struct handout *handout, int64_t mono_us);

/* Its entry is durable. */
void handouts_add(struct handouts *h, const struct handout *handout, int64_t mono_us);
