/* token.c - generates tokens and checks their format. */
#include "features/access/token.h"

#include <assert.h>

#include "base/digest.h"

enum { PREFIX_LEN = 7, RANDOM_LEN = 30, CHECK_LEN = 6 };

static const struct str personal = STR_INIT("mst_pat_");

_Static_assert(PREFIX_LEN + RANDOM_LEN + CHECK_LEN == TOKEN_LEN, "as the header says");

static const struct str prefixes[] = {
    [TOKEN_WORKSPACE] = STR_INIT("mst_ws_"),
    [TOKEN_AGENT] = STR_INIT("mst_ag_"),
    [TOKEN_READ_ONLY] = STR_INIT("mst_ro_"),
};

struct str token_kind_name(enum token_kind kind)
{
    static const struct str names[] = {
        [TOKEN_WORKSPACE] = STR_INIT("workspace"),
        [TOKEN_AGENT] = STR_INIT("agent"),
        [TOKEN_READ_ONLY] = STR_INIT("read_only"),
    };

    assert((size_t)kind < COUNT_OF(names));
    return names[kind];
}

static void make(struct str prefix, char *ret)
{
    memcpy(ret, prefix.data, prefix.len);
    digest_random_base62(ret + prefix.len, RANDOM_LEN);
    digest_base62(digest_crc32(str_from(ret, prefix.len + RANDOM_LEN)),
                  ret + prefix.len + RANDOM_LEN, CHECK_LEN);
    ret[prefix.len + RANDOM_LEN + CHECK_LEN] = '\0';
}

void token_make(enum token_kind kind, char ret[TOKEN_LEN + 1])
{
    assert((size_t)kind < COUNT_OF(prefixes) && prefixes[kind].len == PREFIX_LEN);
    make(prefixes[kind], ret);
}

void token_make_personal(char ret[TOKEN_PERSONAL_LEN + 1])
{
    make(personal, ret);
}

bool token_is_personal(struct str token)
{
    return str_starts(token, personal);
}

static bool has_known_prefix(struct str token)
{
    for (size_t i = 0; i < COUNT_OF(prefixes); i++)
        if (str_starts(token, prefixes[i]))
            return true;
    return false;
}

static bool is_base62(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

bool token_is_well_formed(struct str token)
{
    const bool is_personal = token_is_personal(token);
    const size_t len = is_personal ? TOKEN_PERSONAL_LEN : TOKEN_LEN;
    char check[CHECK_LEN];

    if (token.len != len || (!is_personal && !has_known_prefix(token)))
        return false;
    for (size_t i = is_personal ? personal.len : PREFIX_LEN; i < len; i++)
        if (!is_base62(token.data[i]))
            return false;
    digest_base62(digest_crc32(str_from(token.data, len - CHECK_LEN)), check, CHECK_LEN);
    return str_eq(str_from(check, CHECK_LEN), str_from(token.data + len - CHECK_LEN, CHECK_LEN));
}
