/* token.h - the format of bearer tokens.
 *
 *   mst_ws_<30 random base62 digits><6 digits of CRC-32>     a workspace key
 *   mst_ag_<30 random base62 digits><6 digits of CRC-32>     a key bound to one agent
 *   mst_ro_<30 random base62 digits><6 digits of CRC-32>     a key that only reads
 *   mst_pat_<30 random base62 digits><6 digits of CRC-32>    a user's personal access token
 * The checksum rejects mistyped tokens without a lookup, and lets secret
 * scanners match tokens. Only the SHA-256 of a token is ever stored.
 *
 * Thread-safe.
 */
#pragma once
#include <stdbool.h>

#include "base/str.h"

enum token_kind { TOKEN_WORKSPACE, TOKEN_AGENT, TOKEN_READ_ONLY };

enum { TOKEN_LEN = 7 + 30 + 6, TOKEN_PERSONAL_LEN = TOKEN_LEN + 1 };

/* A new random token, NUL-terminated. */
void token_make(enum token_kind kind, char ret[TOKEN_LEN + 1]);

/* A new personal access token, NUL-terminated. */
void token_make_personal(char ret[TOKEN_PERSONAL_LEN + 1]);

/* "workspace", "agent" or "read_only", as the API names it. */
struct str token_kind_name(enum token_kind kind);

/* Are prefix, length, alphabet and checksum right? A key's token, or a personal one. */
bool token_is_well_formed(struct str token);

/* Is a well-formed token a personal access token? */
bool token_is_personal(struct str token);
