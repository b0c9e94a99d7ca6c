/* key_create.c - generates a token and a key id, and stores the token's digest. */
#include "features/access/key_create.h"

#include <assert.h>

#include "base/clock.h"
#include "base/digest.h"
#include "features/access/keys_store.h"
#include "features/access/token.h"

int key_make(struct db *db, struct key_row *row, struct arena *arena, struct str *ret_token,
             struct error *err)
{
    char token[TOKEN_LEN + 1];

    assert(row->tenant_id > 0);
    token_make(key_kind(row), token);
    assert(token_is_well_formed(str_from(token, TOKEN_LEN)));
    row->key_id = digest_random_id("key_", arena);
    row->digest = digest_sha256(str_from(token, TOKEN_LEN));
    row->created_at = clock_wall_us();
    row->last_used_at = row->revoked_at = row->rotated_at = row->first_used_at = TIME_NULL;
    if (store_key_add(db, row, err) != 0)
        return -1;
    *ret_token = arena_copy(arena, str_from(token, TOKEN_LEN));
    return 0;
}
