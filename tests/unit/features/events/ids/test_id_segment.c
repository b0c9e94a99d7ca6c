/* test_id_segment.c - the parts of the index of ids: filter, segments and their merges. */
#include "base/base.h"
#include "base/mem.h"
#include "features/events/ids/id_segment.h"
#include "unit/random.h"
#include "unit/temp_db.h"

TEST(a_filter_misses_nothing_and_is_seldom_wrong)
{
    static const size_t sizes[] = { 1, 40, 250, 10000, 200000 };

    for (size_t s = 0; s < COUNT_OF(sizes); s++) {
        struct random random = { s }, again = { s };
        struct id_filter f, loaded;
        int wrong = 0;

        id_filter_init(&f, sizes[s]);
        for (size_t i = 0; i < sizes[s]; i++)
            id_filter_add(&f, random_next(&random));
        CHECK(id_filter_load(&loaded, f.words, id_filter_size(&f)));
        for (size_t i = 0; i < sizes[s]; i++) {
            uint64_t hash = random_next(&again);

            CHECK(id_filter_maybe(&f, hash));
            CHECK(id_filter_maybe(&loaded, hash));
        }
        for (int i = 0; i < 20000; i++)
            wrong += id_filter_maybe(&f, random_next(&random));
        CHECK(wrong < 20000 / 400);
        id_filter_done(&f);
        id_filter_done(&loaded);
    }
}

/* --- segments --- */

static void must(int r, const struct error *err)
{
    if (r != 0)
        fail_msg("%s", err->text);
}

static struct db *open_store(void)
{
    return temp_db_open(temp_db_migrated(), DB_WRITER);
}

/* Entries with hashes 0, 0, …, 10, 10, …: `each` of a kind. */
static struct id_segment *write_segment(struct db *db, int64_t segment_no, size_t n, size_t each)
{
    struct id_segment *s = id_segment_new(segment_no, 0, n);
    struct error err = { 0 };
    struct id_entry entries[ID_CHUNK_ENTRIES];
    size_t filled = 0;

    for (size_t i = 0; i < n; i++) {
        entries[filled++] = (struct id_entry){ i / each * 10, (int64_t)i + 1 };
        if (filled == ID_CHUNK_ENTRIES || i + 1 == n) {
            must(id_segment_append(db, s, entries, filled, &err), &err);
            filled = 0;
        }
    }
    must(id_segment_save(db, s, SEGMENT_LIVE, &err), &err);
    return s;
}

/* What id_segments_load() gave, when it gave one. */
struct loaded {
    struct id_segment *segment;
};

/* How many entries of `hash` are met from where id_segment_find() says. */
static size_t meet(struct db *db, const struct id_segment *s, uint64_t hash)
{
    struct id_entry entries[ID_CHUNK_ENTRIES];
    struct error err = { 0 };
    size_t met = 0, n;

    for (size_t c = id_segment_find(s, hash); c < s->n_chunks && s->fences[c] <= hash; c++) {
        must(id_segment_chunk(db, s, c, entries, &n, &err), &err);
        for (size_t i = 0; i < n; i++)
            met += entries[i].hash == hash;
    }
    return met;
}

static void take_one(void *ctx, struct id_segment *s, enum id_segment_state state)
{
    struct loaded *loaded = ctx;

    CHECK(loaded->segment == NULL);
    CHECK_INT(state, SEGMENT_LIVE);
    loaded->segment = s;
}

TEST(a_segment_finds_all_of_a_hash_wherever_chunks_end)
{
    static const size_t sizes[] = { 1, 249, 250, 251, 499, 500, 501, 1300 };
    static const size_t eaches[] = { 1, 2, 249, 250, 251, 600 };

    for (size_t a = 0; a < COUNT_OF(sizes); a++) {
        for (size_t b = 0; b < COUNT_OF(eaches); b++) {
            struct db *db = open_store();
            size_t n = sizes[a], each = eaches[b];
            struct id_segment *s = write_segment(db, 3, n, each), *loaded;
            struct loaded taken = { 0 };
            struct error err = { 0 };

            must(id_segments_load(db, take_one, &taken, &err), &err);
            loaded = taken.segment;
            must(id_segment_read_filter(db, loaded, &err), &err);
            CHECK_INT(loaded->segment_no, 3);
            CHECK_INT(loaded->n, n);
            CHECK_INT(loaded->n_chunks, s->n_chunks);
            for (size_t i = 0; i < n; i += each) {
                size_t expected = n - i < each ? n - i : each;

                CHECK_INT(meet(db, s, i / each * 10), expected);
                CHECK_INT(meet(db, loaded, i / each * 10), expected);
                CHECK_INT(meet(db, loaded, i / each * 10 + 5), 0);
                CHECK(id_filter_maybe(&loaded->filter, i / each * 10));
            }
            CHECK_INT(meet(db, loaded, UINT64_MAX), 0);
            id_segment_free(s);
            id_segment_free(loaded);
            db_close(db);
        }
    }
}

