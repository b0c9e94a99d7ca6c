/* client.h - the API for the commands: in-process, over the socket of a running server, or over
 * the network, as the user of a personal access token.
 *
 * With SQLite, the process that holds the data directory's lock runs the
 * handlers; so a command sends to the server if one runs; otherwise it takes
 * the lock and runs them itself. With PostgreSQL it always runs them itself. With the setting
 * `server` it sends to that one, and opens nothing here.
 */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "http/exchange.h"

struct api;
struct client;
struct settings;

struct client_request {
    enum http_method method;
    struct str path; /* may hold a query */
    struct str body; /* JSON, or STR_NULL */
};

struct client_reply {
    int status;
    struct str body;   /* in the arena */
    struct str cookie; /* "name=value" that a server over the network has set; STR_NULL: none */
};

/* Receives the body of a good reply as it arrives, on some thread. */
struct client_sink {
    bool (*take)(void *ctx, struct str bytes); /* false to stop */
    void *ctx;
};

/* How to run the service in this process; the program above has it. */
struct client_local {
    /* The caller closes *ret. */
    int (*open)(const struct settings *settings, const char *database, struct api **ret,
                struct error *err);
    void (*close)(struct api *api);
};

struct login;

/* Borrows all until client_free(). With a login it sends there, whatever the settings say. The
 * caller owns *ret. */
int client_new(const struct settings *settings, const struct login *login,
               const struct client_local *local, struct client **ret, struct error *err) MUST_CHECK;

/* NULL is fine. */
void client_free(struct client *c);

/* 0 when there was a whole reply, whatever its status. The body of a good reply goes to the sink if
 * there is one, any other into the reply. */
int client_call(struct client *c, const struct client_request *request,
                const struct client_sink *sink, struct arena *arena, struct client_reply *ret,
                struct error *err) MUST_CHECK;

/* Where a request goes to. */
struct remote {
    const char *socket;            /* NULL: over the network */
    const char *server;            /* scheme, host and port */
    const char *ca;                /* file of certificates; NULL: the system's */
    struct str bearer_token;       /* STR_NULL: none */
    struct str cookie, csrf_token; /* of a session, instead; STR_NULL: none */
};

/* ERR_UNAVAILABLE when no server listens there; `sink` may be NULL. */
int remote_call(const struct remote *to, const struct client_request *request,
                const struct client_sink *sink, struct arena *arena, struct client_reply *ret,
                struct error *err) MUST_CHECK;

/* The URL without a slash at its end, in the arena; refused if a token or password would leave this
 * machine without TLS. ERR_INVALID. */
int remote_url(struct str url, struct arena *arena, const char **ret, struct error *err) MUST_CHECK;

/* Reads the URL and the token's file; in the arena. A token is sent without TLS only to this
 * machine. ERR_INVALID names the setting. */
int remote_read(const struct settings *settings, struct arena *arena, struct remote *ret,
                struct error *err) MUST_CHECK;

/* The service that a user of this machine signed in to with `muster login`. Its file is
 * muster/login in $XDG_CONFIG_HOME, or in ~/.config: lines 'name = value', readable by its owner
 * alone, because it holds a personal access token. A command uses it when it names no service by
 * itself; find_login() (request.c) has the rule. */
struct login {
    const char *server;    /* scheme, host and port */
    const char *server_ca; /* file of certificates; "": the system's */
    const char *user;      /* e-mail address */
    const char *token_id, *token;
};

/* Its path, in the arena; NULL when the environment names no home directory. */
const char *login_file_path(struct arena *arena);

/* *ret_found is false if there is no such file. ERR_INVALID: it cannot be used, and why. */
int login_file_read(struct arena *arena, struct login *ret, bool *ret_found,
                    struct error *err) MUST_CHECK;

/* Writes it whole or not at all, and makes its folder. */
int login_file_write(const struct login *login, struct arena *arena, struct error *err) MUST_CHECK;

/* Where its requests go to; borrows it. */
struct remote login_remote(const struct login *login);

int login_file_delete(struct arena *arena, struct error *err) MUST_CHECK;
