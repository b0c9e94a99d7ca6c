/* test_id_filter.c - filters in files: the same answers, and never a wrong one. */
#include "base/log.h"
#include "db/embedded.h"
#include "features/events/ids/id_filter.h"
#include "unit/features/events/ids/id_world.h"

enum { TAG = 77, N = 100000, BLOCK_BYTES = 64 };

static const char *temp_path(void)
{
    return temp_db_new() + strlen("sqlite:");
}

static void fill(struct id_filter *f, size_t n)
{
    struct random random = { 1 };

    id_filter_init(f, n);
    for (size_t i = 0; i < n; i++)
        id_filter_add(f, random_next(&random));
}

/* How many of `n` random hashes a filter lets through; the first N of seed 1 are in it. */
static int passes(struct id_filter *f, uint64_t seed, int n)
{
    struct random random = { seed };
    int passed = 0;

    for (int i = 0; i < n; i++)
        passed += id_filter_maybe(f, random_next(&random));
    return passed;
}

/* A file with the filter, which stays on the heap, and a map of it. */
static void write_and_map(struct id_filter *f, const char *path, struct id_filter *ret)
{
    struct id_filter copy;

    CHECK(id_filter_load(&copy, f->words, id_filter_size(f)));
    CHECK(id_filter_move(&copy, path, TAG) && copy.mapped);
    id_filter_done(&copy);
    CHECK(id_filter_map(ret, path, id_filter_size(f), TAG));
}

/* Changes one byte of a file. */
static void flip(const char *path, off_t at)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    char byte = 0;

    CHECK(fd >= 0 && pread(fd, &byte, 1, at) == 1);
    byte = (char)(byte ^ 0x10);
    CHECK(pwrite(fd, &byte, 1, at) == 1);
    (void)close(fd);
}

TEST(a_file_that_is_not_the_filters_own_is_refused)
{
    char path[TEMP_DB_URL_MAX];
    struct id_filter f, mapped;
    size_t size;

    (void)snprintf(path, sizeof(path), "%s", temp_path());
    fill(&f, N);
    size = id_filter_size(&f);
    CHECK(!id_filter_map(&mapped, path, size, TAG)); /* not there */
    write_and_map(&f, path, &mapped);
    id_filter_done(&mapped);
    CHECK(!id_filter_map(&mapped, path, size, TAG + 1));
    CHECK(!id_filter_map(&mapped, path, size + BLOCK_BYTES, TAG));
    CHECK(!id_filter_map(&mapped, path, size - BLOCK_BYTES, TAG));
    flip(path, 7);
    CHECK(!id_filter_map(&mapped, path, size, TAG));
    flip(path, 7);
    CHECK(id_filter_map(&mapped, path, size, TAG));
    id_filter_done(&mapped);
    CHECK(truncate(path, (off_t)size / 2) == 0);
    CHECK(!id_filter_map(&mapped, path, size, TAG));
    CHECK(!id_filter_move(&f, "/nowhere/at/all", TAG) && !f.mapped);
    CHECK_INT(passes(&f, 1, N), N);
    id_filter_done(&f);
}

/* The first hash of seed 2 that the filter rules out, and whose block is this one. */
static uint64_t ruled_out_in(struct id_filter *f, size_t block)
{
    struct random random = { 2 };

    for (;;) {
        uint64_t hash = random_next(&random);

        if ((hash >> 32) * f->n_blocks >> 32 == block && !id_filter_maybe(f, hash))
            return hash;
    }
}

/* Also after it was read and found sound: the system may drop a page and read it again. */
TEST(a_damaged_block_rules_nothing_out_whenever_it_is_damaged)
{
    char path[TEMP_DB_URL_MAX];
    struct id_filter f, mapped;
    uint64_t hash, other;

    (void)snprintf(path, sizeof(path), "%s", temp_path());
    fill(&f, N);
    write_and_map(&f, path, &mapped);
    hash = ruled_out_in(&mapped, 2);
    other = ruled_out_in(&mapped, 3);
    for (off_t at = 0; at < BLOCK_BYTES; at += 7) {
        atomic_store(&mapped.damaged, false);
        flip(path, 2 * BLOCK_BYTES + at);
        CHECK(id_filter_maybe(&mapped, hash) && mapped.damaged);
        flip(path, 2 * BLOCK_BYTES + at);
        CHECK(!id_filter_maybe(&mapped, hash));
    }
    flip(path, 2 * BLOCK_BYTES);
    CHECK(!id_filter_maybe(&mapped, other));
    CHECK_INT(passes(&mapped, 1, N), N);
    id_filter_done(&mapped);
    id_filter_done(&f);
}

/* --- of an index --- */

/* Files beside the world's database whose names have `part`. */
static int files_with(const struct id_world *w, const char *part, bool remove)
{
    const char *path = w->url + strlen("sqlite:"), *name = strrchr(path, '/') + 1;
    DIR *dir = opendir(temp_db_directory);
    const struct dirent *entry;
    int n = 0;

    CHECK(dir != NULL);
    while ((entry = readdir(dir)) != NULL) {
        if (strncmp(entry->d_name, name, strlen(name)) != 0 || strstr(entry->d_name, part) == NULL)
            continue;
        n++;
        if (remove)
            CHECK(unlinkat(dirfd(dir), entry->d_name, 0) == 0);
    }
    (void)closedir(dir);
    return n;
}

static int64_t count_merged(const struct id_world *w)
{
    static const struct db_query q = {
        .sql = "SELECT COUNT(*) FROM id_segments WHERE state = 1 AND tier > 0",
    };

    return temp_db_int(w->db, &q, DB_NO_ARGS);
}

static void grow_in_steps(struct id_world *w)
{
    id_world_init(w, 500, 8);
    for (int i = 0; i < 60; i++)
        id_world_grow(w, 400);
    id_world_settle(w);
    CHECK(count_merged(w) > 1);
}

/* Each merged segment has one, and nothing else has. */
TEST(files_that_are_lost_are_made_again_at_the_start)
{
    struct id_world w;

    grow_in_steps(&w);
    id_world_check_all(&w);
    CHECK_INT(files_with(&w, "-filter-", true), count_merged(&w));
    id_world_reopen(&w);
    CHECK_INT(files_with(&w, "-filter-", false), count_merged(&w));
    id_world_check_all(&w);
    id_world_done(&w);
}

TEST(a_damaged_file_is_given_up_and_made_again_at_the_start)
{
    struct id_world w;
    char path[2 * TEMP_DB_URL_MAX];
    int no = 1;

    grow_in_steps(&w);
    do
        (void)snprintf(path, sizeof(path), "%s-filter-%d", w.url + strlen("sqlite:"), no++);
    while (access(path, F_OK) != 0);
    flip(path, BLOCK_BYTES + 5);
    id_world_check_all(&w);
    log_set_level(LOG_OFF);
    id_world_grow(&w, 1);
    log_set_level(LOG_INFO);
    CHECK(access(path, F_OK) != 0);
    id_world_check_all(&w);
    id_world_reopen(&w);
    CHECK_INT(files_with(&w, "-filter-", false), count_merged(&w));
    id_world_check_all(&w);
    id_world_done(&w);
}
