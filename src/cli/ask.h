/* ask.h - what the commands that speak the administrative API have in common. */
#pragma once
#include "base/err.h"
#include "base/str.h"
#include "cli/client.h"

struct invocation;
struct shape;

/* Sends one request, and turns anything but success into `err`. */
int ask_send(struct invocation *in, const struct client_request *request, struct client_reply *ret,
             struct error *err) MUST_CHECK;

/* The struct as a request body, in the arena. */
struct str ask_body(struct invocation *in, const struct shape *shape, const void *value);

/* "/api/v1/tenants/<slug>" and what follows. ERR_INVALID when the slug is NULL or none. */
int ask_tenant_path(struct invocation *in, const char *slug, const char *rest, struct str *ret,
                    struct error *err) MUST_CHECK;

/* A name as a segment of a path, in the arena. */
const char *ask_segment(struct invocation *in, const char *name);

/* The whole file, at most `bytes_max`, in the arena. */
int ask_file(struct invocation *in, const char *path, size_t bytes_max, struct str *ret,
             struct error *err) MUST_CHECK;

/* Prints the reply as it is; returns EXIT_DONE. */
int ask_say_json(const struct client_reply *reply);
