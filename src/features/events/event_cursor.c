/* event_cursor.c - formats and parses cursors of narratives. */
#include "features/events/event_cursor.h"

#include "base/digest.h"

enum { PARTS = 3, PART_LEN = 11, CHECK_AT = PARTS * PART_LEN };

struct str event_cursor_format(const struct event_place *place, char text[EVENT_CURSOR_LEN])
{
    const int64_t parts[PARTS] = { place->seq, place->timestamp, place->event_no };

    for (size_t i = 0; i < PARTS; i++)
        digest_base62((uint64_t)parts[i], text + i * PART_LEN, PART_LEN);
    digest_base62(digest_crc32(str_from(text, CHECK_AT)), text + CHECK_AT,
                  EVENT_CURSOR_LEN - CHECK_AT);
    return str_from(text, EVENT_CURSOR_LEN);
}

static unsigned digit_value(char c)
{
    if (c >= '0' && c <= '9')
        return (unsigned)(c - '0');
    if (c >= 'A' && c <= 'Z')
        return (unsigned)(c - 'A') + 10;
    return (unsigned)(c - 'a') + 36;
}

/* Parses without validation, then accepts only text that formats to the same bytes again. */
bool event_cursor_parse(struct str s, struct event_place *ret)
{
    uint64_t parts[PARTS] = { 0 };
    char text[EVENT_CURSOR_LEN];
    struct event_place place;

    if (s.len != EVENT_CURSOR_LEN)
        return false;
    for (size_t i = 0; i < CHECK_AT; i++)
        parts[i / PART_LEN] = parts[i / PART_LEN] * 62 + digit_value(s.data[i]);
    place = (struct event_place){ (int64_t)parts[0], (int64_t)parts[1], (int64_t)parts[2] };
    if (!str_eq(event_cursor_format(&place, text), s))
        return false;
    *ret = place;
    return true;
}
