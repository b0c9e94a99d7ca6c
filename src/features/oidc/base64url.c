/* base64url.c - base64url by libsodium, and percent encoding. */
#include "features/oidc/base64url.h"

#include <sodium.h>

bool base64url_decode(struct str text, struct arena *arena, struct str *ret)
{
    const size_t room = text.len / 4 * 3 + 3;
    unsigned char *bytes = arena_alloc(arena, room);
    size_t n;

    if (sodium_base642bin(bytes, room, text.data, text.len, NULL, &n, NULL,
                          sodium_base64_VARIANT_URLSAFE_NO_PADDING) != 0)
        return false;
    *ret = str_from((const char *)bytes, n);
    return true;
}

static bool is_plain(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_' || c == '~';
}

struct str percent_encode(struct str text, struct arena *arena)
{
    static const char hex[] = "0123456789ABCDEF";
    char *out = arena_alloc(arena, text.len * 3 + 1);
    size_t n = 0;

    for (size_t i = 0; i < text.len; i++) {
        const unsigned char c = (unsigned char)text.data[i];

        if (is_plain(c)) {
            out[n++] = (char)c;
        } else {
            out[n++] = '%';
            out[n++] = hex[c >> 4];
            out[n++] = hex[c & 15];
        }
    }
    out[n] = '\0';
    return str_from(out, n);
}
