/* id_filter_files.h - the files of filters beside the database; private to this folder.
 *
 * Segments that were merged have their filters there: those are nearly all of
 * the index. Which files there are follows from the segments that are live, and
 * a file that is missing or does not fit is made again from the database.
 *
 * The writer's thread.
 */
#pragma once
#include "base/digest.h"
#include "base/err.h"

struct db;
struct id_segment;

struct id_filter_files {
    char
        *prefix; /* of their paths; NULL: the database is not a file, and filters are on the heap */
    const uint8_t *secret; /* of the index, SIP_KEY_BYTES */
};

/* `secret` must outlive it. */
int id_filter_files_init(struct id_filter_files *files, struct db *db, const uint8_t *secret,
                         struct error *err) MUST_CHECK;
void id_filter_files_done(struct id_filter_files *files);

/* Loads the filter of a stored, complete segment. */
int id_filter_files_load(const struct id_filter_files *files, struct db *db, struct id_segment *s,
                         struct error *err) MUST_CHECK;

/* From the heap to a file; for a segment that is complete and no other thread knows yet. When the
 * file cannot be written the filter stays where it is. */
void id_filter_files_move(const struct id_filter_files *files, struct id_segment *s);

/* Removes the segment's file; who has it open may go on. */
void id_filter_files_remove(const struct id_filter_files *files, const struct id_segment *s);

/* Gives up the file of a segment that was found damaged: the next start makes it again. */
void id_filter_files_check(const struct id_filter_files *files, const struct id_segment *s);

/* Removes what an earlier process left: the files of other segments than these. */
void id_filter_files_sweep(const struct id_filter_files *files, struct id_segment *const *live,
                           size_t n);
