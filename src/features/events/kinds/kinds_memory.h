/* kinds_memory.h - which kinds of events are stored in PostgreSQL, as far as this process
 * remembers.
 *
 * Each has its place, and one that is forgotten for another in the same place is
 * asked for again. So what a tenant has takes little of what others have.
 *
 * Any thread.
 */
#pragma once
#include "base/str.h"

struct db;
struct kinds_memory;

/* What is known of a combination: little; that two events with it were stored, so that one which is
 * sent again does not count; that it is a kind, which is committed. */
enum kind_memory { KIND_NEW, KIND_SEEN, KIND_STORED };

struct kinds_memory *kinds_memory_new(void);

/* NULL is fine. */
void kinds_memory_free(struct kinds_memory *m);

/* Before the others of a transaction. After a connection was lost the database may be another one,
 * as a standby that has missed something: no kind is known to be stored then. */
void kinds_memory_begin(struct kinds_memory *m, const struct db *db);

/* After a rollback: forgets which kinds are stored, and which combinations were seen. */
void kinds_memory_forget(struct kinds_memory *m);

/* *ret_no is set for KIND_STORED. */
enum kind_memory kinds_memory_find(struct kinds_memory *m, struct str key, int32_t *ret_no);

void kinds_memory_add(struct kinds_memory *m, struct str key, int32_t kind_no);
void kinds_memory_saw(struct kinds_memory *m, struct str key);

/* A tenant that has no room for more kinds is left alone for a while. */
void kinds_memory_set_full(struct kinds_memory *m, int64_t tenant_id);
bool kinds_memory_is_full(struct kinds_memory *m, int64_t tenant_id);
