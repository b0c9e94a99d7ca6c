/* url.c - checks URLs of settings. */

#include "base/address.h"

enum { HOST_CHARS_MAX = 253, LABEL_CHARS_MAX = 63 };

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_port(struct str port)
{
    int64_t number;

    return port.len > 0 && port.len <= 5 && is_digit(port.data[0]) && port.data[0] != '0' &&
           str_to_int(port, &number) && number <= 65535;
}

/* Letters, digits, hyphens and underscores, which some names have; no hyphen at an end. */
static bool is_label(struct str label)
{
    for (size_t i = 0; i < label.len; i++) {
        const char c = label.data[i], lower = (char)(c | 0x20);

        if (!is_digit(c) && (lower < 'a' || lower > 'z') && c != '-' && c != '_')
            return false;
    }
    return label.len > 0 && label.len <= LABEL_CHARS_MAX && label.data[0] != '-' &&
           label.data[label.len - 1] != '-';
}

static bool is_number(struct str label)
{
    size_t n = 0;

    while (n < label.len && is_digit(label.data[n]))
        n++;
    return n == label.len;
}

/* A name whose last label is a number is taken for an IPv4 address everywhere. */
static bool is_name(struct str name)
{
    struct str rest = name, last = STR_NULL;
    struct address address;

    while (!str_is_null(rest)) {
        last = str_split(&rest, '.');
        if (!is_label(last))
            return false;
    }
    if (!is_number(last))
        return name.len <= HOST_CHARS_MAX;
    return address_parse(name, &address) && address.family == ADDRESS_V4;
}

static bool is_v6(struct str host)
{
    struct address address;

    return address_parse(host, &address) && memchr(host.data, ':', host.len) != NULL;
}

bool url_is_host(struct str text)
{
    const bool bracketed = text.len > 0 && text.data[0] == '[';
    struct str rest = bracketed ? str_from(text.data + 1, text.len - 1) : text;
    const struct str host = str_split(&rest, bracketed ? ']' : ':');

    if (!bracketed)
        return is_name(host) && (str_is_null(rest) || is_port(rest));
    if (str_is_null(rest) || !is_v6(host))
        return false;
    return rest.len == 0 || (rest.data[0] == ':' && is_port(str_from(rest.data + 1, rest.len - 1)));
}

bool url_is_plain(struct str url, const char *schemes)
{
    static const struct str mark = STR_INIT("://");
    struct str rest = str_of(schemes);

    while (!str_is_null(rest)) {
        const struct str scheme = str_split(&rest, ' ');
        struct str after;

        if (!str_starts(url, scheme))
            continue;
        after = str_from(url.data + scheme.len, url.len - scheme.len);
        if (str_starts(after, mark))
            return url_is_host(str_from(after.data + mark.len, after.len - mark.len));
    }
    return false;
}
