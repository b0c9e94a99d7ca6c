/* secret_key_names.h - what a configuration parameter is taken for when its key first appears.
 *
 * Thread-safe: pure functions.
 */
#pragma once
#include "features/agents/config/catalog_store.h"

/* A key that speaks of a password, secret, token, API key or credential, in whichever spelling
 * (apiKey, API-KEY), is secret: admins set it and nobody sees it. Others: admins edit, members
 * see. Borrows the key. */
struct catalog_parameter secret_key_names_first_entry(struct str key);
