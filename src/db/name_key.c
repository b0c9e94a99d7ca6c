/* name_key.c - names of any length as keys of bounded length. */
#include "db/name_key.h"

#include <assert.h>

#include "base/digest.h"

enum { DIGITS = 2 * SHA256_BYTES };

/* Where to cut so that no character is split: at most three bytes before NAME_KEY_MAX. With the
 * digits appended, the key is still longer than any name that is used as its own key. */
static size_t cut(struct str name)
{
    size_t len = NAME_KEY_MAX;

    assert(name.len > NAME_KEY_MAX);
    while (((unsigned char)name.data[len] & 0xc0) == 0x80)
        len--;
    return len;
}

struct name_key store_name_key_in(struct str name, struct name_room *room)
{
    static const char hex[] = "0123456789abcdef";
    char *key = room->bytes;
    struct sha256 digest;
    size_t len;

    if (name.len <= NAME_KEY_MAX)
        return (struct name_key){ .key = name, .full = STR_NULL };
    digest = digest_sha256(name);
    len = cut(name);
    memcpy(key, name.data, len);
    for (size_t i = 0; i < SHA256_BYTES; i++) {
        key[len + 2 * i] = hex[digest.bytes[i] >> 4];
        key[len + 2 * i + 1] = hex[digest.bytes[i] & 15];
    }
    assert(len + DIGITS > NAME_KEY_MAX && len + DIGITS <= NAME_KEY_LEN_MAX);
    return (struct name_key){ .key = str_from(key, len + DIGITS), .full = name };
}

struct name_key store_name_key(struct str name, struct arena *arena)
{
    struct name_room room;
    struct name_key made = store_name_key_in(name, &room);

    if (!str_is_null(made.full))
        made.key = arena_copy(arena, made.key);
    return made;
}
