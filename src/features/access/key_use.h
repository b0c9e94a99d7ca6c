/* key_use.h - when keys were used: noted in memory at each use, stored from time to time.
 *
 * The last use is information for users: it is stored at most once a minute and
 * at a clean stop. The first use of a successor decides whether it may still be
 * replaced, and is stored at once.
 */
#pragma once
#include "engine/writer.h"
#include "features/access/registry.h"

/* Any thread; costs next to nothing. */
void key_use_remember(struct key_use *use, int64_t now_us);

/* Submits the last uses that are not stored yet, in bounded steps, without waiting. What cannot be
 * queued is left to the next call. One thread at a time. */
void key_use_flush(struct registry *registry, struct writer *writer);

/* The later of the last use in memory and the stored one; TIME_NULL when the key was never used. */
int64_t key_use_last(struct registry *registry, struct str key_id, int64_t stored_at);

/* Filled in by the caller, in memory that lives until done(). */
struct key_first_use {
    struct writer_job job; /* internal */
    const struct key_entry *key;
    int64_t asked_us; /* as in struct writer_job */
    bool good;        /* set before done(): the key was not revoked */

    /* As a writer job's done(), exactly once. `err` is NULL when durable, and borrowed otherwise.
     */
    void (*done)(struct key_first_use *use, const struct error *err);
};

/* Is the first use of this key stored, or not needed? Any thread. */
bool key_use_is_noted(const struct key_use *use);

/* Stores the first use. Any thread. ERR_BUSY: done() is not called. */
int key_use_note(struct writer *writer, struct key_first_use *use, struct error *err) MUST_CHECK;
