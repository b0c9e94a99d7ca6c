/* remote_settings.h - the service that commands reach over the network, as the settings name it. */
#pragma once
#include "cli/client.h"

/* The URL without a slash at its end, in the arena; refused if a token or password would leave this
 * machine without TLS. ERR_INVALID. */
int remote_url(struct str url, struct arena *arena, const char **ret, struct error *err) MUST_CHECK;

/* Reads the URL and the token's file; in the arena. A token is sent without TLS only to this
 * machine. ERR_INVALID names the setting. */
int remote_read(const struct settings *settings, struct arena *arena, struct remote *ret,
                struct error *err) MUST_CHECK;
