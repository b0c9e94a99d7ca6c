/* request.h - from a command's row and what was given to a request, and back to a struct
 * (reply.c). */
#pragma once
#include "base/err.h"
#include "base/str.h"
#include "cli/client.h"

struct command;
struct invocation;
struct option;
struct shape;

/* The whole request of the command's row. */
int request_make(struct invocation *in, struct client_request *ret, struct error *err) MUST_CHECK;

/* Its path and query alone, in the arena. */
struct str request_path(struct invocation *in);

/* Sends a request and turns anything but success into `err`. */
int request_send(struct invocation *in, const struct client_request *request,
                 struct client_reply *ret, struct error *err) MUST_CHECK;

/* The same; the body of a good reply goes to the sink. */
int request_pour(struct invocation *in, const struct client_request *request,
                 const struct client_sink *sink, struct error *err) MUST_CHECK;

/* GETs a path and reads the answer. */
int request_get(struct invocation *in, const char *path, const struct shape *shape, void *ret,
                struct error *err) MUST_CHECK;

/* Turns anything but success into `err`. */
int request_check(const struct client_reply *reply, struct arena *arena,
                  struct error *err) MUST_CHECK;

/* Closes what sending has opened, before the command waits for a person. */
void request_hang_up(struct invocation *in);

/* The reply's body as a struct of this shape. */
int request_read(const struct client_reply *reply, const struct shape *shape, struct arena *arena,
                 void *ret, struct error *err) MUST_CHECK;

/* What was given beyond the path, as members of a body of this shape; in the arena. */
struct str request_bind(struct invocation *in, const struct shape *shape);

/* The struct as a request body, in the arena. */
struct str request_body(struct invocation *in, const struct shape *shape, const void *value);

/* The whole file, at most `bytes_max`, in the arena. */
int request_file(struct invocation *in, const char *path, size_t bytes_max, struct str *ret,
                 struct error *err) MUST_CHECK;

/* What an option is called in a body or query, in the arena. */
const char *request_field(struct invocation *in, const struct option *option);

/* Does the command's path have a place of that name? */
bool request_in_path(const struct command *c, const char *name);
