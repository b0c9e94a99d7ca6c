/* event_cursor.h - the position in a run's narrative where a page ended, as text.
 *
 * Thread-safe.
 */
#pragma once
#include "base/str.h"
#include "features/events/event_page_store.h"

enum { EVENT_CURSOR_LEN = 3 * 11 + 6 }; /* seq, timestamp and number of the event, and a checksum */

struct str event_cursor_format(const struct event_place *place, char text[EVENT_CURSOR_LEN]);

/* False for any text that event_cursor_format() did not write. */
bool event_cursor_parse(struct str text, struct event_place *ret) MUST_CHECK;
