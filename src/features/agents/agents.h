/* agents.h - the state of this feature that the engine and other features use. */
#pragma once
struct directives_cache;
struct engine;
struct handouts;
struct agent_cache;

/* Any thread, from open() on. */
struct agent_cache *agents_cache(const struct engine *e);
struct directives_cache *agents_directives(const struct engine *e);
struct handouts *agents_handouts(const struct engine *e);