TEST(a_segment_goes_from_its_end_and_takes_no_neighbour_along)
{
    static const struct db_query count = { .sql = "SELECT COUNT(*) FROM id_chunks" };
    static const struct db_query rows = { .sql = "SELECT COUNT(*) FROM id_segments" };
    struct db *db = open_store();
    struct id_segment *before = write_segment(db, 1, 500, 1);
    struct id_segment *s = write_segment(db, 2, 1001, 1); /* five chunks */
    struct id_segment *after = write_segment(db, 3, 500, 1);
    struct error err = { 0 };

    must(id_segment_delete(db, s, 3, &err), &err);
    CHECK_INT(temp_db_int(db, &count, DB_NO_ARGS), 2 + 3 + 2);
    must(id_segment_measure(db, s, &err), &err);
    CHECK_INT(s->n_chunks, 3);
    CHECK_INT(temp_db_int(db, &rows, DB_NO_ARGS), 3);
    must(id_segment_delete(db, s, 0, &err), &err);
    CHECK_INT(temp_db_int(db, &count, DB_NO_ARGS), 2 + 2);
    CHECK_INT(temp_db_int(db, &rows, DB_NO_ARGS), 2);
    must(id_segment_measure(db, s, &err), &err);
    CHECK_INT(s->n_chunks, 0);
    CHECK_INT(meet(db, before, 4990), 1);
    CHECK_INT(meet(db, after, 0), 1);
    id_segment_free(before);
    id_segment_free(s);
    id_segment_free(after);
    db_close(db);
}

/* --- merges --- */

/* `n` entries of one hash. */
static struct id_segment *write_same(struct db *db, int64_t segment_no, uint64_t hash, size_t n)
{
    struct id_segment *s = id_segment_new(segment_no, 0, n);
    struct error err = { 0 };
    struct id_entry entries[ID_CHUNK_ENTRIES];

    for (size_t at = 0; at < n; at += ID_CHUNK_ENTRIES) {
        size_t size = n - at < ID_CHUNK_ENTRIES ? n - at : ID_CHUNK_ENTRIES;

        for (size_t i = 0; i < size; i++)
            entries[i] = (struct id_entry){ hash, (int64_t)(at + i) + 1 };
        must(id_segment_append(db, s, entries, size, &err), &err);
    }
    must(id_segment_save(db, s, SEGMENT_LIVE, &err), &err);
    return s;
}

/* The greatest hash is one like any other, though it also stands for the end of an input. */
TEST(a_merge_takes_every_entry_up_to_the_greatest_hash)
{
    static const struct db_query filter_bytes = {
        .sql = "SELECT length(filter) FROM id_segments WHERE segment_no = 9"
    };
    struct db *db = open_store();
    struct id_segment *inputs[] = { write_same(db, 1, UINT64_MAX, 300),
                                    write_segment(db, 2, 700, 1), write_same(db, 3, UINT64_MAX, 1),
                                    write_same(db, 4, 0, 251) };
    struct error err = { 0 };
    struct id_merge m;
    bool done = false;

    must(id_merge_begin(db, inputs, COUNT_OF(inputs), 9, &m, &err), &err);
    CHECK_INT(temp_db_int(db, &filter_bytes, DB_NO_ARGS), 0); /* it comes with the last step */
    while (!done)
        must(id_merge_step(db, &m, 1, &done, &err), &err);
    CHECK_INT(temp_db_int(db, &filter_bytes, DB_NO_ARGS),
              (int64_t)id_filter_size(&m.output->filter));
    CHECK_INT(m.output->n, 300 + 700 + 1 + 251);
    CHECK_INT(meet(db, m.output, UINT64_MAX), 301);
    CHECK_INT(meet(db, m.output, 0), 252);
    for (size_t i = 1; i < 700; i++)
        CHECK_INT(meet(db, m.output, i * 10), 1);
    id_segment_free(m.output);
    for (size_t i = 0; i < COUNT_OF(inputs); i++)
        id_segment_free(inputs[i]);
    db_close(db);
}
