/* secret_key_names.h - the first catalog entry of a configuration parameter, by its key.
 *
 * Thread-safe: pure functions.
 */
#pragma once
#include "features/agents/config/catalog_store.h"

/* A key that contains password, secret, token, API key or credential in any spelling (apiKey,
 * API-KEY) is secret: admins set it and no one sees it. Others: admins edit, members see. Borrows
 * the key. */
struct catalog_parameter secret_key_names_first_entry(struct str key);
