/* agents.h - the state of this feature that the engine and other features use. */
#pragma once
struct directives_cache;
struct engine;
struct handouts;
struct last_seen;

/* Any thread, from open() on. */
struct last_seen *agents_last_seen(const struct engine *e);
struct directives_cache *agents_directives(const struct engine *e);
struct handouts *agents_handouts(const struct engine *e);
