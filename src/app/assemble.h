/* assemble.h - what the program is made of: its features, its commands, and from settings an engine
 * and an API. */
#pragma once
#include <stdbool.h>

#include "api/api.h"
#include "app/listen.h"
#include "base/budget.h"
#include "base/err.h"

struct client_local;
struct feature;
struct invocation;
struct program;
struct settings;

extern const char muster_version[]; /* made by cmake/version.cmake */

/* Called on the writer's thread when storage has failed: the process must end. */
typedef void assemble_fatal_fn(void *ctx, const struct error *err);

struct assembly {
    struct api api;
    struct budgets budgets;
    char own_url[LISTEN_URL_MAX]; /* of the API */
};

struct assembly_options {
    const struct settings *settings;
    const char *database;
    bool serves; /* a server, not a command */
    assemble_fatal_fn *on_fatal;
    void *ctx;
};

/* With the setting `database`, the database in the data directory is not used. If it has
 * workspaces, who starts a service hardly means that, and a command may not make the other
 * database: ERR_CONFLICT. Reads that directory, so call it before the process is confined. */
int assembly_check(const struct assembly_options *options, struct error *err) MUST_CHECK;

/* Opens the database and starts everything behind the API. */
int assemble(const struct assembly_options *options, struct assembly *ret,
             struct error *err) MUST_CHECK;

/* The limits of all shares, from the settings: a tree without nodes but its top. budgets.c. */
void budgets_read(const struct settings *settings, struct budgets *ret);

/* Says where the service listens, before it answers requests. */
void assembly_set_address(struct assembly *a, const struct listen_address *at);

/* Commits what is queued and stops everything. */
void disassemble(struct assembly *a);

/* Runs the service inside a command's process, without a server. */
extern const struct client_local assemble_local;

/* Every feature, in the order in which they start; ends in NULL. features.c. */
extern const struct feature *const features[];

/* Their counters, before anything prints metrics. */
void features_register_metrics(void);

/* All commands: those of the features, and those of the program itself. */
extern const struct program app_program;

/* Serves the API until a signal: serve.c. */
int serve_run(struct invocation *in);
