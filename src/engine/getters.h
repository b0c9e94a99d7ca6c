/* getters.h - what features made, by the names that handlers use. */
#pragma once
struct engine;
struct registry *engine_registry(struct engine *e);
struct sessions *engine_sessions(struct engine *e);
struct throttle *engine_throttle(struct engine *e);
struct event_log *engine_event_log(struct engine *e);
struct courier *engine_courier(struct engine *e);
const struct webhooks_context *engine_webhooks(struct engine *e);
struct last_seen *engine_last_seen(struct engine *e);
struct prices *engine_prices(struct engine *e);
struct token_guess_limiter *engine_token_guesses(struct engine *e);
struct exports *engine_exports(struct engine *e);
struct feed *engine_feed(struct engine *e);
struct vault *engine_vault(struct engine *e);
