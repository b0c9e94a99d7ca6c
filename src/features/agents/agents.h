/* agents.h - what the engine's parts and other features ask about agents. */
#pragma once
struct directives_cache;
struct engine;
struct last_seen;

/* Any thread, from open() on. */
struct last_seen *agents_last_seen(const struct engine *e);
struct directives_cache *agents_directives(const struct engine *e);
