/* id_filter_file.h - the filter of a complete segment, in a file that is mapped.
 *
 * Private to this folder. The filter's row in the database is the truth; the
 * file is a copy of it that needs not be read at start, and whose pages the
 * system may drop and read again. Each page of it has a checksum, verified
 * when the page is first used: a page that is damaged rules nothing out, so it
 * costs lookups but never an answer.
 *
 * A mapped file may be used by any number of threads.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct id_filter;
struct id_filter_file;

/* Writes the filter to a new file, durably, and replaces the one at `path`. False, and `path` is as
 * it was, when that fails. `tag` says whose filter it is. */
bool id_filter_file_write(const char *path, const struct id_filter *f, uint64_t tag);

/* Maps the file as a filter of `size` bytes. False when it does not exist or is another one's. */
bool id_filter_file_open(const char *path, size_t size, uint64_t tag, struct id_filter *ret);

void id_filter_file_close(struct id_filter_file *file);

/* Is the page with this word as it was written? */
bool id_filter_file_is_sound(struct id_filter_file *file, const uint64_t *word);
