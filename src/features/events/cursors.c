/* cursors.c - writes and reads cursors. */
#include "features/events/cursors.h"

#include "base/digest.h"

enum { ID_LEN = 36 };

static void add_number(int64_t number, char *text)
{
    digest_base62((uint64_t)number, text, CURSOR_NUMBER_LEN);
}

static int64_t number_at(const char *text)
{
    return (int64_t)digest_base62_value(str_from(text, CURSOR_NUMBER_LEN));
}

static struct str add_sum(char *text, size_t len)
{
    const size_t at = len - CURSOR_SUM_LEN;

    digest_base62(digest_crc32(str_from(text, at)), text + at, CURSOR_SUM_LEN);
    return str_from(text, len);
}

struct str run_cursor_format(const struct run_cursor *cursor, char text[RUN_CURSOR_LEN])
{
    const size_t id_len = cursor->run_id.len < ID_LEN ? cursor->run_id.len : ID_LEN;

    add_number(cursor->start_at, text);
    memset(text + CURSOR_NUMBER_LEN, '-', ID_LEN);
    memcpy(text + CURSOR_NUMBER_LEN, cursor->run_id.data, id_len);
    return add_sum(text, RUN_CURSOR_LEN);
}

struct str event_cursor_format(const struct event_place *place, char text[EVENT_CURSOR_LEN])
{
    add_number(place->seq, text);
    add_number(place->timestamp, text + CURSOR_NUMBER_LEN);
    add_number(place->event_no, text + (size_t)2 * CURSOR_NUMBER_LEN);
    return add_sum(text, EVENT_CURSOR_LEN);
}

/* Both parse without validation, then accept only text that formats to the same bytes again. */
bool run_cursor_parse(struct str s, struct run_cursor *ret)
{
    char text[RUN_CURSOR_LEN];
    struct run_cursor cursor;

    if (s.len != RUN_CURSOR_LEN)
        return false;
    cursor = (struct run_cursor){ number_at(s.data), str_from(s.data + CURSOR_NUMBER_LEN, ID_LEN) };
    if (!str_eq(run_cursor_format(&cursor, text), s))
        return false;
    *ret = cursor;
    return true;
}

bool event_cursor_parse(struct str s, struct event_place *ret)
{
    char text[EVENT_CURSOR_LEN];
    struct event_place place;

    if (s.len != EVENT_CURSOR_LEN)
        return false;
    place = (struct event_place){ number_at(s.data), number_at(s.data + CURSOR_NUMBER_LEN),
                                  number_at(s.data + (size_t)2 * CURSOR_NUMBER_LEN) };
    if (!str_eq(event_cursor_format(&place, text), s))
        return false;
    *ret = place;
    return true;
}
