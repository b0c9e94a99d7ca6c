/* id_filter_files.c - names and owners of the files. */
#include "features/events/ids/id_filter_files.h"

#include <assert.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "db/db.h"
#include "features/events/ids/id_filter_file.h"
#include "features/events/ids/id_segment.h"

#define SUFFIX "-filter-"

enum { PATH_BYTES = 4096, NUMBER_BYTES = 24 };

/* clang-format off */
DB_QUERY(select_file, "SELECT file FROM pragma_database_list WHERE name = 'main'");
/* clang-format on */

static bool read_file(void *ctx, const struct db_row *row)
{
    struct id_filter_files *files = ctx;
    struct str path = db_is_null(row, 0) ? (struct str){ 0 } : db_get_text(row, 0);

    if (path.len > 0 && path.len + sizeof(SUFFIX) + NUMBER_BYTES < PATH_BYTES) {
        files->prefix = mem_new(path.len + sizeof(SUFFIX));
        memcpy(files->prefix, path.data, path.len);
        memcpy(files->prefix + path.len, SUFFIX, sizeof(SUFFIX));
    }
    return false;
}

int id_filter_files_init(struct id_filter_files *files, struct db *db, const uint8_t *secret,
                         struct error *err)
{
    *files = (struct id_filter_files){ .secret = secret };
    return db_exec(db, &select_file, DB_NO_ARGS, read_file, files, err);
}

void id_filter_files_done(struct id_filter_files *files)
{
    free(files->prefix);
    files->prefix = NULL;
}

static bool belongs_in_file(const struct id_filter_files *files, const struct id_segment *s)
{
    return files->prefix != NULL && s->tier > 0;
}

static void path_of(const struct id_filter_files *files, const struct id_segment *s,
                    char ret[PATH_BYTES])
{
    int n = snprintf(ret, PATH_BYTES, "%s%lld", files->prefix, (long long)s->segment_no);

    assert(n > 0 && n < PATH_BYTES); /* read_file() left room */
    (void)n;
}

/* Numbers come again after a restored backup, contents do not: the first hash of each chunk tells
 * them apart. */
static uint64_t tag_of(const struct id_filter_files *files, const struct id_segment *s)
{
    struct {
        uint64_t segment_no, n, fences;
    } all = { (uint64_t)s->segment_no, s->n, 0 };
    struct str fences = str_from((const char *)s->fences, s->n_chunks * sizeof(*s->fences));

    all.fences = digest_sip_keyed(files->secret, fences);
    return digest_sip_keyed(files->secret, str_from((const char *)&all, sizeof(all)));
}

void id_filter_files_move(const struct id_filter_files *files, struct id_segment *s)
{
    struct id_filter mapped;
    char path[PATH_BYTES];
    uint64_t tag;

    if (!belongs_in_file(files, s))
        return;
    assert(s->filter.file == NULL);
    path_of(files, s, path);
    tag = tag_of(files, s);
    if (!id_filter_file_write(path, &s->filter, tag) ||
        !id_filter_file_open(path, id_filter_size(&s->filter), tag, &mapped))
        return;
    id_filter_done(&s->filter);
    s->filter = mapped;
}

int id_filter_files_load(const struct id_filter_files *files, struct db *db, struct id_segment *s,
                         struct error *err)
{
    char path[PATH_BYTES];

    if (belongs_in_file(files, s)) {
        path_of(files, s, path);
        if (id_filter_file_open(path, s->filter_size, tag_of(files, s), &s->filter))
            return 0;
    }
    if (id_segment_read_filter(db, s, err) != 0)
        return -1;
    id_filter_files_move(files, s);
    return 0;
}

void id_filter_files_remove(const struct id_filter_files *files, const struct id_segment *s)
{
    char path[PATH_BYTES];

    if (!belongs_in_file(files, s))
        return;
    path_of(files, s, path);
    (void)unlink(path); /* what is left behind is swept at the next start */
}

void id_filter_files_check(const struct id_filter_files *files, const struct id_segment *s)
{
    if (s->filter.file == NULL || !id_filter_file_tell_damage(s->filter.file))
        return;
    id_filter_files_remove(files, s);
    log_write(
        LOG_WARNING, "ids",
        "%s%lld is damaged: some lookups are slower until the next start, which makes it again",
        files->prefix, (long long)s->segment_no);
}

/* Of one of these segments? A number with an ending is a file that was being written. */
static bool is_wanted(const char *number, struct id_segment *const *live, size_t n)
{
    char *end;
    long long segment_no = strtoll(number, &end, 10);

    for (size_t i = 0; *end == '\0' && i < n; i++)
        if (live[i]->segment_no == segment_no)
            return true;
    return false;
}

void id_filter_files_sweep(const struct id_filter_files *files, struct id_segment *const *live,
                           size_t n)
{
    const char *slash = files->prefix == NULL ? NULL : strrchr(files->prefix, '/');
    struct str name = slash == NULL ? STR_NULL : str_of(slash + 1);
    const struct dirent *entry;
    char *folder;
    DIR *dir;
    int at;

    if (slash == NULL)
        return;
    folder = mem_strdup(files->prefix);
    folder[slash - files->prefix] = '\0';
    dir = opendir(*folder == '\0' ? "/" : folder);
    free(folder);
    if (dir == NULL)
        return;
    at = dirfd(dir);
    while (at >= 0 && (entry = readdir(dir)) != NULL)
        if (str_starts(str_of(entry->d_name), name) &&
            !is_wanted(entry->d_name + name.len, live, n))
            (void)unlinkat(at, entry->d_name, 0);
    (void)closedir(dir);
}
