/* uuid.c - parsing and printing of UUIDs. */
#include "base/uuid.h"

static bool is_hyphen_place(size_t i)
{
    return i == 8 || i == 13 || i == 18 || i == 23;
}

static bool parse_hyphenated(struct str s, char *ret_text)
{
    static const char hex[] = "0123456789abcdef";

    if (s.len != UUID_TEXT_LEN)
        return false;
    for (size_t i = 0; i < UUID_TEXT_LEN; i++) {
        int value = str_hex_digit(s.data[i]);

        if (is_hyphen_place(i) ? s.data[i] != '-' : value < 0)
            return false;
        ret_text[i] = '-';
        if (!is_hyphen_place(i))
            ret_text[i] = hex[value];
    }
    return true;
}

static bool parse_simple(struct str s, char *ret_text)
{
    char hyphenated[UUID_TEXT_LEN];
    size_t from = 0;

    memset(hyphenated, '-', sizeof(hyphenated));
    for (size_t i = 0; i < UUID_TEXT_LEN; i++)
        if (!is_hyphen_place(i))
            hyphenated[i] = s.data[from++];
    return parse_hyphenated(str_from(hyphenated, sizeof(hyphenated)), ret_text);
}

bool uuid_parse(struct str s, char ret_text[UUID_TEXT_LEN])
{
    static const struct str urn = STR_INIT("urn:uuid:");

    if (s.len == 32)
        return parse_simple(s, ret_text);
    if (s.len == UUID_TEXT_LEN + 2 && s.data[0] == '{' && s.data[s.len - 1] == '}')
        s = str_from(s.data + 1, UUID_TEXT_LEN);
    else if (s.len == UUID_TEXT_LEN + urn.len && str_starts(s, urn))
        s = str_from(s.data + urn.len, UUID_TEXT_LEN);
    return parse_hyphenated(s, ret_text);
}

/* -1 unless it is a digit as uuid_format() prints it: not a capital letter. */
static int lower_digit(char c)
{
    enum { NOT_CAPITAL = 0x20 }; /* a bit of figures and small letters */

    return (c & NOT_CAPITAL) != 0 ? str_hex_digit(c) : -1;
}

bool uuid_pack(struct str s, uint8_t ret[UUID_BYTES])
{
    size_t n = 0;

    if (s.len != UUID_TEXT_LEN)
        return false;
    for (size_t i = 0; i < UUID_TEXT_LEN; i += 2) {
        int high, low;

        if (is_hyphen_place(i)) {
            if (s.data[i] != '-')
                return false;
            i++;
        }
        high = lower_digit(s.data[i]);
        low = lower_digit(s.data[i + 1]);
        if (high < 0 || low < 0)
            return false;
        ret[n++] = (uint8_t)(high << 4 | low);
    }
    return true;
}

void uuid_format(const uint8_t bytes[UUID_BYTES], char ret_text[UUID_TEXT_LEN])
{
    static const char hex[] = "0123456789abcdef";
    char *to = ret_text;

    for (size_t n = 0; n < UUID_BYTES; n++) {
        if (is_hyphen_place((size_t)(to - ret_text)))
            *to++ = '-';
        *to++ = hex[bytes[n] >> 4];
        *to++ = hex[bytes[n] & 15];
    }
}
