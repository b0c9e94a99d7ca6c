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

/* Parses without validation, then accepts only text that formats to the same bytes again. */
bool event_cursor_parse(struct str s, struct event_place *ret)
{
    int64_t parts[PARTS];
    char text[EVENT_CURSOR_LEN];
    struct event_place place;

    if (s.len != EVENT_CURSOR_LEN)
        return false;
    for (size_t i = 0; i < PARTS; i++)
        parts[i] = (int64_t)digest_base62_value(str_from(s.data + i * PART_LEN, PART_LEN));
    place = (struct event_place){ parts[0], parts[1], parts[2] };
    if (!str_eq(event_cursor_format(&place, text), s))
        return false;
    *ret = place;
    return true;
}
