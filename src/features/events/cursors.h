/* cursors.h - where a page of runs or of events ended, as opaque text for clients.
 *
 * The text has numbers in base62 and ends in a checksum: other text is not a cursor.
 */
#pragma once
#include <stdbool.h>

#include "base/str.h"

/* Runs are listed by these two, both descending; no two runs of a tenant are equal in both. Neither
 * depends on the database or on the order of arrival. */
struct run_cursor {
    int64_t start_at;
    struct str run_id; /* borrowed; a UUID as stored */
};

/* Before and after every other id, and before every run. */
#define RUN_ID_FIRST   STR_LIT("00000000-0000-0000-0000-000000000000")
#define RUN_ID_LAST    STR_LIT("ffffffff-ffff-ffff-ffff-ffffffffffff")
#define RUN_CURSOR_TOP ((struct run_cursor){ INT64_MAX, RUN_ID_FIRST })

/* Where an event is in its run's narrative. */
struct event_place {
    int64_t seq, timestamp, event_no;
};

#define EVENT_PLACE_FIRST ((struct event_place){ INT64_MIN, INT64_MIN, 0 })
#define EVENT_PLACE_LAST  ((struct event_place){ INT64_MAX, INT64_MAX, INT64_MAX })

enum {
    CURSOR_NUMBER_LEN = 11,
    CURSOR_SUM_LEN = 6, /* of CRC-32 over what is before it */
    RUN_CURSOR_LEN = CURSOR_NUMBER_LEN + 36 + CURSOR_SUM_LEN,
    EVENT_CURSOR_LEN = 3 * CURSOR_NUMBER_LEN + CURSOR_SUM_LEN,
};

/* Return `text` as a str. */
struct str run_cursor_format(const struct run_cursor *cursor, char text[RUN_CURSOR_LEN]);
struct str event_cursor_format(const struct event_place *place, char text[EVENT_CURSOR_LEN]);

/* False for any text that was not formatted so. The id points into `s`. */
bool run_cursor_parse(struct str s, struct run_cursor *ret) MUST_CHECK;
bool event_cursor_parse(struct str s, struct event_place *ret) MUST_CHECK;
