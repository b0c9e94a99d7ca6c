/* id_filter_file.h - the filter of a complete segment, in a file that is mapped.
 *
 * Private to this folder. The filter's row in the database is the truth; the
 * file is a copy of it that needs not be read at start, and whose pages the
 * system may drop and read again. So each block has a checksum, which is
 * verified whenever the block is used: a block that is damaged or cannot be read
 * rules nothing out. It costs lookups, but no answer depends on the file.
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

/* A block's words; NULL when they are not as they were written. */
const uint64_t *id_filter_file_block(struct id_filter_file *file, size_t block);

/* Prefetches what id_filter_file_block() reads. */
void id_filter_file_fetch(const struct id_filter_file *file, size_t block);

/* Was a block damaged? True once. */
bool id_filter_file_tell_damage(struct id_filter_file *file);
