/* fuzz_http.c - any bytes as a stream of requests, in any pieces.
 *
 * The outcome must not depend on the pieces, and what was taken for requests
 * must be what a second, plain-minded reading of the framing rules takes.
 */
#include "../unit/http/offline.h"
#include "fuzz.h"

/* The framing rules of RFC 9112, written a second time and with nothing but them in mind: how many
 * bytes are the request at the front of `s`, which is known to be accepted. 0: none. */

static size_t after(struct str s, size_t from, const char *text)
{
    const char *at = from >= s.len ? NULL : memmem(s.data + from, s.len - from, text, strlen(text));

    return at == NULL ? 0 : (size_t)(at - s.data) + strlen(text);
}

/* The value of the only header line with this name; STR_NULL when there is none. */
static struct str only_field(struct str head, const char *name)
{
    struct str found = STR_NULL;
    size_t at = 0, end;

    while ((end = after(head, at, "\r\n")) != 0) {
        struct str value = str_from(head.data + at, end - at - 2);
        struct str key = str_split(&value, ':');

        if (str_eq_nocase(key, str_of(name))) {
            FUZZ_CHECK(str_is_null(found));
            found = str_trim(value);
        }
        at = end;
    }
    return found;
}

static size_t hex_value(struct str digits)
{
    size_t value = 0;

    for (size_t i = 0; i < digits.len; i++) {
        const char *all = "0123456789abcdef";
        const char *at = strchr(all, digits.data[i] | 0x20);

        FUZZ_CHECK(at != NULL && value <= SIZE_MAX / 32);
        value = value * 16 + (size_t)(at - all);
    }
    FUZZ_CHECK(digits.len > 0);
    return value;
}

static size_t end_of_chunks(struct str s, size_t at)
{
    for (;;) {
        size_t line = after(s, at, "\r\n"), size;
        struct str text;

        FUZZ_CHECK(line != 0);
        text = str_from(s.data + at, line - at - 2);
        size = hex_value(str_split(&text, ';'));
        if (size == 0) {
            at = line - 2; /* trailers, if any, end in an empty line */
            return after(s, at, "\r\n\r\n");
        }
        FUZZ_CHECK(size < s.len - line);
        at = line + size + 2;
        FUZZ_CHECK(at <= s.len && memcmp(s.data + at - 2, "\r\n", 2) == 0);
    }
}

static size_t request_length(struct str s)
{
    size_t skip = s.len >= 2 && memcmp(s.data, "\r\n", 2) == 0 ? 2 : 0;
    size_t end = after(s, skip, "\r\n\r\n");
    struct str head, length, transfer;
    int64_t n;

    FUZZ_CHECK(end != 0);
    head = str_from(s.data + skip, end - skip - 2);
    FUZZ_CHECK(memchr(head.data, '\0', head.len) == NULL);
    length = only_field(head, "content-length");
    transfer = only_field(head, "transfer-encoding");
    (void)only_field(head, "host");
    FUZZ_CHECK(str_is_null(length) || str_is_null(transfer));
    if (!str_is_null(transfer))
        return end_of_chunks(s, end);
    if (str_is_null(length))
        return end;
    FUZZ_CHECK(str_to_int(length, &n) && n >= 0);
    return end + (size_t)n;
}

static void check_lengths(struct str stream, const struct offline *o)
{
    size_t at = 0;

    while (at < o->taken) {
        at += request_length(str_from(stream.data + at, stream.len - at));
        FUZZ_CHECK(at <= stream.len);
    }
    FUZZ_CHECK(at == o->taken);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str input = str_from((const char *)data, size);
    struct offline whole, pieces;
    size_t step = 1 + fuzz_pick(&input, 16);
    struct str rest = input;

    offline_init(&whole);
    offline_init(&pieces);
    offline_feed(&whole, input);
    check_lengths(input, &whole);
    for (size_t i = 0; rest.len > 0; i++) {
        /* Pieces of changing lengths: 1, step, 1, 2 * step, … */
        size_t n = i % 2 == 0 ? 1 : step * ((i / 2) % 8);

        if (n > rest.len)
            n = rest.len;
        offline_feed(&pieces, str_from(rest.data, n));
        rest = str_from(rest.data + n, rest.len - n);
    }
    FUZZ_CHECK(str_eq(buf_str(&whole.statuses), buf_str(&pieces.statuses)));
    FUZZ_CHECK(str_eq(buf_str(&whole.bodies), buf_str(&pieces.bodies)));
    FUZZ_CHECK(whole.taken == pieces.taken);
    offline_done(&whole);
    offline_done(&pieces);
    return 0;
}
