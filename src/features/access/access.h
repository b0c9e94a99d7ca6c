/* access.h - the state of this feature that the API and other features use. */
#pragma once
struct engine;
struct rate_share;
struct registry;
struct sessions;
struct token_guess_limiter;

/* Any thread, from open() on. */
struct registry *access_registry(const struct engine *e);
struct rate_share *access_rates(const struct engine *e);
struct sessions *access_sessions(const struct engine *e);
struct token_guess_limiter *access_token_guesses(const struct engine *e);
