/* portal.h - the files of the portal and the libraries for agents, embedded in the binary.
 *
 * The table is generated at build time from web/ and sdk/; it is empty in a build
 * without Node.js.
 *
 * Thread-safe: const.
 */
#pragma once
#include <stddef.h>

struct portal_file {
    const char *path; /* "/" for the page itself; those below /assets/ have a hash in their name */
    const char *type; /* Content-Type */
    const char *tag;  /* ETag, quoted */
    const unsigned char *gzip;
    size_t gzip_len;
    size_t len; /* inflated */
};

extern const struct portal_file portal_files[];
extern const size_t n_portal_files;
