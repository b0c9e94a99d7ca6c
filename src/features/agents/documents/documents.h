/* documents.h - agents' documents: reading, setting, comparing, restoring.
 *
 * All run inside a transaction or on a reader, with the caller's connection.
 * Answers are in the arena and borrow the name. ERR_NOT_FOUND when the agent
 * has no document, or not that version.
 */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "features/agents/documents/store.h"
#include "features/agents/shapes.h"

struct db;

/* The newest version, as the agent pulls it. */
int documents_pull(struct db *db, const struct document_key *key, struct arena *arena,
                   struct agent_document *ret, struct error *err) MUST_CHECK;

/* Version 0 is the newest. */
int documents_show(struct db *db, const struct document_key *key, int64_t version,
                   struct arena *arena, struct document *ret, struct error *err) MUST_CHECK;

/* Adds a version, unless the text equals the newest one. ERR_CONFLICT when base_version is not the
 * newest. */
int documents_set(struct db *db, const struct document_key *key, const struct document_set *set,
                  struct arena *arena, struct document *ret, struct error *err) MUST_CHECK;

/* The version's text becomes the newest version. */
int documents_restore(struct db *db, const struct document_key *key, int64_t version,
                      struct arena *arena, struct document *ret, struct error *err) MUST_CHECK;

int documents_history(struct db *db, const struct document_key *key,
                      const struct history_query *query, struct arena *arena,
                      struct document_history *ret, struct error *err) MUST_CHECK;

int documents_diff(struct db *db, const struct document_key *key, const struct diff_query *query,
                   struct arena *arena, struct document_diff *ret, struct error *err) MUST_CHECK;
