/* login_file.h - the service that a user of this machine signed in to with `muster login`.
 *
 * The file is muster/login in $XDG_CONFIG_HOME, or in ~/.config: lines 'name = value', readable by
 * its owner alone, because it holds a personal access token. A command uses it when it names no
 * service by itself; request_login() has the rule.
 */
#pragma once
#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "cli/client.h"

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
