/* access.h - who is who: what other features and the API ask about tenants, keys and users. */
#pragma once
struct engine;
struct registry;
struct sessions;
struct throttle;
struct token_guess_limiter;

/* Any thread, from open() on. */
struct registry *access_registry(const struct engine *e);
struct sessions *access_sessions(const struct engine *e);
struct throttle *access_throttle(const struct engine *e);
struct token_guess_limiter *access_token_guesses(const struct engine *e);
