/* test_id_filter_file.c - filters in files: the same answers, and never a wrong one. */
#include "base/log.h"
#include "features/events/ids/id_filter_file.h"
#include "unit/features/events/ids/id_world.h"

enum { TAG = 77, N = 100000, HEAD_BYTES = 4096, PAGE_BYTES = 4096 };

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
static int passes(const struct id_filter *f, uint64_t seed, int n)
{
    struct random random = { seed };
    int passed = 0;

    for (int i = 0; i < n; i++)
        passed += id_filter_maybe(f, random_next(&random));
    return passed;
}

TEST(a_filter_in_a_file_answers_as_the_one_in_memory)
{
    static const size_t sizes[] = { 1, 250, 341, 342, 10000, N }; /* 341 ids fill 8 blocks */

    for (size_t s = 0; s < COUNT_OF(sizes); s++) {
        char path[TEMP_DB_URL_MAX];
        struct id_filter f, mapped;

        (void)snprintf(path, sizeof(path), "%s", temp_path());
        fill(&f, sizes[s]);
        CHECK(id_filter_file_write(path, &f, TAG));
        CHECK(id_filter_file_open(path, id_filter_size(&f), TAG, &mapped));
        CHECK_INT(passes(&mapped, 1, (int)sizes[s]), sizes[s]);
        CHECK_INT(passes(&mapped, 2, 20000), passes(&f, 2, 20000));
        id_filter_done(&mapped);
        id_filter_done(&f);
    }
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
    CHECK(!id_filter_file_open(path, size, TAG, &mapped)); /* not there */
    CHECK(id_filter_file_write(path, &f, TAG));
    CHECK(!id_filter_file_open(path, size, TAG + 1, &mapped));
    CHECK(!id_filter_file_open(path, size + 64, TAG, &mapped));
    CHECK(!id_filter_file_open(path, size - 64, TAG, &mapped));
    for (off_t at = 0; at < 64; at++) { /* the head, and the first checksums */
        flip(path, at);
        CHECK(!id_filter_file_open(path, size, TAG, &mapped));
        flip(path, at);
    }
    CHECK(id_filter_file_open(path, size, TAG, &mapped));
    id_filter_done(&mapped);
    CHECK(truncate(path, (off_t)size) == 0);
    CHECK(!id_filter_file_open(path, size, TAG, &mapped));
    CHECK(!id_filter_file_write("/nowhere/at/all", &f, TAG));
    id_filter_done(&f);
}

TEST(a_damaged_page_rules_nothing_out_and_the_file_is_given_up)
{
    char path[TEMP_DB_URL_MAX];
    struct id_filter f, mapped;
    int before;

    (void)snprintf(path, sizeof(path), "%s", temp_path());
    fill(&f, N);
    before = passes(&f, 2, 20000);
    CHECK(id_filter_file_write(path, &f, TAG));
    flip(path, HEAD_BYTES + 2 * PAGE_BYTES + 5);
    CHECK(id_filter_file_open(path, id_filter_size(&f), TAG, &mapped));
    log_set_level(LOG_OFF);
    CHECK_INT(passes(&mapped, 1, N), N);
    CHECK(passes(&mapped, 2, 20000) > before + 300); /* one page of 37 lets all through */
    CHECK(passes(&mapped, 2, 20000) < before + 900);
    log_set_level(LOG_INFO);
    CHECK(access(path, F_OK) != 0);
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

TEST(each_merged_segment_has_one_file_and_nothing_else_has)
{
    struct id_world w;

    grow_in_steps(&w);
    CHECK_INT(files_with(&w, "-filter-", false), count_merged(&w));
    id_world_check_all(&w);
    id_world_reopen(&w);
    CHECK_INT(files_with(&w, "-filter-", false), count_merged(&w));
    id_world_check_all(&w);
    id_world_done(&w);
}

/* After a backup was restored, or a power cut. */
TEST(files_that_are_lost_or_left_over_are_put_right_at_the_start)
{
    struct id_world w;
    char stray[2 * TEMP_DB_URL_MAX];

    grow_in_steps(&w);
    CHECK_INT(files_with(&w, "-filter-", true), count_merged(&w));
    for (int i = 0; i < 2; i++) {
        (void)snprintf(stray, sizeof(stray), "%s-filter-%s", w.url + strlen("sqlite:"),
                       i == 0 ? "987654" : "1.new");
        (void)close(open(stray, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
        CHECK(access(stray, F_OK) == 0);
        id_world_reopen(&w);
        CHECK(access(stray, F_OK) != 0);
        CHECK_INT(files_with(&w, "-filter-", false), count_merged(&w));
        id_world_check_all(&w);
    }
    id_world_done(&w);
}

/* The numbers of its segments are those of the one before; its ids are not. */
TEST(a_file_of_another_history_is_not_believed)
{
    struct id_world w, other;
    const char *to;
    int swapped = 0;

    grow_in_steps(&w);
    id_world_init(&other, 500, 9);
    for (int i = 0; i < 60; i++)
        id_world_grow(&other, 400);
    id_world_settle(&other);
    to = w.url + strlen("sqlite:");
    for (int no = 1; no < 200; no++) {
        char from[2 * TEMP_DB_URL_MAX], into[2 * TEMP_DB_URL_MAX];

        (void)snprintf(from, sizeof(from), "%s-filter-%d", other.url + strlen("sqlite:"), no);
        (void)snprintf(into, sizeof(into), "%s-filter-%d", to, no);
        if (access(from, F_OK) != 0 || access(into, F_OK) != 0)
            continue;
        CHECK(rename(from, into) == 0);
        swapped++;
    }
    CHECK(swapped > 1);
    id_world_reopen(&w);
    id_world_check_all(&w);
    id_world_done(&w);
    id_world_done(&other);
}
