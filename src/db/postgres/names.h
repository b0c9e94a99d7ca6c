/* names.h - the addresses of a server's name, which are not waited for without a limit.
 *
 * The system's resolver may take half a minute if a name server is silent, and
 * cannot be interrupted: it runs on a thread of its own. A name that is being
 * asked for is not asked for twice, and an answer that came too late for all who
 * waited is for who asks next: so a slow name server delays a connection, and
 * does not prevent it.
 *
 * Thread-safe.
 */
#pragma once
#include "base/str.h"

enum { NAME_ADDRESSES_MAX = 32, NAME_ADDRESS_LEN = 64 };

struct name_addresses {
    char list[NAME_ADDRESSES_MAX][NAME_ADDRESS_LEN]; /* of the first, if there are more */
    size_t n;
};

/* Waits until then, by the raw clock, and for a moment at least. NULL: *ret has one address or
 * more; else it says why there are none. */
const char *name_look_up(const char *name, int64_t until_us, struct name_addresses *ret);
